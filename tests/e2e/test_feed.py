"""The fan-out of the change feed, audited: several processes listen to one database, and each hears
every change once, in the order of the log, whoever dies meanwhile. `tain cdc tail` is a reader like
the one in every server, with its output on a file."""

import collections
import fcntl
import json
import os
import re
import signal
import sqlite3
import struct
import subprocess
import termios
import threading
import unittest

from lib import E2E, EXIT_DONE, EXIT_USAGE, OnPostgres, OnSqlite, Run, TAIN, environment, wait_until
from events import drop_changes
from swallow import Swallow

LONG = 120  # seconds: a deadline, reached by nothing but a fault
LISTENERS = 4
WRITERS = 4
ROLE = 'SELECT pid FROM pg_locks WHERE locktype = \'advisory\' AND classid = 7496944'


class Tail(Run):
    """A listener."""

    def __init__(self, uri, *arguments):
        self.uri = uri
        super().__init__(['cdc', 'tail', '--db', uri, *arguments])

    def text(self):
        return self._read(self.out)

    def lines(self):
        """Whole ones only: the last may still be on its way."""
        return [json.loads(line) for line in self.text().split('\n')[:-1]]

    def count(self):
        return self.text().count('\n')

    def last(self):
        return self.lines()[-1]['id']


def position(event):
    return int(event['id'].split('-')[1])


def insert(name):
    return ('INSERT INTO users (id, karma, content_hash, first_seen_at, last_fetched_at, '
            f"last_changed_at) VALUES ('{name}', 0, 0, 0, 0, 0)")


def raise_karma(name):
    return f"UPDATE users SET karma = karma + 1, last_changed_at = last_changed_at + 1 " \
           f"WHERE id = '{name}'"


def transactions(writer, count):
    """What one writer does: rows of its own, and one that all of them fight for."""
    for i in range(count):
        name = f'w{writer}-{i}'
        steps = [insert(name)]
        if i % 3 == 0:
            steps += [raise_karma('hot'), raise_karma(name)]
        if i % 5 == 0:
            steps.append(f"DELETE FROM users WHERE id = '{name}'")
        yield steps


def doings(count):
    """What the writers do together: (action, user), how often."""
    verbs = {'INSERT': 'insert', 'UPDATE': 'update', 'DELETE': 'delete'}
    done = collections.Counter({('insert', 'hot'): 1})
    for writer in range(WRITERS):
        for steps in transactions(writer, count):
            for sql in steps:
                name = re.search(r"'([^']+)'", sql).group(1)
                done[verbs[sql.split()[0]], name] += 1
    return done


