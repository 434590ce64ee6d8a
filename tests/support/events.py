"""What the suites of the change feed share: a client of /events, ids of events, and changes made by
hand in an archive of either kind."""

import json
import re
import select
import socket
import threading
import time

from lib import ANSWER, LEAST, Sqlite, wait_until

KEY = 'a key for the tests, of some length'.replace(' ', '-')


def id_of(text):
    """(epoch, pos)"""
    epoch, pos = text.split('-')
    return int(epoch), int(pos)


class Frame:
    def __init__(self, fields):
        self.id, self.event = fields.get('id'), fields.get('event')
        self.data = json.loads(fields['data']) if 'data' in fields else None

    def __repr__(self):
        return f'{self.event} {self.id} {str(self.data):.100}'


class EventStream:
    """One client of /events, read without waiting. Its frames lie in `frames`, those that are no
    events in `frames` too; `last` is what it would send as Last-Event-ID."""

    def __init__(self, port, query='', last=None, headers=(), rcvbuf=None, path='/events',
                 host='127.0.0.1', patience=ANSWER):
        self.port = port
        self.socket = socket.socket()
        if rcvbuf:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        self.socket.settimeout(patience)
        try:
            self.socket.connect((host, port))
        except OSError:
            self.socket.close()
            raise
        lines = [f'GET {path}{query} HTTP/1.1', f'Host: {host}:{port}',
                 'Accept: text/event-stream', *headers]
        if last:
            lines.append(f'Last-Event-ID: {last}')
        self.socket.sendall(('\r\n'.join(lines) + '\r\n\r\n').encode())
        self.socket.setblocking(False)
        self.raw, self.text, self.head = b'', b'', None
        self.ended, self.signs, self.retry = False, 0, None
        self.frames, self.last = [], last

    def close(self):
        self.socket.close()

    def pull(self, most=1 << 20):
        """Takes what is there, but not much more than `most` bytes."""
        taken = 0
        while not self.ended and taken < most:
            try:
                got = self.socket.recv(65536)
            except BlockingIOError:
                break
            except (ConnectionResetError, BrokenPipeError):
                got = b''
            self.ended = not got
            self.raw += got
            taken += len(got)
        if taken:
            self._parse()
        return taken

    def _parse(self):
        if self.head is None:
            head, found, rest = self.raw.partition(b'\r\n\r\n')
            if not found:
                return
            self.head, self.raw = head.decode(), rest
        if self.status != 200:
            return
        at = 0
        while True:  # chunks that are whole
            end = self.raw.find(b'\r\n', at)
            if end < 0:
                break
            size = int(self.raw[at:end], 16)
            if len(self.raw) < end + 2 + size + 2:
                break
            self.text += self.raw[end + 2:end + 2 + size]
            at = end + 2 + size + 2
        self.raw = self.raw[at:]
        *frames, self.text = self.text.split(b'\n\n')
        for frame in frames:
            self._take(frame.decode('utf-8'))

    def _take(self, text):
        fields = {}
        for line in text.split('\n'):
            name, _, value = line.partition(': ')
            fields[name] = value
        self.signs += text.startswith(':')
        self.retry = fields.get('retry', self.retry)
        self.last = fields.get('id', self.last)
        if 'data' in fields:
            self.frames.append(Frame(fields))

    @property
    def status(self):
        found = re.match(r'HTTP/1\.1 (\d+) ', self.head or '')
        return int(found.group(1)) if found else None

    def events(self):
        """What changed: without hello and gap."""
        return [f for f in self.frames if 'type' not in f.data]

    def of(self, event):
        return [f for f in self.frames if f.event == event]

    def wait(self, condition, seconds=LEAST, what='an event'):
        """Until condition() answers something true."""
        def look():
            self.pull()
            return condition()
        try:
            return wait_until(look, seconds, what)
        except AssertionError as late:
            raise AssertionError(f'{late}: {self.frames[-5:]}, ended={self.ended}') from None

    def wait_hello(self):
        return self.wait(lambda: self.of('hello'), what='hello')[0]

    def wait_events(self, n, seconds=LEAST):
        self.wait(lambda: len(self.events()) >= n, seconds, f'{n} events')
        return self.events()


