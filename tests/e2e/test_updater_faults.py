"""What an updater has to bear: a stream that breaks in every way there is, a database that goes
away, kill -9, a stop in the middle of a burst, workers that die, a queue that is full. After each
the archive equals the upstream's truth, and nothing that was named is lost.

TAIN_CRASH_SEED repeats the instants of an earlier run; a failure names the seed."""

import contextlib
import os
import random
import re
import signal
import sqlite3
import time
import unittest

from lib import ANSWER, EXIT_DONE, EXIT_FAILED, OnPostgres, OnSqlite, patient, wait_until
from updater import Pulse, UpdaterTest, metric

# Nothing but the stream, and what was written down, can repair anything.
ALONE = ('--startup-rescan-days', 0)
# Everything stored is fetched again at a start.
REPLAY = ('--startup-rescan-days', 1)


def lives_on(upstream):
    """What happens at the upstream meanwhile: 12 changes and a few new ids, one after another."""
    for n in range(6):
        upstream.mutate(1 + 37 * n)
        upstream.change(300 + 10 * n, 301 + 10 * n)
        upstream.grow_by(1)


class Streams:
    """One updater; its stream meets with one trouble after the other."""

    # what is done to it, and the reason that the log gives for the loss
    AT_ONCE = {
        'drop': 'closed the stream',
        'reset': 'reset',
        'silence': 'not a byte',
        'cancel': 'cancel',
        'auth_revoked': 'auth_revoked',
        'midframe': 'not a byte',
        'midframe-close': 'closed the stream',
    }
    # rules for the streams that are opened, the reason, and what counts it
    BY_RULE = {
        'garbage after every frame': ('stream:garbage', None, 'stream'),
        'every form of a frame': ('stream:crlf:bom:comments:split', None, 'stream'),
        'a redirect to another host': ('stream:redirect', None, None),
        'another content type': ('stream:wrongtype:for=1', 'not text/event-stream', 'wrongtype'),
        'a refusal': ('stream:status=503:for=1', '503', 'status'),
        'a reset instead of an answer': ('stream:reset:for=1', 'reset', 'reset'),
        'an answer that never comes': ('stream:delay=60000:for=1', 'no answer', 'delay'),
        'an endless redirect': ('stream:redirect=endless:for=6', 'redirect', 'redirect'),
    }

    def test_every_trouble(self):
        upstream, archive = self.upstream(ids=800), self.archive()
        self.addCleanup(Pulse(upstream.url).stop)
        run = self.follow(archive, upstream, '--stream-timeout', '4s', *ALONE)
        for deed, reason in self.AT_ONCE.items():
            with self.subTest(deed):
                self.survives(deed, reason, run, archive, upstream, lambda: upstream.stream(deed))
        for name, (rule, reason, counted) in self.BY_RULE.items():
            def strike():
                upstream.faults(rule)
                return upstream.stream('drop')

            def struck():
                stats = upstream.stats()
                return stats['faults'][counted] if counted else stats['foreign_redirects']
            with self.subTest(name):
                upstream.reset_stats()
                self.survives(name, reason, run, archive, upstream, strike)
                wait_until(struck, what='a stream by the rule')
                if not reason:  # this one is a good one, and is read
                    self.survives(name, None, run, archive, upstream, lambda: None)
                upstream.faults()
        self.assertGreater(metric(run, 'realtime_frames_total{kind="garbage"}'), 0)
        self.stop_updater(run)

    def survives(self, name, reason, run, archive, upstream, strike):
        said, began = len(run.so_far()), time.monotonic()

        def lost():
            return not reason or re.search(f'no event stream.*reason=.*{reason}',
                                           run.so_far()[said:])

        def struck():
            """A stream that ended by itself just before is missed by the blow; the next is not."""
            wait_until(lambda: metric(run, 'realtime_listener_connected')
                       and upstream.stats()['streams_open'], what='a stream')
            strike()
            lives_on(upstream)
            until = time.monotonic() + 20
            while not lost() and time.monotonic() < until:
                time.sleep(0.02)
            return lost()
        wait_until(struck, what=f'the loss: {reason}')
        self.settle(f'stream: {name}', run, archive, upstream, since=began)

    def test_drops_every_second(self):
        upstream, archive = self.upstream('stream:drop=1000', ids=800), self.archive()
        run = self.follow(archive, upstream, *ALONE)
        until, n = time.monotonic() + patient(0), 0
        while metric(run, 'realtime_reconnects_total') < 3:
            self.assertLess(time.monotonic(), until)
            done = metric(run, 'realtime_items_updated_total')
            upstream.change(1 + n, 4 + n)
            n = (n + 7) % 700
            # One after the other: what happens in a gap has to fit into updates.json.
            self.wait_metric(run, 'realtime_items_updated_total', done + 1)
        self.settle('a stream that drops every second', run, archive, upstream)
        self.stop_updater(run)


