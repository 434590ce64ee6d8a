"""Dumps that are not what they should be, and commands that ask for the wrong one: each is told
what is wrong before anything is written, and what was there stays as it was."""

import json
import os
import subprocess
import unittest

from lib import (ANSWER, E2E, EXIT_DONE, EXIT_FAILED, EXIT_UNRESOLVED, EXIT_USAGE, TAIN, OnPostgres,
                 OnSqlite, environment, wait_until)

BOM = b'\xef\xbb\xbf'
MIB = 1 << 20


def lines_of(lo, hi):
    done = subprocess.run([TAIN, 'demo', '--maxitem', '40000', '--seed', '1', '--dump',
                           f'{lo}-{hi}'], stdout=subprocess.PIPE, check=True, env=environment())
    return done.stdout


class Trouble(E2E):
    def command(self, name, path, archive, *arguments, code=EXIT_DONE):
        result = self.run_tain(name, path, '--db', archive.uri, '--progress', 'none', *arguments)
        self.assertEqual(result.code, code, result)
        return result

    def do_import(self, path, archive, *arguments, code=EXIT_DONE):
        return self.command('import', path, archive, *arguments, code=code)

    def do_export(self, path, archive, *arguments, code=EXIT_DONE):
        return self.command('export', path, archive, *arguments, code=code)

    def filled(self, last=6000):
        archive, path = self.archive(), self.folder / 'source.ndjson'
        path.write_bytes(lines_of(1, last))
        self.do_import(path, archive)
        path.unlink()
        return archive

    def files(self):
        """{name: bytes} of what lies beside the archives."""
        return {p.name: p.read_bytes() for p in self.folder.iterdir() if '.db' not in p.name}


class Resuming(Trouble):
    """An export that is gone on with must be the beginning of the one that is asked for: the
    checksum that it gets vouches for all of it."""

    def refused(self, archive, path, words, *arguments):
        before = self.files()
        result = self.do_export(path, archive, '--resume', *arguments, code=EXIT_FAILED)
        self.assertIn(words, result.err)
        self.assertEqual(self.files(), before, 'what was there stays')

    def test_another_range(self):
        archive = self.filled()
        for name in ('x.ndjson', 'x.ndjson.zst'):
            path = self.folder / name
            self.do_export(path, archive, '--start-id', 5000)
            self.refused(archive, path, '--start-id 5000 goes on with it')
            self.refused(archive, path, 'would with 100', '--start-id', 100)
            self.refused(archive, path, 'behind --end-id', '--start-id', 5000, '--end-id', 5500)
            self.do_export(path, archive, '--resume', '--start-id', 5000)
            self.do_export(path, archive)
            self.refused(archive, path, '--start-id 1 goes on with it', '--start-id', 5000)

    def test_another_archive(self):
        large, small = self.filled(), self.filled(1000)
        path = self.folder / 'x.ndjson'
        self.do_export(path, large)
        self.refused(small, path, 'which this archive does not have')

    def test_a_part_that_is_not_ours(self):
        archive = self.filled()
        whole, part = self.folder / 'x.ndjson', self.folder / 'x.ndjson.part'
        self.do_export(whole, archive)
        lines = whole.read_bytes().splitlines(keepends=True)
        whole.rename(self.folder / 'kept')
        for words, rest in (
                ('is no item', lines[:100] + [b'junk in the middle\n'] + lines[100:200]),
                ('does not come behind', lines[:100] + lines[50:60]),
                ('goes on with it', lines[10:200]),
                ('which this archive does not have', [b'{"id":99999999}\n'])):
            with self.subTest(words):
                part.write_bytes(b''.join(rest))
                self.refused(archive, whole, words)
        part.write_bytes(b''.join(lines[:100]) + b'{"id":')
        self.do_export(whole, archive, '--resume')
        self.assertEqual(whole.read_bytes(), (self.folder / 'kept').read_bytes())


class ResumingOnSqlite(OnSqlite, Resuming):
    pass


class ResumingOnPostgres(OnPostgres, Resuming):
    pass


class Twice(Trouble):
    """A dump has one reader for each archive."""

    def test_a_second_import_is_refused(self):
        archive, path = self.archive(), self.folder / 'pipe'
        os.mkfifo(path)
        text = lines_of(1, 12000)
        command = ('import', path, '--db', archive.uri, '--progress', 'none')
        first = self.start(*command)
        with open(path, 'wb') as pipe:
            pipe.write(text)
            pipe.flush()
            wait_until(lambda: archive.snapshot() and archive.rows(
                'SELECT lines FROM imports WHERE lines >= 5000'), what='some lines stored')
            plain = self.folder / 'same'  # a pipe is known by its beginning, whoever feeds it
            os.mkfifo(plain)
            second = self.start('import', plain, '--db', archive.uri, '--progress', 'none')
            with open(plain, 'wb') as other:
                try:
                    other.write(text)
                except BrokenPipeError:
                    pass  # it has seen enough
                result = second.wait()
        self.assertEqual(result.code, EXIT_FAILED, result)
        self.assertIn('imports this dump into this archive', result.err)
        done = first.wait()
        self.assertEqual(done.code, EXIT_DONE, done)

    def test_the_dead_have_no_say(self):
        archive, path = self.archive(), self.folder / 'd.ndjson'
        path.write_bytes(lines_of(1, 12000))
        result = self.run_tain('import', path, '--db', archive.uri, '--progress', 'none',
                               env={'TAIN_FAULT': 'db_after_commit:3:kill'})
        self.assertLess(result.code, 0)
        self.do_import(path, archive)

    def test_one_after_the_other(self):
        archive, path = self.archive(), self.folder / 'd.ndjson'
        path.write_bytes(lines_of(1, 500))
        self.do_import(path, archive)
        self.do_import(path, archive)


