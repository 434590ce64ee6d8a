"""Metrics and health of a running command, as Prometheus and a load balancer see them."""

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import unittest
import urllib.error
import urllib.request

from lib import (ANSWER, EXIT_FAILED, EXIT_USAGE, E2E, LEAST, OnPostgres, OnSqlite, free_port,
                 wait_until)

# Every name that the operators were promised.
CATCHUP = '''catchup_frontier_id catchup_frontier_excluding_waiting catchup_frontier_lag
    catchup_progress_percent catchup_dead_letters catchup_segments catchup_items_total
    http_requests_total http_request_duration_seconds http_inflight
    db_transaction_duration_seconds db_batch_items build_info'''.split()
UPDATER = '''realtime_listener_connected realtime_last_event_age_seconds realtime_worker_alive_count
    realtime_queue_depth realtime_queue_full_total realtime_reconnects_total
    realtime_items_updated_total realtime_items_changed_total realtime_update_age_seconds
    rescan_last_run_age_seconds rescan_items_processed_total rescan_items_changed_total
    startup_replay_duration_seconds null_recheck_backlog realtime_dlq_items
    updater_role'''.split()
PROCESS = '''process_cpu_seconds_total process_resident_memory_bytes process_virtual_memory_bytes
    process_open_fds process_max_fds process_start_time_seconds process_threads'''.split()
STATUSES = ('pending', 'in_progress', 'done', 'retry_wait', 'dead_letter')
REMARK = ('tain_realtime_worker_alive_count non-histogram and non-summary metrics should not have '
          '"_count" suffix')


def get(port, path, method='GET', accept=None):
    """(status, text)"""
    request = urllib.request.Request(f'http://127.0.0.1:{port}{path}', method=method,
                                     headers={'Accept': accept} if accept else {})
    try:
        with urllib.request.urlopen(request, timeout=ANSWER) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read().decode()


class Page:
    """What /metrics says at one moment."""

    def __init__(self, text):
        self.text = text
        self.types = dict(re.findall(r'^# TYPE (\S+) (\S+)$', text, re.M))
        self.values = {key: float(value) for key, value in
                       re.findall(r'^([^#\s]\S*(?:\{[^}]*\})?) (\S+)$', text, re.M)}

    def __getitem__(self, key):
        return self.values[key]

    def total(self, name, **labels):
        """The sum over the series of a family that have these labels."""
        wanted = [f'{k}="{v}"' for k, v in labels.items()]
        return sum(v for key, v in self.values.items() if re.match(name + r'(\{|$)', key)
                   and all(w in key for w in wanted))


