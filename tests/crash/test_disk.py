"""The disk under PostgreSQL runs full, that of its tables or that of its log: the run ends and says
so, nothing that was stored is lost, and with room again the same command completes the archive."""

import os
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'e2e'))
from lib import E2E, EXIT_DONE, EXIT_FAILED, PostgresArchive, find_bin  # noqa: E402
from small_disk import SmallDisk  # noqa: E402

LAST = 12000
ROOM = 3 << 20  # bytes left beside an empty archive; the items need several times as much


class SmallLog(SmallDisk):
    """The log is on the small disk, the tables are elsewhere."""

    LOG_BESIDE = False

    def beside(self):
        """A folder for tables that has room."""
        folder = os.path.join(self.dir, 'tables')
        os.mkdir(folder)
        shutil.chown(folder, 'postgres', 'postgres')
        return folder

    def full_log(self):
        with open(os.path.join(self.dir, 'log'), errors='replace') as log:
            return 'PANIC' in log.read()


class FullDisk(E2E):
    def server(self, kind=SmallDisk, **settings):
        if os.getuid() != 0 or not find_bin():
            self.skipTest('needs root, to mount a file system, and PostgreSQL')
        # Small buffers, or nothing would be written before a checkpoint.
        server = kind({'synchronous_commit': 'on', 'shared_buffers': '1MB', **settings})
        self.addCleanup(server.remove)
        return server.start()

    def assert_disk_is_named(self, result):
        self.assertEqual(result.code, EXIT_FAILED, result)
        self.assertIn('disk', result.report['stop_reason'])
        self.assertIn('full', result.report['stop_reason'])

    def test_full(self):
        server, demo = self.server(), self.demo()
        archive = PostgresArchive(server)
        self.assertEqual(self.run_tain('migrate', '--db', archive.uri).code, EXIT_DONE)
        server.leave(ROOM)
        self.assert_disk_is_named(self.start_catchup(archive, demo, '--end-id', LAST).wait())
        look = self.assert_invariants(archive)
        self.assertGreater(len(look.ids), 0)
        self.assertLess(len(look.ids), LAST)
        self.assert_disk_is_named(self.start_catchup(archive, demo, '--end-id', LAST).wait())
        self.assert_kept(look.ids, self.assert_invariants(archive).ids)
        server.resize('256m')
        self.catchup(archive, demo, '--end-id', LAST)
        self.assert_complete(archive, demo, 1, LAST)

    def test_no_room_for_the_log(self):
        """The server breaks down in the middle of a commit and cannot start. Nothing that the run
        called stored is missing when it can."""
        server, demo = self.server(SmallLog, max_wal_size='200MB', wal_recycle='off'), self.demo()
        server.psql(f"CREATE TABLESPACE roomy LOCATION '{server.beside()}'")
        server.psql("ALTER SYSTEM SET default_tablespace = 'roomy'")
        server.restart()
        archive = PostgresArchive(server)
        self.assertEqual(self.run_tain('migrate', '--db', archive.uri).code, EXIT_DONE)
        server.leave(ROOM)
        result = self.start_catchup(archive, demo, '--end-id', LAST, '--max-outage', '3s').wait()
        self.assertEqual(result.code, EXIT_FAILED, f'{result}\n{server.log()}')
        self.assertIn('database', result.report['stop_reason'])
        self.assertTrue(server.full_log(), server.log())
        server.stop()
        server.resize('256m')
        server.start()
        look = self.assert_invariants(archive)
        self.assertGreater(len(look.ids), 0)
        self.assertGreaterEqual(len(look.ids), result.report['stored'])
        self.catchup(archive, demo, '--end-id', LAST)
        self.assert_kept(look.ids, self.look(archive).ids)
        self.assert_complete(archive, demo, 1, LAST)


if __name__ == '__main__':
    unittest.main()
