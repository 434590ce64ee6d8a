"""Searches next to what the databases bring along, over the same items and the same 200 words and
phrases: on SQLite FTS5 with its own tokenizer, best 20 by bm25 or the newest 20; on PostgreSQL
`websearch_to_tsquery('english', ...)` over a GIN index, best 20 by ts_rank or the newest 20; and
ripgrep over the dump, which has no index. They answer with the texts of their hits. tain counts all
hits too, ranks by title, points and comments, and looks at each hit again as it is stored now; it
does no stemming, and the others know neither `c++` nor dead items."""

import contextlib
import os
import sqlite3
import statistics
import subprocess
import time

import measure
from peers import need, or_skip
from search import QUERIES, percentile, write_items
from updater import PgReader

ITEMS, QUICK_ITEMS = 100_000, 20_000
GREPS = 20
ORDERS = {'relevance': 'rank', 'date': 'rowid DESC'}
PG_ORDERS = {'relevance': 'ts_rank(words, q) DESC', 'date': 'id DESC'}
FTS5 = """
    CREATE VIRTUAL TABLE docs USING fts5(title, text, url);
    INSERT INTO docs (rowid, title, text, url) SELECT id, title, text, url FROM archive.items
        ORDER BY id;
"""
TSEARCH = """
    CREATE TABLE public.docs AS SELECT id, title, text, to_tsvector('english',
        concat_ws(' ', title, url, text)) AS words FROM tain.items;
    ALTER TABLE public.docs ADD PRIMARY KEY (id);
    CREATE INDEX ON public.docs USING gin (words);
    VACUUM ANALYZE public.docs;
"""


def queries():
    return [line for line in QUERIES.read_text().splitlines() if line]


def for_fts5(query):
    """Its language, where a word may hold any character and NOT stands behind what is wanted."""
    if query.startswith('"'):
        return query
    words = query.replace('"', '').split()
    wanted = ' '.join(f'"{w}"' for w in words if not w.startswith('-'))
    return wanted + ''.join(f' NOT "{w[1:]}"' for w in words if w.startswith('-'))


def timed(ask, *words, **more):
    began = time.perf_counter()
    ask(*words, **more)
    return (time.perf_counter() - began) * 1000


def with_fts5(bench, db):
    path = os.path.join(bench.work, 'fts5.db')
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as found:
        found.execute('ATTACH ? AS archive', (db.path,))
        found.executescript('BEGIN;' + FTS5 + 'COMMIT;')

        def ask(query, order):
            return found.execute('SELECT rowid, title, text FROM docs WHERE docs MATCH ? ORDER BY '
                                 f'{ORDERS[order]} LIMIT 20', (for_fts5(query),)).fetchall()

        took = {order: run_twice(ask, order) for order in ORDERS}
    os.unlink(path)
    return took


def with_tsearch(_bench, db):
    for statement in TSEARCH.split(';')[:-1]:
        db.server.psql(statement, 'bench')
    with contextlib.closing(PgReader(db)) as reader:
        reader.lines('SET client_min_messages = warning')
        def ask(query, order):
            text = query.replace("'", "''")
            return reader.lines("SELECT id, title, text FROM public.docs, websearch_to_tsquery("
                                f"'english', '{text}') AS q WHERE words @@ q ORDER BY "
                                f'{PG_ORDERS[order]} LIMIT 20')

        return {order: run_twice(ask, order) for order in PG_ORDERS}


def run_twice(ask, order):
    """The first time is to warm up."""
    for _ in range(2):
        took = [timed(ask, query, order) for query in queries()]
    return took


def with_ripgrep(dump):
    program = need('rg', 'ripgrep')
    words = [q for q in queries() if q.isalnum()][:GREPS]
    return [timed(subprocess.run, [program, '-c', '-i', '-F', '-e', word, dump],
                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for word in words]


def with_tain(bench, db):
    searcher = str(bench.options.build / 'tests' / 'bench' / 'searcher')
    found = subprocess.run([searcher, db.uri(), str(QUERIES), '1'], stdout=subprocess.PIPE,
                           check=True, text=True).stdout
    lines = [line.split('\t') for line in found.splitlines()]
    return {order: [float(line[0]) for line in lines if line[3] == order] for order in ORDERS}


def compare(bench, what, name, own, theirs):
    for label, share in (('p50', 0.50), ('p99', 0.99)):
        a, b = percentile(own, share), percentile(theirs, share)
        bench.peer(f'{what}, {label}', name, f'{a:.1f} ms', f'{b:.1f} ms', b / a)


def bench_search_peers(bench, databases):
    count = QUICK_ITEMS if bench.options.quick else ITEMS
    dump = os.path.join(bench.work, 'search.ndjson')
    kind = write_items(dump, count)
    for db in databases:
        db.fresh()
        for command in (('import', dump), ('search', '--index')):
            measure.run(command[0], [bench.tain, *command, '--progress', 'none'], count,
                        db.servers, env={'TAIN_DB': db.uri()})
        if db.name == 'postgres':
            db.server.psql('VACUUM ANALYZE', 'bench')
        own = with_tain(bench, db)
        name, other = ('FTS5 as it comes', with_fts5) if db.name == 'sqlite' else \
            ('PostgreSQL text search', with_tsearch)
        theirs = other(bench, db)
        for order in ORDERS:
            compare(bench, f'{db.name}: {count:,} items, {kind} texts, by {order}', name,
                    own[order], theirs[order])
        with or_skip(bench, 'ripgrep'):
            took = statistics.median(with_ripgrep(dump))
            mine = statistics.median(own['relevance'])
            bench.peer(f'{db.name}: {count:,} items, one word, p50', 'ripgrep', f'{mine:.1f} ms',
                       f'{took:.1f} ms', took / mine)
    os.unlink(dump)
