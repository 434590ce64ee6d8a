#!/usr/bin/env python3
"""A rehearsal of the whole corpus: millions of made-up ids, by `tain catchup`, into each database.

    tests/bench/rehearse.py [--ids N] [--db sqlite|postgres] [--build DIR] [--folder DIR]
                            [--discard]

The upstream is `tain demo` on loopback, which makes items up as it is asked for them, so that five
million need no files. SQLite syncs each commit, PostgreSQL has its own defaults; both have their
files in a folder on a disk, and it is looked before that there is room. A stop (^C, SIGTERM) loses
nothing: the same command goes on where it was, --discard begins anew. Then `tain search --index`
makes the search index, which a catch-up leaves for later. What was found goes to rehearse.json in
the build folder, and from there into docs/benchmarks.md; what was made in the folder is removed.

Beside the rate of each 100,000 ids stands the processor time that they took: on a busy machine the
first says what others did, the second whether the work per id grows with the archive."""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.append(str(ROOT / 'tests' / 'support'))

import measure  # noqa: E402
import page  # noqa: E402
import rehearse_report as report  # noqa: E402
from postgres import Postgres, free_port  # noqa: E402
from settings import DURABLE  # noqa: E402
from upstream import Demo, stop  # noqa: E402

IDS = 5_000_000
LOOK_SECONDS, SAVE_SECONDS = 0.25, 5
# On the disk at the most, with the search index, the log of the database and some room to spare.
BYTES_PER_ID = {'sqlite': 1000, 'postgres': 2600}
SPARE_BYTES = 3 << 30
PHASES = ('catchup', 'index')  # and in the end 'look'
IN_MEMORY = ('tmpfs', 'ramfs')


class Stopped(Exception):
    pass


class Sqlite:
    name, servers = 'sqlite', {}

    def __init__(self, folder):
        self.path = str(folder / 'archive.db')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def uri(self):
        return f'sqlite:{self.path}'

    def log_bytes(self):
        """Of the write-ahead log, now."""
        try:
            return os.stat(self.path + '-wal').st_size
        except OSError:
            return 0

    def written(self):
        return None

    def items(self):
        with contextlib.closing(sqlite3.connect(self.path)) as db:
            return db.execute('SELECT COUNT(*) FROM items').fetchone()[0]

    def sizes(self):
        return report.sqlite_sizes(self.path)


class Cluster(Postgres):
    """One that stays where it is when this program ends before its work."""

    def __init__(self, folder):
        super().__init__(dict(DURABLE, unix_socket_directories=''))
        self.home = folder
        if (folder / 'data' / 'PG_VERSION').exists():
            self.dir = str(folder)

    def _create(self):
        self.home.mkdir(parents=True, exist_ok=True)
        self.dir = str(self.home)
        if os.getuid() == 0:
            shutil.chown(self.dir, 'postgres', 'postgres')
        self._initdb()

    def remove(self):
        self.stop()


class Pg:
    name = 'postgres'

    def __init__(self, folder):
        self.server = Cluster(folder / 'pg')

    def __enter__(self):
        self.server.start()
        self.servers = {'postgres': self.server.server.pid}
        if not self.server.psql("SELECT 1 FROM pg_database WHERE datname = 'bench'"):
            self.server.psql('CREATE DATABASE bench')
        return self

    def __exit__(self, *_):
        self.server.stop()

    def uri(self):
        return self.server.uri('bench')

    def log_bytes(self):
        found = pathlib.Path(self.server.dir, 'data', 'pg_wal')
        with contextlib.suppress(OSError):
            return sum(entry.stat().st_size for entry in os.scandir(found) if entry.is_file())
        return 0

    def written(self):
        return int(self.server.psql("SELECT (pg_current_wal_lsn() - '0/0')::bigint"))

    def items(self):
        return int(self.server.psql('SELECT COUNT(*) FROM tain.items', 'bench'))

    def sizes(self):
        return report.postgres_sizes(lambda sql: self.server.psql(sql, 'bench'))


class Notes:
    """What was seen so far, kept in a file beside the archive. `samples` are (ids, seconds at work,
    processor seconds of tain, of the database, of the upstream), all counted from the beginning."""

    def __init__(self, path):
        self.path = path
        if path.exists():
            self.all = json.loads(path.read_text())
        else:
            self.all = {'phase': 'catchup', 'samples': [[0, 0, 0, 0, 0]], 'stops': 0}
            for phase in PHASES:
                self.all[phase] = {'seconds': 0, 'rss_mib': 0, 'log_peak': 0, 'log_written': 0}

    def now(self):
        return self.all[self.all['phase']]

    def save(self):
        beside = self.path.with_suffix('.new')
        beside.write_text(json.dumps(self.all))
        beside.rename(self.path)


