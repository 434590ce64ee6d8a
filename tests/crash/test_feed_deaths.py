"""The change feed under fire, on PostgreSQL: 64 writers whose transactions overlap at random, and
readers, servers and the database itself that die at random instants. Every reader hears the same
changes in the same order, per row the true one, none twice and none not at all.
CRASH_ROUNDS says how many deaths; TAIN_CRASH_SEED repeats the instants of an earlier run."""

import os
import pathlib
import random
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'e2e'))
from lib import PostgresArchive, environment, find_bin, wait_until  # noqa: E402
from events import Follower, id_of, log_of  # noqa: E402
from postgres import Postgres  # noqa: E402
from serve import Server  # noqa: E402
from updater import UpdaterTest  # noqa: E402

ROUNDS = int(os.environ.get('CRASH_ROUNDS', 4))
WRITERS, TURNS = 64, 6
ROWS = 25
MOST_BETWEEN = 400  # changes between two deaths

# Each change of a row counts it up, so that the true order of a row is known. Rows are taken in the
# order of their ids: nobody waits in a circle.
SCRIPTS = {
    'late': """\\set id random(1, {rows})
\\set ms random(0, 60)
BEGIN;
UPDATE tain.items SET score = score + 1 WHERE id = :id;
\\sleep :ms ms
COMMIT;
""",
    'wrote_last': """\\set id random(1, {rows})
\\set ms random(0, 60)
BEGIN;
SELECT pg_current_xact_id();
\\sleep :ms ms
UPDATE tain.items SET score = score + 1 WHERE id = :id;
COMMIT;
""",
    'many': """\\set lo random(1, {rows} - 5)
\\set ms random(0, 20)
BEGIN;
WITH r AS (SELECT id FROM tain.items WHERE id BETWEEN :lo AND :lo + 4 ORDER BY id FOR UPDATE)
UPDATE tain.items i SET score = score + 1 FROM r WHERE i.id = r.id;
\\sleep :ms ms
COMMIT;
""",
    'undone': """\\set id random(1, {rows})
\\set ms random(0, 10)
BEGIN;
UPDATE tain.items SET score = score + 1 WHERE id = :id;
\\sleep :ms ms
ROLLBACK;
""",
}


