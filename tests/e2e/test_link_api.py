"""Links over HTTP, with `tain serve` alone: adding, checking, trying again, the state of tasks, and
everything that is refused. No worker runs and no service is ever asked."""

import concurrent.futures
import http.client
import json
import re
import socket
import sqlite3
import unittest

from lib import ANSWER, EXIT_USAGE, OnPostgres, OnSqlite, wait_until
from events import EventStream
from links_under_test import LinksTest
from relay import Relay
from serve import Server

TOKEN = 'a-token-for-the-tests-of-some-length'
JSON = {'Content-Type': 'application/json'}
BEARER = {'Authorization': f'Bearer {TOKEN}'}
PENDING = {'reddit': {'status': 'pending', 'checked_at': None},
           'hn': {'status': 'pending', 'checked_at': None},
           'summary': {'status': 'pending', 'generated_at': None},
           'reverse_lookup': {'status': None, 'target_id': None}}
LONG = 'https://long.example/' + 'x' * 4076  # one byte more than a URL may have


class LinkApiTest(LinksTest):
    def links(self, archive=None, token=TOKEN, arguments=(), **options):
        links = super().links(archive, **options)
        links.serve(*arguments, TAIN_LINKS_TOKEN=token)
        return links

    def post_json(self, links, body, headers=None, path='/api/links'):
        text = body if isinstance(body, (str, bytes)) else json.dumps(body)
        return links.server.get(path, {**JSON, **BEARER, **(headers or {})}, 'POST', text)

    def make(self, links, sql):
        links.archive.execute(sql)

    def count(self, links, table='links'):
        return links.archive.rows(f'SELECT COUNT(*) FROM {table}')[0][0]

    def listen(self, links, query):
        stream = EventStream(links.server.port, query)
        self.addCleanup(stream.close)
        stream.wait_hello()
        return stream


class Adding:
    def test_a_form_makes_a_link(self):
        links = self.links()
        answer = links.server.post('/add', {'url': '  HTTP://Example.com/a?utm_source=x#y '})
        self.assertEqual((answer.status, answer.headers['Location']), (303, '/link/1'))
        self.assertEqual(answer.headers['Cache-Control'], 'no-store')
        self.assertEqual(links.link(1)['url_key'], 'example.com/a')
        self.assertEqual(links.row('link_processing', 1, 'link_id', 'submitter')['submitter'],
                         'web')
        waits = links.row('link_processing', 1, 'link_id', 'waiting_since')['waiting_since']
        self.assertIsNotNone(waits)
        self.assertEqual(links.add('https://www.example.com/a/'), 1)
        other = links.add('https://example.com/b')
        self.assertNotEqual(other, 1)
        self.assertEqual(links.processing(other), PENDING)
        self.assertEqual(links.asked(), 0)

    def test_a_discussion_waits_for_its_article(self):
        links = self.links()
        link = links.add('https://news.ycombinator.com/item?id=8863')
        self.assertEqual(links.processing(link)['reverse_lookup'],
                         {'status': 'pending', 'target_id': None})

    def test_what_is_no_link_is_said_in_the_form(self):
        links = self.links()
        for url, words in (('', 'Type or paste'), ('ftp://example.com/x', 'http:// or https://'),
                           ('not a url', 'http:// or https://'), (LONG, 'longer than 4096 bytes'),
                           ('javascript:alert(1)', 'http:// or https://')):
            answer = links.server.post('/add', {'url': url})
            self.assertEqual(answer.status, 400, url)
            self.assertIn(words, answer.text)
            self.assertIn('action="/add"', answer.text)
        answer = links.server.post('/add', {'url': '"><script>'})
        self.assertEqual(answer.status, 400)
        self.assertNotIn('<script>"', answer.text)
        self.assertIn('&quot;&gt;&lt;script&gt;', answer.text)
        self.assertEqual(links.server.post('/add', {}).status, 400)
        self.assertEqual(links.server.get('/add', JSON, 'POST', '{"url":"a.example"}').status, 400)
        self.assertEqual(self.count(links), 0)

    def test_getting_never_writes(self):
        links = self.links()
        answer = links.server.get('/add?url=https%3A%2F%2Fexample.com%2Fa')
        self.assertEqual(answer.status, 200)
        self.assertIn('value="https://example.com/a"', answer.text)
        links.server.ask('/api/check?url=https://example.com/a')
        links.server.get('/link/1')
        self.assertEqual((self.count(links), self.count(links, 'link_processing')), (0, 0))
        self.assertEqual(links.server.get('/api/link/1/retry').status, 405)
        self.assertEqual(links.asked(), 0)

    def test_many_at_once_make_one(self):
        links = self.links()
        other = Server(self, links.archive, env=links.env(TAIN_LINKS_TOKEN=TOKEN))
        ports = [links.server.port, other.port]

        def add(number):
            one = http.client.HTTPConnection('127.0.0.1', ports[number % 2], timeout=ANSWER)
            body = json.dumps({'url': f'https://example.com/{number % 3}'})
            one.request('POST', '/api/links', body, {**JSON, **BEARER})
            answer = one.getresponse()
            body = json.loads(answer.read())
            one.close()
            return answer.status, body['id'], body['created']
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            made = list(pool.map(add, range(24)))
        self.assertEqual(self.count(links), 3)
        self.assertEqual(len({link for _, link, _ in made}), 3)
        self.assertEqual(sorted(status for status, _, _ in made), [200] * 21 + [201] * 3)
        self.assertEqual(sum(created for _, _, created in made), 3)


