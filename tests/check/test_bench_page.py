"""The page of the benchmarks: what was measured is on it, what was missed stands out, a part that
is measured anew leaves the others alone; and the figures of a rehearsal are right."""

import json
import pathlib
import sys
import tempfile
import types
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "bench"), str(ROOT / "tests" / "support")]

import page  # noqa: E402
import rehearse  # noqa: E402
import rehearse_report  # noqa: E402
import results  # noqa: E402

FACTS = {"cores": 2, "processor": "a fine one", "memory_gib": 4.0, "kernel": "Linux 6",
         "system": "Debian", "load": 0.5, "commit": "abc", "versions": {"SQLite": "3.40.1"}}


def part(date, *rows, peers=()):
    return {"date": date, "load": 0.1, "seconds": 3.0, "alone": False, "rounds": 3,
            "failed": False, "runs": [], "peers": list(peers),
            "rows": [dict(zip(("what", "figure", "goal", "met"), row)) for row in rows]}


def notes(ids, seconds_at):
    """A rehearsal whose clock and processors follow `seconds_at`, looked at now and then."""
    samples = [[n, seconds_at(n), n * 40e-6, 0, n * 20e-6] for n in range(0, ids + 1, 7_000)]
    phase = {"seconds": seconds_at(ids), "rss_mib": 40, "log_peak": 0, "log_written": 0}
    return {"ids": ids, "items": ids - 10, "stops": 0, "samples": samples, "catchup": phase,
            "index": dict(phase)}


class Page(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)

    def keep(self, name, measured, db=None):
        results.keep(self.build / "bench.json", FACTS, name, measured, db)
        return page.text_of(self.build)

    def test_missed_goals_stand_out(self):
        text = self.keep("serve", part("2026-01-01", ("sqlite: items", "0.80", ">= 0.75", True),
                                       ("postgres: items", "0.30", ">= 0.40", False)))
        self.assertIn("1 of 2 goals are met.", text)
        self.assertIn("| Items over HTTP | postgres: items | 0.30 | >= 0.40 |", text)
        self.assertIn("| postgres: items | 0.30 | >= 0.40 | **missed** |", text)
        self.assertIn("2 cores, a fine one", text)
        self.assertIn("Not measured yet: Catch-up over HTTP/1.1;", text)
        self.assertIn("Do not edit", text.split("\n")[2])

    def test_one_part_anew(self):
        self.keep("serve", part("2026-01-01", ("sqlite: items", "0.80", "", None)))
        text = self.keep("import", part("2026-02-02", ("sqlite: import", "9/s", "", None)))
        self.assertIn("2026-01-01", text)
        text = self.keep("serve", part("2026-03-03", ("sqlite: items", "0.90", "", None)))
        self.assertNotIn("2026-01-01", text)
        self.assertNotIn("0.80", text)
        self.assertIn("2026-02-02", text)

    def test_one_database_anew(self):
        self.keep("serve", part("2026-01-01", ("sqlite: items", "0.80", "", None),
                                ("postgres: items", "0.50", "", None)))
        text = self.keep("serve", part("2026-03-03", ("sqlite: items", "0.90", "", None)), "sqlite")
        self.assertIn("| postgres: items | 0.50 (2026-01-01) |", text)
        self.assertIn("| sqlite: items | 0.90 |", text)
        self.assertNotIn("0.80", text)

    def test_a_page_with_more_on_it_stays(self):
        to, scale = self.build / "page.md", self.build / "scale.md"
        scale.write_text("no marks")
        self.keep("serve", part("2026-01-01", ("sqlite: items", "0.80", "", None)))
        self.assertIn("wrote", page.write(self.build, to, scale))
        (self.build / "bench.json").unlink()  # another build folder
        self.keep("import", part("2026-02-02", ("sqlite: import", "9/s", "", None)))
        said = page.write(self.build, to, scale)
        self.assertIn("stays as it is", said)
        self.assertIn("(Items over HTTP)", said)
        self.assertIn("2026-01-01", to.read_text())
        self.assertIn("wrote", page.write(self.build, to, scale, anyway=True))
        self.assertNotIn("2026-01-01", to.read_text())

    def test_curves(self):
        to, scale = self.build / "page.md", self.build / "scale.md"
        scale.write_text("before\n<!-- scale:begin: written by `make bench` -->\nold\n"
                         "<!-- scale:end -->\nbehind\n")
        rows = [(f"postgres: {kind}, {n} / 1", f"{n}.5 (7/s)", "", None)
                for kind in ("catchup", "serve") for n in (1, 2)]
        self.keep("scale", part("2026-01-01", *rows))
        page.write(self.build, to, scale)
        text = scale.read_text()
        self.assertIn("| 2 | 2.5 (7/s) | 2.5 (7/s) |\n", text)
        self.assertIn("| processes | catchup | serve |\n", text)
        self.assertIn("2 cores, a fine one, 2026-01-01", text)
        self.assertNotIn("old", text)
        self.assertTrue(text.startswith("before\n") and text.endswith("\nbehind\n"))
        self.assertTrue(page.MARKS.search(page.SCALE.read_text(encoding="utf-8")))

    def test_peers(self):
        peer = {"what": "items", "peer": "another", "own": "9/s", "theirs": "3/s", "ratio": "3.00"}
        text = self.keep("peers-serve", part("2026-01-01", peers=[peer]))
        self.assertIn("| items | 9/s | another | 3/s | 3.00 |", text)

    def test_every_section_says_how(self):
        for name, (_, file) in page.SECTIONS.items():
            self.assertGreater(len(page.how(file)), 80, name)

    def test_rehearsal(self):
        found = rehearse_report.figures(notes(700_000, lambda n: n / 1000), {"tables": 7_000_000})
        (self.build / "rehearse.json").write_text(json.dumps({"sqlite": found}))
        text = page.text_of(self.build)
        self.assertIn("### sqlite, 700,000 ids", text)
        self.assertIn("10 bytes: tables 10; per item 10", text)
        self.assertIn("1 of 1 goals are met.", text)
        self.assertIn("The curve is flat.", text)
        self.assertIn("1,000 and 1,000 ids/s, last / first 1.00", text)

    def test_a_curve_that_is_not_flat_is_a_goal_that_is_missed(self):
        found = rehearse_report.figures(notes(700_000, lambda n: (n / 1e5) ** 2), {"tables": 7})
        (self.build / "rehearse.json").write_text(json.dumps({"postgres": found}))
        text = page.text_of(self.build)
        self.assertIn("0 of 1 goals are met.", text)
        self.assertIn("| The rehearsal | postgres: ids/s of the last / of the first 100,000", text)
        self.assertIn("The curve is not flat", text)


