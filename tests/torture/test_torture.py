"""A short torture, the same each time: a world on each database lives through a few rounds of
faults and heals to the truth. `make torture` draws others, for minutes; see run.py."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run  # noqa: E402

run.arrange()
from lib import find_bin  # noqa: E402

HOLD = (0.5, 1.0)  # seconds


class Torture(unittest.TestCase):
    def through(self, kind, *rounds):
        said = []
        plan = run.Plan(1, 1, rounds=0, on=kind)
        plan.rounds = [run.faults_named(*names) for names in rounds]
        try:
            run.torture(plan, hold=HOLD, say=said.append)
        except BaseException:
            print('\n'.join(said), flush=True)
            raise

    def test_sqlite(self):
        self.through('sqlite', ('Kill', 'WireToUpstream'), ('Busy', 'UpstreamTrouble'))

    def test_postgres(self):
        if not find_bin():
            self.skipTest('PostgreSQL is not installed')
        self.through('postgres', ('Asleep', 'WireToUpstream'), ('Terminate', 'WireToDatabase'))


if __name__ == '__main__':
    unittest.main()
