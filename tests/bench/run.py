#!/usr/bin/env python3
"""How fast is a durable catch-up, next to fetching alone?

    tests/bench/run.py [--quick] [--only http1|http2|memory|import|updater|pages|serve|search|
                       feed|feed-read|feed-write|enrich] [--build DIR] [--alone] [--json FILE]

nginx serves 100,000 item files on loopback. A plain libcurl loop (reference.c) fetches them and
throws them away; `tain catchup` stores them, in SQLite with a sync per commit and in PostgreSQL as
it comes. The runs take turns, and each is divided by the mean of the two reference runs around it,
so that what else the machine does hits both. The figure is the median over the rounds. `--alone`
gives it the processors before everyone else (alone.py); the last line says so.
`--only import` measures dumps: 200,000 items into an archive and out of it (dumps.py);
`--only updater` what the stream names, and how soon it is stored (updater.py); `--only pages` a
page with a thousand comments next to the SQL that reads them (pages.py); `--only serve` items by
the API next to nginx with the same bytes (throughput.py); `--only search` how long 200 searches
over a million items take (search.py); `--only feed` how long a change takes to a thousand
WebSocket clients (sockets.py); `--only feed-read` a reader of the change feed that is a million
events behind (feed_read.py); `--only feed-write` what its triggers cost a writer (feed_write.py);
`--only enrich` how many rows one process claims and finishes, in the store alone and as a whole
worker, and how soon a new row is claimed (enrich.py, enrich_engine.py).
"""

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / 'tests' / 'support'))  # behind this folder, which has its own updater.py

import measure  # noqa: E402
from alone import Alone  # noqa: E402
from dumps import bench_dumps  # noqa: E402
from enrich import bench_enrich  # noqa: E402
from feed_read import bench_feed_read  # noqa: E402
from feed_write import bench_feed_write  # noqa: E402
from pages import bench_pages  # noqa: E402
from postgres import Postgres  # noqa: E402
from search import bench_search  # noqa: E402
from settings import DURABLE  # noqa: E402
from sockets import bench_sockets  # noqa: E402
from throughput import bench_serve  # noqa: E402
from updater import bench_updater  # noqa: E402
from upstream import Demo, Nginx, write_corpus  # noqa: E402

IDS = 100_000
MANY_IDS = 1_000_000
CONCURRENCY = 256
GOALS = {'sqlite': 0.70, 'postgres': 0.60}
MAX_RSS_MIB = 64
MAX_ROWS = 100


class Sqlite:
    name = 'sqlite'
    table = 'flowsheet'
    servers = {}

    def __init__(self, folder):
        self.path = os.path.join(folder, 'bench.db')

    def fresh(self):
        for end in ('', '-wal', '-shm'):
            pathlib.Path(self.path + end).unlink(missing_ok=True)
        os.sync()  # nobody's old pages are written during the next run

    def uri(self):
        return f'sqlite:{self.path}'

    def ask(self, sql):
        with contextlib.closing(sqlite3.connect(self.path)) as db:
            return db.execute(sql).fetchone()[0]

    def script(self, sql):
        with contextlib.closing(sqlite3.connect(self.path)) as db:
            db.executescript(sql)

    def writer(self):
        """A client with execute(), each a transaction that is synced, and close()."""
        return sqlite3.connect(self.path, isolation_level=None, timeout=60)