class Bots:
    def test_a_bot_adds(self):
        links = self.links()
        answer = self.post_json(links, {'url': 'https://example.com/a', 'title': 'A “title”',
                                        'description': 'What it says', 'submitted_by': 'crow',
                                        'source': 'my-bot'})
        self.assertEqual(answer.status, 201, answer.text)
        self.assertEqual(answer.json, {'id': 1, 'created': True, 'page': '/link/1'})
        self.assertEqual(answer.headers['Location'], '/link/1')
        link = links.link(1)
        self.assertEqual((link['title'], link['source'], link['submitted_by']),
                         ('A “title”', 'my-bot', 'crow'))
        again = self.post_json(links, {'url': 'http://example.com/a', 'title': 'Another'})
        self.assertEqual((again.status, again.json['created']), (200, False))
        self.assertEqual(links.link(1)['title'], 'A “title”')
        plain = self.post_json(links, {'url': 'https://example.com/b'})
        self.assertEqual(plain.status, 201)
        self.assertEqual(links.link(plain.json['id'])['source'], 'agent')

    def test_mistakes_are_named(self):
        links = self.links()
        for body, words in (({}, 'url: it is missing'), ({'url': 5}, 'url: give a text'),
                            ({'url': 'ftp://x.example'}, 'http'), ('{"url"', 'JSON'),
                            ('', 'JSON object'), ('[]', 'JSON object'),
                            ({'url': LONG}, 'url: it has 4097 bytes'),
                            ({'url': 'a.example', 'name': 'x'}, 'name: there is no such field'),
                            ({'url': 'a.example', 'source': 'hn-story'}, 'source: '),
                            ({'url': 'a.example', 'title': 'x' * 1001}, 'title: it has 1001'),
                            (b'\xff\xfe', 'JSON object')):
            answer = self.post_json(links, body)
            self.assertEqual(answer.status, 400, f'{body!r:.60} {answer.text}')
            self.assertIn(words, answer.json['message'])
        form = links.server.post('/api/links', {'url': 'https://a.example'}, BEARER)
        self.assertEqual(form.status, 415)
        self.assertEqual(self.count(links), 0)

    def test_only_with_the_token(self):
        links = self.links()
        body = {'url': 'https://example.com/a'}
        for given in ('', 'Bearer', 'Bearer ', f'Bearer {TOKEN}x', f'Bearer {TOKEN[:-1]}',
                      f'Basic {TOKEN}', TOKEN):
            answer = self.post_json(links, body, {'Authorization': given})
            self.assertEqual(answer.status, 401, given)
            self.assertEqual(answer.headers['WWW-Authenticate'], 'Bearer')
            self.assertNotIn(TOKEN, answer.text)
        self.assertEqual(self.post_json(links, body, path=f'/api/links?key={TOKEN}',
                                        headers={'Authorization': ''}).status, 401)
        self.assertEqual(self.count(links), 0)
        self.assertEqual(self.post_json(links, body).status, 201)
        self.assertNotIn(TOKEN, links.server.run.so_far())

    def test_without_a_token_there_are_no_bots(self):
        links = self.links(token=None)
        answer = self.post_json(links, {'url': 'https://example.com/a'})
        self.assertEqual(answer.status, 403)
        self.assertIn('TAIN_LINKS_TOKEN', answer.json['message'])
        self.assertEqual(links.add('https://example.com/a'), 1)

    def test_the_token_of_a_file(self):
        path = self.folder / 'token'
        path.write_text(TOKEN + '\n')
        links = self.links(token=None, arguments=('--links-token-file', path))
        self.assertEqual(self.post_json(links, {'url': 'https://example.com/a'}).status, 201)
        path.write_text('two words\n')
        refused = self.run_tain('serve', '--db', links.archive.uri, '--listen', '127.0.0.1:0',
                                '--links-token-file', path)
        self.assertEqual(refused.code, EXIT_USAGE)
        self.assertIn('the token holds blanks', refused.err)
        self.assertNotIn('two words', refused.err)


