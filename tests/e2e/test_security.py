"""What docs/security.md promises and no other suite looks at: secrets are in no core, log, command
line or page; requests whose end is open are refused; a page of another site learns nothing of
links; a terminal is sent no commands by what somebody wrote; files are nobody else's."""

import os
import pathlib
import re
import resource
import signal
import socket
import stat
import subprocess
import unittest

from lib import (ANSWER, E2E, EXIT_DONE, EXIT_USAGE, OnPostgres, OnSqlite, Run, wait_until)
from hostile import write_lines
from events import EventStream
from serve import Server
from services import KEY, SECRET, Services

PASSWORD = 'the-word-of-the-database-4711'
CDC_KEY = 'the-key-of-the-feed-0123456789abcdef'
LINKS_TOKEN = 'the-token-of-links-0123456789abcdef'
OURS = {'TAIN_CDC_KEY': CDC_KEY, 'TAIN_LINKS_TOKEN': LINKS_TOKEN}
SECRETS = (PASSWORD, CDC_KEY, LINKS_TOKEN, KEY, SECRET)


class Dumped(Run):
    """May leave a core as large as it likes."""

    def popen(self, command, **options):
        return subprocess.Popen(command, preexec_fn=self._without_limit, **options)

    @staticmethod
    def _without_limit():
        resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)


def why_no_core():
    pattern = pathlib.Path('/proc/sys/kernel/core_pattern').read_text().strip()
    if pattern.startswith(('|', '/')):
        return f'cores go elsewhere here: {pattern}'
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        return 'the hard limit for cores is 0 here'
    return None


class WithSecrets(OnPostgres, E2E):
    """A server and a worker that know every secret there is."""

    def setUp(self):
        super().setUp()
        self.services = Services()
        self.addCleanup(self.services.close)
        archive = self.archive()
        self.uri = archive.uri.replace('postgres@', f'postgres:{PASSWORD}@')
        self.assertIn(PASSWORD, self.uri)
        self.env = dict(self.services.env(), TAIN_DB=self.uri, TAIN_UPSTREAM=self.services.hn.url,
                        **OURS)
        done = self.run_tain('migrate', env=self.env)
        self.assertEqual(done.code, EXIT_DONE, done)
        url = self.services.article()
        self.services.discussed(url)
        archive.execute(f"INSERT INTO links (url, url_key) VALUES ('{url}', '{url}')")
        self.pg = archive

    def begin(self, *arguments, **changes):
        run = Dumped(arguments, env=dict(self.env, **changes), cwd=self.folder)
        self.addCleanup(run.close)
        return run

    def serve(self, **changes):
        run = self.begin('serve', '--listen', '127.0.0.1:0', '--log-level', 'debug',
                         '--access-log', 'all', **changes)
        found = wait_until(lambda: re.search(r'msg="?serving"? .*port=(\d+)', run.so_far()) or
                           not run.running() and 'ended', what='the server')
        self.assertNotEqual(found, 'ended', run.so_far())
        run.port = int(found.group(1))
        return run

    def enrich(self, **changes):
        """When it has asked everyone who wants a key."""
        run = self.begin('enrich', '--metrics-bind', '127.0.0.1:0', '--log-level', 'debug',
                         **changes)
        wait_until(lambda: self.pg.rows('SELECT reddit_status, hn_status, summary_status '
                                        'FROM link_processing') == [('completed',) * 3] or
                   not run.running(), what='the end of every task')
        self.assertTrue(run.running(), run.so_far())
        return run


@unittest.skipIf(why_no_core(), why_no_core())
class Cores(WithSecrets):
    def core_of(self, run):
        run.signal(signal.SIGABRT)
        self.assertEqual(run.wait().code, -signal.SIGABRT)
        found = [p for p in self.folder.iterdir() if p.name.startswith('core')]
        self.assertEqual(len(found), 1, list(self.folder.iterdir()))
        core = found[0].read_bytes()
        found[0].unlink()
        self.assertEqual(core[:4], b'\x7fELF')
        return core

    def test_no_secret_in_the_core_of_a_server(self):
        core = self.core_of(self.serve())
        for secret in SECRETS:
            self.assertNotIn(secret.encode(), core)
        full = self.core_of(self.serve(TAIN_CORE='full'))
        for secret in SECRETS:
            self.assertIn(secret.encode(), full)
        self.assertLess(len(core), len(full))

    def test_nor_of_a_worker(self):
        core = self.core_of(self.enrich())
        for secret in SECRETS:
            self.assertNotIn(secret.encode(), core)


