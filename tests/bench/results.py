"""bench.json: what was measured, part by part, each with the machine and the day."""

import json
import pathlib


def read(path):
    path = pathlib.Path(path)
    return json.loads(path.read_text()) if path.exists() else {'parts': {}}


def keep(path, facts, name, part, db=None):
    """Replaces one part and keeps the others. Of a run on one database (`db`) the rows of the other
    one stay, with the day they were measured on."""
    every = read(path)
    part = dict(part, machine=facts)
    before = every['parts'].get(name)
    if db and before:
        for kind in ('rows', 'peers'):
            old = [dict(r, date=r.get('date', before['date'])) for r in before[kind]
                   if db not in r['what']]
            part[kind] = old + part[kind]
    every['parts'][name] = part
    path = pathlib.Path(path)
    beside = path.with_suffix('.new')
    beside.write_text(json.dumps(every, indent=1) + '\n')
    beside.rename(path)
