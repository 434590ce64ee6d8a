"""The bill of materials has the shape of CycloneDX, and every library that the program names.

    test_sbom.py PROGRAM
"""

import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = sys.argv[1]
READELF = shutil.which('readelf')


@unittest.skipUnless(READELF and shutil.which('ldd'), 'readelf or ldd is not installed')
class Bill(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / 'bill.json'
            for _ in range(2):
                subprocess.run([sys.executable, '-B', ROOT / 'tools' / 'sbom.py', PROGRAM, 'tain',
                                '1.2.3', 'Apache-2.0', out], check=True)
                cls.before, cls.text = getattr(cls, 'text', None), out.read_text()
        cls.bill = json.loads(cls.text)

    def test_the_same_again(self):
        self.assertEqual(self.before, self.text)

    def test_shape(self):
        bill = self.bill
        self.assertEqual((bill['bomFormat'], bill['specVersion'], bill['version']),
                         ('CycloneDX', '1.5', 1))
        self.assertRegex(bill['serialNumber'], r'^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-'
                         r'[0-9a-f]{12}$')
        self.assertEqual(set(bill), {'bomFormat', 'specVersion', 'serialNumber', 'version',
                                     'metadata', 'components', 'dependencies'})
        own = bill['metadata']['component']
        self.assertEqual((own['type'], own['name'], own['version']),
                         ('application', 'tain', '1.2.3'))
        for component in (own, *bill['components']):
            self.assertTrue(component['name'] and component['bom-ref'])
            for entry in component.get('hashes', []):
                self.assertRegex(entry['content'], r'^[0-9a-f]{64}$')
            for entry in component.get('licenses', []):
                self.assertEqual(list(entry), ['license'])
                self.assertTrue(entry['license'].get('id') or entry['license'].get('name'))
            if 'purl' in component:
                self.assertRegex(component['purl'], r'^pkg:deb/debian/[\w.%-]+@[\w.:~%-]+'
                                 r'\?arch=\w+$')

    def test_references_lead_somewhere(self):
        refs = [c['bom-ref'] for c in self.bill['components']] + ['tain']
        self.assertEqual(len(refs), len(set(refs)))
        for entry in self.bill['dependencies']:
            self.assertLessEqual({entry['ref'], *entry['dependsOn']}, set(refs))
        self.assertEqual({e['ref'] for e in self.bill['dependencies']}, set(refs))

    def test_every_library_of_the_program(self):
        done = subprocess.run([READELF, '-W', '-d', PROGRAM], stdout=subprocess.PIPE, check=True,
                              text=True)
        needed = set(re.findall(r'NEEDED.*\[(.+)\]', done.stdout))
        self.assertGreater(len(needed), 5)
        components = {c['name']: c for c in self.bill['components']}
        self.assertLessEqual(needed, set(components))
        for name in needed:
            self.assertEqual(components[name]['properties'][0]['value'], 'direct')
        if pathlib.Path('/etc/debian_version').exists():
            without = [n for n, c in components.items() if 'version' not in c and 'san' not in n]
            self.assertFalse(without)
            licensed = [n for n, c in components.items() if c.get('licenses')]
            self.assertGreater(len(licensed), len(components) // 2)

    def test_what_a_process_has_loaded(self):
        """By their contents: a process maps the file that a name leads to."""
        run = subprocess.Popen([PROGRAM, 'demo'], stdout=subprocess.PIPE, text=True)
        try:
            self.assertIn('demo upstream', run.stdout.readline())
            maps = pathlib.Path(f'/proc/{run.pid}/maps').read_text()
        finally:
            run.kill()
            run.communicate()
        loaded = set(re.findall(r' (/\S+\.so(?:\.\S+)?)$', maps, re.M))
        self.assertGreater(len(loaded), 20)
        listed = {c['hashes'][0]['content'] for c in self.bill['components'] if 'hashes' in c}
        for path in loaded:
            digest = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
            self.assertIn(digest, listed, path)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
