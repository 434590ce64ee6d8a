"""The deployment under test: fourteen hosts on one switch, with a database that fails over,
everything that works on it, an upstream, a lookup service, readers of the feed, and a life that
goes on whatever happens: items change, ids are added, rows come in. And what must hold in the
end."""

import os
import random
import threading
import time

from lib import QUICK as CATCHUP_QUICK
from lib import LEAST, find_bin, wait_until
from audit import findings, install
from cluster import SOON, Archive, Cluster
from events import KEY, id_of, log_of
from fleet import Fleet, HostUpstream
from flowsheet import FINAL, SCHEMA, TABLE, TOKEN, Flowsheets
from lookup import Lookup
from network import Network, why_not
from readers import SIGNS, CdcReader, EventsReader, check_story
from updater import QUICK as UPDATER_QUICK
from updater import Pulse, UpdaterTest, differences

IDS = 400
RPS = 100  # item requests a second, of all hosts together
RATE, SLOTS = 180, 5  # lookups a minute and at once, of all hosts together
RUSH = 60  # rows that are there at once, so that these limits are what all wait for
PARTITION = 200  # ids, and a tenth of that changes
CONCURRENCY = 16  # item requests at once, of one host
WEB = 8080
CATCHUPS, UPDATERS = ('catchup1', 'catchup2', 'catchup3'), ('updater1', 'updater2')
ENRICHERS, SERVERS = ('enrich1', 'enrich2', 'enrich3'), ('serve1', 'serve2')
HOSTS = ('pg1', 'pg2', 'upstream', 'lookup', *CATCHUPS, *UPDATERS, *ENRICHERS, *SERVERS)
SICK = ('share=0.03:reset:times=2', 'share=0.03:status=503:times=2')  # on a usual day


class Life(threading.Thread):
    def __init__(self, world, seed):
        super().__init__(daemon=True, name='life')
        self.world, self.chance = world, random.Random(seed)
        self.over, self.rows, self.failure = threading.Event(), 0, None
        self.start()

    def run(self):
        try:
            self.insert(RUSH)
            while not self.over.wait(0.6):
                self.change()
                self.insert(2)
        except Exception as failure:  # pylint: disable=broad-except
            self.failure = failure

    def change(self):
        site = self.world.site
        lo = self.chance.randrange(site.first, site.maxitem - 3)
        site.change(lo, lo + 2)

    def insert(self, n):
        """Until it is known to be stored: a commit may be lost, or its answer."""
        values = ', '.join(f"({i}, '{'Nobody' if i % 3 == 0 else 'Artist'} {i}', 'Album', 'Song')"
                           for i in range(self.rows + 1, self.rows + n + 1))
        while not self.over.is_set():
            try:
                self.world.db.execute(
                    f'INSERT INTO {TABLE} (id, artist_name, album_title, track_title) '
                    f'VALUES {values} ON CONFLICT (id) DO NOTHING')
                self.rows += n
                return
            except RuntimeError:
                self.over.wait(0.2)

    def stop(self):
        self.over.set()
        self.join()


class Meter(threading.Thread):
    """Reads the upstream's own count of item requests all the time."""

    def __init__(self, site):
        super().__init__(daemon=True, name='meter')
        self.site, self.looks, self.over = site, [], threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(0.5):
            before = time.monotonic()
            count = self.site.stats()['requests']['item']
            self.looks.append((before, count, time.monotonic()))

    def stop(self):
        self.over.set()
        self.join()

    def ahead(self, per_second):
        """The most requests by which they were ahead of that pace, from any look to any other."""
        return max((n - m - (end - begin) * per_second
                    for i, (begin, m, _) in enumerate(self.looks)
                    for _, n, end in self.looks[i + 1:]), default=0)


