"""`tain dead-letter`: ids that were given up are shown with all that is known of them, tried again,
or accepted as missing so that the frontier passes. A hand-written pending is honoured too."""

import subprocess
import unittest

from lib import (E2E, EXIT_DONE, EXIT_FAILED, EXIT_UNRESOLVED, EXIT_USAGE, TAIN, OnPostgres,
                 OnSqlite, environment)

LAST = 900
FAULTS = ('id=100:status=500', 'id=200:garbage', 'id=300:status=500')


class Letters(E2E):
    def letter(self, archive, *arguments, code=EXIT_DONE):
        result = self.run_tain('dead-letter', *arguments, '--db', archive.uri, '--json')
        self.assertEqual(result.code, code, result)
        return result.report if code == EXIT_DONE else result

    def listed(self, archive, *arguments):
        return [x['id'] for x in self.letter(archive, 'list', *arguments)['dead_letters']]

    def broken(self):
        """An archive with three dead letters."""
        demo, archive = self.demo(*FAULTS), self.archive()
        self.run_to_end(archive, demo)
        return demo, archive

    def run_to_end(self, archive, demo, code=EXIT_UNRESOLVED):
        return self.catchup(archive, demo, '--end-id', LAST, '--retry-attempts', 2,
                            '--segment-width', 90, code=code)

    def verify(self, archive):
        result = self.run_tain('verify', '--db', archive.uri, '--progress', 'none')
        self.assertEqual(result.code, EXIT_DONE, result)

    def test_list(self):
        _, archive = self.broken()
        self.assertEqual(self.listed(archive), [100, 200, 300])
        self.assertEqual(self.listed(archive, '--class', 'http_5xx'), [100, 300])
        self.assertEqual(self.listed(archive, '--class', 'timeout'), [])
        self.assertEqual(self.listed(archive, '--start-id', 150, '--end-id', 250), [200])
        self.assertEqual(self.listed(archive, '--id', 300), [300])
        self.assertEqual(self.listed(archive, '200', '100'), [200, 100])
        first = self.letter(archive, 'list')['dead_letters'][0]
        self.assertEqual((first['failure_class'], first['attempts'], first['origin']),
                         ('http_5xx', 2, 'mirror'))
        self.assertIn('500', first['last_error'])
        text = self.run_tain('dead-letter', 'list', '--db', archive.uri)
        self.assertRegex(text.out, r'\n200 +garbage +2 ')

    def test_show(self):
        _, archive = self.broken()
        shown = self.letter(archive, 'show', '100')
        self.assertEqual(shown['verdict'], 'dead_letter')
        tables = {row['table']: row for row in shown['known']}
        self.assertEqual(set(tables), {'exception', 'dead_letter', 'mirror_segment'})
        self.assertEqual(tables['exception']['state'], 'dead_letter')
        self.assertEqual(tables['dead_letter']['source'], 'catchup')
        self.assertEqual(tables['mirror_segment']['status'], 'dead_letter')
        self.assertEqual(self.letter(archive, 'show', '--id', 1)['verdict'], 'stored')
        text = self.run_tain('dead-letter', 'show', '100', '--db', archive.uri)
        self.assertIn('tain dead-letter replay 100', text.out)
        self.letter(archive, 'show', '5000', code=EXIT_FAILED)

    def test_replay(self):
        demo, archive = self.broken()
        demo.faults()
        report = self.letter(archive, 'replay', '--class', 'http_5xx')
        self.assertEqual((report['count'], report['next']), (2, 'tain catchup'))
        self.assertEqual(self.listed(archive), [200])
        self.assertEqual(self.status(archive)['dead_letters'], 1)
        self.run_to_end(archive, demo)
        self.assertEqual(self.status(archive)['frontier_id'], 199)
        self.assertEqual(self.letter(archive, 'replay', '--all')['count'], 1)
        self.run_to_end(archive, demo, code=EXIT_DONE)
        self.assert_complete(archive, demo, 1, LAST)
        self.verify(archive)
        self.assertEqual(self.status(archive)['dead_letters'], 0)

    def test_a_replay_that_fails_has_fresh_attempts(self):
        demo, archive = self.broken()
        demo.reset_stats()
        self.letter(archive, 'replay', '100')
        self.run_to_end(archive, demo)
        self.assertEqual(demo.stats()['max_per_id'], 2)
        self.assertEqual(self.listed(archive), [100, 200, 300])
        self.assertEqual(archive.rows('SELECT COUNT(*) FROM ingest_dlq_items'), [(3,)])

    def test_accept(self):
        demo, archive = self.broken()
        report = self.letter(archive, 'accept', '100', '--reason', 'known to be broken')
        self.assertEqual((report['count'], report['frontier_id']), (1, 199))
        self.assertEqual(self.status(archive)['frontier_id'], 199)
        self.assertEqual(archive.rows('SELECT state, failure_class, last_error '
                                      'FROM ingest_exceptions WHERE item_id = 100'),
                         [('terminal_missing', 'http_5xx',
                           'accepted by operator: known to be broken')])
        self.assertEqual(archive.rows('SELECT state FROM ingest_dlq_items WHERE item_id = 100'),
                         [('resolved',)])
        report = self.letter(archive, 'accept', '--start-id', 101, '--end-id', LAST)
        self.assertEqual((report['count'], report['frontier_id']), (2, LAST))
        self.assertEqual((report['missing'], report['kept_as_stored']), (2, 0))
        self.verify(archive)
        self.assert_invariants(archive)
        demo.reset_stats()
        self.run_to_end(archive, demo, code=EXIT_DONE)
        self.assertEqual(demo.stats()['distinct_ids'], 0, 'what was accepted is not asked for')

    def test_accepted_and_wanted_again(self):
        demo, archive = self.broken()
        self.letter(archive, 'accept', '--all')
        demo.faults()
        archive.execute("UPDATE ingest_exceptions SET state = 'pending' WHERE item_id = 200")
        self.run_to_end(archive, demo, code=EXIT_DONE)
        self.assertEqual(archive.rows('SELECT id FROM items WHERE id IN (100, 200)'), [(200,)])
        self.verify(archive)

    def test_only_dead_letters_are_decided_about(self):
        _, archive = self.broken()
        for action in ('accept', 'replay'):
            result = self.letter(archive, action, '100', '5', code=EXIT_FAILED)
            self.assertIn('5 is not a dead letter', result.err)
        self.letter(archive, 'accept', '100', '--class', 'garbage', code=EXIT_FAILED)
        self.assertEqual(self.listed(archive), [100, 200, 300])
        self.assertEqual(self.letter(archive, 'accept', '--class', 'timeout')['count'], 0)

    def test_a_hand_written_pending_wakes_a_dead_segment(self):
        demo, archive = self.broken()
        demo.faults()
        look = self.look(archive)
        self.assertIn('dead_letter', {s['status'] for s in look.segments})
        archive.execute("UPDATE ingest_exceptions SET state = 'pending'")
        self.run_to_end(archive, demo, code=EXIT_DONE)
        self.assert_complete(archive, demo, 1, LAST)
        self.verify(archive)

    def test_a_hand_written_pending_wakes_a_done_segment(self):
        demo, archive = self.demo('id=100:null'), self.archive()
        self.run_to_end(archive, demo, code=EXIT_DONE)
        self.assertEqual({s['status'] for s in self.look(archive).segments}, {'done'})
        demo.faults()
        archive.execute("UPDATE ingest_exceptions SET state = 'pending'")
        self.verify(archive)  # it is no damage
        self.run_to_end(archive, demo, code=EXIT_DONE)
        self.assert_complete(archive, demo, 1, LAST)


