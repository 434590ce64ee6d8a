"""What the end-to-end suites share: the stand-in upstream, runs of the program, archives of both
kinds, the truth to compare them with, and the invariants that hold at every instant.

Every process is started by a test and ended by its id; nothing waits for a fixed time: wait_until()
polls a condition up to a deadline. A deadline is for what never comes, on however slow a machine:
none is shorter than LEAST, and no test measures how long something took.
"""

import atexit
import csv
import functools
import http.client
import io
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get('TAIN_BUILD', ROOT / 'build')).resolve()
TAIN = str(BUILD / 'tain')

sys.path.insert(0, str(ROOT / 'tests' / 'support'))
from postgres import Postgres, find_bin, free_port  # noqa: E402

EXIT_DONE, EXIT_FAILED, EXIT_USAGE, EXIT_UNRESOLVED = 0, 1, 2, 3
PATIENCE = float(os.environ.get('TEST_PATIENCE', 1))  # deadlines are so many times longer
LEAST = 300  # seconds that the shortest of them is
ANSWER = LEAST * PATIENCE  # seconds for an answer to a single request
TICK_NS = 20_000_000  # two ticks of the slowest clock there is
SERVICE_URLS = ('TAIN_REDDIT_URL', 'TAIN_HN_SEARCH_URL', 'TAIN_ANTHROPIC_URL')
YOUNG_SPAN = 20000  # a null within this distance of maxitem is not believed at once

# A run in tests: no pace of its own, short waits, a report to read.
QUICK = ['--rps', '0', '--retry-initial-ms', '20', '--retry-max-ms', '200', '--retry-jitter-ms',
         '20', '--progress', 'none', '--json']


# What is asked here is on this machine, wherever a proxy of the environment leads.
os.environ['no_proxy'] = os.environ['NO_PROXY'] = ','.join(filter(None, (
    os.environ.get('no_proxy') or os.environ.get('NO_PROXY'), '127.0.0.1', 'localhost')))

_ends = []  # a function for each process that was started: it is gone afterwards


def patient(seconds):
    return max(seconds, LEAST) * PATIENCE


def wait_until(condition, seconds=LEAST, what='the condition', every=0.01):
    """Polls until the condition answers something true, and answers that."""
    seconds = patient(seconds)
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f'{what} did not come about within {seconds} s')
        time.sleep(every)


@functools.lru_cache(maxsize=1)
def _closed():
    """A port of this machine that is taken and that nobody listens at, as long as we live."""
    taken = socket.socket()
    taken.bind(('127.0.0.1', 0))
    atexit.register(taken.close)
    return taken.getsockname()[1]