class TwiceOnSqlite(OnSqlite, Twice):
    pass


class TwiceOnPostgres(OnPostgres, Twice):
    pass


class Streams(OnSqlite, Trouble):
    """A standard stream that is closed is no stream at all; no other file may take its place."""

    def without(self, redirection, *arguments):
        words = ' '.join(f"'{a}'" for a in (TAIN, *arguments))
        done = subprocess.run(['sh', '-c', f'{words} {redirection}'], cwd=self.folder,
                              timeout=ANSWER, stdin=subprocess.DEVNULL, env=environment(),
                              text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        return done.returncode, done.stderr

    def test_import_without_input(self):
        for word in ((), ('-',)):
            code, err = self.without('<&-', 'import', *word, '--db', 'sqlite:new.db')
            self.assertEqual(code, EXIT_USAGE, err)
            self.assertIn('standard input is closed', err)
        self.assertEqual(os.listdir(self.folder), [])

    def test_export_without_output(self):
        archive = self.filled(100)
        for word in ((), ('-',)):
            code, err = self.without('>&-', 'export', *word, '--db', archive.uri)
            self.assertEqual(code, EXIT_USAGE, err)
            self.assertIn('standard output is closed', err)

    def test_a_report_that_goes_nowhere_is_no_success(self):
        archive = self.filled(100)
        code, err = self.without('>&-', 'status', '--db', archive.uri)
        self.assertEqual(code, EXIT_FAILED, err)
        self.assertIn('cannot write to standard output', err)

    def test_all_closed(self):
        archive, path = self.archive(), self.folder / 'd.ndjson'
        path.write_bytes(lines_of(1, 300))
        code, _ = self.without('<&- >&- 2>&-', 'import', path, '--db', archive.uri)
        self.assertEqual(code, EXIT_DONE)
        self.assertGreater(archive.rows('SELECT COUNT(*) FROM items')[0][0], 200)


class Lines(OnSqlite, Trouble):
    def test_a_byte_order_mark(self):
        archive, path = self.archive(), self.folder / 'd.ndjson'
        path.write_bytes(BOM + lines_of(1, 50))
        self.do_import(path, archive)
        self.assertEqual(archive.rows('SELECT id FROM items ORDER BY id LIMIT 1'), [(1,)])

    def test_a_line_that_is_too_long_shows_its_beginning(self):
        archive, path = self.archive(), self.folder / 'd.ndjson'
        path.write_bytes(b'{"id":1,"type":"story"}\n{"id":77,"text":"' + b'x' * (9 * MIB) +
                         b'"}\n{"id":2,"type":"job"}\n')
        result = self.do_import(path, archive, '--json', code=EXIT_UNRESOLVED)
        line, = json.loads(result.out)['broken_lines']
        self.assertEqual((line['line'], line['class']), (2, 'too_large'))
        self.assertTrue(line['text'].startswith('{"id":77,"text":"xxx'), line)
        self.assertEqual(archive.rows('SELECT id FROM items ORDER BY id'), [(1,), (2,)])

    def test_a_cut_off_file_says_how_to_go_on(self):
        archive, path = self.archive(), self.folder / 'd.ndjson.zst'
        packed = subprocess.run(['zstd', '-qc'], input=lines_of(1, 3000), stdout=subprocess.PIPE,
                                check=True).stdout
        path.write_bytes(packed[:-500])
        result = self.do_import(path, archive, code=EXIT_FAILED)
        self.assertIn('in the middle of its compressed data', result.err)
        self.assertIn('Nothing that was stored is lost. When that is mended, go on with: tain '
                      'import', result.err)
        path.write_bytes(packed)
        self.do_import(path, archive)


class Names(OnSqlite, Trouble):
    def test_a_checksum_of_another_file(self):
        archive, path = self.archive(), self.folder / 'd.ndjson'
        path.write_bytes(lines_of(1, 50))
        (self.folder / 'd.ndjson.sha256').write_text('0' * 64 + '  other.ndjson\n')
        result = self.do_import(path, archive, code=EXIT_FAILED)
        self.assertRegex(result.err, r'tain import: \S+\.sha256 has no checksum for d\.ndjson; '
                                     r'--no-checksum imports without one\n')
        self.do_import(path, archive, '--no-checksum')

    def test_a_folder_is_no_dump(self):
        archive, folder = self.filled(100), self.folder / 'dumps'
        folder.mkdir()
        before = sorted(os.listdir(self.folder))
        result = self.do_export(folder, archive, code=EXIT_FAILED)
        self.assertIn('is a folder; name a file in it', result.err)
        self.assertNotIn('--resume', result.err)
        self.assertEqual(sorted(os.listdir(self.folder)), before)


del Trouble, Resuming, Twice  # not tests themselves

if __name__ == '__main__':
    unittest.main()
