"""Running one program and reading what it cost."""

import dataclasses
import os
import subprocess
import time

TICK = os.sysconf('SC_CLK_TCK')
SETTLE_SECONDS = 0.2  # a server process that served the program ends a little later


@dataclasses.dataclass
class Cost:
    what: str
    ids: int
    seconds: float
    rate: float  # ids per second
    user: float  # CPU seconds
    system: float
    rss_mib: float  # peak; never less than that of this interpreter, from which it was started
    servers: dict  # CPU seconds of each server meanwhile
    output: str = dataclasses.field(default='', repr=False)

    @property
    def cpu_us(self):
        return (self.user + self.system) * 1e6 / self.ids


def stat_of(pid):
    with open(f'/proc/{pid}/stat') as f:
        fields = f.read().rpartition(')')[2].split()
    return int(fields[1]), [int(n) / TICK for n in fields[11:15]]


def tree_cpu(pid):
    """CPU seconds of a process, of its children, and of those that are gone already."""
    total = sum(stat_of(pid)[1])
    for name in os.listdir('/proc'):
        if not name.isdigit():
            continue
        try:
            parent, times = stat_of(name)
        except OSError:
            continue
        if parent == pid:
            total += times[0] + times[1]
    return total


def run(what, command, ids, servers, env=None, good=(0,)):
    """`servers` maps a name to the pid of its first process."""
    before = {name: tree_cpu(pid) for name, pid in servers.items()}
    began = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             stdin=subprocess.DEVNULL, env=dict(os.environ, **(env or {})))
    with child.stdout:
        output = child.stdout.read().decode(errors='replace')
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.monotonic() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    time.sleep(SETTLE_SECONDS)
    if child.returncode not in good:
        raise RuntimeError(f'{what}: {" ".join(command)} ended with {child.returncode}\n{output}')
    return Cost(what, ids, seconds, ids / seconds, usage.ru_utime, usage.ru_stime,
                usage.ru_maxrss / 1024, {n: tree_cpu(p) - before[n] for n, p in servers.items()},
                output)


def processor():
    with open('/proc/cpuinfo') as f:
        for line in f:
            if line.startswith('model name'):
                return line.partition(':')[2].strip()
    return 'unknown'


def machine():
    return f'{os.cpu_count()} cores, {processor()}, Linux {os.uname().release}'
