"""The machine, and the programs and libraries that figures depend on."""

import os
import platform
import re
import shutil
import subprocess

import measure
from postgres import find_bin


def said(*command):
    """The first version number that a program says of itself, or None when it is not there."""
    path = shutil.which(command[0], path=os.environ['PATH'] + ':/usr/sbin')
    if not path:
        return None
    done = subprocess.run([path, *command[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors='replace')
    found = re.search(r'\d+(\.\d+)+', done.stdout)
    return found[0] if found else None


def memory_gib():
    with open('/proc/meminfo', encoding='ascii') as info:
        return int(re.search(r'MemTotal:\s+(\d+)', info.read())[1]) / 2**20


def commit():
    here = os.path.dirname(os.path.abspath(__file__))
    done = subprocess.run(['git', '-C', here, 'log', '-1', '--format=%h'], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    return done.stdout.strip() or None


def libraries(build):
    """Of tain itself: {'libcurl': '7.88.1', ...}."""
    done = subprocess.run([str(build / 'tain'), '--version'], stdout=subprocess.PIPE, text=True,
                          check=True)
    return dict(re.findall(r'^(\S+)[ /]([\d.]+)', done.stdout, re.M))


def facts(build):
    os_name = platform.freedesktop_os_release().get('PRETTY_NAME', '') \
        if hasattr(platform, 'freedesktop_os_release') else ''
    server = find_bin()
    versions = dict(libraries(build), nginx=said('nginx', '-v'), node=said('node', '--version'),
                    PostgreSQL=said(os.path.join(server, 'postgres'), '--version')
                    if server else None)
    return {'cores': os.cpu_count(), 'processor': measure.processor(),
            'memory_gib': round(memory_gib(), 1), 'kernel': f'Linux {os.uname().release}',
            'system': os_name, 'load': round(os.getloadavg()[0], 1), 'commit': commit(),
            'versions': {name: v for name, v in versions.items() if v}}
