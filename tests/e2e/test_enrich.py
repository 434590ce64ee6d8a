"""`tain enrich` at work on the flowsheet: who wins a row, what a crash strands (nothing), limits
that hold for all workers, and a service that fails in every way it can."""

import re
import signal
import unittest

from lib import EXIT_DONE, EXIT_USAGE, wait_until  # first: it knows where the others are
from flowsheet import TABLE, TOKEN, EnrichTest


def artists(n, first=0):
    """A third of them nobody."""
    return [f"{'Nobody' if i % 3 == 0 else 'Artist'} {i}" for i in range(first, first + n)]


class Winning(EnrichTest):
    def test_two_processes_one_row(self):
        archive, lookup = self.flowsheet(), self.lookup()
        runs = [self.ready(self.worker(archive, lookup)) for _ in range(2)]
        self.insert(archive, 'Artist 1')
        self.wait_final(archive, 1, runs)
        self.assertEqual(lookup.artists(), {'Artist 1': 1})
        self.assert_rows(archive)
        for run in runs:
            self.wait_conserved(run)
        self.assertEqual(sorted(map(self.claims, runs)), [0, 1])
        loser = min(runs, key=self.claims)
        # both hear of the insert, of the claim and of the end
        for run in runs:
            wait_until(lambda run=run: self.events(run)[0] == 3, what='all three events')
        self.insert(archive, 'Nobody 2')  # the loser goes on
        self.wait_final(archive, 2, runs)
        self.assertTrue(loser.running())

    def claims(self, run):
        return self.figure(run, 'tain_enrich_claims_total{source="flowsheet",result="won"}')

    def second(self, run):
        results = self.events(run)[1]
        return results['lost'] + results['left'] == 1

    def test_the_other_goes_on(self):
        """Who comes second says so and does nothing; when the first gives up, it is its turn."""
        archive, lookup = self.flowsheet(), self.lookup()
        runs = [self.ready(self.worker(archive, lookup)) for _ in range(2)]
        lookup.become('hang')
        self.insert(archive, 'Artist 1')
        wait_until(lambda: sorted(map(self.claims, runs)) == [0, 1], what='one that came first')
        loser, winner = sorted(runs, key=self.claims)
        wait_until(lambda: self.second(loser), what='one that came second')
        if self.events(loser)[1]['lost']:
            self.assertIn('a sibling has this row: nothing to do" key=1', loser.so_far())
        self.assertEqual(len(lookup.calls), 1)
        lookup.usual()
        winner.signal(signal.SIGTERM)
        self.assertEqual(winner.wait().code, EXIT_DONE)
        self.wait_final(archive, 1, [loser])
        self.assert_rows(archive)
        self.assertEqual(archive.rows('SELECT token, attempts FROM claims'), [(2, 1)])

    def test_ten_processes(self):
        archive, lookup, path = self.flowsheet(), self.lookup(), self.sources()
        runs = [self.worker(archive, lookup, path) for _ in range(10)]
        for run in runs:
            self.ready(run)
        for first in range(0, 1000, 100):
            self.insert(archive, *artists(100, first))
        self.wait_final(archive, 1000, runs)
        self.assertEqual(set(lookup.artists().values()), {1})
        self.assertEqual(len(lookup.calls), 1000)
        self.assertLessEqual(lookup.highest, 20)
        self.assert_rows(archive)
        won = sum(self.wait_conserved(run)['won'] for run in runs)
        self.assertLessEqual(won, 1000)
        for run in runs:
            run.signal(signal.SIGTERM)
        for run in runs:
            self.assertEqual(run.wait().code, EXIT_DONE)

    def test_thousand_events(self):
        """Each event ends as one of five results, and each row is final: as the metrics say it."""
        archive, lookup = self.flowsheet(), self.lookup()
        run = self.ready(self.worker(archive, lookup))
        self.insert(archive, *artists(1000))
        self.wait_final(archive, 1000, [run])
        wait_until(lambda: self.events(run)[0] == 3000, what='every event')
        results = self.wait_conserved(run)
        self.assertEqual(sum(results.values()), 3000)
        self.assertEqual(results['left'], 0)  # there is nobody else
        self.assertEqual(results['won'] + results['dropped'] + results['lost']
                         + results['ignored'], 3000)
        rows = 'tain_enrich_rows{source="flowsheet",state="%s"}'
        wait_until(lambda: self.figure(run, rows % 'enriched_match')
                   + self.figure(run, rows % 'enriched_no_match') == 1000, what='the rows')
        self.assertEqual(self.figure(run, rows % 'pending'), 0)
        self.assertEqual(len(lookup.calls), 1000)
        self.assert_rows(archive)

    def test_same_event_twice(self):
        archive, lookup = self.flowsheet(), self.lookup()
        run = self.ready(self.worker(archive, lookup))
        lookup.become('slow', seconds=1)
        self.insert(archive, 'Artist 1')
        wait_until(lambda: lookup.calls, what='the call')
        archive.execute(f"UPDATE {TABLE} SET notes = 'again'")  # heard while it is worked on
        self.wait_final(archive, 1, [run])
        archive.execute(f"UPDATE {TABLE} SET notes = 'and again'")
        wait_until(lambda: self.events(run)[0] == 5, what='all events')
        self.wait_conserved(run)
        self.assertEqual(len(lookup.calls), 1)
        self.assertEqual(archive.rows('SELECT token, attempts FROM claims'), [(1, 1)])

    def test_pending_twice(self):
        """Two events say that a row waits: it is claimed once."""
        archive, lookup = self.flowsheet(), self.lookup()
        run = self.ready(self.worker(archive, lookup))
        self.steer(archive, 'pause')
        self.insert(archive, 'Artist 1')
        archive.execute(f"UPDATE {TABLE} SET notes = 'again'")
        wait_until(lambda: self.events(run)[0] == 2, what='both events')
        self.assertEqual(self.states(archive), {'pending': 1})
        self.steer(archive, 'resume')
        self.wait_final(archive, 1, [run])
        wait_until(lambda: self.events(run)[0] == 4, what='the claim and the end')
        results = self.wait_conserved(run)
        self.assertEqual((results['won'], results['dropped']), (1, 0))
        self.assertEqual(len(lookup.calls), 1)
        self.assertEqual(archive.rows('SELECT token, attempts FROM claims'), [(1, 1)])

    def steer(self, archive, word):
        done = self.run_tain('enrich', word, 'lml', '--db', archive.uri)
        self.assertEqual(done.code, EXIT_DONE, done)

    def test_names_in_another_case(self):
        """A column is found whatever its case; so are events of its table."""
        archive, lookup = self.flowsheet(install=False), self.lookup()
        archive.execute(f'ALTER TABLE {TABLE} RENAME COLUMN id TO "Id"; '
                        f'ALTER TABLE {TABLE} RENAME COLUMN metadata_status TO "Metadata_Status"')
        done = self.run_tain('cdc', 'install', '--table', TABLE, '--db', archive.uri)
        self.assertEqual(done.code, EXIT_DONE, done)
        path = self.sources()
        run = self.ready(self.worker(archive, lookup, path))
        self.insert(archive, 'Artist 1')
        wait_until(lambda: self.events(run)[1]['won'] == 1, what='a claim by way of the feed')

    def test_large_rows(self):
        """A row of a megabyte is more than a notification carries, and enriched like any other."""
        archive, lookup = self.flowsheet(), self.lookup()
        run = self.ready(self.worker(archive, lookup))
        archive.execute(f'INSERT INTO {TABLE} (artist_name, album_title, track_title, notes) '
                        "SELECT 'Artist ' || i, 'Album', 'Song', repeat('x', 1048576) "
                        'FROM generate_series(1, 3) AS i')
        self.wait_final(archive, 3, [run])
        self.assert_rows(archive)

    def test_before_and_without_the_feed(self):
        """What was pending before, and a table that is not logged, are found by the sweep."""
        archive, lookup = self.flowsheet(install=False), self.lookup()
        self.insert(archive, *artists(30))
        self.insert(archive, 'Talk', entry_type='talkset')
        run = self.worker(archive, lookup)
        self.wait_final(archive, 30, [run])
        self.assertIn('are not logged', run.so_far())
        self.assertEqual(archive.rows(f"SELECT metadata_status FROM {TABLE} "
                                      "WHERE entry_type <> 'track'"), [('pending',)])
        self.assert_rows(archive)


