#!/usr/bin/env python3
"""Runs a command beside a fresh PostgreSQL: with_postgres.py COMMAND [ARGUMENT ...]

The command finds the server in TAIN_TEST_PG. Its exit code is ours; 77 (skipped) when PostgreSQL
is not installed."""

import os
import signal
import subprocess
import sys

from postgres import Postgres, find_bin


def stop(number, _frame):
    raise SystemExit(128 + number)


def main(command):
    if not command:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    if not find_bin():
        print('PostgreSQL is not installed: skipped')
        return 77
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    with Postgres() as server:
        child = subprocess.Popen(command, env=dict(os.environ, TAIN_TEST_PG=server.uri()))
        try:
            code = child.wait()
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()
        return code if code >= 0 else 128 - code


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
