"""How many items a second does `tain serve` hand out, next to nginx with the same bytes in files?

Both are asked by wrk over the same connections for the same ids, drawn anew from a few thousand,
over HTTP/1.1 on loopback. nginx has one worker. They take turns, and each run of tain is divided
by the mean of the two runs of nginx around it; the figure is the median."""

import http.client
import os
import pathlib
import re
import signal
import statistics
import subprocess
import time

from postgres import free_port
from upstream import Nginx

IDS = 5000
CONNECTIONS = 64
SECONDS, ROUNDS = 3, 5
GOALS = {'sqlite': 0.75, 'postgres': 0.40}

# Requests are made once, so that wrk spends its time on the wire.
SCRIPT = '''
local all, i = {{}}, 0
function init(args)
    math.randomseed(1)
    for n = 1, 4096 do
        all[n] = wrk.format("GET", "/v0/item/" .. math.random(1, {ids}) .. ".json")
    end
end
function request()
    i = i % 4096 + 1
    return all[i]
end
'''


def wrk(script, port, seconds):
    done = subprocess.run(['wrk', '-t1', f'-c{CONNECTIONS}', f'-d{seconds}', '-s', script,
                           f'http://127.0.0.1:{port}'], stdout=subprocess.PIPE, text=True,
                          check=True)
    if 'Non-2xx' in done.stdout or 'Socket errors' in done.stdout:
        raise RuntimeError(f'not every answer was one:\n{done.stdout}')
    return float(re.search(r'Requests/sec:\s+([\d.]+)', done.stdout).group(1))


def fill(bench, db, env):
    dump = os.path.join(bench.work, 'serve.ndjson')
    with open(dump, 'w', encoding='utf-8') as out:
        demo = subprocess.Popen([bench.tain, 'demo', '--maxitem', str(IDS), '--dump', f'1-{IDS}'],
                                stdout=subprocess.PIPE, text=True)
        out.writelines(line for line in demo.stdout if '"missing":true' not in line)
        demo.wait()
    db.fresh()
    subprocess.run([bench.tain, 'import', dump, '--progress', 'none', '--log-level', 'error'],
                   check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def copy_answers(port, root):
    """What tain answers becomes what nginx serves, byte for byte."""
    folder = pathlib.Path(root, 'v0', 'item')
    folder.mkdir(parents=True, exist_ok=True)
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=30)
    for item in range(1, IDS + 1):
        connection.request('GET', f'/v0/item/{item}.json')
        (folder / f'{item}.json').write_bytes(connection.getresponse().read())
    connection.close()


def until_it_listens(server, port):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and server.poll() is None:
        try:
            connection = http.client.HTTPConnection('127.0.0.1', port, timeout=30)
            connection.request('GET', '/v0/item/1.json')
            connection.getresponse().read()
            return connection.close()
        except OSError:
            time.sleep(0.05)
    raise RuntimeError('the server does not answer')


def take_turns(bench, db, nginx_port, port, script):
    seconds, rounds = (1, 3) if bench.options.quick else (SECONDS, ROUNDS)
    before, ratios, rates = wrk(script, nginx_port, seconds), [], []
    for _ in range(rounds):
        rate = wrk(script, port, seconds)
        after = wrk(script, nginx_port, seconds)
        ratios.append(rate / ((before + after) / 2))
        rates.append(rate)
        print(f'  {"serve, " + db.name:36} {rate:9,.0f}/s  nginx {after:9,.0f}/s', flush=True)
        before = after
    ratio = statistics.median(ratios)
    goal = GOALS[db.name]
    bench.row(f'{db.name}: /v0/item/ID.json / one nginx worker',
              f'{ratio:.2f} ({statistics.median(rates):,.0f}/s)', f'>= {goal:.2f}', ratio >= goal)


def bench_database(bench, db):
    env = {k: v for k, v in os.environ.items() if not k.startswith('TAIN_')}
    env.update({'TAIN_METRICS_BIND': 'none', 'TAIN_DB': db.uri()})
    fill(bench, db, env)
    port, root = free_port(), os.path.join(bench.work, 'answers')
    script = os.path.join(bench.work, 'serve.lua')
    pathlib.Path(script).write_text(SCRIPT.format(ids=IDS), encoding='ascii')
    server = subprocess.Popen([bench.tain, 'serve', '--listen', f'127.0.0.1:{port}', '--no-index',
                               '--log-level', 'error'], env=env)
    try:
        until_it_listens(server, port)
        copy_answers(port, root)
        with Nginx(os.path.join(bench.work, 'nginx-answers'), root) as nginx:
            nginx_port = int(re.search(r':(\d+)/', nginx.plain).group(1))
            take_turns(bench, db, nginx_port, port, script)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def bench_serve(bench, databases):
    for db in databases:
        bench_database(bench, db)
