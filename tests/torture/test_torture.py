"""A short torture, the same each time: a world on each database lives through a few rounds of
faults and heals to the truth. `make torture` draws others, for minutes; see run.py."""

import contextlib
import io
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
            run.torture(plan, hold=HOLD, say=said.append, patient=False)
        except BaseException:
            print('\n'.join(said), flush=True)
            raise

    def test_sqlite(self):
        self.through('sqlite', ('Kill', 'WireToUpstream'), ('Busy', 'UpstreamTrouble'))

    def test_postgres(self):
        if not find_bin():
            self.skipTest('PostgreSQL is not installed')
        self.through('postgres', ('Asleep', 'WireToUpstream'), ('Terminate', 'WireToDatabase'))


    def test_partitioned(self):
        if not find_bin():
            self.skipTest('PostgreSQL is not installed')
        self.through('partitioned', ('Partition', 'Kill'), ('Terminate', 'UpstreamTrouble'))


class Asked(unittest.TestCase):
    """A word that is misspelt is no torture without faults that everybody survives."""

    def refused(self, **env):
        said = io.StringIO()
        with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(said):
            run.Asked(env)
        self.assertEqual(ended.exception.code, 2)
        return said.getvalue()

    def test_what_makes_no_sense(self):
        self.assertIn("TORTURE_SEED: 'abc'", self.refused(TORTURE_SEED='abc'))
        self.assertIn("TORTURE_ROUNDS: '0'", self.refused(TORTURE_ROUNDS='0'))
        self.assertIn("TORTURE_MINUTES: '0'", self.refused(TORTURE_MINUTES='0'))
        self.assertIn("TORTURE_MINUTES: 'nan'", self.refused(TORTURE_MINUTES='nan'))
        self.assertIn("'mysql' is none of", self.refused(TORTURE_ON='mysql'))
        self.assertIn("'Klil' is none of", self.refused(TORTURE_FAULTS='Kill,Klil'))
        self.assertIn('none of these befalls sqlite', self.refused(TORTURE_FAULTS='Restart'))

    def test_what_does(self):
        asked = run.Asked({'TORTURE_FAULTS': 'Kill,Clock', 'TORTURE_SEED': '7'})
        self.assertEqual((asked.seed, asked.only), (7, ('Kill', 'Clock')))
        self.assertEqual(run.Asked({'TORTURE_FAULTS': 'Restart', 'TORTURE_ON': 'postgres'}).on,
                         'postgres')


if __name__ == '__main__':
    unittest.main()
