"""Whether JSON that was made up has the form of JSON that was recorded."""

import json
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RECORDED = pathlib.Path(os.environ.get('TAIN_SHARED_DATA') or ROOT.parent / 'shared' / 'data')


def recorded(name):
    """What was recorded under that name; None where there is nothing."""
    path = RECORDED / name
    return json.loads(path.read_text(encoding='utf-8')) if path.exists() else None


def kind_of(value):
    if value is None:
        return 'null'
    if isinstance(value, bool):
        return 'boolean'
    return {dict: 'object', list: 'array', str: 'text'}.get(type(value), 'number')


class Shape:
    """Learned from examples: the kinds of a value, and of what is in it."""

    def __init__(self, *examples):
        self.kinds, self.objects, self.members, self.entries = set(), 0, {}, None
        for example in examples:
            self.learn(example)

    def learn(self, value):
        self.kinds.add(kind_of(value))
        if isinstance(value, dict):
            self.objects += 1
            for name, member in value.items():
                known = self.members.setdefault(name, [0, Shape()])
                known[0] += 1
                known[1].learn(member)
        elif isinstance(value, list):
            self.entries = self.entries or Shape()
            for entry in value:
                self.entries.learn(entry)

    def differences(self, value, complete=True, at='$'):
        """In words. What was always null may be anything; `complete`: what was always there has to
        be."""
        if self.kinds - {'null'} and kind_of(value) not in self.kinds:
            return [f'{at} is {kind_of(value)}, not one of {sorted(self.kinds)}']
        wrong = []
        if isinstance(value, dict):
            wrong += [f'{at}.{name} is unknown' for name in value if name not in self.members]
            wrong += [f'{at}.{name} is missing' for name, (times, _) in self.members.items()
                      if complete and times == self.objects and name not in value]
            for name in sorted(set(value) & set(self.members)):
                wrong += self.members[name][1].differences(value[name], complete, f'{at}.{name}')
        elif isinstance(value, list) and self.entries and self.entries.kinds:
            for n, entry in enumerate(value):
                wrong += self.entries.differences(entry, complete, f'{at}[{n}]')
        return wrong