class PgWriter:
    """A client with execute(), each a transaction, and close()."""

    def __init__(self, server):
        self.psql = subprocess.Popen(
            [os.path.join(server.bin, 'psql'), '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1',
             '-d', server.uri('bench')], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def execute(self, sql):
        self.psql.stdin.write(f'{sql}\n\\echo done\n')
        self.psql.stdin.flush()
        if self.psql.stdout.readline() != 'done\n':
            raise RuntimeError('psql failed')

    def close(self):
        self.psql.communicate()


class Pg:
    name = 'postgres'
    table = 'public.flowsheet'

    def __init__(self, server):
        self.server = server
        self.servers = {'postgres': server.server.pid}

    def fresh(self):
        self.server.psql('DROP DATABASE IF EXISTS bench')
        self.server.psql('CREATE DATABASE bench')
        self.server.psql('CHECKPOINT')
        os.sync()

    def uri(self):
        return self.server.uri('bench')

    def ask(self, sql):
        return int(self.server.psql('SET search_path TO tain; ' + sql, 'bench'))

    def script(self, sql):
        self.server.psql(sql, 'bench')

    def writer(self):
        return PgWriter(self.server)


class Bench:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.tain = str(options.build / 'tain')
        self.reference_program = str(options.build / 'tests' / 'bench' / 'reference')
        self.runs, self.rows = [], []
        self.load = os.getloadavg()[0]  # of others: the figures of a busy machine are noisy

    def note(self, cost):
        self.runs.append(cost)
        servers = ''.join(f'  {name} {cpu:5.1f}' for name, cpu in cost.servers.items())
        print(f'  {cost.what:36} {cost.rate:9,.0f}/s  {cost.seconds:6.2f} s  CPU s: user '
              f'{cost.user:5.1f} system {cost.system:5.1f}{servers}  {cost.rss_mib:5.1f} MiB',
              flush=True)
        return cost

    def row(self, what, figure, goal='', met=None):
        self.rows.append({'what': what, 'figure': figure, 'goal': goal, 'met': met})

    def reference(self, net):
        command = [self.reference_program, net.url, '1', str(IDS), str(CONCURRENCY)]
        return self.note(measure.run(f'reference, {net.name}', command + net.ca, IDS, net.servers))

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


@dataclasses.dataclass
class Net:
    name: str
    url: str
    ca: list
    servers: dict


def one_round(bench, net, databases, ratios):
    trust = ['--ca-file', net.ca[0]] if net.ca else []
    replay = trust + ['--force-replay-window', '--start-id', '1']
    before = bench.reference(net)
    for db in databases:
        db.fresh()
        first = bench.catchup(f'{db.name}, {net.name}', db, net.url, IDS, net.servers, trust)
        between = bench.reference(net)
        again = bench.catchup(f'{db.name}, {net.name}, unchanged', db, net.url, IDS, net.servers,
                              replay)
        after = bench.reference(net)
        first_ratio = first.rate / statistics.mean((before.rate, between.rate))
        again_ratio = again.rate / statistics.mean((between.rate, after.rate))
        ratios[db.name].append(first_ratio)
        ratios[db.name + ' again'].append(again_ratio / first_ratio)
        before = after


def spread(values):
    return f'{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})'


def bench_net(bench, net, databases):
    print(f'{net.name}: warming up', flush=True)
    for _ in range(2):
        bench.reference(net)
    ratios = {f'{db.name}{end}': [] for db in databases for end in ('', ' again')}
    for number in range(bench.options.rounds):
        print(f'{net.name}: round {number + 1} of {bench.options.rounds}', flush=True)
        one_round(bench, net, databases, ratios)
    for db in databases:
        goal = GOALS[db.name]
        values = ratios[db.name]
        stretch = ', stretch 0.80' if db.name == 'sqlite' else ''
        bench.row(f'{db.name} / reference, {net.name}', spread(values), f'>= {goal:.2f}{stretch}',
                  statistics.median(values) >= goal)
    for db in databases:
        values = ratios[db.name + ' again']
        bench.row(f'{db.name}, unchanged / first, {net.name}', spread(values), '>= 1.00',
                  statistics.median(values) >= 1)


def rates(bench):
    for what in dict.fromkeys(c.what for c in bench.runs):
        costs = [c for c in bench.runs if c.what == what]
        bench.row(what, f'{statistics.median(c.rate for c in costs):,.0f}/s, '
                        f'{statistics.median(c.cpu_us for c in costs):.0f} us CPU per id')


def bench_memory(bench, databases):
    """Memory and control-plane rows, small and large, from an upstream that needs no files."""
    sizes = (IDS,) if bench.options.quick else (IDS, MANY_IDS)
    for db in databases:
        peaks = []
        for ids in sizes:
            db.fresh()
            with Demo(bench.tain, ids) as demo:
                cost = bench.catchup(f'{db.name}, {ids:,} ids of tain demo', db, demo.plain, ids,
                                     {'demo': demo.process.pid})
            peaks.append(cost.rss_mib)
            bench.row(f'{db.name}: peak memory, {ids:,} ids', f'{cost.rss_mib:.1f} MiB',
                      f'<= {MAX_RSS_MIB} MiB', cost.rss_mib <= MAX_RSS_MIB)
        if len(peaks) > 1:
            growth = peaks[1] / peaks[0]
            bench.row(f'{db.name}: peak memory, large / small', f'{growth:.2f}', '<= 1.10',
                      growth <= 1.10)
        count_rows(bench, db, sizes[-1])


def count_rows(bench, db, ids):
    rows = db.ask('SELECT (SELECT COUNT(*) FROM ingest_segments) + (SELECT COUNT(*) FROM '
                  "ingest_exceptions WHERE state <> 'terminal_missing')")
    audit = db.ask("SELECT COUNT(*) FROM ingest_exceptions WHERE state = 'terminal_missing'")
    bench.row(f'{db.name}: control-plane rows, {ids:,} ids', f'{rows} (and {audit:,} missing ids)',
              f'< {MAX_ROWS}', rows < MAX_ROWS)


def print_table(bench):
    verdicts = {True: 'met', False: 'missed', None: ''}
    width = max(len(r['what']) for r in bench.rows) + 2
    print(f'\n{"what":{width}}{"figure":30}{"goal":24}')
    for r in bench.rows:
        print(f'{r["what"]:{width}}{r["figure"]:30}{r["goal"]:24}{verdicts[r["met"]]}'.rstrip())
    alone = ', what was measured weighed above it' if bench.options.alone else ''
    print(f'{measure.machine()}; load average {bench.load:.1f} before, '
          f'{os.getloadavg()[0]:.1f} after{alone}')


def write_json(bench, path):
    runs = [{k: v for k, v in dataclasses.asdict(c).items() if k != 'output'} for c in bench.runs]
    pathlib.Path(path).write_text(json.dumps(
        {'machine': measure.machine(), 'alone': bench.options.alone, 'table': bench.rows,
         'runs': runs}, indent=1) + '\n')


def run_all(bench, databases):
    only = bench.options.only
    if only in (None, 'http1', 'http2'):
        print(f'writing {IDS:,} item files', flush=True)
        root = os.path.join(bench.work, 'corpus')
        write_corpus(bench.tain, root, IDS)
        with Nginx(os.path.join(bench.work, 'nginx'), root) as nginx:
            servers = {'nginx': nginx.process.pid}
            if only in (None, 'http1'):
                bench_net(bench, Net('HTTP/1.1', nginx.plain, [], servers), databases)
            if only in (None, 'http2'):
                bench_net(bench, Net('HTTP/2', nginx.tls, [nginx.ca_file], servers), databases)
        rates(bench)
        shutil.rmtree(root)
    if only in (None, 'memory'):
        bench_memory(bench, databases)
    if only in (None, 'import'):
        bench_dumps(bench, databases)
    if only in (None, 'updater'):
        bench_updater(bench, databases)
    if only in (None, 'pages'):
        bench_pages(bench, databases)
    if only in (None, 'serve'):
        bench_serve(bench, databases)
    if only in (None, 'search'):
        bench_search(bench, databases)
    if only in (None, 'feed'):
        bench_sockets(bench, databases)
    if only in (None, 'feed-write'):
        bench_feed_write(bench, databases)
    if only in (None, 'feed-read'):
        bench_feed_read(bench, databases)
    if only in (None, 'enrich'):
        bench_enrich(bench, databases)


def parse_options():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument('--quick', action='store_true', help='one round, and no million of ids')
    p.add_argument('--only', choices=('http1', 'http2', 'memory', 'import', 'updater', 'pages',
                                      'serve', 'search', 'feed', 'feed-read', 'feed-write',
                                      'enrich'),
                   help='one part of it')
    p.add_argument('--db', choices=('sqlite', 'postgres'), help='one database only')
    p.add_argument('--rounds', type=int, help='rounds per protocol (3)')
    p.add_argument('--build', type=pathlib.Path, default=ROOT / 'build', help='the build folder')
    p.add_argument('--alone', action='store_true',
                   help='weigh what is measured above all else that runs on the machine (root)')
    p.add_argument('--json', help='write the figures and every run to this file')
    options = p.parse_args()
    options.build = options.build.resolve()
    options.rounds = options.rounds or (1 if options.quick else 3)
    return options


def on_signal(number, _frame):
    raise SystemExit(128 + number)  # so that every server is stopped and every file removed


def main():
    options = parse_options()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, on_signal)
    with contextlib.ExitStack() as stack:
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
        run_all(bench, databases)
    print_table(bench)
    if options.json:
        write_json(bench, options.json)
    return 0


if __name__ == '__main__':
    sys.exit(main())