class Asking:
    def test_the_state_of_tasks(self):
        links = self.links()
        self.assertEqual(links.processing(1), {'status': 'not_found'})
        for path in ('/api/link/x/processing', '/api/link/-1/processing',
                     '/api/link/99999999999999999999/processing'):
            self.assertEqual(links.server.ask(path), {'status': 'not_found'})
        link = links.add('https://example.com/a')
        first = links.server.get(f'/api/link/{link}/processing')
        self.assertEqual(first.json, PENDING)
        self.assertEqual(list(first.json), ['reddit', 'hn', 'summary', 'reverse_lookup'])
        tag = first.headers['ETag']
        same = links.server.get(f'/api/link/{link}/processing', {'If-None-Match': tag})
        self.assertEqual((same.status, same.body, same.headers['ETag']), (304, b'', tag))
        self.make(links, "UPDATE link_processing SET reddit_status = 'completed', "
                         "reddit_checked_at = 1794810907123, summary_status = 'failed', "
                         f"summary_error = 'the reason' WHERE link_id = {link}")
        now = links.server.get(f'/api/link/{link}/processing', {'If-None-Match': tag})
        self.assertEqual(now.status, 200)
        self.assertEqual(now.json, {**PENDING, 'reddit': {'status': 'completed',
                                                          'checked_at': '2026-11-16T06:35:07Z'},
                                    'summary': {'status': 'failed', 'generated_at': None}})
        head = links.server.get(f'/api/link/{link}/processing', method='HEAD')
        self.assertEqual((head.status, head.headers['ETag']), (200, now.headers['ETag']))

    def test_an_alias_stands_for_the_link_that_stayed(self):
        links = self.links()
        link = links.add('https://example.com/a')
        self.make(links, 'INSERT INTO link_aliases (alias_id, link_id, created_at) '
                         f'VALUES (77, {link}, 0)')
        self.make(links, "UPDATE link_processing SET hn_status = 'not_found' "
                         f'WHERE link_id = {link}')
        self.assertEqual(links.processing(77)['hn']['status'], 'not_found')

    def test_whether_there_is_a_link(self):
        links = self.links()
        known = links.server.ask('/api/check?url=https%3A%2F%2Fwww.example.com%2Fa%2F')
        self.assertEqual(known, {'url': 'https://www.example.com/a/', 'key': 'example.com/a',
                                 'found': False, 'id': None, 'link': None, 'processing': None,
                                 'discussions': []})
        link = links.add('https://example.com/a')
        self.make(links, "UPDATE links SET title = 'T', summary = 'S' WHERE id = 1")
        self.make(links, 'INSERT INTO external_discussions (link_id, platform, external_id, '
                         'external_url, title, score, num_comments, subreddit, discovered_at) '
                         f"VALUES ({link}, 'reddit', 'abc', 'https://www.reddit.com/abc', 'On it', "
                         "7, 3, 'c', 1000)")
        known = links.server.ask('/api/check?url=http%3A%2F%2Fexample.com%2Fa%3Futm_source%3Dx')
        self.assertEqual((known['found'], known['id'], known['processing']), (True, link, PENDING))
        self.assertEqual((known['link']['title'], known['link']['summary']), ('T', 'S'))
        self.assertNotIn('submitted_by', known['link'])
        self.assertEqual(known['discussions'],
                         [{'platform': 'reddit', 'external_id': 'abc',
                           'url': 'https://www.reddit.com/abc', 'title': 'On it', 'score': 7,
                           'num_comments': 3, 'subreddit': 'c', 'created_at': None}])
        for query, words in (('', 'url: '), ('?url=', 'url: '), ('?url=ftp%3A%2F%2Fx', 'url: '),
                             (f'?url={LONG}', 'url: it has 4097 bytes')):
            answer = links.server.get(f'/api/check{query}')
            self.assertEqual(answer.status, 400)
            self.assertIn(words, answer.json['message'])
        self.assertEqual(links.asked(), 0)

    def test_trying_again(self):
        links = self.links()
        link = links.add('https://example.com/a')
        failed = ("UPDATE link_processing SET reddit_status = 'failed', reddit_error = 'away', "
                  f"summary_status = 'failed', waiting_since = NULL WHERE link_id = {link}")
        self.make(links, failed)
        answer = links.retry(link)
        self.assertEqual((answer.status, answer.json), (200, {'id': link, 'retried': 2}))
        self.assertEqual(links.processing(link), PENDING)
        waits = links.row('link_processing', link, 'link_id', 'waiting_since', 'reddit_error')
        self.assertIsNotNone(waits['waiting_since'])
        self.assertIsNone(waits['reddit_error'])
        self.assertEqual(links.retry(link).json, {'id': link, 'retried': 0})
        self.make(links, failed)  # now by the button, without script
        answer = links.server.post(f'/api/link/{link}/retry', {},
                                   {'Accept': 'text/html,application/xhtml+xml,*/*;q=0.8'})
        self.assertEqual((answer.status, answer.headers['Location']), (303, f'/link/{link}'))
        self.assertEqual(links.processing(link), PENDING)
        self.make(links, failed)  # and without any body
        self.assertEqual(links.server.get(f'/api/link/{link}/retry', method='POST').json,
                         {'id': link, 'retried': 2})
        self.assertEqual(links.retry(99).status, 404)
        self.assertEqual(links.retry('x').status, 400)
        self.assertEqual(links.asked(), 0)

    def test_changes_come_live(self):
        links = self.links()
        first, other = links.add('https://example.com/a'), links.add('https://example.com/b')
        stream = self.listen(links, f'?topics=link:{first}')
        self.make(links, f"UPDATE link_processing SET hn_status = 'failed' WHERE link_id = {other}")
        self.make(links, f"UPDATE link_processing SET hn_status = 'failed' WHERE link_id = {first}")
        self.make(links, f"UPDATE links SET title = 'Now known' WHERE id = {first}")
        self.make(links, 'INSERT INTO external_discussions (link_id, platform, external_id, '
                         f"external_url) VALUES ({first}, 'reddit', 'abc', 'https://reddit.com/')"
                  if links.archive.uri.startswith('postgres') else
                  'INSERT INTO external_discussions (link_id, platform, external_id, external_url, '
                  f"discovered_at) VALUES ({first}, 'reddit', 'abc', 'https://reddit.com/', 1)")
        links.retry(first)

        def told():
            """Without the coming of the link itself, of which it may hear too."""
            return [event for event in stream.events() if event.data['action'] == 'update'
                    or event.data['table'] == 'external_discussions']
        stream.wait(lambda: len(told()) >= 4, what='what changed')
        events = told()
        self.assertEqual([event.data['table'] for event in events],
                         ['link_processing', 'links', 'external_discussions', 'link_processing'])
        self.assertEqual({event.event for event in events}, {f'link:{first}'})
        self.assertEqual(events[0].data['data']['hn_status'], 'failed')
        self.assertEqual(events[3].data['data']['hn_status'], 'pending')
        refused = links.server.get('/events?topics=link:x')
        self.assertEqual(refused.status, 400)
        self.assertIn('link:ID', refused.json['message'])


