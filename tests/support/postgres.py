"""A throw-away PostgreSQL for the tests.

    from postgres import Postgres, find_bin

    with Postgres() as pg:              # fresh cluster in a temporary directory
        run(env={'TAIN_DB': pg.uri()})  # postgres://postgres@127.0.0.1:PORT/postgres
        pg.psql('SELECT 1')             # -> '1'
        pg.restart()                    # same data, same port
        pg.stop(); pg.start()           # what a client sees of an outage

Listens on a free TCP port and on a socket in its own directory. fsync is off: the data has to
survive a crash of the server process (`crash()`), never one of the machine. The server refuses to
run as root, so root starts it as the user `postgres`.

TAIN_PG_SEED names a folder for the time of a whole test run: the first fresh cluster is left in it,
and whoever wants one later gets a copy, which is made sooner.
"""

import glob
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

SETTINGS = {
    'listen_addresses': '127.0.0.1',
    'fsync': 'off',
    'full_page_writes': 'off',
    'synchronous_commit': 'off',
    'max_connections': '60',
    'max_prepared_transactions': '10',
    'shared_buffers': '64MB',
    'max_wal_size': '256MB',
    'autovacuum_naptime': '60s',
    'lc_messages': 'C',
    'log_min_messages': 'warning',
}


def find_bin():
    """The directory of the server's programs, or None when PostgreSQL is not installed."""
    wanted = os.environ.get('TAIN_PG_BIN')
    if wanted:
        return wanted
    found = sorted(glob.glob('/usr/lib/postgresql/*/bin/postgres'),
                   key=lambda p: int(p.split('/')[4]) if p.split('/')[4].isdigit() else 0)
    if found:
        return os.path.dirname(found[-1])
    on_path = shutil.which('postgres')
    return os.path.dirname(on_path) if on_path else None


_taken = []  # what marks a port as ours until this process ends


def free_port():
    """One that nobody listens on. Not of those that the system gives out by itself: it could give
    this one to a client before it is used, or to the very client that is to find nobody there. The
    UDP port of the same number is kept, so that no other suite is given this one meanwhile."""
    with open('/proc/sys/net/ipv4/ip_local_port_range', encoding='ascii') as given:
        low, high = map(int, given.read().split())
    others = [port for port in range(10000, 65000) if not low <= port <= high]
    while True:
        port = random.choice(others if len(others) > 2000 else range(10000, 32000))
        mark = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with socket.socket() as s:
            try:
                mark.bind(('127.0.0.1', port))
                s.bind(('127.0.0.1', port))
            except OSError:
                mark.close()
                continue
        _taken.append(mark)
        return port


def short_folder():
    """A new one for a server. The path of its socket may have 107 bytes."""
    place = tempfile.gettempdir()
    return tempfile.mkdtemp(prefix='tainpg-', dir=place if len(place) < 70 else '/tmp')


def copy(source, target):
    """A folder with its owners and modes."""
    subprocess.run(['cp', '-a', source, target], check=True)


