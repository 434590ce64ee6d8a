"""`tain search`: what the terminal shows, what programs get, and how wrong usage ends."""

import json
import os
import pty
import unittest

from lib import E2E, EXIT_DONE, EXIT_USAGE, TAIN, OnPostgres, OnSqlite, environment

ITEMS = [
    {'id': 1, 'type': 'story', 'by': 'pg', 'time': 1577836800, 'title': 'Lisp in the small',
     'url': 'https://www.example.com/lisp', 'score': 120, 'descendants': 2, 'kids': [2, 3]},
    {'id': 2, 'type': 'comment', 'by': 'dang', 'time': 1577836900, 'parent': 1,
     'text': 'I like <i>Lisp</i> &amp; Scheme.<p>Really.'},
    {'id': 3, 'type': 'comment', 'by': 'pg', 'time': 1609459200, 'parent': 1,
     'text': 'steering \x1b[31mterminals\x07 with lisp'},
    {'id': 4, 'type': 'story', 'by': 'PG', 'time': 1609459300, 'title': 'Show HN: lisp \x9b2J',
     'score': 3, 'descendants': 0},
    {'id': 5, 'type': 'job', 'by': 'yc', 'time': 1609459400, 'title': 'Scheme programmers'},
]


class Searching:
    def setUp(self):
        super().setUp()
        self.db = self.archive()
        dump = self.folder / 'items.ndjson'
        dump.write_text(''.join(json.dumps(i) + '\n' for i in ITEMS), encoding='utf-8')
        done = self.run_tain('import', dump, '--db', self.db.uri, '--progress', 'none')
        self.assertEqual(done.code, EXIT_DONE, done)

    def search(self, *arguments, code=EXIT_DONE):
        result = self.run_tain('search', '--db', self.db.uri, '--search-time', '10m', *arguments)
        self.assertEqual(result.code, code, result)
        return result

    def ids(self, *arguments):
        return [h['id'] for h in json.loads(self.search('--json', *arguments).out)['hits']]

    def test_index_then_search(self):
        before = json.loads(self.search('lisp', '--json').out)
        self.assertEqual((before['hits'], before['waiting']), ([], 5))
        self.assertIn('wait to be indexed', self.search('lisp').out)
        self.assertIn('5 items indexed', self.search('--index', '--progress', 'none').out)
        self.assertIn('0 items indexed', self.search('--index', '--progress', 'none').out)
        self.assertEqual(self.ids('lisp'), [1, 4, 3, 2])
        self.assertEqual(self.ids('lisp', '--by-date'), [4, 3, 2, 1])
        self.assertEqual(self.ids('lisp -scheme', '--by-date'), [4, 3, 1])
        self.assertEqual(self.ids('lisp', '--author', 'pg'), [1, 3])
        self.assertEqual(self.ids('lisp', '--type', 'comment'), [3, 2])
        self.assertEqual(self.ids('--type', 'show_hn,job', '--by-date'), [5, 4])
        self.assertEqual(self.ids('lisp', '--since', '2021-01-01'), [4, 3])
        self.assertEqual(self.ids('lisp', '--until', '2020-12-31'), [1, 2])
        self.assertEqual(self.ids('lisp', '--min-points', '100'), [1])
        self.assertEqual(self.ids('lisp', '--limit', '2', '--page', '2'), [3, 2])
        self.assertEqual(self.ids('https://www.example.com/', '--type', 'story'),
                         self.ids('example.com', '--type', 'story'))
        self.assertIn(1, self.ids('https://www.example.com/'))

    def test_report(self):
        out = self.search('--index', '--progress', 'none', 'lisp').out
        self.assertIn('  1. Lisp in the small (example.com)\n     120 points, 2 comments, story by '
                      'pg, 2020-01-01, https://news.ycombinator.com/item?id=1\n', out)
        self.assertIn('Re: Lisp in the small\n', out)
        self.assertIn('I like Lisp & Scheme.  Really.', out)
        self.assertRegex(out, r'\n4 hits, page 1, \d+ ms\n$')
        self.assertNotIn('\x1b', out)
        self.assertIn('nothing found', self.search('absent').out)
        hit = json.loads(self.search('--json', 'steering').out)['hits'][0]
        self.assertEqual((hit['by'], hit['story_id'], hit['story_title'], hit['dead']),
                         ('pg', 1, 'Lisp in the small', False))

    def test_nothing_steers_the_terminal(self):
        self.search('--index', '--progress', 'none')
        master, slave = pty.openpty()
        pid = os.fork()
        if pid == 0:
            os.dup2(slave, 1)
            os.execvpe(TAIN, [TAIN, 'search', '--db', self.db.uri, 'lisp'],
                       dict(environment(), TERM='xterm'))
        os.close(slave)
        shown = b''
        try:
            while chunk := os.read(master, 65536):
                shown += chunk
        except OSError:  # the other end is closed
            pass
        os.waitpid(pid, 0)
        os.close(master)
        text = shown.decode()
        self.assertIn('\x1b[1;33mLisp\x1b[0m in the small', text)
        rest = text.replace('\x1b[1;33m', '').replace('\x1b[0m', '')
        for control in ('\x1b', '\x07', '\x9b'):
            self.assertNotIn(control, rest)

    def test_usage(self):
        self.assertIn('what for?', self.search(code=EXIT_USAGE).err)
        self.assertIn('--type', self.search('--type', 'book', 'x', code=EXIT_USAGE).err)
        self.assertIn('--since', self.search('--since', 'soon', 'x', code=EXIT_USAGE).err)
        self.assertIn('1000', self.search('--limit', '1001', 'x', code=EXIT_USAGE).err)


class SearchOnSqlite(Searching, OnSqlite, E2E):
    pass


class SearchOnPostgres(Searching, OnPostgres, E2E):
    pass


if __name__ == '__main__':
    unittest.main()
