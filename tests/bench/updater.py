"""How fast `tain updater` stores what the stream names.

The upstream is `tain demo`, whose stream can be made to name any number of ids. The archive holds
everything before; nothing but the stream gives the updater work. The reference fetches the same ids
from the same process, in turns with the bursts."""

import contextlib
import http.client
import json
import os
import random
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

import measure
from upstream import Demo, stop

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'e2e'))
from lib import normalised, wait_until  # noqa: E402

IDS, ROOM = 60_000, 20_000  # ids above the first number are young: their nulls would be rechecked
BURST = 50_000
HOT_FIRST, HOT, REPEAT, HOT_SECONDS = 20_001, 1000, 1000, 5
HOT_CHANGES = 10  # while they are named
LOOKS = 200
LIMIT_SECONDS = 120
GOALS = {'sqlite': 0.60, 'postgres': 0.50}
MAX_HOT_FETCHES, MAX_VISIBLE_MS, MAX_RSS_MIB = 20_000, 250, 64
QUIET = ['--rps', '0', '--rescan-interval', '30d', '--catchup-interval', '1h', '--lists-interval',
         '1h', '--persist-interval', '1h', '--metrics-bind', '127.0.0.1:0', '--log-level', 'info']
SETTLED = ('stored', 'missing', 'recheck', 'failed', 'dead_letter')
COLUMNS = ('id', 'score', 'deleted', 'dead', 'title', 'text', 'descendants')


# Second connections to the archives --------------------------------------------------------------

class SqliteReader:
    array = 'json_array'

    def __init__(self, db):
        self.connection = sqlite3.connect(db.path, timeout=10)

    def lines(self, sql):
        return [str(row[0]) for row in self.connection.execute(sql)]

    def close(self):
        self.connection.close()


class PgReader:
    """psql with its ear open: a client that connects anew for each look would measure that."""
    array = 'json_build_array'

    def __init__(self, db):
        self.psql = subprocess.Popen(
            [os.path.join(db.server.bin, 'psql'), '-X', '-q', '-A', '-t', '-d', db.uri()],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding='utf-8',
            env=dict(os.environ, PGOPTIONS='-c search_path=tain,pg_catalog'))

    def lines(self, sql):
        self.psql.stdin.write(sql + ';\n\\echo .\n')
        self.psql.stdin.flush()
        found = []
        for line in self.psql.stdout:
            if line == '.\n':
                return found
            found.append(line.rstrip('\n'))
        raise RuntimeError(f'psql ended at: {sql}')

    def close(self):
        self.psql.stdin.close()
        self.psql.stdout.close()
        self.psql.wait()


def reader_of(db):
    return SqliteReader(db) if db.name == 'sqlite' else PgReader(db)


# The two programs -------------------------------------------------------------------------------

