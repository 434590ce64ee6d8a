"""The change feed of a PostgreSQL that fails over: a standby is promoted, with all of the log or
without its tail, while clients listen and while they are away. What a client missed, or was told
and the new primary does not know, it hears of as a gap; never nothing. Also: a server on a standby,
and prepared transactions that someone forgot."""

import time
import unittest

from lib import PostgresArchive, find_bin, wait_until
from events import EventStream, Follower, id_of, log_of
from postgres import Postgres, Standby
from relay import Relay
from serve import Server
from updater import UpdaterTest

SETTINGS = {'synchronous_commit': 'on', 'max_prepared_transactions': '5', 'wal_keep_size': '64MB',
            'max_connections': '80'}


class PromotionTest(UpdaterTest):
    def setUp(self):
        super().setUp()
        if not find_bin():
            self.skipTest('PostgreSQL is not installed')
        self.primary = Postgres(SETTINGS)
        self.addCleanup(self.primary.remove)
        self.primary.start()
        self.archive = PostgresArchive(self.primary)
        self.catchup(self.archive, self.upstream(ids=60))

    def score(self, item, score, archive=None):
        (archive or self.archive).execute(f'UPDATE items SET score = {score} WHERE id = {item}')

    def listen(self, port, query='', **options):
        stream = EventStream(port, query, **options)
        self.addCleanup(stream.close)
        return stream

    def follow_at(self, port, **options):
        follower = Follower(lambda: port, **options)
        self.addCleanup(follower.stop)
        wait_until(lambda: follower.joined, 60, 'hello')
        return follower

    @staticmethod
    def scores(frames):
        return [f.data['data']['score'] for f in frames if f.event == 'items']


class Failover(PromotionTest):
    def setUp(self):
        super().setUp()
        self.standby = Standby(self.primary)
        self.addCleanup(self.standby.remove)
        self.standby.start()
        # what clients know is one address
        self.relay = Relay(self.primary.port)
        self.addCleanup(self.relay.close)
        self.behind = PostgresArchive.__new__(PostgresArchive)
        self.behind.server, self.behind.name = self.primary, self.archive.name
        self.behind.uri = f'postgres://postgres@127.0.0.1:{self.relay.port}/{self.archive.name}'

    def caught_up(self):
        lsn = self.primary.psql('SELECT pg_current_wal_flush_lsn()')
        wait_until(lambda: self.standby.psql(
            f"SELECT pg_last_wal_replay_lsn() >= '{lsn}'::pg_lsn") == 't', 60, 'the standby')

    def fail_over(self):
        """The primary is gone for good, and the standby takes its address."""
        self.primary.crash()
        self.relay.target = None
        self.relay.cut()
        if not self.standby.server:
            self.standby.start()
        self.standby.psql('SELECT pg_promote(true, 60)')
        wait_until(lambda: self.standby.psql('SELECT pg_is_in_recovery()') == 'f', 60, 'promotion')
        self.archive.server, self.archive.uri = self.standby, self.standby.uri(self.archive.name)
        self.relay.target = self.standby.port

    def test_nothing_is_lost_when_the_standby_had_it_all(self):
        server = Server(self, self.behind)
        follower = self.follow_at(server.port)
        for n in range(5):
            self.score(1, 100 + n)
        wait_until(lambda: len(follower.events()) == 5, 60, 'events')
        self.caught_up()
        self.fail_over()
        for n in range(5):
            self.score(2, 200 + n)
        wait_until(lambda: len(follower.events()) == 10, 120, 'events of the new primary')
        self.assertEqual(self.scores(follower.frames), [*range(100, 105), *range(200, 205)])
        self.assertFalse(follower.gaps())
        epochs = [id_of(f.id)[0] for f in follower.events()]
        self.assertEqual(epochs, sorted(epochs))
        self.assertGreater(epochs[-1], epochs[0], 'the new primary has an epoch of its own')
        positions = [id_of(f.id)[1] for f in follower.events()]
        self.assertEqual(positions, list(range(positions[0], positions[0] + 10)))
        # an id of before the switch is a good place still
        again = self.listen(server.port, last=follower.events()[2].id)
        again.wait_events(7)
        self.assertEqual(self.scores(again.frames), [103, 104, *range(200, 205)])
        self.assertFalse(again.of('gap'))

    def lose_a_tail(self, *clients):
        """Three changes that everyone has, three that only the old primary had."""
        for n in range(3):
            self.score(1, 100 + n)
        for client in clients:
            wait_until(lambda: len(client.events()) == 3, 60, 'events')
        self.caught_up()
        self.standby.stop()
        for n in range(3):
            self.score(1, 666 + n)
        for client in clients:
            wait_until(lambda: len(client.events()) == 6, 60, 'the tail')
        self.fail_over()

    def assert_gap(self, frames):
        """Behind the tail a gap back to what both have, then what the new primary says."""
        kinds = [f.event for f in frames]
        self.assertEqual(kinds, ['items'] * 6 + ['gap'] + ['items'] * 4)
        gap = frames[6]
        self.assertEqual(gap.data['from'], frames[5].id)
        self.assertEqual(id_of(gap.data['to'])[1], id_of(frames[2].id)[1])
        self.assertEqual(gap.id, gap.data['to'])
        self.assertEqual(self.scores(frames[7:]), list(range(200, 204)))
        first = id_of(gap.data['to'])
        self.assertEqual([id_of(f.id) for f in frames[7:]],
                         [(first[0], first[1] + 1 + n) for n in range(4)])
        self.assertGreater(first[0], id_of(frames[5].id)[0])

    def test_a_lost_tail_is_a_gap(self):
        server = Server(self, self.behind)
        listening, away = self.follow_at(server.port), self.follow_at(server.port)
        self.lose_a_tail(listening, away)
        away.stop()
        for n in range(4):
            self.score(2, 200 + n)
        wait_until(lambda: len(listening.events()) == 10, 120, 'events of the new primary')
        self.assert_gap(listening.frames)
        back = self.follow_at(server.port, last=away.last, frames=away.frames)
        wait_until(lambda: len(back.events()) == 10, 60, 'events after coming back')
        self.assert_gap(back.frames)
        # another server, which never knew the old primary, says the same
        other = Server(self, self.archive)
        back = self.follow_at(other.port, last=away.last, frames=away.frames)
        wait_until(lambda: len(back.events()) == 10, 60, 'events of another server')
        self.assert_gap(back.frames)
        # who was before the switch has missed nothing
        good = self.listen(other.port, last=away.frames[1].id)
        good.wait_events(5)
        self.assertEqual(self.scores(good.frames), [102, *range(200, 204)])
        self.assertFalse(good.of('gap'))

    def test_a_tail_is_missed_before_anything_new_is_said(self):
        """Nothing is written after the switch: who comes back is told at once all the same."""
        server = Server(self, self.behind)
        client = self.follow_at(server.port)
        self.lose_a_tail(client)
        client.stop()
        other = Server(self, self.archive)
        back = self.listen(other.port, last=client.last)
        gap = back.wait(lambda: back.of('gap'), what='a gap')[0]
        self.assertEqual(gap.data['from'], client.last)
        self.assertEqual(id_of(gap.data['to'])[1], id_of(client.frames[2].id)[1])
        self.score(2, 200)
        self.assertEqual(self.scores(back.wait_events(1)), [200])

    def test_a_server_on_a_standby(self):
        writer = Server(self, self.archive)
        reader = Server(self, self.archive, '--read-db', self.standby.uri(self.archive.name))
        here, there = self.follow_at(writer.port), self.follow_at(reader.port)
        for n in range(5):
            self.score(1, 100 + n)
        wait_until(lambda: len(there.events()) == 5, 60, 'events on the standby')
        wait_until(lambda: len(here.events()) == 5, 60, 'events on the primary')
        self.assertEqual([f.data for f in there.events()], [f.data for f in here.events()])
        # an id of one is a place of the other
        again = self.listen(reader.port, last=here.events()[1].id)
        self.assertEqual(self.scores(again.wait_events(3)), [102, 103, 104])