class Watched(E2E):
    def port_of(self, run):
        """Of a run with --metrics-bind 127.0.0.1:0."""
        found = wait_until(lambda: re.search(r'msg="?metrics"?.* port=(\d+)', run.so_far()),
                           what='the port of the metrics')
        return int(found.group(1))

    def page(self, port):
        status, text = get(port, '/metrics')
        self.assertEqual(status, 200)
        return Page(text)

    def wait_for(self, port, condition, what, seconds=LEAST):
        def look():
            page = self.page(port)
            return page if condition(page) else None
        return wait_until(look, seconds, what, every=0.05)

    def updater(self, archive, demo, *arguments):
        run = self.start('updater', '--db', archive.uri, '--upstream', demo.url, '--rps', 0,
                         '--retry-initial-ms', 20, '--retry-max-ms', 200, '--metrics-bind',
                         '127.0.0.1:0', '--catchup-interval', '1s', *arguments)
        return run, self.port_of(run)

    def stop(self, run):
        run.signal(signal.SIGTERM)
        result = run.wait()
        self.assertEqual(result.code, 0, result)

    def rows(self, archive):
        return archive.rows('SELECT COUNT(*) FROM items')[0][0]

    def assert_sound(self, page, names):
        """What promtool says, and that nothing is missing."""
        for name in names:
            self.assertIn('tain_' + name, page.types)
        for name in PROCESS:
            self.assertGreater(page[name], 0, name)
        self.assertNotIn('_total_total', page.text)
        promtool = shutil.which('promtool')
        if not promtool:
            self.skipTest('promtool is not installed')
        done = subprocess.run([promtool, 'check', 'metrics'], input=page.text, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        remarks = [line for line in done.stdout.splitlines() if line and line != REMARK]
        self.assertEqual(remarks, [])
        self.assertEqual(done.returncode, 3 if REMARK in done.stdout else 0, done.stdout)


class Counted:
    def test_a_catchup_counts_each_item_once(self):
        """A young null keeps the run waiting, with everything else done."""
        demo = self.demo('id=39500:null', 'id=39400:garbage', maxitem=40000)
        archive = self.archive()
        run = self.start_catchup(archive, demo, '--start-id', 39001, '--wait', '10m',
                                 '--segment-width', 100, '--retry-attempts', 2, '--metrics-bind',
                                 '127.0.0.1:0')
        port = self.port_of(run)
        known = demo.truth(39001, 40000)
        stored = sum(1 for i, item in known.items() if item and i not in (39400, 39500))
        page = self.wait_for(
            port, lambda p: p.total('tain_db_items_total') >= stored and
            p['tain_catchup_segments{status="done"}'] > 0 and p['tain_dead_letters'] == 1,
            'the end of the window')
        self.assertEqual(self.rows(archive), stored)
        self.assertEqual(page.total('tain_db_items_total', source='catchup', result='inserted'),
                         stored)
        self.assertEqual(page.total('tain_db_items_total'), stored)
        self.assertEqual(page['tain_catchup_items_total{outcome="inserted"}'], stored)
        self.assertEqual(page.total('tain_catchup_items_total'), stored + 1)
        self.assertEqual(page['tain_catchup_items_total{outcome="dead_letter"}'], 1)
        self.assertEqual(page['tain_db_batch_items_sum'], stored)
        self.assertEqual(page['tain_catchup_dead_letters'], 1)
        self.assertEqual(page['tain_upstream_maxitem'], 40000)
        self.assertEqual(page['tain_catchup_progress_percent'], 100)
        self.assertEqual(page['tain_http_requests_total{target="maxitem",code="200"}'], 1)
        page, requests, statuses = self.at_rest(port, demo, archive)
        self.assertEqual(page.total('tain_http_requests_total', target='item'), requests)
        for status in STATUSES:
            self.assertEqual(page[f'tain_catchup_segments{{status="{status}"}}'] > 0,
                             status in statuses, status)
        self.assertNotIn('tain_realtime_listener_connected', page.types)
        self.assert_sound(page, CATCHUP)
        run.signal(signal.SIGTERM)
        self.assertEqual(run.wait().code, 143)

    def at_rest(self, port, demo, archive):
        """The page, the requests for items and the segments' states of one instant: now and then
        the null is asked for once more, and its segment moves. So what is on the page must have
        been so before and after it."""
        def truth():
            return (demo.stats()['requests']['item'],
                    {s['status'] for s in self.look(archive).segments})

        def look():
            before, page, after = truth(), self.page(port), truth()
            counted = sum(page[f'tain_catchup_segments{{status="{s}"}}'] > 0 for s in STATUSES)
            return before == after and counted == len(after[1]) and (page, *after)
        return wait_until(look, what='an instant at rest')

    def test_an_updater_counts_each_row_once(self):
        demo, archive = self.demo(maxitem=1500), self.archive()
        run, port = self.updater(archive, demo, '--rescan-interval', '3s')
        self.wait_for(port, lambda p: p['tain_realtime_listener_connected'] == 1 and
                      p.values.get('tain_catchup_frontier_lag') == 0, 'a full archive')
        demo.grow(1600)
        for item in range(200, 240):
            demo.mutate(item)
        self.wait_for(port, lambda p: p['tain_upstream_maxitem'] == 1600 and
                      p['tain_catchup_frontier_lag'] == 0 and
                      p['tain_realtime_queue_depth'] == 0 and
                      p['tain_realtime_items_changed_total'] >= 40, 'the named changes')
        page = self.wait_for(port, lambda p: 'tain_rescan_last_run_age_seconds' in p.values and
                             p.total('tain_db_items_total', result='inserted') ==
                             self.rows(archive), 'a rescan, and as many items as rows')
        self.assertGreaterEqual(self.rows(archive), 1500)
        self.assertEqual(page.total('tain_db_items_total', source='catchup', result='inserted'),
                         page['tain_catchup_items_total{outcome="inserted"}'])
        self.assertEqual(page['tain_updater_role{role="active"}'], 1)
        self.assertEqual(page['tain_realtime_worker_alive_count'], 8)
        self.assertGreaterEqual(page['tain_startup_replay_duration_seconds'], 0)
        self.assertLess(page['tain_realtime_last_event_age_seconds'], 60)
        self.assertGreater(page['tain_realtime_update_age_seconds_count'], 0)
        for target in ('item', 'maxitem', 'stream', 'user', 'list'):
            self.assertGreater(
                page[f'tain_http_requests_total{{target="{target}",code="200"}}'], 0, target)
        self.assert_sound(page, CATCHUP + UPDATER)
        self.stop(run)


class TestSqlite(OnSqlite, Counted, Watched):
    pass


class TestPostgres(OnPostgres, Counted, Watched):
    pass


class TestHealth(OnSqlite, Watched):
    def wait_ready(self, port, status, text, seconds=LEAST):
        wait_until(lambda: get(port, '/readyz')[0] == status and
                   re.search(text, get(port, '/readyz')[1]), seconds, f'{status} with {text}',
                   every=0.05)

    def test_an_updater_is_ready_and_says_why_not(self):
        demo, archive = self.demo(maxitem=300), self.archive()
        run, port = self.updater(archive, demo)
        self.wait_ready(port, 200, '^ready$')
        self.assertEqual(get(port, '/healthz'), (200, 'ok\n'))
        self.assertEqual(get(port, '/healthz', 'HEAD'), (200, ''))
        self.assertEqual(get(port, '/nothing')[0], 404)
        self.assertEqual(get(port, '/readyz', 'POST')[0], 405)

        demo.faults('items:delay=1000')
        demo.grow(90300)
        self.wait_ready(port, 503, r'^lag: \d+ ids behind the upstream$')
        status, text = get(port, '/readyz', accept='application/json')
        self.assertEqual((status, [r['check'] for r in json.loads(text)['reasons']]),
                         (503, ['lag']))
        self.assertEqual(get(port, '/healthz'), (200, 'ok\n'))

        connection = sqlite3.connect(archive.path, timeout=ANSWER, isolation_level=None)
        connection.execute('BEGIN EXCLUSIVE')
        self.wait_ready(port, 503, '^database: the database has not answered for ')
        self.assertEqual(get(port, '/healthz'), (200, 'ok\n'))
        connection.execute('ROLLBACK')
        connection.close()
        self.wait_ready(port, 503, '^lag: ')
        self.stop(run)

    def test_what_is_lacking_is_not_known_before_the_upstream_is(self):
        archive, nobody = self.archive(), f'http://127.0.0.1:{free_port()}/v0'
        run = self.start('updater', '--db', archive.uri, '--upstream', nobody, '--metrics-bind',
                         '127.0.0.1:0')
        port = self.port_of(run)
        page = self.wait_for(port, lambda p: p['tain_updater_role{role="active"}'] and
                             'tain_dead_letters' in p.values, 'a first look at the archive')
        self.assertEqual(page['tain_catchup_frontier_id'], 0)
        for name in ('tain_catchup_frontier_lag', 'tain_catchup_progress_percent',
                     'tain_upstream_maxitem', 'tain_rescan_last_run_age_seconds'):
            self.assertNotIn(name, page.values)
        self.stop(run)

    def test_a_standby_is_ready(self):
        demo, archive = self.demo(maxitem=200), self.archive()
        first, port = self.updater(archive, demo)
        self.wait_ready(port, 200, '^ready$')
        second, other = self.updater(archive, demo)
        self.wait_ready(other, 200, '^standby$')
        page = self.page(other)
        self.assertEqual((page['tain_updater_role{role="standby"}'],
                          page['tain_updater_role{role="active"}']), (1, 0))
        self.assertNotIn('tain_realtime_last_event_age_seconds', page.values)
        self.assertNotIn('tain_catchup_segments{status="done"}', page.values)
        self.stop(first)
        self.wait_ready(other, 200, '^ready$')
        self.stop(second)

    def test_a_catchup_knows_when_the_upstream_is_ill(self):
        demo, archive = self.demo('items:delay=20'), self.archive()
        run = self.start_catchup(archive, demo, '--rps', 200, '--metrics-bind', '127.0.0.1:0')
        port = self.port_of(run)
        self.wait_ready(port, 200, '^ready$')
        demo.faults('items:status=503')
        self.wait_ready(port, 503, '^upstream: the upstream is ill: http_5xx$')
        self.assertEqual(self.page(port)['tain_upstream_ill'], 1)
        demo.faults()
        self.wait_ready(port, 200, '^ready$')
        self.assertEqual(self.page(port)['tain_upstream_ill'], 0)


class TestBind(OnSqlite, Watched):
    def taken(self):
        """A socket that listens, and its address."""
        holder = socket.create_server(('127.0.0.1', 0))
        self.addCleanup(holder.close)
        return f'127.0.0.1:{holder.getsockname()[1]}'

    def test_an_address_that_was_asked_for_must_be_had(self):
        demo, address = self.demo(), self.taken()
        for env, flags in (({}, ['--metrics-bind', address]),
                           ({'TAIN_METRICS_BIND': address}, [])):
            for command in ('catchup', 'updater'):
                result = self.run_tain(command, '--db', self.archive().uri, '--upstream', demo.url,
                                       *flags, env=env)
                self.assertEqual(result.code, EXIT_FAILED, result)
                self.assertIn(f'cannot listen on {address}', result.err)
                self.assertIn('TAIN_METRICS_BIND' if env else '--metrics-bind', result.err)
                result = self.run_tain(command, '--db', self.archive().uri, '--upstream', demo.url,
                                       '--log-format', 'json', *flags, env=env)
                self.assertEqual(result.code, EXIT_FAILED, result)
                last = [json.loads(line) for line in result.err.splitlines()][-1]
                self.assertEqual((last['level'], last['command']), ('error', command))
                self.assertIn(f'cannot listen on {address}', last['error'])

    def test_what_is_no_address_is_wrong_before_anything_is_opened(self):
        archive = self.archive()
        for bad in ('nowhere.invalid:1', '*:1', ':1', '127.0.0.1', '127.0.0.1:65536', '::1:1'):
            result = self.run_tain('catchup', '--metrics-bind', bad, '--db', archive.uri)
            self.assertEqual(result.code, EXIT_USAGE, result)
            self.assertIn('--metrics-bind', result.err)
        self.assertFalse(os.path.exists(archive.path))

    def test_the_default_address_may_be_taken(self):
        try:
            holder = socket.create_server(('127.0.0.1', 9464))
            self.addCleanup(holder.close)
        except OSError:
            pass  # someone has it already: as good
        result = self.catchup(self.archive(), self.demo(), '--end-id', 50,
                              env={'TAIN_METRICS_BIND': None})
        self.assertRegex(result.err, r'level=warn .*--metrics-bind.*127\.0\.0\.1:9464')

    def test_none(self):
        for none in ('none', ''):
            result = self.catchup(self.archive(), self.demo(), '--end-id', 50, '--metrics-bind',
                                  none)
            self.assertNotIn('metrics', result.err)


if __name__ == '__main__':
    unittest.main()