class Nowhere(WithSecrets):
    """Where others may look: command lines, logs at debug, pages, figures, reports."""

    def assert_none(self, text, where):
        for secret in SECRETS:
            self.assertNotIn(secret, text, where)

    def look_at(self, run):
        self.assert_none(pathlib.Path(f'/proc/{run.pid}/cmdline').read_bytes().decode(), 'argv')
        self.assert_none(pathlib.Path(f'/proc/{run.pid}/comm').read_text(), 'its name')

    def test_pages_logs_and_reports(self):
        server, worker = self.serve(), self.enrich()
        for run in (server, worker):
            self.look_at(run)
        asked = Asker(server.port)
        for path in ('/status', '/metrics', '/add', '/links', '/link/1', '/readyz', '/nowhere',
                     '/api/link/1/processing', '/cdc?key=wrong'):
            self.assert_none(asked.raw(f'GET {path} HTTP/1.1\r\nHost: localhost\r\n'
                                       f'Authorization: Bearer {CDC_KEY[:-1]}\r\n'
                                       'Connection: close\r\n\r\n'), path)
        for command in (('status', '--json'), ('status',), ('doctor',),
                        ('doctor', '--json'), ('enrich', 'status'),
                        ('cdc', 'list'), ('search', 'nothing'), ('help',)):
            done = self.run_tain(*command, env=self.env)
            self.assertNotEqual(done.code, EXIT_USAGE, (command, done))
            self.assert_none(done.out + done.err, command)
        for run in (server, worker):
            run.signal(signal.SIGTERM)
            done = run.wait()
            self.assert_none(done.out + done.err, 'log')
            self.assertIn('msg="started"', done.err)


class Asker:
    """Says to a port what a client of the standard library would not say."""

    def __init__(self, port):
        self.port = port

    def raw(self, text):
        """All that comes until the server closes."""
        with socket.create_connection(('127.0.0.1', self.port), timeout=ANSWER) as s:
            s.sendall(text.encode('latin-1'))
            found = b''
            while True:
                piece = s.recv(65536)
                if not piece:
                    return found.decode('utf-8', 'replace')
                found += piece

    def statuses(self, text):
        return [int(n) for n in re.findall(r'^HTTP/1\.1 (\d+)', self.raw(text), re.M)]


class Framing(OnSqlite, E2E):
    """A proxy in front and the server must not see two different ends of a request."""

    def setUp(self):
        super().setUp()
        archive = self.archive()
        self.assertEqual(self.run_tain('migrate', '--db', archive.uri).code, EXIT_DONE)
        self.asker = Asker(Server(self, archive).port)

    NEXT = 'GET /robots.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'

    def test_plain_requests_are_answered(self):
        for lines in ('', 'Content-Length: 0\r\n'):
            with self.subTest(lines=lines):
                self.assertEqual(self.asker.statuses(
                    f'GET /add HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n' + self.NEXT)[0], 200)
        form = 'Content-Type: application/x-www-form-urlencoded\r\n'
        for lines, body in (('Content-Length: 4\r\n', 'url='),
                            ('Transfer-Encoding: chunked\r\n', '4\r\nurl=\r\n0\r\n\r\n')):
            with self.subTest(lines=lines):
                self.assertEqual(len(self.asker.statuses(
                    f'POST /add HTTP/1.1\r\nHost: localhost\r\n{form}{lines}\r\n{body}' +
                    self.NEXT)), 2)

    def test_an_open_end_is_refused_and_nothing_behind_it_is_read(self):
        form = 'Content-Type: application/x-www-form-urlencoded\r\n'
        for method in ('GET', 'POST'):
            for lines in ('Content-Length: 0\r\nContent-Length: 4\r\n',
                          'Content-Length: 4\r\nContent-Length: 4\r\n',
                          'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n',
                          'Transfer-Encoding: chunked\r\nContent-Length: 4\r\n',
                          'Transfer-Encoding: identity\r\n',
                          'Transfer-Encoding: chunked, identity\r\n',
                          'Transfer-Encoding: xchunked\r\n',
                          'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n',
                          'Content-Length: +4\r\n', 'Content-Length: 4, 4\r\n',
                          'Content-Length: -1\r\n', 'Content-Length: 0x4\r\n',
                          'Content-Length: 99999999999999999999999\r\n',
                          'Host: example.com\r\n'):
                with self.subTest(method=method, lines=lines):
                    said = self.asker.raw(f'{method} /add HTTP/1.1\r\nHost: localhost\r\n{form}'
                                          f'{lines}\r\n' + self.NEXT)
                    found = set(re.findall(r'^HTTP/1\.1 (\d+)', said, re.M))
                    self.assertLessEqual(found, {'400', '413'}, said)
                    self.assertTrue(found)

    def test_no_header_is_made_of_a_parameter(self):
        for path in ('/add?url=x%0d%0aSet-Cookie:%20a=b', '/link/1%0d%0aSet-Cookie:%20a=b',
                     '/discussions?url=http://a%0d%0aSet-Cookie:%20a=b', '/%0d%0aSet-Cookie:a=b'):
            said = self.asker.raw(f'GET {path} HTTP/1.1\r\nHost: localhost\r\n'
                                  'Connection: close\r\n\r\n')
            head = said.partition('\r\n\r\n')[0]
            self.assertNotRegex(head, '(?mi)^set-cookie')


