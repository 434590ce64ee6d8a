#!/usr/bin/env python3
"""Writes docs/benchmarks.md from what was measured (bench.json and rehearse.json of the build
folder), and the curves of docs/scale.md between their marks.

    tests/bench/page.py [--build DIR] [--to FILE] [--anyway]

run.py and rehearse.py call it in the end. Nothing on the page is written by hand: how a part is
measured stands at the head of its own file, and is taken from there. A page that has parts which
were never measured in this build folder is left as it is, unless --anyway says otherwise: one part
that is tried in a fresh clone would cost all the others their figures."""

import argparse
import ast
import json
import pathlib
import re
import sys

import rehearse_report
import results

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / 'docs' / 'benchmarks.md'
SCALE = ROOT / 'docs' / 'scale.md'
MARKS = re.compile('(?<=<!-- scale:begin: written by `make bench` -->\n).*(?=<!-- scale:end -->)',
                   re.S)
CURVE = re.compile(r'postgres: (\w+), (\d+) / 1')
SECTIONS = {  # part: (title, the file that measures it)
    'http1': ('Catch-up over HTTP/1.1', 'catchup.py'),
    'http2': ('Catch-up over HTTP/2 with TLS', 'catchup.py'),
    'memory': ('Memory and bookkeeping of a catch-up', 'catchup.py'),
    'import': ('Import and export', 'dumps.py'),
    'updater': ('The updater', 'updater.py'),
    'pages': ('A page with a thousand comments', 'pages.py'),
    'serve': ('Items over HTTP', 'throughput.py'),
    'search': ('Search', 'search.py'),
    'feed': ('The change feed: a thousand clients', 'sockets.py'),
    'feed-write': ('The change feed: what it costs a writer', 'feed_write.py'),
    'feed-read': ('The change feed: a reader that is far behind', 'feed_read.py'),
    'enrich': ('Enrichment: rows claimed and finished', 'enrich_engine.py'),
    'scale': ('One to eight processes on one PostgreSQL', 'scale.py'),
    'peers-crawl': ('Fetching: curl, wget', 'peers_crawl.py'),
    'peers-serve': ('Items over HTTP: fastify and pg', 'peers_serve.py'),
    'peers-search': ("Search: the databases' own, and ripgrep", 'peers_search.py'),
    'peers-feed': ('Fan-out: ws and LISTEN', 'peers_feed.py'),
    'peers-work': ('Rows of work: graphile-worker', 'peers_work.py'),
}
HEAD = """# Benchmarks

<!-- Written by `make bench` (tests/bench/page.py). Do not edit: the next run writes it anew. -->

Written by `make bench`, and in its last part by `make rehearse`, from what they measured; no figure
is put in by hand. Everything runs on one machine, upstream and clients included, over loopback:
what counts are the ratios, which are of runs that took turns on that machine. How each part is
measured is what its file in `tests/bench` says at its head, and is repeated here.
`make bench BENCH="--only PART"` measures one part anew; the others keep their figures and their
date.
"""
LOOPBACK = """
The upstream is on loopback, where nobody waits for an answer, and shares the processors. The real
one is asked for 1,000 ids a second at the most by default, and that is the time to reckon with.
Sizes are those of made-up items, in proportion to the number of ids; an archive that is kept up to
date needs room for changes too.
"""
VERDICTS = {True: 'met', False: '**missed**', None: ''}


def how(name):
    """The head of a file, as lines of at most a hundred columns that are there already."""
    return ast.get_docstring(ast.parse((HERE / name).read_text(encoding='utf-8')))


def table(columns, rows):
    """Markdown; a bar within a cell would end it."""
    yield '| ' + ' | '.join(columns) + ' |'
    yield '|' + '---|' * len(columns)
    for row in rows:
        yield '| ' + ' | '.join(str(cell).replace('|', '\\|') for cell in row) + ' |'


def when(part):
    alone = ', what was measured weighed above all else' if part['alone'] else ''
    return (f'{part["date"]}, {part["seconds"]:.0f} s, {part["rounds"]} rounds; load average '
            f'{part["load"]:.1f} before{alone}')


def dated(row, cell):
    return f'{row[cell]} ({row["date"]})' if row.get('date') else row[cell]


def machines(parts):
    """Parts that were measured on the same machine with the same programs stand together."""
    seen = {}
    for name, part in parts.items():
        facts = dict(part['machine'])
        load, commit = facts.pop('load'), facts.pop('commit')
        entry = seen.setdefault(json.dumps(facts, sort_keys=True), (facts, [], set(), []))
        entry[1].append(name)
        entry[2].add(commit or 'unknown')
        entry[3].append(load)
    for facts, names, commits, loads in seen.values():
        yield '## The machine' if len(seen) == 1 else f'## The machine: {", ".join(names)}'
        yield ''
        versions = ', '.join(f'{n} {v}' for n, v in facts['versions'].items())
        rows = [('processor', f'{facts["cores"]} cores, {facts["processor"]}'),
                ('memory', f'{facts["memory_gib"]} GiB'),
                ('system', f'{facts["system"]}, {facts["kernel"]}'), ('versions', versions),
                ('commit', ', '.join(sorted(commits))),
                ('load average when runs began', ', '.join(str(n) for n in sorted(set(loads))))]
        yield from table(('', ''), rows)
        yield ''