class FeedUnderFire(UpdaterTest):
    def setUp(self):
        super().setUp()
        if not find_bin():
            self.skipTest('PostgreSQL is not installed')
        self.server = Postgres({'max_connections': '150', 'synchronous_commit': 'on'})
        self.addCleanup(self.server.remove)
        self.server.start()
        self.archive = PostgresArchive(self.server)
        self.catchup(self.archive, self.upstream(ids=ROWS))
        self.archive.execute(
            "SET tain.bulk = on; INSERT INTO items (id, type, content_hash, kids_hash, "
            "first_seen_at, last_fetched_at, "
            f"last_changed_at) SELECT i, 'story', 1, 1, 1, 1, 1 FROM generate_series(1, {ROWS}) i "
            'ON CONFLICT DO NOTHING; UPDATE items SET score = 0')
        self.servers, self.followers = [], []

    def serve(self, n):
        """The n-th server is started, again if need be."""
        while len(self.servers) <= n:
            self.servers.append(None)
        self.servers[n] = None
        self.servers[n] = Server(self, self.archive)

    def follow_at(self, n, query=''):
        follower = Follower(lambda: self.servers[n].port if self.servers[n] else None, query)
        self.addCleanup(follower.stop)
        self.followers.append(follower)
        return follower

    def begin_writing(self, turns=TURNS):
        scripts = []
        for name, text in SCRIPTS.items():
            path = self.folder / f'{name}.sql'
            path.write_text(text.format(rows=ROWS), encoding='ascii')
            scripts += ['-f', f'{path}@{1 if name == "undone" else 4}']
        process = subprocess.Popen(
            [os.path.join(self.server.bin, 'pgbench'), '-n', '-c', str(WRITERS), '-j', '2', '-t',
             str(turns), '-D', f'rows={ROWS}', *scripts, self.archive.uri],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def settle(self):
        """Until every change has a position and every follower has heard of the last one."""
        last = wait_until(self.all_numbered, 120, 'positions for everything', every=0.2)
        for follower in self.followers:
            wait_until(lambda: follower.failure or (
                follower.events() and id_of(follower.events()[-1].id)[1] >= last), 120,
                'the last change at a reader', every=0.1)
            self.assertIsNone(follower.failure)

    def head(self):
        return self.archive.rows('SELECT head FROM feed_state')[0][0]

    def all_numbered(self):
        waiting, head = self.archive.rows('SELECT (SELECT COUNT(*) FROM change_log WHERE '
                                          'pos IS NULL), (SELECT head FROM feed_state)')[0]
        return head if waiting == 0 else None

    def assert_heard(self):
        log = [(pos, key['id']) for pos, _, _, key in log_of(self.archive)]
        self.assertEqual([pos for pos, _ in log], list(range(log[0][0], log[-1][0] + 1)),
                         'the positions of the log have holes')
        for n, follower in enumerate(self.followers):
            events = follower.events()
            ids = [f.id for f in events]
            self.assertEqual(len(set(ids)), len(ids), f'reader {n} heard one twice')
            self.assertEqual([(id_of(f.id)[1], f.data['key']['id']) for f in events], log,
                             f'reader {n} heard another story')
            self.assertFalse(follower.gaps(), f'reader {n}')
        self.assert_true_order(self.followers[0].events())
        return len(log)

    def assert_true_order(self, events):
        """Row by row each change counts up by one, up to what the row says now."""
        counts = {}
        for frame in events:
            row, score = frame.data['key']['id'], frame.data['data']['score']
            self.assertEqual(score, counts.get(row, 0) + 1, f'row {row} at {frame.id}')
            counts[row] = score
        now = dict(self.archive.rows('SELECT id, score FROM items WHERE score > 0'))
        self.assertEqual(counts, now)

    def ready(self):
        for follower in self.followers:
            wait_until(lambda: follower.joined, 60, 'hello')

    def test_64_writers(self):
        for n in range(2):
            self.serve(n)
        for n in (0, 0, 1, 1):
            self.follow_at(n)
        self.ready()
        writing = self.begin_writing()
        self.assertEqual(writing.wait(300), 0)
        self.settle()
        n = self.assert_heard()
        self.assertGreater(n, WRITERS * TURNS / 2)
        late = Follower(lambda: self.servers[1].port, f'?since={self.followers[0].frames[0].id}')
        self.addCleanup(late.stop)
        wait_until(lambda: len(late.events()) == n - 1, 60, 'what was before')
        self.assertEqual([f.id for f in late.events()],
                         [f.id for f in self.followers[0].events()[1:]])
        print(f'\n  {WRITERS} writers, {n} changes, {len(self.followers)} readers on two servers '
              'heard the same', flush=True)

    def test_deaths_at_random(self):
        seed = int(os.environ.get('TAIN_CRASH_SEED', time.time_ns() % 1000000))
        with self.subTest(seed=seed):
            self.die_at_random(random.Random(seed))

    def die_at_random(self, chance):
        for n in range(2):
            self.serve(n)
        for n in (0, 1, 1):
            self.follow_at(n)
        self.ready()
        self.writing = self.begin_writing(1000)
        deaths = {'reader': 0, 'server': 0, 'database': 0}
        for n in range(ROUNDS):
            self.hear_more(chance.randrange(MOST_BETWEEN))
            kind = list(deaths)[n % 3] if n < 3 else chance.choice(list(deaths))
            deaths[kind] += 1
            if kind == 'reader':
                follower = chance.choice(self.followers)
                self.replace(follower)
            elif kind == 'server':
                victim = chance.randrange(2)
                self.servers[victim].run.kill()
                self.serve(victim)
            else:
                self.server.crash()
                self.server.start()
        self.hear_more(0)
        self.writing.kill()
        self.writing.wait()
        wait_until(lambda: not self.archive.rows(
            "SELECT 1 FROM pg_stat_activity WHERE application_name = 'pgbench'"), 60,
            'the end of the writers')
        self.settle()
        n = self.assert_heard()
        print(f'\n  {n} changes, deaths: {deaths}: every reader heard every change once',
              flush=True)

    def hear_more(self, n):
        """Until more than n changes have got positions; writers that have ended are replaced."""
        most = self.head() + n

        def heard():
            if self.writing.poll() is not None:
                self.writing = self.begin_writing(1000)
            return self.head() > most
        wait_until(heard, what='something new', every=0.05)

    def replace(self, old):
        """The reader dies with what it had not written down; another goes on with its last id."""
        old.stop()
        new = Follower(old.where, last=old.last, frames=old.frames)
        self.addCleanup(new.stop)
        self.followers[self.followers.index(old)] = new


if __name__ == '__main__':
    unittest.main()