class Page:
    """A connection that is kept for looks; answers to requests are texts."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection('127.0.0.1', port, timeout=60)

    def _ask(self, method, path):
        self.connection.request(method, path)
        answer = self.connection.getresponse()
        text = answer.read().decode('utf-8')
        if answer.status != 200:
            raise RuntimeError(f'{method} {path}: {answer.status} {text}')
        return text

    def get(self, path):
        try:
            return self._ask('GET', path)
        except (http.client.HTTPException, OSError):
            self.connection.close()  # it was idle for too long; the next request opens it again
            return self._ask('GET', path)

    def post(self, path):
        self.connection.close()
        return self._ask('POST', path)

    def close(self):
        self.connection.close()


class Upstream:
    """The controls of a running demo."""

    def __init__(self, demo):
        self.page = Page(int(re.search(r':(\d+)/', demo.plain)[1]))

    def post(self, what, **arguments):
        query = '&'.join(f'{name}={value}' for name, value in arguments.items())
        return json.loads(self.page.post(f'/demo/{what}?{query}'))

    def stats(self):
        return json.loads(self.page.get('/demo/stats'))

    def truth(self, lo, hi):
        lines = self.page.get(f'/demo/truth?lo={lo}&hi={hi}').splitlines()
        items = (normalised(json.loads(line)) for line in lines)
        return {item['id']: item for item in items if item}


class Updater:
    def __init__(self, bench, db, url):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [bench.tain, 'updater', '--upstream', url, *QUIET], stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log, start_new_session=True,
            env=dict(os.environ, TAIN_DB=db.uri()))
        self.page = None

    def so_far(self):
        return os.pread(self.log.fileno(), 1 << 20, 0).decode('utf-8', 'replace')

    def _port(self):
        if self.process.poll() is not None:
            raise RuntimeError('the updater has ended:\n' + self.so_far())
        return re.search(r'msg="?metrics"? .*port=(\d+)', self.so_far())

    def wait_ready(self):
        self.page = Page(int(wait_until(self._port, 30, 'a page of metrics')[1]))
        wait_until(lambda: 'following the event stream' in self.so_far(), 30, 'the stream')

    def settled(self):
        """Ids that the queue has got rid of, each with its outcome in the database."""
        text = self.page.get('/metrics')
        found = re.findall(r'tain_realtime_outcomes_total\{outcome="(\w+)"\} (\d+)', text)
        return sum(int(n) for outcome, n in found if outcome in SETTLED)

    def wait_settled(self, wanted):
        deadline = time.monotonic() + LIMIT_SECONDS
        while self.settled() < wanted:
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise RuntimeError(f'{self.settled()} of {wanted} ids:\n{self.so_far()}')
            time.sleep(0.02)

    def peak_mib(self):
        with open(f'/proc/{self.process.pid}/status') as status:
            return int(re.search(r'VmHWM:\s+(\d+) kB', status.read())[1]) / 1024

    def end(self):
        if self.page:
            self.page.close()
        stop(self.process)
        if self.process.returncode:
            raise RuntimeError(f'it ended with {self.process.returncode}:\n{self.so_far()}')
        self.log.close()


class Stage:
    """An archive that is complete, its upstream, and an updater that follows the stream."""

    def __init__(self, bench, db, demo, updater, reader):
        self.bench, self.db, self.demo, self.updater, self.reader = bench, db, demo, updater, reader
        self.upstream = Upstream(demo)
        self.servers = {'demo': demo.process.pid, **db.servers}

    def stored(self, lo, hi):
        sql = f"SELECT {self.reader.array}({', '.join(COLUMNS)}) FROM items " \
              f'WHERE id BETWEEN {lo} AND {hi}'
        rows = (dict(zip(COLUMNS, json.loads(line))) for line in self.reader.lines(sql))
        return {row['id']: dict(row, deleted=bool(row['deleted']), dead=bool(row['dead']))
                for row in rows}

    def differing(self, lo, hi):
        found, truth = self.stored(lo, hi), self.upstream.truth(lo, hi)
        if found.keys() != truth.keys():
            return sorted(found.keys() ^ truth.keys())
        return [i for i, item in truth.items() if any(item[c] != found[i][c] for c in COLUMNS)]

    def reference(self):
        command = [self.bench.reference_program, self.demo.plain, '1', str(BURST), '256']
        return self.bench.note(measure.run(f'reference, {self.db.name}', command, BURST,
                                           {'demo': self.demo.process.pid}))


@contextlib.contextmanager
def stage(bench, db):
    db.fresh()
    with contextlib.ExitStack() as stack:
        demo = stack.enter_context(Demo(bench.tain, IDS, ROOM))
        measure.run('catchup', [bench.tain, 'catchup', '--upstream', demo.plain, '--rps', '0',
                                '--progress', 'none', '--log-level', 'warn'], IDS, {},
                    env={'TAIN_DB': db.uri()}, good=(0, 3))
        updater = Updater(bench, db, demo.plain)
        stack.callback(updater.end)
        updater.wait_ready()
        reader = reader_of(db)
        stack.callback(reader.close)
        yield Stage(bench, db, demo, updater, reader)


# What is measured -------------------------------------------------------------------------------

def cpu_of(pids):
    return {name: measure.tree_cpu(pid) for name, pid in pids.items()}


def burst(s, what, changes):
    """Names the ids and waits for the last of them; then looks whether all of it is there."""
    changed = s.upstream.post('mutate-range', lo=1, hi=BURST, quiet=1)['changed'] if changes else 0
    wanted = s.updater.settled() + BURST
    stamp, cpu = int(time.time() * 1000) - 5, cpu_of(s.servers)  # clocks agree to a millisecond
    own = measure.stat_of(s.updater.process.pid)[1]
    began = time.monotonic()
    s.upstream.post('mention', **{'from': 1, 'n': BURST})
    s.updater.wait_settled(wanted)
    seconds = time.monotonic() - began
    user, system = (b - a for a, b in
                    zip(own[:2], measure.stat_of(s.updater.process.pid)[1][:2]))
    served = {name: total - cpu[name] for name, total in cpu_of(s.servers).items()}
    check_burst(s, what, stamp, changed)
    return s.bench.note(measure.Cost(f'{s.db.name}, {what}', BURST, seconds, BURST / seconds, user,
                                     system, s.updater.peak_mib(), served))


def check_burst(s, what, stamp, changed):
    count = f'SELECT COUNT(*) FROM items WHERE id <= {BURST}'
    stored, fetched, new = (int(s.reader.lines(count + rest)[0]) for rest in (
        '', f' AND last_fetched_at >= {stamp}', f' AND last_changed_at >= {stamp}'))
    if fetched != stored or new != changed:
        raise RuntimeError(f'{s.db.name}, {what}: of {stored} items {fetched} were fetched again; '
                           f'{new} have changed, not {changed}')
    for lo in random.sample(range(1, BURST - 200), 5):
        if s.differing(lo, lo + 200):
            raise RuntimeError(f'{s.db.name}, {what}: {s.differing(lo, lo + 200)} are not as '
                               'the upstream says')


def bench_bursts(s):
    ratios = {'burst, changed': [], 'burst, unchanged': []}
    before = s.reference()
    for number in range(s.bench.options.rounds):
        print(f'{s.db.name}: bursts, round {number + 1} of {s.bench.options.rounds}', flush=True)
        for what, values in ratios.items():
            cost = burst(s, what, what == 'burst, changed')
            after = s.reference()
            values.append(cost.rate / statistics.mean((before.rate, after.rate)))
            before = after
    goal = GOALS[s.db.name]
    for what, values in ratios.items():
        median = statistics.median(values)
        s.bench.row(f'{s.db.name}: {what} / reference',
                    f'{median:.2f} ({min(values):.2f} to {max(values):.2f})', f'>= {goal:.2f}',
                    median >= goal)


def bench_hot(s):
    """Few ids that are named all the time, while they change: few fetches, no last state lost."""
    hot = {'from': HOT_FIRST, 'n': HOT, 'per_frame': HOT}
    lo, hi = HOT_FIRST, HOT_FIRST + HOT - 1
    before = s.upstream.stats()
    began = time.monotonic()
    s.upstream.post('mention', **hot, repeat=REPEAT - 1, spread_ms=HOT_SECONDS * 1000)
    for number in range(HOT_CHANGES):
        time.sleep(max(0, began + (number + 1) * 0.49 - time.monotonic()))
        s.upstream.post('mutate-range', lo=lo, hi=hi, quiet=1)
    s.upstream.post('mention', **hot)  # behind all the others, and behind the last change
    wait_until(lambda: s.upstream.stats()['bursts'] == 0, 60, 'the end of the burst', 0.005)
    named = time.monotonic()
    wait_until(lambda: not s.differing(lo, hi), 60, 'the last state of every hot id')
    right = time.monotonic()
    after = s.upstream.stats()
    named_ids = after['mentions'] - before['mentions']
    if named_ids != HOT * REPEAT or after['streams_overrun'] != before['streams_overrun']:
        raise RuntimeError(f'{named_ids} mentions; not all of them were sent: {after}')
    fetches = after['requests']['item'] - before['requests']['item']
    what = f'{s.db.name}: {HOT * REPEAT:,} mentions of {HOT:,} ids in {named - began:.1f} s'
    s.bench.row(what, f'{fetches:,} fetches', f'< {MAX_HOT_FETCHES:,}', fetches < MAX_HOT_FETCHES)
    s.bench.row(f'{s.db.name}: every last state, after the last mention',
                f'{right - named:.2f} s')


def visible_ms(s, item):
    look = f'SELECT last_changed_at FROM items WHERE id = {item}'
    old = s.reader.lines(look)
    began = time.monotonic()
    s.upstream.post('mutate', id=item)
    wait_until(lambda: s.reader.lines(look) != old, 10, f'item {item} as it is now', 0.001)
    return (time.monotonic() - began) * 1000


def bench_latency(s):
    present = list(s.upstream.truth(BURST + 1, IDS))
    times = []
    for item in random.sample(present, LOOKS):
        times.append(visible_ms(s, item))
        time.sleep(random.uniform(0.02, 0.06))  # idle again
    times.sort()
    median = statistics.median(times)
    s.bench.row(f'{s.db.name}: change visible when idle, p50 (p95)',
                f'{median:.0f} ms ({times[LOOKS * 95 // 100]:.0f} ms)', f'<= {MAX_VISIBLE_MS} ms',
                median <= MAX_VISIBLE_MS)


def bench_updater(bench, databases):
    for db in databases:
        with stage(bench, db) as s:
            bench_bursts(s)
            bench_hot(s)
            bench_latency(s)
            peak = s.updater.peak_mib()
            bench.row(f'{db.name}: updater, peak memory', f'{peak:.1f} MiB',
                      f'<= {MAX_RSS_MIB} MiB', peak <= MAX_RSS_MIB)