class Fanout:
    def fresh(self):
        archive = self.archive()
        self.assertEqual(self.run_tain('migrate', '--db', archive.uri).code, EXIT_DONE)
        archive.execute(insert('hot'))
        return archive

    def tail(self, archive, *arguments):
        tail = Tail(archive.uri, *arguments)
        self.addCleanup(tail.close)
        return tail

    def listen(self, archive, count=LISTENERS):
        return [self.tail(archive, '--since', 'oldest') for _ in range(count)]

    def in_log(self, archive):
        return archive.rows('SELECT COUNT(*) FROM changes WHERE pos IS NOT NULL')[0][0]

    def changes(self, archive):
        """The log itself, in its order."""
        rows = archive.rows('SELECT pos, action, key, data FROM changes '
                            'WHERE pos IS NOT NULL ORDER BY 1')
        return [(pos, action, json.loads(key), json.loads(data)) for pos, action, key, data in rows]

    def heard(self, tail, events):
        wait_until(lambda: tail.count() >= events, LONG, f'{events} lines of {tail.pid}', 0.05)

    def assert_heard(self, archive, *listeners):
        """Each has the log, all of it, once, in its order."""
        truth = self.changes(archive)
        for tail in listeners:
            lines = tail.lines()
            self.assertEqual([(position(e), e['action'], e['key'], e['data']) for e in lines],
                             truth)
            self.assertEqual(len({e['id'] for e in lines}), len(truth))
        self.assertEqual([t.lines() for t in listeners], [listeners[0].lines()] * len(listeners))
        hot = [e['data']['karma'] for e in listeners[0].lines() if e['key'] == {'id': 'hot'}]
        self.assertEqual(hot, list(range(len(hot))), 'the changes of one row are out of order')

    def everyone(self, archive, writers, *listeners):
        """Waits for writers and listeners, and compares."""
        writers.join()
        self.await_numbers(archive)
        for tail in listeners:
            self.heard(tail, self.in_log(archive))
        self.assert_heard(archive, *listeners)

    def test_everyone_hears_everything(self):
        archive = self.fresh()
        listeners = self.listen(archive)
        writers = self.write(archive, 60)
        late = self.tail(archive, '--since', 'oldest')
        self.everyone(archive, writers, *listeners, late)
        # and the log has what was done
        heard = collections.Counter((e['action'], e['key']['id']) for e in late.lines())
        self.assertEqual(heard, doings(60))

    def test_killed_and_resumed(self):
        archive = self.fresh()
        listeners = self.listen(archive)
        writers = self.write(archive, 60)
        killed = listeners.pop()
        self.heard(killed, 20)
        killed.kill()
        part = killed.lines()
        other = self.tail(archive, '--since', part[-1]['id'])
        writers.join()
        self.await_numbers(archive)
        for tail in listeners:
            self.heard(tail, self.in_log(archive))
        self.heard(other, self.in_log(archive) - len(part))
        self.assert_heard(archive, *listeners)
        self.assertEqual(part + other.lines(), listeners[0].lines())

    def test_from_now_on(self):
        """What was before is not told; what comes is, from where the next one begins."""
        archive = self.fresh()
        self.run_tain('cdc', 'tail', '--db', archive.uri, '--no-follow', seconds=LONG)
        tail = self.tail(archive)
        names = (f'after{i}' for i in range(10 ** 9))

        def is_heard():
            archive.execute(insert(next(names)))
            return tail.count() > 0

        wait_until(is_heard, LONG, 'the first event', 0.05)
        self.await_numbers(archive)  # the last may have come after the one that was heard
        first = position(tail.lines()[0])
        self.assertGreater(first, 1)
        wait_until(lambda: tail.count() == self.in_log(archive) - first + 1, LONG, 'all of them')
        self.assertEqual([position(e) for e in tail.lines()],
                         list(range(first, self.in_log(archive) + 1)))

    def test_no_follow_prints_all_and_ends(self):
        archive = self.fresh()
        self.write(archive, 10).join()
        result = self.run_tain('cdc', 'tail', '--db', archive.uri, '--no-follow', seconds=LONG)
        self.assertEqual(result.code, EXIT_DONE, result)
        found = [json.loads(line) for line in result.out.splitlines()]
        self.assertEqual([(position(e), e['action'], e['key'], e['data']) for e in found],
                         self.changes(archive))
        again = self.run_tain('cdc', 'tail', '--db', archive.uri, '--no-follow', '--since',
                              found[-3]['id'], seconds=LONG)
        self.assertEqual([json.loads(line) for line in again.out.splitlines()], found[-2:])

    def test_filters(self):
        archive = self.fresh()
        self.write(archive, 10).join()
        result = self.run_tain('cdc', 'tail', '--db', archive.uri, '--no-follow', '--actions',
                               'delete', '--tables', 'items,users', seconds=LONG)
        found = [json.loads(line) for line in result.out.splitlines()]
        self.assertEqual([(position(e), e['action'], e['key'], e['data']) for e in found],
                         [c for c in self.changes(archive) if c[1] == 'delete'])
        result = self.run_tain('cdc', 'tail', '--db', archive.uri, '--no-follow', '--tables',
                               'items', seconds=LONG)
        self.assertEqual((result.code, result.out), (EXIT_DONE, ''))

    def test_what_was_pruned_is_a_gap(self):
        archive = self.fresh()
        self.write(archive, 10).join()
        all_of_it = self.run_tain('cdc', 'tail', '--db', archive.uri, '--no-follow', seconds=LONG)
        ids = [json.loads(line)['id'] for line in all_of_it.out.splitlines()]
        drop_changes(archive, 20)
        result = self.run_tain('cdc', 'tail', '--db', archive.uri, '--no-follow', '--since',
                               ids[4], seconds=LONG)
        found = [json.loads(line) for line in result.out.splitlines()]
        self.assertEqual(found[0], {'type': 'gap', 'from': ids[4], 'to': ids[19]})
        self.assertEqual([e['id'] for e in found[1:]], ids[20:])

    def test_ends_cleanly(self):
        archive = self.fresh()
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            tail = self.tail(archive, '--since', 'oldest')
            self.heard(tail, 1)
            tail.signal(number)
            self.assertEqual(tail.wait(LONG).code, code)

    def test_nobody_reads_any_more(self):
        """`tain cdc tail | head -1` ends, also when nothing more happens."""
        archive = self.fresh()
        out, into = os.pipe()
        process = subprocess.Popen([TAIN, 'cdc', 'tail', '--db', archive.uri, '--since', 'oldest'],
                                   stdout=into, stderr=subprocess.PIPE, env=environment())
        self.addCleanup(process.kill)
        self.addCleanup(process.stderr.close)
        os.close(into)
        with open(out, encoding='utf-8') as pipe:
            self.assertEqual(json.loads(pipe.readline())['action'], 'insert')
        self.assertEqual(process.wait(LONG), EXIT_DONE)
        self.assertEqual(process.stderr.read(), b'')

    def test_stopped_while_nobody_reads(self):
        """A full pipe keeps nobody from ending."""
        archive = self.fresh()
        self.write(archive, 300, writers=1).join()
        out, into = os.pipe()
        process = subprocess.Popen([TAIN, 'cdc', 'tail', '--db', archive.uri, '--since', 'oldest'],
                                   stdout=into, stderr=subprocess.DEVNULL, env=environment())
        self.addCleanup(os.close, out)
        self.addCleanup(process.kill)
        os.close(into)
        wait_until(lambda: self.in_pipe(out) > 60000, LONG, 'the pipe to be full')
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(LONG), 143)

    @staticmethod
    def in_pipe(out):
        return struct.unpack('i', fcntl.ioctl(out, termios.FIONREAD, b'\0' * 4))[0]

    def test_wrong_usage(self):
        archive = self.fresh()
        for wrong in (('--since', '7'), ('--since', '1-2-3'), ('--actions', 'upsert'),
                      ('--tables', 'a,,b'), ('--tables', 'items,nothing')):
            result = self.run_tain('cdc', 'tail', '--db', archive.uri, '--no-follow', *wrong)
            self.assertEqual(result.code, EXIT_USAGE, result)
            self.assertIn(wrong[0].strip('-'), result.err)