def environment(extra=None):
    """The caller's, without what would change a run and without keys of services, with English
    messages, and without metrics: the default port is one for all tests that run at once. The
    services behind links are at a closed port, so that no test asks the real ones. None takes a
    variable out, but not these: they are back at the closed port."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(('TAIN_', 'PG', 'ANTHROPIC_'))}
    env.update({'LC_ALL': 'C.UTF-8', 'TAIN_METRICS_BIND': 'none'}, **(extra or {}))
    for name in SERVICE_URLS:
        env[name] = env.get(name) or f'http://127.0.0.1:{_closed()}'
    return {k: v for k, v in env.items() if v is not None}


def fault_points():
    """The names of the places where a test can end the program, as the program lists them."""
    done = subprocess.run([TAIN, 'help', '--fault-points'], stdout=subprocess.PIPE, check=True,
                          text=True, env=environment())
    return sorted(set(done.stdout.split()))


# The stand-in upstream ----------------------------------------------------------------------------

class Demo:
    """`tain demo` as a process of its own."""

    host = '127.0.0.1'

    def __init__(self, *faults, maxitem=40000, seed=1, port=0):
        self.maxitem, self.seed = maxitem, seed
        self.process = self.connection = None
        _ends.append(self.stop)
        self.start(*faults, port=port)

    def start(self, *faults, port=None):
        command = [TAIN, 'demo', '--maxitem', str(self.maxitem), '--seed', str(self.seed),
                   '--port', str(self.port if port is None else port)]
        for fault in faults:
            command += ['--fault', fault]
        self.process = self.popen(command, stdout=subprocess.PIPE, text=True, env=environment())
        line = self.process.stdout.readline()
        found = re.match(rf'demo upstream at (http://{re.escape(self.host)}:(\d+)/v0) ', line)
        if not found:
            self.stop()
            raise AssertionError(f'the upstream did not start: {line!r}')
        self.url, self.port = found.group(1), int(found.group(2))

    def popen(self, command, **options):
        return subprocess.Popen(command, **options)

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """SIGKILL: clients see their connections break."""
        self._disconnect()
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process = None

    def _disconnect(self):
        if self.connection:
            self.connection.close()
            self.connection = None

    def ask(self, method, path, body=None):
        for attempt in (1, 2):
            if not self.connection:
                self.connection = http.client.HTTPConnection(self.host, self.port,
                                                             timeout=ANSWER)
            try:
                self.connection.request(method, path, body)
                answer = self.connection.getresponse()
                text = answer.read().decode()
                break
            except (http.client.HTTPException, OSError):
                self._disconnect()  # a connection of before a restart
                if attempt == 2:
                    raise
        if answer.status != 200:
            raise AssertionError(f'{method} {path}: {answer.status} {text}')
        return json.loads(text)

    def stats(self):
        return self.ask('GET', '/demo/stats')

    def reset_stats(self):
        self.ask('POST', '/demo/reset-stats')

    def faults(self, *specs):
        self.ask('POST', '/demo/faults', '\n'.join(specs))

    def mutate(self, item, how='any'):
        self.ask('POST', f'/demo/mutate?id={item}&how={how}')

    def grow(self, maxitem):
        self.ask('POST', f'/demo/maxitem?value={maxitem}')
        self.maxitem = maxitem

    def item(self, item):
        return self.ask('GET', f'/v0/item/{item}.json')

    def truth(self, lo, hi, asked=()):
        """What an archive of lo..hi should hold; `asked` ids are read from the server, since a
        change is known to it alone."""
        known = dict(dump(lo, hi, self.maxitem, self.seed))
        for item in asked:
            known[item] = normalised(self.item(item))
        return known


@functools.lru_cache(maxsize=16)
def dump(lo, hi, maxitem, seed):
    """{id: item as the archive should have it, or None}"""
    done = subprocess.run([TAIN, 'demo', '--maxitem', str(maxitem), '--seed', str(seed), '--dump',
                           f'{lo}-{hi}'], stdout=subprocess.PIPE, check=True, env=environment())
    found = {}
    for line in done.stdout.decode('utf-8').splitlines():
        raw = json.loads(line)
        found[raw['id']] = None if raw.get('missing') else normalised(raw)
    assert sorted(found) == list(range(lo, hi + 1))
    return found


# The truth, read as the mirror reads it -----------------------------------------------------------

TEXTS = ('type', 'by', 'text', 'url', 'title')
NUMBERS = ('time', 'parent', 'poll', 'score', 'descendants')
COLUMNS = ('id', 'deleted', 'dead') + TEXTS + NUMBERS + ('parts', 'story_id')


def first_of(value):
    return value[0] if isinstance(value, list) and value else value


def ids_of(value):
    """An array, an object whose values are the entries, or a single one; no repeats."""
    if isinstance(value, dict):
        value = list(value.values())
    elif not isinstance(value, list):
        value = [value]
    return list(dict.fromkeys(v for v in value if isinstance(v, int) and v > 0))


def normalised(raw):
    if raw is None:
        return None
    item = {'id': raw['id'], 'deleted': first_of(raw.get('deleted')) is True,
            'dead': first_of(raw.get('dead')) is True}
    for name in TEXTS:
        text = first_of(raw.get(name))
        item[name] = text.replace('\0', '\ufffd') if text else None
    for name in NUMBERS:
        item[name] = first_of(raw.get(name))
    item['kids'] = ids_of(raw.get('kids', []))
    item['parts'] = ids_of(raw.get('parts', [])) or None
    return item


def with_stories(items):
    """A copy in which every item knows the root of its thread, found by walking up."""
    def root(item):
        for _ in range(len(items)):
            if item is None:
                return None
            if item['type'] in ('story', 'job', 'poll'):
                return item['id']
            item = items.get(item['poll'] or item['parent'])
        raise AssertionError('a thread without an end')
    return {i: dict(item, story_id=root(item)) for i, item in items.items() if item}


# Archives -----------------------------------------------------------------------------------------

SNAPSHOT = {
    'segments': 'SELECT segment_id, start_id, end_id, purpose, status, scan_cursor_id, '
                'unresolved_count, holder, lease_token FROM ingest_segments',
    'exceptions': 'SELECT item_id, segment_id, state, attempts, rung, failure_class '
                  'FROM ingest_exceptions',
    'state': 'SELECT floor_id, frontier_id, frontier_excluding_waiting, maxitem '
             'FROM updater_state',
    'ids': 'SELECT id FROM items',
}


class Sqlite:
    def __init__(self, path):
        self.path = str(path)
        self.uri = 'sqlite:' + self.path

    def rows(self, sql):
        """Reads as a client beside the writer would."""
        connection = sqlite3.connect(f'file:{self.path}?mode=rw', uri=True, timeout=ANSWER)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def execute(self, sql):
        connection = sqlite3.connect(self.path, timeout=ANSWER)
        try:
            with connection:
                connection.execute(sql)
        finally:
            connection.close()

    def _copied(self, copy):
        """False when a checkpoint moved pages from one file to the other meanwhile. The stamp of
        a file is as coarse as the system's tick: only one of some age tells two writes apart."""
        before = os.stat(self.path).st_mtime_ns
        if 0 <= time.time_ns() - before < TICK_NS:
            time.sleep(TICK_NS / 1e9)
            return False
        shutil.copy(self.path, copy)
        try:
            shutil.copy(self.path + '-wal', copy + '-wal')
        except FileNotFoundError:
            pathlib.Path(copy + '-wal').unlink(missing_ok=True)
        return os.stat(self.path).st_mtime_ns == before

    def snapshot(self):
        """All of it at one instant, from a copy: a look must not repair what a crash left."""
        if not os.path.exists(self.path):
            return None
        with tempfile.TemporaryDirectory(prefix='tain-look-') as folder:
            copy = os.path.join(folder, 'a.db')
            while not self._copied(copy):
                pass
            connection = sqlite3.connect(copy)
            try:
                connection.execute('BEGIN')
                if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = "
                                          "'updater_state'").fetchone():
                    return None
                found = {name: connection.execute(sql).fetchall()
                         for name, sql in SNAPSHOT.items()}
                found['sound'] = connection.execute('PRAGMA quick_check').fetchone()[0] == 'ok'
                return found
            finally:
                connection.close()

    def items(self):
        rows = self.rows(f"SELECT {', '.join(COLUMNS)} FROM items ORDER BY id")
        found = {}
        for row in rows:
            item = dict(zip(COLUMNS, row))
            item['deleted'], item['dead'] = bool(item['deleted']), bool(item['dead'])
            item['parts'] = json.loads(item['parts']) if item['parts'] else None
            found[item['id']] = item
        return found


