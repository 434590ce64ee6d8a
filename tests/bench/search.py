"""Search over a million items: how long an answer takes, over 200 words and phrases that people
look for, and how fast the index is made.

The texts are recorded ones where they are to be had (TAIN_SHARED_DATA, or ../shared/data beside the
source), paragraphs of them shuffled into comments; elsewhere made-up ones whose words are as
frequent as those of a language are."""

import gzip
import json
import os
import pathlib
import random
import statistics
import subprocess

import measure

ITEMS, QUICK_ITEMS = 1_000_000, 100_000
PASSES = 3
STORY_SHARE = 0.13
GOALS = {'p50': 20.0, 'p99': 150.0}
HERE = pathlib.Path(__file__).resolve().parent
QUERIES = HERE / 'search_queries.txt'


def recorded_folder():
    root = HERE.parent.parent
    folder = pathlib.Path(os.environ.get('TAIN_SHARED_DATA') or root.parent / 'shared' / 'data')
    return folder if (folder / 'items.ndjson.zst').exists() else None


def recorded_texts(folder):
    """Stories as they are, and the paragraphs of comments."""
    stories, paragraphs = [], []
    unpacked = subprocess.run(['zstd', '-dcq', '--long=27', str(folder / 'items.ndjson.zst')],
                              stdout=subprocess.PIPE, check=True).stdout.splitlines()
    run = folder / 'items_run_25576000-25581999.ndjson.gz'
    if run.exists():
        unpacked += gzip.open(run).read().splitlines()
    for line in unpacked:
        item = json.loads(line)
        if item.get('type') == 'story' and item.get('title'):
            kept = ('title', 'url', 'text', 'score', 'descendants', 'by')
            stories.append({k: item[k] for k in kept if item.get(k) not in (None, '')})
        elif item.get('type') == 'comment' and len(item.get('text') or '') > 20:
            paragraphs += [p for p in item['text'].split('<p>') if p]
    return stories, paragraphs


def made_up_texts(rng):
    """The words that are looked for stand among 50,000 others; the n-th word comes 1/n as often."""
    known = sorted({w.strip('"-') for w in QUERIES.read_text().split()})
    words = [f'word{i}' for i in range(50_000)]
    for word in known:
        words.insert(rng.randrange(20, 3000), word)
    weights = [1 / (i + 1) for i in range(len(words))]
    text = rng.choices(words, weights, k=2_000_000)
    paragraphs = [' '.join(text[i:i + 30]) for i in range(0, 1_500_000, 30)]
    stories = [{'title': ' '.join(text[i:i + 8]), 'score': int(rng.paretovariate(1)),
                'by': f'user{i % 5000}', 'url': f'https://{text[i + 8]}.example/{text[i + 9]}'}
               for i in range(1_500_000, 1_999_900, 10)]
    return stories, paragraphs


def write_items(path, count):
    rng = random.Random(7)
    folder = recorded_folder()
    stories, paragraphs = recorded_texts(folder) if folder else made_up_texts(rng)
    story = 1
    with open(path, 'w', encoding='utf-8') as out:
        for i in range(1, count + 1):
            item = {'id': i, 'time': 1_500_000_000 + i * 7}
            if i == 1 or rng.random() < STORY_SHARE:
                item.update(rng.choice(stories), type='story')
                story = i
            else:
                text = '<p>'.join(rng.choices(paragraphs, k=rng.choice((1, 1, 2, 3, 4))))
                item.update(type='comment', parent=rng.randrange(max(1, story - 50), i), text=text,
                            by=f'user{rng.randrange(20_000)}')
            out.write(json.dumps(item, ensure_ascii=False) + '\n')
    return 'recorded' if folder else 'made-up'


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def report(bench, db, lines):
    for order in ('relevance', 'date'):
        took = [float(line[0]) for line in lines if line[3] == order]
        cpu = [float(line[1]) for line in lines if line[3] == order]
        for name, share in (('p50', 0.50), ('p99', 0.99)):
            figure = percentile(took, share)
            bench.row(f'{db.name}: search by {order}, {name}', f'{figure:.1f} ms',
                      f'<= {GOALS[name]:.0f} ms', figure <= GOALS[name])
        bench.row(f'{db.name}: search by {order}, mean and most',
                  f'{statistics.mean(took):.1f}, {max(took):.1f} ms')
        bench.row(f'{db.name}: search by {order}, CPU of the client, p50 and p99',
                  f'{percentile(cpu, 0.50):.1f}, {percentile(cpu, 0.99):.1f} ms')
    worst = sorted(lines, key=lambda line: -float(line[0]))[:8]
    print('  slowest: ' + ', '.join(f'{line[4]} by {line[3]} {float(line[0]):.0f} ms'
                                    for line in worst), flush=True)


def bench_search(bench, databases):
    count = QUICK_ITEMS if bench.options.quick else ITEMS
    dump = os.path.join(bench.work, 'search.ndjson')
    kind = write_items(dump, count)
    searcher = str(bench.options.build / 'tests' / 'bench' / 'searcher')
    for db in databases:
        db.fresh()
        env = {'TAIN_DB': db.uri()}
        print(f'{db.name}: {count:,} items, {kind} texts', flush=True)
        for what, command in (('import', ('import', dump)), ('index', ('search', '--index'))):
            cost = bench.note(measure.run(f'{db.name}, {what}',
                                          [bench.tain, *command, '--progress', 'none'], count,
                                          db.servers, env=env))
            if what == 'index':
                bench.row(f'{db.name}: indexing', f'{cost.rate:,.0f} items/s')
        if db.name == 'postgres':
            db.server.psql('VACUUM ANALYZE', 'bench')
        found = subprocess.run([searcher, db.uri(), str(QUERIES), str(PASSES)],
                               stdout=subprocess.PIPE, check=True, text=True).stdout
        report(bench, db, [line.split('\t') for line in found.splitlines()])
    os.unlink(dump)