RECORDS = """
provider lml { url = "${LML_URL}" token = "${LML_TOKEN}" rate = none slots = 4 }
source records {
    provider = lml
    table = wxyc_schema.records
    key = code
    status = state
    request {
        path = "/api/v1/lookup"
        body = '{ "artist": "{code}", "song": "x", "album": "y", "raw_message": "z" }'
    }
    match = "results[0].artwork"
    map url { type = url from = "results[0].artwork.artwork_url" }
}
"""


class Heard(EnrichTest):
    def test_keys_as_events_write_them(self):
        """The key of a source is any unique column; here events have it among the data, behind
        other columns and with characters that JSON escapes."""
        archive, lookup = self.flowsheet(install=False), self.lookup()
        archive.execute('CREATE TABLE wxyc_schema.records (n BIGSERIAL PRIMARY KEY, odd JSONB, '
                        'code TEXT UNIQUE NOT NULL, url VARCHAR(512), '
                        "state TEXT NOT NULL DEFAULT 'pending')")
        done = self.run_tain('cdc', 'install', '--table', 'wxyc_schema.records',
                             '--db', archive.uri)
        self.assertEqual(done.code, EXIT_DONE, done)
        path = self.folder / 'records.conf'
        path.write_text(RECORDS, encoding='utf-8')
        run = self.ready(self.worker(archive, lookup, path))
        codes = ['plain', '17', 'with "quotes" and \\', '{"a": [1]}', 'Łódź \u2028 \U0001f3b5']
        values = ', '.join(f"""('{{"code": "no", "state": "done", "x": [{{}}, "]"]}}', '{code}')"""
                           for code in codes)
        archive.execute(f'INSERT INTO wxyc_schema.records (odd, code) VALUES {values}')
        wait_until(lambda: archive.rows('SELECT COUNT(*) FROM wxyc_schema.records WHERE state = '
                                        "'enriched_match'") == [(len(codes),)], what='the rows')
        self.assertEqual(lookup.artists(), dict.fromkeys(codes, 1))
        won = 'tain_enrich_events_total{source="records",result="won"}'
        wait_until(lambda: self.figure(run, won) == len(codes), what='rows that were heard of')


