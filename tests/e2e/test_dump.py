"""Dumps in and out: what a dump holds is not fetched again, a cut-off import or export goes on
where it was, threads come together whatever the order of the lines, and what comes out is what went
in."""

import json
import os
import pathlib
import random
import signal
import subprocess
import unittest

from lib import (ANSWER, E2E, EXIT_DONE, EXIT_FAILED, EXIT_UNRESOLVED, EXIT_USAGE, ROOT, TAIN,
                 OnPostgres, OnSqlite, environment, normalised, wait_until)

LAST = 12000  # three batches of an import, six pages of an export
SHARED = pathlib.Path(os.environ.get('TAIN_SHARED_DATA', ROOT.parent / 'shared' / 'data'))


def dump_lines(lo, hi, maxitem=40000, seed=1):
    done = subprocess.run([TAIN, 'demo', '--maxitem', str(maxitem), '--seed', str(seed), '--dump',
                           f'{lo}-{hi}'], stdout=subprocess.PIPE, check=True, env=environment())
    return done.stdout.decode('utf-8').splitlines()


def read_dump(path):
    """The items of a file, in its order, as the archive should have them."""
    command = ['zstd', '-dc', path] if str(path).endswith('.zst') else ['cat', path]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return [normalised(json.loads(line)) for line in done.stdout.decode('utf-8').splitlines()]


class Dumps(E2E):
    """What all of it shares. `lines`, and the items that they hold, are made once."""

    lines = known = None

    def setUp(self):
        super().setUp()
        if Dumps.lines is None:
            Dumps.lines = dump_lines(1, LAST)
            Dumps.known = self.truth(self.lines)

    def write(self, name, lines):
        path = self.folder / name
        path.write_text('\n'.join(lines) + '\n', encoding='utf-8')
        if name.endswith('.zst'):
            plain = path.rename(self.folder / 'plain')
            subprocess.run(['zstd', '-q', '-f', str(plain), '-o', str(path)], check=True)
        return path

    def do_import(self, archive, path, *arguments, code=EXIT_DONE, env=None):
        result = self.run_tain('import', path, '--db', archive.uri, '--json', '--progress', 'none',
                               *arguments, env=env)
        self.assertEqual(result.code, code, result)
        return result

    def do_export(self, archive, path, *arguments, code=EXIT_DONE, env=None):
        result = self.run_tain('export', path, '--db', archive.uri, '--json', '--progress', 'none',
                               *arguments, env=env)
        self.assertEqual(result.code, code, result)
        return result

    def truth(self, lines):
        known = {}
        for line in lines:
            raw = json.loads(line)
            known[raw['id']] = None if raw.get('missing') else normalised(raw)
        return known

    def assert_whole(self, archive):
        self.assert_truth(archive, self.known)

    def assert_sum(self, path):
        subprocess.run(['sha256sum', '--quiet', '-c', path.name + '.sha256'], cwd=path.parent,
                       check=True)


