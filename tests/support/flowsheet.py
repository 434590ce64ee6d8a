"""What the suites of `tain enrich` share: the flowsheet as its owners describe it, the shipped
example with other limits, workers, and what they tell of themselves."""

import re

from lib import ROOT, E2E, OnPostgres, OnSqlite, wait_until
from lookup import Lookup, columns_of, matches
from updater import metrics_of

TOKEN = 'a-token-of-the-tests'
TABLE = 'wxyc_schema.flowsheet'
SCHEMA = """
CREATE TABLE {table} (
    id {key} PRIMARY KEY, entry_type TEXT NOT NULL DEFAULT 'track',
    artist_name TEXT, album_title TEXT, track_title TEXT,
    metadata_status TEXT NOT NULL DEFAULT 'pending' CHECK (metadata_status IN
        ('pending', 'enriching', 'enriched_match', 'enriched_no_match', 'failed_no_retry')),
    enriching_since TIMESTAMPTZ,
    artwork_url VARCHAR(512), discogs_url VARCHAR(512), spotify_url VARCHAR(512),
    apple_music_url VARCHAR(512), youtube_music_url VARCHAR(512), bandcamp_url VARCHAR(512),
    soundcloud_url VARCHAR(512), artist_wikipedia_url VARCHAR(512), release_year SMALLINT,
    artist_bio TEXT, notes TEXT);
CREATE INDEX {busy} ON {table} (enriching_since) WHERE metadata_status = 'enriching';
CREATE INDEX {pending} ON {table} (id)
    WHERE metadata_status = 'pending' AND entry_type = 'track'
"""
FINAL = ('enriched_match', 'enriched_no_match', 'failed_no_retry')
EXAMPLE = ROOT / 'packaging' / 'examples' / 'flowsheet.conf'


class Flowsheets:
    """For tests on either database."""

    def flowsheet(self, install=True):
        """A database with the owners' table, logged."""
        archive = self.archive()
        for statement in self.schema():
            archive.execute(statement)
        migrated = self.run_tain('migrate', '--db', archive.uri)
        self.assertEqual(migrated.code, 0, migrated)
        if install:
            done = self.run_tain('cdc', 'install', '--table', self.table, '--db', archive.uri)
            self.assertEqual(done.code, 0, done)
        return archive

    def lookup(self, **options):
        lookup = Lookup(token=TOKEN, **options)
        self.addCleanup(lookup.close)
        return lookup

    def sources(self, rate='60000/min', slots=20, timeout='30s', **changes):
        """The shipped example with other limits; the path of the file."""
        text = EXAMPLE.read_text(encoding='utf-8')
        changes['table'] = self.table
        for name, value in dict(rate=f'"{rate}"', slots=slots, timeout=timeout, **changes).items():
            text, n = re.subn(rf'(?m)^(\s*{name}\s*=\s*)("[^"]*"|\S+)', rf'\g<1>{value}', text)
            self.assertEqual(n, 1, name)
        path = self.folder / f"flowsheet{len(list(self.folder.glob('*.conf')))}.conf"
        path.write_text(text, encoding='utf-8')
        return path

    def worker(self, archive, lookup, path=None, *arguments, env=None):
        return self.start('enrich', '--db', archive.uri, '--sources', path or self.sources(),
                          '--metrics-bind', '127.0.0.1:0', '--log-level', 'debug', *arguments,
                          env=dict({'LML_URL': lookup.url, 'LML_TOKEN': TOKEN}, **(env or {})))

    def ready(self, run):
        """It hears the feed, and its first sweep is over: a look at the lanes comes after it."""
        def told():
            figures = metrics_of(run) or {}
            return figures.get('tain_feed_listen_up') == 1 and any(
                figures.get(f'tain_enrich_lane_state{{lane="lml",state="{state}"}}') == 1
                for state in ('runs', 'waits', 'ill', 'paused', 'refused'))
        wait_until(lambda: told() or not run.running(), what='a worker that listens')
        self.assertTrue(run.running(), run.so_far())
        return run

    @staticmethod
    def figure(run, name, default=0):
        return (metrics_of(run) or {}).get(name, default)

    def events(self, run):
        """received, and {result: how many}"""
        figures = metrics_of(run)
        name = 'tain_enrich_events_total{source="flowsheet",result="%s"}'
        found = {result: figures[name % result]
                 for result in ('won', 'lost', 'dropped', 'ignored', 'left')}
        return figures['tain_enrich_events_received_total{source="flowsheet"}'], found

    def wait_conserved(self, run):
        """Every event has come to an end. Answers the results."""
        def conserved():
            received, results = self.events(run)
            return received == sum(results.values())
        wait_until(conserved, what='an end for every event')
        return self.events(run)[1]

    def insert(self, archive, *artists, **columns):
        names = ''.join(f', {name}' for name in columns)
        values = ''.join(f", '{value}'" for value in columns.values())
        rows = ', '.join(f"('{artist}', 'Album', 'Song of {artist}'{values})" for artist in artists)
        archive.execute(f'INSERT INTO {self.table} (artist_name, album_title, track_title{names}) '
                        f'VALUES {rows}')

    def states(self, archive):
        return dict(archive.rows(f'SELECT metadata_status, COUNT(*) FROM {self.table} '
                                 "WHERE entry_type = 'track' GROUP BY 1"))

    def wait_final(self, archive, n, runs=()):
        def all_final():
            for run in runs:
                self.assertTrue(run.running(), run.so_far())
            return sum(self.states(archive).get(state, 0) for state in FINAL) == n
        try:
            wait_until(all_final, 240, f'{n} rows that are final', every=0.05)
        except AssertionError as late:
            logs = '\n'.join(run.so_far()[-3000:] for run in runs)
            raise AssertionError(f'{late}: {self.states(archive)}\n{logs}') from None

    def assert_rows(self, archive):
        """Each final row has what the service says of its artist, and nothing is held."""
        names = sorted(columns_of('x'))
        for artist, album, state, since, *values in archive.rows(
                'SELECT artist_name, album_title, metadata_status, enriching_since, '
                f"{', '.join(names)} FROM {self.table} WHERE entry_type = 'track'"):
            if state == 'failed_no_retry':
                continue
            found = matches(artist)
            self.assertEqual(state, 'enriched_match' if found else 'enriched_no_match', artist)
            self.assertIsNone(since)
            expected = columns_of(artist, album) if found else dict.fromkeys(names)
            self.assertEqual(dict(zip(names, values)), expected)
        self.assertEqual(archive.rows("SELECT COUNT(*) FROM claims WHERE state = 'held'"), [(0,)])


class FlowsheetOnPostgres(Flowsheets, OnPostgres):
    table = TABLE

    @staticmethod
    def schema():
        return ('CREATE SCHEMA wxyc_schema',
                SCHEMA.format(table=TABLE, key='BIGSERIAL', busy='', pending=''))


class FlowsheetOnSqlite(Flowsheets, OnSqlite):
    table = 'flowsheet'

    @staticmethod
    def schema():
        return SCHEMA.format(table='flowsheet', key='INTEGER', busy='flowsheet_busy',
                             pending='flowsheet_pending').split(';')


class EnrichTest(FlowsheetOnPostgres, E2E):
    pass