class Prepared(PromotionTest):
    def test_a_forgotten_transaction_holds_nobody_up(self):
        self.primary.psql('CREATE DATABASE elsewhere')
        self.primary.psql('CREATE TABLE t (i int)', 'elsewhere')
        self.primary.psql("BEGIN; INSERT INTO t VALUES (1); PREPARE TRANSACTION 'other'",
                          'elsewhere')
        server = Server(self, self.archive)
        stream = self.listen(server.port)
        stream.wait_hello()
        self.primary.psql("BEGIN; UPDATE tain.items SET score = 1 WHERE id = 1; "
                          "PREPARE TRANSACTION 'forgotten'", self.archive.name)
        for n in range(5):
            self.score(2, 200 + n)
            stream.wait_events(n + 1)
        self.primary.restart()  # it outlives that too
        server2 = Server(self, self.archive)
        again = self.listen(server2.port, last=stream.events()[1].id)
        self.score(3, 300)
        self.assertEqual(self.scores(again.wait_events(4)), [202, 203, 204, 300])
        self.primary.psql("COMMIT PREPARED 'forgotten'", self.archive.name)
        events = again.wait_events(5)
        self.assertEqual(self.scores(events), [202, 203, 204, 300, 1])
        self.assertEqual(events[-1].data['key'], {'id': 1})
        self.score(1, 2)  # the true order of its row
        self.assertEqual(self.scores(again.wait_events(6))[-2:], [1, 2])
        positions = [p for p, *_ in log_of(self.archive)]
        self.assertEqual(positions, list(range(1, len(positions) + 1)))
        self.primary.psql("ROLLBACK PREPARED 'other'", 'elsewhere')


if __name__ == '__main__':
    unittest.main()