class In:
    def test_catchup_fetches_only_what_the_dump_lacked(self):
        lines = [li for li in dump_lines(1, 3000) if json.loads(li)['id'] % 10]
        held = {json.loads(li)['id'] for li in lines if not json.loads(li).get('missing')}
        archive, demo = self.archive(), self.demo()
        report = self.do_import(archive, self.write('d.ndjson', lines)).report
        self.assertEqual(report['stored'], len(held))
        self.assertEqual(self.status(archive)['frontier_id'] or 0, 0, 'a dump proves nothing')
        self.catchup(archive, demo, '--end-id', 3000)
        self.assertEqual(demo.stats()['distinct_ids'], 3000 - len(held))
        self.assert_complete(archive, demo, 1, 3000)

    def test_any_order(self):
        mixed = self.lines[:]
        random.Random(5).shuffle(mixed)
        for name, order in (('descending', self.lines[::-1]), ('mixed', mixed)):
            with self.subTest(name):
                archive = self.archive()
                self.do_import(archive, self.write('d.ndjson.zst', order))
                self.assert_whole(archive)

    def test_killed(self):
        path = self.write('d.ndjson', self.lines)
        packed = self.write('d.ndjson.zst', self.lines)
        points = ['db_before_commit:3:kill', 'db_after_commit:3:kill', 'db_after_commit:4:kill'] + [
            f'apply_step:{n}:kill' for n in (1, 3, 4, 9, 17)]
        for number, point in enumerate(points):
            with self.subTest(point):
                archive = self.archive()
                file = packed if number % 2 else path
                self.do_import(archive, file, code=-signal.SIGKILL, env={'TAIN_FAULT': point})
                held = archive.rows('SELECT COUNT(*) FROM items')[0][0]
                items, = archive.rows('SELECT items FROM imports')[0]
                self.assertEqual(held, items, 'the place and the items are one')
                report = self.do_import(archive, file).report
                self.assertEqual(report['stored'], report['items'] - held)
                self.assert_whole(archive)

    def test_trouble_in_passing(self):
        archive = self.archive()
        env = {'TAIN_FAULT': 'apply_step:4:fail,apply_step:11:fail,db_before_commit:3:fail'}
        report = self.do_import(archive, self.write('d.ndjson', self.lines), env=env).report
        self.assertEqual(report['stored'], report['items'])
        self.assert_whole(archive)

    def feed(self, archive, fifo, lines, number=None):
        """Imports from a pipe that stays open until the signal; answers the report."""
        run = self.start('import', fifo, '--db', archive.uri, '--json', '--progress', 'none')
        with open(fifo, 'w', encoding='utf-8') as pipe:
            pipe.write('\n'.join(lines) + '\n')
            pipe.flush()
            if number:
                wait_until(lambda: archive.snapshot() and archive.rows(
                    'SELECT lines FROM imports WHERE lines >= 5000'), what='some lines stored')
                run.signal(number)
                result = run.wait()
        return result if number else run.wait()

    def test_signals_and_a_pipe(self):
        fifo = self.folder / 'pipe'
        os.mkfifo(fifo)
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(code):
                archive = self.archive()
                result = self.feed(archive, fifo, self.lines[:8000], number)
                self.assertEqual(result.code, code, result)
                self.assertTrue(result.report['stopped'])
                self.assertIn('tain import', result.report['resume_command'])
                done = self.feed(archive, fifo, self.lines)
                self.assertEqual(done.code, EXIT_DONE, done)
                self.assertGreaterEqual(done.report['resumed_lines'], 5000)
                self.assert_whole(archive)

    def test_round_trip(self):
        archive = self.archive()
        self.do_import(archive, self.write('d.ndjson', self.lines))
        wanted = [item for item in self.known.values() if item]
        for name in ('out.ndjson', 'out.ndjson.zst'):
            path = self.folder / name
            report = self.do_export(archive, path).report
            self.assertEqual(report['items'], len(wanted))
            self.assertEqual(read_dump(path), wanted)
            self.assert_sum(path)
            again = self.archive()
            self.assertEqual(self.do_import(again, path).report['checksum'], 'good')
            self.assert_whole(again)

    @unittest.skipUnless((SHARED / 'items_rare.ndjson').exists(), 'no recorded items here')
    def test_round_trip_of_real_items(self):
        source = self.folder / 'real.ndjson'
        with open(source, 'wb') as out:
            out.write((SHARED / 'items_rare.ndjson').read_bytes())
            subprocess.run(['zcat', SHARED / 'items_run_25576000-25581999.ndjson.gz'], stdout=out,
                           check=True)
        known = {item['id']: item for item in read_dump(source)}
        archive = self.archive()
        self.do_import(archive, source)
        path = self.folder / 'out.ndjson.zst'
        self.do_export(archive, path)
        self.assertEqual(read_dump(path), [known[i] for i in sorted(known)])