class Database:
    """It goes away in the middle of a burst of 1,200 ids."""

    def trouble(self, name, make):
        upstream, archive = self.upstream(ids=1200), self.archive()
        run = self.follow(archive, upstream, *ALONE)
        upstream.faults('items:delay=5')
        upstream.change(1, 1200)
        self.wait_metric(run, 'realtime_items_updated_total', 50)
        began = time.monotonic()
        make(archive)
        self.settle(name, run, archive, upstream, since=began, seconds=60)
        upstream.faults()
        lives_on(upstream)
        self.settle(name + ', and then', run, archive, upstream)
        self.stop_updater(run)


class LockedFile(Database):
    def test_locked_by_another(self):
        def lock(archive):
            connection = sqlite3.connect(archive.path, timeout=ANSWER, isolation_level=None)
            with contextlib.closing(connection):
                connection.execute('BEGIN IMMEDIATE')
                until = time.monotonic() + 1.5
                wait_until(lambda: time.monotonic() > until, what='a while')
                connection.execute('ROLLBACK')
        self.trouble('a locked file', lock)

    def test_a_stop_while_it_is_locked(self):
        """The stop waits for the file: what was named is written down, and the code is 0."""
        upstream, archive = self.upstream(ids=600), self.archive()
        run = self.follow(archive, upstream, *ALONE)
        connection = sqlite3.connect(archive.path, timeout=ANSWER, isolation_level=None)
        with contextlib.closing(connection):
            connection.execute('BEGIN IMMEDIATE')
            upstream.change(1, 600)
            self.all_read(run, upstream)
            run.signal(signal.SIGTERM)
            until = time.monotonic() + 6
            wait_until(lambda: time.monotonic() > until, what='a while')
            connection.execute('ROLLBACK')
        self.assertEqual(run.wait(40).code, EXIT_DONE)
        run = self.start_updater(archive, upstream, *ALONE)
        self.settle('a stop while the file was locked', run, archive, upstream)
        self.stop_updater(run)


class Server(Database):
    def test_restarts(self):
        def shake(archive):
            for _ in range(3):
                archive.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                                "WHERE application_name = 'tain'")
            self.server.restart()
            self.server.crash()
            self.server.start()
        self.trouble('backends terminated, a restart and a crash of the database', shake)


