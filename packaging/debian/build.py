#!/usr/bin/env python3
"""Makes a Debian package of a build.

    packaging/debian/build.py BUILD

Installs the build with the prefix /usr into a folder of its own below BUILD, adds what dpkg wants
to know and packs it: BUILD/tain_VERSION_ARCHITECTURE.deb, whose path is the last line of output.
The same sources give the same bytes. Needs dpkg-dev, but no root.
"""

import gzip
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = ('postinst', 'prerm', 'postrm')


def run(*command, **options):
    """What it printed; a failure ends the program with what it complained of."""
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, **options)
    if done.returncode:
        sys.exit(f'build.py: {" ".join(map(str, command))}\n{done.stdout}{done.stderr}')
    return done.stdout.strip()


def install(build, root):
    run('meson', 'configure', build, '-Dprefix=/usr', '-Dsysconfdir=/etc')
    run('meson', 'install', '-C', build, '--destdir', root, '--strip', '--quiet')


def compress(path):
    with gzip.GzipFile(str(path) + '.gz', 'wb', compresslevel=9, mtime=0) as packed:
        packed.write(path.read_bytes())
    path.unlink()


def polish(root):
    """What Debian asks of documentation."""
    doc = root / 'usr/share/doc/tain'
    shutil.copy(HERE / 'copyright', doc / 'copyright')
    shutil.copy(HERE / 'changelog', doc / 'changelog')
    compress(doc / 'changelog')
    for page in sorted((root / 'usr/share/man').rglob('*.[1-8]')):
        compress(page)
    for path in [root, *root.rglob('*')]:  # whatever the umask was
        if path.is_dir():
            path.chmod(0o755)
        elif path.is_relative_to(root / 'usr'):
            path.chmod(0o755 if os.access(path, os.X_OK) and path.parent.name == 'bin' else 0o644)


def library_packages(root, scratch):
    """The Depends of the libraries that the program is linked with."""
    (scratch / 'debian').mkdir(parents=True)
    (scratch / 'debian/control').write_text('Source: tain\n\nPackage: tain\nArchitecture: any\n')
    said = run('dpkg-shlibdeps', '-O', '-e', root / 'usr/bin/tain', cwd=scratch)
    return said.removeprefix('shlibs:Depends=')


def files_of(root):
    return sorted(p for p in root.rglob('*') if p.is_file() and 'DEBIAN' not in p.parts)


def describe(root, version, scratch):
    debian = root / 'DEBIAN'
    debian.mkdir(mode=0o755)
    files = files_of(root)
    values = {
        'version': version,
        'architecture': run('dpkg', '--print-architecture'),
        'size': str(sum(p.stat().st_size + 1023 >> 10 for p in files)),
        'shlibs': library_packages(root, scratch),
    }
    control = (HERE / 'control.in').read_text()
    for name, value in values.items():
        control = control.replace(f'@{name}@', value)
    sums = [f'{hashlib.md5(p.read_bytes()).hexdigest()}  {p.relative_to(root)}' for p in files]
    conffiles = [f'/{p.relative_to(root)}' for p in files if p.is_relative_to(root / 'etc')]
    for name, text in (('control', control), ('md5sums', '\n'.join(sums) + '\n'),
                       ('conffiles', '\n'.join(conffiles) + '\n')):
        (debian / name).write_text(text)
        (debian / name).chmod(0o644)
    for name in SCRIPTS:
        shutil.copy(HERE / name, debian / name)
        (debian / name).chmod(0o755)
    return values['architecture']


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else 'build').resolve()
    version = json.loads(run('meson', 'introspect', '--projectinfo', build))['version']
    changelog = HERE / 'changelog'
    if run('dpkg-parsechangelog', '-l', changelog, '-S', 'Version') != version:
        sys.exit(f'build.py: {changelog} does not begin with version {version}')
    work = build / 'deb'
    shutil.rmtree(work, ignore_errors=True)
    root = work / 'root'
    install(build, root)
    polish(root)
    architecture = describe(root, version, work / 'scratch')
    package = build / f'tain_{version}_{architecture}.deb'
    stamp = run('dpkg-parsechangelog', '-l', changelog, '-S', 'Timestamp')
    run('dpkg-deb', '--root-owner-group', '-Zxz', '--build', root, package,
        env=dict(os.environ, SOURCE_DATE_EPOCH=stamp))
    shutil.rmtree(work)
    print(package)
    return 0


if __name__ == '__main__':
    sys.exit(main())
