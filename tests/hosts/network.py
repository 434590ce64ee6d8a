"""Hosts on one switch, made of network namespaces (iproute2): each has an address and a name of its
own, and a cable that can be pulled.

    net = Network()                       # the test's own threads are on the host 'observer' from
    host = net.host('pg1')                # here on, and so reach the others by their addresses
    run = host.popen(['postgres', ...])   # a process there
    host.unplug(); host.plug()            # packets vanish without a word, both ways
    host.link(False); host.link(True)     # the host sees it: 'network is unreachable'
    net.cut(host, other)                  # silence between these two only
    net.mend(host, other)
    host.reset_connections()              # each of its connections is reset, at both ends
    host.die(); host.plug()               # all processes at once, nobody is told; then it is back
    net.close()

Silence is made without a packet filter: a port is taken off the switch, or one host is told that
the other has a hardware address which nobody has. The names of the namespaces hold the pid of the
test: what a test that was killed has left behind, the next one removes.
"""

import atexit
import ctypes
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import time

CLONE_NEWNET = 0x40000000
NOBODY = '02:00:00:00:00:ff'  # a hardware address
SUBNET = '10.77.0'
NAME = re.compile(r'tain(\d+)-(\w+)')
NAMESPACES = '/run/netns'
KILL_WITHIN = 60  # seconds for a process that was killed to be gone
# A process of the host, under its name, so that it is told from those of other hosts.
LAUNCH = ('unshare', '--uts', '--', 'sh', '-c', 'hostname "$0" && exec "$@"')
# What a dead process still has to send is gone soon, as it is when its host dies.
SETTINGS = {'ipv4/tcp_orphan_retries': 1, 'ipv6/conf/all/disable_ipv6': 1}


