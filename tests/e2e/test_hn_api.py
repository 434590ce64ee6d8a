"""The HN API of `tain serve`: every endpoint against what the upstream itself answers, what is not
there, event streams with one client and with a thousand, and published clients of the API."""

import http.client
import json
import os
import random
import re
import subprocess
import threading
import time
import unittest

from lib import (ANSWER, BUILD, EXIT_DONE, PATIENCE, ROOT, OnPostgres, OnSqlite, environment,
                 normalised, wait_until)
from npm import npm_folder
from serve import Server, Stream, allow_sockets, wait_all
from updater import UpdaterTest

LISTS = ('top', 'new', 'best', 'ask', 'show', 'job')
PACKAGES = {'node-hn-api': '4.0.1', 'hn-api': '0.1.5', 'hackernews-api': '1.0.0',
            'eventsource': '3.0.2'}
CLIENTS = 1000
MIB = 1024 * 1024


class HnApiTest(UpdaterTest):
    def followed(self, ids=600):
        """An upstream, an archive that is equal to it, and its updater."""
        upstream, archive = self.upstream(ids=ids), self.archive()
        run = self.follow(archive, upstream)
        return upstream, archive, run

    def open_stream(self, server, path):
        stream = Stream(server.port, path)
        self.addCleanup(stream.close)
        return stream


