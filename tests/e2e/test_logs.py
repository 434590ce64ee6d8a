"""Log lines as an operator sees them: one line per event, every line of a long run names the run,
what was given up names the item, and no password is ever among them."""

import json
import re
import signal
import urllib.request

from lib import E2E, EXIT_DONE, EXIT_FAILED, EXIT_UNRESOLVED, EXIT_USAGE, OnPostgres, OnSqlite
from lib import ANSWER, QUICK, TAIN, free_port, wait_until, subprocess

PAIR = re.compile(r'([a-z_]+)=("(?:[^"\\]|\\.)*"|[^ "]*)(?: |$)')


def logfmt(line):
    """{key: text}; None when the line is not wholly made of pairs."""
    if not line.startswith('time='):
        return None
    pairs = PAIR.findall(line)
    whole = ' '.join(f'{key}={value}' for key, value in pairs)
    return {k: json.loads(v) if v.startswith('"') else v for k, v in pairs} if whole == line \
        else None


class Lines(OnSqlite, E2E):
    def read(self, text, parse):
        found = [parse(line) for line in text.splitlines()]
        self.assertNotIn(None, found, text)
        return found

    def dead_letters(self, *arguments):
        demo, archive = self.demo('id=42:status=503', 'id=43:garbage'), self.archive()
        return self.catchup(archive, demo, '--end-id', 100, '--retry-attempts', 2, *arguments,
                            code=EXIT_UNRESOLVED)

    def check_dead_letters(self, lines):
        dead = {str(x['item']): x for x in lines if 'given up' in x['msg']}
        self.assertEqual(sorted(dead), ['42', '43'])
        self.assertEqual(dead['42']['class'], 'http_5xx')
        self.assertEqual(dead['43']['class'], 'garbage')
        self.assertEqual(str(dead['42']['attempts']), '2')
        self.assertRegex(dead['42']['error'], '503|http_5xx')  # by class, if a probe decided
        ended = [x for x in lines if 'segment ends' in x['msg']]
        self.assertEqual(len(ended), 1)
        self.assertEqual({str(x['segment']) for x in dead.values()}, {str(ended[0]['segment'])})
        runs = {x['run'] for x in lines}
        self.assertEqual(len(runs), 1)
        self.assertRegex(runs.pop(), r'^[0-9a-f]{8}$')

    def test_logfmt(self):
        self.check_dead_letters(self.read(self.dead_letters().err, logfmt))

    def test_json(self):
        result = self.dead_letters('--log-format', 'json', '--log-level', 'debug')
        lines = self.read(result.err, json.loads)
        self.check_dead_letters(lines)
        self.assertTrue(any(x['msg'] == 'started' and x['command'] == 'catchup' for x in lines))

    def test_every_long_command_names_its_run(self):
        demo, archive = self.demo(), self.archive()
        self.catchup(archive, demo, '--end-id', 50)
        dump = self.folder / 'a.ndjson'
        runs = set()
        for arguments in (['export', dump], ['import', dump], ['verify']):
            result = self.run_tain(*arguments, '--db', archive.uri, '--log-level', 'debug',
                                   '--progress', 'none', '--json')
            self.assertEqual(result.code, EXIT_DONE, result)
            for line in self.read(result.err, logfmt):
                runs.add(line['run'])
        self.assertEqual(len(runs), 3)

    def test_what_repeats_is_written_once(self):
        dump = self.folder / 'broken.ndjson'
        dump.write_text('{"id":1,"type":"story"}\n' + 'nonsense\n' * 30, encoding='utf-8')
        archive = self.archive()
        result = self.run_tain('import', dump, '--db', archive.uri, '--progress', 'none', '--json')
        lines = [x for x in self.read(result.err, logfmt) if x['msg'] == 'broken line']
        self.assertEqual(len(lines), 11)  # ten, and one for the rest of those that are named
        self.assertEqual(lines[-1]['repeated'], '10')
        self.assertEqual(lines[-1]['line'], '21')

    def test_the_reason_of_an_end_is_a_line_too(self):
        for command in ('catchup', 'updater', 'verify', 'export', 'import', 'status'):
            result = self.run_tain(command, '--db', 'sqlite:/nowhere/a.db', '--log-format', 'json')
            self.assertEqual(result.code, EXIT_FAILED, result)
            last = self.read(result.err, json.loads)[-1]
            self.assertEqual((last['level'], last['command']), ('error', command))
            self.assertIn('/nowhere/a.db', last['error'])

    def test_wrong_usage_is_a_line_too(self):
        for arguments, env in ((['--log-format', 'json', '--limit', 'x'], {}),
                               (['--limit', 'x', '--log-format=json'], {}),
                               (['--nonsense'], {'TAIN_LOG_FORMAT': 'json'}),
                               (['--start-id', 5, '--end-id', 4, '--log-format', 'json'], {})):
            result = self.run_tain('catchup', *arguments, env=env)
            self.assertEqual(result.code, EXIT_USAGE, result)
            last, = self.read(result.err, json.loads)
            self.assertEqual((last['level'], last['command']), ('error', 'catchup'))
        result = self.run_tain('catchup', '--limit', 'x', '--log-format', 'text',
                               env={'TAIN_LOG_FORMAT': 'json'})
        self.assertIn("Try 'tain catchup --help'", result.err)

    def test_the_summary_is_a_line_too(self):
        demo, archive = self.demo(), self.archive()
        for arguments in ((), (), ('--start-id', 90000)):  # a run, and two with nothing to do
            end = 95000 if arguments else 100
            result = self.run_tain('catchup', '--db', archive.uri, '--upstream', demo.url, '--rps',
                                   0, '--end-id', end, '--log-format', 'json', *arguments)
            self.assertEqual(result.code, EXIT_DONE, result)
            last = self.read(result.err, json.loads)[-1]
            self.assertEqual((last['msg'], last['command']), ('finished', 'catchup'))
        self.assertEqual(archive.rows('SELECT COUNT(*) FROM items')[0][0], 100)

    def test_silence(self):
        self.assertEqual(self.dead_letters('--log-level', 'off').err, '')


