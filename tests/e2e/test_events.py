"""/events of `tain serve` and `tain up`: the change feed as an event stream. Every change once and
in order, from where a client was, for whoever may hear it; a slow client and a thousand idle
ones."""

import json
import os
import re
import signal
import subprocess
import time
import unittest

from lib import (BUILD, EXIT_DONE, PATIENCE, ROOT, OnPostgres, OnSqlite, environment,
                 wait_until)
from events import (KEY, EventStream, add_changes, add_table, drop_changes, heard, id_of, log_of)
from npm import npm_folder
from relay import Relay
from serve import Server, allow_sockets, wait_all
from updater import QUICK, UpdaterTest

ORDERS, NOTES = 500, 501  # tables of a user: one that is private, one that is public
CLIENTS = 1000
MIB = 1024 * 1024


class EventsTest(UpdaterTest):
    def filled(self, ids=60):
        """An archive with some items, whose coming nobody is told of."""
        upstream, archive = self.upstream(ids=ids), self.archive()
        self.catchup(archive, upstream)
        return archive

    def serve(self, archive, *arguments, key=True):
        return Server(self, archive, *arguments, env={'TAIN_CDC_KEY': KEY} if key else None)

    def listen(self, server, query='', **options):
        stream = EventStream(server.port, query, **options)
        self.addCleanup(stream.close)
        return stream

    def with_key(self, server, query='', **options):
        return self.listen(server, query, headers=[f'Authorization: Bearer {KEY}'], **options)

    def score(self, archive, item, score):
        archive.execute(f'UPDATE items SET score = {score} WHERE id = {item}')

    def ids(self, stream):
        return [id_of(f.id)[1] for f in stream.events()]


