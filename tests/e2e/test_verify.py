"""`tain verify`: an archive that was damaged by hand in each way there is, is told so by name; a
repair and a catch-up make it whole again, equal to the truth."""

import json
import signal
import time
import unittest

from lib import (E2E, EXIT_DONE, EXIT_FAILED, EXIT_UNRESOLVED, EXIT_USAGE, OnPostgres, OnSqlite,
                 free_port, wait_until)

LAST = 1800  # two pages, and ids that the upstream does not have
QUIET = ('--progress', 'none')


class Proof(E2E):
    def verify(self, archive, *arguments, code=EXIT_DONE):
        result = self.run_tain('verify', '--db', archive.uri, '--json', *QUIET, *arguments)
        self.assertEqual(result.code, code, result)
        return result.report

    def filled(self, *faults):
        demo, archive = self.demo(*faults), self.archive()
        self.catchup(archive, demo, '--end-id', LAST)
        return demo, archive

    def one(self, archive, sql):
        return archive.rows(sql)[0][0]

    def found(self, report):
        return {kind: sorted({f['id'] for f in entry['list']})
                for kind, entry in report['findings'].items()}


# What is done to the archive, and what verify calls it. Ids in braces are drawn by `ids` below.
LEAF = 'SELECT MIN(id) FROM items WHERE id > 300 AND type = \'comment\' AND NOT deleted AND ' \
       'NOT dead AND id NOT IN (SELECT item FROM kids) AND story_id <> 1'
TREE = 'SELECT MIN(item) FROM kids WHERE item > 100'
LINK = 'SELECT MIN(id) FROM items WHERE url_key IS NOT NULL'
LOST = 'SELECT MIN(item_id) FROM ingest_exceptions'

