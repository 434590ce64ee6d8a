"""An upstream that misbehaves. What passes is retried until the archive equals the truth; what
stays becomes a dead letter after exactly eight attempts and stops nothing; an outage is nobody's
fault."""

import os
import signal
import unittest

from lib import (E2E, EXIT_DONE, EXIT_FAILED, EXIT_UNRESOLVED, OnPostgres, OnSqlite, free_port,
                 wait_until)
from updater import metric, metrics_of

LAST = 1200
GIB = 1 << 30


class Passing(OnSqlite, E2E):
    """Two ids in a hundred fail at first; then the same run stores them."""

    def heals(self, fault, *arguments, times=2, share=0.02):
        demo, archive = self.demo(f'share={share}:{fault}:times={times}'), self.archive()
        report = self.catchup(archive, demo, '--end-id', LAST, *arguments).report
        self.assert_complete(archive, demo, 1, LAST)
        kind = 'delay' if fault.startswith('delay') else fault.split('=')[0].split(':')[0]
        struck = demo.stats()['faults'][kind]
        self.assertGreater(struck, 0)
        return report, struck, demo.stats()

    def test_500(self):
        report, struck, stats = self.heals('status=500')
        self.assertEqual(report['retries'], struck)
        self.assertEqual(stats['max_per_id'], 3)

    def test_502(self):
        self.heals('status=502')

    def test_400(self):
        self.heals('status=400')

    def test_429(self):
        self.heals('status=429')

    def test_429_with_retry_after(self):
        """Several ids are told to wait: the lane waits. One alone waits by itself."""
        demo, archive = self.demo('range=600-640:status=429:retry_after=2:times=1'), self.archive()
        report = self.catchup(archive, demo, '--end-id', LAST).report
        self.assert_complete(archive, demo, 1, LAST)
        self.assertGreaterEqual(report['duration_ms'], 2000)

    def test_reset(self):
        self.heals('reset')

    def test_truncate(self):
        report, struck, _ = self.heals('truncate')
        self.assertEqual(report['retries'], struck)

    def test_garbage(self):
        report, struck, _ = self.heals('garbage')
        self.assertEqual(report['retries'], struck)

    def test_wrong_id(self):
        report, struck, _ = self.heals('wrong_id')
        self.assertEqual(report['retries'], struck)

    def test_delay(self):
        report, _, stats = self.heals('delay=700')
        self.assertEqual(report['retries'], 0)
        self.assertEqual(stats['repeated_ids'], 0)

    def test_drip(self):
        self.heals('drip', '--timeout', '4s', times=1, share=0.01)

    def test_redirect_to_itself_is_followed(self):
        report, _, _ = self.heals('redirect=same', times=1000)
        self.assertEqual(report['retries'], 0)

    def test_redirect_without_end(self):
        self.heals('redirect=endless', times=3, share=0.01)

    def test_redirect_to_another_host_is_refused(self):
        report, _, stats = self.heals('redirect=other')
        self.assertEqual(stats['foreign_redirects'], 0)
        self.assertGreater(report['retries'], 0)

    def test_huge(self):
        """A gigabyte is not read, announced or not, and costs no memory."""
        demo = self.demo(f'share=0.01:huge={GIB}:times=1',
                         f'share=0.01:huge={GIB}:chunked:times=1')
        archive = self.archive()
        run = self.start_catchup(archive, demo, '--end-id', LAST)
        _, status, usage = os.wait4(run.pid, 0)
        run.process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(run.process.returncode, EXIT_DONE, run.so_far())
        self.assertGreater(demo.stats()['faults']['huge'], 5)
        self.assert_complete(archive, demo, 1, LAST)
        self.assertLess(usage.ru_maxrss, 128 * 1024, 'kilobytes')


class Mixture:
    """Everything at once, at random."""

    def test_two_percent_of_everything(self):
        kinds = ('status=500', 'status=502', 'status=429', 'reset', 'truncate', 'garbage',
                 'wrong_id', f'huge={GIB}', 'redirect=endless', 'redirect=other', 'redirect=same',
                 'delay=300', 'drip')
        demo = self.demo(*(f'rate=0.0{"05" if k == "drip" else "2"}:{k}' for k in kinds))
        archive = self.archive()
        self.catchup(archive, demo, '--end-id', 2500, '--timeout', '4s', '--retry-attempts', 12)
        struck = demo.stats()['faults']
        for kind in {k.partition('=')[0] for k in kinds}:
            self.assertGreater(struck[kind], 0, kind)
        self.assertEqual(demo.stats()['foreign_redirects'], 0)
        demo.faults()
        self.assert_complete(archive, demo, 1, 2500)


