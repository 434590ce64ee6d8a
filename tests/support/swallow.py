"""A way to PostgreSQL on which a LISTEN connection can fall silent without being closed: what a
client sees of a firewall that forgot it."""

import contextlib
import socket
import threading


class Swallow:
    """Forwards connections to a port. mute() takes those that have said LISTEN so far and from then
    on swallows whatever either side says, and acknowledges it as TCP does."""

    def __init__(self, target):
        self.target = target
        self.lock, self.pairs = threading.Lock(), []
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            for pair in self.pairs:
                pair.cut()

    def listening(self):
        """How many have said LISTEN and are still heard."""
        with self.lock:
            return sum(pair.listens and not pair.muted and not pair.over for pair in self.pairs)

    def mute(self):
        with self.lock:
            for pair in self.pairs:
                pair.muted = pair.muted or pair.listens

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
                pair = Pair(client, socket.create_connection(('127.0.0.1', self.target)))
            except OSError:
                return
            with self.lock:
                self.pairs.append(pair)


class Pair:
    def __init__(self, client, server):
        self.client, self.server = client, server
        self.listens = self.muted = self.over = False
        self.lock, self.ended = threading.Lock(), 0
        for source, sink in ((client, server), (server, client)):
            threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def cut(self):
        self.over = True
        for one in (self.client, self.server):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _pump(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if source is self.client and b'LISTEN ' in data:
                    self.listens = True
                if not self.muted:
                    sink.sendall(data)
        self.cut()
        with self.lock:
            self.ended += 1
            if self.ended == 2:
                self.client.close()
                self.server.close()
