"""`/v0/item/ID.json` of tain on PostgreSQL next to a program as one would write it with fastify and
pg: one process of node, a pool of ten connections, a prepared statement for the item and its kids.
Both are asked by wrk for the same ids. It has no other route, no ETag and no cache; nginx with
files, which has no database at all, is in the part above."""

import http.client
import json
import os
import pathlib
import signal
import subprocess

from peers import in_turns, node, or_skip, running
from postgres import free_port
from throughput import IDS, SCRIPT, fill, until_it_listens, wrk

SECONDS, QUICK_SECONDS = 3, 1


def answer(port, item):
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=30)
    connection.request('GET', f'/v0/item/{item}.json')
    found = json.loads(connection.getresponse().read())
    connection.close()
    return found


def check_same(ours, theirs):
    """A program that answers something else would be fast for the wrong reason."""
    for item in range(1, 200):
        a, b = answer(ours, item), answer(theirs, item)
        same = (a is None and b is None) or \
            all(a.get(k) == b.get(k) for k in ('id', 'by', 'text', 'kids', 'title', 'parent'))
        if not same:
            raise RuntimeError(f'item {item}: {a} and {b}')


def bench_serve_peers(bench, databases):
    seconds = QUICK_SECONDS if bench.options.quick else SECONDS
    for db in databases:
        if db.name != 'postgres':
            continue
        env = {k: v for k, v in os.environ.items() if not k.startswith('TAIN_')}
        env.update({'TAIN_METRICS_BIND': 'none', 'TAIN_DB': db.uri()})
        fill(bench, db, env)
        script, ours, theirs = os.path.join(bench.work, 'serve.lua'), free_port(), free_port()
        pathlib.Path(script).write_text(SCRIPT.format(ids=IDS), encoding='ascii')
        with or_skip(bench, 'fastify and pg'):
            command, node_env = node(bench, 'serve_items.js', theirs, db.uri())
            server = subprocess.Popen([bench.tain, 'serve', '--listen', f'127.0.0.1:{ours}',
                                       '--no-index', '--log-level', 'error'], env=env)
            try:
                with running(command, node_env) as other:
                    until_it_listens(server, ours)
                    until_it_listens(other, theirs)
                    check_same(ours, theirs)
                    own, their, ratio = in_turns(bench.options.rounds,
                                                 lambda: wrk(script, ours, seconds),
                                                 lambda: wrk(script, theirs, seconds))
            finally:
                server.send_signal(signal.SIGTERM)
                server.wait()
            bench.peer(f'{db.name}: /v0/item/ID.json', 'fastify and pg', f'{own:,.0f}/s',
                       f'{their:,.0f}/s', ratio)
