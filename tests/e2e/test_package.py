"""What is installed: by `make install` into a folder, and as a Debian package into a root of its
own, with its maintainer scripts. Nothing outside a temporary folder is touched, but for the prefix
that the build folder remembers, and the package that it gets."""

import functools
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import unittest

from lib import BUILD, E2E, EXIT_DONE, ROOT, Run, environment, wait_until
from units import UNITS, Listener, Unit, filled_in

PATHS = {'bindir': '/usr/bin', 'sysconfdir': '/etc', 'docdir': '/usr/share/doc/tain'}
UNIT_FOLDER = 'usr/lib/systemd/system'
USERS = re.compile(r'etc/(\.pwd\.lock|passwd-?|group-?|g?shadow-?)')
MANUAL = ['usr/share/man/man1/tain.1', 'usr/share/man/man1/tain-updater.1',
          'usr/share/man/man1/tain-catchup.1', 'usr/share/man/man1/tain-serve.1']
INSTALLED = [
    'usr/bin/tain',
    f'{UNIT_FOLDER}/tain-updater.service',
    f'{UNIT_FOLDER}/tain-catchup.service',
    f'{UNIT_FOLDER}/tain-catchup.timer',
    f'{UNIT_FOLDER}/tain-serve.service',
    f'{UNIT_FOLDER}/tain-up.service',
    f'{UNIT_FOLDER}/tain-enrich@.service',
    'usr/lib/sysusers.d/tain.conf',
    'usr/lib/tmpfiles.d/tain.conf',
    'usr/share/tain/prometheus/alerts.yml',
    'usr/share/tain/prometheus/prometheus.yml',
    'usr/share/tain/grafana/tain.json',
    'usr/share/tain/nginx/tain.conf',
    'usr/share/tain/examples/flowsheet.conf',
    'usr/share/tain/examples/links.env',
    'usr/share/tain/tain.conf',
    'usr/share/bash-completion/completions/tain',
    'usr/share/zsh/site-functions/_tain',
    'usr/share/doc/tain/README.md',
    'usr/share/doc/tain/schema.md',
    'usr/share/doc/tain/security.md',
    'usr/share/doc/tain/tain.cdx.json',
    'etc/tain/tain.conf',
]


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **options)
    if done.returncode:
        raise AssertionError(f'{" ".join(map(str, command))}: {done.returncode}\n{done.stdout}')
    return done.stdout


def make(*arguments):
    return run('make', '-s', '-C', ROOT, f'BUILD={BUILD}', *arguments, env=environment())


def files_below(root):
    return sorted(str(p.relative_to(root)) for p in root.rglob('*')
                  if p.is_symlink() or not p.is_dir())


class Install(E2E):
    def test_destdir(self):
        root = self.folder / 'root'
        make('install', f'DESTDIR={root}', 'PREFIX=/usr')
        found = files_below(root)
        self.assertFalse(set(INSTALLED + MANUAL) - set(found), found)
        for path in found:
            self.assertTrue(path.startswith(('usr/', 'etc/tain/')), path)
            self.assertNotIn(b'@' + b'sysconfdir@', (root / path).read_bytes(), path)
        for name in ('tain-updater.service', 'tain-catchup.service', 'tain-serve.service',
                     'tain-up.service', 'tain-enrich@.service'):
            self.assertEqual((root / UNIT_FOLDER / name).read_text(),
                             filled_in(UNITS / f'{name}.in', PATHS))
        self.assertIn('/etc/tain/tain.conf', (root / 'usr/lib/tmpfiles.d/tain.conf').read_text())
        self.assertEqual(run(root / 'usr/bin/tain', '--version').split()[0], 'tain')

        config = root / 'etc/tain/tain.conf'
        self.assertEqual(stat.S_IMODE(config.stat().st_mode), 0o640)
        config.write_text('db = "sqlite:mine.db"\n')
        make('install', f'DESTDIR={root}', 'PREFIX=/usr')
        self.assertEqual(config.read_text(), 'db = "sqlite:mine.db"\n')

    def test_a_place_of_ones_own(self):
        """Without DESTDIR, and with a prefix that nobody else uses."""
        prefix = self.folder / 'mine'
        make('install', f'PREFIX={prefix}')
        unit = Unit((prefix / 'lib/systemd/system/tain-updater.service').read_text())
        self.assertEqual(unit.command()[:2], [str(prefix / 'bin/tain'), 'updater'])
        self.assertEqual(unit.command()[-1], str(prefix / 'etc/tain/tain.conf'))
        self.assertTrue(os.access(unit.command()[0], os.X_OK))
        self.assertTrue(pathlib.Path(unit.command()[-1]).exists())


