"""`tain up`: mirror and server in one process. What a reader sees early, what a kill in the midst
of history costs, how it ends, how it stands by, and how it shares an archive with catchup and
updater."""

import socket
import time
import unittest

from lib import (EXIT_DONE, EXIT_FAILED, EXIT_UNRESOLVED, EXIT_USAGE, OnPostgres, OnSqlite,
                 wait_until)
from serve import Page, Stream
from updater import QUICK, UpdaterTest, id_at, metric

HOURS = 4  # what is recent
MARGIN = 40  # ids by which the id clock may be wrong
FEW = ('--concurrency', 16)  # requests at once


class UpTest(UpdaterTest):
    def start_up(self, archive, upstream, *arguments, env=None):
        return self.start('up', '--db', archive.uri, '--upstream', upstream.url, '--start-id',
                          upstream.first, '--listen', '127.0.0.1:0', *QUICK, *arguments, env=env)

    def new_story(self, upstream, least=0):
        """The newest story with a title, not below an id."""
        for story in upstream.ask('GET', '/v0/newstories.json'):
            item = upstream.item(story)
            if story >= least and item and item.get('title') and not item.get('dead') \
                    and not item.get('deleted'):
                return item
        raise AssertionError('there is no such story')

    @staticmethod
    def slow_below(upstream, item):
        """Until told otherwise the oldest ids come slowly: who looks late still finds them
        missing."""
        upstream.faults(f'range={upstream.first}-{item}:delay=300')

    def progress(self, run):
        return metric(run, 'catchup_progress_percent')

    def complete(self, archive, upstream):
        """Nothing lacks between the first id and the last but what is being rechecked."""
        def there():
            look = self.look(archive)
            return look.frontier_waiting == upstream.maxitem
        wait_until(there, what='the frontier', every=0.2)


class Up:
    def test_the_newest_hours_first(self):
        """Useful while history is still missing, and complete in the end."""
        upstream, archive = self.upstream(ids=9000, recent=True), self.archive()
        newest = self.new_story(upstream)
        self.slow_below(upstream, upstream.first + 4500)
        run = self.start_up(archive, upstream, '--rps', 400, '--recent-days', HOURS / 24, *FEW)
        page = Page(self, run)
        wait_until(lambda: newest['id'] in page.stories(), what='the newest story on the page')
        self.assertEqual(page.ask(f"/v0/item/{newest['id']}.json")['title'], newest['title'])
        self.assertLess(self.progress(run), 60)
        self.say(run, 'the newest days are here; history follows')
        look = self.assert_invariants(archive)
        self.assertEqual(look.floor, upstream.first)
        self.assertEqual(look.frontier, upstream.first - 1)
        low = [s for s in look.mirror if s['start_id'] < upstream.first + 2000]
        self.assertEqual([s for s in low if s['cursor'] >= s['start_id']], [])
        recent = id_at(time.time() - HOURS * 3600) + MARGIN
        seen = {i for s in look.mirror for i in range(s['start_id'], s['cursor'] + 1)}
        self.assertEqual([i for i in range(recent, upstream.maxitem + 1) if i not in seen], [])
        wait_until(lambda: newest['id'] in page.finds(newest['title']), what='the search')
        upstream.faults()
        self.settle('history', run, archive, upstream)
        self.complete(archive, upstream)
        self.assertEqual(self.progress(run), 100)
        wait_until(lambda: self.status(archive)['index']['lag_ids'] == 0, what='the index',
                   every=0.5)
        self.stop_updater(run)
        self.assert_verified(archive)

    def assert_verified(self, archive):
        result = self.run_tain('verify', '--db', archive.uri, '--progress', 'none')
        self.assertEqual(result.code, EXIT_DONE, result)

    def test_killed_in_the_midst_of_history(self):
        upstream, archive = self.upstream(ids=6000, recent=True), self.archive()
        self.slow_below(upstream, upstream.first + 1500)
        kept = set()
        for share in (3, 20, 40, 55):
            run = self.start_up(archive, upstream, '--rps', 600, *FEW)
            wait_until(lambda: self.progress(run) >= share, what=f'{share} percent')
            run.kill()
            look = self.assert_invariants(archive)
            kept = self.assert_kept(kept, look.ids)
            self.assertEqual(look.frontier, upstream.first - 1)
            upstream.grow_by(30, quiet=True)
        upstream.faults()
        run = self.start_up(archive, upstream)
        self.settle('after four kills', run, archive, upstream)
        self.complete(archive, upstream)
        held = "SELECT COUNT(*) FROM ingest_segments WHERE status = 'in_progress'"
        wait_until(lambda: archive.rows(held) == [(0,)], what='what the dead held', every=0.2)
        self.stop_updater(run)
        self.assert_verified(archive)

    def test_a_new_item_reaches_every_reader(self):
        upstream, archive = self.upstream(ids=600, recent=True), self.archive()
        run = self.start_up(archive, upstream)
        page = Page(self, run)
        self.converge(run, archive, upstream)
        self.wait_metric(run, 'realtime_listener_connected', 1)
        before = upstream.maxitem
        stream = Stream(page.port, '/v0/updates.json')
        self.addCleanup(stream.close)
        stream.wait(lambda events: events, what='the first frame')
        upstream.grow_by(60)
        story = self.new_story(upstream, before + 1)
        wait_until(lambda: story['id'] in page.stories(), what='the page')
        wait_until(lambda: story['id'] in page.finds(story['title']), what='the search')
        stream.wait(lambda events: any(str(story['id']) in str(data) for _, data in events),
                    what='the event')
        metrics = page.get('/metrics').text
        for name in ('tain_index_items_total', 'tain_realtime_items_updated_total',
                     'tain_web_'):
            self.assertIn(name, metrics)
        wait_until(lambda: page.get('/readyz').status == 200, what='its being ready')
        self.stop_updater(run)

    def test_beside_another_updater_it_serves(self):
        upstream, archive = self.upstream(ids=600), self.archive()
        first = self.follow(archive, upstream)
        second = self.start_up(archive, upstream)
        page = Page(self, second)
        self.say(second, 'another updater is active; standing by')
        self.assertEqual(page.get('/').status, 200)
        self.assertEqual(page.ask('/v0/maxitem.json'), upstream.maxitem)
        wait_until(lambda: page.get('/readyz').text == 'standby\n', what='standing by')
        first.kill()
        self.say(second, 'this updater is active')
        upstream.change(1, 50)
        self.converge(second, archive, upstream)
        self.stop_updater(second)

    def some(self, archive, upstream, *arguments):
        """A catch-up, after which a young null may be waiting."""
        result = self.start_catchup(archive, upstream, *arguments).wait()
        self.assertIn(result.code, (EXIT_DONE, EXIT_UNRESOLVED), result)

    def test_one_archive_for_all_commands(self):
        """From below, from above, from below again; nothing overlaps and nothing is lost."""
        upstream, archive = self.upstream(ids=5000, recent=True), self.archive()
        self.some(archive, upstream, '--start-id', upstream.first, '--limit', 700,
                  '--segment-width', 100)
        kept = self.assert_invariants(archive).ids
        starts = (self.start_up, self.start_updater, self.start_up)
        for start, share in zip(starts, (35, 55, 75)):
            run = start(archive, upstream, '--rps', 1500)
            wait_until(lambda: self.progress(run) >= share, what=f'{share} percent')
            self.stop_updater(run)
            kept = self.assert_kept(kept, self.assert_invariants(archive).ids)
        self.some(archive, upstream, '--limit', 300)
        run = self.start_up(archive, upstream)
        self.settle('many hands', run, archive, upstream)
        self.complete(archive, upstream)
        self.stop_updater(run)
        self.assert_verified(archive)


