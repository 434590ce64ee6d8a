#!/usr/bin/env python3
"""A bill of materials of a built program, as CycloneDX JSON: which libraries it is linked with,
which package each is of, in which version, and as far as can be read under which licences.

    sbom.py PROGRAM NAME VERSION LICENCE OUT
    sbom.py --installed FOLDER NAME VERSION LICENCE     # by meson: into this folder of DESTDIR

What the program names itself comes from `readelf -d`, what those libraries need in turn from `ldd`;
packages and versions from dpkg, licences from the copyright files of the packages as far as these
can be read by programs. Where there is no dpkg the libraries stand alone. The same program on the
same machine gives the same bytes.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse
import uuid

LICENCES_MAX = 40  # of one package


def said(*command):
    """What it printed; dpkg fails when it knows one of many not, and tells of the others."""
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env=dict(os.environ, LC_ALL='C')).stdout


def needed(path):
    """The libraries that a file names."""
    return re.findall(r'\(NEEDED\).*\[(.+)\]', said('readelf', '-W', '-d', str(path)))


def places(program):
    """{name: path} of every library that is loaded with it; the loader has no arrow."""
    found = re.findall(r'^\s*(?:\S+ => )?(/\S+) \(0x', said('ldd', str(program)), re.M)
    return {path.rpartition('/')[2]: pathlib.Path(path) for path in found}


def other_names(path):
    """A file of /usr/lib may be known to dpkg below /lib, and the other way round."""
    known = [str(path), str(path.resolve())]
    return known + [p.removeprefix('/usr') for p in known] + ['/usr' + p for p in known]


def packages_of(paths):
    """{path: (package, version, architecture)} of those that dpkg knows."""
    if not paths or not shutil.which('dpkg-query'):
        return {}
    names = sorted({name for path in paths for name in other_names(path)})
    owners = dict(reversed(line.split(': ', 1)) for line in
                  said('dpkg-query', '-S', *names).splitlines() if ': ' in line)
    if not owners:
        return {}
    versions = {}
    for line in said('dpkg-query', '-W', '-f', '${binary:Package}\t${Package}\t${Version}\t'
                     '${Architecture}\n', *sorted(set(owners.values()))).splitlines():
        key, *rest = line.split('\t')
        versions[key] = versions[key.partition(':')[0]] = tuple(rest)
    found = {}
    for path in paths:
        owner = next((owners[n] for n in other_names(path) if n in owners), None)
        if owner in versions:
            found[path] = versions[owner]
    return found


def licences_of(package):
    """The short names in a copyright file that follows the format for them; else none."""
    try:
        text = pathlib.Path(f'/usr/share/doc/{package}/copyright').read_text('utf-8', 'replace')
    except OSError:
        return []
    if not re.match(r'Format(-Specification)?:', text, re.I):
        return []
    names = (' '.join(name.split()) for name in re.findall(r'^License:[ \t]*(\S.*)$', text, re.M))
    return list(dict.fromkeys(names))[:LICENCES_MAX]


def digest(path):
    return [{'alg': 'SHA-256', 'content': hashlib.sha256(path.read_bytes()).hexdigest()}]


def purl(package, version, architecture):
    """As package-url has it: the + of libstdc++6, or of a version, would be read as a blank."""
    package, version = (urllib.parse.quote(s, safe=':') for s in (package, version))
    return f'pkg:deb/debian/{package}@{version}?arch={architecture}'


def component(name, path, direct, package):
    found = {'type': 'library', 'bom-ref': name, 'name': name}
    properties = [{'name': 'tain:linked', 'value': 'direct' if direct else 'transitive'}]
    if package:
        of, version, _ = package
        found.update(version=version, purl=purl(*package))
        properties.append({'name': 'tain:package', 'value': of})
        licences = licences_of(of)
        if licences:
            found['licenses'] = [{'license': {'name': text}} for text in licences]
    if path:
        found['hashes'] = digest(path)
    return dict(found, properties=properties)


def bill(program, name, version, licence):
    direct, where = needed(program), places(program)
    packages = packages_of(list(where.values()))
    libraries = sorted(set(direct) | set(where))
    depends = {name: sorted(direct)}
    for library in libraries:
        inner = needed(where[library]) if library in where else []
        depends[library] = sorted(n for n in inner if n in libraries)
    ours = digest(program)
    return {
        'bomFormat': 'CycloneDX',
        'specVersion': '1.5',
        'serialNumber': f'urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, ours[0]["content"])}',
        'version': 1,
        'metadata': {'component': {
            'type': 'application', 'bom-ref': name, 'name': name, 'version': version,
            'licenses': [{'license': {'id': licence}}], 'hashes': ours}},
        'components': [component(n, where.get(n), n in direct, packages.get(where.get(n)))
                       for n in libraries],
        'dependencies': [{'ref': ref, 'dependsOn': on} for ref, on in depends.items()],
    }


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    program, name, version, licence, out = sys.argv[1:6]
    if program == '--installed':
        folder, name, version, licence = sys.argv[2:6]
        program = os.environ['MESON_INSTALL_DESTDIR_PREFIX'] + '/bin/' + name
        out = os.environ.get('DESTDIR', '') + f'{folder}/{name}.cdx.json'
    if not shutil.which('readelf'):
        print('sbom.py: readelf is not installed, so there is no bill of materials',
              file=sys.stderr)
        return 0 if sys.argv[1] == '--installed' else 1
    text = json.dumps(bill(pathlib.Path(program), name, version, licence), indent=1) + '\n'
    pathlib.Path(out).write_text(text, encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
