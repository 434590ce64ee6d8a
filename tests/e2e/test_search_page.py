"""The pages /search and /status as a person without script uses them: the form finds what it says,
every filter filters, what makes no sense is refused by name, and the figures are those of the
archive."""

import html
import json
import re
import unittest
import urllib.parse

from lib import EXIT_DONE, OnPostgres, OnSqlite
from serve import Server
from updater import UpdaterTest

FIRST = 1000
DAY = 86400
T0 = 1767225600  # 2026-01-01


def story(number, **fields):
    return {'id': FIRST + number, 'type': 'story', 'by': 'ada', 'time': T0 + number * DAY,
            'title': f'Story {number} of a zeppelin', 'url': f'https://example.org/{number}',
            'score': number, 'descendants': 0, **fields}


def corpus():
    items = [story(n) for n in range(1, 31)]
    items.append(story(31, by='bob', title='Ask HN: Who flew a <b>zeppelin</b>?', url=None,
                       text='I &lt;script&gt;wonder&lt;/script&gt; about a zeppelin over the sea'))
    items.append({'id': FIRST + 40, 'type': 'comment', 'by': 'bob', 'time': T0 + 40 * DAY,
                  'parent': FIRST + 31, 'text': 'My uncle. <p>The zeppelin was <i>silver</i>.'})
    items.append(story(41, title='Dead zeppelin', dead=True))
    return [{k: v for k, v in item.items() if v is not None} for item in items]


class SearchPage:
    def imported(self):
        archive = self.archive()
        dump = str(self.folder / 'corpus.ndjson')
        with open(dump, 'w', encoding='utf-8') as file:
            file.writelines(json.dumps(item) + '\n' for item in corpus())
        self.assertEqual(self.run_tain('import', dump, '--db', archive.uri).code, EXIT_DONE)
        return archive

    def served(self):
        archive = self.imported()
        self.assertEqual(self.run_tain('search', '--index', '--db', archive.uri).code, EXIT_DONE)
        return Server(self, archive)

    def find(self, server, **form):
        answer = server.get('/search?' + urllib.parse.urlencode(form))
        self.assertEqual(answer.status, 200, answer.text)
        found = [int(i) for i in re.findall(r'<li class="hit[^>]*>.*?href="/item\?id=(\d+)"',
                                            answer.text)]
        total = re.search(r'class="note">(?:at least )?([\d,]+) results?,', answer.text)
        return found, int(total.group(1).replace(',', '')), answer.text

    def test_a_person_whom_the_index_does_not_know_yet(self):
        archive = self.imported()
        server = Server(self, archive, '--no-index')
        for query, ids in (('id=bob', [40, 31]), ('id=bob&show=comments', [40]),
                           ('id=bob&show=stories', [31])):
            page = server.get('/user?' + query)
            self.assertEqual(page.status, 200, page.text)
            self.assertIn('items are not in the search index yet', page.text)
            shown = re.findall(r'/item\?id=(\d+)', page.text.partition('<ol')[2])
            self.assertEqual([n for n in dict.fromkeys(int(i) - FIRST for i in shown) if n in ids],
                             ids)
        nobody = server.get('/user?id=nobody')
        self.assertEqual(nobody.status, 404)
        self.assertIn('items are not in the search index yet', nobody.text)
        self.assertEqual(self.run_tain('search', '--index', '--db', archive.uri).code, EXIT_DONE)
        for name, status in (('bob', 200), ('nobody', 404)):
            page = server.get(f'/user?id={name}')
            self.assertEqual(page.status, status)
            self.assertNotIn('not in the search index', page.text)

    def test_the_form_finds_and_filters(self):
        server = self.served()
        found, total, text = self.find(server, q='zeppelin')
        self.assertEqual((total, len(found)), (32, 20))
        self.assertIn('<mark>zeppelin</mark>', text)
        self.assertIn('value="zeppelin"', text)
        more = html.unescape(re.search(r'href="(/search\?p=2[^"]*)"', text).group(1))
        second = server.get(more).text
        self.assertEqual(second.count('<li class="hit'), 12)
        self.assertEqual(self.find(server, q='zeppelin', type='comment')[0], [FIRST + 40])
        self.assertEqual(set(self.find(server, q='zeppelin', author='bob')[0]),
                         {FIRST + 31, FIRST + 40})
        self.assertEqual(self.find(server, q='zeppelin', type='ask')[0], [FIRST + 31])
        self.assertEqual(self.find(server, q='zeppelin', type='story', points='29',
                                   author='ada', sort='date')[0], [FIRST + 30, FIRST + 29])
        self.assertEqual(self.find(server, q='zeppelin', since='2026-01-03',
                                   until='2026-01-04', sort='date')[0], [FIRST + 3, FIRST + 2])
        self.assertEqual(self.find(server, q='"silver"')[0], [FIRST + 40])
        self.assertEqual(self.find(server, q='zeppelin', type='comment', author='ada')[1], 0)
        found, _, text = self.find(server, q='http://www.example.org/7')
        self.assertEqual(found, [FIRST + 7])
        self.assertIn('value="http://www.example.org/7"', text)

    def test_what_is_found_is_text_and_never_markup(self):
        server = self.served()
        _, _, text = self.find(server, q='zeppelin', author='bob')
        self.assertIn('&lt;script&gt;wonder', text)
        self.assertIn('&lt;b&gt;<mark>zeppelin</mark>', text)
        _, _, text = self.find(server, q='"><script>alert(1)</script>')
        self.assertNotIn('<script>alert', text)

    def test_what_makes_no_sense_is_refused_by_name(self):
        server = self.served()
        for query, word in (('type=song', 'type'), ('since=yesterday', 'since'),
                            ('until=2026-13-01', 'until'), ('points=-1', 'points'),
                            ('points=many', 'points'), ('sort=luck', 'sort'), ('p=0', 'p')):
            answer = server.get('/search?q=a&' + query)
            self.assertEqual(answer.status, 400, query)
            self.assertRegex(answer.text, rf'<p>{word}\b', query)
        self.assertEqual(server.get('/search').status, 200)

    def test_status_shows_the_archive(self):
        server = self.served()
        page = server.get('/status')
        self.assertEqual(page.status, 200)
        self.assertIn('<dt>Updater</dt><dd>not running</dd>', page.text)
        self.assertIn('<dt>Search index</dt><dd>0</dd>', page.text)
        figures = server.get('/status/figures')
        self.assertEqual(figures.headers['Cache-Control'], 'no-store')
        self.assertIn(figures.text.split('<figure')[0], page.text)


class OnOneFile(SearchPage, OnSqlite, UpdaterTest):
    pass


class OnAServer(SearchPage, OnPostgres, UpdaterTest):
    pass


if __name__ == '__main__':
    unittest.main()
