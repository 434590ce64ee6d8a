"""Several processes on one PostgreSQL share the work and the rate; one that dies, sleeps or loses
its connection costs time and nothing else."""

import contextlib
import os
import re
import signal
import subprocess
import time
import unittest
import urllib.request

from lib import ANSWER, E2E, EXIT_DONE, OnPostgres, environment, free_port, wait_until

LAST = 2400
# An upstream slow enough for a process to be met in the middle of its work, and whose last ids are
# so late that nobody is through with it before it is told to hurry.
SLOW = 'items:delay=40'
NO_END = (f'range={LAST * 3 // 4 + 1}-{LAST}:delay=4000', SLOW)
ALONE = 1000  # ids in one segment, for one process at a time
ONE = ('--end-id', ALONE, '--segment-width', ALONE, '--batch-size', 50, '--concurrency', 16,
       '--lease', '2s')
PACE = 'items:delay=60'
FIRST_IS_LATE = 'id=1:delay=30000'  # so the cursor stays where it is for as long as that is excused
SMALL = ('--end-id', LAST, '--segment-width', 100, '--batch-size', 50, '--concurrency', 16)


@contextlib.contextmanager
def locked(archive, table):
    """Nobody writes to the table meanwhile."""
    psql = subprocess.Popen([os.path.join(archive.server.bin, 'psql'), '-X', '-q', '-A', '-t', '-d',
                             archive.uri], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            env=environment())
    try:
        psql.stdin.write(f"BEGIN; LOCK TABLE tain.{table} IN SHARE MODE; SELECT 'locked';\n")
        psql.stdin.flush()
        if psql.stdout.readline() != 'locked\n':
            raise AssertionError('the table could not be locked')
        yield
    finally:
        psql.stdin.close()  # the end of the session is the end of the lock
        psql.wait(ANSWER)
        psql.stdout.close()


