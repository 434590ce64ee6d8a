"""A port that stays while what answers behind it changes: what a client sees of a server that is
started again, or of a database whose standby takes over."""

import contextlib
import socket
import threading


class Relay:
    """Hands every connection to whatever `target` is then; None: it is closed at once."""

    def __init__(self, target=None):
        self.target = target
        self.lock, self.open = threading.Lock(), set()
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut()
        self.thread.join(10)

    def cut(self):
        """Ends every connection that is open."""
        with self.lock:
            for one in self.open:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = self._connect()
            if not server:
                client.close()
                continue
            with self.lock:
                self.open |= {client, server}
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=(source, sink, sink is client),
                                 daemon=True).start()

    def _connect(self):
        try:
            return socket.create_connection(('127.0.0.1', self.target)) if self.target else None
        except OSError:
            return None

    def _carry(self, data, sink, inward):
        """Hands on what came; inward: to the client."""
        sink.sendall(data)

    @staticmethod
    def _end(source, sink):
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _pump(self, source, sink, inward):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._carry(data, sink, inward)
        self._end(source, sink)
        with self.lock:
            if source in self.open:
                self.open.discard(source)
                source.close()
