"""A reader that is a million events behind: how fast it catches up, from the start of the program
to the last line in the pipe. The changes look like those of comments. On PostgreSQL they have to be
given their positions first, which one run does and is measured apart."""

import shlex
import statistics
import subprocess

import measure

EVENTS, QUICK_EVENTS = 1_000_000, 200_000
GOAL = 50_000  # events per second
TEXT = ("substr('It turns out that the order in which things are committed is not the order in "
        "which they were written, and whoever reads by the latter will sooner or later miss one of "
        "them. The cure is to number what is there, afterwards, by one at a time; it costs little "
        "and it holds. Everything else I have seen so far has been shown wrong by a transaction "
        "that began first and wrote last.', 1, 150 + {i} % 250)")
DATA = ("'{{\"id\":' || {i} || ',\"deleted\":false,\"type\":\"comment\",\"by\":\"user' || "
        "{i} % 5000 || '\",\"time\":1700000000,\"text\":\"' || " + TEXT + " || '\",\"dead\":false,"
        "\"parent\":' || {i} / 2 || ',\"poll\":null,\"url\":null,\"score\":null,\"title\":null,"
        "\"parts\":null,\"descendants\":null,\"story_id\":1,\"domain\":null,"
        "\"first_seen_at\":1700000000000,\"last_fetched_at\":1700000000000,"
        "\"last_changed_at\":1700000000000}}'")


def fill(db, count):
    """Changes as triggers write them; on PostgreSQL each is of a statement of its own."""
    columns = 'INSERT INTO change_log (table_id, action, key, data, at) '
    key = "'{{\"id\":' || {i} || '}}'"
    row = f"SELECT 1, 'insert', {key}, {DATA}, 1700000000000 "
    if db.name == 'postgres':
        db.server.psql('SET search_path TO tain; INSERT INTO change_log '
                       '(batch, at, part, n, bytes, table_id, action, keys, data) '
                       "SELECT i, 1700000000000, 0, 1, octet_length(j), 1, 'insert', ARRAY[k], "
                       'ARRAY[j] FROM '
                       + f'(SELECT i, {key} AS k, {DATA} AS j '.format(i='i')
                       + f'FROM generate_series(1, {count}) AS i OFFSET 0) AS t; '
                       + 'ANALYZE change_log', 'bench')
        return
    subprocess.run(['python3', '-c', 'import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); '
                    'db.execute(sys.argv[2]); db.commit()', db.path,
                    f'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < '
                    f'{count}) ' + columns + row.format(i='i') + 'FROM n'], check=True)


def read(bench, db, what, count):
    command = f'{shlex.quote(bench.tain)} cdc tail --no-follow --since oldest | wc -l'
    cost = measure.run(f'{db.name}, {what}', ['sh', '-c', command], count, db.servers,
                       env={'TAIN_DB': db.uri()})
    if int(cost.output) != count:
        raise RuntimeError(f'{db.name}: {cost.output.strip()} events were read of {count}')
    return bench.note(cost)


def bench_feed_read(bench, databases):
    count = QUICK_EVENTS if bench.options.quick else EVENTS
    for db in databases:
        db.fresh()
        measure.run('migrate', [bench.tain, 'migrate'], 1, {}, env={'TAIN_DB': db.uri()})
        print(f'{db.name}: writing {count:,} changes', flush=True)
        fill(db, count)
        if db.name == 'postgres':
            cost = read(bench, db, 'feed, numbered and read', count)
            bench.row(f'{db.name}: {count:,} events numbered and read', f'{cost.rate:,.0f}/s')
        costs = [read(bench, db, 'feed, read', count) for _ in range(bench.options.rounds)]
        rate = statistics.median(c.rate for c in costs)
        bench.row(f'{db.name}: {count:,} events behind, caught up', f'{rate:,.0f}/s',
                  f'>= {GOAL:,}/s', rate >= GOAL)
        bench.row(f'{db.name}: peak memory', f'{max(c.rss_mib for c in costs):.1f} MiB')
