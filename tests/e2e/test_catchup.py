"""`tain catchup` from end to end on both databases: what a window becomes, and what a second run
does to it. Windows that lie more than 20,000 ids below maxitem believe a null at once."""

import unittest
import urllib.request

from lib import ANSWER, E2E, EXIT_UNRESOLVED, OnPostgres, OnSqlite, free_port, wait_until

LAST = 6000


class Windows:
    """What becomes of a window."""

    def test_whole_window(self):
        demo, archive = self.demo(), self.archive()
        report = self.catchup(archive, demo, '--end-id', LAST).report
        known = demo.truth(1, LAST)
        missing = sum(1 for item in known.values() if item is None)
        self.assertGreater(missing, 0, 'this corpus should have nulls')
        self.assert_complete(archive, demo, 1, LAST)
        self.assertEqual(
            {k: report[k] for k in ('command', 'start_id', 'end_id', 'total_ids', 'done_ids',
                                    'fetched', 'stored', 'changed', 'unchanged', 'missing',
                                    'retries', 'waiting', 'dead_letters', 'frontier_id',
                                    'maxitem', 'stopped')},
            {'command': 'catchup', 'start_id': 1, 'end_id': LAST, 'total_ids': LAST,
             'done_ids': LAST, 'fetched': LAST, 'stored': LAST - missing, 'changed': 0,
             'unchanged': 0, 'missing': missing, 'retries': 0, 'waiting': 0, 'dead_letters': 0,
             'frontier_id': LAST, 'maxitem': demo.maxitem, 'stopped': False})
        self.assertEqual(demo.stats()['repeated_ids'], 0)
        self.again_does_nothing(archive, demo)
        self.replay_changes_nothing(archive, demo)

    def again_does_nothing(self, archive, demo):
        demo.reset_stats()
        report = self.catchup(archive, demo, '--end-id', LAST).report
        self.assertEqual((report['total_ids'], report['fetched']), (0, 0))
        self.assertEqual(demo.stats()['requests']['item'], 0)
        # an explicit window over what is there is no reason to ask again either
        self.catchup(archive, demo, '--start-id', 1, '--end-id', LAST)
        self.assertEqual(demo.stats()['requests']['item'], 0)

    def replay_changes_nothing(self, archive, demo):
        before = archive.rows('SELECT id, last_changed_at, first_seen_at FROM items ORDER BY id')
        oldest = archive.rows('SELECT MAX(last_fetched_at) FROM items')[0][0]
        demo.reset_stats()
        report = self.catchup(archive, demo, '--start-id', 1, '--end-id', LAST,
                              '--force-replay-window').report
        self.assertEqual(demo.stats()['distinct_ids'], LAST)
        self.assertEqual((report['changed'], report['stored']), (0, 0))
        self.assertEqual(report['unchanged'], len(before))
        self.assertEqual(archive.rows('SELECT id, last_changed_at, first_seen_at FROM items '
                                      'ORDER BY id'), before)
        self.assertGreater(archive.rows('SELECT MIN(last_fetched_at) FROM items')[0][0], oldest)
        self.assertEqual(archive.rows('SELECT COUNT(*) FROM item_revisions'), [(0,)])
        self.assert_complete(archive, demo, 1, LAST)

    def test_limit_is_a_number_of_ids(self):
        demo, archive = self.demo(), self.archive()
        for limit, begin in ((1, 1), (777, 2), (1000, 779)):
            demo.reset_stats()
            report = self.catchup(archive, demo, '--limit', limit).report
            self.assertEqual((report['start_id'], report['end_id'], report['total_ids']),
                             (begin, begin + limit - 1, limit))
            self.assertEqual(demo.stats()['distinct_ids'], limit)
            self.assertEqual(demo.stats()['requests']['item'], limit)
        self.assert_complete(archive, demo, 1, 1778)

    def test_floor(self):
        demo, archive = self.demo(), self.archive()
        self.catchup(archive, demo, '--start-id', 3001, '--end-id', 4000)
        look = self.assert_invariants(archive)
        self.assertEqual((look.floor, look.frontier), (3001, 4000))
        # a hole below: the floor sinks, and the frontier falls to what is proved from there
        self.catchup(archive, demo, '--start-id', 1001, '--end-id', 2000)
        look = self.assert_invariants(archive)
        self.assertEqual((look.floor, look.frontier), (1001, 2000))
        self.assertEqual(self.status(archive)['coverage'], [[1001, 2000], [3001, 4000]])
        # the default window begins behind the frontier and skips what is there
        demo.reset_stats()
        self.catchup(archive, demo, '--end-id', 5000)
        self.assertEqual(demo.stats()['distinct_ids'], 2000)
        self.assert_complete(archive, demo, 1001, 5000)

    def test_upstream_grows(self):
        demo, archive = self.demo(maxitem=24000), self.archive()
        self.catchup(archive, demo, '--end-id', 1500)
        demo.grow(26000)
        demo.reset_stats()
        report = self.catchup(archive, demo, '--end-id', 3000).report
        self.assertEqual((report['start_id'], report['maxitem']), (1501, 26000))
        self.assertEqual(demo.stats()['distinct_ids'], 1500)
        self.assert_complete(archive, demo, 1, 3000)


