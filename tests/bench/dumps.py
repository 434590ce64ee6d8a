"""Dumps into an archive and out of it: items per second, from the start of the program to its end,
with everything on the disk."""

import os
import statistics
import subprocess

import measure

DUMP_IDS = 200_000
GOALS = {'import': 50_000, 'export': 150_000}


def write_dump(tain, path):
    """Answers how many items it holds; ids that are missing have lines too."""
    with open(path, 'wb') as out:
        subprocess.run([tain, 'demo', '--maxitem', str(DUMP_IDS), '--dump', f'1-{DUMP_IDS}'],
                       stdout=out, check=True)
    with open(path, 'rb') as dump:
        return sum(b'"missing":true' not in line for line in dump)


def run(bench, db, what, command, items):
    return bench.note(measure.run(what, [bench.tain, *command, '--progress', 'none'], items,
                                  db.servers, env={'TAIN_DB': db.uri()}))


def one_round(bench, db, dump, items, costs):
    """In from a plain file, out to a plain and a compressed one, in again from that."""
    out = os.path.join(bench.work, 'out.ndjson')
    for name, fresh, command in (('import', True, ('import', dump)),
                                 ('export', False, ('export', out)),
                                 ('export .zst', False, ('export', out + '.zst')),
                                 ('import .zst', True, ('import', out + '.zst'))):
        if fresh:
            db.fresh()
        costs.setdefault(name, []).append(run(bench, db, f'{db.name}, {name}', command, items))
    stored = db.ask('SELECT COUNT(*) FROM items')
    if stored != items:
        raise RuntimeError(f'{db.name}: {stored} items came back of {items}')


def bench_dumps(bench, databases):
    dump = os.path.join(bench.work, 'dump.ndjson')
    items = write_dump(bench.tain, dump)
    for db in databases:
        costs = {}
        for number in range(bench.options.rounds):
            print(f'{db.name}: dumps, round {number + 1} of {bench.options.rounds}', flush=True)
            one_round(bench, db, dump, items, costs)
        for name, runs in costs.items():
            rate = statistics.median(c.rate for c in runs)
            goal = GOALS.get(name) if db.name == 'sqlite' else None
            bench.row(f'{db.name}: {name}, {items:,} items', f'{rate:,.0f}/s',
                      f'>= {goal:,}/s' if goal else '', rate >= goal if goal else None)
            peak = max(c.rss_mib for c in runs)
            bench.row(f'{db.name}: {name}, peak memory', f'{peak:.1f} MiB')
