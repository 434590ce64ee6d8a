"""The HN Search API of `tain serve` and the APIs beside it: every parameter against what the
upstream really has, pages far beyond the first thousand hits, trees, discussions, mistakes, and a
published client."""

import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.parse

from lib import (BUILD, EXIT_DONE, QUICK, ROOT, Demo, OnPostgres, OnSqlite, PostgresArchive, Run,
                 Sqlite, environment, normalised, shared_postgres, wait_until, with_stories)
from npm import npm_folder
from serve import Server
from updater import UpdaterTest

LAST = 6000  # ids that are mirrored, of more
PACKAGES = {'hacker-news-api': '2.0.0'}
ROOTS = ('story', 'job', 'poll')
KINDS = {'story', 'comment', 'poll', 'pollopt', 'job'}


class Corpus(unittest.TestCase):
    """One archive and one server for all tests of a class; nothing here writes."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix='tain-e2e-'))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        demo = Demo(maxitem=40000)
        cls.addClassCleanup(demo.stop)
        cls.archive = cls.make_archive()
        cls.tain('catchup', '--db', cls.archive.uri, '--upstream', demo.url, *QUICK,
                 '--start-id', 1, '--end-id', LAST)
        cls.tain('search', '--db', cls.archive.uri, '--index')
        cls.known = with_stories({i: normalised(item) for i, item in
                                  demo.truth(1, LAST).items()})
        cls.living = {i: item for i, item in cls.known.items()
                      if not item['dead'] and not item['deleted'] and item['type'] in KINDS}
        cls.server = Server(cls, cls.archive, '--no-index')

    # what Server asks of a test
    @classmethod
    def start(cls, *arguments, env=None):
        run = Run(arguments, env=env, cwd=cls.folder)
        cls.addClassCleanup(run.close)
        return run

    @classmethod
    def addCleanup(cls, *what):  # noqa: N802
        cls.addClassCleanup(*what)

    @classmethod
    def tain(cls, *arguments):
        result = cls.start(*arguments).wait()
        assert result.code == EXIT_DONE, result
        return result

    # Questions

    def search(self, path='search', **params):
        given = urllib.parse.urlencode(params, doseq=True)
        return self.server.ask(f'/api/v1/{path}?{given}')

    def ids(self, path='search_by_date', **params):
        """All hits of all pages, each once."""
        params.setdefault('hitsPerPage', 1000)
        found, page = [], 0
        while True:
            answer = self.search(path, page=page, **params)
            found += [int(hit['objectID']) for hit in answer['hits']]
            page += 1
            if page >= answer['nbPages']:
                break
        self.assertEqual((len(found), len(set(found))), (answer['nbHits'],) * 2)
        self.assertTrue(answer['exhaustiveNbHits'])
        return found

    def expect(self, condition, **params):
        """Both orders find exactly the items for which the condition holds."""
        wanted = sorted((i for i, item in self.living.items() if condition(item)), reverse=True)
        self.assertEqual(self.ids(**params), wanted)
        self.assertEqual(sorted(self.ids('search', **params), reverse=True), wanted)
        return wanted


class Asking:
    def test_everything_is_found_beyond_a_thousand_hits(self):
        everything = self.expect(lambda item: True)
        self.assertGreater(len(everything), 4000)
        last = self.search('search_by_date', hitsPerPage=7, page=len(everything) // 7 - 1)
        self.assertEqual([int(hit['objectID']) for hit in last['hits']],
                         everything[len(everything) // 7 * 7 - 7:len(everything) // 7 * 7])
        beyond = self.search('search', page=10 ** 6)
        self.assertEqual((beyond['hits'], beyond['nbHits']), ([], len(everything)))
        for path in ('search', 'search_by_date'):
            count = self.search(path, hitsPerPage=0)
            self.assertEqual((count['hits'], count['nbPages'], count['nbHits']),
                             ([], 0, len(everything)))
            self.assertTrue(count['exhaustiveNbHits'])

    def test_order(self):
        points = [hit['points'] or 0 for hit in self.search(tags='story', hitsPerPage=500)['hits']]
        self.assertEqual(points, sorted(points, reverse=True))
        dated = self.search('search_by_date', tags='(story,comment)', hitsPerPage=500)['hits']
        ids = [int(hit['objectID']) for hit in dated]
        self.assertEqual(ids, sorted(ids, reverse=True))

    def test_tags(self):
        for kind in sorted(KINDS):
            self.expect(lambda item: item['type'] == kind, tags=kind)
        self.expect(lambda item: item['type'] in ('story', 'poll'), tags='(story,poll)')
        for name, front in (('ask_hn', 'ask hn'), ('show_hn', 'show hn')):
            self.expect(lambda item: item['type'] == 'story' and
                        (item['title'] or '').lower().startswith(front), tags=name)
        writers = [item['by'] for item in self.living.values() if item['type'] == 'comment']
        author = max(set(writers), key=writers.count)
        self.expect(lambda item: item['by'] == author, tags=f'author_{author}')
        self.expect(lambda item: item['by'] == author and item['type'] == 'comment',
                    tags=f'comment,author_{author}')
        story = max((i for i in self.living.values() if i['type'] == 'story'),
                    key=lambda item: item['descendants'] or 0)['id']
        self.expect(lambda item: item['story_id'] == story, tags=f'story_{story}')
        self.expect(lambda item: item['story_id'] == story and item['type'] == 'comment',
                    tags=['comment', f'story_{story}'])
        page = [i['id'] for i in self.living.values() if i['type'] == 'story'][:60]
        self.expect(lambda item: item['id'] in page,
                    tags=f"story,({','.join(f'story_{i}' for i in page)})")
        self.assertEqual(self.ids(tags=f'comment,author_{author},poll'), [])
        front = self.search(tags='front_page')['hits']
        self.assertTrue(front)
        self.assertTrue(all('front_page' in hit['_tags'] for hit in front))

    def test_numbers(self):
        def number(item, name):
            return item[name] if item['type'] != 'comment' else None
        for text, name, holds in (
                ('points>50', 'score', lambda n: n > 50), ('points<=3', 'score', lambda n: n <= 3),
                ('points=1', 'score', lambda n: n == 1),
                ('points>=10,points<20', 'score', lambda n: 10 <= n < 20),
                ('num_comments>5', 'descendants', lambda n: n > 5),
                ('num_comments=0', 'descendants', lambda n: n == 0)):
            self.expect(lambda item: number(item, name) is not None and holds(number(item, name)),
                        numericFilters=text)
        middle = sorted(i['time'] for i in self.living.values() if i['time'])[LAST // 3]
        self.expect(lambda item: item['time'] is not None and item['time'] < middle,
                    numericFilters=f'created_at_i<{middle}')
        self.expect(lambda item: item['time'] is not None and
                    middle <= item['time'] <= middle + 5000,
                    numericFilters=[f'created_at_i>={middle}', f'created_at_i<{middle + 5000.5}'])
        self.assertEqual(self.ids(numericFilters='points>10,points<10'), [])

    def test_every_hit_is_what_it_says(self):
        for hit in self.search('search_by_date', hitsPerPage=1000)['hits']:
            item = self.known[int(hit['objectID'])]
            comment = item['type'] == 'comment'
            self.assertEqual((hit['author'], hit['title'], hit['url'], hit['points']),
                             (item['by'], item['title'], item['url'], item['score']))
            self.assertEqual(hit['comment_text' if comment else 'story_text'], item['text'])
            self.assertEqual(hit['created_at_i'], item['time'])
            self.assertEqual(hit['_tags'][0], item['type'])
            self.assertRegex(hit['fetched_at'], r'^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$')
            if item['by']:
                self.assertIn(f"author_{item['by']}", hit['_tags'])
            if item['story_id']:
                self.assertIn(f"story_{item['story_id']}", hit['_tags'])
            if comment:
                story = self.known.get(item['story_id']) or {}
                self.assertEqual((hit['story_id'], hit['parent_id']),
                                 (item['story_id'], item['parent']))
                self.assertEqual((hit['story_title'], hit['story_url']),
                                 (story.get('title'), story.get('url')))

    def test_words_phrases_and_exclusions(self):
        titles = [i['title'] for i in self.living.values() if i['type'] == 'story' and i['title']]
        words = re.findall(r'\b[a-z]{5,}\b', ' '.join(titles))
        word = max(set(words), key=words.count)
        found = self.search(query=word, hitsPerPage=1000)
        self.assertGreater(found['nbHits'], 20)
        for hit in found['hits']:
            marks = hit['_highlightResult']
            full = [m for m in marks.values() if m['matchLevel'] == 'full']
            self.assertTrue(full, hit)
            self.assertTrue(all(m['matchedWords'] == [word] for m in full))
            self.assertTrue(all('<em>' in m['value'].lower() for m in full))
        everyone = set(self.ids(query=word))
        titled = set(self.ids(query=word, restrictSearchableAttributes='title'))
        self.assertLessEqual(titled, everyone)
        self.assertEqual(titled, {i for i in titled
                                  if word in (self.living[i]['title'] or '').lower()})
        told = set(self.ids(query=word, restrictSearchableAttributes='comment_text'))
        self.assertTrue(all(self.living[i]['type'] == 'comment' for i in told))
        first = next(t for t in titles if re.match(r'^\w+ \w+ \w+ \w+', t) and word in t.split())
        phrase = ' '.join(re.findall(r'\w+', first)[:3])
        exact = self.search(query=f'"{phrase}"', tags='story', hitsPerPage=1000)
        self.assertIn(first, [hit['title'] for hit in exact['hits']])
        other = next(w for w in re.findall(r'[a-z]+', first) if w != word)
        without = set(self.ids(query=f'{word} -{other}'))
        both = set(self.ids(query=f'{word} {other}'))
        self.assertEqual(without | both, everyone)
        self.assertFalse(without & both)

    def test_an_address_finds_its_stories(self):
        """The way most clients ask who has discussed an article."""
        stories = [(i, item['url']) for i, item in self.living.items()
                   if item['type'] == 'story' and (item['url'] or '').startswith('http')]
        for story, url in stories[::max(1, len(stories) // 25)]:
            for asked in (url, f'"{url}"', re.sub(r'^https?://(www\.)?', 'http://www.', url)):
                answer = self.search(query=asked, restrictSearchableAttributes='url',
                                     hitsPerPage=1000)
                found = {int(hit['objectID']): hit for hit in answer['hits']}
                self.assertIn(story, found, asked)
                self.assertEqual(answer['query'], asked)
                mark = found[story]['_highlightResult']['url']
                self.assertEqual(mark['matchLevel'], 'full')
                self.assertIn('://<em>', mark['value'].replace('www.', ''))

    def test_an_answer_has_its_envelope(self):
        answer = self.server.get('/api/v1/search?query=%22a%20b%22&tags=(story,poll)&page=1'
                                 '&hitsPerPage=5&unknown=1')
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.headers['Access-Control-Allow-Origin'], '*')
        self.assertEqual(answer.headers['Content-Type'], 'application/json; charset=utf-8')
        self.assertEqual(set(answer.json), {
            'hits', 'nbHits', 'page', 'nbPages', 'hitsPerPage', 'exhaustiveNbHits', 'query',
            'params', 'processingTimeMS'})
        self.assertEqual((answer.json['query'], answer.json['page'], answer.json['hitsPerPage']),
                         ('"a b"', 1, 5))
        self.assertEqual(answer.json['params'],
                         'advancedSyntax=true&analytics=false&hitsPerPage=5&page=1&'
                         'query=%22a%20b%22&tags=%28story%2Cpoll%29')
        head = self.server.get('/api/v1/search?query=a', method='HEAD')
        self.assertEqual((head.status, head.body), (200, b''))


class Mistakes:
    def test_only_what_is_wanted(self):
        whole = self.search(tags='story', hitsPerPage=50)['hits']
        some = self.search(tags='story', hitsPerPage=50,
                           attributesToRetrieve='title,points,nonsense',
                           attributesToHighlight='["author"]')
        self.assertIn('attributesToRetrieve=title%2Cpoints%2Cnonsense', some['params'])
        for hit, before in zip(some['hits'], whole, strict=True):
            self.assertEqual(hit, {
                'objectID': before['objectID'], 'title': before['title'],
                'points': before['points'],
                '_highlightResult': {'author': before['_highlightResult']['author']}})
        bare = self.search(tags='comment', hitsPerPage=5, attributesToRetrieve='objectID',
                           attributesToHighlight='[]')
        self.assertEqual({tuple(hit) for hit in bare['hits']}, {('objectID',)})

    def test_bad_parameters_are_named(self):
        for query, name in (('page=-1', 'page'), ('page=x', 'page'),
                            ('hitsPerPage=1001', 'hitsPerPage'),
                            ('numericFilters=karma>3', 'numericFilters'),
                            ('numericFilters=points!=3', 'numericFilters'),
                            ('numericFilters=points>', 'numericFilters'),
                            ('tags=nonsense', 'nonsense'), ('tags=(story', 'tags'),
                            ('filters=points>3', 'filters'),
                            ('restrictSearchableAttributes=karma', 'karma')):
            for path in ('search', 'search_by_date'):
                answer = self.server.get(f'/api/v1/{path}?{query}')
                self.assertEqual(answer.status, 400, query)
                self.assertIn(name, answer.json['message'])
                self.assertEqual(answer.headers['Access-Control-Allow-Origin'], '*')

    def test_what_is_not_there(self):
        for path, status in (
                ('/api/v1/items/99999999', 404), ('/api/v1/items/x', 400),
                ('/api/v1/items/0', 400), ('/api/v1/items/99999999999999999999', 400),
                ('/api/v1/users/nobody_at_all', 404), ('/api/v1/nothing', 404),
                ('/api/v1/items/', 404), ('/api/v1/items/1/2', 404),
                ('/api/stories/99999999/tree', 404), ('/api/stories/x/tree', 400),
                ('/api/discussions', 400), ('/api/discussions?url=', 400),
                ('/api/discussions?url=javascript:alert(1)', 400)):
            answer = self.server.get(path)
            self.assertEqual(answer.status, status, path)
            self.assertTrue(answer.json['message'])

    def test_strange_queries_do_no_harm(self):
        for query in ('"', '""', '-', '"-"', '-a', '*', 'a*', 'NEAR(a b)', "a' OR 1=1 --", 'a:b',
                      '\\', '%', '(((', 'AND OR NOT', '\u65e5\u672c\u8a9e', 'x' * 3000,
                      ' '.join(f'w{n}' for n in range(300)), '<script>', '&amp;', '!', '|&<->'):
            answer = self.search(query=query, hitsPerPage=5)
            self.assertEqual(answer['query'], query)


class Trees:
    def tree_of(self, item):
        """What HN has below it, as far as it is stored and alive."""
        below = [self.tree_of(self.known[kid]) for kid in item['kids'] if kid in self.known]
        below = [kid for kid in below if kid]
        gone = item['dead'] or item['deleted']
        return (item['id'], below) if below or not gone else None

    def shown(self, node):
        return node['id'], [self.shown(child) for child in node['children']]

    def roots(self, many):
        return sorted((i for i in self.known.values() if i['type'] in ROOTS),
                      key=lambda item: -(item['descendants'] or 0))[:many]

    def test_items_are_nested_in_the_order_of_hn(self):
        keys = {'id', 'created_at', 'created_at_i', 'type', 'author', 'title', 'url', 'text',
                'points', 'parent_id', 'story_id', 'children', 'options'}
        for item in self.roots(150):
            answer = self.server.ask(f"/api/v1/items/{item['id']}")
            wanted = self.tree_of(item) or (item['id'], [])
            self.assertEqual(self.shown(answer), wanted)
            self.assertLessEqual(keys, set(answer))
            self.assertEqual((answer['title'], answer['text'], answer['points']),
                             (item['title'], item['text'], item['score']))
        comment = next(i for i in self.living.values() if i['type'] == 'comment' and i['kids'])
        answer = self.server.ask(f"/api/v1/items/{comment['id']}")
        self.assertEqual(self.shown(answer), self.tree_of(comment))
        self.assertEqual((answer['parent_id'], answer['story_id']),
                         (comment['parent'], comment['story_id']))

    def test_polls_have_options(self):
        polls = [i for i in self.known.values() if i['type'] == 'poll' and i['parts']]
        self.assertTrue(polls)
        for poll in polls:
            answer = self.server.ask(f"/api/v1/items/{poll['id']}")
            self.assertEqual([option['id'] for option in answer['options']],
                             [part for part in poll['parts'] if part in self.known])
            for option in answer['options']:
                self.assertEqual((option['type'], option['parent_id']), ('pollopt', poll['id']))
                self.assertEqual(option['text'], self.known[option['id']]['text'])

    def test_flat_trees(self):
        for item in self.roots(60):
            answer = self.server.ask(f"/api/stories/{item['id']}/tree")
            self.assertEqual(answer['count'], len(answer['comments']))
            kids = {item['id']: []}
            for node in answer['comments']:
                kids[node['parent']].append(node['id'])
                kids[node['id']] = []
                self.assertEqual(node['rank'], len(kids[node['parent']]))
                self.assertEqual(node.get('stored', True), node['id'] in self.known)
                if 'stored' not in node:
                    known = self.known[node['id']]
                    self.assertEqual((node['by'], node['text']), (known['by'], known['text']))
                    self.assertEqual(node.get('dead', False), known['dead'])
            for parent, found in kids.items():
                if parent in self.known:
                    self.assertEqual(found, self.known[parent]['kids'])

    def test_discussions_of_an_address(self):
        stories = [i for i in self.living.values() if i['type'] == 'story' and i['url']]
        plain = [i for i in stories if re.fullmatch(r'https://[a-z.]+/[\w/-]+', i['url'])]
        self.assertGreater(len(plain), 20)
        for item in plain[:20]:
            there = item['url'].split('://')[1]
            answers = [self.server.ask('/api/discussions?url=' + urllib.parse.quote(url, safe=''))
                       for url in (item['url'], 'http://' + there,
                                   item['url'] + '?utm_source=x#top')]
            found = [d['id'] for d in answers[0]['discussions']]
            self.assertIn(item['id'], found)
            same = {i['id'] for i in stories if i['url'] == item['url']}
            self.assertLessEqual(same, set(found))
            points = [d['score'] or 0 for d in answers[0]['discussions']]
            self.assertEqual(points, sorted(points, reverse=True))
            for answer in answers:
                self.assertEqual((answer['key'], answer['discussions'], answer['count']),
                                 (answers[0]['key'], answers[0]['discussions'], len(found)))
        nobody = self.server.ask('/api/discussions?url=https://nobody.example/wrote/this')
        self.assertEqual((nobody['key'], nobody['discussions']),
                         ('nobody.example/wrote/this', []))

    def test_trees_have_tags_and_come_compressed(self):
        path = f"/api/v1/items/{self.roots(1)[0]['id']}"
        plain = self.server.get(path)
        packed = self.server.get(path, {'Accept-Encoding': 'gzip'})
        self.assertEqual(packed.headers['Content-Encoding'], 'gzip')
        self.assertEqual(gzip.decompress(packed.body), plain.body)
        again = self.server.get(path, {'If-None-Match': plain.headers['ETag']})
        self.assertEqual((again.status, again.body), (304, b''))


class Client:
    def test_a_published_client_works(self):
        folder = npm_folder(BUILD, 'hn-search', PACKAGES)
        here = ROOT / 'tests' / 'npm'
        story = next(i for i in self.living.values() if i['type'] == 'story' and i['kids'])
        env = environment({'TAIN_HN_ORIGIN': self.server.origin, 'TAIN_NPM_FOLDER': str(folder),
                           'NODE_OPTIONS': f"--require {here / 'to_local.cjs'}",
                           'PATH': os.environ['PATH']})
        done = subprocess.run(['node', str(here / 'search_client.cjs'), str(story['id']),
                               story['by'], story['title'].split()[-1]], env=env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600,
                              cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        got = json.loads(done.stdout)
        self.assertEqual(got['item'], self.server.ask(f"/api/v1/items/{story['id']}"))
        self.assertEqual(got['noItem'], 404)
        self.assert_same(got['recent'], 'search_by_date', tags='(ask_hn,poll,comment)')
        self.assert_same(got['top'], 'search', tags=f"(story,show_hn),author_{story['by']}")
        self.assert_same(got['below'], 'search', tags=f"(comment),story_{story['id']}")
        self.assert_same(got['words'], 'search', tags='(comment,story)',
                         query=story['title'].split()[-1])
        stories = [i['time'] for i in self.living.values() if i['type'] == 'story' and i['time']]
        now = time.time()  # nothing is of this month, but some of the far future
        self.assertEqual(got['since']['nbHits'], len([at for at in stories if at > now]))
        self.assertEqual(got['before']['nbHits'], len([at for at in stories if at < now]))
        self.assertEqual((got['third']['page'], len(got['third']['hits'])), (2, 50))

    def assert_same(self, answer, path, **params):
        wanted = self.search(path, hitsPerPage=1000, **params)
        self.assertTrue(wanted['hits'])
        self.assertEqual([hit['objectID'] for hit in answer['hits']],
                         [hit['objectID'] for hit in wanted['hits']])
        self.assertEqual(answer['nbHits'], wanted['nbHits'])


class OnCorpusSqlite(Asking, Mistakes, Trees, Client, Corpus):
    @classmethod
    def make_archive(cls):
        return Sqlite(cls.folder / 'archive.db')


class OnCorpusPostgres(Asking, Mistakes, Trees, Corpus):
    @classmethod
    def make_archive(cls):
        return PostgresArchive(shared_postgres())


# Of their own -------------------------------------------------------------------------------------

DEEP = 3000


class Own:
    def test_people(self):
        upstream, archive = self.upstream(ids=400), self.archive()
        self.follow(archive, upstream)
        server = Server(self, archive)
        items = upstream.now(1, upstream.maxitem)
        name = next(i['by'] for i in items.values() if i and i['by'])
        upstream.post('mutate-user', name=name)
        wait_until(lambda: server.get(f'/api/v1/users/{name}').status == 200, what='the profile')
        mine = [i for i in items.values()
                if i and i['by'] == name and not i['dead'] and not i['deleted']]
        counted = (len([i for i in mine if i['type'] in ROOTS]),
                   len([i for i in mine if i['type'] == 'comment']))

        def indexed():
            found = server.ask(f'/api/v1/users/{name}')
            return (found['submission_count'], found['comment_count']) == counted and found
        user, raw = wait_until(indexed, what='the index'), server.ask(f'/v0/user/{name}.json')
        self.assertEqual((user['username'], user['objectID']), (name, name))
        self.assertEqual((user['karma'], user['created_at_i'], user['about']),
                         (raw['karma'], raw['created'], raw.get('about')))
        self.assertRegex(user['created_at'], r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$')

    def test_deep_and_wide_threads(self):
        """A chain of thousands, and thousands side by side."""
        archive, dump = self.archive(), self.folder / 'items.ndjson'
        wide = list(range(20002, 20002 + DEEP))
        items = [{'id': 1, 'type': 'story', 'title': 'deep', 'kids': [2], 'by': 'a', 'time': 10}]
        items += [{'id': n, 'type': 'comment', 'parent': n - 1, 'kids': [n + 1], 'by': 'a',
                   'time': 10 + n, 'text': f'<b>{n}'} for n in range(2, DEEP + 2)]
        items[-1].pop('kids')
        items += [{'id': 20001, 'type': 'story', 'title': 'wide', 'kids': wide, 'time': 99}]
        items += [{'id': n, 'type': 'comment', 'parent': 20001, 'by': 'b', 'time': 99,
                   'text': 'x' * 300} for n in wide]
        dump.write_text('\n'.join(map(json.dumps, items)) + '\n', encoding='utf-8')
        result = self.run_tain('import', '--db', archive.uri, str(dump))
        self.assertEqual(result.code, EXIT_DONE, result)
        server = Server(self, archive)
        answer = server.get('/api/v1/items/1')
        self.assertEqual(answer.status, 200)
        self.assertEqual([int(n) for n in re.findall(r'\{"id":(\d+)', answer.text)],
                         list(range(1, DEEP + 2)))
        self.assertEqual(answer.text.count('],"options":[]}'), DEEP + 1)
        flat = server.ask('/api/stories/1/tree')
        self.assertEqual([c['depth'] for c in flat['comments']], list(range(DEEP)))
        answer = server.ask('/api/v1/items/20001')
        self.assertEqual([child['id'] for child in answer['children']], wide)
        flat = server.ask('/api/stories/20001/tree')
        self.assertEqual([c['rank'] for c in flat['comments']], list(range(1, DEEP + 1)))


class SqliteOwn(Own, OnSqlite, UpdaterTest):
    pass


class PostgresOwn(Own, OnPostgres, UpdaterTest):
    pass


if __name__ == '__main__':
    unittest.main()
