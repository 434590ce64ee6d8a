"""`tain enrich status`, `pause` and `resume`, and what `tain doctor` says of lanes."""

import json
import unittest

from lib import E2E, EXIT_DONE, EXIT_FAILED, EXIT_USAGE, OnPostgres, OnSqlite


class Lanes(E2E):
    def enrich(self, archive, *words, code=EXIT_DONE):
        result = self.run_tain('enrich', *words, '--db', archive.uri)
        self.assertEqual(result.code, code, result)
        return result

    def with_lanes(self):
        archive = self.archive()
        self.assertEqual(self.run_tain('migrate', '--db', archive.uri).code, EXIT_DONE)
        self.assertIn('no provider', self.enrich(archive, 'status').out)
        archive.execute("INSERT INTO providers (name, per_window, window_ms, slots) VALUES "
                        "('lookup', 50, 60000, 5), ('other', 0, 60000, 0)")
        return archive

    def lanes(self, archive):
        report = json.loads(self.enrich(archive, 'status', '--json').out)
        return {lane['name']: lane for lane in report['lanes']}

    def test_status(self):
        archive = self.with_lanes()
        said = self.enrich(archive, 'status').out.splitlines()
        self.assertEqual(said[1].split(), ['lookup', '50/min', '0', 'of', '5', 'ready'])
        self.assertEqual(said[2].split(), ['other', 'no', 'limit', '-', 'ready'])
        self.assertEqual(self.lanes(archive)['lookup'], {
            'name': 'lookup', 'per_window': 50, 'window_ms': 60000, 'slots': 5, 'slots_taken': 0,
            'state': 'go', 'wait_ms': 0, 'breaker': 'closed', 'failures': 0, 'paused': None,
            'paused_why': None, 'paused_at': None, 'not_before': None})

    def test_pause_and_resume(self):
        archive = self.with_lanes()
        self.assertIn('is paused', self.enrich(archive, 'pause', 'lookup', '--reason',
                                               'they "asked" us to').out)
        lane = self.lanes(archive)['lookup']
        self.assertEqual((lane['state'], lane['paused'], lane['paused_why'], lane['wait_ms']),
                         ('paused', 'by_hand', 'they "asked" us to', -1))
        self.assertEqual(self.lanes(archive)['other']['state'], 'go')
        self.assertIn('they "asked" us to', self.enrich(archive, 'status').out)
        archive.execute("UPDATE providers SET breaker = 'open', failures = 5 WHERE name = 'other'")
        doctor = self.run_tain('doctor', '--db', archive.uri, '--upstream',
                               'http://127.0.0.1:1/v0').out
        self.assertIn("'tain enrich resume lookup'", doctor)
        self.assertIn('other: the provider', doctor)
        for name in ('lookup', 'other'):
            report = json.loads(self.enrich(archive, 'resume', name, '--json').out)
            self.assertEqual([(lane['name'], lane['state']) for lane in report['lanes']],
                             [(name, 'go')])
        self.assertEqual(self.lanes(archive)['other']['failures'], 0)

    def test_usage(self):
        archive = self.with_lanes()
        for words, code in (
                (('pause',), EXIT_USAGE),
                (('resume',), EXIT_USAGE),
                (('status', 'lookup'), EXIT_USAGE),
                (('resume', 'lookup', '--reason', 'x'), EXIT_USAGE),
                (('--reason', 'x'), EXIT_USAGE),
                (('halt', 'lookup'), EXIT_USAGE),
                (('pause', 'nobody'), EXIT_FAILED),
                (('resume', 'hn-upstream'), EXIT_FAILED)):
            with self.subTest(words=words):
                self.assertEqual(self.enrich(archive, *words, code=code).out, '')


class SqliteLanes(OnSqlite, Lanes):
    pass


class PostgresLanes(OnPostgres, Lanes):
    pass


del Lanes

if __name__ == '__main__':
    unittest.main()