class ForeignPages(OnSqlite, E2E):
    """A page of another site, in the browser of somebody who runs a server for himself."""

    def setUp(self):
        super().setUp()
        archive = self.archive_under_test = self.archive()
        self.assertEqual(self.run_tain('migrate', '--db', archive.uri).code, EXIT_DONE)
        self.server = Server(self, archive, env=OURS)

    FOREIGN = ({'Origin': 'https://evil.example'}, {'Sec-Fetch-Site': 'cross-site'},
               {'Origin': 'null'})

    def test_what_was_put_aside_is_not_for_them(self):
        self.assertEqual(self.server.post('/add', {'url': 'https://a.example/'}).status, 303)
        for path in ('/api/check?url=https://a.example/', '/api/link/1/processing', '/link/1',
                     '/links', '/status'):
            for headers in self.FOREIGN:
                answer = self.server.get(path, headers)
                self.assertEqual(answer.status, 200)
                self.assertIsNone(answer.headers['Access-Control-Allow-Origin'], path)
        answer = self.server.get('/api/check?url=https://a.example/', {
            'Origin': 'https://evil.example', 'Access-Control-Request-Method': 'GET'}, 'OPTIONS')
        self.assertIsNone(answer.headers['Access-Control-Allow-Origin'])
        answer = self.server.get('/v0/maxitem.json')
        self.assertEqual(answer.headers['Access-Control-Allow-Origin'], '*')

    def test_nor_as_it_is_put_aside(self):
        evil = [f'{k}: {v}' for h in self.FOREIGN for k, v in h.items()]
        ours = f'Origin: {self.server.origin}'
        foreign = [self.listen(line) for line in evil]
        others = [self.listen(), self.listen(ours),
                  self.listen(evil[0], f'Authorization: Bearer {CDC_KEY}')]
        self.assertEqual(self.server.post('/add', {'url': 'https://a.example/'}).status, 303)
        self.archive_under_test.execute("INSERT INTO users (id, content_hash, first_seen_at, "
                                        "last_fetched_at, last_changed_at) "
                                        "VALUES ('someone', 1, 1, 1, 1)")
        for stream in foreign + others:
            wait_until(lambda: stream.pull() is not None and 'users' in self.heard(stream),
                       what='the news that are for all')
        for stream in foreign:
            self.assertEqual(self.heard(stream), {'users'})
        for stream in others:
            self.assertLessEqual({'links', 'users'}, self.heard(stream))

    def listen(self, *headers):
        stream = EventStream(self.server.port, headers=headers)
        self.addCleanup(stream.close)
        wait_until(lambda: stream.pull() is not None and stream.head, what='an answer')
        return stream

    @staticmethod
    def heard(stream):
        return {f.data['table'] for f in stream.frames if f.data and 'table' in f.data}

    def test_rebinding(self):
        for host in ('evil.example', f'evil.example:{self.server.port}', '127.0.0.1.evil.example',
                     'localhost.evil.example', '[::1].evil.example', '2130706433', ''):
            for path in ('/', '/links', '/v0/maxitem.json', '/api/check?url=a', '/events',
                         '/metrics'):
                answer = Asker(self.server.port).raw(
                    f'GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n')
                self.assertRegex(answer, r'^HTTP/1\.1 (421|400)', (host, path))


