"""The two databases that everything is measured on."""

import contextlib
import os
import pathlib
import sqlite3
import subprocess


class Sqlite:
    name = 'sqlite'
    table = 'flowsheet'
    servers = {}

    def __init__(self, folder):
        self.path = os.path.join(folder, 'bench.db')

    def fresh(self):
        for end in ('', '-wal', '-shm'):
            pathlib.Path(self.path + end).unlink(missing_ok=True)
        os.sync()  # nobody's old pages are written during the next run

    def uri(self):
        return f'sqlite:{self.path}'

    def ask(self, sql):
        with contextlib.closing(sqlite3.connect(self.path)) as db:
            return db.execute(sql).fetchone()[0]

    def script(self, sql):
        with contextlib.closing(sqlite3.connect(self.path)) as db:
            db.executescript(sql)

    def writer(self):
        """A client with execute(), each a transaction that is synced, and close()."""
        return sqlite3.connect(self.path, isolation_level=None, timeout=60)


class PgWriter:
    """A client with execute(), each a transaction, and close()."""

    def __init__(self, server):
        self.psql = subprocess.Popen(
            [os.path.join(server.bin, 'psql'), '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1',
             '-d', server.uri('bench')], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def execute(self, sql):
        self.psql.stdin.write(f'{sql}\n\\echo done\n')
        self.psql.stdin.flush()
        if self.psql.stdout.readline() != 'done\n':
            raise RuntimeError('psql failed')

    def close(self):
        self.psql.communicate()


class Pg:
    name = 'postgres'
    table = 'public.flowsheet'

    def __init__(self, server):
        self.server = server
        self.servers = {'postgres': server.server.pid}

    def fresh(self):
        self.server.psql('DROP DATABASE IF EXISTS bench')
        self.server.psql('CREATE DATABASE bench')
        self.server.psql('CHECKPOINT')
        os.sync()

    def uri(self):
        return self.server.uri('bench')

    def ask(self, sql):
        return int(self.server.psql('SET search_path TO tain; ' + sql, 'bench'))

    def script(self, sql):
        self.server.psql(sql, 'bench')

    def writer(self):
        return PgWriter(self.server)
