"""kill -9 at every fault point there is: the program itself lists them, so that a new one is
covered, or the test that finds no way to pass it says so.

A point is tried at its first passage and at some later ones. With CRASH_ROUNDS set (`make crash`) a
run is killed at the first, the second, the third passage and so on, up to so many, or until a run
passes the point less often than that and comes to its end.
"""

import os
import pathlib
import re
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'e2e'))
from lib import (E2E, EXIT_DONE, EXIT_UNRESOLVED, ROOT, OnPostgres, OnSqlite,  # noqa: E402
                 fault_points)

ROUNDS = int(os.environ.get('CRASH_ROUNDS', 0))
SOME = (1, 2, 7)
# an updater's is in test_updater_faults.py, those of enrichment in test_enrich_points.py and, where
# a step fails within a transaction, in contract/test_rows_fence.c, those of links in
# contract/test_link_deaths.c, those of partitions in e2e/test_partitions.py
ELSEWHERE = re.compile('realtime_worker|enrich_|claims_|links_|partition_')
LAST = 300
TROUBLE = ('share=0.05:status=500:times=1', 'share=0.02:garbage:times=1')
DEAD = ('id=50:status=500', 'id=120:garbage', 'id=230:status=500')
COMMITS = {'db_before_commit', 'db_after_commit'}
WRITES = COMMITS | {'apply_step', 'apply_refuse'}
WINDOW = ('--end-id', LAST, '--segment-width', 60, '--batch-size', 20)


