"""`tain enrich status`, `pause` and `resume`, and what `tain doctor` says of lanes."""

import json
import unittest

from lib import E2E, EXIT_DONE, EXIT_FAILED, EXIT_USAGE, OnPostgres, OnSqlite


class Lanes(E2E):
    schema = 'public'

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

    def test_rows_by_state(self):
        archive = self.with_lanes()
        archive.execute(f'CREATE TABLE {self.schema}.records (id INTEGER PRIMARY KEY, state '
                        "VARCHAR(20) NOT NULL DEFAULT 'pending', since BIGINT, title VARCHAR(9))")
        archive.execute(f'INSERT INTO {self.schema}.records (id, state) VALUES '
                        "(1, 'pending'), (2, 'pending'), (3, 'enriched_match')")
        path = self.folder / 'records.conf'
        path.write_text(
            'provider lookup { url = "http://127.0.0.1:1" rate = "50/min" slots = 5 }\n'
            f'source records {{ provider = lookup table = {self.schema}.records key = id '
            'status = state since = since\n request { path = "/r/{id}" }\n'
            ' match = "items[0]"\n map title { from = "items[0].name" } }\n', encoding='utf-8')
        report = json.loads(self.enrich(archive, 'status', '--sources', str(path), '--json').out)
        self.assertEqual(report['sources'], [{
            'name': 'records', 'waiting': 0,
            'oldest_pending_ms': report['sources'][0]['oldest_pending_ms'],
            'rows': {'pending': 2, 'enriching': 0, 'enriched_match': 1, 'enriched_no_match': 0,
                     'failed_no_retry': 0}}])
        said = self.enrich(archive, 'status', '--sources', str(path)).out
        self.assertRegex(said, r'\nrecords\n  pending +2\n')
        said = self.enrich(archive, 'status', '--sources', 'nowhere.conf', code=EXIT_USAGE).err
        self.assertIn('nowhere.conf', said)

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
    schema = 'main'


class PostgresLanes(OnPostgres, Lanes):
    pass


del Lanes

if __name__ == '__main__':
    unittest.main()