class LettersOnSqlite(OnSqlite, Letters):
    pass


class LettersOnPostgres(OnPostgres, Letters):
    pass


class Usage(OnSqlite, E2E):
    def wrong(self, text, *arguments):
        result = self.run_tain('dead-letter', *arguments)
        self.assertEqual(result.code, EXIT_USAGE, result)
        self.assertIn(text, result.err)

    def test_wrong_words(self):
        self.wrong('ACTION is missing; give one of list|show|replay|accept')
        self.wrong("ACTION: 'remove' is not allowed", 'remove')
        self.wrong("ID: 'x' is not allowed", 'show', 'x')
        self.wrong("ID: '0' is not allowed", 'show', '0')
        self.wrong('show wants one ID', 'show')
        self.wrong('show wants one ID', 'show', '1', '2')

    def test_a_decision_wants_a_choice(self):
        self.wrong('say which', 'replay')
        self.wrong('say which', 'accept')
        self.wrong('not both', 'accept', '5', '--all')
        self.wrong('not both', 'replay', '--id', '5', '--start-id', '3')
        self.wrong('--reason belongs to accept', 'replay', '5', '--reason', 'x')

    def test_a_class_that_there_is_not(self):
        """A typing mistake must not look like a decision about nothing."""
        for action in ('list', 'replay', 'accept'):
            self.wrong("'htpp_5xx' is no failure class; did you mean http_5xx?", action, '--class',
                       'htpp_5xx')
            self.wrong('There are: timeout, connect,', action, '--class', 'nonsense')
        self.wrong('--class', 'accept', '5', '--class', 'ok')

    def test_a_reason_that_is_no_text(self):
        for reason in (b'\xff\xfe', b'caf\xe9', b''):
            done = subprocess.run([TAIN, 'dead-letter', 'accept', '5', '--reason', reason],
                                  cwd=self.folder, env=environment(), stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, EXIT_USAGE, done.stderr)
            self.assertIn(b'--reason', done.stderr)
            self.assertIn(b'UTF-8', done.stderr)

    def test_no_archive(self):
        result = self.run_tain('dead-letter', 'list', '--db', f'sqlite:{self.folder}/none.db')
        self.assertEqual(result.code, EXIT_FAILED, result)

    def test_none(self):
        archive = self.archive()
        self.run_tain('migrate', '--db', archive.uri)
        result = self.run_tain('dead-letter', 'list', '--db', archive.uri)
        self.assertEqual((result.code, result.out), (EXIT_DONE, 'no dead letters\n'))


del Letters  # not a test itself

if __name__ == '__main__':
    unittest.main()
