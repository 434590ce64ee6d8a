"""`tain serve` as a process: how it starts and ends, what it takes from whom, what becomes of a
database that goes away, a standby to read from, and clients that are slow, many, or both."""

import gzip
import http.client
import re
import signal
import socket
import threading
import unittest

from lib import (ANSWER, E2E, EXIT_DONE, EXIT_FAILED, EXIT_USAGE, OnPostgres, OnSqlite,
                 PostgresArchive, Sqlite, free_port, shared_postgres, wait_until)
from postgres import Standby
from serve import Server, allow_sockets

IDS = 600


class ServeTest(E2E):
    def filled(self, ids=IDS):
        archive = self.archive()
        self.catchup(archive, self.demo(maxitem=ids))
        return archive

    def assert_message(self, answer, status, pattern):
        self.assertEqual(answer.status, status, answer.text)
        self.assertEqual(answer.headers['Content-Type'], 'application/json; charset=utf-8')
        self.assertEqual(list(answer.json), ['message'])
        self.assertRegex(answer.json['message'], pattern)


class Answers:
    def test_pages_and_apis(self):
        server = Server(self, self.filled())
        page = server.get('/')
        self.assertEqual(page.status, 200)
        self.assertIn("default-src 'none'", page.headers['Content-Security-Policy'])
        self.assertNotIn('unsafe', page.headers['Content-Security-Policy'])
        self.assertEqual(page.headers['X-Content-Type-Options'], 'nosniff')
        self.assertIn('<html', page.text)
        for path in set(re.findall(r'(?:src|href)="(/assets/[^"]+)"', page.text)):
            answer = server.get(path)
            self.assertEqual(answer.status, 200, path)
            self.assertIn('immutable', answer.headers['Cache-Control'], path)
        self.assertEqual(server.ask('/v0/maxitem.json'), IDS)

    def test_the_same_again(self):
        server = Server(self, self.filled())
        plain = server.get('/newest')
        packed = server.get('/newest', {'Accept-Encoding': 'deflate, gzip'})
        self.assertEqual(packed.headers['Content-Encoding'], 'gzip')
        self.assertEqual(gzip.decompress(packed.body), plain.body)
        self.assertLess(len(packed.body), len(plain.body) / 2)
        again = server.get('/newest', {'If-None-Match': plain.headers['ETag']})
        self.assertEqual((again.status, again.body), (304, b''))
        head = server.get('/newest', method='HEAD')
        self.assertEqual((head.status, head.body), (200, b''))
        self.assertEqual(int(head.headers['Content-Length']), len(plain.body))

    def test_what_is_wrong_is_told(self):
        server = Server(self, self.filled(100))
        self.assertEqual(server.get('/nowhere').status, 404)
        self.assert_message(server.get('/v0/nowhere.json'), 404, 'nothing here')
        self.assert_message(server.get('/v0/topstories.json?limitToFirst=x'), 400,
                            "limitToFirst is 'x'; give a whole number from 1 to")
        self.assertEqual(server.get('/item?id=abc').status, 400)
        self.assertEqual(server.get('/item?id=%ff').status, 400)
        self.assertEqual(server.get('/item?' + 'x' * 9000).status, 400)
        self.assertEqual(server.get('/' + 'x' * 2000).status, 400)
        self.assertIn(server.get('/', {'X-Long': 'x' * 20000}).status, (413, 431))
        answer = server.get('/', method='POST')
        self.assertEqual((answer.status, answer.headers['Allow']), (405, 'GET, HEAD'))
        # what is refused before it is understood speaks the language of its path too
        for path in ('/v0/maxitem.json', '/api/v1/search?query=a'):
            self.assert_message(server.get(path, method='POST'), 405, 'written')
            self.assert_message(server.get(path, {'Content-Length': '4'}), 413, 'no body')
        self.assert_message(server.get('/api/v1/search?query=' + 'x' * 9000), 400, 'longer')
        self.assert_message(server.get('/v0/item/%ff.json'), 400, 'UTF-8')
        self.assert_message(server.get('/api/v1/search?query=' + 'x' * 12000), 414, 'too long')

    def test_names_that_it_answers_to(self):
        server = Server(self, self.filled(50), '--public-host', 'hn.example', '--public-host',
                        '192.0.2.7')
        for host in ('localhost', '127.0.0.1:99', '[::1]', 'HN.example:443', '192.0.2.7:80'):
            self.assertEqual(server.get('/v0/maxitem.json', {'Host': host}).status, 200, host)
        for host in ('evil.example', 'localhost.evil.example', '192.0.2.8', 'hn.example.', ''):
            answer = server.get('/v0/maxitem.json', {'Host': host})
            self.assertIn(answer.status, (400, 421), host)
        self.assert_message(server.get('/v0/maxitem.json', {'Host': 'evil.example'}), 421,
                            '--public-host')
        for path, status in (('/healthz', 200), ('/readyz', 200), ('/metrics', 421)):
            wait_until(lambda: server.get(path, {'Host': 'pod.cluster'}).status == status,
                       what=f'{status} of {path}')

    def test_what_was_asked_is_counted(self):
        server = Server(self, self.filled(50))
        for path in ('/', '/v0/maxitem.json', '/v0/maxitem.json', '/nowhere', '/item?id=x'):
            server.get(path)
        figures = server.get('/metrics').text
        for route, code, n in (('pages', '2xx', 1), ('hn_api', '2xx', 2), ('none', '404', 1),
                               ('pages', '400', 1)):
            labels = f'{{route="{route}",code="{code}"}}'
            self.assertIn(f'tain_web_requests_total{labels} {n}\n', figures)
        self.assertIn('tain_web_request_duration_seconds_count 5\n', figures)
        self.assertRegex(figures, r'\ntain_web_connections 1\n')
        wait_until(lambda: server.get('/readyz').text == 'ready\n', what='readiness')
        self.assertTrue(server.get('/readyz?format=json').json['ok'])

    def test_the_access_log(self):
        server = Server(self, self.filled(50), '--access-log', 'all')
        server.get('/item?id=7&secret=hunter2')
        server.get('/nowhere?q=hunter2', method='HEAD')
        pattern = (r'level=info \S+ msg="request" method=(\S+) path=(\S+) status=(\d+) bytes=(\d+) '
                   r'ms=\d+ client=127\.0\.0\.1\n')
        lines = wait_until(lambda: re.findall(pattern, server.run.so_far())[1:] and
                           re.findall(pattern, server.run.so_far()), what='two lines')
        self.assertEqual([line[:3] for line in lines],
                         [('GET', '/item', '200'), ('HEAD', '/nowhere', '404')])
        self.assertGreater(int(lines[0][3]), 100)
        self.assertNotIn('hunter2', server.run.so_far())

    def test_the_access_log_of_errors(self):
        server = Server(self, self.filled(50), '--access-log', 'errors')
        server.get('/newest')
        server.get('/nowhere')
        wait_until(lambda: 'path=/nowhere' in server.run.so_far(), what='the line')
        self.assertNotIn('path=/newest', server.run.so_far())

    def test_the_index_is_filled_beside(self):
        archive = self.filled(300)
        Server(self, archive)
        wait_until(lambda: archive.rows('SELECT count(*) FROM index_work') == [(0,)],
                   what='the index')

    def test_the_index_is_left_alone(self):
        archive = self.filled(300)
        waiting = archive.rows('SELECT count(*) FROM index_work')
        self.assertNotEqual(waiting, [(0,)])
        server = Server(self, archive, '--no-index')
        self.assertEqual(server.get('/').status, 200)
        server.run.signal(signal.SIGTERM)
        self.assertEqual(server.run.wait().code, EXIT_DONE)
        self.assertEqual(archive.rows('SELECT count(*) FROM index_work'), waiting)


