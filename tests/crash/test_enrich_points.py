"""kill -9 of `tain enrich` at every fault point between a claim and its end: each row is finished,
once, by whoever comes after. The program itself lists its points (`tain help --fault-points`), so
that a new one is covered, or the test that finds no way to pass it says so.

What a life begins with has work of every kind: rows that are pending, rows that another dead worker
held, rows without a match that are to be looked up again, and a service that asks for patience
twice. A point is tried at its first and its third passage; with CRASH_ROUNDS set (`make crash`) at
every one up to so many.
"""

import os
import pathlib
import re
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'e2e'))
from lib import E2E, EXIT_DONE, fault_points, wait_until  # noqa: E402
from flowsheet import FINAL, FlowsheetOnPostgres, FlowsheetOnSqlite  # noqa: E402

ROUNDS = int(os.environ.get('CRASH_ROUNDS', 0))
SOME = (1, 3)
# in test_points.py, contract/test_link_deaths.c and e2e/test_partitions.py
OTHERS = re.compile('apply_|claimed$|realtime_|links_|partition_')
AT_A_STOP = ('enrich_before_release', 'enrich_after_release', 'enrich_before_give_back',
             'enrich_after_give_back')
SLOTS = 4
AGAIN, HELD, NEW = 2, 3, 8
ROWS = AGAIN + HELD + NEW
FINALS = ', '.join(f"'{state}'" for state in FINAL)


