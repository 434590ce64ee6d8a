"""Disks that run full: a PostgreSQL whose data directory is a small file system of its own, and a
folder that is one. Needs root, to mount; who may not skips the test."""

import os
import shutil
import subprocess
import tempfile
import unittest

from postgres import Postgres


class Disk:
    """A folder that is a file system of its own, in memory."""

    def __init__(self, folder, size='256m'):
        self.folder = str(folder)
        done = subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={size}', 'tain-test',
                               self.folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            raise unittest.SkipTest(f'cannot mount: {done.stdout.decode().strip()}')

    def remove(self):
        if os.path.ismount(self.folder):
            subprocess.run(['umount', self.folder], check=True)

    def resize(self, size):
        subprocess.run(['mount', '-o', f'remount,size={size}', self.folder], check=True)

    def leave(self, room):
        """So many bytes are free from now on. Who writes meanwhile may have taken more than there
        would be."""
        for attempt in range(50):
            disk = os.statvfs(self.folder)
            try:
                self.resize((disk.f_blocks - disk.f_bfree) * disk.f_frsize + room)
                return
            except subprocess.CalledProcessError:
                if attempt == 49:
                    raise


class SmallDisk(Postgres):
    """A server with its data directory on a file system of its own, and its log of transactions
    beside it: with that on a full disk it does not refuse work, it ends."""

    LOG_BESIDE = True
    disk = None

    def _create(self):
        self.dir = tempfile.mkdtemp(prefix='tainpg-', dir='/tmp')
        wal = os.path.join(self.dir, 'wal')
        for folder in (self._data(), wal):
            os.mkdir(folder)
        self.disk = Disk(self._data())
        for folder in (self.dir, self._data(), wal):
            shutil.chown(folder, 'postgres', 'postgres')
            os.chmod(folder, 0o700)
        subprocess.run(
            self._as_server() + [os.path.join(self.bin, 'initdb'), '-D', self._data(), '-U',
                                 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C',
                                 '--no-sync', '--no-instructions', '--wal-segsize=1',
                                 *(['-X', wal] if self.LOG_BESIDE else [])],
            check=True, cwd=self.dir, stdout=subprocess.DEVNULL, env=self._environment())

    def remove(self):
        self.stop()
        if self.disk:
            self.disk.remove()
        super().remove()

    def resize(self, size):
        self.disk.resize(size)

    def leave(self, room):
        """So many bytes are free from now on."""
        self.disk.leave(room)