class Ends:
    def test_a_clean_end(self):
        archive = self.filled(100)
        for number in (signal.SIGTERM, signal.SIGINT):
            server = Server(self, archive)
            idle = socket.create_connection(('127.0.0.1', server.port))
            self.addCleanup(idle.close)
            self.assertEqual(server.get('/').status, 200)
            server.run.signal(number)
            result = server.run.wait()
            self.assertEqual(result.code, EXIT_DONE, result)
            self.assertIn('msg="stopped"', result.err)
            with self.assertRaises(OSError):
                socket.create_connection(('127.0.0.1', server.port))

    def test_what_is_under_way_is_answered(self):
        """Clients that ask without a pause see whole answers, then no server."""
        server = Server(self, self.filled(200))
        outcomes = []
        threads = [threading.Thread(target=ask_on, args=(server.port, outcomes)) for _ in range(8)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(outcomes) > 100, what='answers')
        server.run.signal(signal.SIGTERM)
        self.assertEqual(server.run.wait().code, EXIT_DONE)
        for thread in threads:
            thread.join()
        self.assertFalse([found for found in outcomes if found != 'whole'])


def ask_on(port, outcomes):
    while True:
        try:
            connection = socket.create_connection(('127.0.0.1', port), timeout=ANSWER)
        except OSError:
            return
        try:
            connection.sendall(b'GET /item?id=1 HTTP/1.1\r\nHost: localhost\r\n'
                               b'Connection: close\r\n\r\n')
            raw = b''
            while got := connection.recv(65536):
                raw += got
        except OSError:
            continue  # it was in the queue of the system when the server went
        finally:
            connection.close()
        if raw:
            head, _, body = raw.partition(b'\r\n\r\n')
            length = re.search(rb'Content-Length: (\d+)', head)
            whole = int(length.group(1)) == len(body) if length else body.endswith(b'0\r\n\r\n')
            good = b' 200 ' in head[:20] or b' 503 ' in head[:20]
            outcomes.append('whole' if whole and good else raw[:200])


