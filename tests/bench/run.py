#!/usr/bin/env python3
"""Measures what tain is to be good at, and writes docs/benchmarks.md.

    tests/bench/run.py [--quick] [--only PART[,PART]] [--db sqlite|postgres] [--rounds N]
                       [--build DIR] [--alone] [--json FILE]

PARTS below says what there is, and each of its files how it is measured. Results go to bench.json
in the build folder: parts that were not asked for stay as they are, with their date. From there,
and from rehearse.json beside it, page.py writes the page. A quick run is for looking: it goes to
bench-quick.json and leaves the page alone. A part that fails is told, noted, and does not keep the
others from being measured. `--alone` gives the processors to what is measured before everyone else
(alone.py); the page says so."""

import argparse
import contextlib
import dataclasses
import json
import multiprocessing
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / 'tests' / 'support'))  # behind this folder, which has its own updater.py

import machine  # noqa: E402
import measure  # noqa: E402
import page  # noqa: E402
import results  # noqa: E402
from alone import Alone  # noqa: E402
from catchup import bench_http1, bench_http2, bench_memory  # noqa: E402
from databases import Pg, Sqlite  # noqa: E402
from dumps import bench_dumps  # noqa: E402
from enrich import bench_enrich  # noqa: E402
from feed_read import bench_feed_read  # noqa: E402
from feed_write import bench_feed_write  # noqa: E402
from pages import bench_pages  # noqa: E402
from peers_crawl import bench_crawl_peers  # noqa: E402
from peers_feed import bench_feed_peers  # noqa: E402
from peers_search import bench_search_peers  # noqa: E402
from peers_serve import bench_serve_peers  # noqa: E402
from peers_work import bench_work_peers  # noqa: E402
from postgres import Postgres  # noqa: E402
from scale import bench_scale  # noqa: E402
from search import bench_search  # noqa: E402
from settings import DURABLE  # noqa: E402
from sockets import bench_sockets  # noqa: E402
from throughput import bench_serve  # noqa: E402
from updater import bench_updater  # noqa: E402

CONCURRENCY = 256
PARTS = {
    'http1': bench_http1, 'http2': bench_http2, 'memory': bench_memory, 'import': bench_dumps,
    'updater': bench_updater, 'pages': bench_pages, 'serve': bench_serve, 'search': bench_search,
    'feed': bench_sockets, 'feed-write': bench_feed_write, 'feed-read': bench_feed_read,
    'enrich': bench_enrich, 'scale': bench_scale,
    'peers-crawl': bench_crawl_peers, 'peers-serve': bench_serve_peers,
    'peers-search': bench_search_peers, 'peers-feed': bench_feed_peers,
    'peers-work': bench_work_peers,
}


class Bench:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.tain = str(options.build / 'tain')
        self.reference_program = str(options.build / 'tests' / 'bench' / 'reference')
        self.runs, self.rows, self.peers = [], [], []

    def note(self, cost):
        self.runs.append(cost)
        servers = ''.join(f'  {name} {cpu:5.1f}' for name, cpu in cost.servers.items())
        print(f'  {cost.what:36} {cost.rate:9,.0f}/s  {cost.seconds:6.2f} s  CPU s: user '
              f'{cost.user:5.1f} system {cost.system:5.1f}{servers}  {cost.rss_mib:5.1f} MiB',
              flush=True)
        return cost

    def row(self, what, figure, goal='', met=None):
        self.rows.append({'what': what, 'figure': figure, 'goal': goal, 'met': met})

    def peer(self, what, name, own, theirs, ratio):
        """What another program does in the same run; `ratio` over 1: tain does better."""
        self.peers.append({'what': what, 'peer': name, 'own': own, 'theirs': theirs,
                           'ratio': f'{ratio:.2f}' if ratio < 10 else f'{ratio:,.0f}'})
        print(f'  {what}: {own}, {name} {theirs}', flush=True)

    def skip_peer(self, name, reason):
        self.peers.append({'what': '', 'peer': name, 'own': '', 'theirs': '',
                           'ratio': f'not measured: {reason}'})
        print(f'  {name} is not measured: {reason}', flush=True)

    def reference(self, net, ids):
        command = [self.reference_program, net.url, '1', str(ids), str(CONCURRENCY)]
        return self.note(measure.run(f'reference, {net.name}', command + net.ca, ids, net.servers))

    def catchup(self, what, db, url, ids, servers, more=()):
        command = [self.tain, 'catchup', '--upstream', url, '--end-id', str(ids), '--rps', '0',
                   '--progress', 'none', '--concurrency', str(CONCURRENCY), '--log-level', 'warn']
        cost = self.note(measure.run(what, command + list(more), ids, {**servers, **db.servers},
                                     env={'TAIN_DB': db.uri()}))
        self.check_complete(what, db, ids)
        return cost

    def check_complete(self, what, db, ids):
        """A run that left something out would be fast for the wrong reason."""
        status = subprocess.run([self.tain, 'status', '--json'], env={'TAIN_DB': db.uri()},
                                stdout=subprocess.PIPE, check=True)
        found = json.loads(status.stdout)
        settled = found['items'] + found['exceptions']['terminal_missing']
        if found['frontier_id'] != ids or settled != ids:
            raise RuntimeError(f'{what}: the archive is not complete: {found}')

    def run_apart(self, name, databases):
        """A part in a process of its own: what one needs of memory would be in the peaks of the
        programs that the next one starts, which begin as a copy of this one."""
        ours, theirs = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.get_context('fork').Process(
            target=lambda: theirs.send(self.run_part(name, databases)))
        child.start()
        theirs.close()
        try:
            found = ours.recv()
        except EOFError:
            raise RuntimeError(f'the process that measured {name} is gone') from None
        finally:
            child.terminate()
            child.join()
        return found

    def run_part(self, name, databases):
        """What it has found, as it is kept; what went wrong is a row of it."""
        self.runs, self.rows, self.peers = [], [], []
        load, began, failed = os.getloadavg()[0], time.monotonic(), False
        print(f'--- {name}, load {load:.1f}', flush=True)
        try:
            PARTS[name](self, databases)
        except Exception as e:  # the others are measured all the same
            traceback.print_exc()
            failed = True
            self.row('not measured', str(e).splitlines()[0][:200] if str(e) else repr(e))
        runs = [{k: v for k, v in dataclasses.asdict(c).items() if k != 'output'}
                for c in self.runs]
        return {'date': time.strftime('%Y-%m-%d', time.gmtime()), 'load': load,
                'seconds': time.monotonic() - began, 'alone': self.options.alone,
                'rounds': self.options.rounds, 'failed': failed, 'rows': self.rows,
                'peers': self.peers, 'runs': runs}