class PostgresArchive:
    """A database of its own on the suite's server."""
    count = 0
    NULL = '\x01null\x01'

    def __init__(self, server, template='template1'):
        PostgresArchive.count += 1
        self.server = server
        self.name = f'archive{PostgresArchive.count}'
        if template != 'template1':  # sessions of a client that is dead go on for a while
            wait_until(lambda: not server.psql('SELECT 1 FROM pg_stat_activity WHERE datname = '
                                               f"'{template}' AND backend_type = 'client backend'"),
                       what=f'the end of all sessions of {template}')
        server.psql(f'CREATE DATABASE {self.name} TEMPLATE {template}')
        self.uri = server.uri(self.name)

    def asked_uri(self):
        """Where the test itself asks."""
        return self.uri

    def _psql(self, *arguments):
        done = subprocess.run(
            [os.path.join(self.server.bin, 'psql'), '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d',
             self.asked_uri(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment({'PGOPTIONS': '-c search_path=tain,pg_catalog'}))
        if done.returncode:
            raise RuntimeError(f'psql: {done.stderr.decode().strip()}')
        return done.stdout.decode('utf-8')

    def execute(self, sql):
        self._psql('-c', sql)

    @staticmethod
    def _value(text):
        if text == PostgresArchive.NULL:
            return None
        return int(text) if re.fullmatch(r'-?\d{1,18}', text) else text

    def texts(self, sql):
        out = self._psql('--csv', '-t', '-P', f'null={self.NULL}', '-c', sql)
        return list(csv.reader(io.StringIO(out, newline='')))

    def rows(self, sql):
        """Whole numbers as such, everything else as text."""
        return [tuple(self._value(v) for v in row) for row in self.texts(sql)]

    def snapshot(self):
        """All of it at one instant: one statement."""
        if not self.rows("SELECT 1 FROM pg_tables WHERE schemaname = 'tain' "
                         "AND tablename = 'updater_state'"):
            return None
        parts = [f"'{name}', (SELECT json_agg(r) FROM (SELECT json_build_array({columns}) AS r "
                 f'FROM {table}) q)' for name, columns, table in
                 ((name, *re.match(r'SELECT (.*) FROM (\w+)$', sql).groups())
                  for name, sql in SNAPSHOT.items())]
        out = self._psql('-A', '-t', '-c', f"SELECT json_build_object({', '.join(parts)})")
        return {name: [tuple(row) for row in rows or []]
                for name, rows in json.loads(out).items()}

    def items(self):
        wanted = ', '.join('array_to_json(parts)' if c == 'parts' else c for c in COLUMNS)
        found = {}
        for row in self.texts(f'SELECT {wanted} FROM items ORDER BY id'):
            item = {c: None if v == self.NULL else v for c, v in zip(COLUMNS, row)}
            for name in ('id', 'story_id') + NUMBERS:
                item[name] = None if item[name] is None else int(item[name])
            item['deleted'], item['dead'] = item['deleted'] == 't', item['dead'] == 't'
            item['parts'] = json.loads(item['parts']) if item['parts'] else None
            found[item['id']] = item
        return found


class Look:
    """A snapshot with names."""

    def __init__(self, raw):
        keys = ('segment_id', 'start_id', 'end_id', 'purpose', 'status', 'cursor', 'unresolved',
                'holder', 'token')
        self.segments = [dict(zip(keys, row)) for row in raw['segments']]
        self.mirror = sorted((s for s in self.segments if s['purpose'] == 'mirror'),
                             key=lambda s: s['start_id'])
        keys = ('id', 'segment_id', 'state', 'attempts', 'rung', 'class')
        self.exceptions = [dict(zip(keys, row)) for row in raw['exceptions']]
        self.floor, self.frontier, self.frontier_waiting, self.maxitem = raw['state'][0]
        self.ids = {row[0] for row in raw['ids']}
        self.sound = raw.get('sound', True)


# Tests --------------------------------------------------------------------------------------------

class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def report(self):
        return json.loads(self.out)

    def __str__(self):
        return f'exit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}'


class Run:
    """The program at work."""

    def __init__(self, arguments, env=None, cwd=None):
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        self.process = self.popen([TAIN, *map(str, arguments)], stdin=subprocess.DEVNULL,
                                  stdout=self.out, stderr=self.err, env=environment(env), cwd=cwd)
        self.pid = self.process.pid
        _ends.append(self.kill)

    def popen(self, command, **options):
        return subprocess.Popen(command, **options)

    def running(self):
        return self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def so_far(self):
        return self._read(self.err)

    def wait(self, seconds=LEAST):
        seconds = patient(seconds)
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f'no end within {seconds} s\n{self.so_far()}') from None
        return Result(code, self._read(self.out), self.so_far())

    def kill(self):
        if self.running():
            self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        self.out.close()
        self.err.close()

    @staticmethod
    def _read(file):
        size = os.fstat(file.fileno()).st_size  # pread: the child shares the file's position
        return os.pread(file.fileno(), size, 0).decode('utf-8', 'replace')


class E2E(unittest.TestCase):
    """Gives each test a folder and ends what it started."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='tain-e2e-'))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def demo(self, *faults, **options):
        demo = Demo(*faults, **options)
        self.addCleanup(demo.stop)
        return demo

    def start(self, *arguments, env=None):
        run = Run(arguments, env=env, cwd=self.folder)
        self.addCleanup(run.close)
        return run

    def run_tain(self, *arguments, env=None, seconds=LEAST):
        return self.start(*arguments, env=env).wait(seconds)

    def start_catchup(self, archive, demo, *arguments, env=None):
        return self.start('catchup', '--db', archive.uri, '--upstream', demo.url, *QUICK,
                          *arguments, env=env)

    def catchup(self, archive, demo, *arguments, code=EXIT_DONE, env=None, seconds=LEAST):
        result = self.start_catchup(archive, demo, *arguments, env=env).wait(seconds)
        self.assertEqual(result.code, code, result)
        return result

    def status(self, archive):
        result = self.run_tain('status', '--db', archive.uri, '--json')
        self.assertEqual(result.code, EXIT_DONE, result)
        return result.report

    # What has to hold

    def assert_truth(self, archive, known):
        """The archive holds exactly the items of `known`, {id: item or None}, to the last field."""
        expected, found = with_stories(known), archive.items()
        missing = sorted(set(expected) - set(found))
        extra = sorted(set(found) - set(expected))
        self.assertFalse(missing or extra, f'not stored: {missing[:10]}; too many: {extra[:10]}')
        for item_id, item in expected.items():
            for name in COLUMNS:
                if found[item_id][name] != item[name]:
                    self.fail(f'item {item_id}, {name}: {found[item_id][name]!r} is not '
                              f'{item[name]!r}')
        self.assert_kids(archive, expected)

    def assert_kids(self, archive, expected):
        kids = {}
        for item, kid, order in archive.rows('SELECT item, kid, display_order FROM kids '
                                             'ORDER BY item, display_order'):
            kids.setdefault(item, []).append((kid, order))
        for item_id, item in expected.items():
            self.assertEqual([k for k, _ in kids.pop(item_id, [])], item['kids'],
                             f'kids of {item_id}')
        self.assertFalse(kids, 'kids of items that are not there')

    def look(self, archive):
        raw = archive.snapshot()
        return Look(raw) if raw else None

    def assert_invariants(self, archive):
        """What a stranger may rely on at any instant. Answers the look that was taken."""
        look = self.look(archive)
        if not look:
            return None  # the tables are not there yet
        self.assertTrue(look.sound, 'the database file is damaged')
        for before, after in zip(look.mirror, look.mirror[1:]):
            self.assertLess(before['end_id'], after['start_id'], 'mirror segments overlap')
        excepted = {x['id'] for x in look.exceptions}
        for s in look.segments:
            # That an id is null the mirror writes down, not who looks again ahead of it.
            own = s['purpose'] in ('mirror', 'gap')
            for item in range(s['start_id'], s['cursor'] + 1) if own else ():
                self.assertTrue(item in look.ids or item in excepted,
                                f'{item} is below the cursor of {s} and has no row')
            if s['status'] == 'done':
                self.assertEqual((s['cursor'], s['unresolved']), (s['end_id'], 0), s)
            if s['status'] != 'in_progress':
                self.assertIsNone(s['holder'], s)
        self.assert_frontier(look)
        return look

    def assert_kept(self, before, now):
        """Each id of an earlier look is there still. Answers this one."""
        lost = sorted(before - now)
        self.assertFalse(lost, f'{len(lost)} are lost: {lost[:10]}')
        return now

    def assert_frontier(self, look):
        mirror = {s['segment_id'] for s in look.mirror}
        settled = {x['id'] for x in look.exceptions if x['state'] == 'terminal_missing'}
        open_ids = {x['id'] for x in look.exceptions
                    if x['segment_id'] in mirror and x['state'] != 'terminal_missing'}
        for item in range(look.floor or 1, (look.frontier or 0) + 1):
            self.assertTrue(item in look.ids or item in settled,
                            f'frontier {look.frontier} is above {item}, which has no outcome')
            self.assertNotIn(item, open_ids, f'frontier {look.frontier} passed an open id')

    def assert_complete(self, archive, demo, lo, hi, asked=()):
        """A window that is done: equal to the truth, one segment, nothing left open."""
        known = demo.truth(lo, hi, asked)
        self.assert_truth(archive, known)
        look = self.assert_invariants(archive)
        self.assertEqual([(s['start_id'], s['end_id'], s['status']) for s in look.segments],
                         [(lo, hi, 'done')])
        self.assertEqual({x['id'] for x in look.exceptions},
                         {i for i, item in known.items() if item is None})
        self.assertEqual({x['state'] for x in look.exceptions} - {'terminal_missing'}, set())
        self.assertEqual((look.floor, look.frontier), (lo, hi))


class OnSqlite:
    def archive(self):
        """A new one each time."""
        count = len(list(self.folder.glob('archive*.db')))
        path = self.folder / f'archive{count}.db'
        return Sqlite(path)

    def copy(self, archive):
        """Another one like it, which no process has open."""
        new = self.archive()
        for end in ('', '-wal'):
            if os.path.exists(archive.path + end):
                shutil.copy(archive.path + end, new.path + end)
        return new


class OnPostgres:
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server = shared_postgres()

    def archive(self):
        return PostgresArchive(self.server)

    def copy(self, archive):
        return PostgresArchive(self.server, archive.name)


_server = None


def shared_postgres():
    """One server for all tests of a file."""
    global _server
    if not find_bin():
        raise unittest.SkipTest('PostgreSQL is not installed')
    if not _server:
        _server = Postgres({'synchronous_commit': 'on'})  # a crash may lose nothing
        unittest.addModuleCleanup(_forget_server)
        _server.start()
    return _server


def _forget_server():
    global _server
    if _server:
        _server.remove()
    _server = None


# A suite that is stopped --------------------------------------------------------------------------

def _stop(*_):
    raise KeyboardInterrupt  # the one exception that unittest does not take for a failed test


@atexit.register
def _end_everything():
    """unittest runs no cleanup after ^C."""
    for end in _ends:
        end()
    _forget_server()


signal.signal(signal.SIGTERM, _stop)
