"""A unit's SystemCallFilter= put on a process without systemd: the lists that systemd-analyze
prints, the numbers of the C library's headers, and a filter of our own for the kernel."""

import ctypes
import errno
import pathlib
import platform
import re
import struct
import subprocess

HEADER = pathlib.Path('/usr/include/x86_64-linux-gnu/asm/unistd_64.h')
ARCH_X86_64 = 0xC000003E
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2


def why_not():
    """Why it cannot be done here, or None."""
    if platform.machine() != 'x86_64':
        return 'written for x86_64'
    if not HEADER.exists():
        return f'{HEADER} is not there'
    return None


def calls_of(name):
    """The system calls behind a name; @names are sets, of sets."""
    if not name.startswith('@'):
        return {name}
    done = subprocess.run(['systemd-analyze', 'syscall-filter', name], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    found = set()
    for line in done.stdout.splitlines()[1:]:
        word = line.strip()
        if word and not word.startswith('#'):
            found |= calls_of(word)
    return found


def allowed_by(filters):
    """What the values of SystemCallFilter= let through, one after the other. @default always."""
    allowed = calls_of('@default')
    for value in filters:
        for word in value.lstrip('~').split():
            allowed = allowed - calls_of(word) if value[0] == '~' else allowed | calls_of(word)
    return allowed


def program(names):
    numbers = dict(re.findall(r'#define __NR_(\w+) (\d+)', HEADER.read_text()))
    wanted = sorted(int(numbers[n]) for n in names if n in numbers)
    code = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, ARCH_X86_64), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    for number in wanted:
        code += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ALLOW)]
    code.append((RETURN, 0, 0, ERRNO | errno.EPERM))
    return b''.join(struct.pack('HBBI', *line) for line in code), len(code)


class SockProg(ctypes.Structure):
    _fields_ = [('len', ctypes.c_ushort), ('filter', ctypes.c_void_p)]


def confine_to(names):
    """A preexec_fn. Everything is made before the fork; the child calls prctl() only."""
    code, length = program(names)
    buffer = ctypes.create_string_buffer(code, len(code))
    prog = SockProg(length, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)

    def confine(keep=buffer):
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or \
                libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(prog), 0, 0) != 0:
            raise OSError(ctypes.get_errno(), f'no filter: {len(keep)} bytes')
    return confine
