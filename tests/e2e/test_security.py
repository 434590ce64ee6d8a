"""What docs/security.md promises and no other suite looks at: secrets are in no core, log, command
line or page; requests whose end is open are refused; a page of another site learns nothing of
links; a terminal is sent no commands by what somebody wrote; files are nobody else's."""

import http.server
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import unittest

from lib import (ANSWER, E2E, EXIT_DONE, EXIT_USAGE, ROOT, TAIN, OnPostgres, OnSqlite, Run,
                 environment, free_port, wait_until)
from hostile import write_lines
from events import EventStream
from serve import Server
from services import KEY, SECRET, Services

PASSWORD = 'the-word-of-the-database-4711'
CDC_KEY = 'the-key-of-the-feed-0123456789abcdef'
LINKS_TOKEN = 'the-token-of-links-0123456789abcdef'
OURS = {'TAIN_CDC_KEY': CDC_KEY, 'TAIN_LINKS_TOKEN': LINKS_TOKEN}
NGINX = shutil.which('nginx', path=os.environ.get('PATH', '') + ':/usr/sbin')
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
            self.assertFalse(secret.encode() in core, 'a secret is in the core')
        full = self.core_of(self.serve(TAIN_CORE='full'))
        for secret in SECRETS:
            self.assertIn(secret.encode(), full)
        self.assertLess(len(core), len(full))

    def test_nor_of_a_worker(self):
        core = self.core_of(self.enrich())
        for secret in SECRETS:
            self.assertFalse(secret.encode() in core, 'a secret is in the core')


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


