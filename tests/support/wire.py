"""A way to a server on which everything goes wrong that goes wrong on networks, when it is told to:

    wire = Wire(port, random.Random(1))
    wire.delay = 0.05         # every piece comes so many seconds later
    wire.trickle = True       # a few bytes at a time
    wire.corrupt = 0.1        # that share of the pieces on their way to the client has wrong bytes
    wire.lossy = 0.1          # after that share of them the connection breaks, mostly within one
    wire.stall()              # nothing goes on, nothing is closed
    wire.cut(), wire.reset()  # what is open ends, in good order or by RST
    wire.refusing = True      # whoever comes is turned away
    wire.heal()               # all of it is over

A wrong byte stands where a reader that looks must notice: in the head of an answer, or instead of a
quote of its JSON. (A letter for a letter nobody can notice; that is what TLS is for.)
"""

import contextlib
import random
import socket
import struct
import threading
import time

from relay import Relay

WRONG = b'\x00\x01\xff'
FEW, PAUSE, MOST = 40, 0.004, 60  # bytes and seconds of a trickle, and pauses in one piece


class Wire(Relay):
    def __init__(self, target, chance=None):
        self.chance = chance or random.Random()
        self.flows, self.doomed = threading.Event(), set()
        self.harmed = 0  # pieces with wrong bytes
        self.heal()
        super().__init__(target)

    def heal(self):
        self.delay = self.corrupt = self.lossy = 0
        self.trickle = self.refusing = False
        self.flows.set()

    def stall(self):
        self.flows.clear()

    def reset(self):
        """Ends every connection that is open, by RST."""
        with self.lock:
            for one in self.open:
                self.doomed.add(one)
                with contextlib.suppress(OSError):
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
                    one.shutdown(socket.SHUT_RD)  # says nothing to the other side; wakes its pump

    def _connect(self):
        return None if self.refusing else super()._connect()

    def _carry(self, data, sink, inward):
        while not self.flows.wait(0.1):
            if sink.fileno() < 0:
                raise OSError('closed')
        if self.delay:
            time.sleep(self.delay)
        if inward and self.corrupt and self.chance.random() < self.corrupt:
            data = self._harm(data)
        if inward and self.lossy and self.chance.random() < self.lossy:
            sink.sendall(data[:self.chance.randrange(len(data))])
            raise OSError('lost')
        if self.trickle:
            for _ in range(MOST):
                sink.sendall(data[:FEW])
                data = data[FEW:]
                if not data:
                    return
                time.sleep(PAUSE)
        sink.sendall(data)

    def _harm(self, data):
        self.harmed += 1
        changed = bytearray(data)
        head = data.find(b'\r\n\r\n') if data.startswith(b'HTTP/') else 0
        places = [at for at, byte in enumerate(data) if at < head or byte == ord('"')]
        for _ in range(self.chance.randint(1, 3)):
            changed[self.chance.choice(places or range(len(data)))] = self.chance.choice(WRONG)
        return bytes(changed)

    def _end(self, source, sink):
        if source not in self.doomed:
            super()._end(source, sink)