class Ends(EnrichTest):
    """Of workers, and of the database; deaths of workers are in crash/test_enrich_points.py."""

    def test_stop_gives_back(self):
        archive, lookup = self.flowsheet(), self.lookup()
        lookup.become('hang')
        self.insert(archive, *artists(10))
        run = self.worker(archive, lookup, self.sources(slots=4))
        wait_until(lambda: len(lookup.calls) == 4, what='four calls')
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait().code, EXIT_DONE)
        self.assertEqual(self.states(archive), {'pending': 10})
        self.assertEqual(archive.rows("SELECT COUNT(*) FROM claims WHERE state = 'held' "
                                      'OR attempts > 0'), [(0,)])
        self.assertEqual(archive.rows('SELECT COUNT(*) FROM provider_slots '
                                      'WHERE holder IS NOT NULL'), [(0,)])

    def test_database_away(self):
        archive, lookup = self.flowsheet(), self.lookup()
        run = self.ready(self.worker(archive, lookup))
        self.insert(archive, *artists(20))
        self.wait_final(archive, 20, [run])
        self.server.stop()
        self.server.start()
        self.insert(archive, *artists(20, 20))
        self.wait_final(archive, 40, [run])
        self.assert_rows(archive)


class Limits(EnrichTest):
    def test_rate_and_slots_hold_for_five(self):
        """Some 100 calls at 5 a second, two at once, by five processes."""
        archive, lookup = self.flowsheet(), self.lookup()
        path = self.sources(rate='5/s', slots=2)
        runs = [self.worker(archive, lookup, path) for _ in range(5)]
        for run in runs:
            self.ready(run)
        lookup.become('slow', seconds=0.1)
        self.insert(archive, *artists(60))
        self.wait_final(archive, 60, runs)
        self.assertEqual(len(lookup.calls), 60)
        self.assertLessEqual(lookup.highest, 2)
        self.assert_rows(archive)

    def test_wait_that_was_asked_for(self):
        archive, lookup = self.flowsheet(), self.lookup()
        path = self.sources(slots=1)
        runs = [self.ready(self.worker(archive, lookup, path)) for _ in range(2)]
        lookup.become('busy', times=1, retry_after=3)
        self.insert(archive, *artists(10))
        self.wait_final(archive, 10, runs)
        first, second = (call.at for call in lookup.calls[:2])
        self.assertGreaterEqual(second - first, 2.9)
        self.assertEqual(sum(run.so_far().count('the provider asks us to wait" lane=lml '
                                                'class=http_429 wait_ms=3000')
                             for run in runs), 1)
        self.assertEqual(archive.rows('SELECT MAX(attempts) FROM claims'), [(1,)])
        self.assert_rows(archive)