DAMAGES = [
    ('an item is gone', 'DELETE FROM items WHERE id = {leaf}', {'missing': '{leaf}'}),
    ('an item with kids is gone', 'DELETE FROM items WHERE id = {tree}',
     {'missing': '{tree}', 'stray_kids': '{tree}', 'story_id': None}),
    ('a missing id is forgotten', 'DELETE FROM ingest_exceptions WHERE item_id = {lost}',
     {'missing': '{lost}'}),
    ('a kid is gone', 'DELETE FROM kids WHERE item = {tree} AND display_order = 0',
     {'kids': '{tree}'}),
    ('a kid too many', 'INSERT INTO kids (item, kid, display_order) VALUES ({leaf}, 77, 0)',
     {'kids': '{leaf}'}),
    ('the text was changed', "UPDATE items SET text = 'tampered' WHERE id = {leaf}",
     {'content_hash': '{leaf}'}),
    ('the content hash was changed', 'UPDATE items SET content_hash = 5 WHERE id = {leaf}',
     {'content_hash': '{leaf}'}),
    ('the hash of the kids was changed', 'UPDATE items SET kids_hash = 5 WHERE id = {tree}',
     {'kids': '{tree}'}),
    ('the url key was changed', "UPDATE items SET url_key = 'x' WHERE id = {link}",
     {'url_key': '{link}'}),
    ('the domain was taken away', 'UPDATE items SET domain = NULL WHERE id = {link}',
     {'url_key': '{link}'}),
    ('another story', 'UPDATE items SET story_id = 1 WHERE id = {leaf}', {'story_id': '{leaf}'}),
    ('no story', 'UPDATE items SET story_id = NULL WHERE id = {leaf}', {'story_id': '{leaf}'}),
    ('a root without itself', 'UPDATE items SET story_id = NULL WHERE id = {link}',
     {'story_id': None}),
    ('stored and missing',
     "INSERT INTO ingest_exceptions (item_id, segment_id, state, updated_at) SELECT {leaf}, "
     "segment_id, 'terminal_missing', 0 FROM ingest_segments", {'exception': '{leaf}'}),
    ('stored and given up',
     "INSERT INTO ingest_exceptions (item_id, segment_id, state, updated_at) SELECT {leaf}, "
     "segment_id, 'dead_letter', 0 FROM ingest_segments",
     {'exception': '{leaf}', 'unresolved_count': None, 'state': None}),
    ('an exception of no segment',
     'UPDATE ingest_exceptions SET segment_id = 999999 WHERE item_id = {lost}',
     {'stray_exception': '{lost}'}),
    ('a dead letter of nobody',
     "INSERT INTO ingest_dlq_items (source, item_id, state, attempts, first_at, last_at) "
     "VALUES ('catchup', {leaf}, 'dead_letter', 8, 0, 0)", {'dead_letter': '{leaf}'}),
    ('the cursor was moved', 'UPDATE ingest_segments SET scan_cursor_id = 500', {'cursor': 1}),
    ('a wrong count', 'UPDATE ingest_segments SET unresolved_count = 3',
     {'unresolved_count': 1}),
    ('a lease of nobody', "UPDATE ingest_segments SET status = 'in_progress', lease_until = 1, "
     "holder = 'elsewhere:1:1:boot:ns'", {'stale_lease': 1}),
    ('an item without its hash', 'UPDATE items SET content_hash = 0 WHERE id = {leaf}',
     {'unconfirmed': '{leaf}'}),
    ('text and hash were changed',
     "UPDATE items SET text = 'tampered', content_hash = 0 WHERE id = {leaf}",
     {'unconfirmed': '{leaf}'}),
    ('a story with other kids',
     'UPDATE kids SET kid = 999999 WHERE item = {tree} AND display_order = 0', {'kids': '{tree}'}),
    ('an id that cannot be', 'UPDATE items SET id = -7 WHERE id = {leaf}',
     {'missing': '{leaf}', 'id': -7}),
    ('the floor was raised', 'UPDATE updater_state SET floor_id = 30000', {'state': 30000}),
    ('the frontier was moved', 'UPDATE updater_state SET frontier_id = 99999', {'state': 99999}),
    ('the state is gone', 'DELETE FROM updater_state', {'state': 1}),
    ('waiting for no instant',
     "UPDATE ingest_exceptions SET state = 'retry_wait', next_retry_at = NULL "
     "WHERE item_id = {lost}", {'state': None, 'unresolved_count': None}),
]


class Damages(Proof):
    """Each damage alone: found and named, mended, and the archive is the truth again."""
    extra = []

    def test_each_is_named_and_mended(self):
        demo, archive = self.filled()
        report = self.verify(archive)
        self.assertEqual((report['ok'], report['ids'], report['frontier_id']), (True, LAST, LAST))
        ids = {'leaf': self.one(archive, LEAF), 'tree': self.one(archive, TREE),
               'link': self.one(archive, LINK), 'lost': self.one(archive, LOST)}
        for name, sql, expected in DAMAGES + self.extra:
            with self.subTest(name):
                archive.execute(sql.format(**ids))
                found = self.found(self.verify(archive, code=EXIT_UNRESOLVED))
                self.assertEqual(set(found), set(expected), found)
                for kind, item in expected.items():
                    if item is not None:
                        item = int(item.format(**ids)) if isinstance(item, str) else item
                        self.assertEqual(found[kind], [item], found)
                self.mend(demo, archive)

    def mend(self, demo, archive):
        self.verify(archive, '--repair', code=EXIT_UNRESOLVED)
        self.catchup(archive, demo, '--end-id', LAST)
        self.assertEqual(self.verify(archive)['open_repairs'], 0)
        self.assert_complete(archive, demo, 1, LAST)


class DamagesOnSqlite(OnSqlite, Damages):
    extra = [
        ('a segment within another',
         "INSERT INTO ingest_segments (start_id, end_id, purpose, status, scan_cursor_id) "
         "VALUES (1000, 1800, 'mirror', 'done', 1800)", {'overlap': 1000}),
        ('a segment over the end of another',
         "INSERT INTO ingest_segments (start_id, end_id, purpose, status, scan_cursor_id) "
         "VALUES (1100, 1800, 'mirror', 'pending', 1099)", {'overlap': 1100}),
        ('parts that are no list', "UPDATE items SET parts = 'none' WHERE id = {leaf}",
         {'content_hash': '{leaf}'}),
    ]


