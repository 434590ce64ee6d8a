"""How long is the way of a change from its commit to each of 1,000 WebSocket clients?

A writer commits 200 changes a second for 20 seconds, each a transaction of its own. feed_clients.c
listens with 1,000 connections and looks that nobody misses one. The way begins when the writer has
its commit acknowledged and ends when the kernel has the bytes for the client: what the disk takes
for the commit itself, and what the program with the thousand clients takes to read them all, are
told beside it, and so is what else the machine did. The server's memory is its peak."""

import collections
import glob
import json
import os
import re
import signal
import sqlite3
import subprocess
import threading
import time

import measure

CLIENTS, RATE, SECONDS, IDS = 1000, 200, 20, 500
PG_WRITERS = 4
MAX_P99_MS, MAX_RSS_MIB = 100, 128
KEY = 'bench-' + os.urandom(16).hex()
# A session of its own, as a service has: Linux divides the processors among sessions first, and the
# thousand clients should not eat of the server's part.
ALONE = {'start_new_session': True}
CHANGE = 'UPDATE items SET title = {title}, last_changed_at = {at} WHERE id = {id}'


class SqliteWriter(threading.Thread):
    """By a schedule: a late one is followed by the next at once. `acks` has the number of each
    change and when it was acknowledged."""

    def __init__(self, db, rate):
        super().__init__()
        self.path, self.rate, self.acks, self.cpu = db.path, rate, [], 0

    def run(self):
        db = sqlite3.connect(self.path, isolation_level=None, timeout=30)
        db.execute('PRAGMA synchronous = NORMAL')
        began = time.time()
        for n in range(self.rate * SECONDS):
            wait = began + n / self.rate - time.time()
            if wait > 0:
                time.sleep(wait)
            now = int(time.time() * 1e6)
            db.execute(CHANGE.format(title='?', at='?', id='?'),
                       (f'ev={n + 1} at={now}', now // 1000 + n, 1 + n % IDS))
            self.acks.append((n + 1, int(time.time() * 1e6)))
        db.close()
        self.cpu = time.thread_time()


class PgWriter(threading.Thread):
    """pgbench at a fixed rate, by the clock of the same machine."""

    def __init__(self, db, work, rate):
        super().__init__()
        self.db, self.rate, self.acks, self.cpu = db, rate, [], 0
        self.script, self.log = os.path.join(work, 'feed.sql'), os.path.join(work, 'feed-acks')
        now = '(extract(epoch FROM clock_timestamp()) * 1000000)::bigint'
        number = f'(:n - 1) * {PG_WRITERS} + :client_id + 1'
        with open(self.script, 'w', encoding='ascii') as out:
            title = f"'ev=' || {number} || ' at=' || {now}"
            out.write(f'\\set n :n + 1\n\\set id random(1, {IDS})\n' + CHANGE.format(
                title=title, at=f'greatest(last_changed_at, {now} / 1000) + 1', id=':id') + ';\n')

    def run(self):
        child = subprocess.Popen(
            [os.path.join(self.db.server.bin, 'pgbench'), '-n', '-c', str(PG_WRITERS), '-R',
             str(self.rate), '-t', str(self.rate * SECONDS // PG_WRITERS), '-D', 'n=0', '-l',
             f'--log-prefix={self.log}', '-f', self.script, self.db.uri()],
            env=dict(os.environ, PGOPTIONS='-c search_path=tain'), stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise RuntimeError('pgbench failed')
        self.cpu = usage.ru_utime + usage.ru_stime
        self.read_log()

    def read_log(self):
        """A line per transaction: its client, and when its answer was there."""
        done = collections.Counter()
        for path in glob.glob(self.log + '.*'):
            with open(path, encoding='ascii') as lines:
                for line in lines:
                    fields = line.split()
                    client = int(fields[0])
                    self.acks.append((done[client] * PG_WRITERS + client + 1,
                                      int(fields[4]) * 1000000 + int(fields[5])))
                    done[client] += 1
            os.unlink(path)


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
                               'info', '--no-index'], env=env, stderr=log, **ALONE)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        with open(log.name, encoding='utf-8') as text:
            found = re.search(r'msg="?serving"? .*port=(\d+)', text.read())
        if found:
            return server, int(found.group(1))
        time.sleep(0.05)
    server.kill()
    raise RuntimeError('the server did not start')


def machine_seconds():
    """What all processors did so far: busy for anyone, and stolen by the host."""
    with open('/proc/stat', encoding='ascii') as stat:
        ticks = [int(x) for x in stat.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4] - ticks[7]) / measure.TICK, ticks[7] / measure.TICK


def peak_mib(pid):
    with open(f'/proc/{pid}/status', encoding='ascii') as status:
        return int(re.search(r'VmHWM:\s+(\d+) kB', status.read()).group(1)) / 1024


class Cores:
    """Processors in use between here and done(), by process; `others` is everyone else."""

    def __init__(self, pids):
        self.pids = pids
        self.began, self.before = time.monotonic(), self.look()

    def look(self):
        busy, stolen = machine_seconds()
        found = {name: measure.tree_cpu(pid) for name, pid in self.pids.items()}
        return dict(found, busy=busy, stolen=stolen)

    def done(self, writer):
        seconds, now = time.monotonic() - self.began, self.look()
        used = {name: (now[name] - self.before[name]) / seconds for name in now}
        ours = sum(used[name] for name in self.pids)
        used['writer'] = writer.cpu / seconds
        used['others'] = max(0.0, used.pop('busy') - ours - used['writer'])
        return used


def listen(bench, db, env, server, port, writer):
    program = str(bench.options.build / 'tests' / 'bench' / 'feed_clients')
    events = str(writer.rate * SECONDS)
    clients = subprocess.Popen([program, str(port), str(CLIENTS), events], env=env, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, **ALONE)
    try:
        return hear(db, server, clients, writer)
    finally:
        clients.kill()
        clients.wait()


def hear(db, server, clients, writer):
    if clients.stdout.readline() != 'ready\n':
        raise RuntimeError('the clients were not greeted')
    cores = Cores({'server': server.pid, 'clients': clients.pid, **db.servers})
    writer.start()
    writer.join()
    used = cores.done(writer)
    told = ''.join(f'{number} {at}\n' for number, at in writer.acks)
    out, _ = clients.communicate(f'{len(writer.acks)}\n{told}', timeout=120)
    if clients.returncode:
        raise RuntimeError(f'not everyone heard everything: {out}')
    return dict(json.loads(out), cores=used)


def tell(db, found, rss):
    def spread(name):
        return ' / '.join(f"{found[name][key]:.1f}" for key in ('p50_ms', 'p99_ms', 'max_ms'))

    cores = ', '.join(f'{name} {n:.2f}' for name, n in found['cores'].items())
    print(f"  {db.name}: {found['events']} events to {CLIENTS} clients, {found['lost']} lost, "
          f"{rss:.0f} MiB; p50 / p99 / max in ms:\n"
          f"    from the acknowledged commit to the client {spread('from_ack')}\n"
          f"    the same from before the write {spread('from_write')}, the commit alone "
          f"{spread('commit')}, the reading of a thousand clients {spread('client_lag')}\n"
          f'    cores: {cores}; load {os.getloadavg()[0]:.1f}', flush=True)


def one_run(bench, db, rate):
    """What the clients have found, and the server's peak of memory."""
    env = dict(os.environ, TAIN_DB=db.uri(), TAIN_CDC_KEY=KEY, TAIN_METRICS_BIND='none')
    fill(bench, db, env)
    writer = SqliteWriter(db, rate) if db.name == 'sqlite' else PgWriter(db, bench.work, rate)
    with open(os.path.join(bench.work, 'feed.log'), 'w', encoding='utf-8') as log:
        server, port = serve(bench, env, log)
        try:
            found = listen(bench, db, env, server, port, writer)
            rss = peak_mib(server.pid)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)
    if found['events'] != rate * SECONDS:
        raise RuntimeError(f'{rate * SECONDS} were written, {found}')
    tell(db, found, rss)
    return found, rss


def one_database(bench, db):
    found, rss = one_run(bench, db, RATE)
    p99 = found['from_ack']['p99_ms']
    what = f'{db.name}: {CLIENTS:,} WebSocket clients, {RATE} events/s'
    others = found['cores']['others']
    bench.row(f'{what}, p99', f'{p99:.0f} ms (others: {others:.1f} cores)', f'< {MAX_P99_MS} ms',
              p99 < MAX_P99_MS)
    bench.row(f'{what}, peak memory', f'{rss:.0f} MiB', f'<= {MAX_RSS_MIB} MiB',
              rss <= MAX_RSS_MIB)


def bench_sockets(bench, databases):
    print(f'feed: {CLIENTS:,} clients, {RATE} events/s for {SECONDS} s', flush=True)
    for db in databases:
        one_database(bench, db)
