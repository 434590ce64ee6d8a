"""What the stand-ins for services of the internet share: a free port in a thread of this process, a
log of what was asked, faults on demand, and a command line.

    with Reddit() as reddit:
        reddit.become('down', retry_after=2)                # from now on
        reddit.become('busy', times=3)                      # three calls, then as usual
        reddit.become('hang', lasting=30)                   # for half a minute
        reddit.on('info', 'blocked')                        # this route only
        reddit.when(lambda call: 'x' in call.path, 'cut')   # these calls only
        reddit.usual()                                      # no more of it
        reddit.calls, reddit.counts(), reddit.highest       # what was asked, and the most at once

| mode | the answer |
|---|---|
| normal | as the service would |
| status | the error with `status`, with Retry-After if retry_after is given |
| busy, down, broken | 429, 503, 500 likewise |
| unauthorized, forbidden, gone, refuse | 401, 403, 404, 422 likewise |
| slow | as usual after `seconds` |
| hang | none, ever (until release()) |
| drop | the connection is closed without one |
| cut | half of the usual body, then the connection is closed |
| truncated | half of the usual body, as if it were all |
| garbage | 200 with a page of HTML |
| scrambled | 200 with bytes that are no JSON, though it is said to be |
| odd | 200 with JSON of another shape |
| mistyped | as usual, but called text/html |
| empty | 200 with nothing in it |
| endless | 200 and a body of `size` bytes of white space before it breaks off |

A process (`python3 tests/support/NAME.py --port N`) prints its address and is steered over HTTP:
GET /calls tells the counts, POST /become takes {"mode": ..., "times": ..., "route": ...}, POST
/usual ends all of it. These are not calls: they are not counted, and no fault applies to them.
"""

import argparse
import asyncio
import collections
import re
import threading
import time

from stand_in_http import DROP, HANG, Answer, Peer, reason_of


class Mode:
    """How to answer: so often (`times`) or so long (`lasting` seconds), and then no more."""

    def __init__(self, name, times=None, lasting=None, retry_after=None, status=500, seconds=1.0,
                 size=20000):
        self.name, self.left, self.retry_after, self.status = name, times, retry_after, status
        self.seconds, self.size = seconds, size
        self.until = None if lasting is None else time.monotonic() + lasting

    def take(self):
        """False when it has been used up."""
        if self.until is not None and time.monotonic() >= self.until:
            return False
        if self.left is None:
            return True
        self.left -= 1
        return self.left >= 0