class Echo(http.server.BaseHTTPRequestHandler):
    """A provider in trouble that repeats what it was asked, as redirects and pages of errors do."""
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        said = ' '.join((self.headers['Authorization'], self.headers['X-Key'], self.path))
        how = self.path.partition('code=')[2].partition('&')[0]
        self.server.asked.add(how)
        if how == 'elsewhere':
            self.send_response(301)
            self.send_header('Location', f'https://elsewhere.example{self.path}')
        elif how == 'again':
            self.send_response(302)
            self.send_header('Location', self.path)
        else:
            self.send_response({'error': 500, 'refused': 422}.get(how, 200), said)
        body = {'page': f'<p>{self.headers["Authorization"]}', 'key': self.headers['X-Key'],
                'path': self.path}.get(how, said).encode()
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Echoes(OnSqlite, E2E):
    """What a provider repeats is in no log and no table, wherever the plan has it from."""

    VARIABLES = {'WAY': 'way-0123456789', 'ASKED': 'asked-0123456789', 'BEARER': 'bear-0123456789'}
    WRITTEN = 'written-0123456789'
    # Each has a provider of its own: one that is ill would have the others wait.
    PLAN = '''provider {how} {{
        url = "http://127.0.0.1:{port}/${{WAY}}" token = "${{BEARER}}" rate = none
        headers = {{ "X-Key: {written}" }} }}
    source {how} {{ provider = {how} table = things key = id status = state match = "a[0]"
        filter = "code = '{how}'" max_attempts = 1
        request {{ path = "/?code={{code}}&key=${{ASKED}}" }}
        map title {{ from = "a[0].title" }} }}
    '''
    HOW = ('elsewhere', 'again', 'error', 'refused', 'page', 'key', 'path', 'all')

    def test_logs_and_tables(self):
        provider = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Echo)
        provider.asked = set()
        thread = threading.Thread(target=provider.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(provider.server_close)
        self.addCleanup(provider.shutdown)
        archive, plan = self.archive(), self.folder / 'things.conf'
        plan.write_text(''.join(self.PLAN.format(how=how, port=provider.server_port,
                                                 written=self.WRITTEN) for how in self.HOW))
        self.assertEqual(self.run_tain('migrate', '--db', archive.uri).code, EXIT_DONE)
        archive.execute("CREATE TABLE things (id INTEGER PRIMARY KEY, code TEXT, title TEXT, "
                        "state TEXT NOT NULL DEFAULT 'pending')")
        for how in self.HOW:
            archive.execute(f"INSERT INTO things (code) VALUES ('{how}')")
        run = self.start('enrich', '--db', archive.uri, '--sources', plan, '--log-level', 'debug',
                         env=self.VARIABLES)
        told = 'SELECT error FROM claims WHERE error IS NOT NULL'
        wait_until(lambda: len(archive.rows(told)) == len(self.HOW) or not run.running(),
                   what='the end of every row')
        run.signal(signal.SIGTERM)
        done = run.wait()
        self.assertEqual(provider.asked, set(self.HOW), done)
        tables = str(archive.rows(told) + archive.rows('SELECT * FROM providers'))
        self.assertIn('https://elsewhere.example/${WAY}/?code=elsewhere&key=${ASKED}', tables)
        for secret in (*self.VARIABLES.values(), self.WRITTEN):
            self.assertNotIn(secret[:8], done.out + done.err)
            self.assertNotIn(secret[:8], tables)


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


def answers(port):
    with socket.socket() as s:
        return s.connect_ex(('127.0.0.1', port)) == 0


class Framing(OnSqlite, E2E):
    """A proxy in front and the server must not see two different ends of a request."""

    def setUp(self):
        super().setUp()
        archive = self.archive()
        self.assertEqual(self.run_tain('migrate', '--db', archive.uri).code, EXIT_DONE)
        self.asker = Asker(Server(self, archive).port)

    NEXT = 'GET /robots.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'

    def test_plain_requests_are_answered(self):
        for lines in ('', 'Content-Length: 0\r\n', 'X:\r\n', 'X:y\r\n', 'X: \t y \t \r\n',
                      'X:  \r\nY: z\r\n'):
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
                          'Host: example.com\r\n',
                          'Content-Length : 4\r\n', 'Transfer-Encoding\t: chunked\r\n',
                          'Content-Length:\r\n 4\r\n', 'Content-Length: 4\r\n 0\r\n',
                          'Transfer-Encoding:\r\n\tchunked\r\n',
                          'Content-: 4\r\n Length\r\n', 'Transfer-: chunked\r\n Encoding\r\n',
                          'X: y\r\n z\r\n', 'X:\r\n \r\n z\r\n',
                          'X: y\rContent-Length: 4\r\n', 'X: y\x0b\r\n', 'X: y\x7f\r\n',
                          'Origin: http://localhost\r\nOrigin: http://evil.example\r\n',
                          'Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n'):
                with self.subTest(method=method, lines=lines):
                    said = self.asker.raw(f'{method} /add HTTP/1.1\r\nHost: localhost\r\n{form}'
                                          f'{lines}\r\n' + self.NEXT)
                    found = set(re.findall(r'^HTTP/1\.1 (\d+)', said, re.M))
                    self.assertLessEqual(found, {'400', '413'}, said)
                    self.assertTrue(found)

    def test_a_client_of_old_knows_no_chunks(self):
        said = self.asker.statuses('POST /add HTTP/1.0\r\nHost: localhost\r\n'
                                   'Content-Type: application/x-www-form-urlencoded\r\n'
                                   'Transfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n'
                                   '1f\r\nurl=https%3A%2F%2Fa.example%2Fx\r\n0\r\n\r\n' + self.NEXT)
        self.assertEqual(said, [400])

    def test_no_header_is_made_of_a_parameter(self):
        for path in ('/add?url=x%0d%0aSet-Cookie:%20a=b', '/link/1%0d%0aSet-Cookie:%20a=b',
                     '/discussions?url=http://a%0d%0aSet-Cookie:%20a=b', '/%0d%0aSet-Cookie:a=b'):
            said = self.asker.raw(f'GET {path} HTTP/1.1\r\nHost: localhost\r\n'
                                  'Connection: close\r\n\r\n')
            head = said.partition('\r\n\r\n')[0]
            self.assertNotRegex(head, '(?mi)^set-cookie')
        for path in ('/link/1%0d%0aSet-Cookie:%20a=b', '/%0d%0aSet-Cookie:a=b', '/%7f',
                     '/add?url=x%00', '/add?url=x%1b', '/add?u%0arl=x'):
            self.assertEqual(self.asker.statuses(f'GET {path} HTTP/1.1\r\nHost: localhost\r\n'
                                                 'Connection: close\r\n\r\n'), [400], path)


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
                     'localhost.evil.example', '[::1].evil.example', '2130706433', '',
                     'localhost:80@evil.example', '[::1]:80@evil.example'):
            for path in ('/', '/links', '/v0/maxitem.json', '/api/check?url=a', '/events',
                         '/metrics'):
                answer = Asker(self.server.port).raw(
                    f'GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n')
                self.assertRegex(answer, r'^HTTP/1\.1 (421|400)', (host, path))

    def test_the_request_line_goes_before_the_header(self):
        for host, status in (('localhost', 200), ('127.0.0.1:80', 200), ('evil.example', 421),
                             ('localhost@evil.example', 421), ('', 421)):
            said = Asker(self.server.port).statuses(
                f'GET http://{host}/links HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
            self.assertEqual(said, [status], host)


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


# In a network of its own: asks as two addresses and keeps each connection. How many were answered.
CROWD = '''
import re, socket, subprocess, sys
run = subprocess.Popen([*sys.argv[2:], "--listen", "0.0.0.0:0"], stderr=subprocess.PIPE, text=True)
port = next(int(m[1]) for m in (re.search(r"serving.* port=(\\d+)", l) for l in run.stderr) if m)
kept = []
def answered(host):
    s = socket.create_connection((host, port), source_address=(host, 0))
    kept.append(s)
    try:
        s.sendall(b"GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
        return b" 200 " in s.recv(4096)
    except ConnectionError:
        return False
for host in (sys.argv[1], "127.0.0.1"):
    print(sum(answered(host) for _ in range(260)))
run.kill()
'''


def why_not_alone():
    if not (shutil.which('unshare') and shutil.which('ip')):
        return 'unshare or ip is not installed'
    done = subprocess.run(['unshare', '--net', 'ip', 'link', 'set', 'lo', 'up'],
                          stderr=subprocess.DEVNULL)
    return 'no network of its own can be made here' if done.returncode else None


@unittest.skipIf(why_not_alone(), why_not_alone())
class Crowd(OnSqlite, E2E):
    def test_one_address_has_so_many_connections(self):
        archive = self.archive()
        self.assertEqual(self.run_tain('migrate', '--db', archive.uri).code, EXIT_DONE)
        done = subprocess.run(
            ['unshare', '--net', 'sh', '-c', 'ip link set lo up && ip addr add 10.9.8.7/32 dev lo '
             '&& exec "$@"', 'alone', sys.executable, '-c', CROWD, '10.9.8.7', TAIN, 'serve',
             '--db', archive.uri], stdout=subprocess.PIPE, check=True, text=True, timeout=ANSWER,
            env=environment())
        self.assertEqual(done.stdout.split(), ['256', '260'])


@unittest.skipUnless(NGINX, 'nginx is not installed')
class BehindNginx(OnSqlite, E2E):
    """The example of a site, without TLS and on other ports."""

    MAIN = '''daemon off; master_process off; pid {0}/pid; error_log {0}/error.log; events {{}}
        http {{ access_log {0}/access.log; client_body_temp_path {0}/1; proxy_temp_path {0}/2;
        fastcgi_temp_path {0}/3; uwsgi_temp_path {0}/4; scgi_temp_path {0}/5; {1} }}'''

    def nginx(self, server_port):
        place, port = self.folder / 'nginx', free_port()
        place.mkdir()
        site = (ROOT / 'packaging' / 'nginx' / 'tain.conf').read_text()
        for old, new in ((r'127\.0\.0\.1:8080', f'127.0.0.1:{server_port}'),
                         (r'(?ms)^server \{\n    listen 80;.*?^\}\n', ''),
                         (r'listen 443 ssl http2;', f'listen 127.0.0.1:{port};'),
                         (r'(?m)^ *(listen \[::\]|ssl_).*\n', ''),
                         ('/var/log/nginx', str(place))):
            site, n = re.subn(old, new, site)
            self.assertGreater(n, 0, old)
        (place / 'nginx.conf').write_text(self.MAIN.format(place, site))
        process = subprocess.Popen([NGINX, '-c', place / 'nginx.conf'], stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        wait_until(lambda: process.poll() is not None or answers(port), what='nginx')
        self.assertIsNone(process.poll(), (place / 'error.log').read_text())
        return place, port

    def test_the_key_is_in_no_log(self):
        archive = self.archive()
        self.assertEqual(self.run_tain('migrate', '--db', archive.uri).code, EXIT_DONE)
        server = Server(self, archive, '--public-host', 'hn.example.org', env=OURS)
        place, port = self.nginx(server.port)

        def ask(path, host='hn.example.org'):
            return Asker(port).statuses(f'GET {path} HTTP/1.1\r\nHost: {host}\r\n'
                                        'Connection: close\r\n\r\n')
        self.assertEqual(ask('/robots.txt'), [200])
        asked = f'/cdc?key={CDC_KEY}', f'/events?topics=nonsense&key={CDC_KEY}'
        for path in asked:
            self.assertNotIn(ask(path), ([200], [502]), path)
        server.run.signal(signal.SIGTERM)
        server.run.wait()
        self.assertEqual([ask(path) for path in ('/robots.txt', *asked)], [[502]] * 3)
        log, errors = [(place / name).read_text() for name in ('access.log', 'error.log')]
        self.assertIn('/robots.txt', log)
        self.assertIn('/robots.txt', errors)
        self.assertNotIn(CDC_KEY, log + errors)


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
                            'text': self.EVIL, 'score': 1, 'descendants': 1},
                           {'id': 9, 'type': 'comment', 'by': 'b', 'time': 1700000001, 'parent': 7,
                            'text': 'haystack ' + self.EVIL}])
        with path.open('a', encoding='utf-8') as f:
            f.write(f'{{"id": 8, "{self.EVIL}\n{self.EVIL}\n')
        self.assert_harmless(self.run_tain('import', path, '--db', archive.uri, '--progress',
                                           'none', '--log-level', 'debug'))
        self.assertEqual(archive.rows('SELECT count(*) FROM items'), [(2,)])
        self.run_tain('search', '--index', '--db', archive.uri)
        for word in ('needle', 'haystack'):
            found = self.run_tain('search', word, '--db', archive.uri)
            self.assertIn(word, found.out)
            self.assertIn('needle', found.out)
            self.assert_harmless(found)
        for command in (('dead-letter', 'show', 7), ('status',), ('dead-letter', 'list')):
            done = self.run_tain(*command, '--db', archive.uri)
            self.assertEqual(done.code, EXIT_DONE, done)
            self.assert_harmless(done)

    # What there is of trouble, in the words of an upstream, a provider or another machine.
    KEPT = ("INSERT INTO ingest_dlq_items (source, item_id, state, failure_class, attempts, "
            "last_error, first_at, last_at) "
            "VALUES ('catchup', 7, 'dead_letter', 'http_500', 9, '{evil}', 1, 1)",
            "INSERT INTO ingest_segments (start_id, end_id, purpose, status, scan_cursor_id, "
            "unresolved_count, holder, lease_until, heartbeat_at, started_at, last_error, "
            "failure_class) VALUES (1, 9, 'mirror', 'in_progress', 3, 1, '{evil}', 1, 1, 1, "
            "'{evil}', 'http_500')",
            "UPDATE updater_state SET updater_holder = '{evil}', updater_lease_until = 1 << 50",
            "INSERT INTO providers (name, per_window, paused, paused_why, paused_at) "
            "VALUES ('shop', 10, 'auth', '{evil}', 1)",
            "INSERT INTO providers (name, per_window) VALUES ('{evil}', 10)")

    def test_what_is_kept_of_trouble(self):
        archive = self.archive()
        self.assertEqual(self.run_tain('migrate', '--db', archive.uri).code, EXIT_DONE)
        for statement in self.KEPT:
            archive.execute(statement.format(evil=self.EVIL))
        for command in (('dead-letter', 'list'), ('dead-letter', 'show', 7), ('status',),
                        ('enrich', 'status'), ('doctor', '--upstream', 'http://127.0.0.1:1/')):
            with self.subTest(command=command):
                done = self.run_tain(*command, '--db', archive.uri)
                self.assertIn('title', done.out, 'it is not told of')
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