class SqliteMixture(Mixture, OnSqlite, E2E):
    pass


class PostgresMixture(Mixture, OnPostgres, E2E):
    pass


class DeadLetters:
    ALWAYS = {100: ('status=500', 'http_5xx'), 200: ('status=502', 'http_5xx'),
              300: ('status=429', 'http_429'), 400: ('truncate', 'truncated'),
              500: ('garbage', 'garbage'), 600: ('wrong_id', 'wrong_id'),
              700: (f'huge={GIB}', 'too_large'), 800: (f'huge={GIB}:chunked', 'too_large'),
              900: ('redirect=other', 'redirect'), 1000: ('status=418', 'http_4xx')}

    def test_exactly_eight_attempts(self):
        demo = self.demo(*(f'id={i}:{what}' for i, (what, _) in self.ALWAYS.items()))
        archive = self.archive()
        report = self.catchup(archive, demo, '--end-id', LAST, code=EXIT_UNRESOLVED).report
        self.assertEqual((report['dead_letters'], report['waiting']), (len(self.ALWAYS), 0))
        stats = demo.stats()
        # when nothing was answered well for a while, an id that was is asked again, as a probe
        probed = stats['repeated_ids'] - len(self.ALWAYS)
        self.assertIn(probed, (0, 1))
        self.assertEqual(stats['max_per_id'], 8)
        probes = stats['requests']['item'] - LAST - 7 * len(self.ALWAYS)
        self.assertIn(probes, range(probed, 7 * probed + 1))
        look = self.assert_invariants(archive)
        self.assertEqual({x['id']: (x['state'], x['attempts'], x['class'])
                          for x in look.exceptions},
                         {i: ('dead_letter', 8, cls) for i, (_, cls) in self.ALWAYS.items()})
        rows = archive.rows('SELECT item_id, source, state, failure_class, attempts, last_error '
                            'FROM ingest_dlq_items ORDER BY item_id')
        self.assertEqual([r[:5] for r in rows],
                         [(i, 'catchup', 'dead_letter', cls, 8)
                          for i, (_, cls) in self.ALWAYS.items()])
        self.assertTrue(all(r[5] for r in rows), 'each says why')
        self.assertEqual(look.frontier, 99)
        known = demo.truth(1, LAST)
        self.assert_truth_but_for(archive, known, set(self.ALWAYS))
        self.dead_letters_rest(archive, demo)
        self.replay_heals(archive, demo)

    def assert_truth_but_for(self, archive, known, lacking):
        """Threads below a dead letter have no story yet; the rest is as it should be."""
        expected = {i: item for i, item in known.items() if item and i not in lacking}
        self.assertEqual(set(archive.items()), set(expected))
        self.assert_truth(archive, {i: item for i, item in known.items() if i not in lacking})

    def dead_letters_rest(self, archive, demo):
        demo.reset_stats()
        report = self.catchup(archive, demo, '--end-id', LAST, code=EXIT_UNRESOLVED).report
        self.assertEqual(report['dead_letters'], len(self.ALWAYS))
        self.assertEqual(demo.stats()['requests']['item'], 0)

    def replay_heals(self, archive, demo):
        demo.faults()
        self.catchup(archive, demo, '--start-id', 1, '--end-id', LAST, '--force-replay-window')
        self.assert_complete(archive, demo, 1, LAST)
        self.assertEqual(archive.rows('SELECT state, COUNT(*) FROM ingest_dlq_items GROUP BY 1'),
                         [('resolved', len(self.ALWAYS))])
        self.assertEqual(self.status(archive)['dead_letters'], 0)

    def test_set_to_pending_by_hand(self):
        demo, archive = self.demo('id=50:status=500'), self.archive()
        self.catchup(archive, demo, '--end-id', 100, code=EXIT_UNRESOLVED)
        demo.faults()
        archive.execute("UPDATE ingest_exceptions SET state = 'pending', attempts = 0")
        demo.reset_stats()
        self.catchup(archive, demo, '--end-id', 100)
        self.assertEqual(demo.stats()['requests']['item'], 1)
        self.assert_complete(archive, demo, 1, 100)


