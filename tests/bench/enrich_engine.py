"""A whole worker of `tain enrich`: how many rows a second does it hear of, claim, call for and
finish, and how long after the commit of a new row is the row claimed?

The rate is that of enricher.c, one process with a provider that is free. Rows are inserted while it
runs, 500 in a transaction, by a client that takes its share of the machine like any other. Beside
it, rows that were there before, in a table that the change feed logs and in one that it does not;
and, for comparison, calls over HTTP to a server on the same machine.

The latency is that of `tain enrich` itself, which has nothing else to do, under a trickle of single
rows. On PostgreSQL both ends are the times of the commits, as the server keeps them
(track_commit_timestamp): the first is a little before the client hears of it. On SQLite the first
is when the writer has its commit acknowledged, the other when a reader that looks every millisecond
sees the claim: a little late."""

import contextlib
import os
import pathlib
import signal
import sqlite3
import statistics
import subprocess
import threading
import time

from enrich_table import INSERT, fill, install
from upstream import Demo, stop

BATCH = 500
ROWS, QUICK_ROWS = 30_000, 5_000
ROUNDS, QUICK_ROUNDS = 3, 1
GOALS = {'sqlite': 10_000, 'postgres': 5_000}
RATE, SECONDS, QUICK_SECONDS = 50, 20, 5
MAX_P50_MS = 50
LOOK_SECONDS = 0.001
PLAN = """
provider free {{
    url   = "{url}"
    rate  = none
    slots = {slots}
}}
source flowsheet {{
    provider = free
    table    = {table}
    key      = id
    filter   = "entry_type = 'track'"
    status   = metadata_status
    since    = enriching_since
    {what}
}}
"""
LOOKUP = """
    request {
        path = "/api/v1/lookup"
        body = '{ "artist": "{artist_name}", "song": "{track_title}", "album": "{album_title}" }'
    }
    match  = "results[0].artwork"
    unsure = { "timeout", "degraded" }
    map artwork_url  { type = url  from = "results[0].artwork.artwork_url" }
    map discogs_url  { type = url  from = "results[0].artwork.release_url" }
    map spotify_url  { type = url  from = "results[0].artwork.spotify_url" }
    map release_year { type = int  from = "results[0].artwork.release_year" }
    map artist_bio   { type = text from = "results[0].artwork.artist_bio" }
"""
ITEM = """
    request { path = "/item/1.json?row={id}" }
    match = id
    map artist_bio { type = text from = type }
"""


def write_plan(bench, db, what, url='http://127.0.0.1:9', slots='none'):
    path = pathlib.Path(bench.work, 'enrich.conf')
    path.write_text(PLAN.format(url=url, slots=slots, table=db.table, what=what))
    return str(path)


class Insert(threading.Thread):
    """Rows first to last, so many in a transaction; with a rate, by a schedule. `acks` has the
    time of each commit, for the rows of it."""

    def __init__(self, db, last, batch, rate=None):
        super().__init__()
        self.db, self.last, self.batch, self.rate, self.acks = db, last, batch, rate, {}

    def run(self):
        began = time.time()
        with contextlib.closing(self.db.writer()) as writer:
            for first in range(1, self.last + 1, self.batch):
                wait = began + first / self.rate - time.time() if self.rate else 0
                if wait > 0:
                    time.sleep(wait)
                last = min(first + self.batch - 1, self.last)
                writer.execute(INSERT.format(table=self.db.table, first=first, last=last))
                self.acks[first] = time.time()


class Enricher:
    """enricher.c at work."""

    def __init__(self, bench, db, plan, rows, how=()):
        self.db, self.rows = db, rows
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [str(bench.options.build / 'tests' / 'bench' / 'enricher'), db.uri(), plan, str(rows),
             *how], stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        stop(self.process)
        self.process.stdout.close()

    def said(self, word):
        words = self.process.stdout.readline().split()
        if words[:1] != [word]:
            raise RuntimeError(f'enricher said {words} and not {word}')
        return words[1:]

    def rate(self):
        """Rows a second, and CPU microseconds of its own for each."""
        cpu, = self.said('done')
        rate = self.rows / (time.monotonic() - self.began)
        if self.process.wait(60):
            raise RuntimeError(f'enricher ended with {self.process.returncode}')
        left = self.db.ask("SELECT COUNT(*) FROM " + self.db.table + " WHERE metadata_status IN "
                           "('pending', 'enriching')")
        if left:
            raise RuntimeError(f'{self.db.name}: {left} rows were not finished')
        return rate, float(cpu) * 1e6 / self.rows


def run_live(bench, db, rows):
    fill(db, 0)
    install(bench, db)
    with Enricher(bench, db, write_plan(bench, db, LOOKUP), rows) as enricher:
        enricher.said('ready')
        writer = Insert(db, rows, BATCH)
        enricher.began = time.monotonic()
        writer.start()
        try:
            return enricher.rate()
        finally:
            writer.join()


def run_backlog(bench, db, rows, what=LOOKUP, how=(), logged=True, **plan):
    fill(db, rows)
    if logged:
        install(bench, db)
    with Enricher(bench, db, write_plan(bench, db, what, **plan), rows, how) as enricher:
        enricher.said('ready')
        return enricher.rate()


def run_unlogged(bench, db, rows):
    return run_backlog(bench, db, rows, logged=False)


def run_http(bench, db, rows):
    with Demo(bench.tain, rows) as demo:
        return run_backlog(bench, db, rows, ITEM, ['http'], url=demo.plain, slots=128)