class Updater(OnSqlite, E2E):
    def test_role_stream_and_dead_letters(self):
        demo, archive = self.demo('id=39990:status=500'), self.archive()
        run = self.start('updater', '--db', archive.uri, '--upstream', demo.url, '--rps', 0,
                         '--start-id', 39900, '--realtime-attempts', 1)
        wait_until(lambda: 'following the event stream' in run.so_far(), what='the stream')
        demo.ask('POST', '/demo/mention?from=39990&n=1')
        wait_until(lambda: 'item=39990' in run.so_far(), what='the id that cannot be had')
        demo.stop()
        wait_until(lambda: 'msg="no event stream"' in run.so_far(), what='the loss of the stream')
        run.signal(signal.SIGTERM)
        result = run.wait()
        self.assertEqual(result.code, EXIT_DONE, result)
        lines = [logfmt(line) for line in result.err.splitlines()]
        self.assertNotIn(None, lines, result.err)
        said = {x['msg']: x for x in lines}
        self.assertIn('this updater is active', said)
        self.assertIn('reason', said['no event stream'])
        self.assertIn('stopped; everything is written', said)
        self.assertEqual(len({x['run'] for x in lines}), 1)


class Secrets(OnPostgres, E2E):
    """Every command, at debug, with an address that holds a password."""
    PASSWORD = 'correcthorse'
    CARELESS = ['cor%zzrect', 'cor@rect', 'cor/rect', 'cor?rect', 'correct%']

    def with_password(self, uri, password=PASSWORD):
        return uri.replace('postgres@', f'postgres:{password}@')

    def assert_hidden(self, text, *secrets):
        for secret in secrets:
            self.assertNotIn(secret.lower(), text.lower())

    def everything(self, env, *arguments, codes):
        result = self.run_tain(*arguments, '--log-level', 'debug', env=env)
        self.assertIn(result.code, codes, result)
        self.assert_hidden(str(result), self.PASSWORD)
        return result

    def commands(self, demo):
        dump = self.folder / 'a.ndjson'
        upstream = ['--upstream', demo.url]
        yield ['migrate']
        yield ['catchup', *upstream, *QUICK, '--end-id', '60', '--retry-attempts', '1']
        yield ['status']
        yield ['verify', *upstream, '--sample', '5', '--progress', 'none']
        yield ['dead-letter', 'list']
        yield ['export', dump, '--progress', 'none']
        yield ['import', dump, '--progress', 'none']
        yield ['doctor', *upstream]

    def test_when_all_is_well(self):
        demo, archive = self.demo('id=7:status=500'), self.archive()
        env = {'TAIN_DB': self.with_password(archive.uri)}
        for command in self.commands(demo):
            with self.subTest(command[0]):
                self.everything(env, *command, codes=(EXIT_DONE, EXIT_UNRESOLVED))

    def test_when_nobody_answers(self):
        demo = self.demo()
        env = {'TAIN_DB': f'postgres://postgres:{self.PASSWORD}@127.0.0.1:{free_port()}/hn'}
        (self.folder / 'a.ndjson').write_text('{"id":1}\n', encoding='utf-8')
        for command in self.commands(demo):
            with self.subTest(command[0]):
                self.everything(env, *command, codes=(EXIT_FAILED,))

    def test_an_updater_whose_sessions_are_cut(self):
        demo, archive = self.demo(maxitem=3000), self.archive()
        port = free_port()
        env = {'TAIN_DB': self.with_password(archive.uri)}
        run = self.start('updater', '--upstream', demo.url, '--rps', 0, '--log-level', 'debug',
                         '--metrics-bind', f'127.0.0.1:{port}', env=env)
        wait_until(lambda: 'following the event stream' in run.so_far(), what='the stream')
        for _ in range(3):
            archive.execute('SELECT pg_terminate_backend(pid) FROM pg_stat_activity '
                            "WHERE application_name = 'tain' AND datname = current_database()")
        metrics = urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics', timeout=ANSWER).read()
        second = self.start('updater', '--upstream', demo.url, '--log-level', 'debug',
                            '--metrics-bind', '127.0.0.1:0', env=env)
        wait_until(lambda: 'standing by' in second.so_far(), what='the standby')
        for process in (second, run):
            process.signal(signal.SIGTERM)
            self.assert_hidden(str(process.wait()), self.PASSWORD)
        self.assert_hidden(metrics.decode(), self.PASSWORD)

    def test_passwords_that_are_written_carelessly(self):
        port = free_port()
        for password in self.CARELESS:
            for uri in (f'postgres://me:{password}@127.0.0.1:{port}/hn',
                        f'postgres://127.0.0.1:{port}/hn?password={password}'):
                with self.subTest(uri):
                    for command in (['status'], ['doctor', '--upstream', 'http://127.0.0.1:1/v0'],
                                    ['updater', '--log-level', 'debug']):
                        result = self.run_tain(*command, env={'TAIN_DB': uri})
                        self.assertIn(result.code, (EXIT_FAILED, EXIT_USAGE), result)
                        self.assert_hidden(str(result), 'rect', password)

    def test_a_broken_address(self):
        uri = f'postgres://me:{self.PASSWORD}@[::1/hn'
        self.assert_hidden(str(self.run_tain('status', env={'TAIN_DB': uri})), self.PASSWORD)

    def test_an_upstream_with_a_password(self):
        for env, arguments in (({'TAIN_UPSTREAM': f'https://me:{self.PASSWORD}@host/v0'}, []),
                               ({}, ['--upstream', f'https://me:{self.PASSWORD}@host/v0'])):
            result = self.run_tain('catchup', *arguments, env=env)
            self.assertEqual(result.code, EXIT_USAGE, result)
            self.assert_hidden(str(result), self.PASSWORD)

    def test_the_password_can_be_found_at_all(self):
        """So that the tests above are not blind."""
        done = subprocess.run([TAIN, 'catchup', '--limit', self.PASSWORD], capture_output=True,
                              text=True, check=False)
        with self.assertRaises(AssertionError):
            self.assert_hidden(done.stderr, self.PASSWORD)
