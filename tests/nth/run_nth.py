#!/usr/bin/env python3
"""Makes every fallible call fail in turn: run_nth.py PROGRAM BUILD

PROGRAM is the one of meson.build, BUILD the folder with the libraries of the rooms. With NTH=all in
the environment every n is tried, without it a part of them (nth.h). PostgreSQL is started for it;
without one its scenarios are skipped."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

import check_calls  # noqa: E402
import places  # noqa: E402
from postgres import Postgres, find_bin  # noqa: E402

PROGRAM, BUILD = sys.argv[1], pathlib.Path(sys.argv[2])
TABLE = (HERE / "calls.txt").read_text()
EXCUSES = places.read_excuses(places.EXCUSES.read_text())
fired = set()  # functions that were made to fail
struck = set()  # places in the program that called them
complete = set()  # groups that have run


def run(test, group, **env):
    with tempfile.TemporaryDirectory(prefix="tain-nth-") as folder:
        noted = pathlib.Path(folder, "fired")
        done = subprocess.run([PROGRAM, group], text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=dict(os.environ, TMPDIR=folder, NTH_FIRED=str(noted), **env))
        text = noted.read_text()
        fired.update(line.split()[0] for line in text.splitlines())
        struck.update(places.read_fired(text))
    print(done.stdout, end="", flush=True)
    test.assertEqual(done.returncode, 0, done.stdout)
    complete.add(group)


class TestCalls(unittest.TestCase):
    """The table of calls is that of the object files."""

    def faults(self, table):
        return list(check_calls.faults(check_calls.read_table(table),
                                       check_calls.foreign_calls(BUILD), check_calls.wrapped()))

    def test_every_call_has_its_row(self):
        self.assertEqual(self.faults(TABLE), [])

    def test_a_call_without_a_row_is_seen(self):
        without = TABLE.replace("fsync fdatasync |", "fdatasync |")
        self.assertIn("fsync is called and in no row", "\n".join(self.faults(without)))

    def test_a_row_without_a_call_is_seen(self):
        more = TABLE + "sqlite3_blob_open | sqlite | no memory\n"
        self.assertIn("sqlite3_blob_open is in tests/nth/calls.txt and nobody calls it",
                      self.faults(more))


class TestPlaces(unittest.TestCase):
    """The places that call them are those of the program."""

    def test_a_place_that_did_not_fail_is_seen(self):
        left = places.untried(PROGRAM, set(), (), {})
        self.assertIn("src/db/sqlite.c sqlite_script sqlite3_exec", left)
        self.assertIn("src/mirror/dump_write.c dump_finish fsync", left)
        self.assertFalse([place for place in left if not place.startswith("src/")])

    def test_an_excuse_for_nothing_is_seen(self):
        excuses = {"src/db/sqlite.c nobody sqlite3_exec": "gone"}
        self.assertEqual(places.idle(PROGRAM, set(), excuses), list(excuses))


class TestNth(unittest.TestCase):
    """Each layer with each call failing once. In the order of their names: the last looks back."""

    def test_base(self):
        run(self, "base/")

    def test_db(self):
        run(self, "db/sqlite")

    def test_enrich(self):
        run(self, "enrich/sqlite")

    def test_mirror(self):
        run(self, "mirror/")

    def test_net(self):
        run(self, "net/")

    @unittest.skipUnless(find_bin(), "PostgreSQL is not installed")
    def test_postgres(self):
        with Postgres() as server:
            run(self, "postgres ", TAIN_TEST_PG=server.uri())

    def test_store(self):
        run(self, "store/migrate-sqlite")
        run(self, "store/sqlite")

    def test_web(self):
        run(self, "web/")

    def test_z_every_function_has_failed(self):
        if len(complete) < 9:
            self.skipTest("not all of them have run to their end")
        rows = check_calls.read_table(TABLE)
        left = {name for name, family in rows.items() if family not in ("-", "says")} - fired
        self.assertEqual(left, set(), "in calls.txt, and no scenario makes them fail")

    def test_z_every_place_has_failed(self):
        if len(complete) < 9:
            self.skipTest("not all of them have run to their end")
        says = {name for name, family in check_calls.read_table(TABLE).items() if family == "says"}
        left = places.untried(PROGRAM, struck, says, EXCUSES)
        self.assertFalse(left, "no scenario makes these fail, and places.txt has no word of them:\n"
                         + "\n".join(left))
        self.assertEqual(places.idle(PROGRAM, struck, EXCUSES), [], "in places.txt, and not so")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # ends the server
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
