"""A service in a cell such as its unit asks for, as far as it can be had without systemd: nobody's
rights, nothing to gain, and a system that can only be read, but for the archive. Its system calls
are the business of test_systemd.py. As root only."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import unittest

from lib import BUILD, E2E, EXIT_DONE, ROOT, Run, Sqlite, wait_until
from units import UNITS, Unit, filled_in

NOBODY = 65534
CELL = r'''set -e
state=$1; shift
mount --bind "$state" "$state"
awk '$2 !~ "^/(proc|sys|dev)(/|$)" || $2 ~ "^/dev/shm" {print $2}' /proc/self/mounts |
while read -r place; do
    [ "$place" = "$state" ] || mount -o remount,bind,ro "$place" 2>/dev/null || :
done
for hidden in /home /root; do mount -t tmpfs -o ro,mode=0 none "$hidden"; done
cd "$state"
umask 0027
exec setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --inh-caps=-all \
    --bounding-set=-all "$@"'''


def why_no_cell():
    if os.geteuid() != 0:
        return 'only root can make a cell'
    if not all(map(shutil.which, ('unshare', 'setpriv', 'mount', 'awk'))):
        return 'util-linux is not whole'
    done = subprocess.run(['unshare', '--mount', 'true'], stderr=subprocess.DEVNULL)
    return 'no mount namespace can be made here' if done.returncode else None


class Celled(Run):
    """A command within a cell where only `state` can be written."""

    def __init__(self, state, command, env):
        self.whole = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', CELL, 'cell',
                      str(state), *map(str, command)]
        super().__init__((), env)

    def popen(self, command, **options):
        return super().popen(self.whole, **options)


@unittest.skipIf(why_no_cell(), why_no_cell())
class Confinement(E2E):
    def setUp(self):
        super().setUp()
        self.state, self.etc = self.folder / 'state', self.folder / 'etc'
        for path in (self.state, self.etc / 'default', self.etc / 'tain'):
            path.mkdir(parents=True)
        paths = {'bindir': BUILD, 'sysconfdir': self.etc, 'docdir': ROOT / 'docs'}
        config = self.etc / 'tain' / 'tain.conf'
        config.write_text(filled_in(ROOT / 'packaging' / 'conf' / 'tain.conf.in', paths))
        self.folder.chmod(0o755)
        config.chmod(0o644)
        os.chown(self.state, NOBODY, NOBODY)
        self.unit = Unit(filled_in(UNITS / 'tain-up.service.in', paths))

    def start_in_cell(self, *command, **env):
        run = Celled(self.state, command, env)
        self.addCleanup(run.close)
        return run

    def test_the_unit_asks_for_it(self):
        wanted = {'ProtectSystem': 'strict', 'ProtectHome': 'yes', 'NoNewPrivileges': 'yes',
                  'CapabilityBoundingSet': '', 'UMask': '0027', 'StateDirectory': 'tain'}
        self.assertEqual({k: self.unit.service(k, None) for k in wanted}, wanted)

    def test_a_mirror_and_its_pages(self):
        demo, archive = self.demo(maxitem=60), Sqlite(self.state / 'tain.db')
        run = self.start_in_cell(*self.unit.command(), TAIN_DB=archive.uri, TAIN_UPSTREAM=demo.url,
                                 TAIN_LISTEN='127.0.0.1:0', TAIN_RPS='0')
        wait_until(lambda: re.search(r'tain is up at (http://\S+)', run._read(run.out)) or
                   not run.running(), what='the server')
        self.assertTrue(run.running(), run.so_far())
        wait_until(lambda: archive.rows('SELECT count(*) FROM items')[0][0] > 20 or
                   not run.running(), what='the mirror')
        status = pathlib.Path(f'/proc/{run.pid}/status').read_text()
        for line in (r'NoNewPrivs:\s+1', r'CapBnd:\s+0+\n', r'CapEff:\s+0+\n', r'Uid:\s+65534\s'):
            self.assertRegex(status, line)
        self.assertEqual(os.stat(archive.path).st_mode & 0o777, 0o640)
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait().code, EXIT_DONE, run.so_far())

    def test_the_cell_is_one(self):
        """Nothing but the archive's folder can be written, whosever it is."""
        elsewhere = self.folder / 'elsewhere'
        elsewhere.mkdir()
        os.chown(elsewhere, NOBODY, NOBODY)
        done = self.start_in_cell(BUILD / 'tain', 'migrate', '--db', f'sqlite:{elsewhere}/a.db')
        self.assertNotEqual(done.wait().code, EXIT_DONE)
        self.assertFalse(list(elsewhere.iterdir()))
        done = self.start_in_cell(BUILD / 'tain', 'migrate', '--db', f'sqlite:{self.state}/a.db')
        self.assertEqual(done.wait().code, EXIT_DONE, done.so_far())


if __name__ == '__main__':
    unittest.main()