def bench_rates(bench, db):
    quick = bench.options.quick
    rows = QUICK_ROWS if quick else ROWS
    ways = {'as they are inserted': run_live, 'that were there before': run_backlog,
            'likewise, not logged': run_unlogged, 'likewise, called over HTTP': run_http}
    found = {way: [] for way in ways}
    for _ in range(QUICK_ROUNDS if quick else ROUNDS):
        for way, run in ways.items():
            rate, cpu = run(bench, db, rows)
            found[way].append(rate)
            print(f'  {db.name:9}{way:28}{rate:9,.0f} rows/s   {cpu:6.0f} us CPU of its own per '
                  'row', flush=True)
    for way, rates in found.items():
        rate = statistics.median(rates)
        goal = () if run_http is ways[way] else (f'>= {GOALS[db.name]:,}/s',
                                                 rate >= GOALS[db.name])
        bench.row(f'{db.name}: whole worker, {rows:,} rows {way}', f'{rate:,.0f}/s', *goal)


# --- latency ---

class Watch(threading.Thread):
    """Looks into a SQLite archive until the claims of all rows are there; `seen` says when."""

    def __init__(self, db, rows):
        super().__init__()
        self.db, self.rows, self.seen, self.over = db, rows, {}, threading.Event()

    def run(self):
        with contextlib.closing(sqlite3.connect(self.db.path, isolation_level=None)) as look:
            version = None
            while len(self.seen) < self.rows and not self.over.is_set():
                now, = look.execute('PRAGMA data_version').fetchone()
                if now == version:
                    time.sleep(LOOK_SECONDS)
                    continue
                version = now
                found = look.execute('SELECT key FROM claimed WHERE rowid > ?',
                                     (len(self.seen),)).fetchall()
                at = time.time()
                self.seen.update((int(key), at) for key, in found)


def watch_sqlite(db):
    db.script("""
        CREATE TABLE claimed (key INTEGER);
        CREATE TRIGGER claimed AFTER INSERT ON claims BEGIN
            INSERT INTO claimed VALUES (new.key); END;""")


def watch_postgres(db):
    db.script(f"""
        CREATE TABLE claimed (key BIGINT, xid XID);
        CREATE TABLE inserted (key BIGINT, xid XID);
        CREATE FUNCTION note_claim() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO public.claimed VALUES (new.key::bigint, pg_current_xact_id()::xid);
            RETURN NULL; END $$;
        CREATE FUNCTION note_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO public.inserted VALUES (new.id, pg_current_xact_id()::xid);
            RETURN NULL; END $$;
        CREATE TRIGGER note AFTER INSERT ON tain.claims FOR EACH ROW EXECUTE FUNCTION note_claim();
        CREATE TRIGGER note AFTER INSERT ON {db.table}
            FOR EACH ROW EXECUTE FUNCTION note_insert();""")


def latencies_postgres(db):
    """In microseconds, by the server's own times of the two commits."""
    rows = db.server.psql(
        'SELECT (extract(epoch FROM pg_xact_commit_timestamp(c.xid) - '
        'pg_xact_commit_timestamp(i.xid)) * 1000000)::bigint '
        'FROM claimed c JOIN inserted i USING (key)', 'bench')
    return [int(n) for n in rows.split()]


@contextlib.contextmanager
def worker(bench, db, plan):
    child = subprocess.Popen([bench.tain, 'enrich', '--db', db.uri(), '--sources', plan,
                              '--metrics-bind', 'none', '--log-level', 'warn'],
                             start_new_session=True)
    try:
        yield child
        child.send_signal(signal.SIGTERM)
        if child.wait(60):
            raise RuntimeError(f'tain enrich ended with {child.returncode}')
    finally:
        stop(child)


def wait_for(bench, db, rows):
    deadline = time.monotonic() + 120
    where = 'claimed' if db.name == 'sqlite' else 'public.claimed'
    while db.ask(f'SELECT COUNT(*) FROM {where}') < rows:
        if time.monotonic() > deadline:
            raise RuntimeError(f'{db.name}: {rows} rows were not claimed')
        time.sleep(0.2)


def trickle(bench, db, rows):
    """Milliseconds from commit to claim of each row."""
    watch = Watch(db, rows) if db.name == 'sqlite' else None
    if watch:
        watch.start()
    try:
        writer = Insert(db, rows, 1, RATE)
        writer.start()
        writer.join()
        wait_for(bench, db, rows)
    except BaseException:
        if watch:
            watch.over.set()
        raise
    if not watch:
        return [us / 1000 for us in latencies_postgres(db)]
    watch.join()
    return [(watch.seen[key] - at) * 1000 for key, at in writer.acks.items()]


def bench_latency(bench, db):
    rows = RATE * (QUICK_SECONDS if bench.options.quick else SECONDS)
    fill(db, 0)
    install(bench, db)
    with Demo(bench.tain, rows) as demo, worker(bench, db, write_plan(
            bench, db, ITEM, demo.plain, 16)):
        time.sleep(2)  # its first sweep, and that it listens
        {'sqlite': watch_sqlite, 'postgres': watch_postgres}[db.name](db)
        took = sorted(trickle(bench, db, rows))
    if len(took) != rows:
        raise RuntimeError(f'{db.name}: {len(took)} of {rows} rows have been seen')
    p50, p99 = took[len(took) // 2], took[len(took) * 99 // 100]
    what = f'{db.name}: commit to claim, {RATE} rows/s'
    bench.row(f'{what}, p50', f'{p50:.1f} ms', f'< {MAX_P50_MS} ms', p50 < MAX_P50_MS)
    bench.row(f'{what}, p99', f'{p99:.1f} ms (most {took[-1]:.1f})')


def bench_engine(bench, databases):
    for db in databases:
        bench_rates(bench, db)
    for db in databases:
        bench_latency(bench, db)
