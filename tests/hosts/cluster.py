"""PostgreSQL on two hosts: a primary, and a synchronous streaming replica that takes over when it
is told to. Nobody decides that by itself: the tests are the ones who watch, as an operator or a
program for it would, and who make sure that the old primary is gone before its link comes back."""

import os
import shutil
import subprocess

from lib import PostgresArchive, wait_until
from postgres import Postgres, short_folder

PORT = 5432
# The replica and the primary notice soon that they have lost each other.
SETTINGS = {'synchronous_commit': 'on', 'max_connections': '120', 'wal_keep_size': '256MB',
            'wal_sender_timeout': '3s', 'wal_receiver_timeout': '3s',
            'wal_retrieve_retry_interval': '200ms', 'hot_standby_feedback': 'on'}
# A connection whose other end has vanished is given up after 8 s; tain's default is 30 s, libpq's
# hours.
SOON = {'connect_timeout': 2, 'tcp_user_timeout': 8000, 'keepalives_idle': 2,
        'keepalives_interval': 2, 'keepalives_count': 3}
HBA = 'host all all samenet trust\nhost replication all samenet trust\n'


class Member(Postgres):
    """A server on a host of its own: the first one, or a copy of `source`."""

    def __init__(self, host, source=None):
        super().__init__(dict(SETTINGS, listen_addresses=host.address))
        self.host, self.source, self.port = host, source, PORT

    def uri(self, database='postgres'):
        return f'postgres://postgres@{self.host.address}:{PORT}/{database}'

    def start(self):
        if not self.dir:
            self._create()
        if not self.server and not self._launch():
            raise RuntimeError('the server did not start:\n' + self.log())
        return self

    def _as_server(self):
        return [*self.host.command(), *super()._as_server()]

    def _create(self):
        if self.source:
            self.dir = short_folder()
            shutil.chown(self.dir, 'postgres', 'postgres')
            self._copy_source()
            return
        super()._create()
        with open(os.path.join(self._data(), 'pg_hba.conf'), 'a', encoding='ascii') as rules:
            rules.write(HBA)

    def _copy_source(self):
        subprocess.run(
            [*self._as_server(), os.path.join(self.bin, 'pg_basebackup'), '-D', self._data(), '-d',
             self.source.uri() + '?connect_timeout=2&application_name=' + self.host.name, '-R',
             '-X', 'stream', '-c', 'fast', '--no-sync'],
            check=True, cwd=self.dir, stdout=subprocess.DEVNULL, env=self._environment())

    def set(self, name, value):
        self.psql(f"ALTER SYSTEM SET {name} = '{value}'")
        self.psql('SELECT pg_reload_conf()')

    def died(self):
        """With its host."""
        if self.server:
            self.server.wait()
        self.server = None


class Cluster:
    """`primary` and `replica` change places with each fail_over(); `replica` is None in between."""

    def __init__(self, hosts):
        self.hosts = hosts
        self.primary, self.replica = Member(hosts[0]).start(), None
        self.promotions = 0

    def address(self, database, attributes, **options):
        """Of both, whichever it is now."""
        hosts = ','.join(f'{host.address}:{PORT}' for host in self.hosts)
        rest = ''.join(f'&{name}={value}' for name, value in options.items())
        return f'postgres://postgres@{hosts}/{database}?target_session_attrs={attributes}{rest}'

    def add_replica(self):
        """On the host that has none, from now on as synchronous as can be."""
        host = next(h for h in self.hosts if h is not self.primary.host)
        self.replica = Member(host, self.primary)
        self.replica.start()
        self.wait_streaming()
        self.primary.set('synchronous_standby_names', '*')
        state = 'SELECT sync_state FROM pg_stat_replication'
        wait_until(lambda: self.primary.psql(state) == 'sync', what='a synchronous replica',
                   every=0.1)

    def wait_streaming(self, wanted=True):
        wait_until(lambda: (self.primary.psql("SELECT 1 FROM pg_stat_replication WHERE state = "
                                              "'streaming'") == '1') is wanted,
                   what='the stream to the replica' + ('' if wanted else ' to break'), every=0.1)

    def promote(self):
        """The replica has all that was ever acknowledged. Until it has a replica itself, nobody
        waits for one."""
        new, self.replica = self.replica, None
        new.set('synchronous_standby_names', '')
        new.psql('SELECT pg_promote(true, 300)')
        wait_until(lambda: new.psql('SELECT pg_is_in_recovery()') == 'f', what='promotion')
        old, self.primary = self.primary, new
        self.promotions += 1
        return old

    def fail_over(self, how):
        """stop: in good order. die: the host with everything on it. vanish: its cable is pulled; it
        runs on, for nobody, until the replica has taken over."""
        if how == 'stop':
            self.primary.stop()
        elif how == 'die':
            self.primary.host.die()
        else:
            self.primary.host.unplug()
        old = self.promote()
        if how != 'stop':
            old.host.die()
        old.died()
        old.remove()
        old.host.plug()

    def remove(self):
        for member in (self.replica, self.primary):
            if member:
                member.remove()


class Archive(PostgresArchive):
    """A database of the cluster, wherever its primary is. Whoever asks for the test does not wait
    for one that has vanished, whatever the options are."""

    def __init__(self, cluster, **options):
        self.cluster, self.name = cluster, 'archive'
        cluster.primary.psql(f'CREATE DATABASE {self.name}')
        self.uri = cluster.address(self.name, 'read-write', **options)
        self.read_uri = cluster.address(self.name, 'prefer-standby', **options)

    def asked_uri(self):
        return self.cluster.address(self.name, 'read-write', **dict(SOON, connect_timeout=10))

    @property
    def server(self):
        return self.cluster.primary