class Trouble(EnrichTest):
    def test_every_kind_of_failure_passes(self):
        for mode in ('down', 'broken', 'garbage', 'odd', 'cut', 'degraded', 'timeout', 'drop'):
            with self.subTest(mode=mode):
                archive, lookup = self.flowsheet(), self.lookup()
                lookup.become(mode, times=3)
                self.insert(archive, *artists(8))
                run = self.worker(archive, lookup, self.sources(slots=1))
                # rows that failed wait for a while; others go on
                wait_until(lambda archive=archive: self.states(archive).get('enriched_match', 0)
                           + self.states(archive).get('enriched_no_match', 0) >= 5, 240,
                           'rows that were not hit', every=0.05)
                self.assertNotIn('failed_no_retry', self.states(archive))
                archive.execute('UPDATE claims SET next_try_at = 0 WHERE next_try_at IS NOT NULL')
                run.signal(signal.SIGTERM)
                self.assertEqual(run.wait().code, EXIT_DONE)
                run = self.worker(archive, lookup, self.sources())
                self.wait_final(archive, 8, [run])
                self.assert_rows(archive)

    def test_wrong_token_pauses(self):
        archive, lookup = self.flowsheet(), self.lookup()
        lookup.become('unauthorized')
        self.insert(archive, *artists(10))
        run = self.worker(archive, lookup, self.sources(slots=1))
        self.say(run, 'the lane is paused')
        wait_until(lambda: self.states(archive) == {'pending': 10}, what='the row given back')
        self.assertEqual(len(lookup.calls), 1)
        self.assertNotIn(TOKEN, run.so_far())
        lookup.usual()
        resumed = self.run_tain('enrich', 'resume', 'lml', '--db', archive.uri)
        self.assertEqual(resumed.code, EXIT_DONE, resumed)
        self.wait_final(archive, 10, [run])
        self.assertEqual(archive.rows('SELECT MAX(attempts) FROM claims'), [(1,)])

    def say(self, run, words):
        wait_until(lambda: words in run.so_far() or not run.running(), what=words)
        self.assertIn(words, run.so_far())

    def test_rows_that_the_service_refuses(self):
        archive, lookup = self.flowsheet(), self.lookup()
        lookup.when(lambda body: body['artist'] == 'Artist 1', 'refuse')
        self.insert(archive, *artists(6))
        run = self.worker(archive, lookup)
        self.wait_final(archive, 6, [run])
        self.assertEqual(archive.rows(f"SELECT artist_name FROM {TABLE} WHERE metadata_status = "
                                      "'failed_no_retry'"), [('Artist 1',)])
        self.assertEqual(lookup.artists()['Artist 1'], 1)
        self.assert_rows(archive)


class Mistakes(EnrichTest):
    """Each is told at the start, with file and line, and ends it with 2."""

    def refused(self, archive, text, pattern, line):
        path = self.folder / 'wrong.conf'
        path.write_text(text, encoding='utf-8')
        result = self.run_tain('enrich', '--db', archive.uri, '--sources', path,
                               '--metrics-bind', 'none',
                               env={'LML_URL': 'http://127.0.0.1:9', 'LML_TOKEN': TOKEN})
        self.assertEqual(result.code, EXIT_USAGE, result)
        self.assertRegex(result.err, pattern)
        number = text[:text.index(line)].count('\n') + 1
        self.assertIn(f'wrong.conf:{number}:', result.err)
        self.assertNotIn(TOKEN, result.err)

    def test_mistakes_name_their_line(self):
        archive, good = self.flowsheet(), self.sources().read_text(encoding='utf-8')
        for old, new, pattern in (
                ('"{artist_name}",', '"{artist_name",', r'body|place|brace'),
                ('"{track_title}",', '"{no_such_column}",', r'no_such_column'),
                ('release_year         { type = int', 'release_year         { type = url',
                 r'release_year.*smallint'),
                ('map artist_bio  ', 'map no_such_column', r'no_such_column'),
                ('"entry_type = \'track\'"', '"entry_type = = 1"', r'filter'),
                ('table  = wxyc_schema.flowsheet', 'table  = wxyc_schema.nothing', r'nothing'),
                ('${LML_TOKEN}', '${NO_SUCH_VARIABLE}', r'NO_SUCH_VARIABLE'),
                ('provider = lml', 'provider = nobody', r'nobody'),
                ('max_attempts = 5', 'max_attempst = 5', r'max_attempts')):
            with self.subTest(new=new):
                self.assertEqual(good.count(old), 1, old)
                self.refused(archive, good.replace(old, new), pattern, new)

    def test_provider_that_cannot_be_reached(self):
        """It is told, and waited for: a service may be away for a while."""
        archive, lookup = self.flowsheet(), self.lookup()
        port = lookup.port
        lookup.close()
        self.insert(archive, 'Artist 1')
        path = self.sources()
        text = path.read_text(encoding='utf-8')
        number = text[:text.index('url     =')].count('\n') + 1
        run = self.worker(archive, lookup, path)
        told = f'{path.name}:{number}: provider lml cannot be reached: '
        wait_until(lambda: told in run.so_far(), what='a word on the provider')
        self.lookup(port=port)  # there it is
        self.wait_final(archive, 1, [run])
        self.assert_rows(archive)

    def test_no_file(self):
        archive = self.flowsheet()
        result = self.run_tain('enrich', '--db', archive.uri, '--sources', 'nowhere.conf')
        self.assertEqual(result.code, EXIT_USAGE, result)
        self.assertTrue(re.search('nowhere.conf', result.err), result)


if __name__ == '__main__':
    unittest.main()
