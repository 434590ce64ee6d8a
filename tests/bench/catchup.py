"""How fast is a durable catch-up, next to fetching alone? And how much memory does it take?

nginx serves 100,000 item files on loopback. A plain libcurl loop (reference.c) fetches them and
throws them away; `tain catchup` stores them, in SQLite with a sync per commit and in PostgreSQL as
it comes. The runs take turns, and each is divided by the mean of the two reference runs around it,
so that what else the machine does hits both. The figure is the median over the rounds. Memory and
rows of bookkeeping are those of catch-ups from `tain demo`, which needs no files."""

import dataclasses
import os
import statistics

from upstream import Demo, Nginx, write_corpus

IDS = 100_000
MANY_IDS = 1_000_000
GOALS = {'sqlite': 0.70, 'postgres': 0.60}
MAX_RSS_MIB = 64
MAX_ROWS = 100


@dataclasses.dataclass
class Net:
    name: str
    url: str
    ca: list
    servers: dict


def one_round(bench, net, databases, ratios):
    trust = ['--ca-file', net.ca[0]] if net.ca else []
    replay = trust + ['--force-replay-window', '--start-id', '1']
    before = bench.reference(net, IDS)
    for db in databases:
        db.fresh()
        first = bench.catchup(f'{db.name}, {net.name}', db, net.url, IDS, net.servers, trust)
        between = bench.reference(net, IDS)
        again = bench.catchup(f'{db.name}, {net.name}, unchanged', db, net.url, IDS, net.servers,
                              replay)
        after = bench.reference(net, IDS)
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
        bench.reference(net, IDS)
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


def rates(bench, name):
    for what in dict.fromkeys(c.what for c in bench.runs if name in c.what):
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


def corpus(bench):
    """The item files, written when the first asks for them."""
    root = os.path.join(bench.work, 'corpus')
    if not os.path.exists(root):
        print(f'writing {IDS:,} item files', flush=True)
        write_corpus(bench.tain, root, IDS)
    return root


def bench_http(bench, databases, name):
    with Nginx(os.path.join(bench.work, 'nginx'), corpus(bench)) as nginx:
        url, ca = (nginx.plain, []) if name == 'HTTP/1.1' else (nginx.tls, [nginx.ca_file])
        bench_net(bench, Net(name, url, ca, {'nginx': nginx.process.pid}), databases)
    rates(bench, name)


def bench_http1(bench, databases):
    bench_http(bench, databases, 'HTTP/1.1')


def bench_http2(bench, databases):
    bench_http(bench, databases, 'HTTP/2')
