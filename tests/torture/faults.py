"""What can happen to a world. Each fault has a beginning and an end; in between everybody lives on.
`where` says which worlds it is for; what is drawn by chance is drawn from the round's own."""

import contextlib
import os
import signal
import sqlite3
import subprocess

from lib import ANSWER, EXIT_FAILED, environment, wait_until
import audit
from population import LEASE
from world import PACE

HOUR = 3600
PARTITION = 400  # ids, and a tenth of that changes: a few rounds fill several


class Fault:
    where = ('sqlite', 'postgres')
    needs_disk = False

    def __init__(self, world, chance):
        self.world, self.chance, self.detail = world, chance, ''

    @classmethod
    def name(cls):
        return cls.__name__

    def __str__(self):
        return f'{self.name()}({self.detail})' if self.detail else self.name()

    def begin(self):
        raise NotImplementedError

    def end(self):
        pass

    def after(self):
        """When no other fault is in the way any more."""


# The network --------------------------------------------------------------------------------------

class _OnWire(Fault):
    DEEDS = ()

    def wire(self):
        raise NotImplementedError

    def begin(self):
        wire, self.detail = self.wire(), self.chance.choice(self.DEEDS)
        if self.detail in ('stall', 'cut', 'reset'):
            getattr(wire, self.detail)()
        elif self.detail in ('corrupt', 'lossy'):
            setattr(wire, self.detail, self.chance.uniform(0.02, 0.3))
        elif self.detail == 'delay':
            wire.delay = self.chance.uniform(0.02, 0.4)
        elif self.detail == 'trickle':
            wire.trickle = True
        elif self.detail == 'away':
            wire.refusing = True
            wire.reset()

    def end(self):
        self.wire().heal()
        if self.detail == 'stall' and self.chance.random() < 0.5:
            self.wire().reset()


class WireToUpstream(_OnWire):
    DEEDS = ('delay', 'trickle', 'corrupt', 'corrupt', 'lossy', 'stall', 'cut', 'reset', 'away')

    def wire(self):
        return self.world.wire


class WireToDatabase(_OnWire):
    where = ('postgres',)
    DEEDS = ('delay', 'lossy', 'stall', 'cut', 'reset', 'away')

    def wire(self):
        return self.world.way


class UpstreamTrouble(Fault):
    """Its own: it is down, answers wrongly, or its stream does something odd."""

    def begin(self):
        upstream = self.world.upstream
        self.detail = self.chance.choice(('down', 'ill', 'odd', 'drop', 'reset', 'garbage',
                                          'midframe', 'cancel', 'auth_revoked', 'silence'))
        if self.detail == 'down':
            upstream.down(True)
        elif self.detail == 'ill':
            upstream.faults(self.chance.choice(('all:status=503', 'items:status=429:retry_after=1',
                                                'items:garbage', 'items:truncate')))
        elif self.detail == 'odd':
            upstream.faults('rate=0.1:wrong_id', 'rate=0.1:null', 'rate=0.1:truncate',
                            'rate=0.05:redirect=endless', 'stream:garbage:split:crlf')
        else:
            upstream.stream(self.detail)

    def end(self):
        self.world.upstream.down(False)
        self.world.upstream.faults(PACE)
        self.world.upstream.stream('wake')


class ServiceTrouble(Fault):
    """The provider that rows of the flowsheet are looked up at."""

    def begin(self):
        self.detail = self.chance.choice(('busy', 'down', 'drop', 'cut', 'garbage', 'degraded',
                                          'slow'))
        self.world.service.become(self.detail)

    def end(self):
        self.world.service.usual()


# Processes ----------------------------------------------------------------------------------------

class Kill(Fault):
    """kill -9 of one or several; the next life begins while all else goes on."""

    def begin(self):
        members = self.world.people.members
        victims = self.chance.sample(members, self.chance.choice((1, 1, 2, 3)))
        self.detail = ' '.join(m.name for m in victims)
        for m in victims:
            if m.alive():
                m.kill()


class Asleep(Fault):
    """SIGSTOP for longer than its leases, until it holds nothing any more; then it wakes up."""

    KINDS = ('catchup', 'catchup', 'updater', 'enrich')
    HOLDERS = {'catchup': "SELECT holder FROM ingest_segments WHERE status = 'in_progress'",
               'updater': 'SELECT updater_holder FROM updater_state',
               'enrich': "SELECT holder FROM claims WHERE state = 'held'"}

    def begin(self):
        world, kind = self.world, self.chance.choice(self.KINDS)
        if kind == 'updater':
            world.live(LEASE, self.chance, until=world.active_updater)
        self.victim = world.active_updater() if kind == 'updater' else None
        self.victim = self.victim or self.chance.choice(world.people.of(kind))
        self.detail = self.victim.name
        if kind == 'enrich':
            world.service.become('slow', seconds=0.5)
            world.new_rows(10)
        if not self.victim.alive() or not world.falls_asleep(self.victim, self.HOLDERS[kind]):
            self.victim = None
            self.detail += ', in vain'

    def end(self):
        m, world = self.victim, self.world
        world.service.usual()
        if not m or not m.alive():
            return
        if m.kind == 'enrich':
            self._let_time_pass()
        world.live(6 * LEASE, self.chance, until=self._inherited)
        m.wake()

    def _let_time_pass(self):
        """A claim is good for a minute and more: it runs out by hand, and a worker that starts
        looks for such."""
        self.world.try_write("UPDATE claims SET lease_until = 1 WHERE state = 'held'")
        for sibling in self.world.people.of('enrich'):
            if sibling is not self.victim and sibling.alive():
                sibling.kill()

    def _inherited(self):
        rows = self.world.peek(self.HOLDERS[self.victim.kind])
        return rows is not None and not any(self.victim.holds(row[0]) for row in rows)


