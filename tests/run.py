#!/usr/bin/env python3
"""Runs every test there is and counts them.

    tests/run.py [BUILD [WORD ...]]

The ones that meson knows (unit tests, contract suites, the checks of the house rules), and beside
them the Python suites that drive the built program: tests/*/test_*.py outside tests/check. A suite
makes its own temporary folders and finds the program through the environment variable TAIN_BUILD.
With WORDs only the Python suites with one of them in their path are run. The last line is "N
passed, N failed"; the exit code is 1 if anything failed or nothing ran.

Suites wait more than they work, so two more than there are processors run at once (TEST_JOBS says
otherwise); each is told of when it has ended. Their files are in memory where there is room
for them, unless TMPDIR says where they are to be: databases wait for a disk more than for anything
else, and none of the crashes in here is one of the machine.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUITE_TIMEOUT = 1800  # seconds
MEMORY = pathlib.Path("/dev/shm")
ROOM = 6 << 30  # bytes; suites take a sixth of it, and the programs they run have to live too
SLOWER = 10  # meson's tests may take so many times longer than usual: only a hang should notice


def processors():
    """As many as we may use: fewer than there are when a container has a quota."""
    n = len(os.sched_getaffinity(0))
    try:
        quota, period = pathlib.Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return n if quota == "max" else max(1, min(n, -(-int(quota) // int(period))))
    except (OSError, ValueError):
        return n


JOBS = int(os.environ.get("TEST_JOBS", processors() + 2))
# Begun first, so that in the end none of them runs on alone. The order of all others is no matter.
LONG = ("ops/test_prometheus.py", "hosts/test_hosts.py", "e2e/test_updater_faults.py",
        "e2e/test_faults.py",
        "e2e/test_verify.py", "e2e/test_up.py", "e2e/test_dump.py", "e2e/test_crash.py",
        "crash/test_enrich_points.py", "e2e/test_cdc_ws.py", "e2e/test_enrich.py",
        "e2e/test_shared.py", "crash/test_points.py", "e2e/test_catchup.py", "e2e/test_package.py",
        "e2e/test_updater.py", "e2e/test_metrics.py", "e2e/test_signals.py")
# A suite, and the processor time that it and all that it started have taken.
SUITE = """import resource, unittest
ended = unittest.main(None, exit=False)
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(f"processor: {sum(u.ru_utime + u.ru_stime for u in used):.1f} s", flush=True)
raise SystemExit(not ended.result.wasSuccessful())"""
PROCESSOR = re.compile(r"^processor: ([\d.]+ s)$", re.M)
running = set()  # the processes of suites
TIMES = re.compile(r"^  .+: equal to the truth after .+", re.M)  # lines of a suite to be shown


def memory_left():
    """Bytes that may still be taken, by this machine and by the limits of a container."""
    found = re.search(r"^MemAvailable: *(\d+) kB", pathlib.Path("/proc/meminfo").read_text(), re.M)
    left = int(found[1]) << 10
    for limit, used in (("memory.max", "memory.current"),
                        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes")):
        try:
            limit, used = [int(pathlib.Path("/sys/fs/cgroup", name).read_text())
                           for name in (limit, used)]
            left = min(left, limit - used)
        except (OSError, ValueError):  # no such limit
            pass
    return left


def place_of_files():
    """Where suites are to keep theirs: None for where they always do."""
    try:
        system = os.statvfs(MEMORY)
        if ("TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK)
                and not system.f_flag & os.ST_NOEXEC
                and min(system.f_bavail * system.f_frsize, memory_left()) >= ROOM):
            return MEMORY
    except (OSError, TypeError):
        pass
    return None


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.broken = []

    def add(self, name, passed, failed, skipped=0):
        self.passed += passed
        self.failed += failed
        self.skipped += skipped
        if failed:
            self.broken.append(name)

    def add_all(self, other):
        self.add("", other.passed, 0, other.skipped)
        self.failed += other.failed
        self.broken += other.broken

    def line(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"

    def report(self):
        print()
        for name in self.broken:
            print(f"failed: {name}")
        if self.skipped:
            print(f"{self.skipped} skipped")
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0


def sum_of(pattern, text):
    return sum(int(n) for n in re.findall(pattern, text))


def count_cmocka(output):
    """cmocka prints a tally per group; None when there is none."""
    passed = sum_of(r"\[  PASSED  \] (\d+) test\(s\)\.", output)
    failed = sum_of(r"\[  FAILED  \] (\d+) test\(s\), listed", output)
    skipped = sum_of(r"\[  SKIPPED \] (\d+) test\(s\), listed", output)
    return (passed, failed, skipped) if passed or failed or skipped else None


def count_unittest(output):
    """(passed, failed, skipped) of Python's unittest; None when it did not come to an end."""
    ran = re.findall(r"^Ran (\d+) tests? in", output, re.M)
    if not ran:
        return None
    failed = sum_of(r"\b(?:failures|errors|unexpected successes)=(\d+)", output)
    skipped = sum_of(r"\bskipped=(\d+)", output)
    return max(int(ran[-1]) - failed - skipped, 0), failed, skipped


