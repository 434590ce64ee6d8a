"""tain migrate --partitioned: on an archive with rows and on an empty one, killed at every step,
and beside a run that writes."""

import json
import signal
import unittest

from lib import E2E, EXIT_DONE, EXIT_FAILED, EXIT_USAGE, OnPostgres, OnSqlite, wait_until
from events import Follower, heard, log_of
from serve import Server
from updater import UpdaterTest


class RefusedOnSqlite(OnSqlite, E2E):
    def test_the_message_and_the_code(self):
        archive = self.archive()
        result = self.run_tain('migrate', '--partitioned', '--db', archive.uri)
        self.assertEqual(result.code, EXIT_USAGE, result)
        self.assertIn('--partitioned needs PostgreSQL', result.err)


class Partitions(OnPostgres, UpdaterTest):
    def migrate(self, archive, *arguments, env=None):
        return self.run_tain('migrate', '--db', archive.uri, *arguments, env=env)

    def parts(self, archive):
        return json.loads(self.run_tain('status', '--json', '--db', archive.uri).out)['partitions']

    def doctor(self, archive, demo):
        report = json.loads(self.run_tain('doctor', '--json', '--db', archive.uri, '--upstream',
                                          demo.url).out)
        return next(c for c in report['checks'] if c['name'] == 'partitions')

    def test_killed_at_every_step(self):
        demo, archive = self.demo(maxitem=300), self.archive()
        self.catchup(archive, demo, '--end-id', 120, '--feed-history')
        self.assertIsNone(self.parts(archive))
        self.assertEqual(self.doctor(archive, demo)['level'], 'ok')
        before, logged = archive.snapshot(), archive.rows('SELECT COUNT(*) FROM changes')
        killed = 0
        # the steps of items one after the other, then those of the log
        for step in (1, 2, 3, 4, 1, 2):
            result = self.migrate(archive, '--partitioned', '--partition-width', 50,
                                  env={'TAIN_FAULT': f'partition_step:{step}:kill'})
            self.assertEqual(result.code, -signal.SIGKILL, result)
            self.assertEqual(archive.snapshot(), before)
            self.assertEqual(archive.rows('SELECT COUNT(*) FROM changes'), logged)
            killed += 1
            if step == 2 and killed < 4:  # half of it is in nobody's way
                self.assertEqual(self.doctor(archive, demo)['level'], 'warn')
                self.assertEqual(self.migrate(archive).code, EXIT_DONE)
        result = self.migrate(archive, '--partitioned', '--partition-width', 50)
        self.assertEqual(result.code, EXIT_DONE, result)
        self.assertIn('items by 50 ids, the change log by 5 positions', result.out)
        self.catchup(archive, demo)
        self.assert_complete(archive, demo, 1, 300)
        self.assert_invariants(archive)
        self.assertEqual(archive.rows('SELECT COUNT(*) FROM items_other'), [(0,)])
        self.assertEqual(self.parts(archive)['items']['n'], 2)  # up to 400, and the next one
        self.assertEqual(self.doctor(archive, demo)['level'], 'ok')
        # without the flag all stays as it is
        self.assertEqual(self.migrate(archive).code, EXIT_DONE)
        self.assertEqual(self.parts(archive)['items']['width'], 50)
        self.assertEqual(self.run_tain('verify', '--db', archive.uri).code, EXIT_DONE)

    def test_on_an_empty_archive(self):
        demo, archive = self.demo(), self.archive()
        self.assertEqual(self.migrate(archive, '--partitioned', '--partition-width', 200).code,
                         EXIT_DONE)
        self.catchup(archive, demo, '--end-id', 3000, '--feed-history')
        self.assert_complete(archive, demo, 1, 3000)
        self.assert_invariants(archive)
        self.assertEqual(archive.rows('SELECT COUNT(*) FROM items_other'), [(0,)])
        self.assertEqual(archive.rows('SELECT COUNT(*) FROM change_log_other WHERE pos > 0'),
                         [(0,)])
        self.assertEqual(archive.rows("SELECT tableoid::regclass::text FROM items WHERE id = "
                                      "(SELECT MIN(id) FROM items WHERE id >= 2800)"),
                         [('items_2800',)])

    def test_beside_a_run(self):
        demo, archive = self.demo('all:delay=5'), self.archive()
        self.migrate(archive)
        server = Server(self, archive)
        reader = Follower(lambda: server.port)
        self.addCleanup(reader.stop)
        wait_until(lambda: reader.joined, what='hello')
        run = self.start_catchup(archive, demo, '--end-id', 3000, '--batch-size', 50,
                                 '--feed-history')
        wait_until(lambda: len(reader.events()) > 100, what='some changes')
        result = self.migrate(archive, '--partitioned', '--partition-width', 500)
        self.assertEqual(result.code, EXIT_DONE, result)
        self.assertEqual(run.wait().code, EXIT_DONE)
        self.assert_complete(archive, demo, 1, 3000)
        self.assert_invariants(archive)
        archive.execute('UPDATE items SET score = score + 1 WHERE id = 1')
        logged = archive.rows('SELECT COUNT(*) FROM changes')[0][0]
        wait_until(lambda: len(reader.events()) >= logged or reader.failure, what='all changes')
        reader.stop()
        self.assertEqual(heard(reader.events()), log_of(archive))
        self.assertEqual(reader.gaps(), [])

    def test_an_updater_outlives_a_migrate_that_was_killed(self):
        upstream, archive = self.upstream(ids=300), self.archive()
        run = self.follow(archive, upstream)
        result = self.migrate(archive, '--partitioned', '--partition-width', 10,
                              env={'TAIN_FAULT': 'partition_step:1:kill'})
        self.assertEqual(result.code, -signal.SIGKILL, result)
        upstream.grow_by(50)  # beyond the edge
        self.converge(run, archive, upstream)
        self.assertEqual(archive.rows("SELECT conname FROM pg_constraint "
                                      "WHERE conname = 'items_before_edge'"), [])
        self.stop_updater(run)

    def test_what_would_not_follow(self):
        archive = self.archive()
        self.migrate(archive)
        archive.execute('CREATE PUBLICATION mine FOR TABLES IN SCHEMA tain')
        result = self.migrate(archive, '--partitioned')
        self.assertEqual(result.code, EXIT_FAILED, result)
        self.assertIn('would not follow the table items: the publication mine', result.err)
        self.assertIsNone(self.parts(archive))
        archive.execute('DROP PUBLICATION mine')
        self.migrate(archive, '--partitioned', env={'TAIN_FAULT': 'partition_step:4:kill'})
        self.assertIn('half of the archive is partitioned: items is, the change log is not yet',
                      self.migrate(archive).out)


if __name__ == '__main__':
    unittest.main()