class Refusing:
    def test_pages_of_other_sites_write_nothing(self):
        links = self.links()
        url = {'url': 'https://example.com/a'}
        for path in ('/add', '/api/link/1/retry', '/api/links'):
            for headers in ({'Origin': 'https://evil.example'}, {'Origin': 'null'},
                            {'Origin': f'http://127.0.0.1:{links.server.port + 1}'},
                            {'Sec-Fetch-Site': 'cross-site'}, {'Sec-Fetch-Site': 'same-site'}):
                answer = links.server.post(path, url, {**BEARER, **headers})
                self.assertEqual(answer.status, 403, (path, headers))
                self.assertIn('another site', answer.text)
        self.assertEqual(links.server.post('/add', url, {'Host': 'evil.example'}).status, 421)
        self.assertEqual(self.count(links), 0)
        same = {'Sec-Fetch-Site': 'same-origin', 'Origin': 'null'}
        self.assertEqual(links.server.post('/add', url, same).status, 303)

    def test_methods_types_and_sizes(self):
        links = self.links()
        server = links.server
        for method, path, allow in (('PUT', '/add', 'GET, HEAD, POST'),
                                    ('GET', '/api/links', 'POST'),
                                    ('HEAD', '/api/link/1/retry', 'POST'),
                                    ('POST', '/api/link/1/processing', 'GET, HEAD'),
                                    ('DELETE', '/api/check', 'GET, HEAD'),
                                    ('POST', '/', 'GET, HEAD')):
            answer = server.get(path, method=method)
            self.assertEqual((answer.status, answer.headers['Allow']), (405, allow), path)
        for kind in ('text/plain', 'multipart/form-data; boundary=x', 'application/xml'):
            answer = server.get('/add', {'Content-Type': kind}, 'POST', 'url=a.example')
            self.assertEqual(answer.status, 415, kind)
        large = self.post_json(links, '{"url":"' + 'x' * 65536)
        self.assertEqual(large.status, 413)
        self.assertIn('64 KiB', large.json['message'])
        self.assertEqual(server.post('/add', {'url': 'x' * 70000}).status, 413)
        self.assertEqual(self.count(links), 0)
        self.assertEqual(links.add('https://example.com/a'), 1)

    def test_bodies_that_break_off(self):
        links = self.links()
        for _ in range(20):
            with socket.create_connection(('127.0.0.1', links.server.port), timeout=ANSWER) as one:
                one.sendall(b'POST /add HTTP/1.1\r\nHost: localhost\r\nContent-Length: 40\r\n'
                            b'Content-Type: application/x-www-form-urlencoded\r\n\r\n'
                            b'url=https://example.com/')
        chunked = http.client.HTTPConnection('127.0.0.1', links.server.port, timeout=ANSWER)
        chunked.request('POST', '/add', iter([b'url=https%3A', b'//example.com', b'/whole']),
                        {'Content-Type': 'application/x-www-form-urlencoded'}, encode_chunked=True)
        answer = chunked.getresponse()
        answer.read()
        self.assertEqual(answer.status, 303)
        chunked.request('GET', '/api/link/1/processing')  # the connection is good for more
        self.assertEqual(json.loads(chunked.getresponse().read()), PENDING)
        chunked.close()
        self.assertEqual(links.archive.rows('SELECT url FROM links'),
                         [('https://example.com/whole',)])

    def test_one_address_has_so_many_turns(self):
        links = self.links()
        link = links.add('https://example.com/a')
        one, other = {'X-Forwarded-For': '192.0.2.1'}, {'X-Forwarded-For': '192.0.2.1, 192.0.2.2'}
        for _ in range(200):  # the last answer that is not the expected one says enough
            answer = links.server.post('/add', {'url': 'https://example.com/a'}, one)
            if answer.status != 303:
                break
        self.assertEqual(answer.status, 429)
        self.assertRegex(answer.headers['Retry-After'], r'^[12]$')
        self.assertIn('30 a minute', answer.text)
        self.assertIn('value="https://example.com/a"', answer.text)
        self.assertEqual(links.server.post('/add', {'url': 'https://example.com/a'}, other).status,
                         303)
        self.assertEqual(links.add('https://example.com/a'), link)  # this machine itself
        body = {'url': 'https://example.com/a'}
        self.assertEqual(self.post_json(links, body, one).status, 200)  # a bot has its token

    def test_other_machines_need_the_token(self):
        links = self.links(arguments=('--listen', '0.0.0.0:0'))
        server, url = links.server, {'url': 'https://example.com/a'}
        page = server.get('/add')
        self.assertIn('name="token"', page.text)
        for form in (url, {**url, 'token': 'wrong'}, {**url, 'token': ''}):
            answer = server.post('/add', form)
            self.assertEqual(answer.status, 403)
            self.assertIn('token', answer.text)
            self.assertNotIn('Set-Cookie', answer.headers)
        self.assertEqual(self.count(links), 0)
        answer = server.post('/add', {**url, 'token': TOKEN})
        self.assertEqual(answer.status, 303)
        cookie = re.match(r'tain_links=[0-9a-f]{64}(?=; .*HttpOnly; SameSite=Lax)',
                          answer.headers['Set-Cookie']).group()
        self.assertNotIn(TOKEN, cookie)
        self.assertNotIn('name="token"', server.get('/add', {'Cookie': cookie}).text)
        self.assertEqual(server.post('/add', url, {'Cookie': cookie}).status, 303)
        self.assertEqual(server.post('/api/link/1/retry').status, 403)
        self.assertEqual(server.post('/api/link/1/retry', {}, {'Cookie': cookie}).status, 200)
        self.assertEqual(server.post('/api/link/1/retry', {}, BEARER).status, 200)
        self.assertEqual(server.post('/add', url, {'Cookie': cookie[:-1] + 'g'}).status, 403)
        self.assertNotIn(TOKEN, server.run.so_far())

    def test_other_machines_without_any_token(self):
        links = self.links(token=None, arguments=('--listen', '0.0.0.0:0'))
        answer = links.server.post('/add', {'url': 'https://example.com/a'})
        self.assertEqual(answer.status, 403)
        self.assertIn('TAIN_LINKS_TOKEN', answer.text)


