"""A PgBouncer in front of a PostgreSQL of the tests.

    from pgbouncer import Pooler, find_pgbouncer

    with Pooler(pg, 'session') as pooler:     # or 'transaction', 'statement'
        run(env={'TAIN_DB': pooler.uri('archive1')})
        pooler.show('POOLS')                  # its console: one line per row
        pooler.stop(); pooler.start()         # what a client sees of an outage

It listens on a free TCP port. It refuses to run as root, so root starts it as the user `postgres`.
"""

import os
import shutil
import signal
import subprocess
import time

from postgres import free_port, short_folder


def find_pgbouncer():
    """The program, or None when it is not installed."""
    return shutil.which('pgbouncer') or shutil.which('pgbouncer', path='/usr/sbin:/usr/local/sbin')


class Pooler:
    def __init__(self, server, mode, **settings):
        self.server, self.process, self.port = server, None, None
        self.settings = dict({'pool_mode': mode, 'auth_type': 'any', 'max_client_conn': 200,
                              'default_pool_size': 40, 'log_connections': 0,
                              'log_disconnections': 0, 'admin_users': 'postgres'}, **settings)
        self.dir = short_folder()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.remove()

    def uri(self, database='postgres'):
        return f'postgres://postgres@127.0.0.1:{self.port}/{database}'

    def start(self):
        """Starts it and waits until it answers."""
        for attempt in range(5):
            if not self.port or attempt:
                self.port = free_port()
            self._configure()
            if self._launch():
                return self
        raise RuntimeError('PgBouncer did not start:\n' + self.log())

    def stop(self):
        if not self.process:
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def remove(self):
        self.stop()
        shutil.rmtree(self.dir, ignore_errors=True)

    def psql(self, sql, database):
        return self._psql(database, sql)

    def show(self, what):
        return self._psql('pgbouncer', f'SHOW {what}')

    def log(self):
        try:
            with open(os.path.join(self.dir, 'log'), errors='replace') as f:
                return f.read()[-4000:]
        except OSError:
            return ''

    def _configure(self):
        # auth_type any: whoever comes is who the database entry says
        settings = dict(self.settings, listen_addr='127.0.0.1', listen_port=self.port,
                        unix_socket_dir='')
        path = os.path.join(self.dir, 'pgbouncer.ini')
        with open(path, 'w', encoding='ascii') as file:
            file.write('[databases]\n'
                       f'* = host=127.0.0.1 port={self.server.port} user=postgres\n'
                       '[pgbouncer]\n')
            file.writelines(f'{name} = {value}\n' for name, value in settings.items())
        if os.getuid() == 0:
            for each in (self.dir, path):
                shutil.chown(each, 'postgres', 'postgres')

    def _as_pooler(self):
        if os.getuid() != 0:
            return []
        return ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups', '--']

    def _launch(self):
        with open(os.path.join(self.dir, 'log'), 'ab') as log:
            self.process = subprocess.Popen(
                self._as_pooler() + [find_pgbouncer(), os.path.join(self.dir, 'pgbouncer.ini')],
                cwd=self.dir, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                self.process = None
                return False
            try:
                self._psql('postgres', 'SELECT 1')
                return True
            except RuntimeError:
                time.sleep(0.05)
        self.stop()
        return False

    def _psql(self, database, sql):
        done = subprocess.run(
            [os.path.join(self.server.bin, 'psql'), '-X', '-q', '-A', '-t', '-d',
             self.uri(database), '-c', sql],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError(f'psql: {done.stderr.strip()}')
        return done.stdout.strip()