class Ends:
    """How it ends, and with which code."""

    def test_signals(self):
        for number in (15, 2):
            upstream, archive = self.upstream(ids=3000), self.archive()
            run = self.start_up(archive, upstream, '--rps', 1000)
            page = Page(self, run)
            self.wait_metric(run, 'catchup_items_total{outcome="inserted"}', 200)
            run.signal(number)
            result = run.wait()
            self.assertEqual(result.code, EXIT_DONE, result)
            self.assertIn('stopped; everything is written', result.err)
            with self.assertRaises(OSError):
                page.get('/')
            self.assert_invariants(archive)

    def test_an_address_that_is_taken(self):
        upstream, archive = self.upstream(ids=100), self.archive()
        with socket.create_server(('127.0.0.1', 0)) as taken:
            port = taken.getsockname()[1]
            result = self.start_up(archive, upstream, '--listen', f'127.0.0.1:{port}').wait()
        self.assertEqual(result.code, EXIT_FAILED, result)
        self.assertIn(str(port), result.err)
        result = self.start_up(archive, upstream, '--listen', 'nowhere').wait()
        self.assertEqual(result.code, EXIT_USAGE, result)

    def test_a_mirror_that_cannot_go_on(self):
        upstream, archive = self.upstream(ids=600), self.archive()
        run = self.start_up(archive, upstream)
        self.converge(run, archive, upstream)
        archive.execute('DROP TABLE kids')
        upstream.change(1, 300)
        result = run.wait()
        self.assertEqual(result.code, EXIT_FAILED, result)
        self.assertIn('kids', result.err)

    def test_a_broken_index_stops_nothing(self):
        upstream, archive = self.upstream(ids=400), self.archive()
        run = self.start_up(archive, upstream)
        self.converge(run, archive, upstream)
        wait_until(lambda: metric(run, 'index_lag_ids') == 0 and
                   metric(run, 'index_items_total') > 0, what='the index')
        archive.execute(self.BREAK_INDEX)
        upstream.change(1, 100)
        self.converge(run, archive, upstream)
        self.wait_metric(run, 'index_failures_total', 1)
        self.assertIn('search indexing failed', run.so_far())
        upstream.grow_by(20)
        self.converge(run, archive, upstream)
        self.wait_metric(run, 'index_lag_ids', 1)
        self.stop_updater(run)


class SqliteUp(Up, Ends, OnSqlite, UpTest):
    BREAK_INDEX = 'DROP TABLE search_comments'

    def test_without_options(self):
        """./tain.db, wherever it is started."""
        upstream = self.upstream(ids=200)
        run = self.start('up', '--upstream', upstream.url, '--listen', '127.0.0.1:0')
        Page(self, run)
        wait_until((self.folder / 'tain.db').exists, what='./tain.db')
        self.stop_updater(run)


class PostgresUp(Up, Ends, OnPostgres, UpTest):
    BREAK_INDEX = 'DROP TABLE search_comments CASCADE'


if __name__ == '__main__':
    unittest.main()