class Endpoints:
    def test_every_endpoint_says_what_the_upstream_says(self):
        upstream, archive, _ = self.followed()
        server = Server(self, archive)
        self.assert_items(upstream, server)
        self.assert_users(upstream, server)
        self.assertEqual(server.ask('/v0/maxitem.json'), upstream.maxitem)
        for name in LISTS:
            path = f'/v0/{name}stories.json'
            wait_until(lambda: server.ask(path) == upstream.ask('GET', path), what=path)
            self.assertEqual(server.ask(path + '?orderBy="$key"&limitToFirst=7'),
                             upstream.ask('GET', path)[:7])
        upstream.mutate(17)
        wait_until(lambda: server.ask('/v0/updates.json')['items'][:1] == [17], what='the update')
        wait_until(lambda: normalised(server.ask('/v0/item/17.json')) ==
                   normalised(upstream.item(17)), what='the changed item')

    def assert_items(self, upstream, server):
        """Item by item; to the byte wherever the upstream writes no odd shape."""
        same = 0
        for item in range(1, upstream.maxitem + 3):
            theirs = upstream.ask('GET', f'/v0/item/{item}.json')
            answer = server.get(f'/v0/item/{item}.json')
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.headers['Content-Type'], 'application/json; charset=utf-8')
            self.assertEqual(answer.headers['Access-Control-Allow-Origin'], '*')
            ours = answer.json
            if theirs is None:
                self.assertIsNone(ours)
                continue
            self.assertEqual(normalised(ours), normalised(theirs))
            self.assertEqual(list(ours), sorted(ours))
            plain = json.dumps(theirs, separators=(',', ':'), ensure_ascii=False)
            same += answer.text == plain
        self.assertGreater(same, upstream.maxitem * 0.6)

    def assert_users(self, upstream, server):
        names = {item['by'] for item in upstream.now(1, upstream.maxitem).values()
                 if item and item['by']}
        some = sorted(names)[:80]
        wait_until(lambda: sum(server.ask(f'/v0/user/{name}.json') is not None
                               for name in some) > 2, what='some profiles', every=0.1)
        for name in some:
            theirs, ours = upstream.ask('GET', f'/v0/user/{name}.json'), server.get(
                f'/v0/user/{name}.json')
            if ours.json is not None:
                self.assertEqual(ours.json, theirs)
            else:  # nobody has named it yet
                self.assertEqual(ours.headers['X-Tain-Known'], 'no')

    def test_many_at_once_get_each_their_own(self):
        """On PostgreSQL those that wait together are read together."""
        upstream, archive = self.upstream(ids=40000), self.archive()
        self.catchup(archive, upstream, '--start-id', 1, '--end-id', 2000)
        server = Server(self, archive)
        known = upstream.now(1, 2000)
        asked = [str(n) for n in (list(range(1, 400)) + [7] * 40 + [5000 + n for n in range(40)])]
        asked += ['abc', '0', '-1', 'x'] * 10
        random.Random(1).shuffle(asked)
        wrong = []

        def ask(part):
            connection = http.client.HTTPConnection('127.0.0.1', server.port, timeout=ANSWER)
            for word in part:
                connection.request('GET', f'/v0/item/{word}.json')
                answer = connection.getresponse()
                text = answer.read().decode()
                item = known.get(int(word)) if word.lstrip('-').isdigit() else None
                good = (answer.status == 400 and 'message' in text
                        if not word.lstrip('-').isdigit()
                        else answer.status == 200 and normalised(json.loads(text)) == item)
                if not good:
                    wrong.append((word, answer.status, text))
            connection.close()
        threads = [threading.Thread(target=ask, args=(asked[n::24],)) for n in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(ANSWER)
        self.assertFalse(wrong, wrong[:3])

    def test_pretty_redirects_and_mistakes(self):
        upstream, archive = self.upstream(ids=40000), self.archive()
        self.catchup(archive, upstream, '--start-id', 100, '--end-id', 3000)
        server = Server(self, archive)
        known = upstream.now(100, 3000)
        poll = next((i for i, item in known.items() if item and item['kids']), None)
        compact, pretty = (server.get(f'/v0/item/{poll}.json{query}')
                           for query in ('', '?print=pretty'))
        self.assertEqual(pretty.json, compact.json)
        lines = pretty.text.split('\n')
        self.assertEqual((lines[0], lines[-2:]), ('{', ['}', '']))
        for line in lines[1:-2]:
            self.assertRegex(line, r'^  "\w+" : ([^\[].*|\[ \d+(, \d+)* \]),?$')
        self.assertEqual(server.get('/v0/item/99999999.json?print=pretty').text, 'null\n')
        self.assertRegex(server.get('/v0/newstories.json?print=pretty').text,
                         r'^\[ \d+(, \d+)* \]\n$')
        self.assert_nulls(server, known)
        for path in ('/v0/item/5', '/v0/user/pg', '/v0/maxitem', '/v0/updates', '/v0/topstories'):
            answer = server.get(path + '?print=pretty')
            self.assertEqual((answer.status, answer.headers['Location']),
                             (301, path + '.json?print=pretty'))
        for path in ('/v0/item/abc.json', '/v0/item/1e3.json', '/v0/item/99999999999999999999.json',
                     '/v0/topstories.json?limitToFirst=0'):
            answer = server.get(path)
            self.assertEqual(answer.status, 400, path)
            self.assertTrue(answer.json['message'])
        for path in ('/v0/', '/v0/item', '/v0/item/', '/v0/nothing.json', '/v0/item/5/title.json'):
            answer = server.get(path)
            self.assertEqual(answer.status, 404, path)
            self.assertTrue(answer.json['message'])

    def assert_nulls(self, server, known):
        """Whether a null is known to be one."""
        missing = next(i for i, item in known.items() if item is None)
        expected = {missing: None, 0: None, -5: None, 50: 'no', 3001: 'no', 99999999: 'no'}
        for item, word in expected.items():
            answer = server.get(f'/v0/item/{item}.json')
            self.assertEqual((answer.status, answer.text), (200, 'null'), item)
            self.assertEqual(answer.headers['X-Tain-Known'], word, item)
        stored = next(i for i, item in known.items() if item)
        self.assertIsNone(server.get(f'/v0/item/{stored}.json').headers['X-Tain-Known'])
        answer = server.get('/v0/user/nobody.json')
        self.assertEqual((answer.text, answer.headers['X-Tain-Known']), ('null', 'no'))
        head = server.get(f'/v0/item/{stored}.json', method='HEAD')
        self.assertEqual((head.status, head.body), (200, b''))
        tag = head.headers['ETag']
        self.assertEqual(server.get(f'/v0/item/{stored}.json', {'If-None-Match': tag}).status, 304)


class Streams:
    def test_streams_say_everything_first_and_then_what_is_new(self):
        upstream, archive, _ = self.followed()
        server = Server(self, archive, '--stream-keep-alive', '1s')
        upstream.mutate(11)
        wait_until(lambda: 11 in server.ask('/v0/updates.json')['items'], what='the change')
        updates = self.open_stream(server, '/v0/updates.json')
        maxitem = self.open_stream(server, '/v0/maxitem')
        (kind, first), = updates.wait(lambda events: events[:1])
        self.assertEqual((kind, first['path']), ('put', '/'))
        updates.wait(lambda events: 11 in self.named(events, 'items'))
        self.assertEqual(set(first['data']), {'items', 'profiles'})
        self.assertEqual(maxitem.wait(lambda events: events[:1]),
                         [('put', {'path': '/', 'data': upstream.maxitem})])
        self.assert_news(upstream, updates, maxitem)
        for stream in (updates, maxitem):
            seen = len(stream.events())
            stream.wait(lambda events: [e for e in events[seen:] if e == ('keep-alive', None)][1:],
                        what='two signs of life')
        server.run.signal(15)
        for stream in (updates, maxitem):
            stream.wait(lambda events: stream.ended, what='the end of the stream')
        self.assertEqual(server.run.wait().code, EXIT_DONE)

    @staticmethod
    def named(events, what):
        return {x for kind, data in events if kind in ('put', 'patch')
                for x in data['data'].get(what, ())}

    def assert_news(self, upstream, updates, maxitem):
        seen = len(updates.events())
        began = time.monotonic()
        upstream.mutate(23)
        updates.wait(lambda events: 23 in self.named(events[seen:], 'items'))
        print(f'\n  {type(self).__name__}: a change upstream reached a client of the second '
              f'stream after {time.monotonic() - began:.2f} s', flush=True)
        # what is new comes once and alone
        self.assertNotIn(11, self.named(updates.events()[seen:], 'items'))
        name = next(item['by'] for item in upstream.now(30, 90).values() if item and item['by'])
        upstream.post('mutate-user', name=name)
        updates.wait(lambda events: name in self.named(events[seen:], 'profiles'))
        upstream.grow_by(5)
        maxitem.wait(lambda events: ('put', {'path': '/', 'data': upstream.maxitem}) in events)
        updates.wait(lambda events: upstream.maxitem in self.named(events[seen:], 'items'))

    def test_too_many_streams_are_turned_away(self):
        upstream, archive = self.upstream(ids=100), self.archive()
        self.catchup(archive, upstream)
        server = Server(self, archive, '--max-connections', '16')
        streams = [self.open_stream(server, '/v0/maxitem.json') for _ in range(12)]
        wait_all(streams, lambda s: s.status, 10, 'an answer for each')
        self.assertEqual(sorted(s.status for s in streams), [200] * 8 + [503] * 4)
        refused = next(s for s in streams if s.status == 503)
        self.assertIn(b'Retry-After: ', refused.raw)
        self.assertEqual(server.ask('/v0/maxitem.json'), 100)
        for stream in streams:  # room again when they have hung up
            stream.close()
        again = []

        def admitted():
            again.append(self.open_stream(server, '/v0/maxitem.json'))
            wait_until(lambda: again[-1].pull() or again[-1].status, what='an answer')
            return again[-1].status == 200
        wait_until(admitted, what='room for a stream', every=0.2)


class Thousand:
    def test_a_thousand_clients_hear_an_event_at_once(self):
        allow_sockets(CLIENTS + 200)
        upstream, archive, _ = self.followed(ids=200)
        server = Server(self, archive)
        server.ask('/v0/item/1.json')
        before = server.memory()
        streams = [self.open_stream(server, '/v0/updates.json') for _ in range(CLIENTS)]
        wait_all(streams, lambda s: b'event: put' in s.raw, 60, 'the first frame for everyone')
        more = server.memory() - before
        print(f'\n  {type(self).__name__}: {CLIENTS} idle event streams cost {more / MIB:.1f} MiB',
              flush=True)
        if PATIENCE == 1:  # a sanitizer has a memory of its own
            self.assertLess(more, 64 * MIB)
        for item in (7, 8, 9):
            began = time.monotonic()
            upstream.mutate(item)
            wait_all(streams, lambda s: re.search(rb'patch\ndata: [^\n]*\b%d\b' % item, s.raw), 30,
                     'the change at everyone')
            print(f'\n  {type(self).__name__}: a change reached {CLIENTS} clients after '
                  f'{time.monotonic() - began:.2f} s', flush=True)
        self.assertEqual(normalised(server.ask('/v0/item/9.json')), normalised(upstream.item(9)))
        server.run.signal(15)
        wait_all(streams, lambda s: s.ended, 10, 'the end of every stream')
        self.assertEqual(server.run.wait().code, EXIT_DONE)

    def test_who_does_not_read_holds_nobody_up(self):
        """Far more news than a connection has room for, and nobody takes it from most of them."""
        upstream, archive = self.upstream(ids=100), self.archive()
        self.catchup(archive, upstream)
        server = Server(self, archive)
        deaf = [self.open_stream(server, '/v0/updates.json') for _ in range(20)]
        listens = self.open_stream(server, '/v0/updates.json')
        listens.wait(lambda events: events)
        before = server.memory()
        for n in range(8):  # some megabytes each
            archive.execute("INSERT INTO change_log (table_id, action, key, at) WITH RECURSIVE "
                            "t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < 8000) "
                            "SELECT 2, 'insert', "
                            f"json_object('id', printf('%0120d-{n}', i)), 0 FROM t")
            last = f'{8000:0120d}-{n}'.encode()
            wait_until(lambda: listens.pull() or last in listens.raw, what=f'the news of round {n}')
            listens.raw = b''  # or the test would be the one that needs memory
        self.assertEqual(server.ask('/v0/maxitem.json'), 100)
        more = server.memory() - before
        print(f'\n  {type(self).__name__}: {len(deaf)} clients that do not read cost '
              f'{more / MIB:.1f} MiB', flush=True)
        if PATIENCE == 1:
            self.assertLess(more, 32 * MIB)

    def test_exactly_128_and_its_neighbours(self):
        """So many events at once are more than some event loops see in one turn."""
        upstream, archive, _ = self.followed(ids=200)
        server = Server(self, archive)
        streams = []
        for n in (127, 128, 129, 255, 256, 257):
            streams += [self.open_stream(server, '/v0/updates.json')
                        for _ in range(n - len(streams))]
            wait_all(streams, lambda s: b'event: put' in s.raw, 20, f'the first frame for {n}')
            upstream.mutate(n % 200 + 1)
            wait_all(streams, lambda s: re.search(rb'patch\ndata: [^\n]*\b%d\b' % (n % 200 + 1),
                                                  s.raw), 20, f'the change at {n}')


class Clients:
    def test_published_clients_work(self):
        folder = npm_folder(BUILD, 'hn-api', PACKAGES)
        upstream, archive, _ = self.followed(ids=400)
        server = Server(self, archive)
        for name in LISTS:
            path = f'/v0/{name}stories.json'
            wait_until(lambda: server.ask(path) == upstream.ask('GET', path), what=path)
        upstream.post('mutate-user', name=self.someone(upstream))
        name = self.someone(upstream)
        wait_until(lambda: server.ask(f'/v0/user/{name}.json'), what='the profile')
        here = ROOT / 'tests' / 'npm'
        env = environment({'TAIN_HN_ORIGIN': server.origin, 'TAIN_NPM_FOLDER': str(folder),
                           'NODE_OPTIONS': f"--require {here / 'to_local.cjs'}",
                           'PATH': os.environ['PATH']})
        done = subprocess.run(['node', str(here / 'clients.cjs'), '5', '99999999', name, 'nobody'],
                              env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=5 * ANSWER, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_clients(json.loads(done.stdout), server, name)

    @staticmethod
    def someone(upstream):
        return next(item['by'] for item in upstream.now(30, 90).values() if item and item['by'])

    def assert_clients(self, got, server, name):
        item, user = server.ask('/v0/item/5.json'), server.ask(f'/v0/user/{name}.json')
        for client in ('node-hn-api', 'hn-api', 'hackernews-api'):
            self.assertEqual((got[client]['item'], got[client]['user']), (item, user), client)
            self.assertEqual((got[client]['noItem'], got[client]['noUser']), (None, None), client)
        lists = {name: server.ask(f'/v0/{name}stories.json') for name in LISTS}
        for name in LISTS:
            self.assertEqual([s['id'] for s in got['node-hn-api']['lists'][name]], lists[name][:5])
        for client in ('hn-api', 'hackernews-api'):
            self.assertEqual(got[client]['top'], lists['top'])
            self.assertEqual(got[client]['maxitem'], server.ask('/v0/maxitem.json'))
        self.assertEqual(got['hackernews-api']['new'], lists['new'])
        self.assertEqual(got['eventsource']['maxitem'],
                         {'path': '/', 'data': server.ask('/v0/maxitem.json')})
        self.assertEqual(got['eventsource']['updates']['path'], '/')


class SqliteEndpoints(Endpoints, OnSqlite, HnApiTest):
    pass


class PostgresEndpoints(Endpoints, OnPostgres, HnApiTest):
    pass


class SqliteStreams(Streams, OnSqlite, HnApiTest):
    pass


class PostgresStreams(Streams, OnPostgres, HnApiTest):
    pass


class ManyStreams(Thousand, OnSqlite, HnApiTest):
    pass


class PublishedClients(Clients, OnSqlite, HnApiTest):
    pass


if __name__ == '__main__':
    unittest.main()
