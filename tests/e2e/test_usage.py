"""Wrong usage names what is wrong and exits 2; a place that cannot hold an archive, or is full,
ends the run with exit code 1 and words that help, and costs nothing that was stored."""

import os
import pathlib
import subprocess
import unittest

from lib import (E2E, EXIT_DONE, EXIT_FAILED, EXIT_USAGE, TAIN, OnPostgres, Sqlite, environment,
                 free_port)
from lib import dump as dump_truth

DUMPED = 20000  # ids, several batches of an import
NOBODY = 'http://127.0.0.1:1/v0'  # never asked in these tests


class Options(E2E):
    WRONG = [  # arguments, words that the message has to hold
        (['--limit', '0'], ['--limit', "'0'"]),
        (['--limit', 'many'], ['--limit', "'many'"]),
        (['--limit'], ['--limit', 'value']),
        (['--start-id', '5', '--end-id', '2'], ['--start-id 5', '--end-id 2']),
        (['--start-id', '-1'], ['--start-id']),
        (['--end-id', '99999999999999999999'], ['--end-id']),
        (['--segment-width', '0'], ['--segment-width']),
        (['--batch-size', '1e3'], ['--batch-size']),
        (['--concurrency', '0'], ['--concurrency']),
        (['--rps', '-1'], ['--rps']),
        (['--rps', 'nan'], ['--rps']),
        (['--wait', 'soon'], ['--wait', "'soon'"]),
        (['--lease', '1ms'], ['--lease']),
        (['--retry-attempts', '0'], ['--retry-attempts']),
        (['--retry-initial-ms', '500', '--retry-max-ms', '20'],
         ['--retry-initial-ms 500', '--retry-max-ms 20']),
        (['--progress', 'fancy'], ['--progress', 'bar']),
        (['--revisions', 'some'], ['--revisions', 'content']),
        (['--max-body', '1'], ['--max-body']),
        (['--metrics-bind', 'here'], ['--metrics-bind', 'ADDR:PORT']),
        (['--upstream', 'ftp://example.org'], ['--upstream', 'http://']),
        (['--db', 'mysql://here'], ['--db', 'sqlite:PATH']),
        (['--schema', 'Tain; DROP'], ['--schema']),
        (['--ca-file', '/nowhere/ca.pem'], ['--ca-file', '/nowhere/ca.pem']),
        (['--config', '/nowhere/tain.conf'], ['/nowhere/tain.conf']),
        (['--frobnicate'], ['--frobnicate']),
        (['surplus'], ['surplus']),
    ]

    def test_wrong_options_are_named(self):
        for arguments, words in self.WRONG:
            with self.subTest(' '.join(arguments)):
                result = self.run_tain('catchup', *arguments)
                self.assertEqual(result.code, EXIT_USAGE, result)
                self.assertEqual(result.out, '')
                for word in words:
                    self.assertIn(word, result.err)
                self.assertIn("Try 'tain catchup --help'", result.err)
        self.assertEqual(list(self.folder.iterdir()), [], 'nothing was made')

    def test_password_on_the_command_line(self):
        for uri in ('postgres://me:hunter2@127.0.0.1/hn',
                    'postgresql://127.0.0.1/hn?user=me&password=hunter2'):
            result = self.run_tain('catchup', '--db', uri)
            self.assertEqual(result.code, EXIT_USAGE, result)
            self.assertIn('--db', result.err)
            self.assertIn('TAIN_DB', result.err)
            self.assertNotIn('hunter2', result.err)

    def test_password_in_the_environment_is_not_repeated(self):
        uri = f'postgres://me:hunter2@127.0.0.1:{free_port()}/hn'
        result = self.run_tain('status', env={'TAIN_DB': uri})
        self.assertEqual(result.code, EXIT_FAILED, result)
        self.assertIn('PostgreSQL', result.err)
        self.assertNotIn('hunter2', result.err)

    def test_environment_and_file(self):
        result = self.run_tain('catchup', env={'TAIN_LIMIT': 'many'})
        self.assertEqual(result.code, EXIT_USAGE, result)
        self.assertIn('TAIN_LIMIT', result.err)
        config = self.folder / 'tain.conf'
        config.write_text('limit = many\n', encoding='utf-8')
        result = self.run_tain('catchup', '--config', config)
        self.assertEqual(result.code, EXIT_USAGE, result)
        self.assertIn('tain.conf', result.err)
        self.assertIn('limit', result.err)

    def test_commands(self):
        result = self.run_tain('ctchup')
        self.assertEqual(result.code, EXIT_USAGE, result)
        self.assertIn("'ctchup'", result.err)
        self.assertIn('tain catchup', result.err)
        self.assertEqual(self.run_tain().code, EXIT_USAGE)
        result = self.run_tain('status', '--limit', 5)
        self.assertEqual(result.code, EXIT_USAGE, result)
        self.assertIn('--limit', result.err)
        result = self.run_tain('demo', '--fault', 'id=1:nonsense')
        self.assertEqual(result.code, EXIT_USAGE, result)
        self.assertIn('nonsense', result.err)

    def test_help(self):
        overview = self.run_tain('--help')
        self.assertEqual(overview.code, 0)
        for command in ('catchup', 'status', 'migrate', 'demo'):
            self.assertIn(command, overview.out)
            page = self.run_tain(command, '--help')
            self.assertEqual(page.code, 0)
            self.assertIn(f'tain {command}', page.out)
            self.assertIn('xample', page.out)
        self.assertEqual(self.run_tain('--version').code, 0)


