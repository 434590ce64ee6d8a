"""kill -9. Whatever the instant, what is in the database then is true, and the next run goes on
from there to an archive that equals the truth. TAIN_CRASH_SEED repeats the instants of an earlier
run; a failure names the seed. CRASH_ROUNDS is the number of instants."""

import os
import random
import signal
import subprocess
import time
import unittest

from lib import E2E, EXIT_DONE, YOUNG_SPAN, OnPostgres, OnSqlite, wait_until

KILLS = int(os.environ.get('CRASH_ROUNDS', 50))
LONGEST_LIFE = 0.3  # seconds
DELAY_MS, CONCURRENCY = 75, 32  # the pace of the upstream
# More than all those lives together can fetch, even if each were thrice as long.
LAST = int(KILLS * LONGEST_LIFE * CONCURRENCY * 1000 / DELAY_MS * 3)
# Some ids have an exception for a while, some for ever (the corpus has nulls of its own).
TROUBLE = ('share=0.02:status=500:times=1', 'share=0.01:garbage:times=2',
           'share=0.01:reset:times=1')


class Instants:
    def test_random_instants(self):
        seed = int(os.environ.get('TAIN_CRASH_SEED', time.time_ns() % 1000000))
        chance = random.Random(seed)
        demo = self.demo(*TROUBLE, f'items:delay={DELAY_MS}', maxitem=LAST + YOUNG_SPAN)
        archive = self.archive()
        held = known = set()
        with self.subTest(seed=seed):
            for n in range(KILLS):
                if n == KILLS // 2:  # one is long enough on any machine
                    self.live_until_stored(archive, demo)
                else:
                    self.live_for(chance.uniform(0.01, LONGEST_LIFE), archive, demo)
                look = self.assert_invariants(archive)
                if look:
                    held = self.assert_kept(held, look.ids)
                    known = self.assert_kept(known, look.ids | {x['id'] for x in look.exceptions})
            self.assertGreater(len(held), 0, 'no life was long enough to store something')
            self.assertLess(len(held), LAST, 'the kills came too late')
            demo.faults(*TROUBLE)
            self.catchup(archive, demo, '--end-id', LAST, seconds=600)
            self.assert_complete(archive, demo, 1, LAST)

    def begin(self, archive, demo):
        return self.start_catchup(archive, demo, '--end-id', LAST, '--concurrency', CONCURRENCY,
                                  '--segment-width', 250, '--batch-size', 40)

    def live_until_stored(self, archive, demo):
        run = self.begin(archive, demo)
        wait_until(lambda: archive.snapshot() and self.look(archive).ids, what='a stored item')
        run.kill()

    def live_for(self, seconds, archive, demo):
        run = self.begin(archive, demo)
        try:
            code = run.process.wait(seconds)
            self.fail(f'it was over before it was killed: {code}\n{run.so_far()}')
        except subprocess.TimeoutExpired:
            run.kill()


class FaultPoints:
    """The same at chosen places: before and after a commit, between the steps of a batch, after a
    claim."""

    KILLED = ['db_before_commit:3:kill', 'db_after_commit:3:kill', 'db_before_commit:12:kill',
              'db_after_commit:12:kill', 'claimed:2:kill'] + [
                  f'apply_step:{n}:kill' for n in (1, 2, 3, 4, 5, 6, 7, 17, 32)]
    FAILED = ['db_before_commit:3:fail', 'db_before_commit:9:fail', 'apply_step:4:fail',
              'apply_step:13:fail,apply_step:14:fail,db_before_commit:8:fail']

    def arguments(self):
        return '--end-id', 600, '--segment-width', 100, '--batch-size', 40

    def test_killed(self):
        demo = self.demo(*TROUBLE)
        for point in self.KILLED:
            with self.subTest(point):
                archive = self.archive()
                self.catchup(archive, demo, *self.arguments(), code=-signal.SIGKILL,
                             env={'TAIN_FAULT': point})
                self.assert_invariants(archive)
                self.catchup(archive, demo, *self.arguments())
                self.assert_complete(archive, demo, 1, 600)
                demo.faults(*TROUBLE)

    def test_failed(self):
        """A transaction that fails in passing is repeated, and nothing is counted twice."""
        demo = self.demo(*TROUBLE)
        for point in self.FAILED:
            with self.subTest(point):
                archive = self.archive()
                report = self.catchup(archive, demo, *self.arguments(), code=EXIT_DONE,
                                      env={'TAIN_FAULT': point}).report
                self.assertEqual((report['stored'], report['changed'], report['unchanged']),
                                 (600, 0, 0))
                self.assert_complete(archive, demo, 1, 600)
                demo.faults(*TROUBLE)


class SqliteCrash(Instants, FaultPoints, OnSqlite, E2E):
    pass


class PostgresCrash(Instants, FaultPoints, OnPostgres, E2E):
    pass


if __name__ == '__main__':
    unittest.main()