def log_of(archive):
    """[(pos, table, action, key)] of everything that has a position and is kept."""
    return [(p, t, a, json.loads(k) if k else None) for p, t, a, k in archive.rows(
        'SELECT c.pos, t.table_name, c.action, c.key FROM changes c JOIN cdc_tables t '
        'ON t.table_id = c.table_id WHERE c.pos IS NOT NULL ORDER BY c.pos')]


def drop_changes(archive, upto):
    """As pruning does: those with a position up to `upto`, where a statement's end."""
    if isinstance(archive, Sqlite):
        archive.execute(f'DELETE FROM change_log WHERE seq <= {upto}')
    else:
        archive.execute(f'DELETE FROM change_log WHERE pos + n - 1 <= {upto}')


def heard(frames):
    """The same of what a client got."""
    return [(id_of(f.id)[1], f.data['table'], f.data['action'], f.data['key']) for f in frames]


def add_table(archive, number, name, public):
    """A table that is logged, as far as the feed can tell."""
    yes = ('1' if public else '0') if isinstance(archive, Sqlite) else str(public).lower()
    archive.execute("INSERT INTO cdc_tables (table_id, schema_name, table_name, is_public, "
                    f"key_columns) VALUES ({number}, 'shop', '{name}', {yes}, '[\"id\"]')")


def add_changes(archive, number, n, size=10, first=1):
    """n changes of that table in one transaction, in order; `size` bytes of data each."""
    now = int(time.time() * 1000)
    if isinstance(archive, Sqlite):
        archive.execute(
            'INSERT INTO change_log (table_id, action, key, data, at) '
            f'WITH RECURSIVE t(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM t '
            f"WHERE i < {first + n - 1}) SELECT {number}, 'insert', json_object('id', i), "
            f"json_object('id', i, 'pad', printf('%0{size}d', i)), {now} FROM t")
    else:
        archive.execute(
            "WITH b AS (SELECT nextval('change_log_batch_seq') AS batch) "
            'INSERT INTO change_log (batch, at, part, n, bytes, table_id, action, keys, data) '
            f'SELECT (SELECT batch FROM b), {now}, MIN(i) - {first}, COUNT(*), '
            f"SUM(octet_length(data)), {number}, 'insert', "
            'array_agg(key ORDER BY i), array_agg(data ORDER BY i) '
            "FROM (SELECT i, json_build_object('id', i)::text AS key, json_build_object('id', i, "
            f"'pad', lpad(i::text, {size}, '0'))::text AS data "
            f'FROM generate_series({first}, {first + n - 1}) i) t '
            f'GROUP BY (i - {first}) / {max(1, min(1000, 131072 // (size + 32)))}')


class Follower(threading.Thread):
    """A client that goes on and on: whenever its stream ends it comes back with the last id. What
    it got lies in `frames`, without hello."""

    def __init__(self, where, query='', headers=(), last=None, frames=()):
        super().__init__(daemon=True)
        self.where, self.query, self.headers = where, query, headers  # where(): a port, or None
        self.frames, self.last, self.joined, self.failure = list(frames), last, 0, None
        self.over = threading.Event()
        self.start()

    def run(self):
        while not self.over.is_set():
            try:
                self._listen()
            except OSError:
                pass
            except Exception as failure:  # pylint: disable=broad-except
                self.failure = failure
                return
            self.over.wait(0.05)

    def _listen(self):
        port = self.where()
        if not port:
            return
        stream = EventStream(port, self.query, last=self.last, headers=self.headers)
        try:
            while not self.over.is_set() and not stream.ended:
                select.select([stream.socket], [], [], 0.1)
                stream.pull()
                for frame in stream.frames:
                    self.joined += frame.event == 'hello'
                    if frame.event != 'hello':
                        self.frames.append(frame)
                stream.frames = []
                self.last = stream.last
                if stream.status not in (None, 200):
                    return
        finally:
            stream.close()

    def stop(self):
        self.over.set()
        self.join(ANSWER)

    def events(self):
        return [f for f in list(self.frames) if 'type' not in f.data]

    def gaps(self):
        return [f for f in list(self.frames) if f.event == 'gap']