class OnSqliteFile(Adding, Bots, Asking, Refusing, OnSqlite, LinkApiTest):
    def test_a_database_that_is_busy_with_something_else(self):
        links = self.links()
        links.add('https://example.com/a')
        other = sqlite3.connect(links.archive.path, timeout=ANSWER, isolation_level=None)
        self.addCleanup(other.close)
        other.execute('BEGIN IMMEDIATE')
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            late = pool.submit(self.add_alone, links.server.port)
            while not late.done():  # meanwhile everyone reads
                self.assertEqual(links.processing(1), PENDING)
        status, retry_after, text = late.result()
        self.assertEqual(status, 503, text)
        self.assertIsNotNone(retry_after)
        self.assertEqual(self.count(links), 1)
        other.execute('ROLLBACK')
        self.assertNotEqual(links.add('https://example.com/b'), 1)

    def add_alone(self, port):
        one = http.client.HTTPConnection('127.0.0.1', port, timeout=ANSWER)
        one.request('POST', '/add', 'url=https://example.com/b',
                    {'Content-Type': 'application/x-www-form-urlencoded'})
        answer = one.getresponse()
        text = answer.read()
        one.close()
        return answer.status, answer.headers['Retry-After'], text


class OnPostgresServer(Adding, Bots, Asking, Refusing, OnPostgres, LinkApiTest):
    def test_a_database_that_is_away(self):
        archive = self.archive()
        links = super().links(archive)
        relay = Relay(self.server.port)
        self.addCleanup(relay.close)
        uri = f'postgres://postgres@127.0.0.1:{relay.port}/{archive.name}'
        links.server = server = Server(self, type('Behind', (), {'uri': uri}),
                                       env=links.env(TAIN_LINKS_TOKEN=TOKEN))
        self.assertEqual(links.add('https://example.com/a'), 1)
        relay.target = None
        relay.cut()
        answer = server.post('/add', {'url': 'https://example.com/b'})
        self.assertEqual(answer.status, 503)
        self.assertIsNotNone(answer.headers['Retry-After'])
        self.assertEqual(self.post_json(links, {'url': 'https://example.com/b'}).status, 503)
        self.assertEqual(self.count(links), 1)
        relay.target = self.server.port
        wait_until(lambda: server.post('/add', {'url': 'https://example.com/b'}).status == 303,
                   what='the database')
        self.assertEqual(self.count(links), 2)

    def test_a_database_that_can_only_be_read(self):
        links = self.links()
        name = links.archive.name
        links.archive.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
        answer = links.server.post('/add', {'url': 'https://example.com/a'})
        self.assertEqual(answer.status, 503, answer.text)
        self.assertIn('can only be read', answer.text)
        answer = self.post_json(links, {'url': 'https://example.com/a'})
        self.assertIn('can only be read', answer.json['message'])
        self.assertEqual(self.count(links), 0)

    def test_a_copy_is_never_written(self):
        links = self.links(arguments=())
        copy = Server(self, links.archive, '--read-db', links.archive.uri,
                      env=links.env(TAIN_LINKS_TOKEN=TOKEN))
        links.add('https://example.com/a')
        links.server = copy
        self.assertEqual(links.processing(1), PENDING)
        for answer in (copy.post('/add', {'url': 'https://example.com/b'}), links.retry(1),
                       self.post_json(links, {'url': 'https://example.com/b'})):
            self.assertEqual(answer.status, 403)
            self.assertIn('--read-db', answer.text)
        self.assertEqual(self.count(links), 1)


if __name__ == '__main__':
    unittest.main()
