"""kill -9 at every fault point there is: the names are read from the sources, so that a new one is
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
from lib import E2E, EXIT_DONE, ROOT, OnPostgres, OnSqlite  # noqa: E402

ROUNDS = int(os.environ.get('CRASH_ROUNDS', 0))
SOME = (1, 2, 7)
ELSEWHERE = {'realtime_worker'}  # an updater's; test_updater_faults.py has it
LAST = 300
TROUBLE = ('share=0.05:status=500:times=1', 'share=0.02:garbage:times=1')
WINDOW = ('--end-id', LAST, '--segment-width', 60, '--batch-size', 20)


def fault_points():
    found = set()
    for path in sorted((ROOT / 'src').rglob('*.c')):
        found.update(re.findall(r'fault_hit\(\s*"([^"]+)"', path.read_text(encoding='utf-8')))
    return sorted(found)


class Points:
    """A scenario is begun with a fault point set. True: it was killed there, what was left is
    sound, and the same command then went on to the end."""

    def test_the_points_are_found(self):
        self.assertIn('db_before_commit', fault_points())
        self.assertGreaterEqual(len(fault_points()), 4)

    def test_every_point(self):
        demo = self.demo()
        for point in sorted(set(fault_points()) - ELSEWHERE):
            with self.subTest(point):
                passed = [self.passes(scenario, point, demo) for scenario in
                          (self.catch_up, self.take_in, self.give_out)]
                self.assertTrue(any(passed), 'no scenario of this test passes it: add one')

    def passes(self, scenario, point, demo):
        """False when the scenario came to its end without passing the point even once."""
        for n in range(1, ROUNDS + 1) if ROUNDS else SOME:
            if not scenario(f'{point}:{n}:kill', demo):
                return n > 1
        return True

    def killed(self, fault, *arguments):
        """Runs a command to its violent end; False when it came to a good one."""
        code = self.run_tain(*arguments, env={'TAIN_FAULT': fault}).code
        self.assertIn(code, (-signal.SIGKILL, EXIT_DONE))
        return code != EXIT_DONE

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


class SqlitePoints(Points, OnSqlite, E2E):
    pass


class PostgresPoints(Points, OnPostgres, E2E):
    pass


if __name__ == '__main__':
    unittest.main()
