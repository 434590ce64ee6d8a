"""The population of a tortured archive: processes that are replaced when they die, as an init
system does it, each perhaps on a host of its own with a clock of its own."""

import re
import signal
import struct
import time

from lib import BUILD, EXIT_FAILED, EXIT_UNRESOLVED
from events import KEY

LEASE = 5  # seconds, of segments and of the updater
REST = 0.5  # seconds between a death and the next life
SHIM = str(BUILD / 'tests' / 'support' / 'other_host.so')
QUICK = ('--segment-width', 100, '--batch-size', 20, '--concurrency', 8, '--timeout', '5s',
         '--lease', f'{LEASE}s', '--retry-attempts', 12)
UPDATER = ('--updater-lease', f'{LEASE}s', '--stream-timeout', '4s', '--gap-queue-max', 60,
           '--realtime-workers', 2, '--outage-rescan-after', '3s', *QUICK)


class Clock:
    """The wall clock of one host, as tests/support/other_host.c has it."""

    def __init__(self, path):
        self.path = path
        self.set(0)
        path.chmod(0o644)

    def set(self, seconds):
        with open(self.path, 'r+b' if self.path.exists() else 'wb') as file:
            file.write(struct.pack('=q', int(seconds * 1000)))

    def environment(self):
        return {'LD_PRELOAD': SHIM, 'HOST_CLOCK': str(self.path)}


class Member:
    """One place in the population. begin(member) starts a life and answers its Run."""

    def __init__(self, name, begin, clock, host=None, codes=(EXIT_FAILED,)):
        self.name, self.begin, self.clock, self.host, self.codes = name, begin, clock, host, codes
        self.run, self.lives, self.deaths, self.over_at = None, 0, 0, 0
        self.asleep = self.killed = self.stopped = False

    @property
    def kind(self):
        return self.name.rstrip('0123456789')

    @property
    def alias(self):
        """Of this life."""
        return f'{self.name}.{self.lives}'

    def environment(self):
        found = self.clock.environment()
        if self.host:
            found['HOST_NAME'] = self.host
        return found

    def start(self):
        self.lives += 1
        self.asleep = self.killed = self.stopped = False
        self.run = self.begin(self)

    def alive(self):
        return self.run is not None and self.run.running()

    def kill(self):
        self.killed = True
        self.run.kill()

    def sleep(self):
        self.asleep = True
        self.run.signal(signal.SIGSTOP)

    def wake(self):
        if self.asleep and self.alive():
            self.run.signal(signal.SIGCONT)
        self.asleep = False

    def holds(self, holder):
        """Is that the name under which this life holds leases?"""
        return bool(self.run and holder and re.search(rf':{self.run.pid}:', holder))


class Population:
    def __init__(self, world):
        self.world, self.members, self.dead_pids = world, [], set()

    def add(self, name, begin, clock, **how):
        member = Member(name, begin, clock, **how)
        self.members.append(member)
        member.start()
        return member

    def of(self, *kinds):
        return [m for m in self.members if m.kind in kinds]

    def tend(self, excuse):
        """Replaces the dead. Who died by himself must have a reason (excuse: there is one about)
        and a code that says so; a crash never has one."""
        for m in self.members:
            if m.alive():
                continue
            if not m.over_at:
                self._bury(m, excuse)
            elif time.monotonic() - m.over_at > REST and not m.stopped:
                m.over_at = 0
                m.start()

    def _bury(self, m, excuse):
        m.over_at, m.deaths = time.monotonic(), m.deaths + 1
        self.dead_pids.add(m.run.pid)
        code = m.run.process.returncode
        if m.killed:
            return
        ended = code in (0, EXIT_UNRESOLVED) and m.kind == 'catchup'
        if ended:
            m.stopped = True  # until there is more to do
        elif code not in m.codes or not excuse:
            raise AssertionError(f'{m.alias} ended with {code}'
                                 f"{'' if excuse else ', and nothing was wrong'}\n"
                                 f'{m.run.so_far()[-6000:]}')

    def is_dead(self, holder):
        found = re.match(r'[^:]*:(\d+):', holder or '')
        return bool(found) and int(found.group(1)) in self.dead_pids

    def note_deaths(self):
        for m in self.members:
            if m.run and not m.alive():
                self.dead_pids.add(m.run.pid)

    def again(self, kind):
        """Those that had come to the end of their work have more of it."""
        for m in self.of(kind):
            if m.stopped and not m.alive():
                m.over_at = 0
                m.start()

    def stop(self, *kinds):
        """In good order; what did not end as it should, in words. On a machine that has no time an
        updater may lose its lease at any moment, and then says so."""
        wrong = []
        for m in self.of(*kinds):
            m.wake()
            if m.alive():
                m.run.signal(signal.SIGTERM)
        for m in self.of(*kinds):
            if m.over_at:
                continue
            code = m.run.wait().code
            self.dead_pids.add(m.run.pid)
            good = (0, EXIT_UNRESOLVED, 143) if m.kind == 'catchup' else (0,)
            log = m.run.so_far()
            last = (log.splitlines() or [''])[-1]
            lost = m.kind == 'updater' and re.search('another|lease|taken over', last)
            if code not in good and not (code == EXIT_FAILED and lost):
                wrong.append(f'{m.alias} ended with {code}\n{log[-3000:]}')
        return wrong


def catchup(world, m):
    return world.start_catchup(world.door(m), world.source, '--start-id', world.upstream.first,
                               *QUICK, '--max-outage', '20s', '--metrics-bind', 'none',
                               env=m.environment())


def updater(world, m):
    return world.start_updater(world.door(m), world.upstream, *UPDATER, url=world.source.url,
                               env=m.environment())


def enrich(world, m):
    return world.worker(world.door(m), world.service, world.plan, env=m.environment())


def serve(world, m):
    return world.start('serve', '--db', world.door(m).uri, '--listen',
                       f'127.0.0.1:{world.port}', '--query-threads', 2, '--feed-ping', '2s',
                       env=dict(m.environment(), TAIN_CDC_KEY=KEY))
