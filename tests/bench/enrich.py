"""How many rows of a table can one process claim and finish in a second, in batches of 256, with
the two indexes that the sweep relies on? Each as it is, and with the triggers of the change feed,
which log every step of every row."""

import os
import statistics
import subprocess

ROWS, QUICK_ROWS = 100_000, 20_000
ROUNDS, QUICK_ROUNDS = 3, 1
GOALS = {'sqlite': 10_000, 'postgres': 5_000}
COLUMNS = """
    entry_type TEXT NOT NULL DEFAULT 'track', artist_name TEXT, album_title TEXT,
    track_title TEXT, metadata_status TEXT NOT NULL DEFAULT 'pending', enriching_since TIMESTAMP,
    artwork_url VARCHAR(512), discogs_url VARCHAR(512), spotify_url VARCHAR(512),
    release_year SMALLINT, artist_bio TEXT"""
KEYS = {'sqlite': 'INTEGER PRIMARY KEY', 'postgres': 'BIGINT PRIMARY KEY'}
INDEXES = """
    CREATE INDEX flowsheet_busy ON flowsheet (enriching_since)
        WHERE metadata_status = 'enriching';
    CREATE INDEX flowsheet_pending ON flowsheet (id)
        WHERE metadata_status = 'pending' AND entry_type = 'track';"""


def fill(db, rows):
    """A new archive with a new table in it."""
    db.fresh()
    db.script(f"""
        CREATE TABLE flowsheet (id {KEYS[db.name]}, {COLUMNS});
        INSERT INTO flowsheet (id, artist_name, album_title, track_title)
        WITH RECURSIVE g (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < {rows})
        SELECT i, 'The Silver Rivers ' || i, 'Northern Signal', 'Night Engine No. ' || i FROM g;
        {INDEXES}""")


def run_once(bench, db, rows, logged):
    fill(db, rows)
    if logged:
        subprocess.run([bench.tain, 'cdc', 'install', '--table', 'flowsheet'], check=True,
                       env=dict(os.environ, TAIN_DB=db.uri()), stdout=subprocess.DEVNULL)
    done = subprocess.run([str(bench.options.build / 'tests' / 'bench' / 'claims'), db.uri(),
                           'flowsheet', str(rows)], stdout=subprocess.PIPE, text=True, check=True)
    claiming, finishing, finished = done.stdout.split()
    if int(finished) != rows:
        raise RuntimeError(f'{db.name}: {finished} rows of {rows} were finished')
    rate = rows / (float(claiming) + float(finishing))
    print(f'  {db.name:9}{"logged" if logged else "":8}{rate:9,.0f} rows/s   claims '
          f'{rows / float(claiming):9,.0f}/s   results {rows / float(finishing):9,.0f}/s',
          flush=True)
    return rate


def bench_claims(bench, databases):
    quick = bench.options.quick
    rows = QUICK_ROWS if quick else ROWS
    for db in databases:
        rates = {False: [], True: []}
        for _ in range(QUICK_ROUNDS if quick else ROUNDS):
            for logged in rates:
                rates[logged].append(run_once(bench, db, rows, logged))
        plain = statistics.median(rates[False])
        bench.row(f'{db.name}: rows claimed and finished, {rows:,}', f'{plain:,.0f}/s',
                  f'>= {GOALS[db.name]:,}/s', plain >= GOALS[db.name])
        bench.row(f'{db.name}: the same, logged by the feed',
                  f'{statistics.median(rates[True]):,.0f}/s')


def bench_enrich(bench, databases):
    bench_claims(bench, databases)