class DamagesOnPostgres(OnPostgres, Damages):
    pass


class Everything(Proof):
    """All at once, over several pages and segments."""

    def test_all_at_once(self):
        demo, archive = self.filled()
        archive.execute('DELETE FROM items WHERE id % 7 = 3')
        archive.execute('DELETE FROM kids WHERE item % 11 = 5')
        archive.execute("UPDATE items SET text = 'gone' WHERE id % 13 = 1")
        archive.execute('UPDATE items SET story_id = 5 WHERE id % 17 = 4')
        report = self.verify(archive, code=EXIT_UNRESOLVED)
        missing = report['findings']['missing']
        gone = [i for i, item in demo.truth(1, LAST).items() if item and i % 7 == 3]
        self.assertEqual(missing['count'], len(gone))
        self.assertEqual([f['id'] for f in missing['list']], gone[:100])
        self.assertGreater(report['findings']['content_hash']['count'], 0)
        repaired = self.verify(archive, '--repair', code=EXIT_UNRESOLVED)['repair']
        self.assertEqual(repaired['gap_ids'], len(gone))
        self.assertLessEqual(repaired['gap_segments'], 2)
        again = self.verify(archive, '--repair', code=EXIT_UNRESOLVED)['repair']
        self.assertEqual(again['gap_segments'], 0, 'they stand already')
        self.catchup(archive, demo, '--end-id', LAST)
        self.verify(archive)
        self.assert_complete(archive, demo, 1, LAST)

    def test_beside_a_running_catchup(self):
        # the last ids are so late that it is at work for as long as five looks take
        demo, archive = self.demo('range=1201-1800:delay=4000', 'items:delay=200'), self.archive()
        run = self.start_catchup(archive, demo, '--end-id', LAST, '--segment-width', 100,
                                 '--batch-size', 50, '--concurrency', 24)
        wait_until(lambda: self.look(archive), what='the archive')
        looks = 0
        while run.running():
            self.assertEqual(self.verify(archive)['findings'], {})
            looks += 1
            if looks == 5:
                demo.faults()  # the rest of it at full speed
        self.assertGreaterEqual(looks, 5)
        self.assertEqual(run.wait().code, EXIT_DONE)
        self.assertEqual(self.verify(archive)['frontier_id'], LAST)

    def test_bounds(self):
        _, archive = self.filled()
        archive.execute('DELETE FROM items WHERE id IN (101, 901)')
        archive.execute('DELETE FROM kids WHERE item IN (101, 901)')
        report = self.verify(archive, '--start-id', 200, '--end-id', 800)
        self.assertEqual((report['ids'], report['start_id'], report['end_id']), (601, 200, 800))
        report = self.verify(archive, '--start-id', 801, code=EXIT_UNRESOLVED)
        self.assertEqual(self.found(report)['missing'], [901])
        report = self.verify(archive, '--end-id', 101, '--repair', code=EXIT_UNRESOLVED)
        self.assertEqual(report['repair']['gap_ids'], 1)

    def test_stories_below_a_wrong_one(self):
        demo, archive = self.filled()
        root = self.one(archive, "SELECT MIN(id) FROM items WHERE type = 'story' AND id IN "
                                 "(SELECT parent FROM items)")
        archive.execute(f'UPDATE items SET story_id = 999 WHERE story_id = {root}')
        found = self.found(self.verify(archive, code=EXIT_UNRESOLVED))
        self.assertEqual(found, {'story_id': [root]})
        self.verify(archive, '--repair', code=EXIT_UNRESOLVED)
        self.verify(archive)
        self.assert_complete(archive, demo, 1, LAST)


