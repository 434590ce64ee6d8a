"""The worker of links at full length, in `make crash` alone: killed at every passage of every fault
point up to CRASH_ROUNDS, and an hour of three workers, on both databases. What `make test` has of
it is in contract/test_link_deaths.c and test_link_limits.c."""

import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'e2e'))
from lib import BUILD, ROOT, environment  # noqa: E402

CONTRACT = str(BUILD / 'tests/contract/contract')
WITH_POSTGRES = [sys.executable, '-B', str(ROOT / 'tests/support/with_postgres.py')]


@unittest.skipUnless(os.environ.get('CRASH_ROUNDS'), 'it is long: make crash')
class Long(unittest.TestCase):
    def run_cases(self, cases):
        for command in ([CONTRACT, 'sqlite'], [*WITH_POSTGRES, CONTRACT, 'postgres']):
            done = subprocess.run([*command, cases], stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.STDOUT, env=environment())
            self.assertEqual(done.returncode, 0, done.stdout[-4000:])

    def test_deaths(self):
        self.run_cases('worker_dies*')

    def test_an_hour(self):
        self.run_cases('worker_three*')


if __name__ == '__main__':
    unittest.main()