class BehindAProxy(OnSqlite, E2E):
    """On loopback, with a name of its own: who comes by the proxy is not of this machine."""

    def test_nobody_writes_without_the_token(self):
        archive = self.archive()
        self.assertEqual(self.run_tain('migrate', '--db', archive.uri).code, EXIT_DONE)
        form = {'url': 'https://a.example/'}
        for env, token in ((None, LINKS_TOKEN), (OURS, 'another-token-of-somebody')):
            server = Server(self, archive, '--public-host', 'hn.example', env=env)
            for host in ('hn.example', f'127.0.0.1:{server.port}'):
                headers = {'Host': host, 'Origin': f'http://{host}'}
                self.assertEqual(server.post('/add', form, headers).status, 403)
                self.assertEqual(server.post('/api/link/1/retry', (), headers).status, 403)
                headers['Authorization'] = f'Bearer {token}'
                self.assertEqual(server.post('/add', form, headers).status, 403)
            self.assertEqual(archive.rows('SELECT count(*) FROM links'), [(0,)])
        headers['Authorization'] = f'Bearer {LINKS_TOKEN}'
        self.assertEqual(server.post('/add', form, headers).status, 303)


class Terminals(OnSqlite, E2E):
    """What somebody wrote must not move the cursor of whoever reads of it."""

    EVIL = 'a\x1b]0;title\x07b\x1b[2Jc\x9b31md\x7fe\u202ef\u2028g\x85h'
    COMMANDS = re.compile('[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]')

    def assert_harmless(self, result):
        for text in (result.out, result.err):
            self.assertNotRegex(text, self.COMMANDS)

    def test_items(self):
        archive = self.archive()
        path = self.folder / 'items.ndjson'
        write_lines(path, [{'id': 7, 'type': 'story', 'by': self.EVIL[:30], 'time': 1700000000,
                            'title': 'needle ' + self.EVIL, 'url': 'http://x/' + self.EVIL,
                            'text': self.EVIL, 'score': 1, 'descendants': 0}])
        with path.open('a', encoding='utf-8') as f:
            f.write(f'{{"id": 8, "{self.EVIL}\n{self.EVIL}\n')
        self.assert_harmless(self.run_tain('import', path, '--db', archive.uri, '--progress',
                                           'none', '--log-level', 'debug'))
        self.assertEqual(archive.rows('SELECT count(*) FROM items'), [(1,)])
        self.run_tain('search', '--index', '--db', archive.uri)
        found = self.run_tain('search', 'needle', '--db', archive.uri)
        self.assertIn('needle', found.out)
        self.assert_harmless(found)
        for command in (('dead-letter', 'show', 7), ('status',), ('dead-letter', 'list')):
            done = self.run_tain(*command, '--db', archive.uri)
            self.assertEqual(done.code, EXIT_DONE, done)
            self.assert_harmless(done)

    def test_names_of_tables(self):
        archive = self.archive()
        self.assertEqual(self.run_tain('migrate', '--db', archive.uri).code, EXIT_DONE)
        evil = self.EVIL.replace('\x00', '')
        archive.execute(f'CREATE TABLE "{evil}" (id INTEGER PRIMARY KEY, "{evil}" TEXT)')
        for command in (('install', '--table', f'"{evil}"'),
                        ('install', '--table', f'"{evil}x"'), ('list',)):
            self.assert_harmless(self.run_tain('cdc', *command, '--db', archive.uri))

    def test_a_log_of_an_upstream_that_lies(self):
        done = self.run_tain('catchup', '--db', self.archive().uri, '--upstream',
                             'http://127.0.0.1:1/' + 'x\x9b31m', '--log-level', 'debug',
                             '--max-outage', '0', '--progress', 'none')
        self.assertNotEqual(done.code, EXIT_DONE)
        self.assert_harmless(done)


class Files(OnSqlite, E2E):
    def test_an_archive_is_not_for_everyone(self):
        archive = self.archive()
        old = os.umask(0o022)
        self.addCleanup(os.umask, old)
        self.catchup(archive, self.demo(maxitem=50), '--end-id', 50)
        server = Server(self, archive)
        found = sorted(self.folder.glob('archive*'))
        self.assertGreater(len(found), 1, found)
        for path in found:
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o640, path)
        del server

    def test_a_dump_follows_no_link(self):
        archive = self.archive()
        self.catchup(archive, self.demo(maxitem=50), '--end-id', 50)
        victim = self.folder / 'victim'
        for end in ('.part', '.sha256.part'):
            victim.write_text('precious')
            dump = self.folder / f'dump{end}.ndjson'
            pathlib.Path(f'{dump}{end}').symlink_to(victim)
            done = self.run_tain('export', dump, '--db', archive.uri, '--progress', 'none')
            self.assertNotEqual(done.code, EXIT_DONE, done)
            self.assertEqual(victim.read_text(), 'precious')


if __name__ == '__main__':
    unittest.main()