def add_meson_test(tally, row):
    output = row.get("stdout", "") + "\n" + row.get("stderr", "")
    counted = count_cmocka(output) or count_unittest(output)
    good = row["result"] in ("OK", "EXPECTEDFAIL")
    if row["result"] == "SKIP":
        tally.add(row["name"], 0, 0, 1)
    elif good:
        tally.add(row["name"], *(counted or (1, 0, 0)))
    else:  # a crash, a leak or a time-out is a failure even when every case had passed
        passed, failed, skipped = counted or (0, 1, 0)
        tally.add(f"{row['name']} ({row['result'].lower()})", passed, max(failed, 1), skipped)


def run_meson(build):
    """What meson's tests say, in full where one failed, and how they are to be counted."""
    began = time.monotonic()
    tally = Tally()
    log = build / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    done = started(["meson", "test", "-C", str(build), "--print-errorlogs", "-t", str(SLOWER)])
    said, _ = done.communicate()
    running.discard(done)
    rows = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    for row in rows:
        add_meson_test(tally, json.loads(row))
    if done.returncode != 0 and tally.failed == 0:
        tally.add(f"meson test ended with {done.returncode}", 0, 1)
    if not tally.failed:
        said = ""
    return f"{said}{tally.line()} in {time.monotonic() - began:.1f} s\n", tally


def started(command, **env):
    """A process of a suite, which is stopped when the run is."""
    suite = subprocess.Popen(command, cwd=ROOT, env=dict(os.environ, **env), text=True,
                             errors="replace", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    running.add(suite)
    return suite


def run_python(path, build):
    """What a suite has to say, in full when it failed, and how it is to be counted."""
    tally = Tally()
    name = path.relative_to(ROOT)
    began = time.monotonic()
    command = [sys.executable, "-B", "-c", SUITE, "discover", "-v", "-s", str(path.parent), "-p",
               path.name]
    suite = started(command, TAIN_BUILD=str(build))
    try:
        said, _ = suite.communicate(timeout=SUITE_TIMEOUT)
    except subprocess.TimeoutExpired as late:
        suite.kill()
        suite.wait()
        said = (late.stdout or b"").decode(errors="replace")[-4000:]
        tally.add(f"{name} (no end within {SUITE_TIMEOUT} s)", 0, 1)
        return f"{said}\n", tally
    finally:
        running.discard(suite)
    passed, failed, skipped = count_unittest(said) or (0, 1, 0)
    if suite.returncode != 0 and failed == 0 and (passed or not skipped):
        failed = 1
    used = PROCESSOR.findall(said) or ["?"]
    if not failed:
        said = "".join(f"{t}\n" for t in TIMES.findall(said))
    tally.add(name, passed, failed, skipped)
    took = f"{time.monotonic() - began:.1f} s, processor {used[-1]}"
    return f"{said}{tally.line()} in {took}\n", tally


def in_order(paths):
    def rank(path):
        name = f"{path.parent.name}/{path.name}"
        return LONG.index(name) if name in LONG else len(LONG), name
    return sorted(paths, key=rank)


def run_suites(paths, build, tally, with_meson):
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        ends = {pool.submit(run_meson, build): "meson"} if with_meson else {}
        ends |= {pool.submit(run_python, path, build): path.relative_to(ROOT)
                 for path in in_order(paths)}
        try:
            for end in concurrent.futures.as_completed(ends):
                said, counted = end.result()
                print(f"== {ends[end]}\n{said}", end="", flush=True)
                tally.add_all(counted)
        except BaseException:  # suites that run clean up behind themselves; no other begins
            pool.shutdown(wait=False, cancel_futures=True)
            for suite in list(running):
                suite.terminate()
            raise


def run_all(build, words, tally):
    run_suites([path for path in (ROOT / "tests").glob("*/test_*.py")
                if path.parent.name != "check" and
                (not words or any(w in str(path.relative_to(ROOT / "tests")) for w in words))],
               build, tally, not words)


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build").resolve()
    words = sys.argv[2:]
    tally = Tally()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    place = place_of_files()
    with tempfile.TemporaryDirectory(prefix="tain-test-", dir=place) as folder:
        os.chmod(folder, 0o755)  # servers run as users of their own
        if place:
            os.environ["TMPDIR"] = folder
        os.environ["TAIN_PG_SEED"] = seed = os.path.join(folder, "seed")  # support/postgres.py
        os.mkdir(seed)
        run_all(build, words, tally)
    return tally.report()


if __name__ == "__main__":
    sys.exit(main())
