"""Runs that meet what earlier ones left: wider segments, dead letters, replays in trouble."""

import signal
import unittest

from lib import E2E, EXIT_UNRESOLVED, OnPostgres, OnSqlite, wait_until

QUICK = ('--retry-initial-ms', '1', '--retry-max-ms', '5', '--retry-jitter-ms', '0')


class Edges:
    def with_dead_letter(self, bad, last):
        demo, archive = self.demo(f'id={bad}:status=500'), self.archive()
        self.catchup(archive, demo, '--end-id', last, *QUICK, code=EXIT_UNRESOLVED)
        demo.reset_stats()
        return demo, archive

    def test_a_window_within_a_pending_segment(self):
        demo, archive = self.demo('items:delay=100'), self.archive()
        run = self.start_catchup(archive, demo, '--end-id', 1000, '--concurrency', 8)
        wait_until(lambda: demo.stats()['requests']['item'] > 100, what='some requests')
        run.signal(signal.SIGKILL)
        run.wait()
        demo.faults()
        demo.reset_stats()
        report = self.catchup(archive, demo, '--start-id', 900, '--end-id', 909).report
        self.assertEqual(report['total_ids'], 10)
        self.assertLessEqual(demo.stats()['requests']['item'], 10)
        stored = archive.rows('SELECT COUNT(*) FROM items WHERE id BETWEEN 900 AND 909')[0][0]
        missing = archive.rows("SELECT COUNT(*) FROM ingest_exceptions "
                               "WHERE state = 'terminal_missing' "
                               "AND item_id BETWEEN 900 AND 909")[0][0]
        self.assertEqual(stored + missing, 10)
        self.assert_invariants(archive)
        self.catchup(archive, demo, '--end-id', 1000)
        self.assert_complete(archive, demo, 1, 1000)
        self.assertEqual(archive.rows('SELECT COUNT(*) FROM ingest_segments'), [(1,)])

    def test_a_dead_letter_outside_the_window_is_not_its_business(self):
        demo, archive = self.with_dead_letter(900, 1000)
        report = self.catchup(archive, demo, '--start-id', 1, '--end-id', 10).report
        self.assertEqual(report['dead_letters'], 0)
        report = self.catchup(archive, demo, '--start-id', 890, '--end-id', 910,
                              code=EXIT_UNRESOLVED).report
        self.assertEqual(report['dead_letters'], 1)

    def test_limit_steps_over_a_dead_letter(self):
        demo, archive = self.with_dead_letter(900, 1000)
        report = self.catchup(archive, demo, '--limit', 500).report
        self.assertEqual((report['start_id'], report['end_id']), (1001, 1500))
        self.assertEqual(demo.stats()['requests']['item'], 500)

    def test_a_replay_that_failed_is_replayed_again(self):
        demo, archive = self.with_dead_letter(500, 1000)
        replay = ('--start-id', 400, '--end-id', 600, '--force-replay-window', *QUICK)
        self.catchup(archive, demo, *replay, code=EXIT_UNRESOLVED)
        demo.faults()
        demo.reset_stats()
        self.catchup(archive, demo, *replay)
        self.assertEqual(demo.stats()['distinct_ids'], 201)
        self.assert_complete(archive, demo, 1, 1000)
        self.assertEqual(self.status(archive)['frontier_id'], 1000)

    def test_a_dead_letter_that_turns_out_to_be_missing(self):
        demo, archive = self.with_dead_letter(500, 1000)
        demo.faults('id=500:null')
        self.catchup(archive, demo, '--start-id', 500, '--end-id', 500, '--force-replay-window')
        self.assertEqual(archive.rows("SELECT state, failure_class FROM ingest_exceptions "
                                      "WHERE item_id = 500"), [('terminal_missing', 'null_old')])
        self.assertEqual(self.status(archive)['frontier_id'], 1000)

    def test_a_replay_is_planned_a_little_at_a_time(self):
        demo, archive = self.demo('items:delay=5'), self.archive()
        self.catchup(archive, demo, '--end-id', 600)
        run = self.start_catchup(archive, demo, '--start-id', 1, '--end-id', 600,
                                 '--segment-width', 2, '--force-replay-window')
        most = 0
        while run.running():
            most = max(most, archive.rows('SELECT COUNT(*) FROM ingest_segments')[0][0])
        self.assertEqual(run.wait().code, 0)
        self.assertLess(most, 200)
        self.assertEqual(demo.stats()['max_per_id'], 2)


class SqliteEdges(Edges, OnSqlite, E2E):
    pass


class PostgresEdges(Edges, OnPostgres, E2E):
    pass


if __name__ == '__main__':
    unittest.main()