class EverythingOnSqlite(OnSqlite, Everything):
    pass


class EverythingOnPostgres(OnPostgres, Everything):
    pass


class Repairs(OnSqlite, Proof):
    """Repairs are claimed by any run, wherever its window is."""

    def break_one(self, archive, item):
        archive.execute(f'DELETE FROM items WHERE id = {item}')
        archive.execute(f'DELETE FROM kids WHERE item = {item}')
        self.verify(archive, '--repair', code=EXIT_UNRESOLVED)

    def test_below_the_window(self):
        demo, archive = self.filled()
        self.break_one(archive, 50)
        demo.reset_stats()
        report = self.catchup(archive, demo, '--limit', 100).report
        self.assertEqual(report['start_id'], LAST + 1)
        self.assertEqual(demo.stats()['distinct_ids'], 101)
        self.verify(archive)
        self.assert_complete(archive, demo, 1, LAST + 100)

    def test_when_everything_else_is_done(self):
        last = 900
        demo, archive = self.demo(maxitem=last), self.archive()
        self.catchup(archive, demo)
        self.assertEqual(self.catchup(archive, demo).report['total_ids'], 0)
        self.break_one(archive, 7)
        report = self.catchup(archive, demo).report
        self.assertEqual((report['stored'], report['frontier_id']), (1, last))
        self.verify(archive)
        self.assert_complete(archive, demo, 1, last)

    def test_a_repair_that_fails_is_a_dead_letter(self):
        demo, archive = self.filled()
        self.break_one(archive, 50)
        demo.faults('id=50:status=500')
        self.catchup(archive, demo, '--end-id', LAST, '--retry-attempts', 2, code=EXIT_UNRESOLVED)
        found = self.found(self.verify(archive, code=EXIT_UNRESOLVED))
        self.assertEqual(found, {'missing': [50]})
        demo.faults()
        replayed = self.run_tain('dead-letter', 'replay', 50, '--db', archive.uri)
        self.assertEqual(replayed.code, EXIT_DONE, replayed)
        self.catchup(archive, demo, '--end-id', LAST)
        self.verify(archive)
        self.assert_complete(archive, demo, 1, LAST)

    def test_an_unfinished_archive_is_no_broken_one(self):
        demo = self.demo('id=600:status=500')
        archive = self.archive()
        self.catchup(archive, demo, '--end-id', LAST, '--retry-attempts', 2, code=EXIT_UNRESOLVED)
        report = self.verify(archive)
        self.assertEqual((report['frontier_id'], report['unresolved']), (599, 1))