class Bounds:
    """Which ids a run takes: the same arithmetic whatever the database."""

    def test_limit_within_a_window(self):
        demo, archive = self.demo(), self.archive()
        report = self.catchup(archive, demo, '--start-id', 501, '--end-id', 2000, '--limit',
                              300).report
        self.assertEqual((report['start_id'], report['end_id']), (501, 800))
        report = self.catchup(archive, demo, '--start-id', 801, '--end-id', 900, '--limit',
                              300).report
        self.assertEqual((report['start_id'], report['end_id']), (801, 900))
        self.assert_complete(archive, demo, 501, 900)

    def test_end_is_clamped_to_maxitem(self):
        demo, archive = self.demo(maxitem=700), self.archive()
        report = self.catchup(archive, demo, '--end-id', 5000).report
        self.assertEqual(report['end_id'], 700)
        self.assertEqual(demo.stats()['distinct_ids'], 700)

    def test_ignore_highest(self):
        demo, archive = self.demo(maxitem=700), self.archive()
        report = self.catchup(archive, demo, '--start-id', 601, '--end-id', 800,
                              '--ignore-highest', code=EXIT_UNRESOLVED).report
        self.assertEqual(report['end_id'], 800)
        self.assertEqual(demo.stats()['distinct_ids'], 200)
        look = self.assert_invariants(archive)
        waiting = {x['id'] for x in look.exceptions if x['state'] == 'retry_wait'}
        self.assertLessEqual(set(range(701, 801)), waiting)
        self.assertEqual(report['waiting'], len(waiting))


class Threads:
    """A story, poll or parent that comes after its children hands its thread down."""

    def test_parents_come_late(self):
        known = self.demo().truth(1, 1500)
        late = [i for i, item in known.items() if item and (item['kids'] or item['parts'])]
        polls = [i for i in late if known[i]['type'] == 'poll']
        self.assertTrue(polls)
        picked = sorted(set(late[::40] + polls))[:50]
        demo = self.demo(*(f'id={i}:status=500:times=3' for i in picked))
        archive = self.archive()
        self.catchup(archive, demo, '--end-id', 1500, '--batch-size', 50)
        self.assert_complete(archive, demo, 1, 1500)

    def test_from_the_top_down(self):
        demo, archive = self.demo(), self.archive()
        for lo in (1201, 801, 401, 1):
            self.catchup(archive, demo, '--start-id', lo, '--end-id', lo + 399)
        self.assert_complete(archive, demo, 1, 1600)


