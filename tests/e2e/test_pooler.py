"""PgBouncer between tain and PostgreSQL. By sessions: all works as without it. By transactions or
statements: refused in words before anything is written, whoever else uses the pooler."""

import atexit
import json
import unittest

from lib import EXIT_DONE, PostgresArchive, find_bin, wait_until
from events import Follower, heard, log_of
from flowsheet import EnrichTest
from pgbouncer import Pooler, find_pgbouncer
from postgres import Postgres
from serve import Server
from updater import UpdaterTest

WORDS = 'tain needs pool_mode = session'
SETTINGS = {'max_connections': '120'}


class Pooled:
    """An archive, and the same behind a pooler."""
    mode, settings = 'session', {}

    def setUp(self):
        super().setUp()
        if not find_bin() or not find_pgbouncer():
            self.skipTest('PostgreSQL or PgBouncer is not installed')
        self.server = Postgres(SETTINGS)
        self.ends_with_us(self.server)
        self.server.start()
        self.direct = PostgresArchive(self.server)
        self.pooler = Pooler(self.server, self.mode, **self.settings)
        self.ends_with_us(self.pooler)
        self.pooler.start()

    def ends_with_us(self, server):
        self.addCleanup(server.remove)
        atexit.register(server.remove)  # also after ^C, when no cleanup is run

    def archive(self):
        """What it is told and asked goes past the pooler; what tain is told of is the pooler."""
        return self.direct

    def behind(self):
        archive = PostgresArchive.__new__(PostgresArchive)
        archive.server, archive.name = self.server, self.direct.name
        archive.uri = self.pooler.uri(self.direct.name)
        return archive


class BySessions(Pooled, UpdaterTest):
    def test_catchup(self):
        upstream = self.demo()
        self.catchup(self.behind(), upstream, '--end-id', 1500)
        self.assert_complete(self.direct, upstream, 1, 1500)
        self.assert_invariants(self.direct)
        result = self.run_tain('doctor', '--db', self.behind().uri, '--upstream', upstream.url)
        self.assertEqual(result.code, EXIT_DONE, result)
        for command in (['status'], ['verify'], ['migrate', '--partitioned'],
                        ['dead-letter', 'list'], ['search', 'the']):
            with self.subTest(command[0]):
                result = self.run_tain(*command, '--db', self.behind().uri)
                self.assertEqual(result.code, EXIT_DONE, result)

    def test_readers_of_the_feed_hear_everything(self):
        """Two servers and an updater: also while the pooler is away, and after it."""
        upstream = self.upstream(ids=200)
        self.catchup(self.behind(), upstream)
        updater = self.start_updater(self.behind(), upstream)
        self.converge(updater, self.direct, upstream)
        self.wait_metric(updater, 'realtime_listener_connected', 1)
        servers = [Server(self, self.behind()) for _ in range(2)]
        followers = [Follower(lambda server=server: server.port) for server in servers]
        for follower in followers:
            self.addCleanup(follower.stop)
        wait_until(lambda: all(follower.joined for follower in followers), what='hello')
        before = self.direct.rows('SELECT head FROM feed_state')[0][0]
        upstream.change(10, 60)
        self.converge(updater, self.direct, upstream)
        self.pooler.stop()
        upstream.change(70, 90)
        self.pooler.start()
        upstream.change(100, 120)
        self.converge(updater, self.direct, upstream)
        wait_until(lambda: not self.direct.rows('SELECT 1 FROM change_log WHERE pos IS NULL'),
                   what='positions')
        log = [change for change in log_of(self.direct) if change[0] > before]
        self.assertGreaterEqual({key['id'] for _, table, _, key in log if table == 'items'},
                                {*range(10, 61), *range(70, 91), *range(100, 121)})
        for follower in followers:
            wait_until(lambda follower=follower: len(heard(follower.events())) >= len(log),
                       what='every change')
            self.assertEqual(heard(follower.events()), log)
            self.assertFalse(follower.gaps())
        self.stop_updater(updater)


