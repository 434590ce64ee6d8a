"""A WebSocket client of the tests' own: what it sends may be wrong on purpose, and what comes is
looked at byte by byte. Reads without waiting; wait() polls up to a deadline."""

import base64
import hashlib
import json
import os
import re
import socket
import struct

from lib import ANSWER, LEAST, wait_until

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
MAGIC = b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11'


def frame(opcode, payload=b'', fin=True, mask=b'\x11\x22\x33\x44', reserved=0):
    """As a client sends it; mask None: as it must not."""
    head = bytes([(0x80 if fin else 0) | reserved << 4 | opcode])
    bit, n = 0x80 if mask else 0, len(payload)
    if n < 126:
        head += bytes([bit | n])
    elif n < 65536:
        head += bytes([bit | 126]) + struct.pack('>H', n)
    else:
        head += bytes([bit | 127]) + struct.pack('>Q', n)
    if not mask:
        return head + payload
    return head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload))


class WebSocket:
    """A connection to /cdc. `status` is that of the answer to the handshake; 101 when it stands."""

    def __init__(self, port, query='', key=None, headers=None, early=b'', version='HTTP/1.1',
                 receive_buffer=None, path='/cdc', host='127.0.0.1', patience=ANSWER):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(patience)
        try:
            self._shake_hands(host, port, query, key, headers, early, version, path)
        except BaseException:
            self.socket.close()
            raise
        self.socket.setblocking(False)

    def _shake_hands(self, host, port, query, key, headers, early, version, path):
        self.socket.connect((host, port))
        nonce = base64.b64encode(os.urandom(16)).decode()
        lines = {'Host': f'{host}:{port}', 'Upgrade': 'websocket', 'Connection': 'Upgrade',
                 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': nonce}
        if key is not None:
            lines['Authorization'] = f'Bearer {key}'
        lines.update(headers or {})
        text = f'GET {path}{query} {version}\r\n' + ''.join(
            f'{name}: {value}\r\n' for name, value in lines.items() if value is not None) + '\r\n'
        self.socket.sendall(text.encode('utf-8') + early)
        self.raw, self.ended, self.frames, self.paused = b'', False, [], False
        self._read_head()
        if self.status == 101:
            wanted = base64.b64encode(hashlib.sha1(nonce.encode() + MAGIC).digest()).decode()
            assert self.headers['sec-websocket-accept'] == wanted
        else:
            self._read_body()

    def _read_head(self):
        while b'\r\n\r\n' not in self.raw:
            got = self.socket.recv(65536)
            if not got:
                raise AssertionError(f'the connection ended: {self.raw!r}')
            self.raw += got
        head, self.raw = self.raw.split(b'\r\n\r\n', 1)
        first, *rest = head.decode('latin-1').split('\r\n')
        self.status = int(re.match(r'HTTP/1\.[01] (\d+)', first).group(1))
        self.headers = {line.split(':', 1)[0].lower(): line.split(':', 1)[1].strip()
                        for line in rest}

    def _read_body(self):
        while len(self.raw) < int(self.headers.get('content-length', 0)):
            self.raw += self.socket.recv(65536)
        self.body = self.raw

    def close(self):
        self.socket.close()

    def send(self, opcode, payload=b'', **how):
        self.socket.sendall(frame(opcode, payload, **how))

    def pull(self):
        while not self.ended and not self.paused:
            try:
                got = self.socket.recv(1 << 20)
            except BlockingIOError:
                break
            except (ConnectionResetError, BrokenPipeError):
                got = b''
            self.ended = not got
            self.raw += got
        self._cut()

    def _cut(self):
        at = 0
        while len(self.raw) - at >= 2:
            first, n = self.raw[at], self.raw[at + 1]
            assert first & 0xf0 == 0x80 and n < 128, self.raw[at:at + 40]
            wide = {126: 2, 127: 8}.get(n, 0)
            if len(self.raw) - at < 2 + wide:
                break
            if wide:
                n = int.from_bytes(self.raw[at + 2:at + 2 + wide], 'big')
            begin = at + 2 + wide
            if len(self.raw) < begin + n:
                break
            self.frames.append((first & 15, self.raw[begin:begin + n]))
            at = begin + n
        self.raw = self.raw[at:]

    @property
    def messages(self):
        """All texts so far, as JSON."""
        return [json.loads(payload) for opcode, payload in self.frames if opcode == TEXT]

    @property
    def events(self):
        return [m for m in self.messages if 'type' not in m]

    @property
    def goodbye(self):
        """(code, reason), or None."""
        for opcode, payload in self.frames:
            if opcode == CLOSE:
                return (int.from_bytes(payload[:2], 'big') if payload else 1005,
                        payload[2:].decode('utf-8'))
        return None

    @property
    def cursor(self):
        """That of the goodbye."""
        return re.search(r'since=(\d+-\d+)$', self.goodbye[1]).group(1)

    def wait(self, condition, what='a frame', seconds=LEAST):
        def look():
            self.pull()
            return condition(self)
        try:
            return wait_until(look, seconds, what)
        except AssertionError as late:
            raise AssertionError(f'{late}: {self.frames[-3:]} ended={self.ended}') from None

    def hello(self):
        return self.wait(lambda w: w.messages and w.messages[0], 'hello')