class Points:
    def setUp(self):
        super().setUp()
        self.path = self.sources(slots=SLOTS, recheck='1h')

    def prepared(self):
        """A new archive with work of every kind; `finals` will list each end of a row."""
        if not hasattr(self, 'whole'):
            self.whole = self.prepare()
        return self.copy(self.whole)

    def prepare(self):
        archive, lookup = self.flowsheet(), self.lookup()
        self.insert(archive, *(f'Nobody {i}' for i in range(AGAIN)))
        run = self.worker(archive, lookup, self.path)
        self.wait_final(archive, AGAIN, [run])
        self.stop(run)
        self.insert(archive, *(f'Artist {i}' for i in range(HELD)))
        lookup.become('hang')
        lookup.forget()
        dead = self.worker(archive, lookup, self.path)
        wait_until(lambda: len(lookup.calls) == HELD, what='calls')
        dead.kill()
        self.assertEqual(self.states(archive)['enriching'], HELD)
        self.let_time_pass(archive)
        # the second death in a row would have them wait for minutes
        archive.execute("UPDATE claims SET attempts = 0 WHERE state = 'held'")
        archive.execute("UPDATE claims SET updated_at = updated_at - 86400000 "
                        "WHERE outcome = 'no_match'")
        self.insert(archive, *(f"{'Nobody' if i % 3 else 'Artist'} new {i}" for i in range(NEW)))
        for statement in self.audit():
            archive.execute(statement)
        return archive

    def stop(self, run):
        wait_until(lambda: 'msg="enriching"' in run.so_far(), what='a worker that can be stopped')
        run.signal(signal.SIGTERM)
        result = run.wait()
        self.assertEqual(result.code, EXIT_DONE, result)

    @staticmethod
    def let_time_pass(archive):
        """Ten minutes: leases of rows and of slots are over. Nobody waits for them here."""
        archive.execute('UPDATE claims SET lease_until = lease_until - 600000 '
                        'WHERE lease_until IS NOT NULL')
        archive.execute('UPDATE provider_slots SET until = until - 600000 '
                        'WHERE holder IS NOT NULL')

    # What is looked at

    def ended(self, archive):
        """{key: how often it became final}"""
        return dict(archive.rows('SELECT row_id, COUNT(*) FROM finals GROUP BY 1'))

    @staticmethod
    def claims(archive):
        return {int(key): (state, attempts) for key, state, attempts in
                archive.rows('SELECT key, state, attempts FROM claims')}

    def taken(self, archive):
        """Slots in use."""
        status = self.run_tain('enrich', 'status', '--json', '--db', archive.uri)
        self.assertEqual(status.code, EXIT_DONE, status)
        return sum(lane['slots_taken'] for lane in status.report['lanes'])

    def artists(self, archive):
        return dict(archive.rows(f'SELECT id, artist_name FROM {self.table}'))

    def assert_whole(self, archive):
        """What must hold behind a death: the state of a row and its claim agree."""
        busy = {key for key, in archive.rows(f'SELECT id FROM {self.table} '
                                             "WHERE metadata_status = 'enriching'")}
        held = {key for key, (state, _) in self.claims(archive).items() if state == 'held'}
        self.assertEqual(busy, held)
        self.assertLessEqual(self.taken(archive), SLOTS)
        self.assertFalse({key: n for key, n in self.ended(archive).items() if n != 1})

    def recover(self, archive, lookup):
        """Another worker comes, and has all that was left."""
        self.assert_whole(archive)
        ended, before, calls = self.ended(archive), self.claims(archive), len(lookup.calls)
        lookup.usual()
        self.let_time_pass(archive)
        run = self.worker(archive, lookup, self.path)
        try:
            wait_until(lambda: len(self.ended(archive)) == ROWS or not run.running(), every=0.05)
        except AssertionError as late:
            self.fail(f'{late}: {self.states(archive)}\n{run.so_far()[-3000:]}')
        self.stop(run)
        self.assert_rows(archive)
        self.assertEqual(self.ended(archive), dict.fromkeys(self.artists(archive), 1),
                         'each row is finished once')
        self.assertEqual(self.taken(archive), 0, 'a slot leaked')
        self.assert_attempts(ended, before, self.claims(archive))
        self.assert_calls(archive, ended, lookup.calls[:calls], lookup.calls[calls:])

    def assert_attempts(self, ended, before, now):
        """What was held at the death costs one; all else what it would have cost without it."""
        for key, (state, attempts) in now.items():
            was, spent = before.get(key, ('free', 0))
            expected = spent if key in ended else 1 if was == 'done' else spent + 1
            self.assertEqual((state, attempts), ('done', expected), f'row {key}, which was {was}')
            self.assertLessEqual(attempts, 3 if AGAIN < key <= AGAIN + HELD else 2)

    def assert_calls(self, archive, ended, before, after):
        """One after the death for each row that was not final, none for the others; and before it
        one that was answered at most."""
        def count(calls, name):
            return sum(call.body['artist'] == name and call.mode != 'busy' for call in calls)
        for key, name in self.artists(archive).items():
            self.assertLessEqual(count(before, name), 1, name)
            self.assertEqual(count(after, name), 0 if key in ended else 1, name)

    # Lives

    def live(self, fault):
        """True: it was killed there, and the next one has finished everything."""
        archive, lookup = self.prepared(), self.lookup()
        lookup.become('busy', times=2, retry_after=0)
        run = self.worker(archive, lookup, self.path, env={'TAIN_FAULT': fault})
        wait_until(lambda: not run.running() or len(self.ended(archive)) == ROWS, every=0.05)
        run.signal(signal.SIGTERM)
        code = run.wait().code
        self.assertIn(code, (EXIT_DONE, -signal.SIGKILL), run.so_far())
        self.recover(archive, lookup)
        return code != EXIT_DONE

    def end_early(self, fault):
        """The same, but it is stopped while all its calls are under way."""
        archive, lookup = self.prepared(), self.lookup()
        lookup.become('hang')
        run = self.worker(archive, lookup, self.path, env={'TAIN_FAULT': fault} if fault else None)
        wait_until(lambda: not run.running() or len(lookup.calls) == SLOTS, what='calls')
        run.signal(signal.SIGTERM if fault else signal.SIGKILL)
        code = run.wait().code
        self.assertIn(code, (EXIT_DONE, -signal.SIGKILL), run.so_far())
        self.recover(archive, lookup)
        return code != EXIT_DONE

    def tries(self, live, point):
        """False when the worker came to its end without passing the point even once."""
        for n in range(1, ROUNDS + 1) if ROUNDS else SOME:
            with self.subTest(point, passage=n, how=live.__name__):
                if not live(f'{point}:{n}:kill'):
                    return n > 1
        return True

    def test_every_point(self):
        points = [point for point in fault_points() if not OTHERS.match(point)]
        self.assertGreater(len(points), 15)
        for point in points:
            # a quick service leaves no call under way
            live = self.end_early if point == 'enrich_calls_out' else self.live
            with self.subTest(point):
                self.assertTrue(self.tries(live, point), 'no life passes it: add what does')

    def test_while_it_stops(self):
        for point in AT_A_STOP:
            with self.subTest(point):
                self.assertTrue(self.tries(self.end_early, point), 'a stop does not pass it')

    def test_calls_under_way(self):
        """Killed from outside, when the service has got the requests and not answered."""
        self.assertTrue(self.end_early(None))


class SqlitePoints(Points, FlowsheetOnSqlite, E2E):
    def audit(self):
        return ('CREATE TABLE finals (row_id INTEGER)',
                f'CREATE TRIGGER finals AFTER UPDATE ON {self.table} '
                f'WHEN new.metadata_status IN ({FINALS}) AND old.metadata_status NOT IN ({FINALS}) '
                'BEGIN INSERT INTO finals VALUES (new.id); END')


class PostgresPoints(Points, FlowsheetOnPostgres, E2E):
    def audit(self):
        return ('CREATE TABLE finals (row_id BIGINT)',
                'CREATE FUNCTION finals_add() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN '
                'INSERT INTO tain.finals VALUES (new.id); RETURN NULL; END $$',
                f'CREATE TRIGGER finals AFTER UPDATE ON {self.table} FOR EACH ROW '
                f'WHEN (new.metadata_status IN ({FINALS}) AND old.metadata_status NOT IN '
                f'({FINALS})) EXECUTE FUNCTION finals_add()')


if __name__ == '__main__':
    unittest.main()
