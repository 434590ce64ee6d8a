"""Stands in for systemd in tests: reads our units as they would be installed, runs their commands
with a notification socket of its own, and judges an end by the unit's own rules."""

import pathlib
import re
import shlex
import signal
import socket
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
UNITS = ROOT / 'packaging' / 'systemd'
CLEAN_SIGNALS = {signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGPIPE}
# Keys that may be repeated and add up; any other one counts as it was given last.
LISTS = {'Environment', 'EnvironmentFile', 'SystemCallFilter', 'After', 'Wants'}


def filled_in(path, paths, instance=None):
    """The text of a unit with its @names@ replaced, as the build does it; %i, as systemd does."""
    text = path.read_text(encoding='utf-8')
    if instance:
        text = text.replace('%i', instance)
    for name, value in paths.items():
        text = text.replace(f'@{name}@', str(value))
    return text


class Unit:
    def __init__(self, text):
        self.sections = {}
        section = None
        for line in text.splitlines():
            if line.startswith('['):
                section = self.sections.setdefault(line.strip('[]'), {})
            elif line and not line.startswith(('#', ';')):
                key, _, value = line.partition('=')
                if key in LISTS:
                    section.setdefault(key, []).append(value)
                else:
                    section[key] = value

    def service(self, key, otherwise=''):
        return self.sections['Service'].get(key, otherwise)

    def command(self):
        env = self.environment()
        return [re.sub(r'\$\{(\w+)\}', lambda name: env[name.group(1)], word)
                for word in shlex.split(self.service('ExecStart'))]

    def environment(self):
        """Environment= and behind it the environment files, as systemd has it."""
        env = {}
        for entry in self.service('Environment', []):
            env.update([entry.split('=', 1)])
        for name in self.service('EnvironmentFile', []):
            path = pathlib.Path(name.lstrip('-'))
            if path.exists() or not name.startswith('-'):
                env.update(line.split('=', 1) for line in path.read_text().splitlines()
                           if line and not line.startswith('#'))
        return env

    def codes(self, key):
        return {int(word) for word in self.service(key).split()}

    def judge(self, code):
        """(clean, restarted) for an exit code, or a signal's number below zero."""
        if code < 0:
            clean = signal.Signals(-code) in CLEAN_SIGNALS
        else:
            clean = code == 0 or code in self.codes('SuccessExitStatus')
        rule = self.service('Restart', 'no')
        assert rule in ('no', 'on-failure'), rule
        restarted = rule == 'on-failure' and not clean
        if code >= 0 and code in self.codes('RestartPreventExitStatus'):
            restarted = False
        if code >= 0 and code in self.codes('RestartForceExitStatus'):
            restarted = True
        return clean, restarted


class Listener:
    """The socket in NOTIFY_SOCKET. `messages` are (instant, {key: value}), the oldest first."""

    def __init__(self, path):
        self.path = str(path)
        self.messages = []
        self._marked = threading.Event()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.path)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self):
        while True:
            data = self._socket.recv(65536)
            if data == b'END':
                return
            if data == b'MARK':
                self._marked.set()
                continue
            fields = dict(line.split('=', 1) for line in data.decode('utf-8').splitlines())
            self.messages.append((time.monotonic(), fields))

    def _say(self, word):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.sendto(word, self.path)

    def catch_up(self, seconds):
        """What was told before is in `messages` afterwards."""
        self._marked.clear()
        self._say(b'MARK')
        if not self._marked.wait(seconds):
            raise AssertionError('nobody reads the socket')

    def close(self):
        self._say(b'END')
        self._thread.join()
        self._socket.close()
        pathlib.Path(self.path).unlink(missing_ok=True)

    def all(self, key):
        return [fields[key] for _, fields in list(self.messages) if key in fields]

    def has(self, key, value='1'):
        return value in self.all(key)

    def status(self):
        """The last one told."""
        told = self.all('STATUS')
        return told[-1] if told else ''

    def keys(self):
        """Every key in the order in which it was told, repeats left out."""
        return list(dict.fromkeys(key for _, fields in list(self.messages) for key in fields))
