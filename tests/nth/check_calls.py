#!/usr/bin/env python3
"""Every function that our sources call and that is not theirs is in calls.txt.

    check_calls.py BUILD

BUILD holds the libraries of the rooms. A call that is in no row, a row of a family that nobody
calls any more, and a row of a family without a wrapper are each a fault."""

import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FAMILIES = ("sqlite", "pq", "curl", "os", "says")
INSTRUMENTS = re.compile(r"__(asan|ubsan|tsan|sanitizer|gcov|llvm)_")


def read_table(text):
    """{name or pattern: family}"""
    rows = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        names, family, words = (part.strip() for part in line.split("|"))
        if family not in FAMILIES + ("-",) or not words:
            raise ValueError(f"calls.txt: what is this row? {line}")
        for name in names.split():
            if name in rows:
                raise ValueError(f"calls.txt: {name} has two rows")
            rows[name] = family
    return rows


def foreign_calls(build):
    """What the libraries of the rooms want from elsewhere."""
    wanted, ours = set(), set()
    libraries = sorted(map(str, (build / "src").glob("*/lib*.a")))
    if not libraries:
        raise ValueError(f"{build} holds no libraries of rooms")
    said = subprocess.run(["nm", *libraries], check=True, capture_output=True, text=True).stdout
    for line in said.splitlines():
        words = line.split()
        if len(words) == 2 and words[0] in "Uw":
            wanted.add(words[1])
        elif len(words) == 3 and words[1].isupper():
            ours.add(words[2])
    return {name for name in wanted - ours if not INSTRUMENTS.match(name)}


def wrapped():
    text = "".join(path.read_text() for path in HERE.glob("wrap_*.c"))
    return set(re.findall(r"^WRAP\([^,]*, (\w+),", text, re.M))


def faults(rows, calls, wrappers):
    prefixes = tuple(name[:-1] for name in rows if name.endswith("*"))
    for name in sorted(calls):
        if name not in rows and not name.startswith(prefixes):
            yield (f"{name} is called and in no row of tests/nth/calls.txt: how does it fail, or"
                   " why not?")
    for name, family in sorted(rows.items()):
        if family == "-":
            continue
        if name not in calls:
            yield f"{name} is in tests/nth/calls.txt and nobody calls it"
        if name not in wrappers:
            yield f"{name} is in tests/nth/calls.txt, and no wrap_*.c makes it fail"
    for name in sorted(wrappers - set(rows)):
        yield f"{name} has a wrapper and no row in tests/nth/calls.txt"


def main():
    rows = read_table((HERE / "calls.txt").read_text())
    found = list(faults(rows, foreign_calls(pathlib.Path(sys.argv[1])), wrapped()))
    print("\n".join(found) if found else f"{len(rows)} rows, nothing missing")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
