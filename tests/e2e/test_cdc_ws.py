"""/cdc, the change feed as a WebSocket: who may listen, what it hears, where it goes on, what
becomes of clients that are slow, silent, rude or gone, and that no key is ever written down."""

import json
import os
import re
import signal
import socket
import subprocess
import unittest

from lib import (ANSWER, BUILD, E2E, EXIT_DONE, EXIT_USAGE, PATIENCE, ROOT, OnPostgres, OnSqlite,
                 environment, wait_until)
from npm import npm_folder
from serve import Server
from websocket import CLOSE, PING, PONG, TEXT, WebSocket, frame

KEY = 'a-Key.of/the+feed=0123456789'
PACKAGES = {'ws': '8.18.0'}
MIB = 1024 * 1024


class CdcTest(E2E):
    def filled(self, ids=50):
        archive = self.archive()
        self.catchup(archive, self.demo(maxitem=ids))
        return archive

    def feed(self, *arguments, archive=None, env=None):
        """A server with a key, over a small archive."""
        self.db = archive or self.filled()
        self.stamp = getattr(self, 'stamp', 2_000_000_000_000)
        return Server(self, self.db, *arguments, env={'TAIN_CDC_KEY': KEY, **(env or {})})

    def connect(self, server, query='', **how):
        how.setdefault('key', KEY)
        client = WebSocket(server.port, query, **how)
        self.addCleanup(client.close)
        return client

    def listen(self, server, query='', **how):
        client = self.connect(server, query, **how)
        self.assertEqual(client.status, 101, client.headers)
        client.hello()
        return client

    def change(self, item, score, text=None):
        """As an updater does: a new value, and the stamp of a change."""
        self.stamp += 1
        more = '' if text is None else f", text = '{text}'"
        self.db.execute(f'UPDATE items SET score = {score}, last_changed_at = {self.stamp}{more} '
                        f'WHERE id = {item}')

    def changes(self, n, first_score=1):
        """n events, in one statement each few of them would come in any order."""
        for k in range(n):
            self.change(1 + k % 40, first_score + k)

    def scores(self, client):
        return [e['data']['score'] for e in client.events]


