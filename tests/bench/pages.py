"""How long does a page with 1,000 comments take, next to the bare SQL that reads them?

The page is asked for over HTTP, from the connection to the last byte of the answer. The SQL is the
statement of the store, all rows and columns, by Python's sqlite3 or by psql on a session that is
kept. They take turns, and the figure is made of the quickest of each: what else the machine does
only ever adds, and adds more to what passes through several threads."""

import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import time

from postgres import free_port
from updater import reader_of

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
STORY, COMMENTS = 1000, 1000
ROUNDS = 60
GOAL = 5.0
WORDS = 'It works, and the part about mirrors made my morning. '


def thread():
    """A story with comments on a few levels; texts of a usual length, with HTML in them."""
    kids = {}
    for n in range(1, COMMENTS + 1):
        kids.setdefault(STORY + (0 if n <= 60 else n * 7 % (n - 30)), []).append(STORY + n)
    parents = {kid: parent for parent, all_of in kids.items() for kid in all_of}
    yield {'id': STORY, 'type': 'story', 'by': 'someone', 'title': 'A thread', 'time': 1700000000,
           'score': 500, 'descendants': COMMENTS, 'kids': kids[STORY]}
    for n in range(1, COMMENTS + 1):
        text = WORDS * (2 + n % 9) + '<p><i>&gt; see</i> <a href="https:&#x2F;&#x2F;e.example&#x2F;'
        yield {'id': STORY + n, 'type': 'comment', 'by': f'person{n % 90}', 'time': 1700000000 + n,
               'parent': parents[STORY + n], 'kids': kids.get(STORY + n, []),
               'text': f'{text}{n}">https:&#x2F;&#x2F;e.example&#x2F;{n}</a><p>It&#x27;s fine.'}


def statement(db):
    """The one that the store runs."""
    name = 'sqlite' if db.name == 'sqlite' else 'pg'
    text = (ROOT / 'src' / 'store' / 'sql' / f'{name}.sql').read_text(encoding='utf-8')
    body = re.sub(r'--.*', '', text.split('-- name: read_thread\n')[1].split(';')[0])
    return body.replace('$1', str(STORY)).replace('$2', '20001')


def fetch(port):
    began = time.perf_counter()
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=30)
    connection.request('GET', f'/item?id={STORY}')
    body = connection.getresponse().read()
    took = time.perf_counter() - began
    connection.close()
    if body.count(b'<article class="c ') != COMMENTS or not body.endswith(b'</html>\n'):
        raise RuntimeError('the page is not complete')
    return took


def read(reader, sql):
    began = time.perf_counter()
    rows = reader.lines(sql)
    took = time.perf_counter() - began
    if len(rows) != COMMENTS:
        raise RuntimeError('the statement reads something else')
    return took


def until_it_answers(server, port):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and server.poll() is None:
        try:
            return fetch(port)
        except OSError:
            time.sleep(0.05)
    raise RuntimeError('the server does not answer')


def fill(bench, db, env):
    path = os.path.join(bench.work, 'pages.ndjson')
    with open(path, 'w', encoding='utf-8') as file:
        file.writelines(json.dumps(item) + '\n' for item in thread())
    db.fresh()
    subprocess.run([bench.tain, 'import', path, '--progress', 'none', '--log-level', 'warn'],
                   check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def bench_database(bench, db, rounds):
    env = {k: v for k, v in os.environ.items() if not k.startswith('TAIN_')}
    env.update({'TAIN_METRICS_BIND': 'none', 'TAIN_DB': db.uri()})
    fill(bench, db, env)
    port = free_port()
    reader, sql = reader_of(db), statement(db)
    server = subprocess.Popen([bench.tain, 'serve', '--listen', f'127.0.0.1:{port}', '--log-level',
                               'error'], env=env)
    try:
        until_it_answers(server, port)
        pairs = [(read(reader, sql), fetch(port)) for _ in range(rounds)]
    finally:
        reader.close()
        server.send_signal(signal.SIGTERM)
        server.wait()
    bare, page = (min(p[i] for p in pairs) * 1000 for i in (0, 1))
    ratio = page / bare
    bench.row(f'{db.name}: page with {COMMENTS:,} comments / its SQL',
              f'{ratio:.2f} ({page:.1f} ms / {bare:.1f} ms)', f'< {GOAL:.0f}', ratio < GOAL)


def bench_pages(bench, databases):
    for db in databases:
        bench_database(bench, db, 20 if bench.options.quick else ROUNDS)
