"""The updater at work: from nothing to the truth and along with it, beside a catch-up, after a
restart, and after a time without eyes."""

import http.server
import json
import threading
import time
import unittest
import urllib.request

from lib import ANSWER, EXIT_DONE, OnPostgres, OnSqlite, Sqlite, normalised, wait_until
from updater import (SECONDS_PER_ID, UpdaterTest, id_at, metric, metrics_of)

LISTS = ('top', 'new', 'best', 'ask', 'show', 'job')
DAY_IDS = 86400 / SECONDS_PER_ID
MARGIN = 40  # ids by which a window found by the id clock may begin too early


class Following:
    def test_fresh_start(self):
        self.began = int(time.time() * 1000)
        upstream, archive = self.upstream(), self.archive()
        run = self.start_updater(archive, upstream)
        self.settle('a fresh start', run, archive, upstream)
        self.wait_metric(run, 'realtime_listener_connected', 1)
        for n in range(5):
            upstream.grow_by(20)
            upstream.change(100 * n + 1, 100 * n + 30)
            upstream.mutate(1000 + n)
        self.settle('new ids and changes', run, archive, upstream)
        self.assert_lists(archive, upstream)
        self.assert_profile(archive, upstream)
        self.assert_status(run, archive)
        self.stop_updater(run)
        self.assertFalse(self.status(archive)['updater']['active'])
        self.assert_invariants(archive)

    def assert_lists(self, archive, upstream):
        since = time.time() * 1000
        kind = 'ids' if isinstance(archive, Sqlite) else 'array_to_json(ids)'

        def equal():
            rows = dict(archive.rows(f'SELECT name, {kind} FROM lists'))
            wanted = {name: upstream.ask('GET', f'/v0/{name}stories.json') for name in LISTS}
            return {name: json.loads(ids) for name, ids in rows.items()} == wanted
        wait_until(equal, what='the six lists', every=0.1)
        wait_until(lambda: archive.rows('SELECT MIN(seen_at) FROM lists')[0][0] >= since,
                   what='a look at each of them', every=0.1)

    def assert_profile(self, archive, upstream):
        name = upstream.now(1, 50)[next(i for i, item in upstream.now(1, 50).items()
                                        if item and item['by'])]['by']
        upstream.post('mutate-user', name=name)
        wanted = upstream.ask('GET', f'/v0/user/{name}.json')
        wait_until(lambda: archive.rows(f"SELECT created, karma, about FROM users WHERE id = "
                                        f"'{name}'")
                   == [(wanted['created'], wanted['karma'], wanted.get('about'))],
                   what='the profile', every=0.1)

    def assert_status(self, run, archive):
        found = self.status(archive)['updater']
        self.assertTrue(found['active'])
        self.assertIn(str(run.pid), found['holder'])
        self.assertGreater(found['update_age_seconds']['count'], 100)
        self.assertGreaterEqual(found['last_sse_event_at'], self.began)
        self.assertLessEqual(found['last_sse_event_at'], time.time() * 1000 + 1)
        text = self.run_tain('status', '--db', archive.uri).out
        for words in ('update age', 'p50', 'p95', 'p99', 'rescan window', 'last event'):
            self.assertIn(words, text)
        figures = metrics_of(run)
        self.assertEqual(figures['tain_updater_role{role="active"}'], 1)
        self.assertEqual(figures['tain_updater_role{role="standby"}'], 0)
        self.assertEqual(figures['tain_realtime_worker_alive_count'], 8)
        self.assertGreater(figures['tain_realtime_items_changed_total'], 100)


