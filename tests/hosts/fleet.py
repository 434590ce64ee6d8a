"""The processes of all hosts, and somebody who starts them again: what a service manager does on
each host. A one-shot that is done is run again after a while, as a timer would."""

import threading
import time

from lib import Run
from updater import Upstream

AGAIN = 1.0  # seconds after which a process that has ended is started again
LOG_SHOWN = 2500  # characters of a log in a complaint
# How a process may end: a catch-up that is done, has given up or left something; an updater that
# has lost its lease; anyone with its host, or at its start where there is no database. What serves
# and what enriches waits for better days once it has begun, and says so in these words.
ENDS = {'catchup': (0, 1, 3, -9), 'updater': (1, -9), 'enrich': (1, -9), 'serve': (1, -9)}
BEGUN = {'enrich': 'msg="enriching"', 'serve': 'msg="serving"'}


class HostRun(Run):
    """The program on a host."""

    def __init__(self, host, arguments, env=None):
        self.host = host
        super().__init__(arguments, env=dict({'no_proxy': '*', 'NO_PROXY': '*'}, **(env or {})))

    def popen(self, command, **options):
        return self.host.popen(command, **options)


class HostUpstream(Upstream):
    """The made-up site on a host."""

    def __init__(self, machine, *faults, **options):
        self.machine, self.host, self.lock = machine, machine.address, threading.Lock()
        super().__init__(*faults, port=80, **options)

    def ask(self, *arguments):
        with self.lock:  # several threads of the tests do
            return super().ask(*arguments)

    def popen(self, command, **options):
        return self.machine.popen([*command, '--bind', self.host], **options)


class Service:
    """One process of one host, again and again. `codes` has how each of its lives ended."""

    def __init__(self, host, *arguments, env=None):
        self.host, self.arguments, self.env = host, arguments, env
        self.past, self.run, self.ended, self.codes = [], None, None, []

    def start(self):
        if self.run:
            self.past.append(self.run.so_far())
            self.run.close()
        self.run, self.ended = HostRun(self.host, self.arguments, self.env), None

    def tend(self):
        """Starts it again when it has been over for long enough."""
        if not self.run or self.run.running():
            return
        if self.ended is None:
            self.ended = time.monotonic()
            self.codes.append(self.run.process.returncode)
            self.judge(self.codes[-1])
        elif self.host.up and time.monotonic() - self.ended >= AGAIN:
            self.start()

    def judge(self, code):
        command, log = self.arguments[0], self.run.so_far()
        begun = command in BEGUN and BEGUN[command] in log
        if code not in ENDS[command] or (code == 1 and begun):
            raise AssertionError(f'{self.host} ended with {code}\n{log[-LOG_SHOWN:]}')

    def said(self, since=0):
        """All of its lives; characters from `since` on."""
        return ('\n'.join([*self.past, self.run.so_far() if self.run else '']))[since:]

    def close(self):
        if self.run:
            self.run.close()


class Fleet(threading.Thread):
    """Tends all services until it is closed."""

    def __init__(self):
        super().__init__(daemon=True, name='fleet')
        self.services, self.over, self.failure = {}, threading.Event(), None
        self.lock = threading.Lock()

    def add(self, host, *arguments, **options):
        service = Service(host, *arguments, **options)
        self.services[host.name] = service
        return service

    def run(self):
        try:
            while not self.over.wait(0.1):
                with self.lock:
                    for service in self.services.values():
                        service.tend()
        except Exception as failure:  # pylint: disable=broad-except
            self.failure = failure

    def close(self):
        self.over.set()
        if self.is_alive():
            self.join()
        for service in self.services.values():
            service.close()

    def stop(self, *names):
        """In good order; they are not started again. {name: exit code}"""
        with self.lock:
            gone = {name: self.services.pop(name) for name in names}
        for service in gone.values():
            if service.run.running():
                service.run.signal(15)
        codes = {name: service.run.wait().code for name, service in gone.items()}
        for service in gone.values():
            service.close()
        return codes

    def logs(self):
        return '\n'.join(f'--- {name}\n{service.said()[-LOG_SHOWN:]}'
                         for name, service in self.services.items())
