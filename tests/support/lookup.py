"""A stand-in for the lookup service of the flowsheet: POST /api/v1/lookup, in the real shapes.

    with Lookup(token='t') as lookup:           # a thread of this process, a free port
        start('enrich', env={'LML_URL': lookup.url, 'LML_TOKEN': 't'})
        lookup.become('down', retry_after=2)    # from now on
        lookup.become('busy', times=3)          # three calls, then as usual
        lookup.when(lambda body: body['song'] == 'x', 'refuse')    # these rows only
        lookup.calls, lookup.highest            # what was asked, and the most at once

As a process, `python3 tests/support/lookup.py [--token T]` prints its address; GET /calls and
POST /become with {"mode": ..., "times": ...} steer it there.

| mode | the answer |
|---|---|
| normal | by the artist: `nobody` in the name means no match, everyone else has one |
| busy | 429, with Retry-After if retry_after is given |
| down | 503, likewise |
| broken | 500 |
| slow | as usual after `seconds` |
| garbage | 200 with a page of HTML |
| odd | 200 with JSON of another shape |
| cut | half of the answer, then the connection is closed |
| degraded, timeout | 200, no results, and the member of that name is true |
| hang | none, ever |
| drop | the connection is closed without one |
| unauthorized, forbidden | 401, 403 |
| refuse | 422 |
| large | as usual with a biography of `size` characters |
"""

import argparse
import asyncio
import collections
import json
import threading
import time
import urllib.parse

PATH = '/api/v1/lookup'
FIELDS = ('artist', 'song', 'album', 'raw_message')
REASONS = {200: 'OK', 400: 'Bad Request', 401: 'Unauthorized', 403: 'Forbidden', 404: 'Not Found',
           405: 'Method Not Allowed', 422: 'Unprocessable Entity', 429: 'Too Many Requests',
           500: 'Internal Server Error', 503: 'Service Unavailable'}
HEAD_MAX = 64 * 1024
BODY_MAX = 4 * 1024 * 1024

Call = collections.namedtuple('Call', 'at mode body headers')  # at: time.monotonic()


def matches(artist):
    return 'nobody' not in artist.lower()


def artwork_of(artist, album=None):
    """What the service knows of an artist; the year is unknown (0) for a third of them."""
    name = urllib.parse.quote(artist, safe='')
    number = sum(artist.encode('utf-8'))
    return {
        'artwork_url': f'https://img.example/{name}.jpg',
        'release_url': f'https://discogs.example/release/{number}',
        'release_year': 0 if number % 3 == 0 else 1950 + number % 70,
        'artist_bio': f'{artist} plays music. Born in “Łódź”; see {album or "no album"}.',
        'wikipedia_url': f'https://wiki.example/{name}',
        'spotify_url': f'https://spotify.example/{name}',
        'apple_music_url': None,
        'youtube_music_url': f'https://youtube.example/{name}',
        'bandcamp_url': '',
        'soundcloud_url': f'https://soundcloud.example/{name}',
        'confidence': 0.87,
    }


def columns_of(artist, album=None):
    """What must stand in the row of a flowsheet after a match."""
    art = artwork_of(artist, album)
    kept = {name: art[name] or None for name in (
        'artwork_url', 'spotify_url', 'apple_music_url', 'youtube_music_url', 'bandcamp_url',
        'soundcloud_url', 'release_year', 'artist_bio')}
    return dict(kept, discogs_url=art['release_url'], artist_wikipedia_url=art['wikipedia_url'])


def answer_to(body):
    found = matches(body['artist'])
    item = {'artist': body['artist'], 'title': body['album'], 'call_letters': 'RO'}
    result = {'library_item': item,
              'artwork': artwork_of(body['artist'], body['album'])}
    return {'results': [result] if found else [], 'search_type': 'direct' if found else 'none',
            'timeout': False, 'degraded': False}


def is_lookup(body):
    return (isinstance(body, dict) and set(body) == set(FIELDS)
            and isinstance(body['artist'], str) and body['artist'])


class Mode:
    """How to answer; with `times`, so often and then no more."""

    def __init__(self, name, times=None, retry_after=None, seconds=1.0, size=20000):
        if not hasattr(Peer, f'be_{name}'):
            raise ValueError(f'no mode {name}')
        self.name, self.left, self.retry_after = name, times, retry_after
        self.seconds, self.size = seconds, size

    def take(self):
        """False when it has been used up."""
        if self.left is None:
            return True
        self.left -= 1
        return self.left >= 0