class Shared(OnPostgres, E2E):
    def run_many(self, n, archive, demo, *arguments, pace=()):
        """Nothing comes before all of them hold something, so that each gets its share."""
        demo.faults('items:delay=2000')
        runs = [self.start_catchup(archive, demo, *arguments) for _ in range(n)]
        wait_until(lambda: len(self.holders(archive)) == n or
                   not all(run.running() for run in runs), what='all of them')
        demo.faults(*pace)
        results = [run.wait() for run in runs]
        for result in results:
            self.assertEqual(result.code, EXIT_DONE, result)
        return [result.report for result in results]

    def test_two_processes(self):
        self.share(2)

    def test_four_processes(self):
        self.share(4)

    def share(self, n):
        demo, archive = self.demo(), self.archive()
        reports = self.run_many(n, archive, demo, *SMALL, pace=('items:delay=80',))
        stats = demo.stats()
        self.assertEqual((stats['distinct_ids'], stats['repeated_ids']), (LAST, 0))
        self.assertEqual(sum(r['fetched'] for r in reports), LAST)
        self.assertTrue(all(r['stored'] > 50 for r in reports),  # of a segment of 100
                        [r['stored'] for r in reports])
        self.assert_complete(archive, demo, 1, LAST)

    def test_rate_holds_for_all_together(self):
        demo, archive = self.demo(), self.archive()
        began = time.monotonic()
        self.run_many(3, archive, demo, '--end-id', 1800, '--segment-width', 100, '--rps', 200,
                      '--concurrency', 16)
        self.assertGreater(time.monotonic() - began, 1800 / 200 * 0.85)
        self.assertEqual(demo.stats()['repeated_ids'], 0)
        self.assert_complete(archive, demo, 1, 1800)

    def test_rate_is_kept_by_one(self):
        demo, archive = self.demo(), self.archive()
        report = self.catchup(archive, demo, '--end-id', 800, '--rps', 300).report
        self.assertGreater(report['duration_ms'], 800 / 300 * 1000 * 0.85)

    def holders(self, archive):
        look = self.look(archive)
        return {s['holder'] for s in look.segments if s['holder']} if look else set()

    # A process that fails its peers

    def held(self, archive, at_least=1):
        """The segments in progress that are partly written, when there are enough of them."""
        look = self.look(archive)
        held = [s for s in look.segments if s['status'] == 'in_progress'] if look else []
        return held if len(held) >= at_least and len(look.ids) > 100 else None

    def begin(self, archive, demo, *arguments):
        run = self.start_catchup(archive, demo, *(arguments or SMALL))
        wait_until(lambda: self.held(archive), what='held segments')
        return run

    def test_killed_process(self):
        demo, archive = self.demo(*NO_END), self.archive()
        long = (*SMALL, '--lease', '1h')  # nobody would live to see the end of it
        victim = self.begin(archive, demo, *long)
        heir = self.start_catchup(archive, demo, *long)
        wait_until(lambda: len({s['holder'] for s in self.held(archive) or []}) == 2,
                   what='both at work')
        victim.kill()
        self.assert_invariants(archive)
        demo.faults(SLOW)
        result = heir.wait()
        self.assertEqual(result.code, EXIT_DONE, result)
        self.assert_complete(archive, demo, 1, LAST)

    # A process that sleeps for longer than its lease, and wakes up to find an heir at work

    def doze(self, archive, demo):
        """A process that holds the only segment, and where it counts the leases it has lost."""
        port = free_port()
        sleeper = self.begin(archive, demo, *ONE, '--metrics-bind', f'127.0.0.1:{port}')

        def lost():
            with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics', timeout=ANSWER) as page:
                found = re.search(r'^tain_catchup_leases_lost_total (\d+)$', page.read().decode(),
                                  re.M)
            return int(found.group(1))
        return sleeper, lost

    def asleep(self, lull):
        """One that lull(archive, run) has put to sleep before the late id was excused. On a slow
        machine that may take more than one try."""
        def attempt():
            demo, archive = self.demo(FIRST_IS_LATE, PACE), self.archive()
            sleeper, lost = self.doze(archive, demo)
            lull(archive, sleeper)
            if sleeper.running() and self.look(archive).segments[0]['cursor'] == 0:
                return archive, demo, sleeper, lost
            sleeper.kill()
            demo.stop()
            return None
        return wait_until(attempt, 300, 'an early sleep')

    def test_sleeping_process(self):
        def lull(archive, sleeper):
            def asleep():
                sleeper.signal(signal.SIGSTOP)
                if self.session(archive, 'idle') and self.held(archive) or not sleeper.running():
                    return True
                sleeper.signal(signal.SIGCONT)
                return False
            wait_until(asleep, what='sleep between two transactions')
        self.wakes_up_beside_its_heir(*self.asleep(lull))

    def test_sleeping_in_a_transaction(self):
        """Its locks must not outlive its lease for long."""
        def lull(archive, sleeper):
            with locked(archive, 'items'):  # it comes to a halt within a batch
                wait_until(lambda: self.session(archive, 'active', 'Lock') or
                           not sleeper.running(), what='a waiting batch')
                sleeper.signal(signal.SIGSTOP)
            wait_until(lambda: self.session(archive, 'idle in transaction') or
                       not sleeper.running(), what='an open transaction')
        self.wakes_up_beside_its_heir(*self.asleep(lull))

    def session(self, archive, state, waits_for=None):
        """True when the only session of the program is in that state."""
        rows = self.activity(archive)
        return (len(rows) == 1 and rows[0][0] == state
                and (waits_for is None or rows[0][1] == waits_for))

    def sessions(self, archive):
        """The states of all of them."""
        return {row[0] for row in self.activity(archive)}

    @staticmethod
    def activity(archive):
        return archive.rows("SELECT state, wait_event_type FROM pg_stat_activity WHERE "
                            "application_name = 'tain' AND datname = current_database()")

    def wakes_up_beside_its_heir(self, archive, demo, sleeper, lost):
        """What it had in hand when it fell asleep must not be written under its heir's lease."""
        old, = self.look(archive).segments
        self.assertEqual(old['cursor'], 0)  # or the heir would get a segment of its own
        demo.faults(PACE)
        heir = self.start_catchup(archive, demo, *ONE, '--lease', '1h')

        def heir_stands_still():
            now = self.look(archive).segments[0]
            if now['holder'] in (None, old['holder']):
                return False
            heir.signal(signal.SIGSTOP)  # it holds the segment and gets no further
            if self.sessions(archive) <= {'idle'}:
                return True
            heir.signal(signal.SIGCONT)
            return False

        wait_until(heir_stands_still, what='an heir that holds the segment')
        before = self.look(archive)
        self.assertEqual([(s['segment_id'], s['status']) for s in before.segments],
                         [(old['segment_id'], 'in_progress')])
        sleeper.signal(signal.SIGCONT)  # it finds the answers that came while it slept
        wait_until(lambda: lost() or self.look(archive).ids != before.ids,
                   what='the loss of the lease')
        after = self.look(archive)
        self.assertEqual(after.ids, before.ids, 'a zombie wrote')
        self.assertEqual(after.exceptions, before.exceptions, 'a zombie wrote')
        self.assertEqual(after.segments, before.segments, 'a zombie touched the segment')
        demo.faults()
        heir.signal(signal.SIGCONT)
        for run in (heir, sleeper):
            result = run.wait()
            self.assertEqual(result.code, EXIT_DONE, result)
        self.assert_complete(archive, demo, 1, ALONE)


class Database(OnPostgres, E2E):
    """The database goes away and comes back. What makes the trouble is given archive and runs."""

    def trouble(self, make, times=1, at_once=1):
        demo, archive = self.demo(*NO_END), self.archive()
        runs = [self.start_catchup(archive, demo, *SMALL) for _ in range(at_once)]
        for n in range(times):
            share = LAST * (n + 1) / (times + 2)
            wait_until(lambda: demo.stats()['requests']['item'] > share, what='progress')
            self.assertTrue(any(run.running() for run in runs))
            make(archive, runs)
        demo.faults(SLOW)
        for run in runs:
            result = run.wait()
            self.assertEqual(result.code, EXIT_DONE, result)
        self.assert_complete(archive, demo, 1, LAST)
        return demo

    def test_fast_restart(self):
        self.trouble(lambda *_: self.server.restart(), at_once=2)

    def test_crash_of_the_server(self):
        def crash(*_):
            self.server.crash()
            self.server.start()
        self.trouble(crash, times=2)

    def test_away_for_a_while(self):
        def leave(_, runs):
            self.server.stop()
            wait_until(lambda: 'the database does not answer' in runs[0].so_far(),
                       what='the complaint')
            self.server.start()
        self.trouble(leave)

    def test_terminated_backends(self):
        def terminate(archive, _):
            archive.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                            "WHERE application_name = 'tain'")
        self.trouble(terminate, times=4, at_once=2)


if __name__ == '__main__':
    unittest.main()