class Place(unittest.TestCase):
    """A rehearsal ends with the removal of what it made, and of nothing else."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.options = types.SimpleNamespace(folder=pathlib.Path(folder.name, "place"))
        self.options.folder.mkdir()

    def make(self, *names):
        for name in names:
            path = self.options.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("x")

    def test_what_is_a_strangers_stays(self):
        self.make("letters/mine", "sqlite/mine", "postgres/notes.json", "postgres.log")
        rehearse.tidy(self.options, discard=True)
        self.assertEqual(sorted(p.name for p in self.options.folder.iterdir()),
                         ["letters", "sqlite"])
        with self.assertRaisesRegex(SystemExit, "sqlite is there and not of a rehearsal"):
            rehearse.check_ours(self.options, [rehearse.Sqlite])
        rehearse.check_ours(self.options, [rehearse.Pg])

    def test_nothing_is_left_of_its_own(self):
        self.make("sqlite/notes.json", "sqlite.log")
        rehearse.tidy(self.options, discard=True)
        self.assertFalse(self.options.folder.exists())


class Curve(unittest.TestCase):
    def test_flat(self):
        found = rehearse_report.figures(notes(1_400_000, lambda n: n / 2000), {"tables": 1})
        self.assertEqual(len(found["curve"]), 14)
        self.assertAlmostEqual(found["ratio"], 1, 6)
        self.assertAlmostEqual(found["first_cpu_us"], 40, 6)
        self.assertAlmostEqual(found["work_ratio"], 1, 6)
        self.assertAlmostEqual(found["whole"]["hours"], 50_500_000 / 2000 / 3600, 6)
        self.assertEqual(rehearse_report.verdict(found), "the curve is flat")

    def test_slower_and_slower(self):
        found = rehearse_report.figures(notes(1_400_000, lambda n: (n / 1e5) ** 2), {"tables": 1})
        self.assertLess(found["ratio"], 0.1)
        self.assertEqual(found["least"], found["last"])
        self.assertIn("though the work per id is", rehearse_report.verdict(found))

    def test_more_work_per_id(self):
        grows = notes(1_400_000, lambda n: (n / 1e5) ** 2)
        for sample in grows["samples"]:
            sample[2] = (sample[0] / 1e5) ** 2
        found = rehearse_report.figures(grows, {"tables": 1})
        self.assertEqual(rehearse_report.verdict(found), "the curve is not flat")

    def test_a_stop_in_between(self):
        broken = notes(700_000, lambda n: n / 1000)
        broken["samples"][40:40] = [list(broken["samples"][39])] * 3  # nothing was done meanwhile
        found = rehearse_report.figures(broken, {"tables": 1})
        self.assertAlmostEqual(found["least"], 1000, 3)


if __name__ == "__main__":
    unittest.main()