class Feed:
    def test_changes_come_once_and_in_order(self):
        archive = self.filled()
        server = self.serve(archive)
        stream = self.listen(server)
        hello = stream.wait_hello()
        self.assertEqual(hello.data['type'], 'hello')
        self.assertEqual(hello.id, hello.data['head'])
        self.assertEqual(id_of(hello.id)[0], hello.data['epoch'])
        self.assertRegex(stream.head, 'Content-Type: text/event-stream')
        self.assertRegex(stream.head, 'Access-Control-Allow-Origin: \\*')
        self.assertTrue(int(stream.retry) > 0)
        for n in range(5):
            self.score(archive, 1 + n % 2, 100 + n)
        archive.execute("UPDATE items SET title = 'two\nlines', score = 7 WHERE id = 3")
        events = stream.wait_events(6)
        self.assertEqual([f.data['data']['score'] for f in events], [100, 101, 102, 103, 104, 7])
        self.assertEqual([f.data['key'] for f in events], [{'id': n} for n in (1, 2, 1, 2, 1, 3)])
        self.assertEqual({f.event for f in events}, {'items'})
        self.assertEqual(events[5].data['data']['title'], 'two\nlines')
        self.assertEqual([f.id for f in events], [f.data['id'] for f in events])
        first = id_of(hello.id)[1]
        self.assertEqual(self.ids(stream), list(range(first + 1, first + 7)))
        self.assertEqual(heard(events), log_of(archive)[-6:])
        server.run.signal(signal.SIGTERM)
        stream.wait(lambda: stream.ended, what='the end of the stream')
        self.assertEqual(server.run.wait(60).code, EXIT_DONE)

    def test_a_client_goes_on_where_it_was(self):
        archive = self.filled()
        server = self.serve(archive)
        stream = self.listen(server)
        start = stream.wait_hello().id
        self.score(archive, 1, 100)
        last = stream.wait_events(1)[0].id
        stream.close()
        for n in range(3):
            self.score(archive, 2, 200 + n)
        for options in ({'last': last}, {'query': f'?since={last}'},
                        {'query': f'?since={start}', 'last': last}):  # the header is the later one
            again = self.listen(server, **options)
            events = again.wait_events(3)
            self.assertEqual([f.data['data']['score'] for f in events], [200, 201, 202], options)
            self.assertEqual(again.frames[0].event, 'hello')
        again = self.listen(server, f'?since={start}')
        self.assertEqual(len(again.wait_events(4)), 4)
        # the id of hello is a place too
        self.assertEqual(again.frames[0].id, start)
        server.run.signal(signal.SIGKILL)
        server.run.wait(60)
        self.score(archive, 4, 300)
        server = self.serve(archive)
        again = self.listen(server, last=last)
        self.assertEqual([f.data['data']['score'] for f in again.wait_events(4)],
                         [200, 201, 202, 300])
        self.assertFalse(again.of('gap'))

    def test_filters(self):
        archive = self.filled()
        add_table(archive, NOTES, 'notes', True)
        server = self.serve(archive)
        streams = {query: self.listen(server, query) for query in (
            '', '?topics=users', '?topics=items,users', '?topics=shop.notes', '?topics=notes',
            '?actions=delete', '?topics=items&actions=delete,insert')}
        for stream in streams.values():
            stream.wait_hello()
        self.score(archive, 1, 1000)
        add_changes(archive, NOTES, 2)
        archive.execute('DELETE FROM items WHERE id = 5')
        archive.execute("INSERT INTO users (id, created, karma, content_hash, first_seen_at, "
                        "last_fetched_at, last_changed_at) VALUES ('someone', 1, 2, 3, 4, 5, 6)")
        streams[''].wait_events(5)
        expected = {
            '': ['items', 'notes', 'notes', 'items', 'users'],
            '?topics=users': ['users'],
            '?topics=items,users': ['items', 'items', 'users'],
            '?topics=shop.notes': ['notes', 'notes'], '?topics=notes': ['notes', 'notes'],
            '?actions=delete': ['items'],
            '?topics=items&actions=delete,insert': ['items']}
        for query, tables in expected.items():
            stream = streams[query]
            self.assertEqual([f.event for f in stream.wait_events(len(tables))], tables, query)
        self.assertEqual(streams['?actions=delete'].events()[0].data['action'], 'delete')
        # and of what was
        old = self.listen(server, '?topics=users', last=streams[''].frames[0].id)
        self.assertEqual([f.event for f in old.wait_events(1)], ['users'])

    def test_what_was_pruned_is_a_gap(self):
        archive = self.filled()
        add_table(archive, NOTES, 'notes', True)
        for first in range(1, 20, 5):
            add_changes(archive, NOTES, 5, first=first)
        server = self.serve(archive)
        stream = self.listen(server)
        epoch, head = id_of(stream.wait(
            lambda: stream.of('hello'), what='hello')[0].id)
        wait_until(lambda: len(log_of(archive)) >= 20, 60, 'positions')
        head = log_of(archive)[-1][0]
        drop_changes(archive, head - 5)
        server.run.signal(signal.SIGTERM)  # what the ring has is not pruned
        server.run.wait(60)
        server = self.serve(archive)
        for since in (f'{epoch}-{head - 12}', f'{epoch}-0', '1-0'):
            old = self.listen(server, f'?since={since}')
            old.wait_events(5)
            kinds = [f.event for f in old.frames]
            self.assertEqual(kinds, ['hello', 'gap'] + ['notes'] * 5, since)
            gap = old.frames[1]
            self.assertEqual((gap.data, gap.id), ({
                'type': 'gap', 'from': since, 'to': f'{epoch}-{head - 5}'}, f'{epoch}-{head - 5}'))
            self.assertEqual(self.ids(old), list(range(head - 4, head + 1)))
        fine = self.listen(server, f'?since={epoch}-{head - 5}')
        fine.wait_events(5)
        self.assertFalse(fine.of('gap'))
        beyond = self.listen(server, f'?since={epoch}-{head + 1000}')
        gap = beyond.wait(lambda: beyond.of('gap'), what='a gap')[0]
        self.assertEqual(gap.data, {'type': 'gap', 'from': f'{epoch}-{head + 1000}',
                                    'to': f'{epoch}-{head}'})
        self.score(archive, 1, 9)
        self.assertEqual(id_of(beyond.wait_events(1)[0].id), (epoch, head + 1))

    def test_who_may_hear_what(self):
        archive = self.filled()
        add_table(archive, ORDERS, 'orders', False)
        add_table(archive, NOTES, 'notes', True)
        server = self.serve(archive, '--access-log', 'all')
        public = self.listen(server)
        refused = server.get('/events?topics=orders')  # as if it were not there
        self.assertEqual(refused.status, 400)
        self.assertEqual(refused.json['message'], 'topics: there is no public "orders"; there are '
                         'items, users, links, link_processing, external_discussions, shop.notes')
        topic = self.listen(server, f'?topics=orders&key={KEY}')
        header, query = self.with_key(server), self.listen(server, f'?key={KEY}')
        for stream in (public, topic, header, query):
            stream.wait_hello()
        add_changes(archive, ORDERS, 3)
        add_changes(archive, NOTES, 1)
        self.score(archive, 1, 5)
        for stream in (header, query):
            self.assertEqual([f.event for f in stream.wait_events(5)], ['orders'] * 3 +
                             ['notes', 'items'])
        self.assertEqual([f.event for f in public.wait_events(2)], ['notes', 'items'])
        old = self.listen(server, last=public.frames[0].id)
        self.assertEqual([f.event for f in old.wait_events(2)], ['notes', 'items'])
        self.assertEqual([f.event for f in topic.wait_events(3)], ['orders'] * 3)
        self.assert_wrong_keys(server)
        self.assertNotIn(KEY, server.run.so_far())
        self.assertNotIn('wrong', server.run.so_far())
        without = self.serve(archive, key=False)
        self.assertEqual(without.get(f'/events?key={KEY}').status, 403)
        self.listen(without).wait_hello()

    def assert_wrong_keys(self, server):
        for key in ('', 'wrong', KEY[:-1], KEY + 'x', 'wrong' * 1500):
            answer = server.get(f'/events?key={key}')
            self.assertEqual(answer.status, 403, key)
            self.assertIn('message', answer.json)
        for header in (f'Bearer {KEY}x', 'Bearer', KEY):
            answer = server.get('/events', {'Authorization': header})
            self.assertEqual(answer.status, 403, header)
        # a right header counts, whatever the address says
        stream = self.with_key(server, '?key=wrong')
        stream.wait_hello()
        # the password that a proxy asked for is no key
        basic = ['Authorization: Basic cHJveHk6cGFzcw==']
        self.listen(server, headers=basic).wait_hello()
        self.listen(server, f'?key={KEY}', headers=basic).wait_hello()
        self.assertEqual(server.get('/events?key=wrong', {'Authorization': 'Basic x'}).status, 403)

    def test_mistakes_are_named(self):
        server = self.serve(self.filled())
        for query, word in (('since=abc', 'since'), ('since=', 'since'), ('since=1', 'since'),
                            ('since=1-2-3', 'since'), ('since=-1-5', 'since'),
                            ('actions=insert,explode', 'explode'), ('topics=', 'topics'),
                            ('topics=items,,users', 'topics'), ('tables=items', 'topics'),
                            ('topics=items,itmes',
                             'no public "itmes"; there are items, users, links, link_processing, '
                             'external_discussions'),
                            ('topics=' + ','.join(f't{n}' for n in range(100)), 'topics')):
            answer = server.get(f'/events?{query}')
            self.assertEqual(answer.status, 400, query)
            self.assertIn(word, answer.json['message'])
            self.assertEqual(answer.headers['Content-Type'], 'application/json; charset=utf-8')
        answer = server.get('/events', {'Last-Event-ID': 'nonsense'})
        self.assertEqual(answer.status, 400)
        self.assertIn('Last-Event-ID', answer.json['message'])
        self.assertEqual(server.get('/events', method='POST').status, 405)
        head = server.get('/events', method='HEAD')
        self.assertEqual((head.status, head.headers['Content-Type']),
                         (200, 'text/event-stream; charset=utf-8'))

    def test_signs_of_life_move_the_place(self):
        archive = self.filled()
        server = self.serve(archive, '--stream-keep-alive', '1s')
        stream = self.listen(server, '?topics=users')
        start = stream.wait_hello().id
        for n in range(3):
            self.score(archive, 1, 100 + n)
        head = wait_until(lambda: [p for p, *_ in log_of(archive)][2:], 60, 'positions')[-1]
        stream.wait(lambda: stream.last != start and id_of(stream.last)[1] == head,
                    what='a sign of life with the place')
        seen = stream.signs
        stream.wait(lambda: stream.signs >= seen + 2, what='two signs of life')
        self.assertFalse(stream.events())

    def test_a_slow_client_loses_nothing(self):
        """Far more than the ring and all buffers hold; it takes a little now and then, and comes
        back when it was closed as silent."""
        archive = self.filled()
        add_table(archive, NOTES, 'notes', True)
        server = self.serve(archive)
        slow, quick = (self.listen(server, rcvbuf=n) for n in (4096, None))
        for stream in (slow, quick):
            stream.wait_hello()
        first = id_of(quick.frames[0].id)[1]
        total, rounds = 0, 10
        for _ in range(rounds):
            add_changes(archive, NOTES, 2500, size=1000, first=total + 1)
            total += 2500
            quick.wait(lambda: quick.pull(1 << 24) or len(quick.frames) > total,
                       120, f'{total} events')
            slow.pull(20000)
        before = server.memory()
        self.assertLess(len(slow.frames), total / 2)
        frames = self.all_of(server, slow, total)
        events = [f for f in frames if f.event == 'notes']
        self.assertEqual([id_of(f.id)[1] for f in events],
                         list(range(first + 1, first + total + 1)))
        self.assertEqual([f.data['data']['id'] for f in events], list(range(1, total + 1)))
        self.assertFalse([f for f in frames if f.event == 'gap'])
        if PATIENCE == 1:
            self.assertLess(server.memory() - before, 64 * MIB)

    def all_of(self, server, stream, total):
        """What a client gets that comes back whenever it is closed, up to so many changes."""
        streams = [stream]

        def look():
            streams[-1].pull()
            if streams[-1].ended:
                streams.append(self.listen(server, last=streams[-1].last))
            return sum(len(s.frames) for s in streams) >= total + len(streams)
        wait_until(look, 180, f'{total} changes')
        return [f for s in streams for f in s.frames]

    def test_a_large_row(self):
        archive = self.filled()
        add_table(archive, NOTES, 'notes', True)
        server = self.serve(archive)
        stream = self.listen(server)
        stream.wait_hello()
        add_changes(archive, NOTES, 2, size=1 << 20)
        self.score(archive, 1, 3)
        events = stream.wait_events(3)
        self.assertEqual([len(f.data['data']['pad']) for f in events[:2]], [1 << 20] * 2)
        self.assertEqual(events[2].event, 'items')

    def test_the_writer_of_up_is_heard(self):
        upstream, archive = self.upstream(ids=300), self.archive()
        run = self.start('up', '--db', archive.uri, '--upstream', upstream.url, '--listen',
                         '127.0.0.1:0', *QUICK)
        port = int(wait_until(lambda: re.search(r'msg="?serving"? .*port=(\d+)', run.so_far()), 60,
                              'the server').group(1))
        stream = EventStream(port)
        self.addCleanup(stream.close)
        joined = id_of(stream.wait_hello().id)[1]  # what was named before is not for this client
        self.wait_metric(run, 'realtime_listener_connected', 1)
        self.converge(run, archive, upstream)
        upstream.mutate(17)
        stream.wait(lambda: [f for f in stream.events() if f.data['key'] == {'id': 17}],
                    what='the change')
        upstream.grow_by(5)
        stream.wait(lambda: [f for f in stream.events()
                             if f.data['key'] == {'id': upstream.maxitem} and
                             f.data['action'] == 'insert'], what='the new item')
        run.signal(signal.SIGTERM)
        stream.wait(lambda: stream.ended, what='the end')
        self.assertEqual(run.wait(60).code, EXIT_DONE)
        stream.pull()
        log = [change for change in log_of(archive) if change[0] > joined]
        self.assertEqual(heard(stream.events()), log[:len(stream.events())])


