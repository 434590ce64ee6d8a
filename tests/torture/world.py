"""A world to be tortured: an archive on one of the databases, `tain demo` as its upstream, wires
between everybody on which things go wrong, a population at work, and readers who listen."""

import contextlib
import pathlib
import random
import re
import sqlite3
import time
import types

from lib import OnSqlite, Postgres, PostgresArchive, Sqlite, free_port, wait_until
from events import KEY, Follower
from flowsheet import FlowsheetOnPostgres, FlowsheetOnSqlite
from small_disk import Disk, SmallDisk
from updater import Pulse, UpdaterTest
from wire import Wire
import audit
import population
from judge import Judge
from population import Clock, Population
from readers import CdcFollower

IDS = 500  # of the upstream at the beginning
ITEMS = ('share=0.02:status=500:times=2', 'share=0.02:garbage:times=1', 'rate=0.005:reset',
         'rate=0.005:truncate', 'share=0.01:wrong_id:times=1', 'share=0.01:null:times=1',
         'share=0.01:delayed:times=1')
PACE = 'items:delay=40'  # slow enough for a fault to meet everybody at work
ROUND = 150  # ids that a round begins with
ROOM = 3000  # that the upstream may grow by
ROOMY = '256m'
HEALED = 900  # seconds; on a machine that has no time everybody loses his leases all the time
GATHERED = 200  # seconds; strays are looked for once in a minute
PATIENT = 1  # seconds that owners of tables wait for a lock


def all_stopped(pid):
    return all(' T ' in (task / 'stat').read_text().rpartition(')')[2][:4]
               for task in pathlib.Path(f'/proc/{pid}/task').iterdir())


