"""Readers of the change feed that never give up: whenever their connection breaks, or says nothing
for as long as a server that lives never is silent, they come back behind the last event they had.
What they got is held against the log in the end."""

import itertools
import select
import threading

from events import KEY, EventStream, id_of
from websocket import PING, PONG, WebSocket

SILENCE = 4  # seconds; servers give a sign of life every second
SIGNS = ('--stream-keep-alive', '1s', '--feed-ping', '1s')


class Reader(threading.Thread):
    """`servers`, (address, port), are taken in turn, one after each break. `story` has what came:
    ('event', id, message), ('gap', to, message)."""

    def __init__(self, name, servers):
        super().__init__(daemon=True, name=name)
        self.servers, self.story, self.last = itertools.cycle(servers), [], None
        self.began, self.joined, self.connected, self.failure = None, 0, False, None
        self.over = threading.Event()
        self.start()

    def run(self):
        while not self.over.is_set():
            try:
                self.listen(*next(self.servers))
            except (OSError, AssertionError):  # refused, unreachable, cut off within the handshake
                pass
            except Exception as failure:  # pylint: disable=broad-except
                self.failure = failure
                return
            self.connected = False
            self.over.wait(0.1)

    def take(self, message):
        kind = message.get('type', 'event')
        if kind == 'hello':
            if not self.last:
                self.began = self.last = message['head']
            self.joined, self.connected = self.joined + 1, True
            return
        self.last = message['to'] if kind == 'gap' else message['id']
        self.story.append((kind, self.last, message))

    def stop(self):
        self.over.set()
        self.join()


class EventsReader(Reader):
    """Of /events."""

    def listen(self, host, port):
        stream = EventStream(port, last=self.last, host=host, patience=SILENCE,
                             headers=(f'Authorization: Bearer {KEY}',))
        try:
            while not self.over.is_set() and not stream.ended:
                if not select.select([stream.socket], [], [], SILENCE)[0]:
                    return
                stream.pull()
                for frame in stream.frames:
                    self.take(frame.data)
                stream.frames.clear()
                if stream.status not in (None, 200):
                    return
        finally:
            stream.close()


class CdcReader(Reader):
    """Of /cdc."""

    def listen(self, host, port):
        socket = WebSocket(port, f'?since={self.last}' if self.last else '', key=KEY, host=host,
                           patience=SILENCE)
        try:
            while not self.over.is_set() and not socket.ended and socket.status == 101:
                if not select.select([socket.socket], [], [], SILENCE)[0]:
                    return
                socket.pull()
                for message in socket.messages:
                    self.take(message)
                for payload in [p for opcode, p in socket.frames if opcode == PING]:
                    socket.send(PONG, payload)
                socket.frames.clear()
        finally:
            socket.close()


def entry_of(message):
    return message['table'], message['action'], message['key']


def check_story(began, story, log):
    """What is wrong with what a reader heard, in words; `log` is {position: (table, action, key)}.
    A gap that leads back takes back what was heard behind it, which only another epoch may do; one
    that leads on leaves out what is behind it. Answers (wrong, positions that gaps left out)."""
    wrong, heard, left_out = [], {}, set()
    epoch, at = id_of(began)
    first = at + 1
    for kind, last, message in story:
        before, (epoch, position) = epoch, id_of(last)
        if kind == 'gap':
            if epoch == before and position <= at:
                wrong.append(f'a gap that leads from {at} to {last}')
            left_out |= set(range(at + 1, position + 1))
            for lost in [p for p in heard if p > position]:
                del heard[lost]
            first = min(first, position + 1)
        else:
            if position != at + 1:
                wrong.append(f'{last} comes behind position {at}')
            heard[position] = entry_of(message)
        at = position
    left_out -= set(heard)
    for position in range(first, max(log, default=0) + 1):
        if position not in heard and position not in left_out:
            wrong.append(f'{position} was not heard: {log.get(position)}')
        elif position in heard and heard[position] != log.get(position):
            wrong.append(f'{position} is {log.get(position)}, heard was {heard[position]}')
    wrong += [f'{p} is beyond the log: {heard[p]}' for p in heard if p > max(log, default=0)]
    return wrong, left_out