class Many:
    def test_a_thousand_idle_clients(self):
        allow_sockets(CLIENTS + 200)
        archive = self.filled()
        server = self.serve(archive, '--max-connections', CLIENTS + 100)
        self.listen(server).wait_hello()
        before = server.memory()
        streams = [self.listen(server) for _ in range(CLIENTS)]
        wait_all(streams, lambda s: s.of('hello'), 120, 'hello for everyone')
        more = server.memory() - before
        print(f'\n  {type(self).__name__}: {CLIENTS} idle clients of /events cost '
              f'{more / MIB:.1f} MiB', flush=True)
        if PATIENCE == 1:  # a sanitizer has a memory of its own
            self.assertLess(more, 64 * MIB)
        for n in range(3):
            began = time.monotonic()
            self.score(archive, 1, 100 + n)
            wait_all(streams, lambda s: len(s.events()) > n, 120, 'the change at everyone')
            print(f'\n  {type(self).__name__}: a change reached {CLIENTS} clients of /events after '
                  f'{time.monotonic() - began:.2f} s', flush=True)
        self.assertEqual({tuple(self.ids(s)) for s in streams}, {tuple(self.ids(streams[0]))})
        page = server.get('/status').text
        self.assertIn('clients of the change feed', page)
        server.run.signal(signal.SIGTERM)
        wait_all(streams, lambda s: s.ended, 60, 'the end of every stream')
        self.assertEqual(server.run.wait(60).code, EXIT_DONE)

    def test_too_many_are_turned_away(self):
        archive = self.filled()
        server = self.serve(archive, '--feed-clients', 3)
        streams = [self.listen(server) for _ in range(5)]
        wait_all(streams, lambda s: s.status, 60, 'an answer for each')
        self.assertEqual(sorted(s.status for s in streams), [200] * 3 + [503] * 2)
        for stream in streams:
            stream.close()

        def admitted():
            streams.append(self.listen(server))
            wait_until(lambda: streams[-1].pull() or streams[-1].status, 60, 'an answer')
            return streams[-1].status == 200
        wait_until(admitted, 60, 'room again', every=0.2)


