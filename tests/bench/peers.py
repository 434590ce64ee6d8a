"""Other programs that do a part of what tain does, measured in the same run.
From Debian (tools/setup.sh bench) or npm, into the build folder; one that cannot be had is skipped,
and the page says why."""

import contextlib
import os
import pathlib
import shutil
import statistics
import subprocess
import unittest

from npm import npm_folder
from upstream import stop

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = {'fastify': '4.28.1', 'pg': '8.13.1', 'ws': '8.18.0', 'graphile-worker': '0.16.6'}


class Skipped(Exception):
    """Why a peer is not measured."""


def need(program, package):
    if not shutil.which(program):
        raise Skipped(f'{program} is not installed (Debian package {package})')
    return program


def node(bench, script, *words):
    """The command line and environment of one of the programs in peers/."""
    try:
        folder = npm_folder(bench.options.build, 'bench', PACKAGES)
    except unittest.SkipTest as e:
        raise Skipped(str(e)) from None
    command = ['node', str(HERE / 'peers' / script), *map(str, words)]
    return command, dict(os.environ, NODE_PATH=str(folder / 'node_modules'),
                         NODE_ENV='production')


@contextlib.contextmanager
def running(command, env=None):
    child = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True,
                             start_new_session=True)
    try:
        yield child
    finally:
        stop(child)
        child.stdout.close()


@contextlib.contextmanager
def or_skip(bench, name):
    try:
        yield
    except Skipped as e:
        bench.skip_peer(name, str(e))


def in_turns(rounds, first, second):
    """Two measures by turns, after one of each to warm up if there are several rounds; the median
    of each, and of their quotients."""
    if rounds > 1:
        first(), second()
    pairs = [(first(), second()) for _ in range(rounds)]
    return (*(statistics.median(p[i] for p in pairs) for i in (0, 1)),
            statistics.median(a / b for a, b in pairs))