@functools.lru_cache(maxsize=1)
def package():
    if not shutil.which('dpkg-shlibdeps') or not shutil.which('systemd-sysusers'):
        raise unittest.SkipTest('dpkg-dev or systemd is not installed')
    return pathlib.Path(make('deb').splitlines()[-1])


class Package(E2E):
    def setUp(self):
        super().setUp()
        self.deb = package()
        fields = run('dpkg-deb', '--field', self.deb)
        self.fields = dict(re.findall(r'^([A-Z][\w-]+): (.*(?:\n .*)*)', fields, re.M))

    def test_what_it_says_of_itself(self):
        self.assertEqual(self.fields['Package'], 'tain')
        self.assertEqual(self.deb.name, f'tain_{self.fields["Version"]}_'
                                        f'{self.fields["Architecture"]}.deb')
        for library in ('libc6 (>=', 'libcurl4', 'libsqlite3-0', 'libpq5', 'libsystemd0',
                        'libwslay1'):
            self.assertIn(library, self.fields['Depends'])
        self.assertNotIn('@', run('dpkg-deb', '--field', self.deb).replace('tain@localhost', ''))
        version = run(BUILD / 'tain', '--version').split()[1]
        self.assertEqual(self.fields['Version'], version)

    def test_contents(self):
        listed = run('dpkg-deb', '--contents', self.deb)
        rows = [line.split(None, 5) for line in listed.splitlines()]
        paths = {row[5].removeprefix('./').split(' -> ')[0]: row for row in rows}
        self.assertFalse(set(INSTALLED) - set(paths))
        for path in ('usr/share/doc/tain/copyright', 'usr/share/doc/tain/changelog.gz',
                     *(page + '.gz' for page in MANUAL)):
            self.assertIn(path, paths)
        for path, row in paths.items():
            self.assertEqual(row[1], 'root/root', path)
            wanted = {'etc/tain/tain.conf': '-rw-r-----', 'usr/bin/tain': '-rwxr-xr-x'}.get(
                path, 'drwxr-xr-x' if path.endswith('/') or not path else '-rw-r--r--')
            self.assertEqual(row[0], wanted, path)

    def test_the_same_sources_make_the_same_package(self):
        before = self.deb.read_bytes()
        self.deb.unlink()
        make('deb')
        self.assertTrue(self.deb.read_bytes() == before, 'two packages that differ')

    def test_sums(self):
        root = self.folder / 'raw'
        run('dpkg-deb', '--raw-extract', self.deb, root)
        run('md5sum', '--quiet', '-c', 'DEBIAN/md5sums', cwd=root)
        summed = {line.split(None, 1)[1] for line in
                  (root / 'DEBIAN/md5sums').read_text().splitlines()}
        self.assertEqual(summed, {p for p in files_below(root) if not p.startswith('DEBIAN/')})
        self.assertEqual((root / 'DEBIAN/conffiles').read_text(), '/etc/tain/tain.conf\n')
        for script in ('postinst', 'prerm', 'postrm'):
            run('sh', '-n', root / 'DEBIAN' / script)