class Restarts:
    """Where a replay begins: a while before the last event that was seen, or before now when none
    ever was."""
    DAYS = 1.5 / 24

    def replayed(self, archive, upstream):
        """Restarts, converges, and answers with which id the replay began: as the log says it, and
        as the upstream saw it."""
        upstream.reset_stats()
        began = time.monotonic()
        run = self.start_updater(archive, upstream, '--startup-rescan-days', self.DAYS)
        first, last = map(int, self.say(
            run, r'fetched again" for="startup replay" from_id=(\d+) to_id=(\d+)').groups())
        self.assertEqual(last, upstream.maxitem)
        self.settle('a restart', run, archive, upstream, since=began)
        self.say(run, r'items were fetched again" for="startup replay"')
        self.assertTrue(all(upstream.hits(i) for i in [*range(first, last, 20), last]))
        self.assertFalse(any(upstream.hits(i) for i in range(first - 200, first, 20)))
        return run, first

    def assert_begins(self, first, earliest, latest):
        """So long before an instant between these two."""
        back = self.DAYS * DAY_IDS
        self.assertLessEqual(first, id_at(latest) - back + 2)
        self.assertGreaterEqual(first, id_at(earliest) - back - MARGIN)

    def test_replay_goes_back_from_the_anchor(self):
        upstream, archive = self.upstream(ids=2000, recent=True), self.archive()
        self.catchup(archive, upstream, '--start-id', upstream.first, code=3)
        # the first start: there is no anchor
        quiet = upstream.maxitem - 20
        upstream.change(quiet, quiet + 10, quiet=True)
        began = time.time()
        run, first = self.replayed(archive, upstream)
        self.assert_begins(first, began, time.time())
        self.wait_anchor(archive, upstream)
        # killed, and dead for two hours
        run.kill()
        anchor = int(time.time()) - 7200
        archive.execute(f'UPDATE updater_state SET last_sse_event_at = {anchor * 1000}')
        low = id_at(anchor) - 100
        upstream.change(low, low + 300, quiet=True)
        run, first = self.replayed(archive, upstream)
        self.assert_begins(first, anchor, anchor)
        self.wait_anchor(archive, upstream)
        run.kill()

    def wait_anchor(self, archive, upstream):
        """The next frame moves it, whether that is this one or the first of a new stream."""
        least = time.time() - 1
        upstream.stream('keep-alive')
        wait_until(lambda: (archive.rows('SELECT last_sse_event_at FROM updater_state')[0][0] or 0)
                   >= least * 1000, what='a new anchor', every=0.1)


class ShortLife:
    def test_anchor_waits_for_the_replay(self):
        """A life that ends before its replay is planned leaves the anchor as it was."""
        upstream, archive = self.upstream(ids=1000, recent=True), self.archive()
        self.stop_updater(self.follow(archive, upstream))
        anchor = (int(time.time()) - 3600) * 1000
        archive.execute(f'UPDATE updater_state SET last_sse_event_at = {anchor}')
        upstream.change(upstream.maxitem - 300, upstream.maxitem, quiet=True)
        upstream.down(True)
        self.stop_updater(self.start_and_see(archive, upstream, 'no event stream'))
        self.assertEqual(archive.rows('SELECT last_sse_event_at FROM updater_state'), [(anchor,)])
        upstream.down(False)
        run = self.start_updater(archive, upstream, '--startup-rescan-days', 1.5 / 24)
        self.settle('the start after a life without eyes', run, archive, upstream)

    def start_and_see(self, archive, upstream, words):
        run = self.start_updater(archive, upstream)
        self.say(run, words)
        return run


class BlindWindow:
    def test_outage_is_followed_by_a_rescan(self):
        upstream, archive = self.upstream(recent=True), self.archive()
        run = self.follow(archive, upstream, '--outage-rescan-after', '1s', '--startup-rescan-days',
                          0, '--rescan-window-days', 1)
        upstream.down(True)
        self.say(run, 'no event stream')
        began = time.monotonic()
        upstream.change(upstream.maxitem - 1200, upstream.maxitem - 900, quiet=True)
        upstream.grow_by(30, quiet=True)
        wait_until(lambda: time.monotonic() - began > 2.5, what='an outage of some length')
        upstream.down(False)
        self.settle('a blind window', run, archive, upstream, seconds=60)
        self.say(run, r'items were fetched again" for="?rescan"?')
        self.assertGreater(metric(run, 'rescan_items_processed_total'), 1000)
        self.assertGreaterEqual(metric(run, 'rescan_items_changed_total'), 250)
        self.assertTrue(self.status(archive)['updater']['last_rescan_at'])
        self.stop_updater(run)

    def test_rescan_by_the_clock(self):
        upstream, archive = self.upstream(ids=600, recent=True), self.archive()
        run = self.follow(archive, upstream, '--rescan-interval', '2s', '--rescan-window-days', 1)
        upstream.change(upstream.first + 50, upstream.first + 400, quiet=True)
        self.settle('changes that nobody named', run, archive, upstream)
        self.stop_updater(run)


