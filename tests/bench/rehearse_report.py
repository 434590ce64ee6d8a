"""What a rehearsal has found: figures, a chart for the terminal and the page, a file."""

import contextlib
import json
import pathlib
import sqlite3
import time

import measure

WHOLE = 50_500_000  # ids of Hacker News
STEP = 100_000
DEFAULT_RPS = 1000
FLAT = 0.90
CHART_LINES, CHART_WIDTH = 25, 50


def step_of(ids):
    """The curve has a point for each 100,000 ids; for each tenth where there are few."""
    return STEP if ids >= 5 * STEP else ids // 10


def crossings(samples, step, ids):
    """Every column as it was when each step was reached; between two samples in proportion."""
    found, at = [samples[0][1:]], 1
    for mark in range(step, ids + 1, step):
        while at < len(samples) - 1 and samples[at][0] < mark:
            at += 1
        (low, *before), (high, *after) = samples[at - 1], samples[at]
        share = (mark - low) / (high - low) if high > low else 1
        found.append([b + (a - b) * share for b, a in zip(before, after)])
    return found


def curve(notes):
    """Per step: ids a second, and processor microseconds per id of tain, the database and the
    upstream."""
    step = step_of(notes['ids'])
    samples = [s for s, after in zip(notes['samples'], notes['samples'][1:] + [None])
               if after is None or s[0] < after[0] or s[0] == 0]
    samples.append([notes['ids'], *samples[-1][1:]] if samples[-1][0] < notes['ids'] else
                   samples[-1])
    marks = crossings(samples, step, notes['ids'])
    points = []
    for before, after in zip(marks, marks[1:]):
        wall, tain, server, upstream = (a - b for a, b in zip(after, before))
        points.append({'rate': step / max(wall, 1e-6), 'tain_us': tain * 1e6 / step,
                       'database_us': server * 1e6 / step,
                       'upstream_us': upstream * 1e6 / step})
    return step, points


def work(points):
    """Processor time of some steps, in that of the upstream, which does the same for every id: what
    slows both down is the machine."""
    return sum(p['tain_us'] + p['database_us'] for p in points) / max(
        sum(p['upstream_us'] for p in points), 1e-6)