class Doubt(Proof):
    """An item whose row does not fit its hash is in doubt until a fetch has brought it again,
    whatever becomes of the repair."""

    EVIL = "UPDATE items SET text = 'evil' WHERE id % 100 = 0"

    def evil(self, archive):
        return [i for i, in archive.rows("SELECT id FROM items WHERE text = 'evil' ORDER BY id")]

    def doubted(self, report):
        found = self.found(report)
        return sorted(found.get('content_hash', []) + found.get('unconfirmed', []))

    def test_killed_in_the_middle_of_a_repair(self):
        demo, archive = self.filled()
        for place in ('db_before_commit', 'db_after_commit'):
            passed, killed = 1, -signal.SIGKILL
            while killed == -signal.SIGKILL:
                archive.execute(self.EVIL)
                with self.subTest(place=place, passed=passed):
                    killed = self.run_tain('verify', '--db', archive.uri, '--repair', *QUIET,
                                           env={'TAIN_FAULT': f'{place}:{passed}:kill'}).code
                    evil = self.evil(archive)
                    self.assertGreater(len(evil), 10)
                    self.assertEqual(self.doubted(self.verify(archive, code=EXIT_UNRESOLVED)), evil)
                    self.catchup(archive, demo, '--end-id', LAST)
                    left = self.evil(archive)
                    report = self.verify(archive, '--repair',
                                         code=EXIT_UNRESOLVED if left else EXIT_DONE)
                    self.assertEqual(self.doubted(report), left)
                    self.catchup(archive, demo, '--end-id', LAST)
                    self.assertEqual(self.verify(archive)['open_repairs'], 0)
                    self.assert_complete(archive, demo, 1, LAST)
                passed += 1
            self.assertEqual(killed, EXIT_UNRESOLVED)
            self.assertGreater(passed, 4)

    def test_a_repair_confirms_nothing(self):
        demo, archive = self.filled()
        archive.execute(self.EVIL)
        evil = self.evil(archive)
        self.verify(archive, '--repair', code=EXIT_UNRESOLVED)
        self.assertEqual(self.found(self.verify(archive, code=EXIT_UNRESOLVED)),
                         {'unconfirmed': evil})
        text = self.run_tain('verify', '--db', archive.uri, *QUIET)
        self.assertRegex(text.out, r"repair segments? waits? for 'tain catchup'")
        archive.execute("DELETE FROM ingest_segments WHERE purpose = 'rescan'")
        again = self.verify(archive, '--repair', code=EXIT_UNRESOLVED)
        self.assertEqual(again['repair']['rescan_ids'], len(evil))
        self.catchup(archive, demo, '--end-id', LAST)
        self.verify(archive)
        self.assert_complete(archive, demo, 1, LAST)

    def test_a_rescan_that_fails_and_is_accepted(self):
        demo, archive = self.filled()
        item = self.one(archive, LEAF)
        archive.execute(f"UPDATE items SET text = 'evil' WHERE id = {item}")
        self.verify(archive, '--repair', code=EXIT_UNRESOLVED)
        demo.faults(f'id={item}:status=500')
        self.catchup(archive, demo, '--end-id', LAST, '--retry-attempts', 2, code=EXIT_UNRESOLVED)
        report = self.verify(archive, code=EXIT_UNRESOLVED)
        self.assertEqual(self.found(report), {'unconfirmed': [item]})
        self.assertEqual(report['dead_repairs'], 1)
        text = self.run_tain('dead-letter', 'accept', '--all', '--db', archive.uri)
        self.assertEqual(text.code, EXIT_DONE, text)
        self.assertIn('1 dead letter accepted: kept as stored', text.out)
        self.assertNotIn('as missing', text.out)
        report = self.verify(archive, code=EXIT_UNRESOLVED)
        self.assertEqual(self.found(report), {'unconfirmed': [item]})
        self.assertEqual(report['open_repairs'], 0)
        demo.faults()
        self.verify(archive, '--repair', code=EXIT_UNRESOLVED)
        self.catchup(archive, demo, '--end-id', LAST)
        self.verify(archive)
        self.assert_complete(archive, demo, 1, LAST)

    def test_an_invented_item(self):
        demo, archive = self.filled()
        archive.execute("INSERT INTO items (id, type, story_id, content_hash, kids_hash, "
                        "first_seen_at, last_fetched_at, last_changed_at) "
                        "VALUES (999999999, 'story', 999999999, 5, 0, 1, 1, 1)")
        self.verify(archive, '--repair', code=EXIT_UNRESOLVED)
        self.catchup(archive, demo, '--end-id', LAST)
        self.assertEqual(self.found(self.verify(archive, code=EXIT_UNRESOLVED)),
                         {'unconfirmed': [999999999]})
        archive.execute('DELETE FROM items WHERE id = 999999999')
        self.verify(archive)


class DoubtOnSqlite(OnSqlite, Doubt):
    pass


class DoubtOnPostgres(OnPostgres, Doubt):
    pass


