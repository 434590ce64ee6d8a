"""Eight processes on one PostgreSQL. One after the other is killed at a random instant and another
takes its place; what is in the database is true after every kill, and the archive comes out whole.
TAIN_CRASH_SEED repeats the instants of an earlier run; a failure names the seed."""

import os
import pathlib
import random
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'e2e'))
from lib import E2E, EXIT_DONE, YOUNG_SPAN, OnPostgres, wait_until  # noqa: E402

PROCESSES = 8
KILLS = int(os.environ.get('CRASH_ROUNDS', 10))
MOST_BETWEEN = 80  # requests between two kills
CONCURRENCY = 4
LAST = 2000 + KILLS * 4 * MOST_BETWEEN
# The pace of the upstream until the last kill. The last ids are so late, for as many segments as
# there are processes and more, that the work outlasts all kills.
PACE = (f'range={LAST - 1999}-{LAST}:delay=4000', 'items:delay=200')
TROUBLE = ('share=0.02:status=500:times=1', 'share=0.01:garbage:times=2',
           'share=0.01:reset:times=1')


class Eight(OnPostgres, E2E):
    def test_random_kills(self):
        seed = int(os.environ.get('TAIN_CRASH_SEED', time.time_ns() % 1000000))
        chance = random.Random(seed)
        with self.subTest(seed=seed):
            self.kill_and_replace(chance)

    def begin(self, archive, demo):
        return self.start_catchup(archive, demo, '--end-id', LAST, '--segment-width', 100,
                                  '--batch-size', 25, '--concurrency', CONCURRENCY)

    @staticmethod
    def let_work(demo, n):
        """Until so many more requests have come."""
        least = demo.stats()['requests']['item'] + n
        wait_until(lambda: demo.stats()['requests']['item'] >= least, what=f'{n} requests')

    def kill_and_replace(self, chance):
        demo = self.demo(*TROUBLE, *PACE, maxitem=LAST + YOUNG_SPAN)
        archive = self.archive()
        runs = [self.begin(archive, demo) for _ in range(PROCESSES)]
        held = set()
        for n in range(KILLS):
            if n == KILLS // 2:  # by now something is stored, on any machine
                wait_until(lambda: archive.snapshot() and self.look(archive).ids,
                           what='a stored item')
            self.let_work(demo, chance.randrange(MOST_BETWEEN) if n else 0)
            victim = runs.pop(chance.randrange(len(runs)))
            self.assertTrue(victim.running(), 'the kills came too late')
            victim.kill()
            runs.append(self.begin(archive, demo))
            look = self.assert_invariants(archive)
            if look:
                held = self.assert_kept(held, look.ids)
        self.assertGreater(len(held), 0, 'no life was long enough to store something')
        demo.faults(*TROUBLE)
        for run in runs:
            result = run.wait(600)
            self.assertEqual(result.code, EXIT_DONE, result)
        self.assert_complete(archive, demo, 1, LAST)


if __name__ == '__main__':
    unittest.main()