class Published:
    def test_eventsource_of_npm_comes_back_by_itself(self):
        folder = npm_folder(BUILD, 'events', {'eventsource': '3.0.2'})
        archive = self.filled()
        server = self.serve(archive)
        relay = Relay(server.port)
        self.addCleanup(relay.close)
        client = subprocess.Popen(
            ['node', str(ROOT / 'tests' / 'npm' / 'events.cjs'),
             f'http://127.0.0.1:{relay.port}/events?topics=items', '6'],
            env=environment({'TAIN_NPM_FOLDER': str(folder), 'PATH': os.environ['PATH']}),
            stdout=subprocess.PIPE, text=True, cwd=self.folder)
        self.addCleanup(client.stdout.close)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        self.assertEqual(json.loads(client.stdout.readline())['event'], 'hello')
        got = []

        def take():
            while (line := json.loads(client.stdout.readline()))['event'] == 'hello':
                pass
            got.append(line)
        for n in range(3):
            self.score(archive, 1, 100 + n)
            take()
        server.run.signal(signal.SIGKILL)
        server.run.wait(60)
        self.score(archive, 2, 103)
        self.score(archive, 3, 104)
        relay.target = self.serve(archive).port
        take()
        take()
        self.score(archive, 4, 105)
        take()
        self.assertEqual([x['data']['data']['score'] for x in got], list(range(100, 106)))
        self.assertEqual([x['id'] for x in got], [x['data']['id'] for x in got])
        self.assertEqual(client.wait(60), 0)


class SqliteFeed(Feed, OnSqlite, EventsTest):
    pass


class PostgresFeed(Feed, OnPostgres, EventsTest):
    pass


class ManyClients(Many, OnSqlite, EventsTest):
    pass


class PublishedClient(Published, OnSqlite, EventsTest):
    pass


if __name__ == '__main__':
    unittest.main()