class Points:
    """A scenario is begun with a fault point set. True: it was killed there, what was left is
    sound, and the same command then went on to the end."""

    def test_the_points_are_found(self):
        found = set()
        for path in sorted((ROOT / 'src').rglob('*.c')):
            found.update(re.findall(r'fault_hit\(\s*"([^"]+)"', path.read_text(encoding='utf-8')))
        self.assertIn('db_before_commit', found)
        self.assertEqual(fault_points(), sorted(found))

    def test_every_point(self):
        """Each command that writes is killed at the points that it passes, not any one of them."""
        demo = self.demo()
        scenarios = {self.catch_up: WRITES | {'claimed'}, self.take_in: WRITES,
                     self.give_out: COMMITS, self.mend: COMMITS, self.replay: COMMITS,
                     self.accept: COMMITS, self.set_up: COMMITS}
        for point in (p for p in fault_points() if not ELSEWHERE.match(p)):
            passed = set()
            for scenario, must_pass in scenarios.items():
                with self.subTest(point, scenario=scenario.__name__):
                    if self.passes(scenario, point, demo):
                        passed.add(scenario)
                    elif point in must_pass:
                        self.fail('it came to its end without passing the point')
            with self.subTest(point):
                self.assertTrue(passed, 'no scenario of this test passes it: add one')

    def passes(self, scenario, point, demo):
        """False when the scenario came to its end without passing the point even once."""
        for n in range(1, ROUNDS + 1) if ROUNDS else SOME:
            if not scenario(f'{point}:{n}:kill', demo):
                return n > 1
        return True

    def killed(self, fault, *arguments, good=(EXIT_DONE,)):
        """Runs a command to its violent end; False when it came to a good one."""
        code = self.run_tain(*arguments, env={'TAIN_FAULT': fault}).code
        self.assertIn(code, (-signal.SIGKILL, *good))
        return code == -signal.SIGKILL

    def done(self, *arguments):
        result = self.run_tain(*arguments)
        self.assertEqual(result.code, EXIT_DONE, result)

    def catch_up(self, fault, demo):
        archive = self.archive()
        demo.faults(*TROUBLE)
        run = self.start_catchup(archive, demo, *WINDOW, env={'TAIN_FAULT': fault})
        code = run.wait().code
        self.assertIn(code, (-signal.SIGKILL, EXIT_DONE))
        self.assert_invariants(archive)
        self.catchup(archive, demo, *WINDOW)
        self.assert_complete(archive, demo, 1, LAST)
        return code != EXIT_DONE

    def dump(self, demo):
        """An archive that is complete, and its dump."""
        path = self.folder / 'whole.ndjson'
        if not path.exists():
            demo.faults()
            self.whole = self.archive()
            self.catchup(self.whole, demo, *WINDOW)
            self.done('export', '--db', self.whole.uri, path)
        return path

    def take_in(self, fault, demo):
        path, archive = self.dump(demo), self.archive()
        command = ('import', '--db', archive.uri, path)
        killed = self.killed(fault, *command)
        self.assert_invariants(archive)
        if killed:
            self.done(*command)
        self.assert_truth(archive, demo.truth(1, LAST))
        return killed

    def give_out(self, fault, demo):
        path, copy = self.dump(demo), self.folder / 'copy.ndjson'
        copy.unlink(missing_ok=True)
        command = ('export', '--db', self.whole.uri, copy)
        killed = self.killed(fault, *command)
        if killed:
            self.done(*command, '--resume')
        self.assertEqual(copy.read_bytes(), path.read_bytes())
        return killed


    # Repairs and decisions

    def whole_archive(self, demo):
        self.dump(demo)
        return self.whole

    def mend(self, fault, demo):
        """Whatever a repair that was cut off had written, the damage it found is not forgotten."""
        archive = self.copy(self.damaged(demo))
        killed = self.killed(fault, 'verify', '--repair', '--db', archive.uri,
                             good=(EXIT_DONE, EXIT_UNRESOLVED))
        self.run_tain('verify', '--repair', '--db', archive.uri)
        self.catchup(archive, demo, *WINDOW)
        self.done('verify', '--db', archive.uri)
        self.assert_truth(archive, demo.truth(1, LAST))
        return killed

    def damaged(self, demo):
        if not hasattr(self, 'ill'):
            self.ill = self.copy(self.whole_archive(demo))
            for sql in ("UPDATE items SET text = 'evil' WHERE id % 10 = 0",
                        'DELETE FROM items WHERE id IN (55, 177)',
                        'DELETE FROM kids WHERE item % 7 = 0',
                        'UPDATE items SET story_id = 1 WHERE id % 11 = 0'):
                self.ill.execute(sql)
        demo.faults()
        return self.ill

    def given_up(self, demo):
        """A copy of an archive with three dead letters."""
        if not hasattr(self, 'dead'):
            demo.faults(*DEAD)
            self.dead = self.archive()
            self.catchup(self.dead, demo, *WINDOW, '--retry-attempts', 2, code=EXIT_UNRESOLVED)
        demo.faults()
        return self.copy(self.dead)

    def decide(self, fault, archive, action):
        command = ('dead-letter', action, '--all', '--db', archive.uri)
        killed = self.killed(fault, *command)
        self.assert_invariants(archive)
        if killed:
            self.done(*command)
        self.assert_invariants(archive)
        return killed

    def replay(self, fault, demo):
        archive = self.given_up(demo)
        killed = self.decide(fault, archive, 'replay')
        self.catchup(archive, demo, *WINDOW)
        self.assert_complete(archive, demo, 1, LAST)
        return killed

    def accept(self, fault, demo):
        archive = self.given_up(demo)
        killed = self.decide(fault, archive, 'accept')
        self.assertEqual(self.look(archive).frontier, LAST)
        self.catchup(archive, demo, *WINDOW)
        self.done('verify', '--db', archive.uri)
        self.assertEqual(archive.rows(
            "SELECT item_id FROM ingest_exceptions WHERE state = 'terminal_missing' "
            'AND item_id IN (50, 120, 230) ORDER BY 1'), [(50,), (120,), (230,)])
        return killed

    def set_up(self, fault, demo):
        archive = self.archive()
        command = ('migrate', '--db', archive.uri)
        killed = self.killed(fault, *command)
        if killed:
            self.done(*command)
        demo.faults()
        self.catchup(archive, demo, *WINDOW)
        self.assert_complete(archive, demo, 1, LAST)
        return killed


class SqlitePoints(Points, OnSqlite, E2E):
    pass


class PostgresPoints(Points, OnPostgres, E2E):
    pass


if __name__ == '__main__':
    unittest.main()