class Crowds:
    def test_hundreds_of_connections_at_once(self):
        """More than the HTTP library takes from the system in one turn, several times over."""
        allow_sockets(2000)
        server = Server(self, self.filled(100))
        crowd = [socket.create_connection(('127.0.0.1', server.port), timeout=ANSWER)
                 for _ in range(600)]
        for connection in crowd:
            self.addCleanup(connection.close)
        for path, n in (('/v0/item/1.json', 600), ('/v0/item/2.json', 256), ('/newest', 128),
                        ('/v0/item/1.json', 128)):
            request = f'GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n'.encode()
            for connection in crowd[:n]:
                connection.sendall(request)
            for connection in crowd[:n]:
                self.assertIn(status_of(connection), (200,), path)

    def test_who_never_finishes_asking(self):
        server = Server(self, self.filled(100), '--max-connections', '300')
        for _ in range(200):
            slow = socket.create_connection(('127.0.0.1', server.port))
            self.addCleanup(slow.close)
            slow.sendall(b'GET /v0/item/1.json HTTP/1.1\r\nHost: loc')
        self.assertEqual(server.get('/').status, 200)
        self.assertEqual(server.ask('/v0/maxitem.json'), 100)

    def test_who_asks_and_does_not_read(self):
        """A page of megabytes for many clients with small windows: others are served meanwhile."""
        archive = self.filled(100)
        self.grow_thread(archive, 3000)
        server = Server(self, archive, '--query-threads', '2')
        for _ in range(20):
            slow = socket.socket()
            self.addCleanup(slow.close)
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.connect(('127.0.0.1', server.port))
            slow.sendall(b'GET /item?id=1000000 HTTP/1.1\r\nHost: localhost\r\n\r\n')
        for _ in range(20):
            self.assertEqual(server.get('/newest').status, 200)
        whole = server.get('/item?id=1000000')
        self.assertEqual(whole.text.count('comment number '), 3000)

    def grow_thread(self, archive, n):
        """A story with n comments, all of them long."""
        root, text = 1000000, 'x ' * 300
        columns = ('id, deleted, dead, type, by, time, text, parent, title, score, descendants, '
                   'story_id, content_hash, kids_hash, first_seen_at, last_fetched_at, '
                   'last_changed_at')
        false = 'false' if isinstance(archive, PostgresArchive) else '0'
        series = (f'generate_series(1, {n})' if isinstance(archive, PostgresArchive) else
                  f'(WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < {n}) '
                  'SELECT i FROM s)')
        archive.execute(f"INSERT INTO items ({columns}) VALUES ({root}, {false}, {false}, 'story', "
                        f"'someone', 1700000000, NULL, NULL, 'A long one', 1, {n}, {root}, 1, 1, "
                        f"1, 1, 1)")
        named = 's(i)' if isinstance(archive, PostgresArchive) else 's'
        archive.execute(
            f"INSERT INTO items ({columns}) SELECT {root} + i, {false}, {false}, 'comment', "
            f"'other', 1700000000, 'comment number ' || i || ' {text}', {root}, NULL, NULL, NULL, "
            f"{root}, 1, 1, 1, 1, 1 FROM {series} AS {named}")
        archive.execute(f'INSERT INTO kids (item, kid, display_order) SELECT {root}, {root} + i, i '
                        f'FROM {series} AS {named}')