class Out:
    def filled(self):
        archive = self.archive()
        self.do_import(archive, self.write('d.ndjson', self.lines))
        return archive

    def test_killed_and_gone_on_with(self):
        archive = self.filled()
        whole = self.folder / 'whole.ndjson'
        self.do_export(archive, whole)
        for name in ('out.ndjson', 'out.ndjson.zst'):
            for page in (1, 3, 6):
                with self.subTest(name=name, page=page):
                    path = self.folder / name
                    self.do_export(archive, path, code=-signal.SIGKILL,
                                   env={'TAIN_FAULT': f'db_before_commit:{page}:kill'})
                    self.assertFalse(path.exists(), 'no name before the end')
                    report = self.do_export(archive, path, '--resume').report
                    if name.endswith('.zst'):
                        self.assertEqual(read_dump(path), read_dump(whole))
                    else:
                        self.assertEqual(path.read_bytes(), whole.read_bytes())
                    if page == 1:
                        self.assertEqual(report['resumed_after'], 0)
                    self.assert_sum(path)
                    path.unlink()  # or the next one would only grow it

    def test_ranges_and_growth(self):
        archive = self.filled()
        path = self.folder / 'out.ndjson.zst'

        def items(lo, hi):
            return [self.known[i] for i in range(lo, hi + 1) if self.known[i]]

        self.do_export(archive, path, '--start-id', 100, '--end-id', 5000, '--level', 9)
        self.assertEqual(read_dump(path), items(100, 5000))
        report = self.do_export(archive, path, '--resume', '--start-id', 100, '--end-id',
                                7000).report
        self.assertEqual(report['resumed_after'], items(100, 5000)[-1]['id'])
        self.assertEqual(read_dump(path), items(100, 7000))
        self.assert_sum(path)
        self.do_export(archive, path, '--start-id', LAST + 1)
        self.assertEqual(read_dump(path), [], 'an empty dump is a dump')

    def test_standard_output(self):
        archive = self.filled()
        whole = self.folder / 'whole.ndjson'
        self.do_export(archive, whole)
        for arguments in ([], ['-'], ['--compress', 'zstd']):
            done = subprocess.run([TAIN, 'export', *arguments, '--db', archive.uri], check=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=environment())
            text = done.stdout
            if 'zstd' in arguments:
                text = subprocess.run(['zstd', '-dc'], input=text, stdout=subprocess.PIPE,
                                      check=True).stdout
            self.assertEqual(text, whole.read_bytes())

    def test_stopped_with_a_reader_that_sleeps(self):
        archive = self.filled()
        read_end, write_end = os.pipe()
        try:
            process = subprocess.Popen([TAIN, 'export', '--db', archive.uri, '--progress', 'none'],
                                       stdout=write_end, stderr=subprocess.PIPE,
                                       env=environment())
            with process.stderr:
                self.assertTrue(os.read(read_end, 10))
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(ANSWER), 143, process.stderr.read())
        finally:
            os.close(read_end)
            os.close(write_end)

    def test_beside_a_writer(self):
        """An export in the middle of a catch-up: every line is whole, and of one instant."""
        archive, demo = self.archive(), self.demo('items:delay=5')
        run = self.start_catchup(archive, demo, '--end-id', 4000, '--concurrency', 64)
        wait_until(lambda: archive.snapshot() and len(self.look(archive).ids) > 500,
                   what='some items')
        path = self.folder / 'out.ndjson'
        while run.running():
            self.do_export(archive, path)
            known = demo.truth(1, 4000)
            for item in read_dump(path):
                self.assertEqual(item, known[item['id']])
        self.assertEqual(run.wait().code, EXIT_DONE)