def figures(notes, sizes):
    step, points = curve(notes)
    ids, last = notes['ids'], notes['samples'][-1]
    seconds, index = notes['catchup']['seconds'], notes['index']
    cpu = [p['tain_us'] + p['database_us'] for p in points]
    some = max(1, len(points) // 10)
    tenth = points[-some:]
    per_id = {name: size / ids for name, size in sizes.items()}
    late_rate = len(tenth) / sum(1 / p['rate'] for p in tenth)
    index_rate = notes['items'] / max(index['seconds'], 1e-6)
    return {
        'date': time.strftime('%Y-%m-%d', time.gmtime()), 'machine': measure.machine(),
        'ids': ids, 'items': notes['items'], 'stops': notes['stops'], 'step': step,
        'seconds': seconds, 'rate': ids / seconds, 'curve': points,
        'first': points[0]['rate'], 'last': points[-1]['rate'],
        'ratio': points[-1]['rate'] / points[0]['rate'],
        'least': min(p['rate'] for p in points),
        'first_cpu_us': cpu[0], 'last_cpu_us': cpu[-1],
        'work_ratio': work(points[:some]) / work(tenth),
        'upstream_cpu_us': last[4] * 1e6 / ids,
        'rss_mib': notes['catchup']['rss_mib'], 'index_rss_mib': index['rss_mib'],
        'log_peak': notes['catchup']['log_peak'], 'log_written': notes['catchup']['log_written'],
        'index_log_peak': index['log_peak'], 'index_log_written': index['log_written'],
        'index_seconds': index['seconds'], 'index_rate': index_rate,
        'bytes_per_id': per_id, 'bytes': sizes,
        'whole': {'ids': WHOLE, 'hours': WHOLE / late_rate / 3600,
                  'index_hours': WHOLE * notes['items'] / ids / index_rate / 3600,
                  'hours_at_default_rps': WHOLE / DEFAULT_RPS / 3600,
                  'bytes': sum(per_id.values()) * WHOLE},
    }


# --- what is on the disk ---

def kind_of(name, table):
    return 'search index' if (table or name).startswith('search_') else \
        'tables' if table is None or name == table else 'indexes'


def sqlite_sizes(path):
    """Pages by what they belong to; an index without a name of its own belongs to its table."""
    sizes = {'tables': 0, 'indexes': 0, 'search index': 0}
    with contextlib.closing(sqlite3.connect(path)) as db:
        owner = dict(db.execute('SELECT name, tbl_name FROM sqlite_master'))
        free, = db.execute('PRAGMA freelist_count').fetchone()
        page, = db.execute('PRAGMA page_size').fetchone()
        # in such a row `pageno` counts the pages; `pgsize` has 32 bits
        for name, pages in db.execute('SELECT name, pageno FROM dbstat WHERE aggregate = TRUE'):
            sizes[kind_of(name, owner.get(name))] += pages * page
    sizes['free pages'] = free * page
    return sizes


def postgres_sizes(psql):
    lines = psql("SELECT c.relname, pg_table_size(c.oid), pg_indexes_size(c.oid) FROM pg_class c "
                 "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'tain' AND "
                 "c.relkind = 'r'")
    sizes = {'tables': 0, 'indexes': 0, 'search index': 0}
    for line in lines.splitlines():
        name, table, indexes = line.split('|')
        if kind_of(name, None) == 'search index':
            sizes['search index'] += int(table) + int(indexes)
        else:
            sizes['tables'] += int(table)
            sizes['indexes'] += int(indexes)
    return sizes


# --- for people ---

def chart_of(notes):
    step, points = curve(notes)
    return chart({'curve': points, 'step': step})


def chart(found):
    """A line for every step, or for a few together; the longest bar is the quickest."""
    points, step = found['curve'], found['step']
    together = -(-len(points) // CHART_LINES)
    groups = [points[i:i + together] for i in range(0, len(points), together)]
    rates = [len(g) / sum(1 / p['rate'] for p in g) for g in groups]
    done = 0
    for group, rate in zip(groups, rates):
        done += len(group) * step
        cpu = sum(p['tain_us'] + p['database_us'] for p in group) / len(group)
        yield f'{done:>10,} {rate:>8,.0f}/s {cpu:>5.0f} us ' + \
            '#' * max(1, round(CHART_WIDTH * rate / max(rates)))


def summary(name, found):
    """(what, figure) of one rehearsal."""
    step, per_id, whole = found['step'], found['bytes_per_id'], found['whole']
    yield 'ids', f'{found["ids"]:,}, of them {found["items"]:,} items'
    yield 'stored', f'{found["rate"]:,.0f} ids/s over all ({found["seconds"]:,.0f} s)'
    yield f'first, last {step:,}', f'{found["first"]:,.0f} and {found["last"]:,.0f} ids/s, ' \
        f'last / first {found["ratio"]:.2f}; least {found["least"]:,.0f}'
    yield 'processor time per id', f'first {found["first_cpu_us"]:.0f} us, last ' \
        f'{found["last_cpu_us"]:.0f} us; the upstream beside it {found["upstream_cpu_us"]:.0f} us'
    yield 'the same in that of the upstream', f'first tenth / last tenth {found["work_ratio"]:.2f}'
    yield 'search index', f'{found["index_rate"]:,.0f} items/s ({found["index_seconds"]:,.0f} s)'
    yield 'on disk per id', f'{sum(per_id.values()):,.0f} bytes: ' + ', '.join(
        f'{what} {size:,.0f}' for what, size in per_id.items() if size >= 0.5) + \
        f'; per item {sum(found["bytes"].values()) / found["items"]:,.0f}'
    yield 'peak memory of tain', f'{found["rss_mib"]:.1f} MiB, while indexing ' \
        f'{found["index_rss_mib"]:.1f} MiB'
    if name == 'sqlite':
        yield 'log (-wal), at its longest', f'{found["log_peak"] / 2**20:.1f} MiB, while ' \
            f'indexing {found["index_log_peak"] / 2**20:.1f} MiB'
    else:
        yield 'log (WAL)', f'{found["log_written"] / found["ids"]:,.0f} bytes written per id, ' \
            f'{found["log_peak"] / 2**20:,.0f} MiB kept at the most; indexing ' \
            f'{found["index_log_written"] / found["ids"]:,.0f} bytes per id'
    yield f'{whole["ids"]:,} ids', f'{whole["hours"]:.1f} h at the rate of the last tenth ' \
        f'({whole["hours_at_default_rps"]:.1f} h at the default of {DEFAULT_RPS:,} requests/s), ' \
        f'{whole["index_hours"]:.1f} h to index, {whole["bytes"] / 1e9:,.0f} GB'


def verdict(found):
    if found['ratio'] >= FLAT:
        return 'the curve is flat'
    return 'the curve is not flat' + (
        ', though the work per id is, in that of the upstream'
        if found['work_ratio'] >= FLAT else '')


def goal(name, found):
    """The curve as a row of the page's goals."""
    return {'what': f'{name}: ids/s of the last / of the first {found["step"]:,}',
            'figure': f'{found["ratio"]:.2f} ({verdict(found)})', 'goal': f'>= {FLAT:.2f}',
            'met': found['ratio'] >= FLAT, 'date': found['date']}


def show(name, found):
    for what, figure in summary(name, found):
        print(f'  {what:28} {figure}')
    print(f'  {verdict(found)}', flush=True)


def write(path, name, found):
    path = pathlib.Path(path)
    every = json.loads(path.read_text()) if path.exists() else {}
    every[name] = found
    path.write_text(json.dumps(every, indent=1) + '\n')
