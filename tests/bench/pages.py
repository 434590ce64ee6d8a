"""How long does a page with 1,000 comments take, next to the bare SQL that reads them?

The page is asked for over HTTP, from the first byte of the request to the last of the answer; the SQL
is the statement of the store, run by Python's sqlite3 on the same file, all rows and columns fetched.
They take turns, and the figure is the median of the ratios."""

import http.client
import json
import os
import pathlib
import re
import signal
import sqlite3
import statistics
import subprocess
import time

from postgres import free_port

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


def statement():
    """The one that the store runs, for Python's placeholders."""
    text = (ROOT / 'src/store/sql/sqlite.sql').read_text(encoding='utf-8')
    body = text.split('-- name: read_thread\n')[1].split(';')[0]
    return re.sub(r'\$(\d)', r'?\1', re.sub(r'--.*', '', body))


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


def read(database, sql):
    began = time.perf_counter()
    rows = database.execute(sql, (STORY, 20001)).fetchall()
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


def bench_pages(tain, folder, rounds=ROUNDS):
    """{'page_ms', 'sql_ms', 'ratio', 'goal', 'ok'}"""
    path, lines = os.path.join(folder, 'pages.db'), os.path.join(folder, 'pages.ndjson')
    with open(lines, 'w', encoding='utf-8') as file:
        file.writelines(json.dumps(item) + '\n' for item in thread())
    env = {k: v for k, v in os.environ.items() if not k.startswith('TAIN_')}
    env['TAIN_METRICS_BIND'] = 'none'
    subprocess.run([tain, 'import', lines, '--db', f'sqlite:{path}', '--progress', 'none'],
                   check=True, env=env, stdout=subprocess.DEVNULL)
    port = free_port()
    server = subprocess.Popen([tain, 'serve', '--db', f'sqlite:{path}', '--listen',
                               f'127.0.0.1:{port}', '--log-level', 'error'], env=env)
    database, sql = sqlite3.connect(path), statement()
    try:
        until_it_answers(server, port)
        pairs = [(read(database, sql), fetch(port)) for _ in range(rounds)]
    finally:
        database.close()
        server.send_signal(signal.SIGTERM)
        server.wait()
    ratio = statistics.median(page / bare for bare, page in pairs)
    return {'page_ms': round(statistics.median(p for _, p in pairs) * 1000, 2),
            'sql_ms': round(statistics.median(b for b, _ in pairs) * 1000, 2),
            'ratio': round(ratio, 2), 'goal': GOAL, 'ok': ratio < GOAL}