def print_table(found):
    verdicts = {True: 'met', False: 'missed', None: ''}
    rows = [r for part in found.values() for r in part['rows']]
    width = max((len(r['what']) for r in rows), default=0) + 2
    print(f'\n{"what":{width}}{"figure":30}{"goal":24}')
    for r in rows:
        print(f'{r["what"]:{width}}{r["figure"]:30}{r["goal"]:24}{verdicts[r["met"]]}'.rstrip())
    for part in found.values():
        for p in part['peers']:
            print(f'{p["what"]}: {p["own"]}; {p["peer"]} {p["theirs"]}; {p["ratio"]}')
    took = sum(part['seconds'] for part in found.values())
    print(f'{measure.machine()}; {took / 60:.0f} minutes, load average {os.getloadavg()[0]:.1f} '
          'in the end')


def parse_options():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument('--quick', action='store_true', help='one round of everything, and less of it')
    p.add_argument('--only', help='some of it, with commas: ' + ', '.join(PARTS))
    p.add_argument('--db', choices=('sqlite', 'postgres'), help='one database only')
    p.add_argument('--rounds', type=int, help='rounds per protocol (3)')
    p.add_argument('--build', type=pathlib.Path, default=ROOT / 'build', help='the build folder')
    p.add_argument('--alone', action='store_true',
                   help='weigh what is measured above all else that runs on the machine (root)')
    p.add_argument('--json', type=pathlib.Path,
                   help='keep results there and not in the build folder, and leave the page alone')
    options = p.parse_args()
    options.build = options.build.resolve()
    options.rounds = options.rounds or (1 if options.quick else 3)
    options.only = options.only.split(',') if options.only else list(PARTS)
    for name in options.only:
        if name not in PARTS:
            p.error(f"--only: '{name}' is none of {', '.join(PARTS)}")
    options.page = not options.quick and not options.json
    options.json = options.json or options.build / (
        'bench-quick.json' if options.quick else 'bench.json')
    return options


SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def ignore_signals():
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def on_signal(number, _frame):
    """Every server is stopped and every file removed, and nothing comes in between."""
    ignore_signals()
    raise SystemExit(128 + number)


def measure_all(options, stack):
    # beside the build and not in /tmp, which may be memory, where a sync costs nothing
    work = tempfile.mkdtemp(prefix='bench-', dir=options.build)
    stack.callback(shutil.rmtree, work, ignore_errors=True)
    bench = Bench(options, work)
    for program in (bench.tain, bench.reference_program):
        if not os.path.exists(program):
            sys.exit(f'bench: {program} is not there; build first')
    if options.alone:
        stack.enter_context(Alone())
    databases = []
    if options.db in (None, 'sqlite'):
        databases.append(Sqlite(work))
    if options.db in (None, 'postgres'):
        databases.append(Pg(stack.enter_context(Postgres(DURABLE))))
    facts, found = machine.facts(options.build), {}
    for name in options.only:
        found[name] = bench.run_apart(name, databases)
        results.keep(options.json, facts, name, found[name], options.db)
    return found


def main():
    options = parse_options()
    for number in SIGNALS:
        signal.signal(number, on_signal)
    with contextlib.ExitStack() as stack:
        found = measure_all(options, stack)
        ignore_signals()  # what is left is tidying up
    print_table(found)
    if options.page:
        print(page.write(options.build))
    return int(any(part['failed'] for part in found.values()))


if __name__ == '__main__':
    sys.exit(main())
