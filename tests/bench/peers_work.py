"""Rows claimed, worked on and finished by one process, next to graphile-worker, a queue of jobs in
PostgreSQL: as many jobs as rows, all there before, a task that does nothing, 24 at a time. A job of
its is deleted when it is done; tain writes five columns of the row and keeps the claim. Neither is
logged by the change feed; tain batches, graphile-worker does each job by itself."""

import subprocess

from enrich_engine import run_unlogged
from peers import in_turns, node, or_skip

ROWS, QUICK_ROWS = 20_000, 3_000
CONCURRENCY = 24


def graphile(bench, db, rows):
    command, env = node(bench, 'work.js', db.uri(), rows, CONCURRENCY)
    db.fresh()
    folder = env['NODE_PATH']
    subprocess.run(['node', f'{folder}/graphile-worker/dist/cli.js', '--schema-only', '-c',
                    db.uri()], env=env, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    db.script("SELECT count(graphile_worker.add_job('track', json_build_object('id', i))) "
              f'FROM generate_series(1, {rows}) AS i; ANALYZE')
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True,
                          timeout=600)
    return rows / float(done.stdout)


def bench_work_peers(bench, databases):
    rows = QUICK_ROWS if bench.options.quick else ROWS
    for db in databases:
        if db.name != 'postgres':
            continue
        with or_skip(bench, 'graphile-worker'):
            own, theirs, ratio = in_turns(bench.options.rounds,
                                          lambda: run_unlogged(bench, db, rows)[0],
                                          lambda: graphile(bench, db, rows))
            bench.peer(f'{db.name}: {rows:,} rows claimed and finished', 'graphile-worker',
                       f'{own:,.0f}/s', f'{theirs:,.0f}/s', ratio)
