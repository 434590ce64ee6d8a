#!/usr/bin/env python3
"""Makes a C file of the files that the web server has on board.

    tools/embed.py OUT.c FILE...

Each file becomes an array of its bytes; a table names them, by name in ascending order, with a hash
of what is in them.
"""

import hashlib
import pathlib
import sys

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
}


def array(name, data):
    lines = [f"static const unsigned char {name}[] = {{"]
    for at in range(0, len(data), 24):
        lines.append("    " + "".join(f"{byte}," for byte in data[at:at + 24]))
    lines.append("    0};")
    return "\n".join(lines)


def row(index, path, data):
    digest = hashlib.sha256(data).hexdigest()[:12]
    url = f"/assets/{path.name}?v={digest}"
    return (f'    {{"{path.name}", "{url}", "{digest}", "{TYPES[path.suffix]}", '
            f"asset_{index}, {len(data)}}},")


def main():
    out, *names = sys.argv[1:]
    paths = sorted((pathlib.Path(name) for name in names), key=lambda path: path.name)
    parts = ['#include "web/assets.h"\n']
    rows = []
    for index, path in enumerate(paths):
        if path.suffix not in TYPES:
            sys.exit(f"embed.py: no type is known for {path.name}")
        data = path.read_bytes()
        parts.append(array(f"asset_{index}", data))
        rows.append(row(index, path, data))
    parts.append("const struct asset assets_all[] = {\n" + "\n".join(rows) + "\n};")
    parts.append(f"const size_t assets_n = {len(rows)};\n")
    pathlib.Path(out).write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