class SqliteDeadLetters(DeadLetters, OnSqlite, E2E):
    def test_resets_and_drips(self):
        """A kept connection that breaks may be a stale one, so within one attempt the HTTP library
        goes on to the next; resets are counted by what the run says, not by what was seen."""
        demo = self.demo('id=10:reset', 'id=20:drip', 'id=30:redirect=endless')
        archive = self.archive()
        report = self.catchup(archive, demo, '--end-id', 100, '--timeout', '4s',
                              code=EXIT_UNRESOLVED).report
        self.assertGreaterEqual(report['fetched'], 100 + 3 * 7)  # and probes before giving up
        self.assertEqual(sorted((x['id'], x['state'], x['attempts'], x['class'])
                                for x in self.look(archive).exceptions),
                         [(10, 'dead_letter', 8, 'reset'), (20, 'dead_letter', 8, 'timeout'),
                          (30, 'dead_letter', 8, 'redirect')])
        self.assertEqual(demo.stats()['faults']['drip'], 8)
        self.assertEqual(demo.stats()['faults']['redirect'], 8 * 6)

    def test_fewer_attempts(self):
        demo, archive = self.demo('id=10:status=500'), self.archive()
        self.catchup(archive, demo, '--end-id', 60, '--retry-attempts', 3, code=EXIT_UNRESOLVED)
        self.assertEqual(demo.stats()['max_per_id'], 3)
        self.assertEqual([x['attempts'] for x in self.look(archive).exceptions], [3])

    def test_attempts_are_kept_over_a_restart(self):
        demo, archive = self.demo('id=10:status=500'), self.archive()
        run = self.start_catchup(archive, demo, '--end-id', 60, '--retry-initial-ms', 800,
                                 '--retry-max-ms', 800)
        wait_until(lambda: demo.stats()['max_per_id'] >= 3 and
                   [x for x in self.look(archive).exceptions if x['attempts'] >= 3],
                   what='a third attempt on record')
        run.kill()
        before = demo.stats()['max_per_id']
        self.catchup(archive, demo, '--end-id', 60, '--wait', '3s', code=EXIT_UNRESOLVED)
        self.assertEqual([(x['state'], x['attempts']) for x in self.look(archive).exceptions],
                         [('dead_letter', 8)])
        self.assertLessEqual(demo.stats()['max_per_id'], 9, f'{before} before the kill')

    def test_refused_ids_wait(self):
        """401, 403 and 404 of a single id are looked at again later, and cost no attempt."""
        demo = self.demo('id=10:status=401', 'id=20:status=403', 'id=30:status=404')
        archive = self.archive()
        report = self.catchup(archive, demo, '--end-id', LAST, code=EXIT_UNRESOLVED).report
        self.assertEqual((report['waiting'], report['dead_letters']), (3, 0))
        found = {x['id']: (x['state'], x['attempts'], x['class'])
                 for x in self.assert_invariants(archive).exceptions}
        self.assertEqual({i: found[i] for i in (10, 20, 30)},
                         {10: ('retry_wait', 0, 'http_401'), 20: ('retry_wait', 0, 'http_403'),
                          30: ('retry_wait', 0, 'http_404')})
        # once for each rung that it has climbed: on a slow machine that may be more than one
        self.assertEqual(demo.stats()['max_per_id'],
                         max(x['rung'] for x in self.look(archive).exceptions))


class PostgresDeadLetters(DeadLetters, OnPostgres, E2E):
    pass


