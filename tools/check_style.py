#!/usr/bin/env python3
"""Checks what the house style says about size and shape.

    tools/check_style.py [ROOT]

Fails on: a file over 800 lines, a function over 70, a line over 100 columns, blanks at the end of
a line, tabs in C, a marker for unfinished work, a header without a banner comment or an include
guard. Mentions, without failing: files over 400 lines and functions over 40.
"""

import ast
import pathlib
import re
import sys

FILE_MAX, FILE_NOTE = 800, 400
FUNCTION_MAX, FUNCTION_NOTE = 70, 40
COLUMNS_MAX = 100
FOLDERS = ("src", "tests", "tools")
SUFFIXES = {".c", ".h", ".py", ".sh", ".sql"}
NAMES = {"Makefile", "meson.build"}
UNFINISHED = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" * 3]) + r")\b")


class Report:
    def __init__(self, root):
        self.root, self.problems, self.notes = root, [], []

    def problem(self, path, line, text):
        self.problems.append(f"{path.relative_to(self.root)}:{line}: {text}")

    def size(self, path, line, what, lines, note, most):
        text = f"{path.relative_to(self.root)}:{line}: {what} has {lines} lines"
        if lines > most:
            self.problems.append(f"{text}, more than {most}")
        elif lines > note:
            self.notes.append(f"{text}, look twice")


def source_files(root):
    for path in sorted(root.iterdir()):
        if path.is_file() and path.name in NAMES:
            yield path
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            hidden = any(part.startswith((".", "__")) for part in path.relative_to(root).parts)
            if path.is_file() and not hidden and (path.suffix in SUFFIXES or path.name in NAMES):
                yield path


def check_lines(path, lines, report):
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            report.problem(path, number, "blanks at the end of the line")
        if len(line) > COLUMNS_MAX:
            report.problem(path, number, f"{len(line)} columns, more than {COLUMNS_MAX}")
        if "\t" in line and path.suffix in (".c", ".h"):
            report.problem(path, number, "a tab")
        found = UNFINISHED.search(line)
        if found:
            report.problem(path, number, f"'{found.group(1)}' marks unfinished work")


def c_functions(lines):
    """(name, first line, number of lines) of each function, in the layout of clang-format: its
    brace opens at the end of an unindented statement and closes alone in the first column."""
    head, start = [], None
    for number, line in enumerate(lines, 1):
        if start is not None:
            if line.startswith("}"):
                names = re.findall(r"(\w*[a-z]\w*)\(", " ".join(head))  # macros are in capitals
                yield names[0] if names else "?", start, number - start + 1
                head, start = [], None
            continue
        if not line or line.startswith(("#", "/*", " *", "//", "}")):
            head = []
            continue
        head.append(line)
        text = " ".join(head)
        if line.endswith("{"):
            if re.search(r"\)\s*\{$", text) and "=" not in text.split("(")[0]:
                start = number - len(head) + 1
            else:
                head = []
        elif line.endswith(";"):
            head = []


def py_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def check_functions(path, text, lines, report):
    functions = []
    if path.suffix in (".c", ".h"):
        functions = c_functions(lines)
    elif path.suffix == ".py":
        functions = py_functions(text)
    for name, line, length in functions:
        report.size(path, line, f"function {name}", length, FUNCTION_NOTE, FUNCTION_MAX)


def check_header(path, text, report):
    if not text.startswith("/*"):
        report.problem(path, 1, "a header begins with a banner comment")
    guard = re.search(r"^#ifndef (\w+)\n#define (\w+)$", text, re.M)
    if not guard or guard.group(1) != guard.group(2):
        report.problem(path, 1, "no include guard")
        return
    parts = path.relative_to(report.root).with_suffix("").parts
    if parts[0] == "src":
        wanted = "_".join(("TAIN",) + parts[1:] + ("H",)).upper().replace("-", "_")
        if guard.group(1) != wanted:
            report.problem(path, 1, f"the include guard is {guard.group(1)}, not {wanted}")


def check(root):
    report = Report(root)
    for path in source_files(root):
        text = path.read_text(encoding="utf-8")
        lines = text.split("\n")[:-1] if text.endswith("\n") else text.split("\n")
        if text and not text.endswith("\n"):
            report.problem(path, len(lines), "no newline at the end of the file")
        report.size(path, 1, "file", len(lines), FILE_NOTE, FILE_MAX)
        check_lines(path, lines, report)
        check_functions(path, text, lines, report)
        if path.suffix == ".h":
            check_header(path, text, report)
    return report


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    report = check(root)
    for note in report.notes:
        print(f"note: {note}")
    print("\n".join(report.problems) if report.problems else "style: nothing to complain about")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
