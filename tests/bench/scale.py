"""What do more processes bring? One, two, four and eight of a kind on one PostgreSQL: `tain
catchup` from files behind nginx, workers of enrichment with a provider that is free (enricher.c),
and `tain serve` under wrk, one wrk for each.

Within a round each number has its turn, and the figure is its rate divided by that of one process
in the same round; the median over the rounds. Everything runs on this machine: clients, servers and
the database share its processors, so the curve says where they end, not where PostgreSQL does."""

import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import time

from enrich_engine import LOOKUP, write_plan
from enrich_table import fill as fill_table
from enrich_table import install
from postgres import free_port
from throughput import IDS as SERVE_IDS
from throughput import SCRIPT, fill, until_it_listens
from upstream import Nginx, stop, write_corpus

NUMBERS = (1, 2, 4, 8)
IDS, QUICK_IDS = 60_000, 8_000
ROWS, QUICK_ROWS = 30_000, 4_000
SECONDS, QUICK_SECONDS = 4, 1
CONNECTIONS = 32  # of each wrk
LOOK_SECONDS = 0.1


def clean_environment(db):
    env = {k: v for k, v in os.environ.items() if not k.startswith('TAIN_')}
    return {**env, 'TAIN_METRICS_BIND': 'none', 'TAIN_DB': db.uri()}


def catch_up(bench, db, n, url):
    """Ids a second, of n processes together, until the last of them has nothing left to do."""
    ids = QUICK_IDS if bench.options.quick else IDS
    db.fresh()
    env = clean_environment(db)
    subprocess.run([bench.tain, 'migrate'], env=env, check=True, stdout=subprocess.DEVNULL)
    command = [bench.tain, 'catchup', '--upstream', url, '--end-id', str(ids), '--rps', '0',
               '--progress', 'none', '--concurrency', '64', '--log-level', 'error']
    began = time.monotonic()
    runs = [subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             text=True) for _ in range(n)]
    said = [run.communicate()[1] for run in runs]
    rate = ids / (time.monotonic() - began)
    if any(run.returncode for run in runs):
        raise RuntimeError(f'{n} times catchup: ' + '\n'.join(said))
    bench.check_complete(f'{n} times catchup', db, ids)
    return rate


def enrich(bench, db, n):
    """Rows a second, of n workers together, for rows that were there before."""
    rows = QUICK_ROWS if bench.options.quick else ROWS
    fill_table(db, rows)
    install(bench, db)
    program = str(bench.options.build / 'tests' / 'bench' / 'enricher')
    command = [program, db.uri(), write_plan(bench, db, LOOKUP), str(1 << 40)]
    began = time.monotonic()
    workers = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(n)]
    try:
        while db.ask("SELECT (EXISTS (SELECT 1 FROM public.flowsheet WHERE metadata_status IN "
                     "('pending', 'enriching')))::int"):
            if any(w.poll() is not None for w in workers):
                raise RuntimeError('a worker ended early')
            time.sleep(LOOK_SECONDS)
        return rows / (time.monotonic() - began)
    finally:
        for worker in workers:
            stop(worker)


def serve(bench, db, n, script):
    """Answers a second, of n servers together, each with a wrk of its own."""
    env, ports = clean_environment(db), [free_port() for _ in range(n)]
    seconds = QUICK_SECONDS if bench.options.quick else SECONDS
    servers = [subprocess.Popen([bench.tain, 'serve', '--listen', f'127.0.0.1:{port}', '--no-index',
                                 '--log-level', 'error'], env=env) for port in ports]
    try:
        for server, port in zip(servers, ports):
            until_it_listens(server, port)
        clients = [subprocess.Popen(['wrk', '-t1', f'-c{CONNECTIONS}', f'-d{seconds}', '-s', script,
                                     f'http://127.0.0.1:{port}'], stdout=subprocess.PIPE, text=True)
                   for port in ports]
        said = [client.communicate()[0] for client in clients]
    finally:
        for server in servers:
            server.send_signal(signal.SIGTERM)
        for server in servers:
            server.wait()
    if any('Non-2xx' in text or 'Socket errors' in text for text in said):
        raise RuntimeError('not every answer was one:\n' + '\n'.join(said))
    return sum(float(re.search(r'Requests/sec:\s+([\d.]+)', text).group(1)) for text in said)


def curve(bench, what, unit, run):
    rates = {n: [] for n in NUMBERS}
    for _ in range(bench.options.rounds):
        for n in NUMBERS:
            rates[n].append(run(n))
            print(f'  {what:10}{n} at once {rates[n][-1]:12,.0f} {unit}/s', flush=True)
    for n in NUMBERS:
        ratios = [many / one for many, one in zip(rates[n], rates[1])]
        bench.row(f'postgres: {what}, {n} / 1',
                  f'{statistics.median(ratios):.2f} ({statistics.median(rates[n]):,.0f}/s)')


def bench_scale(bench, databases):
    for db in (d for d in databases if d.name == 'postgres'):
        root = os.path.join(bench.work, 'scale-corpus')
        write_corpus(bench.tain, root, QUICK_IDS if bench.options.quick else IDS)
        with Nginx(os.path.join(bench.work, 'nginx-scale'), root) as nginx:
            curve(bench, 'catchup', 'ids', lambda n: catch_up(bench, db, n, nginx.plain))
        shutil.rmtree(root)
        curve(bench, 'enrich', 'rows', lambda n: enrich(bench, db, n))
        fill(bench, db, clean_environment(db))
        script = pathlib.Path(bench.work, 'scale.lua')
        script.write_text(SCRIPT.format(ids=SERVE_IDS), encoding='ascii')
        curve(bench, 'serve', 'answers', lambda n: serve(bench, db, n, str(script)))