class Sample(OnSqlite, Proof):
    def sampled(self, archive, demo, *arguments, code=EXIT_DONE):
        return self.verify(archive, '--upstream', demo.url, '--sample', 300, *arguments, code=code)

    def test_equal_and_newer(self):
        demo, archive = self.filled()
        sample = self.sampled(archive, demo, '--seed', 7)['sample']
        self.assertEqual(sample['seed'], 7)
        self.assertGreater(sample['asked'], 200)
        self.assertEqual(sample['equal'], sample['asked'])
        for item in range(1, LAST, 5):
            if demo.item(item):
                demo.mutate(item, 'score')
        again = self.sampled(archive, demo, '--seed', 7)['sample']
        self.assertEqual(again['asked'], sample['asked'], 'the same seed draws the same ids')
        self.assertGreater(again['newer'], 2)
        self.assertGreater(again['differs'], 10)  # comments have no score: they were edited
        self.assertEqual({d['fields'] for d in again['differences']}, {'text'})
        self.assertEqual(again['newer'] + again['differs'] + again['equal'], again['asked'])

    def test_a_fresh_seed_is_printed(self):
        demo, archive = self.filled()
        text = self.run_tain('verify', '--db', archive.uri, '--upstream', demo.url, '--sample', 5,
                             *QUIET)
        self.assertEqual(text.code, EXIT_DONE, text)
        self.assertRegex(text.out, r'sample \(--seed \d+\): \d+ asked')

    def test_believed_missing_but_there(self):
        demo, archive = self.filled()
        archive.execute('DELETE FROM items WHERE id = 500')
        archive.execute('DELETE FROM kids WHERE item = 500')
        archive.execute("INSERT INTO ingest_exceptions (item_id, segment_id, state, failure_class, "
                        "updated_at) SELECT 500, segment_id, 'terminal_missing', 'null_old', 0 "
                        "FROM ingest_segments")
        report = self.sampled(archive, demo, '--sample', 3000, '--repair', code=EXIT_UNRESOLVED)
        self.assertEqual(self.found(report), {'upstream': [500]})
        self.catchup(archive, demo, '--end-id', LAST)
        self.assert_complete(archive, demo, 1, LAST)

    def forge(self, archive, item):
        """Stored by the front door: the row and its hash agree."""
        path = self.folder / 'forged.ndjson'
        path.write_text(json.dumps(item) + '\n')
        stamp = int(time.time()) + 1
        result = self.run_tain('import', path, '--db', archive.uri, '--as-of', stamp, *QUIET)
        self.assertEqual(result.code, EXIT_DONE, result)
        wait_until(lambda: time.time() > stamp, what='the instant of the forgery')

    def test_a_text_that_differs(self):
        demo, archive = self.filled()
        item = self.one(archive, LEAF)
        self.forge(archive, {**demo.item(item), 'text': 'evil', 'by': 'nobody'})
        bounds = ('--start-id', item, '--end-id', item)
        sample = self.sampled(archive, demo, *bounds)['sample']
        self.assertEqual((sample['equal'], sample['newer'], sample['differs']), (0, 0, 1))
        self.assertEqual(sample['differences'],
                         [{'id': item, 'fields': 'by, text', 'contradicts': False}])
        text = self.run_tain('verify', '--db', archive.uri, '--upstream', demo.url, '--sample', 9,
                             *bounds, *QUIET)
        self.assertRegex(text.out, rf'1 differ\n  differs upstream:\n    {item}  by, text\n')
        self.sampled(archive, demo, *bounds, '--repair')  # fetches what differs
        self.catchup(archive, demo, '--end-id', LAST)
        self.assert_complete(archive, demo, 1, LAST)

    def test_contradictions(self):
        demo, archive = self.filled()
        item = self.one(archive, LEAF)
        for field, value in (('type', 'job'), ('time', 5)):
            self.forge(archive, {**demo.item(item), field: value})
            report = self.sampled(archive, demo, '--start-id', item, '--end-id', item,
                                  code=EXIT_UNRESOLVED)
            self.assertIn(item, self.found(report)['upstream'])
            self.assertEqual(report['sample']['contradicts'], 1)
            self.assertEqual(report['sample']['differences'][0]['fields'], field)

    def test_gone(self):
        demo, archive = self.filled()
        item = self.one(archive, LEAF)
        demo.faults(f'id={item}:null')
        report = self.sampled(archive, demo, '--start-id', item, '--end-id', item,
                              code=EXIT_UNRESOLVED)
        self.assertEqual((self.found(report), report['sample']['gone']), ({'upstream': [item]}, 1))

    def test_no_upstream(self):
        demo, archive = self.filled()
        demo.stop()
        report = self.sampled(archive, demo, code=EXIT_UNRESOLVED)
        sample = report['sample']
        self.assertEqual((report['ok'], sample['equal'], report['total_findings']), (False, 0, 0))
        self.assertEqual(sample['unanswered'], sample['asked'])
        self.assertRegex(sample['trouble'], '^connect: ')
        text = self.run_tain('verify', '--db', archive.uri, '--upstream', demo.url, '--sample', 50,
                             *QUIET)
        self.assertRegex(text.out, r'did not answer for (\d+) of \1 \(connect: ')
        self.assertNotIn('the archive holds', text.out)

    def test_one_failure_is_tried_again(self):
        demo, archive = self.filled()
        demo.faults('items:status=500:times=1')
        sample = self.sampled(archive, demo)['sample']
        self.assertEqual((sample['unanswered'], sample['equal']), (0, sample['asked']))

    def test_sigint(self):
        demo, archive = self.filled()
        demo.faults('items:delay=3000')
        demo.reset_stats()
        run = self.start('verify', '--db', archive.uri, '--upstream', demo.url, '--sample', 1000,
                         '--json', *QUIET)
        wait_until(lambda: demo.stats()['in_flight'] > 3, what='sampling')
        run.signal(signal.SIGINT)
        result = run.wait()
        self.assertEqual(result.code, 130, result)
        self.assertTrue(result.report['stopped'])