class Hears:
    def test_hello_and_events(self):
        server = self.feed()
        client = self.listen(server)
        hello = client.messages[0]
        self.assertEqual(list(hello), ['type', 'head', 'oldest', 'epoch'])
        self.assertRegex(hello['head'], r'^%d-\d+$' % hello['epoch'])
        self.change(3, 777)
        self.change(4, 778)
        client.wait(lambda w: len(w.events) == 2, 'two events')
        first, second = client.events
        self.assertEqual((first['table'], first['action'], first['key'], first['data']['score']),
                         ('items', 'update', {'id': 3}, 777))
        self.assertRegex(first['timestamp'], r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$')
        epoch, pos = first['id'].split('-')
        self.assertEqual(second['id'], f'{epoch}-{int(pos) + 1}')
        self.assertEqual(hello['head'], f'{epoch}-{int(pos) - 1}')

    def test_since_goes_on_without_a_hole(self):
        server = self.feed()
        client = self.listen(server)
        self.changes(30)
        client.wait(lambda w: len(w.events) == 30, '30 events')
        ids = [e['id'] for e in client.events]
        again = self.listen(server, f'?since={ids[9]}')
        again.wait(lambda w: len(w.events) == 20, 'the rest')
        self.assertEqual([e['id'] for e in again.events], ids[10:])
        self.assertEqual(again.events, client.events[10:])
        none = self.listen(server, f'?since={ids[-1]}')
        self.change(1, 4000)
        none.wait(lambda w: w.events, 'an event')
        self.assertEqual(self.scores(none), [4000])

    def test_since_across_a_restart(self):
        server = self.feed()
        client = self.listen(server)
        self.changes(5)
        client.wait(lambda w: len(w.events) == 5, '5 events')
        server.run.signal(signal.SIGTERM)
        client.wait(lambda w: w.goodbye, 'a goodbye')
        self.assertEqual(client.goodbye[0], 1001)
        self.assertEqual(client.cursor, client.events[-1]['id'])
        client.wait(lambda w: w.ended, 'the end')
        self.assertEqual(server.run.wait().code, EXIT_DONE)
        self.changes(3, 50)
        server = self.feed(archive=self.db)
        again = self.listen(server, f'?since={client.cursor}')
        again.wait(lambda w: len(w.events) == 3, '3 events')
        self.assertEqual(self.scores(again), [50, 51, 52])

    def test_filters(self):
        server = self.feed()
        everything, users, deletes = (self.listen(server, q) for q in
                                      ('', '?tables=users', '?tables=items&actions=delete,insert'))
        self.change(5, 100)
        self.db.execute('DELETE FROM items WHERE id = 6')
        self.change(7, 101)
        everything.wait(lambda w: len(w.events) == 3, 'three events')
        deletes.wait(lambda w: w.events, 'a delete')
        self.change(8, 102)
        everything.wait(lambda w: len(w.events) == 4, 'one more')
        self.assertEqual([e['action'] for e in everything.events],
                         ['update', 'delete', 'update', 'update'])
        self.assertEqual([e['key'] for e in deletes.events], [{'id': 6}])
        users.pull()
        self.assertEqual(users.events, [])

    def test_a_gap_is_told(self):
        server = self.feed()
        watcher = self.listen(server)
        self.changes(10)
        watcher.wait(lambda w: len(w.events) == 10, '10 events')
        client = self.listen(server, '?since=1-1')
        client.wait(lambda w: len(w.messages) > 1, 'a gap')
        gap = client.messages[1]
        self.assertEqual((list(gap), gap['type'], gap['from']),
                         (['type', 'from', 'to'], 'gap', '1-1'))
        epoch, head = watcher.events[-1]['id'].split('-')
        beyond = self.listen(server, f'?since={epoch}-{int(head) + 1000}')
        beyond.wait(lambda w: len(w.messages) > 1, 'a gap')
        self.assertEqual(beyond.messages[1]['to'], f'{epoch}-{head}')
        self.change(1, 99)
        beyond.wait(lambda w: w.events, 'an event')
        self.assertEqual(self.scores(beyond), [99])

    def test_a_row_of_a_mebibyte(self):
        server = self.feed()
        client = self.listen(server)
        much = ("replace(hex(zeroblob(524288)), '0', '%s')" if isinstance(self, OnSqlite)
                else "repeat('%s', 1048576)")  # too long for a command line
        for score, letter in ((1, 'x'), (2, 'y')):
            self.change(9, score, text="' || " + much % letter + " || '")
        client.wait(lambda w: len(w.events) == 2, 'two long events')
        self.assertEqual([e['data']['text'][:MIB] for e in client.events],
                         ['x' * MIB, 'y' * MIB])


class Keys(OnSqlite, CdcTest):
    def refused(self, server, query='', **how):
        client = self.connect(server, query, **how)
        self.assertEqual((client.status, client.body), (403, b''), (query, how))
        self.assertEqual(client.headers.get('content-length'), '0')

    def test_wrong_missing_and_long_keys(self):
        server = self.feed('--access-log', 'all', '--log-level', 'debug')
        self.refused(server, key=None)
        for wrong in ('', 'x', KEY[:-1], KEY + 'x', KEY.upper(), 'x' * 8000, KEY + '\t' + KEY):
            self.refused(server, key=wrong)
        self.refused(server, key=None, headers={'Authorization': KEY})
        self.refused(server, key=None, headers={'Authorization': f'Basic {KEY}'})
        self.refused(server, '?key=', key=None)
        self.refused(server, '?key=nonsense', key=None)
        self.refused(server, '?key=' + 'x' * 7000, key=None)
        self.refused(server, '?KEY=' + KEY, key=None)
        quoted = KEY.replace('+', '%2B').replace('/', '%2F')
        self.listen(server, f'?key={quoted}', key=None)
        self.listen(server, f'?key={quoted}', key=None, headers={'Authorization': 'Basic eDp5'})
        self.listen(server, headers={'Authorization': f'bearer   {KEY}'})
        self.assertEqual(server.get('/cdc').status, 403)  # before anything else is said
        self.assertEqual(server.get('/cdc?since=junk').status, 403)

    def test_no_key_no_door(self):
        server = Server(self, self.filled())
        client = self.connect(server)
        self.assertEqual(client.status, 404)
        self.assertEqual(server.get('/cdc').status, 404)
        empty = Server(self, self.filled(), env={'TAIN_CDC_KEY': ''})
        self.assertEqual(self.connect(empty, key='').status, 404)

    def test_a_key_from_a_file(self):
        path = self.folder / 'key'
        path.write_text(KEY + '\n', encoding='ascii')
        path.chmod(0o600)
        self.db = self.filled()
        server = Server(self, self.db, '--cdc-key-file', path)
        self.listen(server)
        self.assertNotIn('everyone', server.run.so_far())
        path.chmod(0o644)
        server = Server(self, self.db, '--cdc-key-file', path,
                        env={'TAIN_CDC_KEY': 'another-key-is-here'})
        self.listen(server)  # the flag counts first
        self.assertIn('everyone on this machine can read the key', server.run.so_far())
        server = Server(self, self.db, env={'TAIN_CDC_KEY_FILE': str(path)})
        self.listen(server)

    def test_files_that_hold_no_key(self):
        archive = self.filled()
        path = self.folder / 'key'
        for content, pattern in (('', 'holds no key'), ('\n\n', 'holds no key'),
                                 ('two words', 'blanks'), ('ключ' * 9, 'no ASCII'),
                                 ('x' * 1025, 'longer than 1024'), ('a\0b', 'holds no key')):
            path.write_text(content, encoding='utf-8')
            done = self.run_tain('serve', '--db', archive.uri, '--listen', '127.0.0.1:0',
                                 '--cdc-key-file', path)
            self.assertEqual(done.code, EXIT_USAGE, done)
            self.assertRegex(done.err, pattern)
            self.assertNotIn('words', done.err)
        done = self.run_tain('serve', '--db', archive.uri, '--listen', '127.0.0.1:0',
                             '--cdc-key-file', self.folder / 'nowhere')
        self.assertEqual(done.code, EXIT_USAGE, done)
        self.assertIn('No such file', done.err)

    def test_keys_are_never_written_down(self):
        secrets = [KEY, 'wrong-key-of-someone-0123456789']
        for form in ('text', 'json'):
            server = self.feed('--access-log', 'all', '--log-level', 'debug', '--log-format', form)
            answers = [server.get(f'/cdc?key={KEY}&since=%zz'), server.get(f'/cdc?key={KEY}'),
                       server.get(f'/cdc?key={secrets[1]}'), server.get(f'/nowhere?key={KEY}'),
                       server.get(f'/cdc?key={KEY}%ff'), server.get('/metrics'),
                       server.get('/cdc', {'Authorization': f'Bearer {KEY}'}),
                       server.get(f'/item?id={KEY}&key={KEY}')]
            client = self.listen(server, f'?key={secrets[1]}')  # the header counts
            quoted = KEY.replace('+', '%2B')
            other = self.listen(server, f'?key={quoted}', key=None)
            self.change(2, 5)
            client.wait(lambda w: w.events, 'an event')
            client.send(TEXT, KEY.encode())
            client.send(TEXT, b'\xff' + KEY.encode())  # no UTF-8: it is sent away
            client.wait(lambda w: w.goodbye, 'a goodbye')
            with open(f'/proc/{server.run.pid}/cmdline', 'rb') as f:
                shown = f.read().decode()
            server.run.signal(signal.SIGTERM)
            other.wait(lambda w: w.goodbye, 'a goodbye')
            other.close()
            self.assertEqual(server.run.wait().code, EXIT_DONE)
            log = server.run.so_far()
            self.assertIn('/cdc', log)
            for secret in secrets:
                for text in [log, shown, repr(client.goodbye), *(a.text for a in answers)]:
                    self.assertNotIn(secret, text)
            self.stamp += 1000


class Handshakes(OnSqlite, CdcTest):
    def test_what_is_no_websocket(self):
        server = self.feed()
        bearer = {'Authorization': f'Bearer {KEY}'}
        plain = server.get('/cdc', bearer)
        self.assertEqual((plain.status, plain.headers['Upgrade'],
                          plain.headers['Sec-WebSocket-Version']), (426, 'websocket', '13'))
        self.assertIn('WebSocket', plain.json['message'])
        self.assertEqual(server.get('/cdc', bearer, method='HEAD').status, 400)
        self.assertEqual(server.get('/cdc', bearer, method='POST').status, 405)
        wrong = [({'Sec-WebSocket-Version': '8'}, 426), ({'Sec-WebSocket-Version': None}, 426),
                 ({'Upgrade': 'h2c'}, 426), ({'Upgrade': None}, 426),
                 ({'Connection': 'keep-alive'}, 426),
                 ({'Sec-WebSocket-Key': None}, 400), ({'Sec-WebSocket-Key': ''}, 400),
                 ({'Sec-WebSocket-Key': 'short'}, 400), ({'Sec-WebSocket-Key': '!' * 24}, 400),
                 ({'Sec-WebSocket-Key': 'A' * 24}, 400), ({'Host': 'evil.example'}, 421)]
        for headers, status in wrong:
            client = self.connect(server, headers=headers)
            self.assertEqual(client.status, status, headers)
            self.assertTrue(json.loads(client.body)['message'], headers)
        self.assertEqual(self.connect(server, version='HTTP/1.0').status, 400)
        good = [{'Upgrade': 'WebSocket'}, {'Connection': 'keep-alive, Upgrade'},
                {'Sec-WebSocket-Extensions': 'permessage-deflate'},
                {'Origin': 'https://elsewhere.example'}]
        for headers in good:
            client = self.listen(server, headers=headers)
            self.assertNotIn('sec-websocket-extensions', client.headers)

    def test_questions_that_make_no_sense(self):
        server = self.feed()
        for query, pattern in (('?since=', 'since'), ('?since=12', 'EPOCH-POSITION'),
                               ('?since=x-y', "since is 'x-y'"), ('?tables=a,,b', 'tables'),
                               ('?tables=' + ','.join('t' * 33), 'tables'),
                               ('?topics=items', 'tables'),
                               ('?tables=items,itmes',
                                'no "itmes"; there are items, users, links, link_processing, '
                                'external_discussions'),
                               ('?actions=eat', 'insert, update, delete'), ('?a=%zz', 'escape')):
            client = self.connect(server, query)
            self.assertEqual(client.status, 400, query)
            self.assertRegex(json.loads(client.body)['message'], pattern)
            self.assertNotIn(KEY, client.body.decode())

    def test_bytes_before_the_answer(self):
        server = self.feed()
        early = frame(PING, b'one') + frame(PING, b'two') + frame(PING, b'three')[:4]
        client = self.connect(server, early=early)
        self.assertEqual(client.status, 101)
        client.socket.setblocking(True)
        client.socket.sendall(frame(PING, b'three')[4:])
        client.socket.setblocking(False)
        client.wait(lambda w: [p for o, p in w.frames if o == PONG] == [b'one', b'two', b'three'],
                    'three pongs')

    def test_other_requests_go_on(self):
        """The loop threads serve others while sockets are open, and the server stops with them."""
        server = self.feed('--max-connections', '16')
        clients = [self.listen(server) for _ in range(60)]  # they do not count there
        self.assertEqual(server.get('/v0/maxitem.json').status, 200)
        self.change(1, 2)
        for client in clients:
            client.wait(lambda w: w.events, 'an event')
        server.run.signal(signal.SIGTERM)
        for client in clients:
            client.wait(lambda w: w.goodbye and w.goodbye[0] == 1001, 'a goodbye')
            client.close()
        self.assertEqual(server.run.wait().code, EXIT_DONE)

    def test_no_more_than_may_be(self):
        server = self.feed('--feed-clients', '3')
        clients = [self.listen(server) for _ in range(3)]
        full = self.connect(server)
        self.assertEqual(full.status, 503)
        self.assertIn('as many clients', json.loads(full.body)['message'])
        clients[0].close()

        def one_more():
            client = self.connect(server)
            return client if client.status == 101 else None
        wait_until(one_more, 60, 'a free place').hello()


class Manners(OnSqlite, CdcTest):
    def places_free(self, server, n):
        """So many clients are there, says the server."""
        def look():
            text = server.get('/metrics').text
            return int(re.search(r'^tain_feed_ws_clients (\d+)', text, re.M).group(1)) == n
        wait_until(look, 60, f'{n} clients')

    def closed_as(self, server, reason):
        text = server.get('/metrics').text
        return int(re.search(r'^tain_feed_ws_closed_total\{reason="%s"\} (\d+)' % reason, text,
                             re.M).group(1))

    def test_ping_and_goodbye(self):
        server = self.feed()
        client = self.listen(server)
        client.send(PING, b'x' * 125)
        client.wait(lambda w: (PONG, b'x' * 125) in w.frames, 'a pong')
        client.send(CLOSE, b'\x03\xe8enough')
        client.wait(lambda w: w.ended, 'the end')
        self.assertEqual(client.goodbye, (1000, 'enough'))
        self.places_free(server, 0)
        self.assertEqual(self.closed_as(server, 'client'), 1)

    def test_half_closed_and_cut_off(self):
        server = self.feed()
        half, cut = self.listen(server), self.listen(server)
        half.socket.shutdown(socket.SHUT_WR)
        cut.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\1\0\0\0\0\0\0\0')
        cut.close()
        half.wait(lambda w: w.ended, 'the end')
        self.places_free(server, 0)

    def test_rude_clients(self):
        server = self.feed()
        listener = self.listen(server)
        rude = [(frame(TEXT, b'x', mask=None), 1002), (frame(TEXT, b'\xff'), 1007),
                (frame(TEXT, b'x' * 4097), 1009), (frame(3, b'x'), 1002),
                (frame(TEXT, b'x', reserved=4), 1002), (frame(PING, b'x' * 126), 1002),
                (frame(0, b'x'), 1002), (frame(PING, b'', fin=False), 1002)]
        for sent, code in rude:
            client = self.listen(server)
            client.socket.sendall(sent)
            client.wait(lambda w: w.goodbye, 'a goodbye')
            self.assertEqual(client.goodbye[0], code, sent[:10])
            client.wait(lambda w: w.ended, 'the end')
        noise = [self.connect(server) for _ in range(40)]
        for k, client in enumerate(noise):
            client.socket.setblocking(True)
            try:
                client.socket.sendall(os.urandom(50 + 600 * k))
            except OSError:
                pass  # it was cut off meanwhile
            client.close()
        self.places_free(server, 1)
        self.assertEqual(self.closed_as(server, 'protocol') > len(rude), True)
        self.change(1, 1)
        listener.wait(lambda w: w.events, 'an event all the same')

    def collect(self, server, since, n):
        """n events behind a cursor, however often it is sent away as too slow."""
        events = []
        while len(events) < n:
            client = self.listen(server, f'?since={since}')
            client.wait(lambda w: w.goodbye or len(events) + len(w.events) >= n, 'the rest')
            events += client.events
            since = client.cursor if client.goodbye else None
            client.close()
        return events

    def test_a_slow_client_comes_back(self):
        server = self.feed('--feed-slow', '1s')
        slow = self.listen(server, receive_buffer=4096)
        for n in range(150):
            self.change(1 + n % 40, n, text="' || hex(zeroblob(10000)) || '")
        wait_until(lambda: self.closed_as(server, 'slow') == 1, 60, 'the end of its patience')
        slow.wait(lambda w: w.goodbye, 'a goodbye')
        self.assertEqual(slow.goodbye[0], 1013)
        self.assertRegex(slow.goodbye[1], '^too slow; go on with since=')
        self.assertTrue(0 < len(slow.events) < 150)
        self.assertEqual(slow.cursor, slow.events[-1]['id'])
        rest = self.collect(server, slow.cursor, 150 - len(slow.events))
        self.assertEqual([e['data']['score'] for e in slow.events + rest], list(range(150)))

    def test_clients_that_never_read(self):
        """They cost others nothing, and the server not much memory."""
        server = self.feed('--feed-slow', '1s')
        head = self.listen(server).messages[0]['head']
        before = server.memory()
        deaf = [self.listen(server, receive_buffer=4096) for _ in range(30)]
        for n in range(200):
            self.change(1 + n % 40, n, text="' || hex(zeroblob(10000)) || '")
        events = self.collect(server, head, 200)
        self.assertEqual([e['data']['score'] for e in events], list(range(200)))
        wait_until(lambda: self.closed_as(server, 'slow') >= len(deaf), 60, 'the end of them')
        if PATIENCE == 1:  # a sanitizer has a memory of its own
            self.assertLess(server.memory() - before, 64 * MIB)
        self.assertEqual(server.get('/v0/maxitem.json').status, 200)

    def test_a_client_that_does_not_answer(self):
        server = self.feed('--feed-ping', '1s')
        silent = self.listen(server)
        silent.wait(lambda w: w.goodbye, 'a goodbye')
        self.assertIn((PING, b''), silent.frames)
        self.assertEqual(silent.goodbye[0], 1011)
        self.assertRegex(silent.goodbye[1], r'^no answer to a ping; go on with since=\d+-\d+$')

    def test_the_package_ws(self):
        folder = npm_folder(BUILD, 'ws', PACKAGES)
        server = self.feed()
        head = self.listen(server).messages[0]['head']
        self.changes(20, 100)
        self.change(9, 300, text="' || hex(zeroblob(524288)) || '")
        env = environment({'TAIN_NPM_FOLDER': str(folder), 'PATH': os.environ['PATH']})

        def run(query, key, n):
            done = subprocess.run(
                ['node', str(ROOT / 'tests' / 'npm' / 'ws_client.cjs'),
                 f'ws://127.0.0.1:{server.port}/cdc{query}', key, str(n)], env=env,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=5 * ANSWER)
            self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
            return [json.loads(line) for line in done.stdout.splitlines()]
        lines = run(f'?since={head}', KEY, 21)
        self.assertEqual(lines[0]['text']['type'], 'hello')
        scores = [line['text']['data']['score'] for line in lines[1:22]]
        self.assertEqual(scores, list(range(100, 120)) + [300])
        self.assertEqual(len(lines[21]['text']['data']['text']), MIB)
        self.assertEqual(lines[22:], [{'pong': 'still there?'},
                                      {'closed': 1000, 'reason': 'enough'}])
        self.assertEqual(run('', 'wrong', 1), [{'refused': 403, 'body': ''}])
        self.assertEqual(run('?since=x', KEY, 1)[0]['refused'], 400)


class HearsOnSqlite(OnSqlite, Hears, CdcTest):
    pass


class HearsOnPostgres(OnPostgres, Hears, CdcTest):
    pass


if __name__ == '__main__':
    unittest.main()