def status_of(connection):
    """Of one answer with a length, which is read to its end."""
    raw = b''
    while b'\r\n\r\n' not in raw:
        got = connection.recv(65536)
        if not got:
            return None
        raw += got
    head, _, body = raw.partition(b'\r\n\r\n')
    length = re.search(rb'Content-Length: (\d+)', head)
    while len(body) < int(length.group(1)) if length else not body.endswith(b'0\r\n\r\n'):
        body += connection.recv(65536)
    return int(head.split(b' ', 2)[1])


class AnswersOnSqlite(OnSqlite, Answers, Ends, Crowds, ServeTest):
    pass


class AnswersOnPostgres(OnPostgres, Answers, Ends, Crowds, ServeTest):
    def test_a_database_that_goes_away_and_comes_back(self):
        server = Server(self, self.filled(100))
        self.assertEqual(server.get('/v0/item/1.json').status, 200)
        self.server.stop()
        try:
            self.assert_message(server.get('/v0/item/1.json'), 503, 'does not answer')
            answer = server.get('/newest')
            self.assertEqual((answer.status, answer.headers['Retry-After']), (503, '1'))
            for _ in range(20):
                self.assertEqual(server.get('/v0/item/1.json').status, 503)
            self.assertEqual(server.get('/healthz').status, 200)
            wait_until(lambda: server.get('/v0/item/1.json').status == 503 and
                       server.get('/readyz').status == 503, what='the checks to notice')
        finally:
            self.server.start()
        wait_until(lambda: server.get('/v0/item/1.json').status == 200, what='the archive again')
        wait_until(lambda: server.get('/newest').status == 200, what='pages again')
        wait_until(lambda: server.get('/readyz').status == 200, what='readiness')


class FromAStandby(OnPostgres, ServeTest):
    def test_reads_go_to_the_standby(self):
        archive = self.filled(200)
        standby = Standby(self.server)
        self.addCleanup(standby.remove)
        standby.start()
        self.assertEqual(standby.psql('SELECT pg_is_in_recovery()'), 't')
        waiting = archive.rows('SELECT count(*) FROM index_work')
        nowhere = PostgresArchive.__new__(PostgresArchive)
        nowhere.uri = f'postgres://nobody@127.0.0.1:{free_port()}/nothing'
        server = Server(self, nowhere, '--read-db', standby.uri(archive.name))
        for path in ('/', '/newest', '/item?id=1', '/v0/maxitem.json', '/v0/item/1.json',
                     '/v0/topstories.json', '/v0/updates.json'):
            self.assertEqual(server.get(path).status, 200, path)
        archive.execute("UPDATE items SET text = 'changed over there' WHERE id = 1")
        wait_until(lambda: 'changed over there' in server.get('/v0/item/1.json').text,
                   what='the change to arrive')
        wait_until(lambda: server.get('/readyz').status == 200, what='readiness')
        self.assertEqual(archive.rows('SELECT count(*) FROM index_work'), waiting)
        server.run.signal(signal.SIGTERM)
        result = server.run.wait()
        self.assertEqual(result.code, EXIT_DONE, result)
        self.assertNotIn('level=error', result.err)