class SqliteDumps(In, Out, OnSqlite, Dumps):
    def test_standard_input(self):
        packed = self.write('d.ndjson.zst', self.lines)
        for words, file in (([], packed), (['-'], packed), ([], self.folder / 'plain')):
            archive = self.archive()
            with open(file, 'rb') as source:
                subprocess.run([TAIN, 'import', *words, '--db', archive.uri], stdin=source,
                               check=True, stderr=subprocess.DEVNULL, env=environment())
            self.assert_whole(archive)

    def test_thirty_random_instants(self):
        seed = int(os.environ.get('TAIN_CRASH_SEED', random.randrange(10 ** 6)))
        chance = random.Random(seed)
        path, archive = self.write('d.ndjson', self.lines), self.archive()
        with self.subTest(seed=seed):
            for _ in range(30):
                run = self.start('import', path, '--db', archive.uri, '--progress', 'none')
                try:
                    run.process.wait(chance.uniform(0.005, 0.12))
                except subprocess.TimeoutExpired:
                    run.kill()
            self.do_import(archive, path)
            self.assert_whole(archive)

    def test_broken_lines(self):
        lines = self.lines[:100]
        lines[10:10] = ['{"id":', 'nonsense', '']
        archive = self.archive()
        path = self.write('d.ndjson', lines)
        report = self.do_import(archive, path, code=EXIT_UNRESOLVED).report
        self.assertEqual([(b['line'], b['class']) for b in report['broken_lines']],
                         [(11, 'garbage'), (12, 'garbage')])
        self.assertEqual((report['lines'], report['broken']), (103, 2))
        words = self.run_tain('import', path, '--db', archive.uri, '--no-json')
        self.assertIn('line 11: garbage: {"id":', words.err)
        self.assert_truth(archive, self.truth(self.lines[:100]))

    def test_checksum(self):
        archive, path = self.archive(), self.write('d.ndjson', self.lines[:50])
        (self.folder / 'd.ndjson.sha256').write_text('0' * 64 + '  d.ndjson\n')
        result = self.do_import(archive, path, code=EXIT_FAILED)
        self.assertEqual(result.report['checksum'], 'bad')
        self.assertIn('does not have the checksum', result.report['error'])
        self.do_import(archive, path, '--no-checksum')

    def test_damaged_file(self):
        path = self.write('d.ndjson.zst', self.lines)
        whole = path.read_bytes()
        for bad, words in ((whole[:-1000], 'middle of its compressed data'),
                           (whole[:60000] + b'\0\0\0\0' + whole[60004:], 'damaged')):
            path.write_bytes(bad)
            result = self.do_import(self.archive(), path, code=EXIT_FAILED)
            self.assertIn(words, result.report['error'])

    def test_sample(self):
        lines = dump_lines(1, 2000, maxitem=2000)
        archive, demo = self.archive(), self.demo(maxitem=2000)
        path = self.write('d.ndjson', lines)
        asks = ('--verify-sample', 100000, '--upstream', demo.url, '--restart')
        sample = self.do_import(archive, path, *asks).report['sample']
        self.assertEqual(sample['equal'], sample['asked'])
        stories = [i for i, x in self.truth(lines).items() if x and x['type'] == 'story'][:3]
        demo.mutate(stories[0], 'score')
        demo.mutate(stories[1], 'dead')
        comment = next(i for i, x in self.truth(lines).items() if x and x['type'] == 'comment')
        demo.faults(f'id={stories[2]}:null', f'id={comment}:status=500')
        sample = self.do_import(archive, path, *asks, code=EXIT_UNRESOLVED).report['sample']
        self.assertEqual({k: sample[k] for k in ('newer', 'differs', 'gone', 'unanswered')},
                         {'newer': 1, 'differs': 1, 'gone': 1, 'unanswered': 1})
        self.assertEqual([d['id'] for d in sample['differences']], [stories[1]])
        self.assertIn('dead', sample['differences'][0]['fields'])

    def test_as_of(self):
        demo, archive = self.demo(maxitem=300), self.archive()
        self.catchup(archive, demo, '--end-id', 300)
        title, = [i for i, x in demo.truth(1, 300).items() if x and x['type'] == 'story'][:1]
        line = json.dumps({'id': title, 'type': 'story', 'title': 'of the dump'})
        path = self.write('d.ndjson', [line])
        self.assertEqual(self.do_import(archive, path).report['stale'], 1)
        self.assertEqual(self.do_import(archive, path, '--as-of', '2001-01-01').report['stale'], 1)
        archive.execute('UPDATE items SET last_fetched_at = last_fetched_at - 86400000')
        now = archive.rows("SELECT strftime('%s', 'now')")[0][0]
        self.assertEqual(self.do_import(archive, path, '--as-of', now).report['changed'], 1)
        self.do_import(archive, path, '--as-of', '2100-01-01', code=EXIT_USAGE)

    def test_wrong_usage(self):
        for arguments, words in (
                (('import', 'a', 'b'), 'unexpected argument'),
                (('import', 'a', '--as-of', 'yesterday'), 'not allowed'),
                (('import', 'a', '--start-id', '5', '--end-id', '4'), 'above'),
                (('export', '--json'), 'needs a FILE'),
                (('export', '-', '--resume'), 'needs a FILE'),
                (('export', 'f', '--level', '0'), 'not allowed')):
            result = self.run_tain(*arguments)
            self.assertEqual(result.code, EXIT_USAGE, result)
            self.assertIn(words, result.err)
        for arguments in (('import', 'nothing-there'), ('export', 'f')):
            result = self.run_tain(*arguments, '--db', 'sqlite:' + str(self.folder / 'new.db'))
            self.assertEqual(result.code, EXIT_FAILED, result)
            self.assertEqual(os.listdir(self.folder), [], 'nothing is made for nothing')


class PostgresDumps(In, Out, OnPostgres, Dumps):
    pass


if __name__ == '__main__':
    unittest.main()
