"""The checks must be able to fail: each rule is broken once in a tree made for it."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BANNER = "/* What it is for. */\n"


def guarded(name, body=""):
    return f"{BANNER}#ifndef {name}\n#define {name}\n{body}\n#endif\n"


class CheckCase(unittest.TestCase):
    tool = ""

    def run_tool(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "src").mkdir()
            for name, text in files.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            done = subprocess.run([sys.executable, ROOT / "tools" / self.tool, root],
                                  capture_output=True, text=True, timeout=600)
            return done.returncode, done.stdout + done.stderr

    def red(self, files, expected):
        code, output = self.run_tool(files)
        self.assertEqual(code, 1, output)
        self.assertIn(expected, output)

    def green(self, files):
        code, output = self.run_tool(files)
        self.assertEqual(code, 0, output)
        return output


class Layers(CheckCase):
    tool = "check_layers.py"

    def test_allowed(self):
        self.green({
            "src/main.c": '#include "cli/cli.h"\n',
            "src/store/a.c": '#include "store/a_int.h"\n#include "db/db.h"\n#include <stdio.h>\n',
            "src/net/http.c": "#include <curl/curl.h>\n",
            "src/store/meson.build": "store = declare_dependency(dependencies: [base, hn, db])\n",
        })

    def test_closed_door(self):
        self.red({"src/policy/a.c": '\n#include "hn/item.h"\n'},
                 "src/policy/a.c:2: policy may not use hn")

    def test_upwards(self):
        self.red({"src/base/a.h": '#include "store/store.h"\n'}, "base may not use store")

    def test_nobody_uses_cli(self):
        self.red({"src/mirror/a.c": '#include "cli/settings.h"\n'}, "mirror may not use cli")

    def test_main_uses_cli_only(self):
        self.red({"src/main.c": '#include "base/log.h"\n'}, "main.c may not use base")

    def test_private_header(self):
        self.red({"src/store/a.c": '#include "db/db_int.h"\n'}, "db/db_int.h is private to db")

    def test_bare_name(self):
        self.red({"src/hn/a.c": '#include "item.h"\n'}, 'must be written as "room/file.h"')

    def test_foreign_library(self):
        self.red({"src/store/a.c": "#include <sqlite3.h>\n"}, "store may not use <sqlite3.h>")

    def test_unknown_room(self):
        self.red({"src/attic/a.c": "\n"}, "not a room")

    def test_meson_dependency(self):
        self.red({"src/hn/meson.build": "hn = declare_dependency(dependencies: [base, net])\n"},
                 "src/hn/meson.build: hn may not use net")

    def test_meson_foreign(self):
        self.red({"src/policy/meson.build": "policy = x(dependencies: [base, curl])\n"},
                 "policy may not use curl")

    def test_meson_strings_and_comments_do_not_count(self):
        self.green({"src/hn/meson.build": "# net\nhn = static_library('net', 'db.c')\n"})

    def test_no_tree(self):
        done = subprocess.run([sys.executable, ROOT / "tools" / self.tool, "/nonexistent"],
                              capture_output=True, timeout=600)
        self.assertEqual(done.returncode, 2)


class Style(CheckCase):
    tool = "check_style.py"

    def function(self, lines, head="int f(void) {"):
        return "\n".join([head] + ["    g();"] * (lines - 1 - head.count("\n") - 1) + ["}"]) + "\n"

    def test_clean(self):
        output = self.green({"src/hn/item.h": guarded("TAIN_HN_ITEM_H"),
                             "src/hn/a.c": self.function(40)})
        self.assertNotIn("note", output)

    def test_file_length(self):
        self.assertIn("look twice", self.green({"src/hn/a.c": "int x;\n" * 800}))
        self.red({"src/hn/a.c": "int x;\n" * 801}, "file has 801 lines, more than 800")

    def test_function_length(self):
        self.assertIn("function f has 70 lines", self.green({"src/hn/a.c": self.function(70)}))
        self.red({"src/hn/a.c": self.function(71)}, "src/hn/a.c:1: function f has 71 lines")

    def test_function_with_a_long_head(self):
        head = "static enum verdict f(int a,\n                      int b) {"
        self.red({"tests/a.c": "int x;\n\n" + self.function(71, head)},
                 "tests/a.c:3: function f has 71 lines")

    def test_tables_are_no_functions(self):
        table = "static const int table[] = {\n" + "    1,\n" * 90 + "};\n"
        self.green({"src/hn/a.c": table})

    def test_python_function_length(self):
        self.red({"tools/a.py": "def f():\n" + "    g()\n" * 70}, "function f has 71 lines")

    def test_columns(self):
        self.green({"src/hn/a.c": "/*" + "ü" * 96 + "*/\n"})
        self.red({"src/hn/a.c": "/*" + "x" * 97 + "*/\n"}, "101 columns")

    def test_blanks(self):
        self.red({"src/hn/sql/a.sql": "SELECT 1; \n"}, "src/hn/sql/a.sql:1: blanks")

    def test_tab(self):
        self.red({"src/hn/a.c": "\tint x;\n"}, "a tab")

    def test_unfinished(self):
        for word in ("TO" + "DO", "FIX" + "ME", "X" * 3):
            self.red({"tools/a.sh": f"# {word}: later\n"}, f"'{word}' marks unfinished work")
        self.green({"tools/a.sh": "mktemp /tmp/a." + "X" * 6 + "\n"})

    def test_banner(self):
        text = guarded("TAIN_HN_A_H").removeprefix(BANNER)
        self.red({"src/hn/a.h": text}, "banner comment")

    def test_guard(self):
        self.red({"src/hn/a.h": BANNER + "int x;\n"}, "no include guard")
        self.red({"src/hn/a.h": guarded("TAIN_NET_A_H")}, "not TAIN_HN_A_H")

    def test_last_newline(self):
        self.red({"src/hn/a.c": "int x;"}, "no newline at the end")


class Lint(unittest.TestCase):
    """The tool looks at the tree that it stands in, so a copy of it does."""

    def run_step(self, step, name, text):
        if not shutil.which("clang") or not shutil.which("clang-format"):
            self.skipTest("clang is not installed")
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for part in ("src", "tests", "tools", "build"):
                (root / part).mkdir()
            shutil.copy(ROOT / "tools" / "lint.py", root / "tools")
            shutil.copy(ROOT / ".clang-format", root)
            (root / name).write_text(text, encoding="utf-8")
            (root / "build" / "compile_commands.json").write_text(json.dumps([
                {"directory": str(root), "file": name, "command": f"cc -Wall -o x.o -c {name}"}]))
            command = [sys.executable, root / "tools" / "lint.py", root / "build", step]
            done = subprocess.run(command, capture_output=True, timeout=600)
            return done.returncode

    def test_format(self):
        self.assertEqual(self.run_step("format", "src/a.c", "int x = 1;\n"), 0)
        self.assertEqual(self.run_step("format", "src/a.c", "int  x=1;\n"), 1)

    def test_clang(self):
        self.assertEqual(self.run_step("clang", "src/a.c", "int f(void) {\n    return 1;\n}\n"), 0)
        self.assertEqual(self.run_step("clang", "src/a.c", "int f(void) {\n}\n"), 1)

    def test_shell(self):
        self.assertEqual(self.run_step("shell", "tools/a.sh", "echo a\n"), 0)
        self.assertEqual(self.run_step("shell", "tools/a.sh", "if true\n"), 1)

    def test_unknown_step(self):
        self.assertEqual(self.run_step("nonsense", "src/a.c", ""), 2)


if __name__ == "__main__":
    unittest.main()