def goals(parts, rehearsed):
    rows = [(SECTIONS[name][0], r) for name, part in parts.items() for r in part['rows']]
    rows += [('The rehearsal', rehearse_report.goal(*one)) for one in rehearsed.items()]
    met = [r for _, r in rows if r['met']]
    missed = [(title, r) for title, r in rows if r['met'] is False]
    yield '## Goals'
    yield ''
    yield f'{len(met)} of {len(met) + len(missed)} goals are met.'
    broken = [SECTIONS[n][0] for n, p in parts.items() if p['failed']]
    if broken:
        yield f'Failed, and not measured to the end: {"; ".join(broken)}.'
    absent = [SECTIONS[n][0] for n in SECTIONS if n not in parts]
    if absent:
        yield f'Not measured yet: {"; ".join(absent)}.'
    if missed:
        yield 'Missed:'
        yield ''
        yield from table(('part', 'what', 'figure', 'goal'),
                         [(title, r['what'], dated(r, 'figure'), r['goal'])
                          for title, r in missed])
    yield ''


def section(name, part, said):
    title, file = SECTIONS[name]
    yield f'### {title}'
    yield ''
    yield from (how(file).splitlines() if file not in said else [f'Measured as above (`{file}`).'])
    said.add(file)
    yield ''
    yield f'{when(part)}.'
    yield ''
    if part['rows']:
        yield from table(('what', 'figure', 'goal', ''),
                         [(r['what'], dated(r, 'figure'), r['goal'], VERDICTS[r['met']])
                          for r in part['rows']])
        yield ''
    if part['peers']:
        yield from table(('what', 'tain', 'peer', 'of the peer', 'tain is so many times better'),
                         [(p['what'], p['own'], p['peer'], p['theirs'], dated(p, 'ratio'))
                          for p in part['peers']])
        yield ''


def sections(parts):
    said = set()
    for heading, peers in (('## The parts', False), ('## Peers', True)):
        names = [n for n in SECTIONS if n in parts and n.startswith('peers-') == peers]
        if names:
            yield heading
            yield ''
        if names and peers:
            yield 'Other programs that do a part of what tain does, in the same run. What a'
            yield 'comparison leaves out is said with each.'
            yield ''
        for name in names:
            yield from section(name, parts[name], said)


def rehearsal(found):
    yield '## The rehearsal'
    yield ''
    if not found:
        yield '`make rehearse` has not been run in this build folder.'
        return
    yield from how('rehearse.py').split('\n\n    tests')[0].splitlines()
    yield from LOOPBACK.splitlines()
    for name, one in found.items():
        yield ''
        yield f'### {name}, {one["ids"]:,} ids'
        yield ''
        yield f'{one["date"]}, {one["machine"]}.'
        yield ''
        yield from table(('what', 'figure'), rehearse_report.summary(name, one))
        yield ''
        yield f'{rehearse_report.verdict(one).capitalize()}.'
        yield ''
        yield 'Ids, rate, processor time of tain and the database per id:'
        yield ''
        yield '```'
        yield from rehearse_report.chart(one)
        yield '```'


def text_of(build):
    parts = results.read(build / 'bench.json')['parts']
    parts = {name: parts[name] for name in SECTIONS if name in parts}
    path = build / 'rehearse.json'
    rehearsed = json.loads(path.read_text()) if path.exists() else {}
    lines = [HEAD]
    if parts:
        lines += machines(parts)
    if parts or rehearsed:
        lines += [*goals(parts, rehearsed), *sections(parts)]
    lines += rehearsal(rehearsed)
    return '\n'.join(lines).rstrip() + '\n'


def curves(part):
    """The table of docs/scale.md: a row for each number of processes, a column for each kind."""
    found = {}
    for row in part['rows']:
        kind, n = CURVE.fullmatch(row['what']).groups()
        found.setdefault(int(n), {})[kind] = row['figure']
    kinds = list(dict.fromkeys(kind for one in found.values() for kind in one))
    facts = part['machine']
    yield ''
    yield (f'{facts["cores"]} cores, {facts["processor"]}, {part["date"]}; the median of '
           f'{part["rounds"]} rounds.')
    yield ''
    yield from table(('processes', *kinds),
                     [(n, *(one.get(kind, '') for kind in kinds)) for n, one in found.items()])
    yield ''


def write_curves(build, to):
    part = results.read(build / 'bench.json')['parts'].get('scale')
    old = to.read_text(encoding='utf-8')
    if part and not part['failed']:
        to.write_text(MARKS.sub(lambda _: '\n'.join(curves(part)) + '\n', old), encoding='utf-8')


def parts_of(text):
    """Their titles; that of a rehearsal without its number of ids."""
    return {line[4:].split(',')[0] for line in text.splitlines() if line.startswith('### ')}


def write(build, to=PAGE, scale=SCALE, anyway=False):
    """What was done, in words."""
    build, to = pathlib.Path(build), pathlib.Path(to)
    text = text_of(build)
    old = to.read_text(encoding='utf-8') if to.exists() else ''
    lost = sorted(parts_of(old) - parts_of(text))
    if lost and not anyway:
        return (f'{to} stays as it is: it has what was not measured in {build} '
                f'({"; ".join(lost)}). Measure that too, or say page.py --anyway')
    to.write_text(text, encoding='utf-8')
    write_curves(build, scale)
    return f'wrote {to}'


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument('--build', type=pathlib.Path, default=ROOT / 'build')
    p.add_argument('--to', type=pathlib.Path, default=PAGE)
    p.add_argument('--anyway', action='store_true')
    options = p.parse_args()
    print(write(options.build, options.to, anyway=options.anyway))


if __name__ == '__main__':
    sys.exit(main())