class World(UpdaterTest):
    """NAMED: every process has a name in the database, a host and a clock of its own."""

    def begin(self, seed, small_disk, say):
        self.chance, self.say = random.Random(seed), say
        self.small_disk = small_disk
        self.clocks = []
        self.own = self.prepare()
        audit.install(self.own, self.NAMED, self.table)
        self.judge = Judge(self)
        self.upstream = self.upstream_of(self.chance)
        self.pulse = Pulse(self.upstream.url)
        self.addCleanup(self.pulse.stop)
        self.wire = self.wire_to(self.upstream.port)
        self.source = types.SimpleNamespace(url=f'http://127.0.0.1:{self.wire.port}/v0')
        self.service, self.plan = self.lookup(), self.sources(slots=4, timeout='5s')
        self.port, self.rows = free_port(), 0
        self.faulty, self.readers = False, {}
        self.people = Population(self)
        self.addCleanup(self.close_eyes)
        self.populate()

    def upstream_of(self, chance):
        return self.upstream(*ITEMS, PACE, ids=IDS, recent=True, room=ROOM,
                             seed=chance.randrange(1, 1000))

    def wire_to(self, port):
        wire = Wire(port, random.Random(self.chance.random()))
        self.addCleanup(wire.close)
        return wire

    def clock(self, name):
        clock = Clock(self.folder / f'clock-{name}')
        self.clocks.append(clock)
        return clock

    def populate(self):
        self._begin('serve1', population.serve)
        for name, query, follower in (('key', '', Follower), ('public', '?topics=items,users',
                                                              Follower), ('cdc', '', CdcFollower)):
            reader = follower(lambda: self.port, query, headers=() if name == 'public' else (
                f'Authorization: Bearer {KEY}',))
            reader.public = name == 'public'
            self.readers[name] = reader
        for name, reader in self.readers.items():
            wait_until(lambda reader=reader: reader.joined, what=f'hello for {name}')
        for name, begin in (('catchup1', population.catchup), ('catchup2', population.catchup),
                            ('updater1', population.updater), ('updater2', population.updater),
                            ('enrich1', population.enrich), ('enrich2', population.enrich)):
            self._begin(name, begin)

    def _begin(self, name, begin):
        host = f'host{name[-1]}' if self.NAMED else None
        self.people.add(name, lambda m: begin(self, m), self.clock_of(name), host=host)

    def close_eyes(self):
        for reader in self.readers.values():
            reader.over.set()
        for m in self.people.members:
            m.wake()

    # Life

    def work(self, chance):
        """The upstream and the owners of the flowsheet go about their business."""
        u = self.upstream
        what = chance.random()
        with contextlib.suppress(OSError):
            if what < 0.35:
                u.grow_by(chance.randint(1, 12))
            elif what < 0.9:
                item = chance.randint(u.first, u.maxitem)
                with contextlib.suppress(AssertionError):  # a null cannot be changed
                    u.mutate(item, chance.choice(('score', 'score', 'edit', 'dead', 'delete')))
        if chance.random() < 0.4:
            self.new_rows(chance.randint(1, 4))

    def new_rows(self, n):
        names = [f"{'Nobody' if i % 3 == 0 else 'Artist'} {i}"
                 for i in range(self.rows, self.rows + n)]
        self.insert(types.SimpleNamespace(execute=self.try_write), *names)
        self.rows += n

    def live(self, seconds, chance, until=lambda: False):
        """Everybody goes on for that long, or until something is so."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not until():
            self.people.tend(self.faulty)
            self.work(chance)
            self.glance()
            time.sleep(0.15)

    def dawn(self):
        """A round begins with work for all who catch up."""
        self.upstream.grow_by(ROUND, quiet=True)
        self.people.again('catchup')

    def glance(self):
        """At whatever instant this is."""

    def heal(self):
        """No trouble any more, and everybody has a chance to notice."""
        for clock in self.clocks:
            clock.set(0)
        self.wire.heal()
        self.upstream.down(False)
        self.upstream.faults(PACE)
        self.service.usual()
        for m in self.people.members:
            m.wake()

    def recover(self):
        """What is not the truth yet becomes it: dead letters are tried again, as a person would,
        and updaters that start anew look again at what was changed while nobody listened."""
        self.heal()
        self.upstream.faults()
        done = self.run_tain('dead-letter', 'replay', '--all', '--db', self.own.uri, '--json')
        self.assertIn(done.code, (0, 3), done)
        self.own.execute("UPDATE claims SET next_try_at = NULL WHERE state = 'free'")
        for m in self.people.of('updater'):
            if m.alive():
                m.kill()
        seen = []

        def settled():
            self.people.tend(True)
            self.people.again('catchup')
            try:
                seen[:] = self.judge.unsettled()
            except (sqlite3.OperationalError, RuntimeError) as why:
                seen[:] = [f'the database does not answer: {why}']
            return not seen
        try:
            wait_until(settled, HEALED, 'the truth', every=0.3)
        except AssertionError as late:
            logs = '\n'.join(f'--- {m.alias}\n{m.run.so_far()[-2500:]}'
                             for m in self.people.members)
            self.fail(f'{late}: {len(seen)}, {seen[:6]}\n{logs}')

    def finish(self):
        """The end of a world: healed, stopped in good order, and judged to the last event."""
        self.recover()
        self.judge.look()
        for m in self.people.of('enrich'):
            self.wait_conserved(m.run)
        wrong = self.people.stop('catchup', 'updater', 'enrich')
        # who stops may have had something to write still; the readers hear of it
        wait_until(lambda: not [*self.judge.unheard()], what='readers that have heard all')
        wrong += self.people.stop('serve')
        self.assertFalse(wrong, '\n'.join(wrong))
        self.judge.look()
        self.judge.all_heard()
        self.assert_rows(self.own)
        done = self.run_tain('verify', '--db', self.own.uri, '--json')
        self.assertEqual(done.code, 0, done)
        self.judge.all_indexed()

    def active_updater(self):
        rows = self.peek('SELECT updater_holder FROM updater_state')
        found = [m for m in self.people.of('updater') if rows and m.holds(rows[0][0])]
        return found[0] if found else None

    def falls_asleep(self, m, holders):
        """With something that it holds, as the SQL `holders` sees it, and between two transactions:
        a lock of SQLite's does not run out."""
        for _ in range(100):
            if not m.alive():
                return False
            m.sleep()
            wait_until(lambda: not m.alive() or all_stopped(m.run.pid), what='sleep')
            if self.is_free() and any(m.holds(row[0]) for row in self.peek(holders) or ()):
                return True
            m.wake()
            time.sleep(0.02)
        return False

    def is_free(self):
        return True

    def lost_aloud(self):
        """The database's own log says that changes were lost to readers."""
        return False