class Killed:
    """kill -9 in every phase. While it is dead the upstream changes without naming anything: the
    replay repairs that, too."""

    PHASES = ('catch-up', 'claim', 'commit', 'live commit', 'burst', 'gap', 'replay', 'idle',
              'stop')

    def test_every_phase(self):
        seed = int(os.environ.get('TAIN_CRASH_SEED', time.time_ns() % 1000000))
        self.chance = random.Random(seed)
        upstream, archive = self.upstream(ids=900, recent=True), self.archive()
        with self.subTest(seed=seed):
            for phase in self.PHASES:
                getattr(self, 'in_' + phase.replace('-', '_').replace(' ', '_'))(archive, upstream)
                upstream.faults()
                self.assert_invariants(archive)
                low = self.chance.randrange(upstream.first, upstream.maxitem - 100)
                upstream.change(low, low + 30, quiet=True)
                upstream.grow_by(7, quiet=True)
                began = time.monotonic()
                run = self.start_updater(archive, upstream, *REPLAY)
                self.settle(f'killed in {phase}', run, archive, upstream, since=began)
                run.kill()

    def wait_a_moment(self, longest=0.3):
        until = time.monotonic() + self.chance.uniform(0, longest)
        wait_until(lambda: time.monotonic() > until, what='a moment', every=0.002)

    def dies(self, archive, upstream, fault):
        run = self.start_updater(archive, upstream, *REPLAY, env={'TAIN_FAULT': fault})
        result = run.wait(30)
        self.assertEqual(result.code, -signal.SIGKILL, result)

    def in_catch_up(self, archive, upstream):
        upstream.faults('items:delay=20')
        run = self.start_updater(archive, upstream, *REPLAY, '--concurrency', 16)
        wait_until(lambda: upstream.stats()['requests']['item'] > 200, what='progress')
        self.wait_a_moment()
        run.kill()

    def in_claim(self, archive, upstream):
        upstream.grow_by(20, quiet=True)
        self.dies(archive, upstream, 'claimed:1:kill')

    def in_commit(self, archive, upstream):
        self.dies(archive, upstream, f'db_before_commit:{self.chance.randrange(5, 40)}:kill')
        self.dies(archive, upstream, f'db_after_commit:{self.chance.randrange(5, 40)}:kill')

    def in_live_commit(self, archive, upstream):
        run = self.start_updater(archive, upstream, *REPLAY,
                                 env={'TAIN_FAULT': f'apply_step:{self.chance.randrange(40, 90)}'
                                                    ':kill'})
        wait_until(lambda: 'following the event stream' in run.so_far() or not run.running(),
                   what='the stream, or the end')
        until = time.monotonic() + patient(0)
        while run.running():
            self.assertLess(time.monotonic(), until, 'the fault point was not reached')
            low = self.chance.randrange(upstream.first, upstream.maxitem - 100)
            upstream.change(low, low + 50)
            self.wait_a_moment(0.1)

    def in_burst(self, archive, upstream):
        run = self.follow(archive, upstream, *REPLAY)
        upstream.faults('items:delay=5')
        upstream.change(upstream.first, upstream.maxitem)
        self.wait_metric(run, 'realtime_items_updated_total', 10)
        self.wait_a_moment()
        run.kill()

    def in_gap(self, archive, upstream):
        run = self.follow(archive, upstream, *REPLAY, '--gap-queue-max', 10)
        upstream.faults('stream:status=503:for=1', 'items:delay=50')
        upstream.stream('drop')
        upstream.grow_by(40, quiet=True)
        self.say(run, 'filling the gap .* by=segments')
        self.wait_a_moment(0.1)
        run.kill()

    def in_replay(self, archive, upstream):
        upstream.faults('items:delay=2000')  # the moment is over long before the replay is
        run = self.start_updater(archive, upstream, *REPLAY, '--concurrency', 16)
        self.say(run, 'items will be fetched again" for="startup replay"')
        self.wait_a_moment()
        run.kill()
        self.assertTrue([s for s in self.look(archive).segments if s['purpose'] == 'replay'
                         and s['status'] != 'done'], 'the replay was over')

    def in_idle(self, archive, upstream):
        self.follow(archive, upstream, *REPLAY).kill()

    def in_stop(self, archive, upstream):
        run = self.follow(archive, upstream, *REPLAY, '--concurrency', 16)
        upstream.faults('items:delay=3000')
        upstream.change(upstream.first, upstream.maxitem)
        self.wait_metric(run, 'realtime_queue_depth', 100)
        run.signal(signal.SIGTERM)
        self.wait_a_moment()
        run.kill()


class Stops:
    def test_in_a_burst(self):
        """What was named and not fetched is written down, and the next start begins with it."""
        upstream, archive = self.upstream(ids=1000), self.archive()
        run = self.follow(archive, upstream, *ALONE, '--concurrency', 8)
        upstream.faults('items:delay=3000')  # the stop comes long before the queue is empty
        upstream.change(1, 1000)
        self.wait_metric(run, 'realtime_queue_depth', 500)
        self.all_read(run, upstream)
        began = time.monotonic()
        self.stop_updater(run)
        took = time.monotonic() - began
        waiting = archive.rows("SELECT count(*) FROM ingest_dlq_items WHERE state = 'retry_wait'")
        self.assertGreater(waiting[0][0], 500)
        upstream.faults()
        began = time.monotonic()
        run = self.start_updater(archive, upstream, *ALONE)
        self.settle(f'stopped within {took:.2f} s in a burst, {waiting[0][0]} ids written down',
                    run, archive, upstream, since=began)
        self.stop_updater(run)

    def all_read(self, run, upstream):
        """Every id of a burst has left the upstream and reached the queue."""
        kinds = ('changes', 'keep_alive', 'unknown', 'garbage')

        def read():
            stats = upstream.stats()
            frames = sum(metric(run, f'realtime_frames_total{{kind="{k}"}}') for k in kinds)
            return not stats['bursts'] and frames >= stats['frames_sent']
        wait_until(read, what='all frames')