class Starts(ServeTest):
    def archive(self):
        return Sqlite(self.folder / 'archive.db')

    def complains(self, code, pattern, *arguments, env=None):
        result = self.run_tain('serve', *arguments, env=env)
        self.assertEqual(result.code, code, result)
        self.assertRegex(result.err, pattern)

    def test_no_archive(self):
        self.complains(EXIT_FAILED, r"there is no archive at nothing\.db\n'tain catchup' makes one",
                       '--db', 'sqlite:nothing.db')
        self.assertFalse((self.folder / 'nothing.db').exists())

    def test_no_archive_on_postgres(self):
        archive = PostgresArchive(shared_postgres())
        self.complains(EXIT_FAILED, 'there is no archive in this database', '--db', archive.uri)
        self.complains(EXIT_FAILED, 'there is no archive in this database', '--read-db',
                       archive.uri)
        self.assertFalse(archive.rows("SELECT 1 FROM pg_namespace WHERE nspname = 'tain'"))

    def test_an_address_that_is_taken(self):
        archive = self.filled(20)
        with socket.socket() as taken:
            taken.bind(('127.0.0.1', 0))
            taken.listen()
            address = f'127.0.0.1:{taken.getsockname()[1]}'
            self.complains(EXIT_FAILED, f'cannot listen on {address}: Address already in use',
                           '--db', archive.uri, '--listen', address)

    def test_wrong_options(self):
        archive = self.filled(20)
        self.complains(EXIT_USAGE, 'ADDR:PORT', '--db', archive.uri, '--listen', 'here')
        self.complains(EXIT_USAGE, 'is not allowed', '--db', archive.uri, '--listen',
                       'somewhere.example:80')
        self.complains(EXIT_USAGE, 'password', '--read-db', 'postgres://me:secret@127.0.0.1/x')
        self.complains(EXIT_USAGE, 'access-log', '--db', archive.uri, '--access-log', 'some')

    def test_the_environment_and_the_file(self):
        archive = self.filled(20)
        config = self.folder / 'tain.conf'
        config.write_text(f'db = "{archive.uri}"\n'
                          'public_host = { "one.example", "two.example" }\n')
        port = free_port()
        run = self.start('serve', '--config', config, env={'TAIN_LISTEN': f'127.0.0.1:{port}'})
        wait_until(lambda: 'serving' in run.so_far() or not run.running(), what='the server')
        for host, status in (('one.example', 200), ('two.example', 200), ('three.example', 421)):
            connection = http.client.HTTPConnection('127.0.0.1', port, timeout=ANSWER)
            self.addCleanup(connection.close)
            connection.request('GET', '/robots.txt', headers={'Host': host})
            self.assertEqual(connection.getresponse().status, status, host)

    def test_figures_elsewhere_too(self):
        archive, port = self.filled(20), free_port()
        Server(self, archive, '--metrics-bind', f'127.0.0.1:{port}')
        connection = http.client.HTTPConnection('127.0.0.1', port, timeout=ANSWER)
        self.addCleanup(connection.close)
        connection.request('GET', '/metrics')
        self.assertIn(b'tain_web_connections 0\n', connection.getresponse().read())


if __name__ == '__main__':
    unittest.main()