class SqliteWorld(World, FlowsheetOnSqlite):
    NAMED = False

    def prepare(self):
        self.disk = None
        if self.small_disk:
            place = self.folder / 'disk'
            place.mkdir()
            self.disk = Disk(place, ROOMY)
            self.addCleanup(self.disk.remove)
        self.host_clock = self.clock('all')  # one machine has one clock
        return self.flowsheet()

    def archive(self):
        return Sqlite(self.folder / 'disk' / 'archive.db') if self.disk else OnSqlite.archive(self)

    def clock_of(self, _):
        return self.host_clock

    def glance(self):
        self.assert_invariants(self.own)  # of a copy: whoever has a lock has it

    def door(self, _):
        return self.own

    def try_write(self, sql):
        """As owners of the table do, who do not wait for long; True: it is done."""
        connection = sqlite3.connect(self.own.path, timeout=PATIENT)
        with contextlib.closing(connection):
            try:
                with connection:
                    connection.execute(sql)
                return True
            except sqlite3.OperationalError:
                return False

    def peek(self, sql):
        """Rows, or None: the database does not answer now."""
        try:
            return self.own.rows(sql)
        except sqlite3.OperationalError:
            return None

    def is_free(self):
        connection = sqlite3.connect(self.own.path, timeout=0, isolation_level=None)
        with contextlib.closing(connection):
            try:
                connection.execute('BEGIN IMMEDIATE')
                connection.execute('ROLLBACK')
            except sqlite3.OperationalError:
                return False
            return True


class _Skewed:
    """A server whose clock can be wrong."""
    clock = None

    def _environment(self):
        return dict(super()._environment(), **self.clock.environment())


class SkewedPostgres(_Skewed, Postgres):
    pass


class SkewedSmallDisk(_Skewed, SmallDisk):
    pass


class PostgresWorld(World, FlowsheetOnPostgres):
    NAMED = True
    BUFFERS = '4MB'

    def prepare(self):
        kind = SkewedSmallDisk if self.small_disk else SkewedPostgres
        self.server = kind({'synchronous_commit': 'on', 'max_connections': '100',
                            'shared_buffers': self.BUFFERS})
        self.folder.chmod(0o755)
        self.server_clock = self.server.clock = self.clock('server')
        self.addCleanup(self.server.remove)
        self.server.start()
        self.disk = self.server.disk if self.small_disk else None
        own = self.flowsheet()
        self.way = self.wire_to(self.server.port)  # to the database
        return own

    def archive(self):
        return PostgresArchive(self.server)

    def heal(self):
        self.way.heal()
        super().heal()

    def clock_of(self, name):
        return self.clock(name)

    def strays(self):
        """Of each table, whether rows are in no partition of their own."""
        return self.own.rows("SELECT (tain.partition_stray('items') IS NOT NULL)::int, "
                             "(tain.partition_stray('change_log') IS NOT NULL)::int")[0]

    def gather(self):
        """Who writes learns of partitions within a minute, and moves what lies elsewhere."""
        seen = []

        def none():
            seen[:] = self.strays()
            return not any(seen)
        self.live(GATHERED, self.chance, none)
        self.assertFalse(any(seen), f'{seen}: some lie elsewhere still')

    def lost_aloud(self):
        with open(f'{self.server.dir}/log', errors='replace') as log:
            return 'is neither logged nor noted' in log.read()

    def try_write(self, sql):
        try:
            self.own.execute(f"SET lock_timeout = '{PATIENT}s'; {sql}")
            return True
        except RuntimeError:
            return False

    def peek(self, sql):
        try:
            return self.own.rows(f"SET lock_timeout = '{PATIENT}s'; {sql}")
        except RuntimeError:
            return None

    def door(self, m):
        """The database as that process knows it: over the wire, under its own name."""
        uri = re.sub(r':\d+/', f':{self.way.port}/', self.own.uri)
        return types.SimpleNamespace(uri=f'{uri}?application_name={m.alias}')


class PartitionedWorld(PostgresWorld):
    BUFFERS = '32MB'  # a page of each partition is in use at once


WORLDS = {'sqlite': SqliteWorld, 'postgres': PostgresWorld, 'partitioned': PartitionedWorld}