class World(Flowsheets, UpdaterTest):
    table = TABLE
    options = SOON
    partitioned = False

    @staticmethod
    def schema():
        return ('CREATE SCHEMA wxyc_schema',
                SCHEMA.format(table=TABLE, key='BIGSERIAL', busy='', pending=''))

    def archive(self):
        return self.db

    def setUp(self):
        super().setUp()
        if why_not():
            self.skipTest(why_not())
        if not find_bin():
            self.skipTest('PostgreSQL is not installed')
        os.environ['no_proxy'] = os.environ['NO_PROXY'] = '*'
        self.net = Network()
        self.addCleanup(self.net.close)
        self.h = {name: self.net.host(name) for name in HOSTS}
        self.build_database()
        self.build_services()

    def build_database(self):
        self.cluster = Cluster([self.h['pg1'], self.h['pg2']])
        self.addCleanup(self.cluster.remove)
        self.db = Archive(self.cluster, **self.options)
        self.flowsheet()
        if self.partitioned:
            done = self.run_tain('migrate', '--partitioned', '--partition-width', PARTITION, '--db',
                                 self.db.uri)
            self.assertEqual(done.code, 0, done)
        install(self.db, self.net.hosts.values())
        self.cluster.add_replica()

    def build_services(self):
        self.site = HostUpstream(self.h['upstream'], *SICK, ids=IDS, recent=True)
        self.first_ids = self.site.maxitem - self.site.first + 1
        self.addCleanup(self.site.stop)
        pulse = Pulse(self.site.url)
        self.addCleanup(pulse.stop)
        self.h['lookup'].enter()
        try:
            self.lookup = Lookup(token=TOKEN, port=80, host=self.h['lookup'].address)
        finally:
            self.net.hosts['observer'].enter()
        self.addCleanup(self.lookup.close)
        self.lookup.become('slow', seconds=0.5)
        self.fleet = Fleet()
        self.addCleanup(self.fleet.close)
        self.add_mirror()
        self.add_rest()

    def add_mirror(self):
        common = ('--db', self.db.uri, '--upstream', self.site.url, '--start-id', self.site.first)
        quick = ('--rps', RPS, '--timeout', '3s', '--segment-width', 50, '--concurrency',
                 CONCURRENCY, '--lease', '2s', '--batch-size', 20)
        for name in CATCHUPS:
            self.fleet.add(self.h[name], 'catchup', *common, *CATCHUP_QUICK, *quick)
        for name in UPDATERS:
            self.fleet.add(self.h[name], 'updater', *common, *UPDATER_QUICK, *quick,
                           '--updater-lease', '3s', '--stream-timeout', '3s',
                           '--outage-rescan-after', '1s', '--startup-rescan-days', 1,
                           '--rescan-window-days', 1, '--catchup-interval', '30s')

    def add_rest(self):
        path = self.sources(rate=f'{RATE}/min', slots=SLOTS, timeout='10s')
        for name in ENRICHERS:
            self.fleet.add(self.h[name], 'enrich', '--db', self.db.uri, '--sources', path,
                           env={'LML_URL': self.lookup.url, 'LML_TOKEN': TOKEN})
        databases = ('--db', self.db.uri), ('--read-db', self.db.read_uri)
        for name, database in zip(SERVERS, databases):
            host = self.h[name]
            self.fleet.add(host, 'serve', *database, '--listen', f'{host.address}:{WEB}',
                           '--public-host', host.address, '--query-threads', 2, *SIGNS,
                           env={'TAIN_CDC_KEY': KEY})

    def begin(self, seed):
        """Everything runs, and the readers listen."""
        self.meter = Meter(self.site)
        self.addCleanup(self.meter.stop)
        for service in self.fleet.services.values():
            service.start()
        self.fleet.start()
        one, two = [(self.h[name].address, WEB) for name in SERVERS]
        self.readers = [EventsReader('events of serve1', [one]), CdcReader('cdc of serve1', [one]),
                        EventsReader('events of serve2', [two]), CdcReader('cdc of serve2', [two]),
                        EventsReader('events of either', [one, two]),
                        CdcReader('cdc of either', [two, one])]
        for reader in self.readers:
            self.addCleanup(reader.stop)
            self.wait(lambda: reader.joined, f'hello for {reader.name}')
        self.wait(lambda: any('following the event stream' in self.fleet.services[name].said()
                              for name in UPDATERS), 'an updater that hears what changes')
        self.ids = set()  # that were stored; a fail-over to a synchronous replica loses none
        self.life = Life(self, seed)
        self.addCleanup(self.life.stop)
        self.rush()

    def rush(self):
        """At first calls take so long that all slots are in use, then so little that it is the rate
        which holds everybody back."""
        self.lookup.become('slow', seconds=3)
        self.wait(lambda: len(self.lookup.calls) >= 2 * SLOTS + 2, 'the first lookups')
        self.lookup.become('slow', seconds=0.5)
        self.assertEqual(self.lookup.highest, SLOTS, 'at once')

    def wait(self, condition, what, every=0.1, more=0):
        """With the logs of all hosts in the complaint. The database may be away meanwhile. `more`:
        so many seconds longer than usual."""
        refused = []

        def look():
            self.assertIsNone(self.fleet.failure)
            try:
                return condition()
            except RuntimeError as why:
                refused[:] = [why]
                return None
        try:
            return wait_until(look, LEAST + more, what=what, every=every)
        except AssertionError as late:
            raise AssertionError(f'{late} {refused}\n{self.fleet.logs()}') from None

    def ask(self, sql):
        """Rows, from whoever is the primary when there is one."""
        return self.wait(lambda: [self.db.rows(sql)], f'an answer to {sql}')[0]

    # What must hold, at any time

    def check_invariants(self):
        self.wait(lambda: self.db.rows('SELECT 1'), 'the database')
        self.ids = self.assert_kept(self.ids, self.assert_invariants(self.db).ids)
        self.assertEqual(findings(self.db), [])
        self.assertLessEqual(self.lookup.highest, SLOTS)
        for thread in (self.life, self.fleet, *self.readers):
            self.assertIsNone(thread.failure)

    # and in the end

    def settle(self):
        """Nothing happens any more; everything that is owed arrives by itself."""
        self.life.stop()
        self.site.faults()
        began = time.monotonic()
        self.wait_truth()
        self.show_time('healed', time.monotonic() - began)
        self.wait(lambda: sum(self.states(self.db).get(state, 0) for state in FINAL)
                  == self.life.rows, 'every row to be final', every=0.5,
                  more=self.life.rows * 60 / RATE)  # what the limit takes for all of them
        codes = self.fleet.stop(*UPDATERS, *ENRICHERS)
        self.assertEqual(set(codes.values()), {0}, codes)
        self.fleet.stop(*CATCHUPS)
        self.meter.stop()
        head = self.wait(lambda: self.db.rows('SELECT head FROM feed_state WHERE NOT EXISTS '
                                              '(SELECT 1 FROM change_log WHERE pos IS NULL)'),
                         'positions for all changes')[0][0]
        for reader in self.readers:
            self.wait(lambda: id_of(reader.last)[1] >= head, f'the last change at {reader.name}')
            reader.stop()

    def wait_truth(self):
        wrong = []

        def equal():
            wrong[:] = differences(self.db, self.site)
            return not wrong
        try:
            self.wait(equal, 'the truth', every=0.5)
        except AssertionError as late:
            left = [self.ask(f'SELECT * FROM {table}') for table in
                    ('ingest_exceptions', 'ingest_dlq_items', 'ingest_segments')]
            raise AssertionError(f'{len(wrong)} differences: {wrong[:5]}\n{left}\n{late}') from None

    def check_end(self):
        self.check_invariants()
        self.assertEqual(differences(self.db, self.site), [])
        self.assert_rows(self.db)
        self.assertNotIn('failed_no_retry', self.states(self.db))
        self.check_limits()
        log = {pos: tuple(rest) for pos, *rest in log_of(self.db)}
        for reader in self.readers:
            with self.subTest(reader=reader.name):
                wrong, left_out = check_story(reader.began, reader.story, log)
                self.assertFalse(wrong, wrong[:5])
                self.assertFalse(left_out, 'nothing was lost, and yet there was a gap')
                self.tell(f'{reader.name}: {len(reader.story)} frames, joined {reader.joined} '
                          f'times, {len(left_out)} left out by gaps')

    def check_limits(self):
        """Turns are taken for a fifth of a second ahead, and what was on its way when a link broke
        arrives when it is whole again."""
        self.assertLessEqual(self.lookup.in_any(60), RATE + SLOTS)
        self.assertLessEqual(self.lookup.ahead(RATE), 1 + SLOTS)
        hosts = len(CATCHUPS + UPDATERS)
        ahead = self.meter.ahead(RPS)
        self.assertLessEqual(ahead, hosts * (RPS / 5 + CONCURRENCY))
        self.tell(f'{len(self.lookup.calls)} lookups for {self.life.rows} rows, at most '
                  f'{self.lookup.highest} at once, {self.lookup.ahead(RATE):.1f} ahead of the '
                  f'pace; {self.meter.looks[-1][1]} item requests, {ahead:.0f} ahead')

    @staticmethod
    def tell(text):
        print(f'\n  {text}', end='', flush=True)