def ip(*arguments, check=True, lines=None):
    """The command; with `lines` as a batch."""
    batch = ['-batch', '-'] if lines else []
    done = subprocess.run(['ip', *map(str, arguments), *batch], check=False, text=True,
                          input='\n'.join(lines or ()), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    if check and done.returncode:
        raise RuntimeError(f"ip {' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return done.stdout


@functools.lru_cache(maxsize=1)
def why_not():
    """Why there can be no hosts here, in words; None: there can."""
    if os.getuid() != 0:
        return 'network namespaces are made by root only'
    for program in ('ip', 'ss', 'nsenter', 'unshare', 'hostname'):
        if not shutil.which(program):
            return f'{program} is not installed (iproute2, util-linux)'
    name = f'tain{os.getpid()}-try'
    try:
        ip('netns', 'add', name)
        ip('-n', name, 'link', 'add', 'br0', 'type', 'bridge')
        ip('-n', name, 'link', 'add', 'name', 'one', 'type', 'veth', 'peer', 'name', 'two')
        subprocess.run(['nsenter', f'--net={NAMESPACES}/{name}', *LAUNCH, 'try', 'true'],
                       check=True, stderr=subprocess.PIPE, text=True)
    except RuntimeError as refused:
        return f'network namespaces cannot be made here: {refused}'
    except subprocess.CalledProcessError as refused:
        return f'processes cannot be put into namespaces here: {refused.stderr.strip()}'
    finally:
        ip('netns', 'del', name, check=False)
    return None


def _enter(fd):
    """This thread, and those that it starts, are in that namespace from now on."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(fd, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), 'setns')


def _alive(pid):
    try:
        with open(f'/proc/{pid}/stat', encoding='ascii', errors='replace') as stat:
            return stat.read().rpartition(')')[2].split()[0] not in 'ZX'
    except OSError:
        return False


def _kill_all(namespace):
    """Everything that runs there, and waits until it is gone."""
    deadline = time.monotonic() + KILL_WITHIN
    while True:
        pids = [int(n) for n in ip('netns', 'pids', namespace, check=False).split()]
        pids = [pid for pid in pids if pid != os.getpid() and _alive(pid)]
        if not pids:
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f'{pids} of {namespace} cannot be killed')
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)


def _remove_leftovers():
    """Of tests that were killed themselves."""
    for line in ip('netns', 'list', check=False).splitlines():
        found = NAME.match(line)
        if found and not os.path.exists(f'/proc/{found.group(1)}'):
            _kill_all(found.group(0))
            ip('netns', 'del', found.group(0), check=False)


class Host:
    def __init__(self, net, name, number):
        self.net, self.name = net, name
        self.address = f'{SUBNET}.{number}'
        self.namespace, self.port = f'{net.prefix}-{name}', f'p{number}'
        ip('netns', 'add', self.namespace)
        ip('-n', net.switch, 'link', 'add', self.port, 'type', 'veth', 'peer', 'name', 'eth0',
           'netns', self.namespace)
        ip('-n', self.namespace, lines=['link set lo up', 'link set eth0 up',
                                        f'addr add {self.address}/24 dev eth0'])
        for name, value in SETTINGS.items():
            self.run('sh', '-c', f'echo {value} >/proc/sys/net/{name}')
        self.up = True
        self.plug()

    def __repr__(self):
        return self.name

    def command(self, *command):
        return ['nsenter', f'--net={NAMESPACES}/{self.namespace}', *LAUNCH, self.name,
                *map(str, command)]

    def popen(self, command, **options):
        """A process of this host. Its pid is that of the program."""
        return subprocess.Popen(self.command(*command), **options)

    def run(self, *command):
        subprocess.run(self.command(*command), check=False, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def enter(self):
        fd = os.open(f'{NAMESPACES}/{self.namespace}', os.O_RDONLY)
        try:
            _enter(fd)
        finally:
            os.close(fd)

    def unplug(self):
        ip('-n', self.net.switch, 'link', 'set', self.port, 'nomaster')

    def plug(self):
        self.up = True
        ip('-n', self.net.switch, 'link', 'set', self.port, 'master', 'br0', 'up')

    def link(self, up):
        ip('-n', self.namespace, 'link', 'set', 'eth0', 'up' if up else 'down')

    def reset_connections(self):
        """Each connection, at both of its ends; what waits to be sent is lost."""
        self.run('ss', '-K', '-t', 'dst', f'{SUBNET}.0/24')

    def die(self):
        """Nobody is told: not even what was on its way leaves the host any more."""
        self.up = False
        self.unplug()
        _kill_all(self.namespace)
        self.reset_connections()


class Network:
    def __init__(self):
        _remove_leftovers()
        self.prefix = f'tain{os.getpid()}'
        self.switch, self.hosts = f'{self.prefix}-switch', {}
        self.home = os.open('/proc/thread-self/ns/net', os.O_RDONLY)
        atexit.register(self.close)
        ip('netns', 'add', self.switch)
        ip('-n', self.switch, lines=['link add br0 type bridge forward_delay 0',
                                     'link set br0 up'])
        self.host('observer').enter()

    def host(self, name):
        self.hosts[name] = Host(self, name, len(self.hosts) + 1)
        return self.hosts[name]

    @staticmethod
    def cut(one, other):
        for here, there in ((one, other), (other, one)):
            ip('-n', here.namespace, 'neigh', 'replace', there.address, 'lladdr', NOBODY, 'nud',
               'permanent', 'dev', 'eth0')

    @staticmethod
    def mend(one, other):
        for here, there in ((one, other), (other, one)):
            ip('-n', here.namespace, 'neigh', 'del', there.address, 'dev', 'eth0', check=False)

    def close(self):
        """Everything that runs on a host ends; the calling thread is where it was before."""
        if self.home is None:
            return
        _enter(self.home)
        os.close(self.home)
        self.home = None
        atexit.unregister(self.close)
        for host in self.hosts.values():
            if host.name != 'observer':
                _kill_all(host.namespace)
        for namespace in (*(host.namespace for host in self.hosts.values()), self.switch):
            ip('netns', 'del', namespace, check=False)


if __name__ == '__main__':
    sys.exit(f'hosts: {why_not()}' if why_not() else 0)
