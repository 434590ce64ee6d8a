"""`tain doctor`: a line per check, with what to do; 0 unless something fails."""

import contextlib
import http.server
import resource
import subprocess
import threading
import unittest

from lib import (E2E, EXIT_DONE, EXIT_FAILED, EXIT_USAGE, TAIN, OnPostgres, OnSqlite, environment,
                 free_port)


@contextlib.contextmanager
def upstream(body=b'4711', date=None):
    """Answers everything with the same words, at a time of its own."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def date_time_string(self, timestamp=None):
            return date or super().date_time_string(timestamp)

        def do_GET(self):
            self.send_response(200)
            self.send_header('Content-Length', str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f'http://127.0.0.1:{server.server_port}/v0'
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Doctor(E2E):
    def checks(self, *arguments, code=EXIT_DONE, env=None):
        """{name: [(level, text, advice), ...]}"""
        result = self.run_tain('doctor', '--json', *arguments, env=env)
        self.assertEqual(result.code, code, result)
        found = {}
        for check in result.report['checks']:
            found.setdefault(check['name'], []).append(
                (check['level'], check['text'], check['advice']))
        return found

    def level(self, checks, name):
        return [level for level, _, _ in checks[name]]


class Healthy(Doctor):
    def test_all_is_well(self):
        demo, archive = self.demo(), self.archive()
        self.catchup(archive, demo, '--end-id', 50)
        checks = self.checks('--db', archive.uri, '--upstream', demo.url)
        for name in ('database', 'schema', 'write', 'integrity', 'upstream', 'clock', 'disk',
                     'files', 'libraries', 'option'):
            self.assertEqual(set(self.level(checks, name)), {'ok'}, checks[name])
        self.assertIn('40000', checks['upstream'][0][1])
        self.assertIn('HTTP/1.1', checks['upstream'][0][1])
        for library in ('libcurl', 'SQLite', 'libpq', 'libmicrohttpd', 'zstd'):
            self.assertIn(library, checks['libraries'][0][1])
        text = self.run_tain('doctor', '--db', archive.uri, '--upstream', demo.url)
        self.assertEqual(text.code, EXIT_DONE, text)
        for line in text.out.splitlines():
            self.assertRegex(line, r'^(ok|warn|fail) +[a-z]+ +\S')

    def test_an_old_schema(self):
        demo, archive = self.demo(), self.archive()
        self.run_tain('migrate', '--db', archive.uri)
        archive.execute('DELETE FROM schema_migrations WHERE version > 1')
        checks = self.checks('--db', archive.uri, '--upstream', demo.url)
        self.assertEqual(checks['schema'][0][0::2], ('warn', "run 'tain migrate'"))

    def test_a_newer_schema(self):
        demo, archive = self.demo(), self.archive()
        self.run_tain('migrate', '--db', archive.uri)
        archive.execute('UPDATE schema_migrations SET version = 99 WHERE version = '
                        '(SELECT MAX(version) FROM schema_migrations)')
        checks = self.checks('--db', archive.uri, '--upstream', demo.url, code=EXIT_FAILED)
        self.assertEqual(checks['schema'][0][0::2], ('fail', 'use a newer tain'))

    def test_a_schema_with_holes(self):
        demo = self.demo()
        for loss, words in (('DROP TABLE kids', 'kids'),
                            ('ALTER TABLE users DROP COLUMN submitted', 'submitted'),
                            ('DROP INDEX item_revisions_item', 'item_revisions_item')):
            with self.subTest(loss):
                archive = self.archive()
                self.run_tain('migrate', '--db', archive.uri)
                archive.execute(loss)
                checks = self.checks('--db', archive.uri, '--upstream', demo.url,
                                     code=EXIT_FAILED)
                (level, text, advice), = checks['schema']
                self.assertEqual(level, 'fail')
                self.assertRegex(text, f'damaged: .*{words}')
                self.assertIn('restore a copy', advice)

    def test_nothing_is_changed(self):
        demo, archive = self.demo(), self.archive()
        self.catchup(archive, demo, '--end-id', 50)
        before = archive.snapshot()
        self.checks('--db', archive.uri, '--upstream', demo.url)
        self.assertEqual(archive.snapshot(), before)


class HealthyOnSqlite(OnSqlite, Healthy):
    pass


class HealthyOnPostgres(OnPostgres, Healthy):
    def test_an_empty_database(self):
        archive = self.archive()
        with upstream() as url:
            checks = self.checks('--db', archive.uri, '--upstream', url)
        self.assertEqual(checks['schema'][0][0::2], ('warn', "'tain catchup' makes one"))
        self.assertNotIn('write', checks)

    def test_without_the_right_to_write(self):
        archive = self.archive()
        self.run_tain('migrate', '--db', archive.uri)
        archive.execute(f'ALTER DATABASE {archive.name} SET default_transaction_read_only = on')
        with upstream() as url:
            checks = self.checks('--db', archive.uri, '--upstream', url, code=EXIT_FAILED)
        self.assertEqual(self.level(checks, 'write'), ['fail'])


class Ill(OnSqlite, Doctor):
    def test_no_archive_yet(self):
        with upstream() as url:
            checks = self.checks('--upstream', url)
        self.assertEqual(self.level(checks, 'database'), ['warn'])
        self.assertFalse((self.folder / 'tain.db').exists())

    def test_no_server(self):
        with upstream() as url:
            checks = self.checks('--db', f'postgres://127.0.0.1:{free_port()}/x', '--upstream',
                                 url, code=EXIT_FAILED)
        self.assertEqual(self.level(checks, 'database'), ['fail'])
        self.assertNotIn('\n', checks['database'][0][1])
        self.assertIn('not looked at from here', checks['disk'][0][1])

    def test_a_damaged_file(self):
        demo, archive = self.demo(), self.archive()
        self.catchup(archive, demo, '--end-id', 500)
        with open(archive.path, 'r+b') as file:
            file.seek(4096 * 3)
            file.write(b'\xa5' * 4096 * 20)
        checks = self.checks('--db', archive.uri, '--upstream', demo.url, code=EXIT_FAILED)
        bad = {name for name, rows in checks.items() if 'fail' in [r[0] for r in rows]}
        self.assertTrue(bad & {'integrity', 'database', 'write'}, checks)

    def test_no_upstream(self):
        checks = self.checks('--upstream', f'http://127.0.0.1:{free_port()}/v0', code=EXIT_FAILED)
        self.assertEqual(self.level(checks, 'upstream'), ['fail'])
        self.assertIn('--upstream', checks['upstream'][0][2])

    def test_not_the_api(self):
        with upstream(b'<html>hello</html>') as url:
            checks = self.checks('--upstream', url, code=EXIT_FAILED)
        self.assertIn('/v0', checks['upstream'][0][2])

    def test_a_wrong_clock(self):
        with upstream(date='Thu, 01 Jan 2015 00:00:00 GMT') as url:
            checks = self.checks('--upstream', url, code=EXIT_FAILED)
        self.assertEqual(self.level(checks, 'clock'), ['fail'])
        self.assertIn('behind', checks['clock'][0][1])

    def test_too_few_files(self):
        with upstream() as url:
            done = subprocess.run(
                [TAIN, 'doctor', '--upstream', url, '--concurrency', '512'], cwd=self.folder,
                env=environment(), text=True, stdout=subprocess.PIPE,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))
        self.assertEqual(done.returncode, EXIT_DONE, done.stdout)
        self.assertRegex(done.stdout, r"warn  files .* raise it with 'ulimit -n 576'")

    def test_no_folder(self):
        with upstream() as url:
            checks = self.checks('--db', f'sqlite:{self.folder}/no/where.db', '--upstream', url,
                                 code=EXIT_FAILED)
        self.assertEqual(self.level(checks, 'disk'), ['fail'])


class Configuration(OnSqlite, Doctor):
    def test_where_options_come_from(self):
        (self.folder / 'tain.conf').write_text('segment_width = "500"\nrps = "7"\n')
        with upstream() as url:
            checks = self.checks(
                '--upstream', url, '--config', 'tain.conf', code=EXIT_FAILED,
                env={'TAIN_DB': f'postgres://me:s3cret@127.0.0.1:{free_port()}/x',
                     'TAIN_BATCH_SIZE': '77', 'TAIN_RPS': '9', 'TAIN_SEGMENT_WITDH': '1'})
        options = [text for _, text, _ in checks['option']]
        self.assertIn('segment-width = 500, from tain.conf: segment_width', options)
        self.assertIn('rps = 9, from TAIN_RPS', options)
        self.assertIn('batch-size = 77, from TAIN_BATCH_SIZE', options)
        self.assertTrue(any('me:***@' in text for text in options), options)
        self.assertNotIn('s3cret', str(checks))
        self.assertIn('TAIN_SEGMENT_WITDH', checks['environment'][0][1])

    def test_a_wrong_variable_is_named(self):
        result = self.run_tain('doctor', env={'TAIN_BATCH_SIZE': 'many'})
        self.assertEqual(result.code, EXIT_USAGE, result)
        self.assertIn('TAIN_BATCH_SIZE', result.err)


class Services(OnSqlite, Doctor):
    """What the environment says of the services behind links; never the secrets in it."""

    def services(self, code=EXIT_DONE, **env):
        demo, archive = self.demo(), self.archive()
        self.run_tain('migrate', '--db', archive.uri)
        result = self.run_tain('doctor', '--json', '--db', archive.uri, '--upstream', demo.url,
                               env=env)
        self.assertEqual(result.code, code, result)
        for name, value in env.items():
            if ('KEY' in name or 'CLIENT' in name) and value:
                self.assertNotIn(value.strip(), result.out)
        self.assertEqual([check for check in result.report['checks']
                          if check['name'] == 'environment'], [])
        return [(check['level'], check['text'] + '; ' + (check['advice'] or ''))
                for check in result.report['checks'] if check['name'] == 'services']

    def assert_said(self, level, words, said):
        self.assertTrue([text for found, text in said if found == level and words in text], said)

    def test_without_credentials(self):
        said = self.services()
        self.assertEqual({level for level, _ in said}, {'ok'})
        self.assert_said('ok', 'Reddit: no credentials; 10 calls a minute', said)
        self.assert_said('ok', 'with TAIN_REDDIT_CLIENT_ID and TAIN_REDDIT_CLIENT_SECRET', said)
        self.assert_said('ok', 'no key; summaries are skipped; with ANTHROPIC_API_KEY', said)
        self.assert_said('ok', '(by TAIN_HN_SEARCH_URL)', said)

    def test_with_credentials(self):
        said = self.services(TAIN_REDDIT_CLIENT_ID='an-id-4711', ANTHROPIC_API_KEY='a-key-4711',
                             TAIN_REDDIT_CLIENT_SECRET='a-secret-4711',
                             TAIN_REDDIT_URL='http://127.0.0.1:9/reddit/')
        self.assertEqual({level for level, _ in said}, {'ok'})
        self.assert_said('ok', 'Reddit: http://127.0.0.1:9/reddit/ (by TAIN_REDDIT_URL)', said)
        self.assert_said('ok', 'credentials are set; 30 calls a minute', said)
        self.assert_said('ok', 'a key is set', said)

    def test_what_is_malformed(self):
        for name, value, words in (
                ('TAIN_REDDIT_URL', 'www.reddit.com', 'is not of the form https://HOST'),
                ('TAIN_HN_SEARCH_URL', 'ftp://a.example', 'is not of the form https://HOST'),
                ('TAIN_HN_SEARCH_URL', 'https://', 'is not of the form https://HOST'),
                ('TAIN_ANTHROPIC_URL', 'https://a b', 'no URL has'),
                ('TAIN_ANTHROPIC_URL', 'https://a/?key=1', 'has a query'),
                ('TAIN_REDDIT_URL', 'https://me:4711@a.example', 'has a user or a password'),
                ('ANTHROPIC_API_KEY', 'a-key-4711\n', 'line ends'),
                ('TAIN_REDDIT_CLIENT_ID', 'an-id-4711', 'TAIN_REDDIT_CLIENT_SECRET is not'),
                ('TAIN_FETCH_ALLOW', 'localhost', 'HOST:PORT')):
            with self.subTest(name, value=value):
                said = self.services(EXIT_FAILED, **{name: value})
                self.assert_said('fail', name, said)
                self.assert_said('fail', words, said)
                self.assertNotIn('4711', str(said))

    def test_what_is_malformed_keeps_a_worker_from_starting(self):
        archive = self.archive()
        result = self.run_tain('enrich', '--db', archive.uri,
                               env={'TAIN_ANTHROPIC_URL': 'api.example.org'})
        self.assertEqual(result.code, EXIT_USAGE, result)
        self.assertIn('TAIN_ANTHROPIC_URL is not of the form https://HOST', result.err)

    def test_pages_of_this_machine(self):
        said = self.services(TAIN_FETCH_ALLOW='localhost:8080')
        self.assert_said('warn', 'TAIN_FETCH_ALLOW: pages may be fetched from this machine', said)


del Doctor, Healthy  # not tests themselves


if __name__ == '__main__':
    unittest.main()