@unittest.skipUnless(os.getuid() == 0, 'only root can unpack what belongs to root')
class Life(E2E):
    """Installed, used, upgraded, removed and purged, in a root of its own."""

    def setUp(self):
        super().setUp()
        self.deb = package()
        self.root = self.folder / 'root'
        self.folder.chmod(0o755)
        info = self.root / 'var/lib/dpkg/info'
        info.mkdir(parents=True)
        (self.root / 'var/lib/dpkg/updates').mkdir()
        self.borrow_packages(info)
        self.before = set(files_below(self.root))

    def borrow_packages(self, info):
        """This machine's packages, without their files: enough to check the dependencies."""
        names = run('dpkg-query', '-W', '-f', '${Package} ${Architecture} ${Multi-Arch}\n')
        status = pathlib.Path('/var/lib/dpkg/status').read_text(encoding='utf-8')
        kept = [p for p in status.split('\n\n') if not p.lstrip().startswith('Package: tain\n')]
        (self.root / 'var/lib/dpkg/status').write_text('\n\n'.join(kept), encoding='utf-8')
        for line in names.splitlines():
            name, architecture, *multi = line.split()
            suffix = f':{architecture}' if multi == ['same'] else ''
            (info / f'{name}{suffix}.list').write_text('/.\n')
        shared = ('etc', 'usr', 'usr/bin', 'usr/lib', 'usr/share', 'usr/share/doc', 'var')
        for folder in shared:
            (self.root / folder).mkdir(exist_ok=True)
        (info / 'base-files.list').write_text('/.\n' + ''.join(f'/{f}\n' for f in shared))

    def dpkg(self, *arguments):
        said = run('dpkg', f'--root={self.root}', '--force-not-root', '--force-script-chrootless',
                   *arguments, env=environment({'DEBIAN_FRONTEND': 'noninteractive'}))
        self.assertNotRegex(said, r'(?i)warning|error|failed', said)
        return said

    def state(self):
        return run('dpkg-query', f'--admindir={self.root}/var/lib/dpkg', '-W', '-f',
                   '${db:Status-Status}', 'tain')

    def user(self):
        """(uid, gid) of the service, by the files of the root."""
        found = re.search(r'^tain:[^:]*:(\d+):(\d+):',
                          (self.root / 'etc/passwd').read_text(), re.M)
        self.assertTrue(found)
        return int(found.group(1)), int(found.group(2))

    def left(self):
        """What is there and was not before, dpkg's own notes left out."""
        return sorted(p for p in set(files_below(self.root)) - self.before
                      if not p.startswith('var/lib/dpkg/'))

    def assert_owner(self, path, uid, gid, mode):
        found = (self.root / path).stat()
        self.assertEqual((found.st_uid, found.st_gid, oct(stat.S_IMODE(found.st_mode))),
                         (uid, gid, oct(mode)), path)

    def test_install(self):
        self.dpkg('-i', self.deb)
        self.assertEqual(self.state(), 'installed')
        uid, gid = self.user()
        self.assertLess(uid, 1000)
        self.assert_owner('var/lib/tain', uid, gid, 0o750)
        self.assert_owner('etc/tain/tain.conf', 0, gid, 0o640)
        self.assertFalse(list((self.root / 'etc').rglob('*.wants')), 'nothing is enabled unasked')
        self.assertFalse(run('dpkg', f'--root={self.root}', '--verify', 'tain'))
        self.assertIn('tain ', run(self.root / 'usr/bin/tain', '--version'))

    def test_the_service_runs(self):
        self.dpkg('-i', self.deb)
        demo = self.demo(maxitem=200)
        state = self.root / 'var/lib/tain'
        unit = Unit((self.root / UNIT_FOLDER / 'tain-updater.service').read_text())
        listener = Listener(self.folder / 'notify')
        self.addCleanup(listener.close)
        os.chmod(listener.path, 0o777)
        env = dict(unit.environment(), TAIN_DB=f'sqlite:{state}/tain.db', TAIN_UPSTREAM=demo.url,
                   TAIN_METRICS_BIND='127.0.0.1:0', NOTIFY_SOCKET=listener.path,
                   WATCHDOG_USEC='2000000')
        command = [str(self.root / word.lstrip('/')) if word.startswith('/') else word
                   for word in unit.command()]
        service = Service(command, env, state, self.user())
        self.addCleanup(service.close)
        wait_until(lambda: listener.status().startswith('active: frontier 200, 0 behind')
                   and listener.has('WATCHDOG') or not service.running(), what='the mirror')
        self.assertTrue(listener.has('READY') and service.running(), service.so_far())
        service.signal(signal.SIGTERM)
        self.assertEqual(service.wait().code, EXIT_DONE)
        uid, gid = self.user()
        self.assert_owner('var/lib/tain/tain.db', uid, gid, 0o640)

        self.dpkg('--remove', 'tain')
        said = self.dpkg('--purge', 'tain')
        self.assertIn('the archive in /var/lib/tain stays', said)
        self.assertTrue((state / 'tain.db').exists())

    def test_upgrade_keeps_the_configuration(self):
        self.dpkg('-i', self.deb)
        config = self.root / 'etc/tain/tain.conf'
        config.write_text('db = "sqlite:mine.db"\n')
        self.dpkg('-i', self.deb)
        self.assertEqual(self.state(), 'installed')
        self.assertEqual(config.read_text(), 'db = "sqlite:mine.db"\n')
        self.dpkg('--remove', 'tain')
        self.assertEqual(self.state(), 'config-files')
        self.assertEqual(config.read_text(), 'db = "sqlite:mine.db"\n')

    def test_remove_and_purge(self):
        self.dpkg('-i', self.deb)
        run('systemctl', f'--root={self.root}', 'enable', 'tain-updater.service',
            'tain-catchup.timer', 'tain-serve.service', 'tain-up.service', 'tain-enrich@1.service',
            'tain-enrich@2.service')
        self.assertEqual(len(list((self.root / 'etc').rglob('*.wants/tain-*'))), 6)
        (self.root / 'etc/default').mkdir(exist_ok=True)
        (self.root / 'etc/default/tain').write_text('TAIN_LOG_LEVEL=debug\n')
        own = ['etc/tain/enrich-2.env', 'etc/tain/enrich.conf', 'etc/tain/enrich.env']
        for path in own:
            (self.root / path).write_text('A=B\n')
        self.dpkg('--remove', 'tain')
        self.assertEqual(self.state(), 'config-files')
        users = [p for p in self.left() if USERS.fullmatch(p)]
        self.assertEqual(self.left(), sorted(
            users + own + ['etc/default/tain', 'etc/tain/tain.conf']))
        self.dpkg('--purge', 'tain')
        self.assertEqual(self.left(), users)
        for folder in ('etc/tain', 'var/lib/tain', 'usr/share/tain', 'usr/share/doc/tain'):
            self.assertFalse((self.root / folder).exists(), folder)

    def test_a_missing_library_is_noticed(self):
        status = self.root / 'var/lib/dpkg/status'
        kept = [p for p in status.read_text(encoding='utf-8').split('\n\n')
                if not p.lstrip().startswith('Package: libconfuse')]
        status.write_text('\n\n'.join(kept), encoding='utf-8')
        with self.assertRaisesRegex(AssertionError, 'depends on libconfuse'):
            self.dpkg('-i', self.deb)


class Service(Run):
    """The installed program as the user of the service, in the folder of the archive."""

    def __init__(self, command, env, cwd, owner):
        self.command, self.owner = command, owner
        super().__init__([], env=env, cwd=cwd)

    def popen(self, command, **options):
        uid, gid = self.owner
        return subprocess.Popen(self.command, user=uid, group=gid, extra_groups=[], umask=0o027,
                                **options)


if __name__ == '__main__':
    unittest.main()