class Beside:
    """A catch-up at work on the same database."""

    def test_rate_holds_for_both(self):
        upstream, archive = self.upstream(ids=2000), self.archive()
        upstream.faults('items:delay=1000')  # until both are at work, however late one begins
        rate = ('--rps', 300, '--segment-width', 100, '--concurrency', 16)
        run = self.start_updater(archive, upstream, *rate)
        self.say(run, 'this updater is active')
        beside = self.start_catchup(archive, upstream, *rate)
        wait_until(lambda: len({s['holder'] for s in self.look(archive).segments
                                if s['holder']}) == 2, what='a segment for each')
        began, left = time.monotonic(), 2000 - upstream.stats()['requests']['item']
        upstream.faults()
        self.settle('an updater and a catch-up at 300 requests a second', run, archive, upstream)
        self.assertGreater(time.monotonic() - began, left / 300 * 0.85)
        result = beside.wait()
        self.assertIn(result.code, (0, 3), result)
        self.assertGreater(result.report['stored'], 50)  # it had a segment, with few nulls
        upstream.change(1, 300)
        self.settle('a burst at 300 requests a second', run, archive, upstream)
        self.stop_updater(run)

    def test_old_answer_of_a_catchup_comes_late(self):
        upstream, archive = self.upstream(ids=600), self.archive()
        run = self.follow(archive, upstream)
        with Slow(upstream, 333) as slow:
            upstream.mutate(333, 'edit')
            self.converge(run, archive, upstream)

            def asks():
                """Unless the updater took the segment, as it may: then there is another."""
                run = self.start('catchup', '--db', archive.uri, '--upstream', slow.url,
                                 '--start-id', 333, '--end-id', 333, '--force-replay-window',
                                 '--timeout', '600s', '--progress', 'none')
                wait_until(lambda: slow.held.is_set() or not run.running(), what='a request')
                return run if slow.held.is_set() else None
            late = wait_until(asks, what='a catch-up that asks')
            old = slow.wait_held()
            self.overtaken(run, archive, upstream, lambda: upstream.mutate(333, 'edit'), old)
            slow.release()
            self.assertEqual(late.wait().code, EXIT_DONE)
        self.assertEqual(archive.items()[333]['text'], upstream.now(333, 333)[333]['text'])
        self.settle('a late answer of a catch-up', run, archive, upstream)
        self.stop_updater(run)

    def test_old_answer_of_the_updater_comes_late(self):
        upstream, archive = self.upstream(ids=600), self.archive()
        with Slow(upstream, None) as slow:
            run = self.follow(archive, upstream, '--timeout', '600s', url=slow.url)
            slow.item = 333
            upstream.mutate(333, 'edit')
            old = slow.wait_held()

            def another_way():
                upstream.change(333, 333, quiet=True, how='edit')
                self.catchup(archive, upstream, '--start-id', 333, '--end-id', 333,
                             '--force-replay-window')
            self.overtaken(run, archive, upstream, another_way, old)
            before = metric(run, 'realtime_outcomes_total{outcome="stored"}')
            slow.release()
            self.wait_metric(run, 'realtime_outcomes_total{outcome="stored"}', before + 1)
            self.assertEqual(archive.items()[333]['text'], upstream.now(333, 333)[333]['text'])
            self.settle('a late answer of the updater', run, archive, upstream)
            self.stop_updater(run)

    def overtaken(self, run, archive, upstream, change, old):
        change()
        self.converge(run, archive, upstream)
        self.assertNotEqual(normalised(json.loads(old))['text'], archive.items()[333]['text'])


class Slow:
    """A way to the upstream that keeps the first answer for one id until it is told to let go; the
    answer is what it was when it was asked for. The stream is to be had elsewhere (307)."""

    def __init__(self, upstream, item):
        self.item, self.root = item, upstream.url
        self.held, self.released, self.body = threading.Event(), threading.Event(), None
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_GET(self):
                outer.answer(self)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 1024  # with the usual 5, connections wait seconds for a second try

        self.server = Server(('127.0.0.1', 0), Handler)
        self.url = f'http://127.0.0.1:{self.server.server_address[1]}/v0'

    def answer(self, request):
        path = request.path[len('/v0'):]
        if 'event-stream' in request.headers.get('Accept', ''):
            request.send_response(307)
            request.send_header('Location', self.root + path)
            request.send_header('Content-Length', '0')
            request.end_headers()
            return
        with urllib.request.urlopen(self.root + path, timeout=ANSWER) as page:
            body = page.read()
        if path == f'/item/{self.item}.json' and not self.held.is_set():
            self.body = body
            self.held.set()
            self.released.wait()
        request.send_response(200)
        request.send_header('Content-Type', 'application/json')
        request.send_header('Content-Length', str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def wait_held(self):
        if not self.held.wait(ANSWER):
            raise AssertionError(f'nobody asked for {self.item}')
        return self.body

    def release(self):
        self.released.set()

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.release()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class SqliteUpdater(Following, Restarts, ShortLife, BlindWindow, Beside, OnSqlite, UpdaterTest):
    pass


class PostgresUpdater(Following, Restarts, OnPostgres, UpdaterTest):
    pass


if __name__ == '__main__':
    unittest.main()
