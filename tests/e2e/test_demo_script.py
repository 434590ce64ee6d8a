"""`make demo` without the building: tools/demo.sh from the first line to the last."""

import sqlite3
import subprocess
import unittest

from lib import BUILD, E2E, ROOT, environment


class DemoScript(E2E):
    def test_from_end_to_end(self):
        db = self.folder / 'demo.db'
        done = subprocess.run(
            [str(ROOT / 'tools' / 'demo.sh'), '5000'], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=60,
            env=environment({'BUILD': str(BUILD), 'DEMO_DB': str(db)}))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn('frontier', done.stdout)
        connection = sqlite3.connect(db)
        try:
            stored, = connection.execute('SELECT COUNT(*) FROM items').fetchone()
            dead = connection.execute('SELECT item_id, state FROM ingest_dlq_items').fetchall()
        finally:
            connection.close()
        self.assertGreater(stored, 4950)
        self.assertEqual(dead, [(4242, 'dead_letter')])


if __name__ == '__main__':
    unittest.main()
