"""One tain mirrors another: upstream, updater, serve, and a second catch-up and updater. Items,
lists and profiles are equal in both archives, and changes travel through both streams.
A first one that is still being filled misleads nobody."""

import json
import time
import unittest

from lib import (EXIT_UNRESOLVED, OnPostgres, OnSqlite, PostgresArchive, Sqlite, shared_postgres,
                 wait_until)
from serve import Server
from updater import QUICK, UpdaterTest, differences, metric

SECONDS = 40


def lists_of(archive):
    kind = 'ids' if isinstance(archive, Sqlite) else 'array_to_json(ids)'
    return {name: json.loads(ids)
            for name, ids in archive.rows(f'SELECT name, {kind} FROM lists')}


def people_of(archive):
    ids = 'submitted' if isinstance(archive, Sqlite) else 'array_to_json(submitted)'
    return {row[0]: row[1:] for row in archive.rows(
        f'SELECT id, created, karma, about, {ids} FROM users')}


def kids_of(archive):
    found = {}
    for item, kid in archive.rows('SELECT item, kid FROM kids ORDER BY item, display_order'):
        found.setdefault(item, []).append(kid)
    return found


class MirrorOfMirror:
    def second_archive(self):
        return self.archive()

    def chain(self, ids=1200):
        """upstream, first archive and its updater, server, second archive and its updater"""
        upstream, first = self.upstream(ids=ids), self.archive()
        self.follow(first, upstream)
        server = Server(self, first)
        second = self.second_archive()
        self.catchup(second, server, code=None)
        run = self.start('updater', '--db', second.uri, '--upstream', server.url, *QUICK)
        self.wait_metric(run, 'realtime_listener_connected', 1)
        return upstream, first, server, second, run

    def catchup(self, archive, source, *arguments, code=0, **options):
        """code None: ids that are only young may be left over."""
        result = self.start_catchup(archive, source, *arguments, **options).wait()
        self.assertIn(result.code, (0, EXIT_UNRESOLVED) if code is None else (code,), result)
        return result

    def assert_equal_archives(self, first, second, what, since=None):
        """Until they are: item by item with kids, the lists, and the profiles the second one has
        come to hear of."""
        since = since or time.monotonic()

        def unlike():
            ours, theirs = second.items(), first.items()
            return [i for i in ours.keys() | theirs.keys() if ours.get(i) != theirs.get(i)]

        def equal():
            return (not unlike() and kids_of(first) == kids_of(second)
                    and lists_of(first) == lists_of(second))
        try:
            wait_until(equal, SECONDS, what, every=0.1)
        except AssertionError as late:
            raise AssertionError(f'{late}: items {unlike()[:10]}') from None
        self.show_time(what, time.monotonic() - since)

    def test_changes_travel_through_both(self):
        upstream, first, server, second, run = self.chain()
        self.assert_equal_archives(first, second, 'a mirror of a mirror, from nothing')
        began = time.monotonic()
        for n in range(4):
            upstream.grow_by(15)
            upstream.change(100 * n + 1, 100 * n + 30)
            upstream.mutate(800 + n)
        wait_until(lambda: not self.wrong(upstream, second), SECONDS, 'the truth in the second')
        self.show_time('new ids and changes, over two streams', time.monotonic() - began)
        self.assert_equal_archives(first, second, 'after changes')
        self.assertGreater(metric(run, 'realtime_items_changed_total'), 50)
        self.assert_people(upstream, first, second)
        self.assertEqual(server.ask('/v0/maxitem.json'), upstream.maxitem)
        self.assert_invariants(second)

    @staticmethod
    def wrong(upstream, archive):
        return differences(archive, upstream)

    def assert_people(self, upstream, first, second):
        names = {item['by'] for item in upstream.now(1, 60).values() if item and item['by']}
        for name in sorted(names)[:5]:
            upstream.post('mutate-user', name=name)

        def equal():
            ours, theirs = people_of(second), people_of(first)
            return set(sorted(names)[:5]) <= ours.keys() and all(
                theirs.get(name) == row for name, row in ours.items())
        wait_until(equal, SECONDS, 'the profiles', every=0.1)

    def test_a_first_one_that_is_being_filled_is_not_believed(self):
        upstream, first = self.upstream(ids=40000), self.archive()
        # of two stretches the one between is not there yet
        self.catchup(first, upstream, '--start-id', 1001, '--end-id', 1300)
        self.catchup(first, upstream, '--start-id', 38001, '--end-id', 38100, code=None)
        server = Server(self, first)
        second = self.second_archive()
        self.catchup(second, server, '--start-id', 1001, '--end-id', 1500, code=EXIT_UNRESOLVED)
        known = upstream.truth(1001, 1300)
        self.assert_truth(second, known)
        look = self.assert_invariants(second)
        states = {x['id']: (x['state'], x['class']) for x in look.exceptions}
        missing = {i for i, item in known.items() if item is None}
        self.assertEqual({i for i, state in states.items() if i <= 1300}, missing)
        self.assertEqual({states[i] for i in range(1301, 1501)},
                         {('retry_wait', 'unknown_upstream')})
        # the first one comes to them; the second asks again when their time has come
        self.catchup(first, upstream, '--start-id', 1301, '--end-id', 1500)
        second.execute("UPDATE ingest_exceptions SET next_retry_at = 0 WHERE state = 'retry_wait'")
        self.catchup(second, server, '--start-id', 1001, '--end-id', 1500)
        self.assert_truth(second, upstream.truth(1001, 1500))
        look = self.assert_invariants(second)
        self.assertEqual({x['state'] for x in look.exceptions} - {'terminal_missing'}, set())


class OnSqliteBoth(MirrorOfMirror, OnSqlite, UpdaterTest):
    pass


class FromPostgresToSqlite(MirrorOfMirror, OnPostgres, UpdaterTest):
    def second_archive(self):
        return Sqlite(self.folder / 'second.db')


class FromSqliteToPostgres(MirrorOfMirror, OnSqlite, UpdaterTest):
    def second_archive(self):
        return PostgresArchive(shared_postgres())


if __name__ == '__main__':
    unittest.main()
