"""`tain enrich --dry-run` and `tain doctor --sources`: what is said of a plan before it runs, and
that nothing is done; what is said of lanes while it does."""

import json
import re
import unittest
import urllib.error
import urllib.request

from lib import (ANSWER, E2E, EXIT_DONE, EXIT_FAILED, EXIT_USAGE, OnSqlite, free_port,
                 wait_until)  # first: it knows where the others are
from flowsheet import TABLE, TOKEN, EnrichTest
from updater import metrics_of


class Flowsheet(EnrichTest):
    def look(self, archive, lookup, path, *arguments, command=('enrich', '--dry-run'),
             code=EXIT_DONE):
        result = self.run_tain(*command, '--db', archive.uri, '--sources', path, *arguments,
                               env={'LML_URL': lookup.url, 'LML_TOKEN': TOKEN})
        self.assertEqual(result.code, code, result)
        self.assertNotIn(TOKEN, result.out + result.err)
        return result

    def doctor(self, archive, lookup, path, *arguments, code=EXIT_FAILED):
        """Its upstream is not there, which fails."""
        return self.look(archive, lookup, path, '--upstream', 'http://127.0.0.1:1/v0', *arguments,
                         command=('doctor',), code=code)

    def untouched(self, archive, lookup):
        self.assertEqual(lookup.calls, [])
        self.assertEqual(archive.rows('SELECT COUNT(*) FROM claims'), [(0,)])
        self.assertEqual(archive.rows('SELECT name FROM providers ORDER BY 1'), [])
        self.assertEqual(set(self.states(archive)), {'pending'})

    def test_what_would_be_asked(self):
        archive, lookup, path = self.flowsheet(), self.lookup(), self.sources('50/min', 5)
        self.insert(archive, 'Sun "Ra"', 'Alice', 'Bob', 'Carol')
        said = self.look(archive, lookup, path).out
        self.assertIn(f'lane lml: 50/min, 5 at once, at {lookup.url}\n', said)
        self.assertIn('no worker has asked it yet', said)
        self.assertRegex(said, r'pending +4\n')
        self.assertIn('row 1: POST ${LML_URL}/api/v1/lookup\n', said)
        self.assertIn(r'"artist":"Sun \"Ra\""', said)
        self.assertNotIn('Carol', said)
        self.assertNotIn('cdc install', said)
        self.assertNotIn('CREATE INDEX', said)
        self.assertIn('nothing was claimed, called or written', said)
        self.untouched(archive, lookup)

    def test_for_programs(self):
        archive, lookup = self.flowsheet(install=False), self.lookup()
        path = self.sources('50/min', 5)
        index, = archive.rows("SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = "
                              f"'{TABLE}'::regclass AND indpred IS NOT NULL "
                              "AND pg_get_indexdef(indexrelid) LIKE '%(id)%'")
        archive.execute(f'DROP INDEX {index[0]}')
        self.insert(archive, 'Alice', 'Bob')
        archive.execute("INSERT INTO claims (source, key, token, state, attempts, next_try_at, "
                        "updated_at) SELECT 'flowsheet', '1', 1, 'free', 1, now + 600000, now "
                        "FROM (SELECT (extract(epoch FROM now()) * 1000)::bigint AS now) AS t")
        report = json.loads(self.look(archive, lookup, path, '--json').out)
        provider, = report['providers']
        self.assertEqual({k: provider[k] for k in ('name', 'origin', 'per_window', 'window_ms',
                                                   'slots', 'lane')},
                         {'name': 'lml', 'origin': lookup.url, 'per_window': 50,
                          'window_ms': 60000, 'slots': 5, 'lane': None})
        source, = report['sources']
        self.assertEqual((source['rows']['pending'], source['waiting'], source['logged']),
                         (2, 1, False))
        self.assertEqual(source['install'], f'tain cdc install --table {TABLE}')
        created, = source['missing_indexes']
        request, = source['requests']  # the other one has to wait
        self.assertEqual((request['key'], request['method'], request['url'], request['error']),
                         ('2', 'POST', '${LML_URL}/api/v1/lookup', None))
        self.assertEqual(json.loads(request['body'])['artist'], 'Bob')
        archive.execute(created)  # what it says is what helps
        done = self.run_tain(*source['install'].split()[1:], '--db', archive.uri)
        self.assertEqual(done.code, EXIT_DONE, done)
        source, = json.loads(self.look(archive, lookup, path, '--json').out)['sources']
        self.assertEqual((source['logged'], source['install'], source['missing_indexes']),
                         (True, None, []))

    def test_lane_and_limits_of_now(self):
        archive, lookup = self.flowsheet(), self.lookup()
        archive.execute("INSERT INTO providers (name, per_window, window_ms, slots) VALUES "
                        "('lml', 30, 60000, 2)")
        self.assertEqual(self.run_tain('enrich', 'pause', 'lml', '--reason', 'enough',
                                       '--db', archive.uri).code, EXIT_DONE)
        said = self.look(archive, lookup, self.sources('50/min', 5)).out
        self.assertRegex(said, r'paused by hand since .*: enough\n')
        self.assertIn('until now it was 30/min and 2 at once', said)
        self.assertEqual(archive.rows("SELECT per_window FROM providers"), [(30,)])

    def test_mistakes_are_told(self):
        archive, lookup = self.flowsheet(), self.lookup()
        bad = self.sources(key='no_such_column')
        result = self.look(archive, lookup, bad, code=EXIT_USAGE)
        self.assertRegex(result.err, rf'{bad.name}:\d+: key: .*no_such_column')
        self.assertEqual(result.out, '')
        said = self.doctor(archive, lookup, bad).out
        self.assertRegex(said, rf'fail  sources .*{bad.name}:\d+: key: .*no_such_column')
        for words in (('enrich', '--dry-run'), ('enrich', 'status', '--dry-run')):
            self.assertEqual(self.run_tain(*words, '--db', archive.uri).code, EXIT_USAGE)

    def test_doctor(self):
        archive, lookup, path = self.flowsheet(), self.lookup(), self.sources()
        self.insert(archive, 'Alice')
        said = self.doctor(archive, lookup, path).out
        self.assertIn(f'flowsheet: {TABLE} fits, 1 rows pending', said)
        self.assertIn(f'lml: {lookup.url} is there; it was not called', said)
        self.assertNotIn('CREATE INDEX', said)
        self.untouched(archive, lookup)

    def test_doctor_finds(self):
        archive, lookup, path = self.flowsheet(install=False), self.lookup(), self.sources()
        archive.execute(f'DROP INDEX {TABLE}_enriching_since_idx')
        self.insert(archive, 'Alice')
        lookup.close()
        said = self.doctor(archive, lookup, path).out
        self.assertIn(f"'tain cdc install --table {TABLE}'", said)
        self.assertRegex(said, r'warn  sources .*CREATE INDEX CONCURRENTLY ON .*enriching')
        self.assertRegex(said, rf'warn  providers .*{path.name}:\d+: provider lml cannot be ')