class Outages(OnSqlite, E2E):
    """The upstream is gone for far longer than eight attempts take."""

    def survives(self, archive, demo, run, hi):
        result = run.wait()
        self.assertEqual(result.code, EXIT_DONE, result)
        self.assertEqual(archive.rows('SELECT COUNT(*) FROM ingest_dlq_items'), [(0,)])
        self.assert_complete(archive, demo, 1, hi)
        return result

    def begin(self, archive, demo, hi, *arguments):
        """A run in the middle of its work; eight attempts take it a third of a second."""
        run = self.start_catchup(archive, demo, '--end-id', hi, '--retry-max-ms', 50,
                                 '--metrics-bind', '127.0.0.1:0', '--rps', 150, *arguments)
        wait_until(lambda: demo.stats()['requests']['item'] > hi / 4, what='a quarter of the work')
        self.assertTrue(run.running())
        return run

    def await_illness(self, run):
        """The diagnosis, and a second behind it, when all that was under way has failed, a probe
        that fails too."""
        def failed():
            return sum(n for name, n in metrics_of(run).items()
                       if name.startswith('tain_http_requests_total') and '200' not in name)
        wait_until(lambda: 'upstream is ill' in run.so_far(), what='the diagnosis')
        wait_until(lambda: metric(run, 'http_inflight') == 0, what='nothing under way')
        before = failed()
        wait_until(lambda: failed() > before, what='a probe that fails')

    def test_503_storm(self):
        demo, archive = self.demo('all:status=503:after=1000:for=6s'), self.archive()
        run = self.start_catchup(archive, demo, '--end-id', 4000)
        wait_until(lambda: 'upstream is ill' in run.so_far(), what='the diagnosis')
        attempts = [x['attempts'] for x in self.look(archive).exceptions]
        self.assertLess(max(attempts, default=0), 8)
        result = self.survives(archive, demo, run, 4000)
        self.assertIn('well again', result.err)
        self.assertGreater(result.report['duration_ms'], 5900)
        self.assertLess(demo.stats()['faults']['status'], 1500, 'it should have paused')

    def test_401_storm(self):
        """Permission denied for everything is not a matter of single ids."""
        demo, archive = self.demo('items:status=401:after=1000:for=3s'), self.archive()
        run = self.start_catchup(archive, demo, '--end-id', 3000, '--wait', '60s')
        self.survives(archive, demo, run, 3000)

    def test_upstream_is_killed(self):
        # a port that the system gives to nobody while the upstream is away
        demo, archive = self.demo('items:delay=10', port=free_port()), self.archive()
        run = self.begin(archive, demo, 3000)
        demo.stop()
        self.await_illness(run)
        demo.start()
        self.survives(archive, demo, run, 3000)

    def test_upstream_hangs(self):
        demo, archive = self.demo('items:delay=10'), self.archive()
        run = self.begin(archive, demo, 3000, '--timeout', '2s')
        demo.signal(signal.SIGSTOP)
        self.await_illness(run)
        demo.signal(signal.SIGCONT)
        self.survives(archive, demo, run, 3000)

    def test_giving_up(self):
        demo, archive = self.demo('all:status=503:after=600'), self.archive()
        run = self.start_catchup(archive, demo, '--end-id', 2000, '--max-outage', '1500ms')
        result = run.wait()
        self.assertEqual(result.code, EXIT_FAILED, result)
        self.assertIn('no good answer', result.out)
        self.assertIn('http_5xx', result.out)
        look = self.assert_invariants(archive)
        self.assertEqual([s for s in look.segments if s['status'] == 'in_progress'], [])
        demo.faults()
        self.catchup(archive, demo, '--end-id', 2000)
        self.assert_complete(archive, demo, 1, 2000)


class Beginnings(OnSqlite, E2E):
    """Without maxitem there is no run."""

    def test_no_maxitem(self):
        nobody = f'http://127.0.0.1:{free_port()}/v0'
        cases = {nobody: (f'{nobody}/maxitem.json', 'refused'),
                 self.demo('all:garbage').url: ('maxitem.json', 'not a number'),
                 self.demo('all:status=500').url: ('maxitem.json', '500')}
        runs = {url: self.start('catchup', '--db', f'sqlite:{self.folder}/{i}.db', '--upstream',
                                url, '--progress', 'none') for i, url in enumerate(cases)}
        for url, words in cases.items():
            with self.subTest(words[-1]):
                result = runs[url].wait()
                self.assertEqual(result.code, EXIT_FAILED, result)
                for word in words:
                    self.assertIn(word, result.err)

    def test_a_first_error_passes(self):
        demo, archive = self.demo('all:status=503:for=2'), self.archive()
        self.catchup(archive, demo, '--end-id', 200)
        self.assert_complete(archive, demo, 1, 200)


class Stragglers(OnSqlite, E2E):
    def test_the_cursor_moves_on(self):
        demo, archive = self.demo('id=7:delay=20000'), self.archive()
        run = self.start_catchup(archive, demo, '--end-id', 900, '--segment-width', 300)

        def passed():
            """Those around it are there, which on a slow machine may be late, too."""
            look = self.look(archive)
            cursors = [s['cursor'] for s in look.mirror if s['start_id'] == 1]
            late = [x['id'] for x in look.exceptions if x['state'] == 'pending']
            return cursors == [300] and late in ([7], []) and look

        look = wait_until(lambda: archive.snapshot() and passed(), what='a cursor behind it')
        straggler, = (x for x in look.exceptions if x['id'] == 7)
        self.assertEqual((straggler['state'], straggler['class']), ('pending', 'straggler'))
        self.assertEqual(look.frontier, 6)
        self.assert_invariants(archive)
        self.assertTrue(run.running())
        result = run.wait()
        self.assertEqual(result.code, EXIT_DONE, result)
        self.assert_complete(archive, demo, 1, 900)
        self.assertEqual(demo.stats()['repeated_ids'], 0)


if __name__ == '__main__':
    unittest.main()
