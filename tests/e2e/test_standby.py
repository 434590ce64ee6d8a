"""Two updaters on one database: one works, the other waits and takes over when the first is gone,
by whatever death. One that was only asleep finds out, ends, and has written nothing meanwhile."""

import contextlib
import re
import pathlib
import signal
import sqlite3
import time
import unittest

from lib import EXIT_FAILED, OnPostgres, OnSqlite, PostgresArchive, Sqlite, wait_until
from updater import UpdaterTest, metric

LEASE = '60s'  # of one that falls asleep; nobody loses it by being slow
NEVER = '1h'  # a lease that nobody would live to see the end of
LOOK = 1  # how often a standby looks
PROMISED = 30  # seconds until it takes over, with what is set by default
# Nothing but the stream, and what was written down, can repair anything.
ALONE = ('--startup-rescan-days', 0)


def all_stopped(pid):
    """A thread on another processor goes on for a moment after the signal."""
    return all(' T ' in (task / 'stat').read_text().rpartition(')')[2][:4]
               for task in pathlib.Path(f'/proc/{pid}/task').iterdir())


class Standby:
    def pair(self, *arguments, lease=NEVER, **options):
        upstream, archive = self.upstream(ids=800, **options), self.archive()
        arguments = ('--updater-lease', lease, *arguments)
        first = self.follow(archive, upstream, *arguments)
        second = self.start_updater(archive, upstream, *arguments)
        self.say(second, 'another updater is active; standing by')
        self.assert_roles(archive, first, second)
        return upstream, archive, first, second

    def assert_roles(self, archive, active, standby):
        for run, role, other in ((active, 'active', 'standby'), (standby, 'standby', 'active')):
            wait_until(lambda: metric(run, f'updater_role{{role="{role}"}}') == 1, what=role)
            self.assertEqual(metric(run, f'updater_role{{role="{other}"}}'), 0)
        found = self.status(archive)['updater']
        self.assertTrue(found['active'])
        self.assertIn(str(active.pid), found['holder'])
        self.assertNotIn('this updater is active', standby.so_far())

    def takes_over(self, what, second, archive, upstream, since):
        self.say(second, 'this updater is active')
        took = time.monotonic() - since
        wait_until(lambda: metric(second, 'updater_role{role="active"}') == 1, what='its role')
        self.settle(f'{what}, taken over after {took:.2f} s', second, archive, upstream,
                    since=since)
        self.assertIn(str(second.pid), self.status(archive)['updater']['holder'])

    def test_killed(self):
        """Of a dead process on the same host nobody waits for the lease."""
        upstream, archive, first, second = self.pair('--startup-rescan-days', 1, recent=True)
        upstream.faults('items:delay=10')
        upstream.change(upstream.first, upstream.maxitem)
        self.wait_metric(first, 'realtime_items_updated_total', 20)
        first.signal(signal.SIGSTOP)  # what changes now is before the replay of the second
        upstream.faults()
        upstream.change(upstream.first, upstream.first + 50, quiet=True)
        first.kill()
        began = time.monotonic()
        self.takes_over('killed', second, archive, upstream, began)
        self.stop_updater(second)

    def test_stopped(self):
        upstream, archive, first, second = self.pair(*ALONE, '--concurrency', 8)
        upstream.faults('items:delay=3000')  # the queue is full for as long as it takes to see it
        upstream.change(1, 800)
        self.wait_metric(first, 'realtime_queue_depth', 500)
        self.stop_updater(first)
        began = time.monotonic()
        upstream.faults()
        self.takes_over('stopped', second, archive, upstream, began)
        self.stop_updater(second)

    def test_asleep(self):
        upstream, archive, first, second = self.pair('--startup-rescan-days', 1, '--concurrency',
                                                     16, recent=True, lease=LEASE)
        upstream.faults('items:delay=3000')
        upstream.change(upstream.first, upstream.maxitem)
        self.wait_metric(first, 'http_inflight', 10)
        wait_until(lambda: self.falls_asleep(archive, first), what='sleep between transactions')
        upstream.faults()
        looks = time.monotonic() + 3 * LOOK
        wait_until(lambda: time.monotonic() > looks, what='some looks of the standby')
        self.assertNotIn('this updater is active', second.so_far(), 'its lease was not waited for')
        archive.execute('UPDATE updater_state SET updater_lease_until = 1')
        began = time.monotonic()
        self.takes_over('asleep', second, archive, upstream, began)
        self.stop_updater(second)  # so that nobody else writes
        upstream.down(True)  # all that it has is what it had when it fell asleep
        self.nothing_is_written(archive, first)
        upstream.down(False)
        third = self.start_updater(archive, upstream, *ALONE)
        self.converge(third, archive, upstream)
        self.stop_updater(third)

    @staticmethod
    def falls_asleep(archive, run):
        """A lock of SQLite's does not run out: who sleeps with one keeps everybody waiting."""
        run.signal(signal.SIGSTOP)
        wait_until(lambda: all_stopped(run.pid), what='every thread asleep')
        if archive.is_free():
            return True
        run.signal(signal.SIGCONT)
        return False

    def nothing_is_written(self, archive, sleeper):
        """Segments are left out: they have leases of their own, and anyone may work on them."""
        own = ('SELECT last_sse_event_at, last_rescan_at, updater_holder, updater_token, '
               'updater_lease_until FROM updater_state')

        def all_there_is():
            found = {table: archive.rows(f'SELECT * FROM {table}') for table in
                     ('items', 'kids', 'lists', 'users', 'update_ages')}
            return {'updater_state': archive.rows(own), **found}
        before = all_there_is()
        sleeper.signal(signal.SIGCONT)
        result = sleeper.wait()
        self.assertEqual(result.code, EXIT_FAILED, result)
        self.assertRegex(result.err.splitlines()[-1], 'another|lease|taken over')
        after = all_there_is()
        for table, rows in before.items():
            self.assertEqual(after[table], rows, f'it wrote to {table}')


class Default(UpdaterTest):
    def test_lease_is_short_enough(self):
        text = self.run_tain('updater', '--help').out
        lease = int(re.search(r'--updater-lease.*?default[^\d]*(\d+)s', text, re.S).group(1))
        self.assertLess(lease + LOOK, PROMISED - 10)


class FreeSqlite(Sqlite):
    def is_free(self):
        """Nobody is writing."""
        connection = sqlite3.connect(self.path, timeout=0, isolation_level=None)
        with contextlib.closing(connection):
            try:
                connection.execute('BEGIN IMMEDIATE')
            except sqlite3.OperationalError:
                return False
            connection.execute('ROLLBACK')
            return True


class FreePostgres(PostgresArchive):
    def is_free(self):
        return not self.rows("SELECT 1 FROM pg_stat_activity WHERE application_name = 'tain' "
                             "AND datname = current_database() AND state <> 'idle'")


class SqliteStandby(Standby, OnSqlite, UpdaterTest):
    def archive(self):
        return FreeSqlite(super().archive().path)

    def test_stopped_while_standing_by(self):
        upstream, archive, first, second = self.pair()
        self.stop_updater(second)
        self.assertTrue(first.running())
        upstream.change(1, 50)
        self.converge(first, archive, upstream)
        self.stop_updater(first)


class PostgresStandby(Standby, OnPostgres, UpdaterTest):
    def archive(self):
        return FreePostgres(self.server)


if __name__ == '__main__':
    unittest.main()