class Work:
    """One program at work, watched."""

    def __init__(self, options, db, notes):
        self.options, self.db, self.notes = options, db, notes
        self.tain = str(options.build / 'tain')

    def run(self, words, demo=None, look=None):
        """Until the program ends; `look` answers how many ids it has done."""
        log = open(self.options.folder / f'{self.db.name}.log', 'ab')
        began, before = time.monotonic(), self.db.written()
        child = subprocess.Popen(
            [self.tain, *words, '--progress', 'none', '--log-level', 'warn'], stdout=log,
            stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
            env=dict(os.environ, TAIN_DB=self.db.uri()))
        saved = began
        try:
            while True:
                pid, status, usage = os.wait4(child.pid, os.WNOHANG)
                if pid:
                    break
                self.watch(child, began, demo, look)
                if time.monotonic() - saved > SAVE_SECONDS:
                    saved = time.monotonic()
                    self.notes.save()
                time.sleep(LOOK_SECONDS)
        except Stopped:
            self.notes.all['stops'] += 1
            child.send_signal(signal.SIGTERM)
            _, status, usage = os.wait4(child.pid, 0)
            raise
        finally:
            log.close()
            child.returncode = os.waitstatus_to_exitcode(status)
            self.keep(time.monotonic() - began, before, usage)
        if child.returncode:
            tail = (self.options.folder / f'{self.db.name}.log').read_text(errors='replace')[-2000:]
            raise RuntimeError(f'tain {words[0]} ended with {child.returncode}:\n{tail}')

    def keep(self, seconds, before, usage):
        now = self.notes.now()
        now['seconds'] += seconds
        now['rss_mib'] = max(now['rss_mib'], usage.ru_maxrss / 1024)
        if before is not None:
            now['log_written'] += self.db.written() - before
        self.notes.save()

    def watch(self, child, began, demo, look):
        now = self.notes.now()
        now['log_peak'] = max(now['log_peak'], self.db.log_bytes())
        if not look:
            return
        try:
            ids = look()
            own = sum(measure.stat_of(child.pid)[1][:2])
        except (OSError, http.client.HTTPException, ValueError):
            return  # not yet, or no more
        base = self.base
        self.notes.all['samples'].append(
            [base[0] + ids, base[1] + time.monotonic() - began, base[2] + own,
             base[3] + sum(self.cpu_now(self.db.servers).values()) - self.server_before,
             base[4] + measure.tree_cpu(demo.process.pid)])

    def cpu_now(self, servers):
        return {name: measure.tree_cpu(pid) for name, pid in servers.items()}

    def status(self):
        done = subprocess.run([self.tain, 'status', '--json'], stdout=subprocess.PIPE, check=True,
                              env=dict(os.environ, TAIN_DB=self.db.uri()))
        return json.loads(done.stdout)

    def settled(self):
        """Counted: of a large archive on PostgreSQL the status has only an estimate."""
        return self.db.items() + self.status()['exceptions']['terminal_missing']

    def catchup(self):
        ids, samples = self.options.ids, self.notes.all['samples']
        self.base = list(samples[-1])
        if self.base[0] or self.notes.all['stops']:
            self.base[0] = self.settled()
            print(f'{self.db.name}: goes on behind {self.base[0]:,} ids', flush=True)
        self.server_before = sum(self.cpu_now(self.db.servers).values())
        port = free_port()
        with Demo(self.tain, ids) as demo:
            self.run(['catchup', '--upstream', demo.plain, '--end-id', str(ids), '--rps', '0',
                      '--concurrency', '256', '--metrics-bind', f'127.0.0.1:{port}'], demo,
                     lambda: ids_done(port))
        self.check()

    def check(self):
        found, ids = self.status(), self.options.ids
        settled = self.settled()
        if found['frontier_id'] != ids or settled != ids:
            raise RuntimeError(f'{self.db.name}: the archive is not complete: {settled}, {found}')
        self.notes.all.update(phase='index', items=self.db.items())
        self.notes.save()

    def index(self):
        self.run(['search', '--index'])
        self.notes.all['phase'] = 'look'
        self.notes.save()


def ids_done(port):
    """Of the running catch-up, by its own count of what was committed."""
    page = http.client.HTTPConnection('127.0.0.1', port, timeout=60)
    try:
        page.request('GET', '/metrics')
        text = page.getresponse().read().decode()
    finally:
        page.close()
    return sum(int(n) for n in re.findall(r'tain_catchup_items_total\{[^}]*\} (\d+)', text))