class Places(E2E):
    """Where there is no archive, and where none can be."""

    def fails(self, command, archive, *words):
        arguments = ['--upstream', NOBODY, '--progress', 'none'] if command == 'catchup' else []
        result = self.run_tain(command, '--db', archive.uri, *arguments)
        self.assertEqual(result.code, EXIT_FAILED, result)
        self.assertEqual(result.out, '')
        for word in words:
            self.assertIn(word, result.err)

    def test_no_archive(self):
        archive = Sqlite(self.folder / 'none.db')
        self.fails('status', archive, archive.path, 'tain catchup')
        self.assertFalse(os.path.exists(archive.path), 'a question must not make a file')

    def test_no_folder(self):
        archive = Sqlite(self.folder / 'no' / 'folder.db')
        for command in ('status', 'catchup', 'migrate'):
            self.fails(command, archive, archive.path)

    def test_a_folder(self):
        for command in ('status', 'catchup', 'migrate'):
            self.fails(command, Sqlite(self.folder), str(self.folder))

    def test_not_a_database(self):
        path = self.folder / 'letter.txt'
        path.write_text('Dear reader, ' * 200, encoding='utf-8')
        before = path.read_bytes()
        for command in ('status', 'catchup', 'migrate'):
            self.fails(command, Sqlite(path), str(path), 'not a database')
        self.assertEqual(path.read_bytes(), before)

    def test_somebody_elses_database(self):
        archive = Sqlite(self.folder / 'other.db')
        archive.execute('CREATE TABLE recipes (name TEXT)')
        self.fails('status', archive, 'no archive')

    def test_no_migrate(self):
        archive = Sqlite(self.folder / 'new.db')
        result = self.run_tain('catchup', '--db', archive.uri, '--upstream', NOBODY, '--no-migrate')
        self.assertEqual(result.code, EXIT_FAILED, result)
        self.assertIn('no archive', result.err)

    def test_a_schema_of_the_future(self):
        archive = Sqlite(self.folder / 'future.db')
        self.assertEqual(self.run_tain('migrate', '--db', archive.uri).code, 0)
        tables = [r[0] for r in archive.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
        versions = [t for t in tables if 'migration' in t or 'version' in t]
        if versions:
            columns = [r[1] for r in archive.rows(f'PRAGMA table_info({versions[0]})')]
            archive.execute(f'UPDATE {versions[0]} SET {columns[0]} = 99 WHERE {columns[0]} = '
                            f'(SELECT MAX({columns[0]}) FROM {versions[0]})')
        else:
            archive.execute('PRAGMA user_version = 99')
        for command in ('status', 'catchup'):
            self.fails(command, archive, '99', 'newer tain')


class PostgresPlaces(OnPostgres, E2E):
    def test_no_archive(self):
        archive = self.archive()
        result = self.run_tain('status', '--db', archive.uri)
        self.assertEqual(result.code, EXIT_FAILED, result)
        self.assertIn('no archive', result.err)
        self.assertEqual(archive.rows("SELECT COUNT(*) FROM pg_namespace WHERE nspname = 'tain'"),
                         [(0,)])

    def test_no_database(self):
        result = self.run_tain('catchup', '--db', self.server.uri('nowhere'), '--upstream', NOBODY)
        self.assertEqual(result.code, EXIT_FAILED, result)
        self.assertIn('nowhere', result.err)

    def test_a_schema_of_ones_own(self):
        demo, archive = self.demo(), self.archive()
        self.catchup(archive, demo, '--end-id', 50, '--schema', 'hn_copy')
        self.assertEqual(archive.rows('SELECT COUNT(*) FROM hn_copy.items'), [(50,)])
        self.assertEqual(archive.rows("SELECT COUNT(*) FROM pg_namespace WHERE nspname = 'tain'"),
                         [(0,)])


class Disks(E2E):
    """On a small file system of its own."""

    def mounted(self, size):
        place = self.folder / 'disk'
        place.mkdir()
        command = ['mount', '-t', 'tmpfs', '-o', f'size={size}', 'tain-test', str(place)]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except OSError as missing:
            self.skipTest(f'cannot mount: {missing}')
        if done.returncode:
            self.skipTest(f'cannot mount: {done.stdout.decode().strip()}')
        self.addCleanup(subprocess.run, ['umount', str(place)], check=True)
        return pathlib.Path(place)

    def remount(self, place, options):
        subprocess.run(['mount', '-o', f'remount,{options}', str(place)], check=True)

    def test_full(self):
        place = self.mounted('3m')
        demo, archive = self.demo(), Sqlite(place / 'archive.db')
        result = self.start_catchup(archive, demo, '--end-id', 6000).wait()
        self.assertEqual(result.code, EXIT_FAILED, result)
        self.assertIn('disk', result.report['stop_reason'])
        self.assertIn('full', result.report['stop_reason'])
        look = self.assert_invariants(archive)
        self.assertGreater(len(look.ids), 0)
        self.assertGreaterEqual(len(look.ids), result.report['stored'])
        again = self.start_catchup(archive, demo, '--end-id', 6000).wait()
        self.assertEqual(again.code, EXIT_FAILED, 'there is still no room')
        self.assertLessEqual(len(look.ids), len(self.assert_invariants(archive).ids))
        self.remount(place, 'size=64m')
        self.catchup(archive, demo, '--end-id', 6000)
        self.assert_complete(archive, demo, 1, 6000)

    def test_full_from_the_start(self):
        place = self.mounted('64k')
        demo, archive = self.demo(), Sqlite(place / 'archive.db')
        result = self.start_catchup(archive, demo, '--end-id', 100).wait()
        self.assertEqual(result.code, EXIT_FAILED, result)
        self.assertIn('full', result.err + result.out)

    def test_full_while_importing(self):
        place, dump = self.mounted('9m'), self.folder / 'd.ndjson'
        archive = Sqlite(place / 'archive.db')
        self.write_dump(dump)
        command = ('import', dump, '--db', archive.uri, '--progress', 'none')
        result = self.run_tain(*command)
        self.assertEqual(result.code, EXIT_FAILED, result)
        self.assertIn('disk is full', result.err)
        self.assertIn('When that is mended, go on with: tain import', result.err)
        look = self.assert_invariants(archive)
        self.assertEqual(archive.rows('SELECT items FROM imports'), [(len(look.ids),)],
                         'the place and the items are one')
        self.assertEqual(self.run_tain(*command).code, EXIT_FAILED, 'there is still no room')
        self.remount(place, 'size=128m')
        done = self.run_tain(*command, '--json')
        self.assertEqual(done.code, EXIT_DONE, done)
        self.assertGreaterEqual(done.report['resumed_lines'], len(look.ids))
        self.assertGreater(len(look.ids), 0, 'a batch had room')
        self.assert_kept(look.ids, self.look(archive).ids)
        self.assert_truth(archive, dump_truth(1, DUMPED, 40000, 1))

    def test_full_while_exporting(self):
        place, dump = self.mounted('1m'), self.folder / 'd.ndjson'
        archive = Sqlite(self.folder / 'archive.db')
        self.write_dump(dump)
        self.move('import', dump, archive)
        for name in ('out.ndjson', 'out.ndjson.zst'):
            whole, path = self.folder / name, place / name
            self.move('export', whole, archive)
            self.remount(place, f'size={whole.stat().st_size // 2}')
            result = self.move('export', path, archive, code=EXIT_FAILED)
            self.assertIn('No space left on device', result.err)
            self.assertRegex(result.err, r'go on with: tain export .*--resume')
            self.assertFalse(path.exists(), 'no name before the end')
            self.remount(place, 'size=64m')
            self.move('export', path, archive, '--resume')
            self.assertEqual(self.text_of(path), self.text_of(whole))
            subprocess.run(['sha256sum', '--quiet', '-c', name + '.sha256'], cwd=place, check=True)
            path.unlink()

    def write_dump(self, path):
        with open(path, 'wb') as out:
            subprocess.run([TAIN, 'demo', '--maxitem', '40000', '--seed', '1', '--dump',
                            f'1-{DUMPED}'], stdout=out, check=True, env=environment())

    def move(self, command, path, archive, *arguments, code=EXIT_DONE):
        result = self.run_tain(command, path, '--db', archive.uri, '--progress', 'none', *arguments)
        self.assertEqual(result.code, code, result)
        return result

    @staticmethod
    def text_of(path):
        command = ['zstd', '-dc', path] if path.suffix == '.zst' else ['cat', path]
        return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout

    def test_read_only(self):
        place = self.mounted('16m')
        demo, archive = self.demo(), Sqlite(place / 'archive.db')
        self.catchup(archive, demo, '--end-id', 300)
        self.remount(place, 'ro')
        result = self.start_catchup(archive, demo, '--end-id', 400).wait()
        self.assertEqual(result.code, EXIT_FAILED, result)
        self.assertIn('Read-only', result.err)
        self.remount(place, 'rw')
        self.catchup(archive, demo, '--end-id', 400)
        self.assert_complete(archive, demo, 1, 400)


if __name__ == '__main__':
    unittest.main()