# The database -------------------------------------------------------------------------------------

class Restart(Fault):
    """Fast or immediate; away for as long as the round lasts, or back at once."""
    where = ('postgres',)

    def begin(self):
        server = self.world.server
        how = self.chance.choice(('fast', 'immediate'))
        self.away = self.chance.random() < 0.5
        self.detail = how + (', away' if self.away else '')
        server.stop(signal.SIGINT if how == 'fast' else signal.SIGQUIT)
        if not self.away:
            server.start()

    def end(self):
        self.world.server.start()


class Terminate(Fault):
    """Some of the sessions end, whatever they are doing."""
    where = ('postgres',)

    def begin(self):
        share = self.detail = self.chance.choice((0.3, 0.6, 1))
        with contextlib.suppress(RuntimeError):
            self.world.own.execute(
                'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> '
                f"pg_backend_pid() AND backend_type = 'client backend' AND random() < {share}")


class FullDisk(Fault):
    needs_disk = True

    def begin(self):
        self.world.disk.leave(self.chance.choice((0, 16 << 10, 128 << 10)))

    def end(self):
        self.world.disk.resize('256m')


class Locks(Fault):
    """Somebody takes a table, or all rows of it, and keeps them for seconds."""
    where = ('postgres',)
    TABLES = ('ingest_segments', 'items', 'updater_state', 'claims', 'change_log', 'feed_state',
              'ingest_exceptions', 'providers', 'kids')

    def begin(self):
        table = self.chance.choice(self.TABLES)
        how = self.chance.choice(('ACCESS EXCLUSIVE', 'SHARE', 'rows'))
        self.detail = f'{table}, {how}'
        sql = (f'SELECT count(*) FROM (SELECT 1 FROM tain.{table} FOR UPDATE) q' if how == 'rows'
               else f'LOCK TABLE tain.{table} IN {how} MODE')
        server = self.world.server
        self.psql = subprocess.Popen(
            [os.path.join(server.bin, 'psql'), '-X', '-q', '-d', self.world.own.uri, '-c',
             f"BEGIN; SET LOCAL lock_timeout = '5s'; {sql}; SELECT pg_sleep(60)"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=environment({'PGAPPNAME': 'torture-lock'}))

    def end(self):
        with contextlib.suppress(RuntimeError):
            self.world.own.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                                   "WHERE application_name = 'torture-lock'")
        try:
            self.psql.wait(ANSWER)
        finally:
            self.psql.kill()
            self.psql.wait()


class Partition(Fault):
    """The archive becomes partitioned while everybody works, whoever else is in the way; the
    command may be killed on its way, or give up. When all that is over it is run once more, and
    then it must be done. With the first round of a world that is to be partitioned."""
    where = ()

    def begin(self):
        world = self.world
        self.audit = audit.look_away(world.own)  # triggers of others would not follow
        self.run = world.start(*self.command())
        if self.chance.random() < 0.5:
            self.detail = 'killed'
            world.live(self.chance.uniform(0.02, 0.5), self.chance)
            self.run.signal(signal.SIGKILL)

    def command(self):
        return ('migrate', '--partitioned', '--partition-width', PARTITION, '--db',
                self.world.own.uri)

    def after(self):
        first = self.run.wait()
        good = (0, EXIT_FAILED, -signal.SIGKILL) if self.detail else (0, EXIT_FAILED)
        self.world.assertIn(first.code, good, first)
        done = self.world.run_tain(*self.command())
        self.world.assertEqual(done.code, 0, done)
        self.world.assertEqual(
            self.world.own.rows("SELECT relname FROM pg_class WHERE relkind = 'p' AND "
                                "relname IN ('items', 'change_log') ORDER BY 1"),
            [('change_log',), ('items',)])
        for definition in self.audit:  # which waits for everybody, and may lose against them
            wait_until(lambda sql=definition: self.world.try_write(sql), what=definition)


class Busy(Fault):
    """SQLite's file is locked by another program."""
    where = ('sqlite',)

    def begin(self):
        self.detail = self.chance.choice(('IMMEDIATE', 'EXCLUSIVE'))
        self.other = sqlite3.connect(self.world.own.path, timeout=30, isolation_level=None)
        with contextlib.suppress(sqlite3.OperationalError):
            self.other.execute(f'BEGIN {self.detail}')

    def end(self):
        self.other.close()


# The clock ----------------------------------------------------------------------------------------

class Clock(Fault):
    """A wall clock jumps by hours and, in the end, back. On SQLite it is the one that all processes
    have; on PostgreSQL that of one host, or the server's, by which leases and stamps are made."""

    def begin(self):
        world, hours = self.world, self.chance.uniform(0.5, 30) * self.chance.choice((-1, 1))
        if not world.NAMED:
            self.clock, whose, self.common = world.host_clock, 'all', True
        elif self.chance.random() < 0.4:
            self.clock, whose, self.common = world.server_clock, 'server', True
        else:
            m = self.chance.choice(world.people.members)
            self.clock, whose, self.common = m.clock, m.name, False
        self.detail = f'{whose}, {hours:+.1f} h'
        judge = world.judge
        self.n, self.pos = judge.audit.last, judge.heard_to
        self.clock.set(hours * HOUR)

    def end(self):
        self.clock.set(0)
        self.world.live(LEASE, self.chance)  # who had the wrong time has it no more

    def after(self):
        judge = self.world.judge
        if self.common:
            judge.audit.excused.append((self.n, judge.audit.position()))
            judge.jumps.append((self.pos, judge.head() + 200))


ALL = (WireToUpstream, WireToDatabase, UpstreamTrouble, ServiceTrouble, Kill, Asleep, Restart,
       Terminate, FullDisk, Locks, Partition, Busy, Clock)
