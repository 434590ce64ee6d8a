"""Readers of the change feed that come back whatever happens to them: the Follower of
tests/support/events.py for /events, and this one for /cdc."""

import json
import select

from events import KEY, Follower
from websocket import CLOSE, TEXT, WebSocket


class Told:
    """What a message of /cdc says, as a frame of /events does."""

    def __init__(self, message):
        self.id, self.data, self.event = message.get('id'), message, message.get('type')

    def __repr__(self):
        return f'{self.event} {self.id} {str(self.data):.100}'


class CdcFollower(Follower):
    def _listen(self):
        port = self.where()
        if not port:
            return
        try:
            stream = WebSocket(port, f'?since={self.last}' if self.last else '', key=KEY)
        except AssertionError as over:  # the handshake was cut off
            raise OSError(str(over)) from None
        try:
            while stream.status == 101 and not self.over.is_set() and not stream.ended:
                select.select([stream.socket], [], [], 0.1)
                stream.pull()
                taken, stream.frames = stream.frames, []
                for opcode, payload in taken:
                    if opcode == TEXT:
                        self._hear(json.loads(payload))
                if any(opcode == CLOSE for opcode, _ in taken):
                    return
        finally:
            stream.close()

    def _hear(self, message):
        kind = message.get('type')
        if kind == 'hello':
            self.joined += 1
            self.last = self.last or message['head']
        else:
            self.frames.append(Told(message))
            self.last = message['to'] if kind == 'gap' else message['id']
