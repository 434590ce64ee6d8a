#!/usr/bin/env python3
"""Checks which way the doors between the rooms of src/ open.

    tools/check_layers.py [ROOT]

Every #include of ours must be written as "room/file.h" and name a room that the including room may
use; a header ending in _int.h stays inside its own room; foreign libraries are included only by
the rooms that wrap them. The names of dependencies in each room's meson.build obey the same table.
Prints one line per offence and exits 1 if there is any.
"""

import pathlib
import re
import sys

# Room -> the rooms it may use. ARCHITECTURE.md draws the same picture.
DOORS = {
    "base": set(),
    "policy": {"base"},
    "hn": {"base"},
    "net": {"base"},
    "db": {"base"},
    "demo": {"base"},
    "store": {"base", "policy", "hn", "db"},
    "mirror": {"base", "policy", "hn", "net", "store"},
    "enrich": {"base", "policy", "hn", "net", "store", "feed"},
    "feed": {"base", "hn", "store"},
    "web": {"base", "policy", "hn", "store", "feed"},
}
DOORS["cli"] = set(DOORS)
MAIN_USES = {"cli"}  # src/main.c

# Foreign library: (header prefix, meson variable, rooms that may touch it).
FOREIGN = [
    ("curl/", "curl", {"net", "cli"}),
    ("sqlite3.h", "sqlite", {"db", "cli"}),
    ("libpq-fe.h", "pq", {"db", "cli"}),
    ("microhttpd.h", "microhttpd", {"demo", "web"}),
    ("wslay/", "wslay", {"web"}),
    ("zstd.h", "zstd", {"mirror"}),
    ("zlib.h", "zlib", {"web"}),
    ("openssl/", "crypto", {"mirror", "web"}),
    ("confuse.h", "confuse", {"enrich", "cli"}),
    ("systemd/", "systemd", {"cli"}),
    ("libxml/", "xml", {"hn"}),
    ("jansson.h", "jansson", {"hn", "web", "enrich"}),
]

OURS = re.compile(r'^[ \t]*#[ \t]*include\s+"([^"]+)"', re.M)
SYSTEM = re.compile(r"^[ \t]*#[ \t]*include\s+<([^>]+)>", re.M)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def check_ours(room, allowed, where, target):
    """One quoted include; answers what is wrong with it, or None."""
    other, slash, name = target.partition("/")
    if not slash or other not in DOORS:
        return f'{where}: "{target}" must be written as "room/file.h"'
    if other != room and other not in allowed:
        return f"{where}: {room} may not use {other} ({target})"
    if other != room and name.endswith("_int.h"):
        return f"{where}: {target} is private to {other}"
    return None


def check_source(path, room, allowed, root):
    text = path.read_text(encoding="utf-8", errors="replace")
    name = path.relative_to(root)
    problems = []
    for match in OURS.finditer(text):
        where = f"{name}:{line_of(text, match.start())}"
        problems.append(check_ours(room, allowed, where, match.group(1)))
    for match in SYSTEM.finditer(text):
        for prefix, _, rooms in FOREIGN:
            if match.group(1).startswith(prefix) and room not in rooms:
                where = f"{name}:{line_of(text, match.start())}"
                problems.append(f"{where}: {room} may not use <{match.group(1)}>")
    return [p for p in problems if p]


def meson_names(text):
    """Identifiers of a meson file that are no keyword argument; comments and strings are not
    code."""
    text = re.sub(r"'(?:[^'\\\n]|\\.)*'", "''", text)
    text = re.sub(r"#[^\n]*", "", text)
    return set(re.findall(r"\b([a-z_]\w*)\b(?!\s*:)", text))


def check_meson(path, room, allowed, root):
    names = meson_names(path.read_text(encoding="utf-8"))
    name = path.relative_to(root)
    problems = [f"{name}: {room} may not use {other}"
                for other in sorted(names & set(DOORS)) if other != room and other not in allowed]
    problems += [f"{name}: {room} may not use {variable}"
                 for _, variable, rooms in FOREIGN if variable in names and room not in rooms]
    return problems


def check_room(directory, root):
    room = directory.name
    if room not in DOORS:
        return [f"{directory.relative_to(root)}: not a room that tools/check_layers.py knows"]
    problems = []
    for path in sorted(directory.rglob("*.[ch]")):
        problems += check_source(path, room, DOORS[room], root)
    build = directory / "meson.build"
    if build.exists():
        problems += check_meson(build, room, DOORS[room], root)
    return problems


def check(root):
    source = root / "src"
    problems = []
    for path in sorted(source.glob("*.[ch]")):
        problems += check_source(path, path.name, MAIN_USES, root)
    for directory in sorted(d for d in source.iterdir() if d.is_dir()):
        problems += check_room(directory, root)
    return problems


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    if not (root / "src").is_dir():
        print(f"check_layers: no src/ in {root}", file=sys.stderr)
        return 2
    problems = check(root)
    print("\n".join(problems) if problems else "layers: every door opens the right way")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