class Postgres:
    def __init__(self, settings=None, bin_dir=None):
        self.bin = bin_dir or find_bin()
        if not self.bin:
            raise RuntimeError('PostgreSQL is not installed (looked in /usr/lib/postgresql)')
        self.settings = dict(SETTINGS, **(settings or {}))
        self.dir = self.port = self.server = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.remove()

    def uri(self, database='postgres'):
        return f'postgres://postgres@127.0.0.1:{self.port}/{database}'

    def start(self):
        """Makes the cluster on first use, starts the server, and waits until it answers."""
        if self.server:
            return self
        try:
            if not self.dir:
                self._create()
            for attempt in range(5):
                if not self.port or attempt:
                    self.port = free_port()
                if self._launch():
                    return self
            raise RuntimeError('the server did not start:\n' + self.log())
        except BaseException:
            self.remove()
            raise

    def stop(self, how=signal.SIGINT):
        """Ends the server and keeps its data. SIGINT is the fast stop, which ends sessions."""
        if not self.server:
            return
        if self.server.poll() is None:
            os.kill(self._postmaster(), how)
        try:
            self.server.wait(120)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()
        self.server = None

    def crash(self):
        """The server is gone without a word; start() recovers from its log."""
        self.stop(signal.SIGQUIT)

    def restart(self):
        self.stop()
        return self.start()

    def remove(self):
        """Stops the server and removes everything it wrote."""
        self.stop()
        if self.dir:
            shutil.rmtree(self.dir, ignore_errors=True)
            self.dir = None

    def psql(self, sql, database='postgres'):
        """Runs SQL; answers what it printed: one line per row, columns separated by |."""
        done = subprocess.run(
            [os.path.join(self.bin, 'psql'), '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1',
             '-d', self.uri(database), '-c', sql],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError(f'psql: {done.stderr.strip()}')
        return done.stdout.strip()

    def log(self):
        try:
            with open(os.path.join(self.dir, 'log'), errors='replace') as f:
                return f.read()[-4000:]
        except (OSError, TypeError):
            return ''

    def _as_server(self):
        if os.getuid() != 0:
            return []
        return ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups', '--']

    def _create(self):
        self.dir = short_folder()
        if os.getuid() == 0:
            shutil.chown(self.dir, 'postgres', 'postgres')
        folder = os.environ.get('TAIN_PG_SEED')
        seed = os.path.join(folder, os.path.basename(os.path.dirname(self.bin))) if folder else None
        if seed and os.path.exists(seed):
            copy(seed, self._data())
            return
        self._initdb()
        if seed:
            copy(self._data(), self.dir + '/seed')
            try:
                os.rename(self.dir + '/seed', seed)  # all of it at once
            except OSError:
                shutil.rmtree(self.dir + '/seed')  # another was first

    def _initdb(self):
        subprocess.run(
            self._as_server() + [os.path.join(self.bin, 'initdb'), '-D', self._data(),
                                 '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C',
                                 '--no-sync', '--no-instructions'],
            check=True, cwd=self.dir, stdout=subprocess.DEVNULL, env=self._environment())

    def _data(self):
        return os.path.join(self.dir, 'data')

    def _environment(self):
        return {'PATH': os.environ.get('PATH', ''), 'LC_ALL': 'C', 'TZ': 'UTC'}

    def _launch(self):
        command = self._as_server() + [os.path.join(self.bin, 'postgres'), '-D', self._data(),
                                       '-p', str(self.port), '-k', self.dir]
        for name, value in self.settings.items():
            command += ['-c', f'{name}={value}']
        with open(os.path.join(self.dir, 'log'), 'ab') as log:
            # A session of its own: ^C reaches the tests, which then stop the server in good order.
            self.server = subprocess.Popen(command, cwd=self.dir, stdin=subprocess.DEVNULL,
                                           stdout=log, stderr=log, env=self._environment(),
                                           start_new_session=True)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if self.server.poll() is not None:
                self.server = None
                return False
            try:
                self.psql('SELECT 1')
                return True
            except RuntimeError:
                time.sleep(0.05)
        self.stop(signal.SIGQUIT)
        return False

    def _postmaster(self):
        # setpriv becomes the server by exec, so the child is the server itself.
        return self.server.pid


class Standby(Postgres):
    """A copy of a running one that follows it and can only be read."""

    def __init__(self, primary):
        super().__init__(primary.settings, primary.bin)
        self.primary = primary

    def _create(self):
        self.dir = short_folder()
        if os.getuid() == 0:
            shutil.chown(self.dir, 'postgres', 'postgres')
        subprocess.run(
            self._as_server() + [os.path.join(self.bin, 'pg_basebackup'), '-D', self._data(), '-d',
                                 self.primary.uri('postgres'), '-R', '-X', 'stream', '-c', 'fast',
                                 '--no-sync'],
            check=True, cwd=self.dir, stdout=subprocess.DEVNULL, env=self._environment())