class StandIn:
    """A service. A kind of it has ROUTES, (method, pattern, name), a function usual_NAME(call) for
    each of them that gives the Answer, and error(status) for the body of what is not 200.

    Attributes may be read from any thread; become(), when(), on(), usual() and release() called
    from any."""

    NAME = 'a service'
    ROUTES = ()
    ERRORS = {'busy': 429, 'down': 503, 'broken': 500, 'unauthorized': 401, 'forbidden': 403,
              'gone': 404, 'refuse': 422}
    JSON = 'application/json; charset=UTF-8'
    TLS = None  # of a kind that speaks it: an ssl.SSLContext

    def __init__(self, port=0, host='127.0.0.1'):
        self.calls, self.at_once, self.highest, self.connections = [], 0, 0, 0
        self.peers, self.chosen, self.mode = set(), [], Mode('normal')
        self.loop, self.started = asyncio.new_event_loop(), threading.Event()
        self.host, self.port, self.server = host, port, None
        self.thread = threading.Thread(target=self._run, name=self.NAME, daemon=True)
        self.thread.start()
        self.started.wait()
        if not self.server:
            raise OSError(f'the stand-in for {self.NAME} cannot listen')
        name = f'[{self.host}]' if ':' in self.host else self.host
        self.url = f'{"https" if self.TLS else "http"}://{name}:{self.port}'

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _run(self):
        asyncio.set_event_loop(self.loop)
        try:
            self.server = self.loop.run_until_complete(self.loop.create_server(
                lambda: Peer(self), self.host, self.port, backlog=4096, ssl=self.TLS))
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

    # What is said

    def answer(self, call):
        """Takes note of the call and answers it."""
        for method, pattern, name in self.ROUTES:
            found = re.fullmatch(pattern, call.path)
            if found and method in (call.method, '*'):
                call.route, call.found = name, found
                break
        mode = self.mode_for(call)
        call.mode = mode.name
        self.calls.append(call)
        return self.refusal(call) or self.answer_as(mode, call)

    def refusal(self, call):
        """What comes before everything else: no permission, too many calls."""
        return None

    def usual_answer(self, call):
        if not call.route:
            known = any(re.fullmatch(pattern, call.path) for _, pattern, _ in self.ROUTES)
            return self.failed(405 if known else 404)
        return getattr(self, f'usual_{call.route}')(call)

    def error(self, status):
        return {'message': reason_of(status), 'error': status}

    def failed(self, status, retry_after=None):
        headers = [] if retry_after is None else [('Retry-After', retry_after)]
        return Answer(status, self.error(status), headers, self.JSON)

    def answer_as(self, mode, call):
        if mode.name in self.ERRORS:
            return self.failed(self.ERRORS[mode.name], mode.retry_after)
        return getattr(self, f'be_{mode.name}')(mode, call)

    def be_normal(self, _, call):
        return self.usual_answer(call)

    def be_status(self, mode, _):
        return self.failed(mode.status, mode.retry_after)

    def be_slow(self, mode, call):
        answer = self.usual_answer(call)
        answer.after = mode.seconds
        return answer

    def be_hang(self, *_):
        return HANG

    def be_drop(self, *_):
        return DROP

    def be_cut(self, _, call):
        answer = self.usual_answer(call)
        answer.keep = len(answer.body) // 2
        return answer

    def be_truncated(self, _, call):
        answer = self.usual_answer(call)
        answer.body = answer.body[:len(answer.body) // 2]
        return answer

    def be_garbage(self, *_):
        return Answer(200, b'<html><body>It works!</body></html>', kind='text/html')

    def be_scrambled(self, *_):
        return Answer(200, b'{"kind": "Listing", "data": {\xff\xfe, nothing: [}', kind=self.JSON)

    def be_odd(self, *_):
        return Answer(200, {'notice': 'moved to another place', 'items': []}, kind=self.JSON)

    def be_mistyped(self, _, call):
        answer = self.usual_answer(call)
        answer.kind = 'text/html; charset=utf-8'
        return answer

    def be_empty(self, *_):
        return Answer(200, b'', kind=self.JSON)

    def be_endless(self, mode, _):
        piece = b' ' * 16384
        return Answer(200, kind=self.JSON, pieces=iter([piece] * (mode.size // len(piece) + 1)))

    # Faults

    def mode_named(self, name, **how):
        if name not in self.ERRORS and not hasattr(self, f'be_{name}'):
            raise ValueError(f'no mode {name}')
        return Mode(name, **how)

    def become(self, name, **how):
        """All calls from now on, but for the chosen ones of when()."""
        self.mode = self.mode_named(name, **how)

    def when(self, condition, name, **how):
        """Calls that meet the condition; the latest rule goes first."""
        self.chosen = [(condition, self.mode_named(name, **how)), *self.chosen]

    def on(self, route, name, **how):
        self.when(lambda call: call.route == route, name, **how)

    def usual(self):
        """As in the beginning; what was counted stays."""
        self.chosen, self.mode = [], Mode('normal')

    def mode_for(self, call):
        for condition, mode in self.chosen:
            if condition(call) and mode.take():
                return mode
        mode = self.mode
        return mode if mode.take() else Mode('normal')

    def release(self):
        """Ends the connections that hang."""
        def drop():
            for peer in list(self.peers):
                if peer.busy:
                    peer.transport.abort()
        self.loop.call_soon_threadsafe(drop)

    # What was asked

    def asked(self, route=None):
        """The calls of a route, or all."""
        return [call for call in self.calls if route in (None, call.route)]

    def counts(self):
        """{route: calls}"""
        return dict(collections.Counter(call.route for call in self.calls))

    def forget(self):
        """Connections that are open stay so; what comes over them counts."""
        self.calls, self.highest, self.connections = [], self.at_once, 0

    def arrivals(self, route=None):
        """When they came, in order; time.monotonic()."""
        return sorted(call.at for call in self.asked(route))

    def gaps(self, route=None):
        """The seconds between one call and the next."""
        times = self.arrivals(route)
        return [after - before for before, after in zip(times, times[1:])]

    def in_any(self, seconds, route=None):
        """The most calls that began within any window of so many seconds."""
        times, most, first = self.arrivals(route), 0, 0
        for last, at in enumerate(times):
            while times[first] <= at - seconds:
                first += 1
            most = max(most, last - first + 1)
        return most

    def ahead(self, per_minute, route=None):
        """The most calls by which they were ahead of an even pace, from any call on: 0 when none
        came early, 1 when two came where one had its turn. A call that is held up on its way makes
        the next look early: a pace is kept when this stays small however many calls there are."""
        most = least = 0.0
        times = self.arrivals(route)
        for number, at in enumerate(times):
            place = number - (at - times[0]) * per_minute / 60
            least = min(least, place)
            most = max(most, place - least)
        return most

    # As a process

    def steer(self, call):
        if call.path == '/calls' and call.method == 'GET':
            return Answer(200, {'calls': len(self.calls), 'routes': {
                str(route): n for route, n in self.counts().items()}, 'highest': self.highest,
                'at_once': self.at_once, 'connections': self.connections,
                'modes': dict(collections.Counter(call.mode for call in self.calls))})
        if call.method != 'POST' or call.path == '/calls':
            return None
        try:
            self.steered(call.path, dict(call.body or {}))
        except (KeyError, TypeError, ValueError) as wrong:
            return Answer(400, {'wrong': str(wrong)})
        return Answer(200, {})

    def steered(self, path, wanted):
        if path == '/usual':
            self.usual()
            return
        name, route = wanted.pop('mode'), wanted.pop('route', None)
        if route:
            self.on(route, name, **wanted)
        else:
            self.become(name, **wanted)

    @classmethod
    def main(cls, settings=(), **fixed):
        """Until it is killed. `settings`: (name, what it is for) of options that are text."""
        options = argparse.ArgumentParser(description=f'A stand-in for {cls.NAME}.')
        options.add_argument('--port', type=int, default=0)
        for name, purpose in settings:
            options.add_argument(f'--{name}', help=purpose)
        service = cls(**vars(options.parse_args()), **fixed)
        print(f'{cls.NAME} at {service.url}', flush=True)
        service.thread.join()


class Window:
    """So many units in each period of so many seconds, as services with fixed windows count."""

    def __init__(self, limit, seconds=60.0, clock=time.monotonic):
        self.limit, self.seconds, self.clock = limit, seconds, clock
        self.began, self.used = clock(), 0

    def take(self, units=1):
        """False when that is too much; what was refused is not counted."""
        now = self.clock()
        if now - self.began >= self.seconds:
            self.began, self.used = now, 0
        if self.limit is not None and self.used + units > self.limit:
            return False
        self.used += units
        return True

    @property
    def left(self):
        return max(0, (self.limit or 0) - self.used)

    @property
    def reset(self):
        """Seconds until the next period, at least 1."""
        return max(1, round(self.began + self.seconds - self.clock()))
