#!/usr/bin/env python3
"""Compiles the SQL of the store into C: an enum of statements and their texts for both databases,
and the table of migrations.

    sql2c.py OUT.h OUT.c STATEMENTS... MIGRATION...

A statement is in common.sql, or in both sqlite.sql and pg.sql; a part of the room may have files of
its own, PART.sql, PART.sqlite.sql and PART.pg.sql. Migrations are in a folder of that name. Lines
that begin with `--` are comments. `$1` becomes `?1` for SQLite, which numbers its parameters that
way.
"""
import os
import re
import sys


def fail(text):
    sys.exit("sql2c: " + text)


def read_statements(path):
    found, name, lines = {}, None, []

    def finish():
        if name is not None:
            text = "\n".join(lines).strip()
            if not text.endswith(";"):
                fail(f"{path}: statement {name} does not end with ';'")
            found[name] = text[:-1]

    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        match = re.fullmatch(r"-- name: ([a-z][a-z0-9_]*)", line)
        if match:
            finish()
            name, lines = match.group(1), []
            if name in found:
                fail(f"{path}: statement {name} is there twice")
        elif not line.lstrip().startswith("--") and line.strip():
            if name is None:
                fail(f"{path}: text before the first -- name: line")
            lines.append(line)
    finish()
    return found


def c_string(text):
    lines = text.replace("\\", "\\\\").replace('"', '\\"').split("\n")
    return "\n".join(f'        "{line}\\n"' for line in lines)


def for_sqlite(text):
    return re.sub(r"\$(\d+)", r"?\1", text)


def read_migrations(paths):
    found = {}
    for path in paths:
        match = re.fullmatch(r"(\d{4})_([a-z0-9_]+)\.(sqlite|pg)\.sql", os.path.basename(path))
        if not match:
            fail(f"{path}: a migration is named NNNN_name.sqlite.sql or NNNN_name.pg.sql")
        entry = found.setdefault(int(match.group(1)), {"name": match.group(2)})
        entry[match.group(3)] = open(path, encoding="utf-8").read()
    for at, version in enumerate(sorted(found), 1):
        if at != version:
            fail(f"migration {at} is missing")
        for kind in ("sqlite", "pg"):
            if kind not in found[version]:
                fail(f"migration {version} has no {kind} file")
    return [(v, found[v]) for v in sorted(found)]


def indexes_of(migrations, kind):
    """What a database that went through all of them has; PostgreSQL names those of its keys and
    constraints too."""
    found = []
    for _, m in migrations:
        text = re.sub(r"--[^\n]*", "", m[kind])
        found += re.findall(r"CREATE (?:UNIQUE )?INDEX (\w+)", text)
        if kind == "pg":
            found += re.findall(r"CONSTRAINT (\w+)\s+(?:EXCLUDE|UNIQUE)", text)
            found += [f"{table}_pkey" for table, body in
                      re.findall(r"CREATE TABLE (\w+) \((.*?)\n\)[^\n]*;", text, re.S)
                      if "PRIMARY KEY" in body]
        gone = re.findall(r"DROP INDEX (\w+)", text)
        gone += [f"{table}_pkey" for table in re.findall(r"DROP TABLE (\w+)", text)]
        found = [name for name in found if name not in gone]
    return found


def read_all(paths, kind):
    """The statements of one database ("sqlite", "pg") or of both ("")."""
    found = {}
    for path in paths:
        own = re.fullmatch(r"(?:.*\.)?(sqlite|pg)\.sql", os.path.basename(path))
        if (own.group(1) if own else "") != kind:
            continue
        for name, text in read_statements(path).items():
            if name in found:
                fail(f"{path}: statement {name} is there twice")
            found[name] = text
    return found


def main():
    out_h, out_c, *paths = sys.argv[1:]
    migration_paths = [p for p in paths if os.path.basename(os.path.dirname(p)) == "migrations"]
    paths = [p for p in paths if p not in migration_paths]
    common, sqlite, pg = (read_all(paths, kind) for kind in ("", "sqlite", "pg"))
    for name in sorted(set(sqlite) ^ set(pg)):
        fail(f"statement {name} is in one of sqlite.sql and pg.sql only")
    for name in sorted(set(common) & set(sqlite)):
        fail(f"statement {name} is in common.sql and overridden in both: remove it from common.sql")
    names = sorted(common) + sorted(sqlite)
    header = os.path.basename(out_h)
    with open(out_h, "w", encoding="utf-8") as h:
        h.write("/* Made by tools/sql2c.py from store/sql. */\n#pragma once\n\n")
        h.write('#include "db/db.h"\n#include "db/migrate.h"\n\nenum stmt {\n')
        h.writelines(f"    SQL_{n.upper()},\n" for n in names)
        h.write("    SQL_N\n};\n\nextern const struct db_catalog sql_catalog;\n")
        h.write("extern const struct migration sql_migrations[];\n")
        h.write("extern const size_t sql_n_migrations;\n")
        h.write("/* By enum db_kind: the indexes that the migrations make, up to a NULL. */\n")
        h.write("extern const char *const *const sql_indexes[2];\n")
    with open(out_c, "w", encoding="utf-8") as c:
        c.write(f'/* Made by tools/sql2c.py from store/sql. */\n#include "{header}"\n\n')
        c.write("static const char *const names[] = {\n")
        c.writelines(f'    "{n}",\n' for n in names)
        c.write("};\n")
        for kind, own, change in (("sqlite", sqlite, for_sqlite), ("pg", pg, str)):
            c.write(f"\nstatic const char *const {kind}[] = {{\n")
            for n in names:
                text = change(own.get(n) or common[n])
                c.write(f"    [SQL_{n.upper()}] =\n{c_string(text)},\n")
            c.write("};\n")
        c.write("\nconst struct db_catalog sql_catalog = {SQL_N, names, {sqlite, pg}};\n")
        c.write("\nconst struct migration sql_migrations[] = {\n")
        migrations = read_migrations(migration_paths)
        for version, m in migrations:
            texts = f'{c_string(m["sqlite"])},\n{c_string(m["pg"])}'
            c.write(f'    {{{version}, "{m["name"]}", {{\n{texts}}}}},\n')
        c.write(f"}};\nconst size_t sql_n_migrations = {len(migrations)};\n")
        for kind in ("sqlite", "pg"):
            names = "".join(f'    "{n}",\n' for n in indexes_of(migrations, kind))
            c.write(f"\nstatic const char *const {kind}_indexes[] = {{\n{names}    NULL,\n}};\n")
        c.write("\nconst char *const *const sql_indexes[2] = {sqlite_indexes, pg_indexes};\n")


main()