def rehearse(options, kind):
    folder = options.folder / kind.name
    folder.mkdir(parents=True, exist_ok=True)
    notes = Notes(folder / 'notes.json')
    if notes.all.setdefault('ids', options.ids) != options.ids:
        sys.exit(f'rehearse: {folder} has a rehearsal of {notes.all["ids"]:,} ids; go on with '
                 'that number, or begin anew with --discard')
    notes.save()  # the folder is that of a rehearsal from now on
    print(f'{kind.name}: {options.ids:,} ids into {folder}', flush=True)
    with kind(folder) as db:
        work = Work(options, db, notes)
        if notes.all['phase'] == 'catchup':
            work.catchup()
        print('\n'.join(report.chart_of(notes.all)), flush=True)
        if notes.all['phase'] == 'index':
            work.index()
        found = report.figures(notes.all, db.sizes())
    report.show(kind.name, found)
    report.write(options.json, kind.name, found)
    shutil.rmtree(folder)


def is_ours(folder):
    """Whether a rehearsal made it, or nobody yet: in the end it is removed, with all it has."""
    return not folder.exists() or (folder / 'notes.json').exists() or not any(folder.iterdir())


def tidy(options, discard=False):
    """What rehearsals have left of themselves; nothing else of a folder that was there before."""
    for kind in (Sqlite, Pg):
        if discard and is_ours(options.folder / kind.name):
            shutil.rmtree(options.folder / kind.name, ignore_errors=True)
        (options.folder / f'{kind.name}.log').unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        options.folder.rmdir()  # unless something is left in it


def check_ours(options, kinds):
    for folder in (options.folder / kind.name for kind in kinds):
        if not is_ours(folder):
            sys.exit(f'rehearse: {folder} is there and not of a rehearsal; --folder (or '
                     'REHEARSE_DIR) names another place')


def filesystem(path):
    best = ('', 'unknown')
    with open('/proc/mounts', encoding='utf-8') as mounts:
        for line in mounts:
            _, where, what = line.split()[:3]
            if (path + '/').startswith(where.rstrip('/') + '/') and len(where) >= len(best[0]):
                best = (where, what)
    return best[1]


def check_room(options, kinds):
    """Databases are rehearsed one after the other, so there must be room for the largest."""
    needed = max(BYTES_PER_ID[k.name] for k in kinds) * options.ids + SPARE_BYTES
    place = str(options.folder)
    here = sum(f.stat().st_size for f in options.folder.rglob('*') if f.is_file())
    free = shutil.disk_usage(place).free + here
    print(f'{place}: {filesystem(place)}, {free / 1e9:.0f} GB free, up to {needed / 1e9:.0f} GB '
          'needed at a time', flush=True)
    if filesystem(place) in IN_MEMORY:
        sys.exit(f'rehearse: {place} is in memory, where nothing is written; --folder (or '
                 'REHEARSE_DIR) names one on a disk')
    if free < needed:
        sys.exit(f'rehearse: not enough room below {place}; fewer ids (REHEARSE_IDS) need less')


def parse_options():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument('--ids', type=int, default=os.environ.get('REHEARSE_IDS') or IDS,
                   help='how many (REHEARSE_IDS, or 5,000,000)')
    p.add_argument('--db', choices=('sqlite', 'postgres'), help='one database only')
    p.add_argument('--build', type=pathlib.Path, default=ROOT / 'build', help='the build folder')
    p.add_argument('--folder', type=pathlib.Path, default=os.environ.get('REHEARSE_DIR'),
                   help='where the archives are (REHEARSE_DIR, or rehearse in the build folder)')
    p.add_argument('--discard', action='store_true', help='do not go on with what is there')
    options = p.parse_args()
    options.build = options.build.resolve()
    options.folder = (options.folder or options.build / 'rehearse').resolve()
    options.json = options.build / 'rehearse.json'
    if options.ids < 10_000:
        p.error('fewer than 10,000 ids make no curve')
    return options


def on_signal(_number, _frame):
    raise Stopped


def main():
    options = parse_options()
    if not (options.build / 'tain').exists():
        sys.exit(f'rehearse: {options.build}/tain is not there; build first')
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, on_signal)
    kinds = [k for k in (Sqlite, Pg) if options.db in (None, k.name)]
    check_ours(options, kinds)
    if options.discard:
        tidy(options, discard=True)
    options.folder.mkdir(parents=True, exist_ok=True)
    check_room(options, kinds)
    try:
        for kind in kinds:
            rehearse(options, kind)
    except Stopped:
        print(f'stopped; the same command goes on, --discard removes {options.folder}')
        return 130
    tidy(options)
    print(f'figures in {options.json}')
    if options.build == ROOT / 'build':
        print(page.write(options.build))
    return 0


if __name__ == '__main__':
    sys.exit(main())
