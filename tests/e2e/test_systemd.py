"""The units: systemd reads them without a word, they are confined, and their commands do with a
notification socket what the units promise."""

import ctypes
import pathlib
import platform
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest
import urllib.error
import urllib.request

from lib import (ANSWER, BUILD, E2E, EXIT_DONE, EXIT_FAILED, EXIT_UNRESOLVED, EXIT_USAGE, LEAST,
                 ROOT, TAIN, Run, Sqlite, environment, free_port, wait_until)
import seccomp
from lookup import Lookup
from services import KEY, SECRET, Services
from units import UNITS, Listener, Unit, filled_in

ANALYZE = shutil.which('systemd-analyze')
EXPOSURE_MAX = 12  # of 100, as `systemd-analyze security` counts it
SCRAPED = ('tain-updater', 'tain-serve', 'tain-enrich@', 'tain-catchup')
SERVICES = (*SCRAPED, 'tain-up')


class Units(E2E):
    def setUp(self):
        super().setUp()
        self.etc = self.folder / 'etc'
        (self.etc / 'default').mkdir(parents=True)
        (self.etc / 'tain').mkdir()
        self.paths = {'bindir': BUILD, 'sysconfdir': self.etc, 'docdir': ROOT / 'docs'}
        example = ROOT / 'packaging' / 'conf' / 'tain.conf.in'
        self.config = self.etc / 'tain' / 'tain.conf'
        self.config.write_text(filled_in(example, self.paths))
        self.archive = Sqlite(self.folder / 'archive.db')
        self.settings = {'TAIN_DB': self.archive.uri, 'TAIN_METRICS_BIND': '127.0.0.1:0',
                         'TAIN_RETRY_INITIAL_MS': '20', 'TAIN_RETRY_MAX_MS': '200'}
        self.listeners = 0

    def unit(self, name):
        """As it would be installed for this folder."""
        lines = ''.join(f'{k}={v}\n' for k, v in self.settings.items())
        (self.etc / 'default' / 'tain').write_text(lines)
        return Unit(filled_in(UNITS / f'{name}.service.in', self.paths, instance='1'))

    def start_unit(self, unit, watchdog=None, listening=True, **options):
        """Its ExecStart, in its environment. Answers the run, which has a listener."""
        env = unit.environment()
        command = unit.command()
        self.assertEqual(command[0], str(BUILD / 'tain'))
        listener = None
        if listening:
            self.listeners += 1
            listener = Listener(self.folder / f'notify{self.listeners}')
            self.addCleanup(listener.close)
            env['NOTIFY_SOCKET'] = listener.path
        if watchdog:
            env['WATCHDOG_USEC'] = str(int(watchdog * 1e6))
        run = Confined(command[1:], env, self.folder, **options)
        self.addCleanup(run.close)
        run.listener = listener
        return run

    def updater(self, demo, watchdog=60, **options):
        self.settings['TAIN_UPSTREAM'] = demo.url
        return self.start_unit(self.unit('tain-updater'), watchdog, **options)

    def wait_ready(self, run):
        wait_until(lambda: run.listener.has('READY') or not run.running(), what='READY=1')
        run.listener.catch_up(ANSWER)
        self.assertTrue(run.listener.has('READY'), run.so_far())

    def wait_status(self, run, pattern, seconds=LEAST):
        try:
            found = wait_until(lambda: re.search(pattern, run.listener.status()) or
                               not run.running() and 'ended', seconds,
                               f'a status like {pattern!r}')
        except AssertionError as e:
            raise AssertionError(f'{e}; it is {run.listener.status()!r}') from None
        if found == 'ended':
            run.listener.catch_up(ANSWER)
            self.assertRegex(run.listener.status(), pattern, run.so_far())

    def wait_told(self, run, pattern):
        """The same for a status that may be followed by another one at any time."""
        def told():
            return any(re.search(pattern, status) for status in run.listener.all('STATUS'))
        wait_until(lambda: told() or not run.running(), what=f'a status like {pattern!r}')
        run.listener.catch_up(ANSWER)
        self.assertTrue(told(), run.listener.all('STATUS'))

    def assert_end(self, name, result, code, clean, restarted):
        self.assertEqual(result.code, code, result)
        self.assertEqual(self.unit(name).judge(result.code), (clean, restarted), result)


class Confined(Run):
    """A run that may be confined before it begins."""

    def __init__(self, arguments, env, cwd, preexec=None):
        self.preexec, self.listener = preexec, None
        super().__init__(arguments, env=env, cwd=cwd)

    def popen(self, command, **options):
        return subprocess.Popen(command, preexec_fn=self.preexec, **options)

    def wait(self, seconds=LEAST):
        """Its last words are read, too."""
        result = super().wait(seconds)
        if self.listener:
            self.listener.catch_up(ANSWER)
        return result