class Changes:
    """What an item said before is kept, what it says now is shown."""

    def changed_archive(self, *arguments):
        demo, archive = self.demo(), self.archive()
        self.catchup(archive, demo, '--end-id', 1500)
        known = demo.truth(1, 1500)
        # the newest comment of the window with words, so that its parent stays as it is
        texts = [i for i, item in known.items() if item and item['type'] == 'comment'
                 and item['text'] and not item['dead'] and not item['deleted']]
        stories = [i for i, item in known.items() if item and item['type'] == 'story'
                   and item['score'] and not item['dead']]
        changes = {texts[3]: 'edit', texts[10]: 'delete', texts[20]: 'dead', stories[2]: 'score'}
        for item, how in changes.items():
            demo.mutate(item, how)
        before = {i: known[i] for i in changes}
        report = self.catchup(archive, demo, '--start-id', 1, '--end-id', 1500,
                              '--force-replay-window', *arguments).report
        self.assertEqual((report['changed'], report['stored']), (4, 0))
        self.assert_complete(archive, demo, 1, 1500, asked=changes)
        return archive, before, changes

    def test_content_is_kept(self):
        archive, before, changes = self.changed_archive()
        rows = archive.rows('SELECT item_id FROM item_revisions ORDER BY item_id')
        words = sorted(i for i, how in changes.items() if how != 'score')
        self.assertEqual([r[0] for r in rows], words, 'a new score is no new content')
        for item in words:
            text, = archive.rows(f'SELECT text FROM item_revisions WHERE item_id = {item}')
            self.assertEqual(text[0], before[item]['text'])

    def test_all_revisions(self):
        archive, before, changes = self.changed_archive('--revisions', 'all')
        rows = archive.rows('SELECT item_id, score FROM item_revisions ORDER BY item_id')
        self.assertEqual(rows, sorted((i, before[i]['score']) for i in changes))

    def test_no_revisions(self):
        archive, _, _ = self.changed_archive('--revisions', 'none')
        self.assertEqual(archive.rows('SELECT COUNT(*) FROM item_revisions'), [(0,)])

    def test_kids_that_vanish(self):
        demo, archive = self.demo(maxitem=23000), self.archive()
        self.catchup(archive, demo, '--end-id', 2000)
        demo.grow(1800)  # nothing names the ids above any more
        self.catchup(archive, demo, '--start-id', 1, '--end-id', 1800, '--force-replay-window')
        expected = {i: item for i, item in demo.truth(1, 1800).items() if item}
        kids = archive.rows('SELECT item, kid FROM kids WHERE item <= 1800 '
                            'ORDER BY item, display_order')
        self.assertEqual(kids, [(i, kid) for i in sorted(expected) for kid in expected[i]['kids']])

    def test_a_null_never_erases(self):
        demo, archive = self.demo(), self.archive()
        self.catchup(archive, demo, '--end-id', 1000)
        demo.faults('range=100-200:null', 'range=300-310:status=404')
        report = self.catchup(archive, demo, '--start-id', 1, '--end-id', 1000,
                              '--force-replay-window', code=EXIT_UNRESOLVED).report
        self.assertEqual(report['waiting'], 11)
        self.assertEqual(report['frontier_id'], 1000)
        self.assert_invariants(archive)
        self.assert_truth(archive, demo.truth(1, 1000))

    def test_a_missing_item_comes_to_light(self):
        demo, archive = self.demo(), self.archive()
        self.catchup(archive, demo, '--end-id', 1500)
        missing = [i for i, item in demo.truth(1, 1500).items() if item is None]
        self.assertTrue(missing)
        for item in missing:
            demo.mutate(item, 'restore')
        asked = set(missing)
        for item in missing:  # those above it gained a kid or a descendant
            above = demo.item(item)
            while above.get('parent') or above.get('poll'):
                asked.add(above.get('parent') or above.get('poll'))
                above = demo.item(above.get('parent') or above.get('poll'))
        self.catchup(archive, demo, '--start-id', 1, '--end-id', 1500, '--force-replay-window')
        self.assert_complete(archive, demo, 1, 1500, asked=asked)


class Waiting:
    """Nulls and [delayed] near maxitem climb a ladder."""

    def test_young_nulls_wait(self):
        demo, archive = self.demo('id=400:null', 'range=901-905:null', maxitem=1000), self.archive()
        report = self.catchup(archive, demo, code=EXIT_UNRESOLVED).report
        known = demo.truth(1, 1000)
        waiting = {i for i, item in known.items() if item is None} | {400} | set(range(901, 906))
        self.assertEqual(report['waiting'], len(waiting))
        look = self.assert_invariants(archive)
        self.assertEqual({x['id'] for x in look.exceptions}, waiting)
        self.assertEqual({(x['state'], x['class'], x['attempts']) for x in look.exceptions},
                         {('retry_wait', 'null_young', 0)})
        self.assertGreaterEqual(min(x['rung'] for x in look.exceptions), 1)
        self.assertEqual(look.frontier, min(waiting) - 1)
        self.assertEqual(look.frontier_waiting, 1000)
        status = self.status(archive)
        self.assertEqual((status['frontier_id'], status['frontier_excluding_waiting'],
                          status['lag']), (min(waiting) - 1, 1000, 0))
        self.assertEqual(status['exceptions']['retry_wait'], len(waiting))
        # before its time, which is far off however slow this test is, nothing is asked again
        archive.execute('UPDATE ingest_exceptions SET next_retry_at = next_retry_at + 3600000')
        demo.reset_stats()
        self.catchup(archive, demo, code=EXIT_UNRESOLVED)
        self.assertEqual(demo.stats()['requests']['item'], 0)

    def test_first_rung(self):
        demo = self.demo('range=100-102:null:times=1', 'id=200:delayed:times=1', 'id=300:status=403'
                         ':times=1', 'id=301:status=404:times=1', 'id=302:status=401:times=1',
                         maxitem=400)
        archive = self.archive()
        self.assertTrue(all(demo.truth(1, 400).values()), 'this window should have no null')
        result = self.catchup(archive, demo, '--wait', '20s')
        self.assert_complete(archive, demo, 1, 400)
        self.assertEqual(demo.stats()['max_per_id'], 2)
        # the first rung: the second is longer than --wait
        self.assertGreater(result.report['duration_ms'], 4900)

    def test_resumed_rung(self):
        demo = self.demo('id=50:null', maxitem=400)
        archive = self.archive()
        self.catchup(archive, demo, code=EXIT_UNRESOLVED)
        first, = (x['rung'] for x in self.look(archive).exceptions)
        archive.execute('UPDATE ingest_exceptions SET next_retry_at = 1')
        self.catchup(archive, demo, code=EXIT_UNRESOLVED)
        second, = (x['rung'] for x in self.look(archive).exceptions)
        self.assertGreater(second, first)  # by one, unless the run is slower than a rung is long
        demo.faults()
        archive.execute('UPDATE ingest_exceptions SET next_retry_at = 1')
        self.catchup(archive, demo)
        self.assert_complete(archive, demo, 1, 400)