class EnrichBySessions(Pooled, EnrichTest):
    def test_each_row_once(self):
        archive, lookup = self.flowsheet(), self.lookup()
        path = self.sources()
        runs = [self.ready(self.worker(self.behind(), lookup, path)) for _ in range(2)]
        self.insert(archive, *(f'Artist {i}' for i in range(100)))
        self.wait_final(archive, 100, runs)
        self.assertEqual(set(lookup.artists().values()), {1})
        self.assert_rows(archive)
        for run in runs:
            run.signal(15)
        for run in runs:
            self.assertEqual(run.wait().code, EXIT_DONE)


class Changed(Pooled, UpdaterTest):
    def test_a_connection_that_is_made_again_is_looked_at_too(self):
        upstream = self.upstream(ids=200)
        self.catchup(self.behind(), upstream)
        updater = self.start_updater(self.behind(), upstream)
        self.converge(updater, self.direct, upstream)
        self.pooler.stop()
        self.pooler.settings['pool_mode'] = 'transaction'
        self.pooler.start()
        result = updater.wait()
        self.assertNotEqual(result.code, EXIT_DONE, result)
        self.assertIn(WORDS, result.out + result.err)

    def test_what_is_not_there_is_not_put_down_to_it(self):
        upstream = self.upstream(ids=60)
        self.catchup(self.behind(), upstream)
        self.direct.execute('DROP TABLE items CASCADE')
        result = self.run_tain('verify', '--db', self.behind().uri)
        self.assertNotEqual(result.code, EXIT_DONE, result)
        self.assertIn('items', result.out + result.err)
        self.assertNotIn('pooler', result.out + result.err)


class Refusals(Pooled):
    """Nothing but tain uses this pooler."""

    def assert_refused(self, *command):
        result = self.run_tain(*command, '--db', self.behind().uri)
        self.assertNotEqual(result.code, EXIT_DONE, result)
        self.assertIn(WORDS, result.out + result.err)
        return result

    def test_nothing_is_written(self):
        upstream = self.upstream(ids=60)
        self.assert_refused('catchup', '--upstream', upstream.url)
        self.assert_refused('migrate')
        self.assertEqual(self.direct.rows(
            "SELECT 1 FROM pg_namespace WHERE nspname = 'tain'"), [])
        # and nothing is set in a session that others will have
        for name in ('search_path', 'lock_timeout', 'statement_timeout', 'enable_seqscan'):
            show = f'SHOW {name}'
            self.assertEqual(self.pooler.psql(show, self.direct.name), self.server.psql(show))

    def test_every_command_says_so(self):
        upstream = self.upstream(ids=60)
        self.catchup(self.direct, upstream)
        before = self.direct.snapshot()
        for command in (['catchup', '--upstream', upstream.url],
                        ['updater', '--upstream', upstream.url],
                        ['serve', '--listen', '127.0.0.1:0'],
                        ['up', '--upstream', upstream.url], ['verify'], ['status'],
                        ['migrate', '--partitioned'], ['cdc', 'list'],
                        ['export', str(self.folder / 'dump')]):
            with self.subTest(command[0]):
                self.assert_refused(*command)
        self.assertEqual(self.direct.snapshot(), before)

    def test_doctor_names_it(self):
        result = self.assert_refused('doctor', '--json')
        row = next(row for row in json.loads(result.out)['checks'] if row['name'] == 'database')
        self.assertEqual(row['level'], 'fail')
        self.assertIn(WORDS, row['text'])


class ByTransactions(Refusals, UpdaterTest):
    mode = 'transaction'


class ByTransactionsOnOneConnection(Refusals, UpdaterTest):
    """Whoever is alone there is always given the same session."""
    mode, settings = 'transaction', {'default_pool_size': 1}


class ByTransactionsInTurn(Refusals, UpdaterTest):
    """The session that was idle for longest comes first; two are there."""
    mode = 'transaction'
    settings = {'server_round_robin': 1, 'min_pool_size': 2}


class ByStatements(Refusals, UpdaterTest):
    mode = 'statement'


if __name__ == '__main__':
    unittest.main()
