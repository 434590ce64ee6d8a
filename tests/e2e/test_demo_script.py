"""`make demo` without the building: tools/demo.sh from the first line to the last, by itself and
on a terminal."""

import os
import pty
import re
import select
import sqlite3
import subprocess
import time
import unittest
import urllib.request

from lib import ANSWER, BUILD, E2E, ROOT, environment

SCRIPT = str(ROOT / 'tools' / 'demo.sh')


class DemoScript(E2E):
    def environment(self, **extra):
        return environment({'BUILD': str(BUILD), 'TMPDIR': str(self.folder), **extra})

    def test_without_a_terminal_it_ends_by_itself(self):
        db = self.folder / 'kept.db'
        done = subprocess.run([SCRIPT, '5000'], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, text=True, timeout=5 * ANSWER,
                              env=self.environment(DEMO_DB=str(db)))
        self.assertEqual(done.returncode, 0, done.stdout)
        for words in ('tain is up at http://127.0.0.1:', 'the page answers', 'search finds',
                      'a link is added: http://', '    reddit completed\n', '    hn completed\n',
                      '    summary completed\n', '” tells ', 'frontier'):
            self.assertIn(words, done.stdout)
        connection = sqlite3.connect(db)
        try:
            stored, = connection.execute('SELECT COUNT(*) FROM items').fetchone()
            fresh, = connection.execute('SELECT COUNT(*) FROM items WHERE ABS(time - ?) < 3600',
                                        (time.time(),)).fetchone()
        finally:
            connection.close()
        self.assertGreater(stored, 100)
        self.assertGreater(fresh, 20)
        self.assertEqual(sorted(p.name for p in self.folder.glob('tmp*')), [])

    def test_on_a_terminal_it_runs_until_ctrl_c(self):
        screen, terminal = pty.openpty()
        self.addCleanup(os.close, screen)
        run = subprocess.Popen([SCRIPT, '3000'], stdin=terminal, stdout=terminal, stderr=terminal,
                               env=self.environment(TERM='xterm'), start_new_session=True)
        os.close(terminal)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        seen = self.read_until(screen, r'(?s)Paste one of these at /add.*'
                               r'    an article: http://\w+\.localhost:\d+/\S+\r.*'
                               r'tain is up at (http://127\.0\.0\.1:\d+/)\r')
        with urllib.request.urlopen(seen.group(1), timeout=ANSWER) as page:
            self.assertEqual(page.status, 200)
        self.read_until(screen, r'of 2 days are here|up to date')
        os.killpg(run.pid, 2)  # as the terminal would
        # 0 when the program has ended before the script hears of it
        self.assertIn(run.wait(ANSWER), (0, 130))
        with self.assertRaises(OSError):
            urllib.request.urlopen(seen.group(1), timeout=ANSWER)
        self.assertEqual(sorted(p.name for p in self.folder.glob('tmp*')), [])

    def read_until(self, screen, pattern):
        text, deadline = '', time.monotonic() + ANSWER
        while time.monotonic() < deadline:
            if select.select([screen], [], [], 0.1)[0]:
                text += os.read(screen, 65536).decode('utf-8', 'replace')
            found = re.search(pattern, text)
            if found:
                return found
        raise AssertionError(f'no {pattern!r} on the screen:\n{text[-3000:]}')


if __name__ == '__main__':
    unittest.main()