class Reports:
    def test_status_keys(self):
        demo, archive = self.demo('id=5:status=500'), self.archive()
        self.catchup(archive, demo, '--end-id', 100, code=EXIT_UNRESOLVED)
        status = self.status(archive)
        for key in ('frontier_id', 'frontier_excluding_waiting', 'maxitem', 'lag', 'items',
                    'segments', 'exceptions', 'dead_letters', 'stalled', 'coverage', 'floor_id'):
            self.assertIn(key, status)
        self.assertEqual(set(status['segments']),
                         {'pending', 'in_progress', 'done', 'retry_wait', 'dead_letter'})
        self.assertEqual(set(status['exceptions']),
                         {'pending', 'retry_wait', 'terminal_missing', 'dead_letter'})
        self.assertEqual((status['frontier_id'], status['items'], status['dead_letters'],
                          status['maxitem']), (4, 99, 1, 40000))
        self.assertEqual(status['coverage'], [[1, 4], [6, 100]])
        stalled, = status['stalled']
        for key in ('range', 'cursor', 'unresolved', 'holder', 'heartbeat_age_ms'):
            self.assertIn(key, stalled)
        self.assertEqual((stalled['range'], stalled['cursor'], stalled['unresolved'],
                          stalled['failure_class']), ([1, 100], 100, 1, 'http_5xx'))
        text = self.run_tain('status', '--db', archive.uri)
        self.assertEqual(text.code, 0, text)
        self.assertIn('dead letters', text.out)

    def test_migrate(self):
        archive = self.archive()
        for _ in range(2):
            result = self.run_tain('migrate', '--db', archive.uri, '--json')
            self.assertEqual(result.code, 0, result)
        self.assertEqual(self.status(archive)['items'], 0)
        demo = self.demo()
        self.catchup(archive, demo, '--end-id', 300, '--no-migrate')
        self.assert_complete(archive, demo, 1, 300)


class Displays:
    def test_metrics_while_running(self):
        demo, archive, port = self.demo('items:delay=20'), self.archive(), free_port()
        run = self.start_catchup(archive, demo, '--end-id', 2000, '--metrics-bind',
                                 f'127.0.0.1:{port}', '--rps', 200)

        def progress():
            try:
                with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics',
                                            timeout=ANSWER) as page:
                    text = page.read().decode()
            except OSError:
                return None
            values = dict(line.rsplit(' ', 1) for line in text.splitlines()
                          if line and not line.startswith('#'))
            stored = float(values.get('tain_catchup_items_total{outcome="inserted"}', 0))
            return values if stored > 0 else None

        values = wait_until(progress, what='a page with stored items')
        self.assertEqual(float(values['tain_upstream_maxitem']), 40000)
        for name in ('tain_catchup_frontier_id', 'tain_catchup_progress_percent',
                     'tain_http_inflight', 'tain_http_requests_total{target="item",code="200"}',
                     'tain_http_request_duration_seconds_count', 'tain_upstream_ill'):
            self.assertTrue(any(key.startswith(name) for key in values), name)
        self.assertFalse([key for key in values if '_total_total' in key])
        self.assertEqual(run.wait().code, 0)
        self.assert_complete(archive, demo, 1, 2000)

    def test_text_summary_and_progress_lines(self):
        demo, archive = self.demo(), self.archive()
        result = self.run_tain('catchup', '--db', archive.uri, '--upstream', demo.url, '--end-id',
                               500, '--progress', 'line')
        self.assertEqual(result.code, 0, result)
        self.assertIn('finished', result.err)
        self.assertIn('frontier', result.err)
        self.assertEqual(result.out, '')


class Everything(Windows, Threads, Changes, Waiting, Reports):
    pass


class SqliteCatchup(Everything, Bounds, Displays, OnSqlite, E2E):
    pass


class PostgresCatchup(Everything, OnPostgres, E2E):
    pass


if __name__ == '__main__':
    unittest.main()
