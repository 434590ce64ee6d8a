#!/usr/bin/env python3
"""Looks over the sources with the tools that find what tests do not.

    tools/lint.py BUILD [STEP ...]

BUILD is a folder that meson has set up and ninja has built: its compile_commands.json says how each
file is compiled. Without STEPs all are run; the quick ones are part of `make test`.

    format    clang-format agrees with every C file                 quick
    shell     sh -n reads every script                              quick
    clang     clang compiles every file, warnings are errors        quick
    tidy      clang-tidy with the checks of .clang-tidy             minutes
    cppcheck  cppcheck: warnings, performance, portability          seconds

Exits 1 when a step found something, 77 (skipped) when a tool that it needs is not installed.
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUICK = ('format', 'shell', 'clang')
MISSING = 77
CHUNK = 4  # files per clang-tidy


def c_files(*suffixes):
    return sorted(str(p) for folder in ('src', 'tests') for p in (ROOT / folder).rglob('*')
                  if p.suffix in suffixes)


def run(command, cwd=ROOT):
    """(exit code, everything it said)"""
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors='replace')
    return done.returncode, done.stdout


def run_all(commands):
    """Runs (command, folder) pairs on all processors; answers what the failing ones said."""
    said = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for code, output in pool.map(lambda c: run(*c), commands):
            if code:
                said.append(output)
    return said


def compiled(build):
    """The compile commands of our own files, once each."""
    with open(build / 'compile_commands.json', encoding='utf-8') as f:
        entries = json.load(f)
    found = {}
    for entry in entries:
        path = (pathlib.Path(entry['directory']) / entry['file']).resolve()
        if path.is_relative_to(ROOT):
            found.setdefault(str(path), entry)
    return found


def check_format(_build):
    return run_all([(['clang-format', '--dry-run', '--Werror', *c_files('.c', '.h')], ROOT)])


def check_shell(_build):
    scripts = [p for folder in ('tools', 'tests', '.ci') for p in sorted((ROOT / folder).rglob('*'))
               if p.is_file() and (p.suffix == '.sh' or p.parent.name == '.ci')]
    return run_all([(['sh', '-n', str(p)], ROOT) for p in scripts])


# The second is known to clang 14, which wants to be asked for it by another, too.
GCC_ONLY = ('-fsanitize', '-ftrivial-auto-var-init')


def as_clang(entry):
    """The same compilation by clang, without writing anything."""
    words, kept = iter(shlex.split(entry['command'])), []
    if next(words).endswith('ccache'):
        next(words)
    for word in words:
        if word in ('-o', '-MF', '-MQ'):
            next(words)
        elif word not in ('-MD', '-c') and not word.startswith(GCC_ONLY):
            kept.append(word)
    return ['clang', '-fsyntax-only', '-Werror', *kept], entry['directory']


def check_clang(build):
    return run_all([as_clang(entry) for entry in compiled(build).values()])


def check_tidy(build):
    files = sorted(compiled(build))
    return run_all([(['clang-tidy', '--quiet', '-p', str(build), *files[i:i + CHUNK]], ROOT)
                    for i in range(0, len(files), CHUNK)])


def check_cppcheck(_build):
    return run_all([(['cppcheck', '--quiet', '--enable=warning,performance,portability',
                      '--inline-suppr', '--error-exitcode=1', '--std=c11', '-Isrc',
                      '-Itests/unit/hn', '-j', str(os.cpu_count()), 'src', 'tests'], ROOT)])


STEPS = {
    'format': ('clang-format', check_format),
    'shell': ('sh', check_shell),
    'clang': ('clang', check_clang),
    'tidy': ('clang-tidy', check_tidy),
    'cppcheck': ('cppcheck', check_cppcheck),
}


def main(arguments):
    if not arguments or any(a not in STEPS and a != 'quick' for a in arguments[1:]):
        print(__doc__, file=sys.stderr)
        return 2
    build = pathlib.Path(arguments[0]).resolve()
    steps = [s for a in arguments[1:] for s in (QUICK if a == 'quick' else (a,))] or list(STEPS)
    missing = [STEPS[s][0] for s in steps if not shutil.which(STEPS[s][0])]
    if missing:
        print(f"not installed: {', '.join(missing)} (tools/setup.sh lint)")
        return MISSING
    failed = False
    for step in steps:
        began = time.monotonic()
        said = STEPS[step][1](build)
        for text in said:
            print(text)
        print(f"{step}: {'found something' if said else 'clean'}, "
              f"{time.monotonic() - began:.1f} s", flush=True)
        failed |= bool(said)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