class Usage(OnSqlite, Proof):
    def test_no_archive(self):
        result = self.run_tain('verify', '--db', f'sqlite:{self.folder}/none.db')
        self.assertEqual(result.code, EXIT_FAILED, result)
        self.assertIn('there is no archive', result.err)

    def test_wrong_bounds(self):
        result = self.run_tain('verify', '--start-id', 5, '--end-id', 4)
        self.assertEqual(result.code, EXIT_USAGE, result)

    def test_nothing_within_the_bounds(self):
        _, archive = self.filled()
        result = self.run_tain('verify', '--db', archive.uri, '--start-id', 30000, *QUIET)
        self.assertEqual((result.code, result.out), (EXIT_USAGE, ''), result)
        self.assertIn(f'the archive ends at {LAST}', result.err)

    def test_text_report(self):
        _, archive = self.filled()
        archive.execute('DELETE FROM items WHERE id % 5 = 0')
        result = self.run_tain('verify', '--db', archive.uri, *QUIET)
        self.assertEqual(result.code, EXIT_UNRESOLVED, result)
        self.assertRegex(result.out, r'\nmissing: \d+ \(ids that count as settled')
        self.assertRegex(result.out, r'\n  5  no item, and no exception that says why\n')
        self.assertRegex(result.out, r'\n  and \d+ more\n')
        self.assertIn("'tain verify --repair'", result.out)

    def test_progress_lines(self):
        _, archive = self.filled()
        result = self.run_tain('verify', '--db', archive.uri, '--progress', 'bar')
        self.assertEqual(result.code, EXIT_DONE, result)
        self.assertIn('verifying', result.err)

    def test_an_empty_archive(self):
        archive = self.archive()
        self.assertEqual(self.run_tain('migrate', '--db', archive.uri).code, EXIT_DONE)
        self.assertEqual(self.verify(archive)['ids'], 0)

    def test_the_upstream_is_not_asked_without_a_sample(self):
        _, archive = self.filled()
        self.verify(archive, '--upstream', f'http://127.0.0.1:{free_port()}/v0')


del Proof, Damages, Everything, Doubt  # not tests themselves

if __name__ == '__main__':
    unittest.main()
