"""A stop is orderly, and waits for nothing that is stuck: the leases are given back, the exit code
names the signal, and the command that goes on is printed. What is stuck here is so for far longer
than a test waits."""

import os
import shlex
import signal
import unittest

from lib import E2E, EXIT_DONE, OnPostgres, OnSqlite, wait_until

LAST = 2500
SMALL = ('--end-id', LAST, '--segment-width', 200, '--batch-size', 50, '--concurrency', 16,
         '--timeout', '1h', '--lease', '1h')


class Stopping:
    def begin(self, archive, demo, *arguments):
        run = self.start_catchup(archive, demo, *SMALL, *arguments)
        wait_until(lambda: archive.snapshot() and len(self.look(archive).ids) > 100,
                   what='a run in the middle of its work')
        return run

    def stop(self, run, number, code):
        run.signal(number)
        result = run.wait()
        self.assertEqual(result.code, code, result)
        return result

    def assert_released(self, archive):
        look = self.assert_invariants(archive)
        self.assertEqual([s for s in look.segments if s['status'] == 'in_progress'], [])
        return look

    def resume(self, archive, demo, command):
        words = shlex.split(command)
        self.assertEqual(words[:2], ['tain', 'catchup'])
        demo.faults()
        done = self.run_tain(*words[1:])
        self.assertEqual(done.code, EXIT_DONE, done)
        self.assert_complete(archive, demo, 1, LAST)

    def test_sigint(self):
        demo, archive = self.demo('items:delay=100'), self.archive()
        result = self.stop(self.begin(archive, demo), signal.SIGINT, 130)
        report = result.report
        self.assertTrue(report['stopped'])
        look = self.assert_released(archive)
        self.assertLess(len(look.ids), LAST)
        self.assertEqual(report['stored'], len(look.ids), 'what it says is what there is')
        demo.reset_stats()
        self.resume(archive, demo, report['resume_command'])
        self.assertEqual(demo.stats()['distinct_ids'], LAST - len(look.ids) - sum(
            1 for x in look.exceptions if x['state'] == 'terminal_missing'))

    def test_sigterm_in_words(self):
        demo, archive = self.demo('items:delay=100'), self.archive()
        run = self.begin(archive, demo, '--no-json')
        result = self.stop(run, signal.SIGTERM, 143)
        self.assert_released(archive)
        line, = (li for li in result.err.splitlines() if 'To go on: ' in li)
        self.resume(archive, demo, line.split('To go on: ')[1])

    def test_while_the_upstream_hangs(self):
        demo, archive = self.demo('items:delay=100'), self.archive()
        run = self.begin(archive, demo)
        demo.signal(signal.SIGSTOP)
        self.await_standstill(archive)
        self.stop(run, signal.SIGTERM, 143)
        self.assert_released(archive)
        demo.signal(signal.SIGCONT)
        demo.faults()
        self.catchup(archive, demo, *SMALL)
        self.assert_complete(archive, demo, 1, LAST)

    def await_standstill(self, archive):
        """Nothing but open requests: from one look to the next no more is stored."""
        seen = []

        def settled():
            seen.append(len(self.look(archive).ids))
            return len(seen) > 1 and seen[-1] == seen[-2]
        wait_until(settled, what='a standstill', every=0.2)


class SqliteStopping(Stopping, OnSqlite, E2E):
    def test_before_maxitem(self):
        demo, archive = self.demo(), self.archive()
        demo.signal(signal.SIGSTOP)
        run = self.start_catchup(archive, demo, *SMALL)
        wait_until(lambda: archive.snapshot(), what='the tables')
        self.stop(run, signal.SIGINT, 130)

    def test_while_waiting_for_a_ladder(self):
        demo, archive = self.demo('id=50:null', maxitem=100), self.archive()
        run = self.start_catchup(archive, demo, '--wait', '1h')
        wait_until(lambda: archive.snapshot() and self.look(archive).exceptions, what='a null')
        self.stop(run, signal.SIGINT, 130)
        self.assertEqual([x['state'] for x in self.assert_released(archive).exceptions],
                         ['retry_wait'])

    def test_while_the_upstream_is_ill(self):
        demo, archive = self.demo('all:status=503:after=400'), self.archive()
        run = self.start_catchup(archive, demo, *SMALL)
        wait_until(lambda: 'upstream is ill' in run.so_far(), what='the diagnosis')
        self.stop(run, signal.SIGTERM, 143)
        self.assert_released(archive)
        demo.faults()
        self.catchup(archive, demo, *SMALL)
        self.assert_complete(archive, demo, 1, LAST)

    def test_two_signals_at_once_are_one(self):
        """As from a terminal or a wrapper that signals the process and its group."""
        demo, archive = self.demo('items:delay=300'), self.archive()
        run = self.begin(archive, demo)
        run.signal(signal.SIGINT)
        run.signal(signal.SIGINT)
        self.assertEqual(run.wait().code, 130)
        self.assertEqual(archive.rows("SELECT COUNT(*) FROM ingest_segments "
                                      "WHERE status = 'in_progress'"), [(0,)])
        demo.faults()
        self.catchup(archive, demo, *SMALL)
        self.assert_complete(archive, demo, 1, LAST)


class PostgresStopping(Stopping, OnPostgres, E2E):
    def test_while_the_database_is_down(self):
        demo, archive = self.demo('items:delay=100'), self.archive()
        run = self.begin(archive, demo)
        self.server.stop()
        try:
            wait_until(lambda: 'database does not answer' in run.so_far(), what='the complaint')
            self.stop(run, signal.SIGTERM, 143)
        finally:
            self.server.start()
        # the holder is no more, so what it could not give back is taken at once
        demo.faults()
        self.catchup(archive, demo, *SMALL)
        self.assert_complete(archive, demo, 1, LAST)

    def test_while_the_database_hangs(self):
        demo, archive = self.demo('items:delay=100'), self.archive()
        run = self.begin(archive, demo)
        frozen = self.freeze()
        try:
            result = self.stop(run, signal.SIGTERM, 143)
            self.assertIn('database hangs', result.err)
        finally:
            for pid in reversed(frozen):  # the server last: it buries children that had ended
                os.kill(pid, signal.SIGCONT)
        demo.faults()
        self.catchup(archive, demo, *SMALL)
        self.assert_complete(archive, demo, 1, LAST)

    def freeze(self):
        """The server of this suite, so that it starts and buries no more, then its children."""
        server = self.server.server.pid
        os.kill(server, signal.SIGSTOP)
        frozen = [server] + [int(name) for name in os.listdir('/proc')
                             if name.isdigit() and self.parent_of(name) == server]
        for pid in frozen[1:]:
            os.kill(pid, signal.SIGSTOP)
        return frozen

    @staticmethod
    def parent_of(pid):
        try:
            with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as stat:
                return int(stat.read().rsplit(')', 1)[1].split()[1])
        except OSError:
            return None  # gone meanwhile


if __name__ == '__main__':
    unittest.main()
