"""How long is the way of a change from its commit to each of 1,000 WebSocket clients?

A writer commits 200 changes a second for 20 seconds, each a transaction of its own that holds the
time at which it was made. feed_clients.c listens with 1,000 connections and looks that nobody
misses one; a delay is counted from before the commit to the moment the bytes are read. The server's
memory is its peak."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import threading
import time

CLIENTS, RATE, SECONDS, IDS = 1000, 200, 20, 500
MAX_P99_MS, MAX_RSS_MIB = 100, 128
KEY = 'bench-' + os.urandom(16).hex()
CHANGE = 'UPDATE items SET title = {title}, last_changed_at = {at} WHERE id = {id}'


class SqliteWriter(threading.Thread):
    """By a schedule: a late one is followed by the next at once."""

    def __init__(self, db):
        super().__init__()
        self.path, self.written = db.path, 0

    def run(self):
        db = sqlite3.connect(self.path, isolation_level=None, timeout=30)
        db.execute('PRAGMA synchronous = NORMAL')
        began = time.time()
        for n in range(RATE * SECONDS):
            wait = began + n / RATE - time.time()
            if wait > 0:
                time.sleep(wait)
            now = int(time.time() * 1e6)
            db.execute(CHANGE.format(title='?', at='?', id='?'),
                       (f'at={now} is when this was committed', now // 1000 + n, 1 + n % IDS))
            self.written += 1
        db.close()


class PgWriter(threading.Thread):
    """pgbench at a fixed rate, by the clock of the same machine."""

    def __init__(self, db, work):
        super().__init__()
        self.db, self.written = db, 0
        self.script = os.path.join(work, 'feed.sql')
        now = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
        with open(self.script, 'w', encoding='ascii') as out:
            title = f"'at=' || {now} || ' is when this was committed'"
            out.write(f'\\set id random(1, {IDS})\n' + CHANGE.format(
                title=title, at=f'greatest(last_changed_at, {now} / 1000) + 1', id=':id') + ';\n')

    def run(self):
        done = subprocess.run(
            [os.path.join(self.db.server.bin, 'pgbench'), '-n', '-c', '4', '-R', str(RATE), '-T',
             str(SECONDS), '-f', self.script, self.db.uri()],
            env=dict(os.environ, PGOPTIONS='-c search_path=tain'), stdout=subprocess.PIPE,
            text=True, check=True)
        self.written = int(re.search(r'actually processed: (\d+)', done.stdout).group(1))


def fill(bench, db, env):
    dump = os.path.join(bench.work, 'feed.ndjson')
    with open(dump, 'w', encoding='utf-8') as out:
        for n in range(1, IDS + 1):
            out.write(json.dumps({'id': n, 'type': 'story', 'by': 'someone', 'title': f'Story {n}',
                                  'time': 1700000000 + n, 'score': n, 'descendants': 0,
                                  'url': f'https://stories.example/{n}',
                                  'text': 'Some words about it. ' * 5}) + '\n')
    db.fresh()
    subprocess.run([bench.tain, 'import', dump, '--progress', 'none', '--log-level', 'error'],
                   check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def serve(bench, env, log):
    server = subprocess.Popen([bench.tain, 'serve', '--listen', '127.0.0.1:0', '--log-level',
                               'info', '--no-index'], env=env, stderr=log)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        with open(log.name, encoding='utf-8') as text:
            found = re.search(r'msg="?serving"? .*port=(\d+)', text.read())
        if found:
            return server, int(found.group(1))
        time.sleep(0.05)
    server.kill()
    raise RuntimeError('the server did not start')


def cpu_seconds(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii') as stat:
        fields = stat.read().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def peak_mib(pid):
    with open(f'/proc/{pid}/status', encoding='ascii') as status:
        return int(re.search(r'VmHWM:\s+(\d+) kB', status.read()).group(1)) / 1024


def listen(bench, env, server, port, writer):
    program = str(bench.options.build / 'tests' / 'bench' / 'feed_clients')
    clients = subprocess.Popen([program, str(port), str(CLIENTS)], env=env, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if clients.stdout.readline() != 'ready\n':
        raise RuntimeError('the clients were not greeted')
    before = cpu_seconds(server.pid)
    writer.start()
    writer.join()
    out, _ = clients.communicate(f'{writer.written}\n', timeout=120)
    if clients.returncode:
        raise RuntimeError(f'not everyone heard everything: {out}')
    found = json.loads(out)
    found['cores'] = (cpu_seconds(server.pid) - before) / SECONDS
    return found


def one_database(bench, db):
    env = dict(os.environ, TAIN_DB=db.uri(), TAIN_CDC_KEY=KEY, TAIN_METRICS_BIND='none')
    fill(bench, db, env)
    writer = SqliteWriter(db) if db.name == 'sqlite' else PgWriter(db, bench.work)
    with open(os.path.join(bench.work, 'feed.log'), 'w', encoding='utf-8') as log:
        server, port = serve(bench, env, log)
        try:
            found = listen(bench, env, server, port, writer)
            rss = peak_mib(server.pid)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
    if found['events'] != writer.written:
        raise RuntimeError(f'{writer.written} were written, {found}')
    print(f"  {db.name}: {found['events']} events to {CLIENTS} clients, p50 {found['p50_ms']} ms, "
          f"p99 {found['p99_ms']} ms, max {found['max_ms']} ms, {found['cores']:.2f} cores, "
          f'{rss:.0f} MiB', flush=True)
    what = f'{db.name}: {CLIENTS:,} WebSocket clients, {RATE} events/s'
    bench.row(f'{what}, p99', f"{found['p99_ms']:.0f} ms", f'< {MAX_P99_MS} ms',
              found['p99_ms'] < MAX_P99_MS)
    bench.row(f'{what}, peak memory', f'{rss:.0f} MiB', f'<= {MAX_RSS_MIB} MiB',
              rss <= MAX_RSS_MIB)


def bench_sockets(bench, databases):
    print(f'feed: {CLIENTS:,} clients, {RATE} events/s for {SECONDS} s', flush=True)
    for db in databases:
        one_database(bench, db)