class Hangs:
    def test_while_the_upstream_hangs(self):
        upstream, archive = self.upstream(ids=300), self.archive()
        run = self.follow(archive, upstream, *ALONE)
        upstream.faults('all:delay=60000')
        upstream.change(1, 300)
        self.wait_metric(run, 'http_inflight', 20)
        began = time.monotonic()
        self.stop_updater(run)
        took = time.monotonic() - began
        upstream.faults()
        run = self.start_updater(archive, upstream, *ALONE)
        self.settle(f'stopped within {took:.2f} s while nothing answers', run, archive, upstream)


class Workers:
    def test_one_dies(self):
        upstream, archive = self.upstream(ids=600), self.archive()
        run = self.start_updater(archive, upstream, *ALONE, '--realtime-workers', 2,
                                 env={'TAIN_FAULT': 'realtime_worker:3:fail'})
        began = time.monotonic()
        self.wait_metric(run, 'realtime_listener_connected', 1)
        while not metric(run, 'realtime_worker_restarts_total'):
            self.assertLess(time.monotonic() - began, patient(0))
            if not metric(run, 'realtime_queue_depth'):
                upstream.change(1, 600)
        self.settle('a worker that died', run, archive, upstream, since=began)
        self.assertEqual(metric(run, 'realtime_worker_restarts_total'), 1)
        self.wait_metric(run, 'realtime_worker_alive_count', 2)
        self.assertIn('a realtime worker died', run.so_far())
        self.stop_updater(run)

    def test_all_die(self):
        upstream, archive = self.upstream(ids=600), self.archive()
        for workers, fault in ((1, 'realtime_worker:1:fail'),
                               (2, 'realtime_worker:1:fail,realtime_worker:2:fail')):
            with self.subTest(workers=workers):
                self.stop_updater(self.follow(archive, upstream, *ALONE))
                upstream.change(1, 20)  # the first frame names them, all at once
                self.wait_named(upstream, lambda named: len(named & set(range(1, 21))) > 15)
                run = self.start_updater(archive, upstream, *ALONE, '--realtime-workers', workers,
                                         env={'TAIN_FAULT': fault})
                result = run.wait()
                self.assertEqual(result.code, EXIT_FAILED, result)
                self.assertIn('no realtime worker is alive', result.err.splitlines()[-1])
                upstream.ask('POST', '/demo/mention?from=100&n=400')  # the next names others
                self.wait_named(upstream, lambda named: not named & set(range(1, 21)))
                began = time.monotonic()
                run = self.start_updater(archive, upstream, *ALONE)
                self.settle('all workers dead, and a new start', run, archive, upstream,
                            since=began)
                self.stop_updater(run)


    @staticmethod
    def wait_named(upstream, condition):
        wait_until(lambda: condition(set(upstream.ask('GET', '/v0/updates.json')['items'])),
                   what='updates.json')


class FullQueue:
    def test_reader_waits(self):
        upstream, archive = self.upstream(ids=800), self.archive()
        self.addCleanup(Pulse(upstream.url).stop)
        run = self.follow(archive, upstream, *ALONE, '--channel-capacity', 16, '--concurrency', 16,
                          '--stream-timeout', '15s')
        wait_until(lambda: upstream.stats()['streams_open'] and
                   metric(run, 'realtime_listener_connected'), what='a stream')
        upstream.faults('items:delay=400')  # the reader waits for longer than the stream may rest
        began = time.monotonic()
        upstream.change(1, 800)
        self.wait_metric(run, 'realtime_queue_full_total', 1)
        # 16, as many again that workers add themselves, and what is named anew while one of
        # the eight has it: 8 each
        self.assertLessEqual(metric(run, 'realtime_queue_depth'), 2 * 16 + 8 * 8)
        self.settle('a full queue', run, archive, upstream, since=began)
        wait_until(lambda: metric(run, 'realtime_queue_depth') == 0, what='an empty queue')
        self.stop_updater(run)


class SqliteFaults(Streams, LockedFile, Killed, Stops, Hangs, Workers, FullQueue, OnSqlite,
                   UpdaterTest):
    pass


class PostgresFaults(Server, Killed, Stops, OnPostgres, UpdaterTest):
    PHASES = ('catch-up', 'live commit', 'burst', 'replay')


if __name__ == '__main__':
    unittest.main()
