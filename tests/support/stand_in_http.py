"""HTTP/1.1 as a stand-in speaks it (stand_in.py): requests as they come, and answers of every kind,
also such as no server should give."""

import asyncio
import http
import json
import time
import urllib.parse

HEAD_MAX = 64 * 1024
BODY_MAX = 32 * 1024 * 1024
STEERING = ('/calls', '/become', '/usual')


def reason_of(status):
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return 'Overloaded' if status == 529 else 'Unknown'


class Call:
    """One request. `at` is time.monotonic(); `body` is its JSON or None; `status` is None until it
    is answered."""

    def __init__(self, method, target, headers, data):
        self.at, self.method, self.target = time.monotonic(), method, target
        self.headers, self.data = headers, data
        self.path, _, query = target.partition('?')
        self.query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        self.host = headers.get('host', '').rpartition(':')[0] or headers.get('host', '')
        self.route = self.found = self.mode = self.status = None
        try:
            self.body = json.loads(data) if data else None
        except ValueError:
            self.body = None

    def __repr__(self):
        return f'{self.method} {self.target} ({self.route}, {self.mode}: {self.status})'


class Answer:
    """A status and a body: bytes, something to be written as JSON, or pieces (an iterator of bytes)
    that are sent `every` so many seconds without a length. After `keep` bytes of it the connection
    is closed; `after` so many seconds it begins."""

    def __init__(self, status, body=b'', headers=(), kind='application/json; charset=UTF-8',
                 pieces=None):
        self.status, self.headers, self.kind, self.pieces = status, list(headers), kind, pieces
        self.body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.after, self.every, self.keep = 0.0, 0.0, None

    def head(self):
        rows = [f'HTTP/1.1 {self.status} {reason_of(self.status)}']
        if self.kind:
            rows.append(f'Content-Type: {self.kind}')
        rows.append('Connection: close' if self.pieces else f'Content-Length: {len(self.body)}')
        rows += [f'{name}: {value}' for name, value in self.headers]
        return '\r\n'.join(rows + ['', '']).encode('latin-1')


HANG, DROP = Answer(0), Answer(0)


class Peer(asyncio.Protocol):
    """One connection: requests one after the other, kept alive."""

    def __init__(self, service):
        self.service, self.buffer, self.transport = service, b'', None
        self.busy = self.told = self.paused = False
        self.pieces, self.every = None, 0.0

    def connection_made(self, transport):
        self.transport = transport
        self.service.connections += 1
        self.service.peers.add(self)

    def connection_lost(self, _):
        self.service.peers.discard(self)
        self.pieces = None
        self.done()

    def pause_writing(self):
        self.paused = True

    def resume_writing(self):
        self.paused = False
        asyncio.get_running_loop().call_soon(self.send_piece)  # not from within the transport

    def begin(self):
        self.busy = True
        self.service.at_once += 1
        self.service.highest = max(self.service.highest, self.service.at_once)

    def done(self):
        if self.busy:
            self.busy = False
            self.service.at_once -= 1

    def data_received(self, data):
        self.buffer += data
        while not self.busy and self.transport and not self.transport.is_closing():
            head, found, rest = self.buffer.partition(b'\r\n\r\n')
            if not found and len(head) <= HEAD_MAX:
                return
            line, headers = self.parse(head)
            length = headers.get('content-length', '0')
            if not found or not length.isdigit() or int(length) > BODY_MAX:
                self.transport.close()
                return
            if len(rest) < int(length):
                self.go_on(headers)
                return
            self.told, self.buffer = False, rest[int(length):]
            method, target = (line + ['', ''])[:2]
            self.handle(Call(method, target, headers, rest[:int(length)]))

    def go_on(self, headers):
        if 'expect' in headers and not self.told:
            self.told = True
            self.transport.write(b'HTTP/1.1 100 Continue\r\n\r\n')

    @staticmethod
    def parse(head):
        line, *rows = head.decode('latin-1').split('\r\n')
        pairs = (row.partition(':') for row in rows)
        return line.split(), {name.strip().lower(): value.strip() for name, _, value in pairs}

    def handle(self, call):
        steered = self.service.steer(call) if call.path in STEERING else None
        if steered:
            self.send(call, steered)
            return
        self.begin()
        answer = self.service.answer(call)
        if answer is DROP:
            self.transport.abort()
        elif answer is HANG:
            return
        elif answer.after:
            asyncio.get_running_loop().call_later(answer.after, self.send_late, call, answer)
        else:
            self.send(call, answer)

    def send_late(self, call, answer):
        """The next request of this connection has waited for it."""
        self.send(call, answer)
        self.data_received(b'')

    def send(self, call, answer):
        if not self.transport or self.transport.is_closing():
            return
        call.status = answer.status
        body = b'' if call.method == 'HEAD' else answer.body
        self.transport.write(answer.head() + body[:answer.keep])
        if answer.pieces:
            self.pieces, self.every = answer.pieces, answer.every
            self.send_piece()
            return
        self.done()
        if answer.keep is not None:
            self.transport.close()

    def send_piece(self):
        """The rest follows when there is room, or when it is time."""
        while self.pieces and not self.paused:
            piece = next(self.pieces, None)
            if piece is None:
                self.pieces = None
                self.transport.close()
                return
            self.transport.write(piece)
            if self.every:
                asyncio.get_running_loop().call_later(self.every, self.send_piece)
                return
