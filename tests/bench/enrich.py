"""How many rows of a table can one process claim and finish in a second? Here the part of the store
alone: claims and results in batches of 512, with the two indexes that the sweep relies on, each as
it is, and with the triggers of the change feed, which log every step of every row. Whole workers
are in enrich_engine.py."""

import os
import statistics
import subprocess

from enrich_engine import bench_engine
from enrich_table import fill, install

ROWS, QUICK_ROWS = 50_000, 10_000
ROUNDS, QUICK_ROUNDS = 3, 1
LINKS, QUICK_LINKS = 10_000, 2_000
GOALS = {'sqlite': 10_000, 'postgres': 5_000}


def run_once(bench, db, rows, logged):
    fill(db, rows)
    if logged:
        install(bench, db)
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
        bench.row(f'{db.name}: store alone, claims and results, {rows:,}', f'{plain:,.0f}/s',
                  f'>= {GOALS[db.name]:,}/s', plain >= GOALS[db.name])
        bench.row(f'{db.name}: the same, logged by the feed',
                  f'{statistics.median(rates[True]):,.0f}/s')


def bench_links(bench, databases):
    """Tasks of links, each taken and saved in a transaction of its own, as a worker does it."""
    rows = QUICK_LINKS if bench.options.quick else LINKS
    for db in databases:
        db.fresh()
        subprocess.run([bench.tain, 'migrate'], env=dict(os.environ, TAIN_DB=db.uri()), check=True,
                       stdout=subprocess.DEVNULL)
        done = subprocess.run([str(bench.options.build / 'tests' / 'bench' / 'link_tasks'),
                               db.uri(), str(rows)], stdout=subprocess.PIPE, text=True, check=True)
        _, taking, saving, finished = done.stdout.split()
        if int(finished) != rows:
            raise RuntimeError(f'{db.name}: {finished} tasks of {rows} were finished')
        bench.row(f'{db.name}: tasks of links, taken and saved one by one, {rows:,}',
                  f'{rows / (float(taking) + float(saving)):,.0f}/s')


def bench_enrich(bench, databases):
    bench_claims(bench, databases)
    bench_links(bench, databases)
    bench_engine(bench, databases)