class Peer(asyncio.Protocol):
    """One connection: requests one after the other, kept alive."""

    def __init__(self, service):
        self.service, self.buffer, self.transport = service, b'', None
        self.busy = False  # a lookup is being answered

    def connection_made(self, transport):
        self.transport = transport
        self.service.peers.add(self)

    def connection_lost(self, _):
        self.service.peers.discard(self)
        self.done()

    def done(self):
        if self.busy:
            self.busy = False
            self.service.at_once -= 1

    def data_received(self, data):
        self.buffer += data
        while not self.busy and self.transport and not self.transport.is_closing():
            head, found, rest = self.buffer.partition(b'\r\n\r\n')
            if not found:
                if len(head) > HEAD_MAX:
                    self.transport.close()
                return
            line, headers = self.parse(head)
            length = int(headers.get('content-length', 0))
            if length > BODY_MAX:
                self.transport.close()
                return
            if len(rest) < length:
                return
            self.buffer = rest[length:]
            self.handle(line, headers, rest[:length])

    @staticmethod
    def parse(head):
        line, *rows = head.decode('latin-1').split('\r\n')
        pairs = (row.partition(':') for row in rows)
        return line.split(), {name.strip().lower(): value.strip() for name, _, value in pairs}

    def handle(self, line, headers, data):
        method, path = (line + ['', ''])[:2]
        if path == PATH and method == 'POST':
            self.look_up(headers, data)
        elif path == '/calls':
            self.send(200, {'calls': len(self.service.calls), 'highest': self.service.highest,
                            'at_once': self.service.at_once,
                            'modes': dict(collections.Counter(
                                call.mode for call in self.service.calls))})
        elif path == '/become' and method == 'POST':
            wanted = json.loads(data)
            self.service.become(wanted.pop('mode'), **wanted)
            self.send(200, {})
        else:
            self.send(405 if path == PATH else 404, {'detail': 'no such thing'})

    def look_up(self, headers, data):
        service = self.service
        self.busy = True
        service.at_once += 1
        service.highest = max(service.highest, service.at_once)
        try:
            body = json.loads(data)
        except ValueError:
            body = None
        mode = service.mode_for(body)
        service.calls.append(Call(time.monotonic(), mode.name, body, headers))
        if service.token and headers.get('authorization') != f'Bearer {service.token}':
            self.be_unauthorized(mode, body)
        elif not is_lookup(body) and mode.name in ('normal', 'slow', 'large'):
            self.send(422, {'detail': [{'loc': ['body'], 'msg': 'not a lookup'}]})
        else:
            getattr(self, f'be_{mode.name}')(mode, body)

    def send(self, status, answer, headers=(), kind='application/json', cut=False):
        self.done()
        if not self.transport or self.transport.is_closing():
            return
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        head = [f'HTTP/1.1 {status} {REASONS[status]}', f'Content-Type: {kind}',
                f'Content-Length: {len(data)}', *(f'{name}: {value}' for name, value in headers)]
        self.transport.write('\r\n'.join(head + ['', '']).encode('latin-1')
                             + (data[:len(data) // 2] if cut else data))
        if cut:
            self.transport.close()

    def later(self, seconds, *arguments):
        """The next request of this connection waits for it."""
        def answer():
            self.send(*arguments)
            self.data_received(b'')
        asyncio.get_running_loop().call_later(seconds, answer)

    def be_normal(self, _, body):
        self.send(200, answer_to(body))

    def be_busy(self, mode, _):
        self.send(429, {'detail': 'too many requests'}, self.wait_of(mode))

    def be_down(self, mode, _):
        self.send(503, {'detail': 'unavailable'}, self.wait_of(mode))

    @staticmethod
    def wait_of(mode):
        return [] if mode.retry_after is None else [('Retry-After', mode.retry_after)]

    def be_broken(self, *_):
        self.send(500, {'detail': 'internal error'})

    def be_slow(self, mode, body):
        self.later(mode.seconds, 200, answer_to(body))

    def be_garbage(self, *_):
        self.send(200, b'<html><body>It works!</body></html>', kind='text/html')

    def be_odd(self, *_):
        self.send(200, {'message': 'moved to another place', 'items': []})

    def be_cut(self, _, body):
        self.send(200, answer_to(body), cut=True)

    def be_degraded(self, *_):
        self.send(200, {'results': [], 'search_type': 'none', 'timeout': False, 'degraded': True})

    def be_timeout(self, *_):
        self.send(200, {'results': [], 'search_type': 'none', 'timeout': True, 'degraded': False})

    def be_hang(self, *_):
        """Until the client has had enough, or release()."""

    def be_drop(self, *_):
        self.transport.close()

    def be_unauthorized(self, *_):
        self.send(401, {'detail': 'invalid token'}, [('WWW-Authenticate', 'Bearer')])

    def be_forbidden(self, *_):
        self.send(403, {'detail': 'not for you'})

    def be_refuse(self, *_):
        self.send(422, {'detail': [{'loc': ['body', 'artist'], 'msg': 'not acceptable'}]})

    def be_large(self, mode, body):
        answer = answer_to(body)
        for result in answer['results']:
            result['artwork']['artist_bio'] = 'ü' * mode.size
        self.send(200, answer)


class Lookup:
    """The service. Attributes may be read from any thread; become(), when(), usual() and release()
    called from any."""

    def __init__(self, token=None, port=0):
        self.token, self.calls, self.at_once, self.highest = token, [], 0, 0
        self.peers, self.chosen, self.mode = set(), [], Mode('normal')
        self.loop, self.started = asyncio.new_event_loop(), threading.Event()
        self.port, self.server = port, None
        self.thread = threading.Thread(target=self._run, name='lookup', daemon=True)
        self.thread.start()
        self.started.wait()
        if not self.server:
            raise OSError('the lookup service cannot listen')
        self.url = f'http://127.0.0.1:{self.port}'

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _run(self):
        asyncio.set_event_loop(self.loop)
        try:
            self.server = self.loop.run_until_complete(self.loop.create_server(
                lambda: Peer(self), '127.0.0.1', self.port, backlog=4096))
            self.port = self.server.sockets[0].getsockname()[1]
        finally:
            self.started.set()
        self.loop.run_forever()
        self.loop.close()

    def close(self):
        def stop():
            self.server.close()
            for peer in list(self.peers):
                peer.transport.abort()
            self.loop.call_soon(self.loop.stop)
        if self.thread.is_alive():
            self.loop.call_soon_threadsafe(stop)
            self.thread.join()

    def become(self, name, **how):
        """All calls from now on, but for the chosen ones of when()."""
        self.mode = Mode(name, **how)

    def when(self, condition, name, **how):
        """Calls whose body (None: no JSON) meets the condition; the latest rule goes first."""
        self.chosen = [(condition, Mode(name, **how)), *self.chosen]

    def usual(self):
        """As in the beginning; what was counted stays."""
        self.chosen, self.mode = [], Mode('normal')

    def release(self):
        """Ends the connections that hang."""
        def drop():
            for peer in list(self.peers):
                if peer.busy:
                    peer.transport.abort()
        self.loop.call_soon_threadsafe(drop)

    def mode_for(self, body):
        for condition, mode in self.chosen:
            if body is not None and condition(body) and mode.take():
                return mode
        mode = self.mode
        return mode if mode.take() else Mode('normal')

    def forget(self):
        self.calls, self.highest = [], self.at_once

    def in_any(self, seconds):
        """The most calls that began within any window of so many seconds."""
        times, most, first = sorted(call.at for call in self.calls), 0, 0
        for last, at in enumerate(times):
            while times[first] <= at - seconds:
                first += 1
            most = max(most, last - first + 1)
        return most

    def artists(self):
        """How often each was asked for."""
        return collections.Counter(call.body['artist'] for call in self.calls
                                   if isinstance(call.body, dict) and 'artist' in call.body)


def main():
    options = argparse.ArgumentParser(description='A stand-in for the lookup service.')
    options.add_argument('--token')
    options.add_argument('--port', type=int, default=0)
    chosen = options.parse_args()
    service = Lookup(chosen.token, chosen.port)
    print(service.url, flush=True)
    service.thread.join()


if __name__ == '__main__':
    main()
