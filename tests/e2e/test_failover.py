"""An address with several hosts and target_session_attrs: every command finds the primary, wherever
it is in the list, and after a failover runs go on with the new one."""

import unittest

from lib import EXIT_DONE, EXIT_USAGE, PostgresArchive, find_bin, wait_until
from events import Follower
from postgres import Postgres, Standby
from serve import Server
from updater import UpdaterTest

SETTINGS = {'synchronous_commit': 'on', 'wal_keep_size': '64MB', 'max_connections': '80'}


class Hosts(UpdaterTest):
    def setUp(self):
        super().setUp()
        if not find_bin():
            self.skipTest('PostgreSQL is not installed')
        self.primary = Postgres(SETTINGS)
        self.addCleanup(self.primary.remove)
        self.primary.start()
        self.archive = PostgresArchive(self.primary)
        self.standby = Standby(self.primary)
        self.addCleanup(self.standby.remove)
        self.standby.start()
        self.both = PostgresArchive.__new__(PostgresArchive)
        self.both.server, self.both.name = self.primary, self.archive.name
        self.both.uri = (f'postgres://postgres@127.0.0.1:{self.standby.port},'
                         f'127.0.0.1:{self.primary.port}/{self.archive.name}'
                         '?target_session_attrs=read-write')

    def fail_over(self):
        """The primary is stopped once the standby has all of it, as a synchronous one would."""
        self.primary.psql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.psql('SELECT pg_reload_conf()')
        wait_until(lambda: self.primary.psql(
            'SELECT COUNT(*) FROM pg_stat_replication WHERE sync_state <> \'async\'') == '1')
        self.primary.crash()
        self.standby.psql("ALTER SYSTEM SET synchronous_standby_names = ''")
        self.standby.psql('SELECT pg_promote(true, 60)')
        wait_until(lambda: self.standby.psql('SELECT pg_is_in_recovery()') == 'f', what='promotion')
        self.both.server = self.archive.server = self.standby
        self.archive.uri = self.standby.uri(self.archive.name)

    def test_every_command_finds_the_primary(self):
        upstream = self.upstream(ids=60)
        self.catchup(self.both, upstream)
        for command in (['status'], ['migrate'], ['verify'], ['dead-letter', 'list'],
                        ['cdc', 'list'], ['export', str(self.folder / 'dump')], ['search', 'the']):
            with self.subTest(command[0]):
                result = self.run_tain(*command, '--db', self.both.uri)
                self.assertEqual(result.code, EXIT_DONE, result)
        secret = self.both.uri.replace('postgres@', 'postgres:hush@')
        result = self.run_tain('status', '--db', secret)
        self.assertEqual(result.code, EXIT_USAGE, result)
        self.assertNotIn('hush', result.out + result.err)

    def test_runs_go_on_after_a_failover(self):
        upstream = self.upstream(ids=200)
        self.catchup(self.both, upstream)
        updater = self.follow(self.both, upstream)
        server = Server(self, self.both)
        follower = Follower(lambda: server.port)
        self.addCleanup(follower.stop)
        wait_until(lambda: follower.joined, what='hello')
        upstream.change(10, 20)
        self.converge(updater, self.archive, upstream)
        self.fail_over()
        upstream.change(30, 40)
        self.converge(updater, self.archive, upstream)
        wait_until(lambda: {f.data['data']['id'] for f in follower.frames if f.event == 'items'}
                   >= {*range(30, 41)}, what='changes of the new primary')
        self.assertFalse(follower.gaps())
        self.stop_updater(updater)


if __name__ == '__main__':
    unittest.main()