class Watched(EnrichTest):
    """What the figures and /readyz say of lanes."""

    def state(self, run):
        figures = metrics_of(run) or {}
        return [name for name in ('runs', 'waits', 'ill', 'paused', 'refused')
                if figures.get(f'tain_enrich_lane_state{{lane="lml",state="{name}"}}') == 1]

    @staticmethod
    def readiness(run):
        port = re.search(r'msg="?metrics"? .*port=(\d+)', run.so_far()).group(1)
        try:
            with urllib.request.urlopen(f'http://127.0.0.1:{port}/readyz', timeout=ANSWER) as said:
                return said.status, said.read().decode().strip()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode().strip()
        except OSError:
            return None

    def test_lanes(self):
        archive, lookup = self.flowsheet(), self.lookup()
        run = self.ready(self.worker(archive, lookup, self.sources('50/min', 5)))
        wait_until(lambda: self.state(run) == ['runs'], what='a lane that runs')
        budget = 'tain_enrich_budget_left{lane="lml"}'
        self.assertEqual(self.figure(run, budget), 49)
        wait_until(lambda: self.readiness(run) == (200, 'ready'), what='readiness')
        lookup.become('unauthorized')
        self.insert(archive, 'Artist 1')
        wait_until(lambda: self.state(run) == ['refused'], what='a lane that was refused')
        self.assertEqual(self.figure(run, budget), 0)
        wait_until(lambda: (self.readiness(run) or (0,))[0] == 503, what='the end of readiness')
        self.assertIn('lml refused our key', self.readiness(run)[1])
        lookup.become('normal')
        self.assertEqual(self.run_tain('enrich', 'resume', 'lml', '--db', archive.uri).code,
                         EXIT_DONE)
        self.wait_final(archive, 1, [run])
        wait_until(lambda: self.readiness(run) == (200, 'ready'), what='readiness')
        self.assertEqual(self.run_tain('enrich', 'pause', 'lml', '--db', archive.uri).code,
                         EXIT_DONE)
        wait_until(lambda: self.state(run) == ['paused'], what='a lane that is paused')
        self.assertEqual(self.readiness(run), (200, 'ready'))  # somebody wanted it so
        self.insert(archive, 'Artist 2')
        wait_until(lambda: self.figure(run, 'tain_enrich_due{source="flowsheet"}') == 1,
                   what='a row that is due')


PLAN = """
provider shop {{
    url   = "http://127.0.0.1:{port}/base/${{SHOP_KEY}}"
    rate  = none
    slots = none
    headers = {{ "X-Key: ${{SHOP_KEY}}" }}
}}
source records {{
    provider = shop
    table = records
    key = id
    status = state
    request {{ path = "/v2/items?code={{barcode}}&k=${{SHOP_KEY}}" }}
    match = "items[0]"
    map title {{ from = "items[0].name" }}
}}
"""


class Records(OnSqlite, E2E):
    def test_a_key_in_an_address(self):
        archive = self.archive()
        self.assertEqual(self.run_tain('migrate', '--db', archive.uri).code, EXIT_DONE)
        archive.execute("CREATE TABLE records (id INTEGER PRIMARY KEY, barcode TEXT, title TEXT, "
                        "state TEXT NOT NULL DEFAULT 'pending')")
        archive.execute("INSERT INTO records (barcode) VALUES ('4 711'), (NULL)")
        path = self.folder / 'records.conf'
        path.write_text(PLAN.format(port=free_port()), encoding='utf-8')
        result = self.run_tain('enrich', '--dry-run', '--db', archive.uri, '--sources', path,
                               env={'SHOP_KEY': 'open-sesame'})
        self.assertEqual(result.code, EXIT_DONE, result)
        self.assertNotIn('open-sesame', result.out + result.err)
        self.assertIn('/base/${SHOP_KEY}/v2/items?code=4%20711&k=${SHOP_KEY}\n', result.out)
        self.assertIn('lane shop: no limit, any at once, at http://127.0.0.1:', result.out)
        self.assertIn('CREATE INDEX', result.out)


if __name__ == '__main__':
    unittest.main()