class FeedOnSqlite(OnSqlite, Fanout, E2E):
    def write(self, archive, count, writers=WRITERS):
        """Each is a connection of its own, as of another program."""
        return Together([threading.Thread(target=self.write_one, args=(archive, n, count))
                         for n in range(writers)])

    @staticmethod
    def write_one(archive, number, count):
        connection = sqlite3.connect(archive.path, timeout=LONG, isolation_level=None)
        for steps in transactions(number, count):
            connection.execute('BEGIN IMMEDIATE')
            for sql in steps:
                connection.execute(sql)
            connection.execute('COMMIT')
        connection.close()

    def await_numbers(self, archive):
        pass


class Together:
    def __init__(self, threads):
        self.threads = threads
        for thread in threads:
            thread.start()

    def join(self):
        for thread in self.threads:
            thread.join(LONG)
            assert not thread.is_alive(), 'a writer does not come to its end'


class FeedOnPostgres(OnPostgres, Fanout, E2E):
    def write(self, archive, count, writers=WRITERS):
        """Each is a psql. Some transactions wait before their commit, so that later ones overtake
        them."""
        scripts = []
        for n in range(writers):
            path = self.folder / f'writer{n}.sql'
            with open(path, 'w', encoding='utf-8') as script:
                for i, steps in enumerate(transactions(n, count)):
                    pause = ['SELECT pg_sleep(0.02)'] if (i + n) % 4 == 0 else []
                    script.write(';\n'.join(['BEGIN', *steps, *pause, 'COMMIT']) + ';\n')
            scripts.append(threading.Thread(target=self.run_script, args=(archive, path)))
        return Together(scripts)

    @staticmethod
    def run_script(archive, path):
        archive._psql('-o', '/dev/null', '-f', str(path))

    def await_numbers(self, archive):
        def are_given():
            return archive.rows('SELECT COUNT(*) FROM change_log WHERE pos IS NULL')[0][0] == 0
        wait_until(are_given, LONG, 'a number for every change', 0.1)

    def publisher(self, archive):
        """A listener that numbers."""
        tail = self.tail(archive, '--since', 'oldest')
        database = f"database = (SELECT oid FROM pg_database WHERE datname = '{archive.name}')"
        wait_until(lambda: archive.rows(f'{ROLE} AND {database}'), LONG, 'a publisher')
        self.heard(tail, 1)
        return tail

    def test_the_publisher_is_killed(self):
        archive = self.fresh()
        first = self.publisher(archive)
        listeners = self.listen(archive)
        writers = self.write(archive, 60)
        self.heard(first, 20)
        first.kill()
        self.everyone(archive, writers, *listeners)
        self.assertEqual(first.lines(), listeners[0].lines()[:first.count()])

    def test_the_publisher_is_stopped_in_its_tracks(self):
        """It holds the role and does nothing; then it goes on, and has missed nothing."""
        archive = self.fresh()
        first = self.publisher(archive)
        listeners = self.listen(archive)
        for tail in listeners:
            self.heard(tail, 1)
        first.signal(signal.SIGSTOP)
        self.addCleanup(first.signal, signal.SIGCONT)
        writers = self.write(archive, 20)
        writers.join()
        expected = archive.rows('SELECT COUNT(*) FROM changes')[0][0]
        for tail in listeners:
            self.heard(tail, expected)
        first.signal(signal.SIGCONT)
        self.everyone(archive, writers, first, *listeners)

    def test_the_database_is_restarted(self):
        archive = self.fresh()
        listeners = self.listen(archive)
        self.write(archive, 20).join()
        for tail in listeners:
            self.heard(tail, 20)
        self.server.crash()
        self.server.start()
        self.everyone(archive, self.write_more(archive), *listeners)

    def write_more(self, archive):
        archive.execute(insert('more'))
        return Together([])

    def test_a_listener_that_hears_nothing(self):
        """Its LISTEN is swallowed on the way. It looks, so it misses nothing, and finds out."""
        archive = self.fresh()
        way = Swallow(self.server.port)
        self.addCleanup(way.close)
        tail = Tail(archive.uri.replace(f':{self.server.port}/', f':{way.port}/'),
                    '--since', 'oldest')
        self.addCleanup(tail.close)
        wait_until(lambda: way.listening() == 1, LONG, 'a LISTEN')
        self.heard(tail, 1)
        way.mute()
        self.assertEqual(way.listening(), 0)
        self.write(archive, 5).join()
        self.heard(tail, archive.rows('SELECT COUNT(*) FROM changes')[0][0])
        wait_until(lambda: way.listening() == 1, LONG, 'another LISTEN')
        self.everyone(archive, self.write_more(archive), tail)


if __name__ == '__main__':
    unittest.main()
