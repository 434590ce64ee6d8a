"""Backup and restore as docs/operations.md has them: taken beside a running updater, brought back
after changes that the copy does not know of, and fresh again when the next updater has replayed."""

import os
import re
import shutil
import signal
import sqlite3
import subprocess

from lib import E2E, EXIT_DONE, ROOT, OnPostgres, OnSqlite, PostgresArchive, Sqlite, environment
from lib import ANSWER, wait_until

START, MAXITEM = 29001, 30000


class Backups:
    """What both databases have in common. backup() leaves a copy, restore() makes an archive of
    it."""

    def start_updater(self, archive, demo):
        return self.start('updater', '--db', archive.uri, '--upstream', demo.url, '--rps', 0,
                          '--start-id', START, '--persist-interval', '1s', '--metrics-bind', 'none')

    def wait_fresh(self, archive, demo, run):
        def fresh():
            self.assertTrue(run.running(), run.so_far())
            status = self.status(archive)
            return status['frontier_excluding_waiting'] >= demo.maxitem - 5
        wait_until(fresh, what='an archive that is fresh', every=0.2)

    def stop(self, run):
        run.signal(signal.SIGTERM)
        result = run.wait()
        self.assertEqual(result.code, EXIT_DONE, result)
        return result

    def test_restore_and_go_on(self):
        demo, archive = self.demo(maxitem=MAXITEM), self.archive()
        run = self.start_updater(archive, demo)
        wait_until(lambda: 'following the event stream' in run.so_far(), what='the stream')
        self.wait_fresh(archive, demo, run)
        copy = self.backup(archive)  # while the updater is at work
        self.stop(run)
        changed = [i for i in range(29100, 29140) if demo.item(i)]
        for item in changed:
            demo.mutate(item, 'edit')
        demo.grow(MAXITEM + 200)

        restored = self.restore(copy)
        verify = self.run_tain('verify', '--db', restored.uri, '--progress', 'none')
        self.assertEqual(verify.code, EXIT_DONE, verify)
        before = restored.items()
        # The items of the demo are of 2006. Let the copy be, too: the replay goes from there.
        restored.execute('UPDATE updater_state SET last_sse_event_at = '
                         f"{max(x['time'] or 0 for x in before.values()) * 1000}")
        self.assertLess(max(before), MAXITEM + 200)
        again = self.start_updater(restored, demo)
        wait_until(lambda: 'msg="items were fetched again" for="startup replay"'
                   in again.so_far(), 60, 'the replay')
        self.wait_fresh(restored, demo, again)
        self.stop(again)
        after, truth = restored.items(), {i: demo.item(i) for i in changed}
        for item in changed:
            self.assertEqual(after[item]['text'] or after[item]['title'],
                             truth[item].get('text') or truth[item].get('title'), item)
        self.assertTrue(any(before[i] != after[i] for i in changed), 'the copy was older')
        self.assertGreater(len(after), len(before))


class SqliteVacuum(Backups, OnSqlite, E2E):
    def backup(self, archive):
        path = self.folder / 'copy.db'
        connection = sqlite3.connect(archive.path, timeout=ANSWER)
        connection.execute('VACUUM INTO ?', (str(path),))
        connection.close()
        return path

    def restore(self, copy):
        path = self.folder / 'restored.db'
        shutil.copy(copy, path)
        return Sqlite(path)


class SqliteBackup(SqliteVacuum):
    def backup(self, archive):
        path = self.folder / 'copy.db'
        source, target = sqlite3.connect(archive.path), sqlite3.connect(path)
        source.backup(target, pages=500)
        source.close()
        target.close()
        return path


class PostgresDump(Backups, OnPostgres, E2E):
    def tool(self, name, *arguments):
        done = subprocess.run([os.path.join(self.server.bin, name), *map(str, arguments)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment())
        self.assertEqual(done.returncode, 0, done.stdout.decode())

    def backup(self, archive):
        path = self.folder / 'copy.dump'
        self.tool('pg_dump', '-Fc', '-n', 'tain', '-f', path, archive.uri)
        return path

    def restore(self, copy):
        archive = PostgresArchive(self.server)
        self.tool('pg_restore', '-d', archive.uri, copy)
        return archive


class ByDump(OnSqlite, E2E):
    """An export is a copy of the items alone. Importing proves nothing: a catch-up does, and a
    replay of the window brings what has changed since."""

    def test_export_and_import(self):
        demo, archive = self.demo(maxitem=MAXITEM), self.archive()
        window = ['--start-id', 1, '--end-id', 2000]
        self.catchup(archive, demo, *window)
        dump = self.folder / 'copy.ndjson.zst'
        result = self.run_tain('export', dump, '--db', archive.uri, '--progress', 'none')
        self.assertEqual(result.code, EXIT_DONE, result)
        changed = [i for i in range(100, 120) if demo.item(i)]
        for item in changed:
            demo.mutate(item, 'edit')
        restored = self.archive()
        result = self.run_tain('import', dump, '--db', restored.uri, '--progress', 'none')
        self.assertEqual(result.code, EXIT_DONE, result)
        self.assertEqual(restored.items(), archive.items())
        self.catchup(restored, demo, *window)
        self.assertEqual(self.status(restored)['frontier_id'], 2000)
        self.catchup(restored, demo, *window, '--force-replay-window')
        self.assert_truth(restored, demo.truth(1, 2000, asked=changed))


class Page(E2E):
    def test_the_commands_are_there(self):
        """What is tried above is what the page says."""
        page = (ROOT / 'docs' / 'operations.md').read_text('utf-8')
        for words in ('VACUUM INTO', '.backup', 'pg_dump -Fc -n tain', 'pg_restore', 'tain export',
                      'tain import'):
            self.assertIn(words, page)

    def test_every_alert_has_its_runbook(self):
        page = (ROOT / 'docs' / 'operations.md').read_text('utf-8')
        headings = [h.strip().lower() for h in re.findall(r'^#+ (.*)$', page, re.M)]
        rules = (ROOT / 'packaging' / 'prometheus' / 'alerts.yml').read_text('utf-8')
        alerts = re.findall(r'- alert: (\w+)', rules)
        self.assertTrue(alerts)
        for alert in alerts:
            self.assertIn(alert.lower(), headings)


del Backups  # it runs in the classes above