@unittest.skipUnless(ANALYZE, 'systemd-analyze is not installed')
class ReadBySystemd(Units):
    def written(self):
        """The units in a folder, naming the built program, which has to be there."""
        folder = self.folder / 'units'
        folder.mkdir()
        for path in UNITS.iterdir():
            (folder / path.name.removesuffix('.in')).write_text(filled_in(path, self.paths))
        return sorted(folder.iterdir())

    def analyze(self, *arguments):
        done = subprocess.run([ANALYZE, *map(str, arguments)], stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT)
        if re.search(r'Failed to (create manager|initialize manager|set up|connect)', done.stdout):
            self.skipTest(f'systemd-analyze cannot work here: {done.stdout.splitlines()[0]}')
        return done

    def test_verify(self):
        done = self.analyze('verify', '--man=no', *self.written())
        ours = [line for line in done.stdout.splitlines() if 'tain' in line]
        self.assertFalse(ours, done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_verify_can_fail(self):
        units = self.written()
        for path in units:
            path.write_text(path.read_text().replace('Restart=on-failure', 'Restart=sometimes'))
        self.assertIn('sometimes', self.analyze('verify', '--man=no', *units).stdout)

    def test_exposure(self):
        for path in self.written():
            if path.suffix != '.service':
                continue
            done = self.analyze('security', '--offline=true', f'--threshold={EXPOSURE_MAX}',
                                '--no-pager', path)
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_exposure_can_be_too_much(self):
        path = next(p for p in self.written() if p.name == 'tain-updater.service')
        path.write_text(path.read_text().replace('CapabilityBoundingSet=\n', ''))
        done = self.analyze('security', '--offline=true', f'--threshold={EXPOSURE_MAX}',
                            '--no-pager', path)
        self.assertNotEqual(done.returncode, 0, done.stdout)


class Rules(Units):
    """What the units say of ends, so that the tests below mean something."""

    def test_codes(self):
        updater, serve, enrich, catchup, up = (self.unit(name) for name in SERVICES)
        for unit, code, clean, restarted in (
                (updater, EXIT_DONE, True, False), (updater, EXIT_FAILED, False, True),
                (updater, EXIT_USAGE, False, False), (updater, EXIT_UNRESOLVED, False, True),
                (updater, 143, True, False), (updater, -signal.SIGKILL, False, True),
                (updater, -signal.SIGSEGV, False, True), (updater, -signal.SIGABRT, False, True),
                (serve, EXIT_DONE, True, False), (serve, EXIT_FAILED, False, True),
                (serve, EXIT_USAGE, False, False), (serve, -signal.SIGKILL, False, True),
                (enrich, EXIT_DONE, True, False), (enrich, EXIT_FAILED, False, True),
                (enrich, EXIT_USAGE, False, False), (enrich, -signal.SIGKILL, False, True),
                (enrich, 143, True, False), (up, EXIT_DONE, True, False),
                (up, EXIT_FAILED, False, True),
                (up, EXIT_USAGE, False, False), (up, -signal.SIGKILL, False, True),
                (catchup, EXIT_DONE, True, False), (catchup, EXIT_FAILED, False, True),
                (catchup, EXIT_USAGE, False, False), (catchup, EXIT_UNRESOLVED, True, False),
                (catchup, 143, True, False), (catchup, -signal.SIGKILL, False, True)):
            self.assertEqual(unit.judge(code), (clean, restarted), (unit.command(), code))

    def test_kinds(self):
        catchup = self.unit('tain-catchup')
        for unit in map(self.unit, SERVICES):
            self.assertEqual((unit.service('Type'), unit.service('WatchdogSec'),
                              unit.service('NotifyAccess')), ('notify', '60', 'main'))
        self.assertEqual(catchup.environment()['TAIN_METRICS_BIND'], '127.0.0.1:0',
                         'the environment file goes before the unit')

    def test_the_timer_may_always_start_it(self):
        """Starts by a timer count for the limit: when that was reached, the next one is allowed."""
        limits = self.unit('tain-catchup').sections['Unit']
        self.assertEqual((limits['StartLimitIntervalSec'], limits['StartLimitBurst']),
                         ('30min', '5'))
        timer = Unit((UNITS / 'tain-catchup.timer').read_text()).sections['Timer']
        self.assertEqual((timer['OnCalendar'], timer['RandomizedDelaySec']), ('hourly', '5min'))

    def test_all_can_serve_metrics(self):
        units = [Unit(filled_in(UNITS / f'{name}.service.in', {'sysconfdir': '/nowhere'}, '1'))
                 for name in SCRAPED]
        own = [unit.command()[-1].replace('none', '127.0.0.1:8080')
               if unit.command()[-2] == '--metrics-bind' else
               unit.environment().get('TAIN_METRICS_BIND', '127.0.0.1:9464') for unit in units]
        scraped = (ROOT / 'packaging/prometheus/prometheus.yml').read_text()
        self.assertEqual(re.findall(r'job_name: (\S+)(?:.*\n)+?.*targets: \["(\S+)"\]', scraped),
                         list(zip((name.rstrip('@') for name in SCRAPED), own)))
        up = Unit(filled_in(UNITS / 'tain-up.service.in', {'sysconfdir': '/nowhere'}))
        self.assertNotIn('--metrics-bind', up.command(), 'it is scraped as the updater')
        self.assertNotIn('TAIN_METRICS_BIND', up.environment())

    def test_one_or_the_other(self):
        """What is both takes the place of each; all others may run beside each other."""
        for name in SERVICES:
            conflicts = self.unit(name).sections['Unit'].get('Conflicts', '')
            self.assertEqual(conflicts, 'tain-updater.service tain-serve.service'
                             if name == 'tain-up' else '', name)

    def test_same_confinement(self):
        """What confines one confines the others."""
        parts = [(UNITS / f'{name}.service.in').read_text().partition('# The archive.')[2]
                 .partition('[Install]')[0].strip() for name in SERVICES]
        self.assertTrue(parts[0])
        self.assertEqual(set(parts), {parts[0]})


class Configuration(Units):
    def test_as_shipped(self):
        self.assertIn('db = "sqlite:/var/lib/tain/tain.db"', self.config.read_text())
        result = self.run_tain('migrate', '--config', self.config, env=self.settings)
        self.assertEqual(result.code, EXIT_DONE, result)

    def test_what_is_commented_out_is_the_default(self):
        text = self.config.read_text()
        keys = re.findall(r'^#(\w+) = (\S+)$', text, re.M)
        self.assertGreater(len(keys), 10)
        self.config.write_text(re.sub(r'^#(\w+ = \S+)$', r'\1', text, flags=re.M))
        result = self.run_tain('migrate', '--config', self.config, env=self.settings)
        self.assertEqual(result.code, EXIT_DONE, result)
        helped = self.run_tain('updater', '--help').out + self.run_tain('serve', '--help').out
        for key, value in keys:
            option = '--' + key.replace('_', '-')
            found = re.search(rf'{option}\b(.*?)(?=\n\s+--|\Z)', helped, re.S)
            self.assertTrue(found, f'{option} is no option of a service')
            self.assertRegex(found.group(1), rf'\b{re.escape(value)}\b', option)


class Updater(Units):
    def test_up_and_down(self):
        demo = self.demo(maxitem=300)
        run = self.updater(demo, watchdog=2)
        self.wait_ready(run)
        self.wait_status(run, r'^active: frontier 300, 0 behind; stream up; 0 queued; 8 of 8 work')
        beats = len(run.listener.all('WATCHDOG'))
        wait_until(lambda: len(run.listener.all('WATCHDOG')) >= beats + 3, what='the watchdog')
        run.signal(signal.SIGTERM)
        result = run.wait()
        self.assert_end('tain-updater', result, EXIT_DONE, True, False)
        said = run.listener
        self.assertEqual(said.all('READY'), ['1'])
        self.assertEqual(said.all('STOPPING'), ['1'])
        self.assertEqual(said.status(), 'stopped; everything is written')
        self.assertLess(said.keys().index('READY'), said.keys().index('WATCHDOG'))
        after = [f for _, f in said.messages[[i for i, (_, f) in enumerate(said.messages)
                                              if 'STOPPING' in f][0] + 1:]]
        self.assertFalse([f for f in after if 'WATCHDOG' in f or 'READY' in f], after)

    def test_nobody_listens(self):
        demo = self.demo(maxitem=50)
        run = self.updater(demo, listening=False)
        wait_until(lambda: 'following the event stream' in run.so_far(), what='the stream')
        run.signal(signal.SIGTERM)
        self.assert_end('tain-updater', run.wait(), EXIT_DONE, True, False)

    def test_wrong_configuration_is_not_tried_again(self):
        self.config.write_text('db = "sqlite:x.db"\nno_such_key = 1\n')
        run = self.updater(self.demo(maxitem=50))
        self.assert_end('tain-updater', run.wait(), EXIT_USAGE, False, False)
        self.assertFalse(run.listener.has('READY'))

    def test_a_database_that_is_away_is_tried_again(self):
        self.settings['TAIN_DB'] = f'postgres://nobody@127.0.0.1:{free_port()}/nothing'
        run = self.updater(self.demo(maxitem=50))
        self.assert_end('tain-updater', run.wait(), EXIT_FAILED, False, True)
        self.assertFalse(run.listener.has('READY'))

    def test_a_kill_is_followed_by_a_start(self):
        demo = self.demo(maxitem=50)
        run = self.updater(demo)
        self.wait_ready(run)
        run.kill()
        self.assert_end('tain-updater', run.wait(), -signal.SIGKILL, False, True)
        run = self.updater(demo)
        self.wait_ready(run)
        self.wait_status(run, r'^active: ')

    def test_standby(self):
        demo = self.demo(maxitem=100)
        first = self.updater(demo)
        self.wait_ready(first)
        second = self.updater(demo, watchdog=2)
        self.wait_ready(second)
        self.wait_status(second, r'^standby: another updater is active$')
        beats = len(second.listener.all('WATCHDOG'))
        wait_until(lambda: len(second.listener.all('WATCHDOG')) >= beats + 2, what='the watchdog')
        first.signal(signal.SIGTERM)
        self.assert_end('tain-updater', first.wait(), EXIT_DONE, True, False)
        self.wait_status(second, r'^active: ')
        third = self.updater(demo)
        self.wait_ready(third)
        third.signal(signal.SIGTERM)
        self.assert_end('tain-updater', third.wait(), EXIT_DONE, True, False)
        self.assertTrue(third.listener.has('STOPPING'))

    def test_a_stuck_thread_starves_the_watchdog(self):
        run = self.updater(self.demo(maxitem=50), watchdog=2)
        self.wait_ready(run)
        self.wait_status(run, r'stream up')
        thread = frozen(self, run.pid, 'fetch-0')
        self.wait_status(run, r'a thread has not moved for ')
        beats = len(run.listener.all('WATCHDOG'))
        until = time.monotonic() + 2.5  # longer than systemd would have waited
        wait_until(lambda: time.monotonic() > until, what='time to pass')
        self.assertEqual(len(run.listener.all('WATCHDOG')), beats)
        thread.release()
        wait_until(lambda: len(run.listener.all('WATCHDOG')) > beats, what='the watchdog')
        run.signal(signal.SIGTERM)
        self.assert_end('tain-updater', run.wait(), EXIT_DONE, True, False)

    @unittest.skipIf(seccomp.why_not() or not ANALYZE, seccomp.why_not() or 'no systemd-analyze')
    def test_within_its_system_calls(self):
        filters = self.unit('tain-updater').service('SystemCallFilter')
        allowed = seccomp.allowed_by(filters)
        self.assertNotIn('setrlimit', allowed)
        self.assertNotIn('chroot', allowed)
        self.assertIn('epoll_wait', allowed)
        confined = seccomp.confine_to(allowed | {'execve'})
        run = self.updater(self.demo(maxitem=300), preexec=confined)
        self.wait_ready(run)
        self.wait_status(run, r'^active: frontier 300, 0 behind; stream up')
        status = pathlib.Path(f'/proc/{run.pid}/status').read_text()
        self.assertRegex(status, r'Seccomp:\s2')
        run.signal(signal.SIGTERM)
        self.assert_end('tain-updater', run.wait(), EXIT_DONE, True, False)


class Serve(Units):
    def serve(self, watchdog=60, **options):
        self.settings['TAIN_LISTEN'] = f'127.0.0.1:{free_port()}'
        return self.start_unit(self.unit('tain-serve'), watchdog, **options)

    def fill(self):
        self.settings['TAIN_UPSTREAM'] = self.demo(maxitem=300).url
        self.assertEqual(self.start_unit(self.unit('tain-catchup')).wait().code, EXIT_DONE)

    def status_of(self, path):
        address = self.settings['TAIN_LISTEN']
        try:
            with urllib.request.urlopen(f'http://{address}{path}', timeout=ANSWER) as answer:
                return answer.status
        except urllib.error.HTTPError as refused:
            return refused.code

    def test_up_and_down(self):
        self.fill()
        run = self.serve(watchdog=2)
        self.wait_ready(run)
        self.wait_status(run, r'^serving on port \d+: \d+ connections$')
        for path in ('/', '/readyz', '/metrics'):
            wait_until(lambda: self.status_of(path) == 200, what=path)
        beats = len(run.listener.all('WATCHDOG'))
        wait_until(lambda: len(run.listener.all('WATCHDOG')) >= beats + 3, what='the watchdog')
        run.signal(signal.SIGTERM)
        self.assert_end('tain-serve', run.wait(), EXIT_DONE, True, False)
        self.assertEqual(run.listener.all('STOPPING'), ['1'])

    def test_no_archive_yet(self):
        run = self.serve()
        self.assert_end('tain-serve', run.wait(), EXIT_FAILED, False, True)
        self.assertFalse(run.listener.has('READY'))
        self.assertFalse(pathlib.Path(self.archive.path).exists())

    def test_a_stuck_thread_starves_the_watchdog(self):
        self.fill()
        run = self.serve(watchdog=2)
        self.wait_ready(run)
        self.assertEqual(self.status_of('/'), 200)
        thread = frozen(self, run.pid, 'web-0')
        self.wait_status(run, r'a thread has not moved for ')
        thread.release()
        beats = len(run.listener.all('WATCHDOG'))
        wait_until(lambda: len(run.listener.all('WATCHDOG')) > beats, what='the watchdog')
        run.signal(signal.SIGTERM)
        self.assert_end('tain-serve', run.wait(), EXIT_DONE, True, False)

    @unittest.skipIf(seccomp.why_not() or not ANALYZE, seccomp.why_not() or 'no systemd-analyze')
    def test_within_its_system_calls(self):
        self.fill()
        allowed = seccomp.allowed_by(self.unit('tain-serve').service('SystemCallFilter'))
        run = self.serve(preexec=seccomp.confine_to(allowed | {'execve'}))
        self.wait_ready(run)
        self.assertEqual([self.status_of(path) for path in ('/', '/newest', '/v0/maxitem.json',
                                                            '/metrics')], [200] * 4)
        run.signal(signal.SIGTERM)
        self.assert_end('tain-serve', run.wait(), EXIT_DONE, True, False)


class Up(Units):
    def up(self, watchdog=60, **options):
        self.settings['TAIN_UPSTREAM'] = self.demo(maxitem=300).url
        self.settings['TAIN_LISTEN'] = f'127.0.0.1:{free_port()}'
        return self.start_unit(self.unit('tain-up'), watchdog, **options)

    def answers(self):
        address = self.settings['TAIN_LISTEN']
        for path in ('/', '/status', '/v0/maxitem.json', '/metrics'):
            with urllib.request.urlopen(f'http://{address}{path}', timeout=ANSWER) as answer:
                self.assertEqual(answer.status, 200, path)

    def test_up_and_down(self):
        run = self.up(watchdog=2)
        self.wait_ready(run)
        self.wait_status(run, r'^active: .*frontier 300\b', 60)
        self.answers()
        beats = len(run.listener.all('WATCHDOG'))
        wait_until(lambda: len(run.listener.all('WATCHDOG')) >= beats + 3, what='the watchdog')
        run.signal(signal.SIGTERM)
        self.assert_end('tain-up', run.wait(), EXIT_DONE, True, False)
        self.assertEqual(run.listener.all('STOPPING'), ['1'])

    def test_an_address_that_is_taken_is_tried_again(self):
        with socket.create_server(('127.0.0.1', 0)) as taken:
            self.settings['TAIN_UPSTREAM'] = self.demo(maxitem=50).url
            self.settings['TAIN_LISTEN'] = f'127.0.0.1:{taken.getsockname()[1]}'
            run = self.start_unit(self.unit('tain-up'))
            self.assert_end('tain-up', run.wait(), EXIT_FAILED, False, True)
            self.assertFalse(run.listener.has('READY'))

    @unittest.skipIf(seccomp.why_not() or not ANALYZE, seccomp.why_not() or 'no systemd-analyze')
    def test_within_its_system_calls(self):
        allowed = seccomp.allowed_by(self.unit('tain-up').service('SystemCallFilter'))
        run = self.up(preexec=seccomp.confine_to(allowed | {'execve'}))
        self.wait_ready(run)
        self.wait_status(run, r'^active: .*frontier 300\b', 60)
        self.answers()
        run.signal(signal.SIGTERM)
        self.assert_end('tain-up', run.wait(), EXIT_DONE, True, False)


PLAN = """
provider shop {
    url = "${SHOP_URL}"
    token = "${SHOP_TOKEN}"
    rate = none
}
source records {
    provider = shop
    table = records
    key = id
    status = state
    request {
        path = "/api/v1/lookup"
        body = '{"artist": "{name}", "song": "s", "album": "a", "raw_message": "r"}'
    }
    match = "results[0].artwork"
    map title { from = "results[0].artwork.artwork_url" }
}
"""


class Enrich(Units):
    """A worker, its sources and its secrets where the unit looks for them."""

    def setUp(self):
        super().setUp()
        self.lookup = Lookup(token='open-sesame')
        self.addCleanup(self.lookup.close)
        (self.etc / 'tain' / 'enrich.conf').write_text(PLAN)
        (self.etc / 'tain' / 'enrich.env').write_text(f'SHOP_URL={self.lookup.url}\n'
                                                      'SHOP_TOKEN=open-sesame\n')
        (self.etc / 'tain' / 'enrich-1.env').write_text('ENRICH_BIND=127.0.0.1:0\n')

    def fill(self, n):
        self.assertEqual(self.run_tain('migrate', '--db', self.archive.uri).code, EXIT_DONE)
        self.archive.execute("CREATE TABLE records (id INTEGER PRIMARY KEY, name TEXT, title TEXT, "
                             "state TEXT NOT NULL DEFAULT 'pending')")
        for i in range(n):
            self.archive.execute(f"INSERT INTO records (name) VALUES ('Artist {i}')")

    def enrich(self, watchdog=60, **options):
        return self.start_unit(self.unit('tain-enrich@'), watchdog, **options)

    def all_found(self, run, n):
        wait_until(lambda: self.archive.rows("SELECT COUNT(*) FROM records WHERE state = "
                                             "'enriched_match'") == [(n,)] or not run.running(),
                   what='every row')
        self.assertTrue(run.running(), run.so_far())

    def test_up_and_down(self):
        self.fill(3)
        run = self.enrich(watchdog=2)
        self.wait_ready(run)
        self.wait_status(run, r'^enriching links and 1 source$')
        self.all_found(run, 3)
        beats = len(run.listener.all('WATCHDOG'))
        wait_until(lambda: len(run.listener.all('WATCHDOG')) >= beats + 3, what='the watchdog')
        run.signal(signal.SIGTERM)
        self.assert_end('tain-enrich@', run.wait(), EXIT_DONE, True, False)
        self.assertEqual(run.listener.all('STOPPING'), ['1'])
        self.assertNotIn('open-sesame', run.so_far())

    def test_a_wrong_plan_is_not_tried_again(self):
        self.fill(0)
        (self.etc / 'tain' / 'enrich.conf').write_text(PLAN.replace('key = id', 'key = no'))
        run = self.enrich()
        self.assert_end('tain-enrich@', run.wait(), EXIT_USAGE, False, False)
        self.assertRegex(run.so_far(), r'enrich\.conf:\d+: key')
        self.assertFalse(run.listener.has('READY'))

    def test_a_secret_that_is_not_there(self):
        self.fill(0)
        (self.etc / 'tain' / 'enrich.env').unlink()
        self.assert_end('tain-enrich@', self.enrich().wait(), EXIT_USAGE, False, False)

    def test_ports_of_the_instances(self):
        (self.etc / 'tain' / 'enrich-1.env').unlink()
        for instance, address in (('1', '127.0.0.1:9471'), ('9', '127.0.0.1:9479'),
                                  ('west', '127.0.0.1:9500')):
            (self.etc / 'tain' / 'enrich-west.env').write_text('ENRICH_BIND=127.0.0.1:9500\n')
            unit = Unit(filled_in(UNITS / 'tain-enrich@.service.in', self.paths, instance))
            self.assertEqual(unit.command()[-2:], ['--metrics-bind', address])

    @unittest.skipIf(seccomp.why_not() or not ANALYZE, seccomp.why_not() or 'no systemd-analyze')
    def test_within_its_system_calls(self):
        self.fill(3)
        allowed = seccomp.allowed_by(self.unit('tain-enrich@').service('SystemCallFilter'))
        run = self.enrich(preexec=seccomp.confine_to(allowed | {'execve'}))
        self.wait_ready(run)
        self.all_found(run, 3)
        run.signal(signal.SIGTERM)
        self.assert_end('tain-enrich@', run.wait(), EXIT_DONE, True, False)


class Links(Units):
    """A worker for links alone, its keys where the unit looks for them."""

    EXAMPLE = ROOT / 'packaging' / 'examples' / 'links.env'

    def setUp(self):
        super().setUp()
        self.services = Services()
        self.addCleanup(self.services.close)
        lines = [f'{name}={value}' for name, value in self.services.env(TAIN_SOURCES='').items()]
        (self.etc / 'tain' / 'links.env').write_text('\n'.join(lines) + '\n')
        (self.etc / 'tain' / 'enrich-1.env').write_text('ENRICH_BIND=127.0.0.1:0\n')
        self.assertEqual(self.run_tain('migrate', '--db', self.archive.uri).code, EXIT_DONE)
        url = self.services.article()
        self.services.discussed(url)
        self.archive.execute(f"INSERT INTO links (url, url_key) VALUES ('{url}', '{url}')")

    def work(self, **options):
        run = self.start_unit(self.unit('tain-enrich@'), **options)
        self.wait_ready(run)

        def done():
            rows = self.archive.rows('SELECT reddit_status, hn_status, summary_status '
                                     'FROM link_processing')
            return rows == [('completed',) * 3] or not run.running()
        wait_until(done, what='the end of every task')
        self.assertTrue(run.running(), run.so_far())
        return run

    def test_keys_are_seen_by_nobody(self):
        run = self.work()
        self.wait_status(run, r'^enriching links$')
        words = pathlib.Path(f'/proc/{run.pid}/cmdline').read_bytes().decode()
        for secret in (KEY, SECRET):
            self.assertNotIn(secret, words)
            self.assertNotIn(secret, run.so_far())
        run.signal(signal.SIGTERM)
        self.assert_end('tain-enrich@', run.wait(), EXIT_DONE, True, False)

    @unittest.skipIf(seccomp.why_not() or not ANALYZE, seccomp.why_not() or 'no systemd-analyze')
    def test_within_its_system_calls(self):
        allowed = seccomp.allowed_by(self.unit('tain-enrich@').service('SystemCallFilter'))
        run = self.work(preexec=seccomp.confine_to(allowed | {'execve'}))
        run.signal(signal.SIGTERM)
        self.assert_end('tain-enrich@', run.wait(), EXIT_DONE, True, False)

    def test_a_malformed_variable_is_not_tried_again(self):
        (self.etc / 'tain' / 'links.env').write_text('TAIN_SOURCES=\nTAIN_REDDIT_URL=reddit\n')
        run = self.start_unit(self.unit('tain-enrich@'))
        self.assert_end('tain-enrich@', run.wait(), EXIT_USAGE, False, False)
        self.assertIn('TAIN_REDDIT_URL is not of the form', run.so_far())

    def test_the_example_has_every_variable(self):
        page = subprocess.run([TAIN, 'help', '--man', 'up'], stdout=subprocess.PIPE, check=True,
                              text=True, env=environment()).stdout
        known = set(re.findall(r'^\.It Ev (\w*(?:REDDIT|HN_SEARCH|ANTHROPIC|FETCH)\w*)', page,
                               re.M))
        shown = set(re.findall(r'^#([A-Z_]+)=', self.EXAMPLE.read_text(), re.M))
        self.assertEqual(shown, known | {'TAIN_SOURCES'})
        self.assertGreater(len(known), 5)
        for name in ('tain-up', 'tain-enrich@'):
            self.assertIn(f'-{self.etc}/tain/links.env', self.unit(name).service('EnvironmentFile'))


class Catchup(Units):
    def catchup_unit(self, demo, **options):
        self.settings['TAIN_UPSTREAM'] = demo.url
        return self.start_unit(self.unit('tain-catchup'), **options)

    def test_done_and_nothing_left(self):
        demo = self.demo(maxitem=600)
        self.settings['TAIN_RPS'] = '60'
        run = self.catchup_unit(demo)
        self.wait_ready(run)
        self.wait_told(run, r'^catching up: \d+\.\d%, [\d.,]+/s.*; frontier [\d,]+')
        self.assert_end('tain-catchup', run.wait(), EXIT_DONE, True, False)
        self.assertEqual(run.listener.all('READY'), ['1'])
        self.assertEqual(run.listener.all('STOPPING'), ['1'])
        self.assertEqual(run.listener.status(), 'finished')
        again = self.catchup_unit(demo)
        self.assert_end('tain-catchup', again.wait(), EXIT_DONE, True, False)
        self.assertEqual(again.listener.all('READY'), ['1'])

    def test_dead_letters_are_no_reason_to_start_again(self):
        self.settings['TAIN_RETRY_ATTEMPTS'] = '2'
        run = self.catchup_unit(self.demo('id=17:status=500', maxitem=100))
        self.assert_end('tain-catchup', run.wait(), EXIT_UNRESOLVED, True, False)
        self.assertIn('dead letters remain', run.listener.status())

    def test_stopped(self):
        self.settings['TAIN_RPS'] = '50'
        run = self.catchup_unit(self.demo(maxitem=5000))
        self.wait_ready(run)
        run.signal(signal.SIGTERM)
        self.assert_end('tain-catchup', run.wait(), 143, True, False)
        self.assertEqual(run.listener.all('STOPPING'), ['1'])
        self.assertEqual(run.listener.status(), 'stopped; the same command goes on')

    def test_a_stuck_thread_starves_the_watchdog(self):
        self.settings['TAIN_RPS'] = '20'
        run = self.catchup_unit(self.demo(maxitem=5000), watchdog=2)
        self.wait_ready(run)
        wait_until(lambda: run.listener.has('WATCHDOG'), what='the watchdog')
        thread = frozen(self, run.pid, 'fetch')
        self.wait_status(run, r'a thread has not moved for ')
        beats = len(run.listener.all('WATCHDOG'))
        until = time.monotonic() + 2.5  # longer than systemd would have waited
        wait_until(lambda: time.monotonic() > until, what='time to pass')
        self.assertEqual(len(run.listener.all('WATCHDOG')), beats)
        thread.release()
        wait_until(lambda: len(run.listener.all('WATCHDOG')) > beats, what='the watchdog')
        run.signal(signal.SIGTERM)
        self.assert_end('tain-catchup', run.wait(), 143, True, False)

    def test_a_long_last_look_is_no_hang(self):
        run = self.catchup_unit(self.demo(maxitem=300), watchdog=2)
        self.assert_end('tain-catchup', run.wait(), EXIT_DONE, True, False)
        said = run.listener
        self.assertEqual(said.all('WATCHDOG_USEC'), ['3600000000'])
        self.assertLess(said.keys().index('READY'), said.keys().index('WATCHDOG_USEC'))
        self.assertLess(said.keys().index('WATCHDOG_USEC'), said.keys().index('STOPPING'))

    def test_failed(self):
        self.settings['TAIN_DB'] = f'postgres://nobody@127.0.0.1:{free_port()}/nothing'
        run = self.catchup_unit(self.demo(maxitem=50))
        self.assert_end('tain-catchup', run.wait(), EXIT_FAILED, False, True)
        self.assertFalse(run.listener.has('READY'))

    def test_beside_the_updater(self):
        demo = self.demo(maxitem=300)
        self.settings['TAIN_UPSTREAM'] = demo.url
        updater = self.start_unit(self.unit('tain-updater'))
        self.wait_ready(updater)
        self.assert_end('tain-catchup', self.catchup_unit(demo).wait(), EXIT_DONE, True, False)
        self.assertTrue(updater.running())


# One thread of a process, held as a debugger holds it ---------------------------------------------

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207


class Frozen:
    def __init__(self, thread):
        self.thread, self.held = thread, True
        self.libc = ctypes.CDLL(None, use_errno=True)
        for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
            if self._ptrace(request) != 0:
                raise OSError(ctypes.get_errno(), 'ptrace')
        wait_until(lambda: self.libc.waitpid(thread, None, 0x40000001) == thread,  # __WALL, WNOHANG
                   what='the thread to stand still')

    def _ptrace(self, request):
        zero = ctypes.c_void_p(0)
        return self.libc.ptrace(ctypes.c_long(request), ctypes.c_long(self.thread), zero, zero)

    def release(self):
        if self.held:
            self._ptrace(PTRACE_DETACH)
        self.held = False


# poll, futex, epoll_wait, ppoll, epoll_pwait
WAITS = {'x86_64': {'7', '202', '232', '271', '281'}, 'aarch64': {'98', '73', '22'}}


def waits(task):
    return (task / 'syscall').read_text().split()[0] in WAITS[platform.machine()]


def held_at_rest(task):
    """Held in the midst of something it might hold a lock that others want; and between a look and
    the hold it may have gone on, so that the look that counts is the one at the held thread."""
    while True:
        wait_until(lambda: waits(task), what=f'{task.name} at rest', every=0.001)
        held = Frozen(int(task.name))
        if waits(task):
            return held
        held.release()


def frozen(test, pid, name):
    if platform.machine() not in WAITS:
        test.skipTest(f'which system calls wait is not known of {platform.machine()}')
    for task in pathlib.Path(f'/proc/{pid}/task').iterdir():
        if (task / 'comm').read_text().strip() == name:
            try:
                held = held_at_rest(task)
            except OSError as e:
                test.skipTest(f'no thread can be held here: {e}')
            test.addCleanup(held.release)
            return held
    raise AssertionError(f'no thread {name}')


if __name__ == '__main__':
    unittest.main()
