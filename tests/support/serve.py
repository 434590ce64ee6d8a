"""What the suites of `tain serve` share: a server as a process, requests to it, event streams."""

import http.client
import json
import re
import resource
import selectors
import socket
import urllib.parse

from lib import ANSWER, LEAST, wait_until


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self):
        return self.body.decode('utf-8')

    @property
    def json(self):
        return json.loads(self.text)


class Server:
    """`tain serve` on a free port. test.start() gives the process, and ends it."""

    def __init__(self, test, archive, *arguments, env=None):
        self.run = test.start('serve', '--db', archive.uri, '--listen', '127.0.0.1:0',
                              '--search-time', f'{int(ANSWER)}s', *arguments, env=env)
        self.connection = None
        test.addCleanup(self.disconnect)
        self.port = int(wait_until(self._says_port, what='the server').group(1))
        self.origin = f'http://127.0.0.1:{self.port}'
        self.url = self.origin + '/v0'  # of the HN API, as an upstream

    def _says_port(self):
        if not self.run.running():
            raise AssertionError(f'the server ended\n{self.run.so_far()}')
        return re.search(r'"?msg"?[=:]"?serving"?[ ,].*port"?[=:](\d+)', self.run.so_far())

    def disconnect(self):
        if self.connection:
            self.connection.close()
            self.connection = None

    def get(self, path, headers=None, method='GET', body=None):
        """One request after the other over one connection."""
        for attempt in (1, 2):
            if not self.connection:
                self.connection = http.client.HTTPConnection('127.0.0.1', self.port,
                                                             timeout=ANSWER)
            try:
                self.connection.request(method, path, body, headers or {})
                answer = self.connection.getresponse()
                return Answer(answer.status, answer.headers, answer.read())
            except (http.client.HTTPException, OSError):
                self.disconnect()  # it may have been closed as idle
                if attempt == 2:
                    raise
        return None

    def ask(self, path):
        """The JSON behind a path that must be there."""
        answer = self.get(path)
        if answer.status != 200:
            raise AssertionError(f'{path}: {answer.status} {answer.text}')
        return answer.json

    def post(self, path, form=(), headers=None):
        """A form, as a page of the server's own sends it."""
        return self.get(path, {'Content-Type': 'application/x-www-form-urlencoded',
                               'Origin': self.origin, **(headers or {})}, 'POST',
                        urllib.parse.urlencode(dict(form)))

    def memory(self):
        """Resident bytes."""
        with open(f'/proc/{self.run.pid}/status', encoding='ascii') as status:
            return 1024 * int(re.search(r'VmRSS:\s+(\d+) kB', status.read()).group(1))


class Page(Server):
    """What an `up` that runs already serves."""

    def __init__(self, test, run):
        self.run, self.connection = run, None
        test.addCleanup(self.disconnect)
        found = wait_until(self._says_port, what='its address')
        self.port = int(found.group(1))
        self.origin = f'http://127.0.0.1:{self.port}'

    def _says_port(self):
        if not self.run.running():
            raise AssertionError(f'it ended\n{self.run.so_far()}')
        return re.match(r'tain is up at http://127\.0\.0\.1:(\d+)/\n', self.run._read(self.run.out))

    def stories(self):
        """Ids of stories on the page of the newest."""
        answer = self.get('/newest')
        return [int(n) for n in re.findall(r'item\?id=(\d+)', answer.text)]

    def finds(self, words):
        """Ids that a search by date has."""
        query = urllib.parse.quote(words)
        return [int(hit['objectID'])
                for hit in self.ask(f'/api/v1/search_by_date?query={query}')['hits']]


class Stream:
    """One event stream, read without waiting."""

    def __init__(self, port, path):
        self.socket = socket.create_connection(('127.0.0.1', port), timeout=ANSWER)
        self.socket.sendall(f'GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n'
                            'Accept: text/event-stream\r\n\r\n'.encode())
        self.socket.setblocking(False)
        self.raw, self.ended = b'', False

    def close(self):
        self.socket.close()

    def pull(self):
        """Takes what is there."""
        while not self.ended:
            try:
                got = self.socket.recv(65536)
            except BlockingIOError:
                return
            except ConnectionResetError:
                got = b''
            self.ended = not got
            self.raw += got

    @property
    def status(self):
        found = re.match(rb'HTTP/1\.1 (\d+) ', self.raw)
        return int(found.group(1)) if found else None

    def events(self):
        """[(event, data)] of all frames that have come so far."""
        head, _, rest = self.raw.partition(b'\r\n\r\n')
        if b'chunked' in head:
            rest = unchunked(rest)
        frames = [dict(line.split(': ', 1) for line in frame.split('\n') if line)
                  for frame in rest.decode('utf-8').split('\n\n')[:-1]]
        return [(frame['event'], json.loads(frame['data'])) for frame in frames]

    def wait(self, condition, seconds=LEAST, what='an event'):
        """Until condition(events) answers something true."""
        def look():
            self.pull()
            return condition(self.events())
        try:
            return wait_until(look, seconds, what)
        except AssertionError as late:
            raise AssertionError(f'{late}: {self.events()[-5:]}') from None


def unchunked(raw):
    """What has come of a body in chunks; the last one may be a part of it."""
    out, at = b'', 0
    while True:
        end = raw.find(b'\r\n', at)
        if end < 0:
            return out
        size = int(raw[at:end], 16)
        out += raw[end + 2:end + 2 + size]
        at = end + 2 + size + 2


def allow_sockets(n):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < n:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(n, hard), hard))


def wait_all(streams, condition, seconds, what):
    """Until condition(stream) holds for each, reading all of them; how many it did not hold for is
    in the complaint."""
    selector = selectors.DefaultSelector()
    for stream in streams:
        selector.register(stream.socket, selectors.EVENT_READ, stream)
    missing = {id(s): s for s in streams if not condition(s)}

    def look():
        for key, _ in selector.select(0.05):
            stream = key.data
            stream.pull()
            if id(stream) in missing and condition(stream):
                del missing[id(stream)]
            if stream.ended:
                selector.unregister(stream.socket)
        return not missing
    try:
        wait_until(look, seconds, what)
    except AssertionError as late:
        raise AssertionError(f'{late}: {len(missing)} of {len(streams)} are missing') from None
    finally:
        selector.close()
