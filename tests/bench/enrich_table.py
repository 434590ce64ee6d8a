"""The table that the benches of enrichment fill: a flowsheet, with the two indexes that the sweep
relies on."""

import os
import subprocess

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
INSERT = """
    INSERT INTO {table} (id, artist_name, album_title, track_title)
    WITH RECURSIVE g (i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM g WHERE i < {last})
    SELECT i, 'The Silver Rivers ' || i, 'Northern Signal', 'Night Engine No. ' || i FROM g;"""


def fill(db, rows):
    """A new archive with a new table in it."""
    db.fresh()
    db.script(f'CREATE TABLE flowsheet (id {KEYS[db.name]}, {COLUMNS});')
    if rows:
        db.script(INSERT.format(table='flowsheet', first=1, last=rows))
    db.script(INDEXES)


def install(bench, db):
    """The change feed logs it."""
    subprocess.run([bench.tain, 'cdc', 'install', '--table', 'flowsheet'], check=True,
                   env=dict(os.environ, TAIN_DB=db.uri()), stdout=subprocess.DEVNULL)
