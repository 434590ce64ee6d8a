#!/usr/bin/env python3
"""Every place in our sources that calls a function which can be made to fail.

    places.py PROGRAM [FIRED]

PROGRAM is the one of meson.build; its machine code is read, so that a new call is seen without
being named anywhere. FIRED is what runs of it have noted (NTH_FIRED): then only the places are
listed that no run has made fail. Where a compiler has made a jump of the last call of a function,
nothing tells where it came from, and it is left out; compilers differ in that, so an excuse for it
may stand."""

import pathlib
import re
import subprocess
import sys

EXCUSES = pathlib.Path(__file__).resolve().parent / "places.txt"
CALL = re.compile(r"^\s*[0-9a-f]+:\s+(?:call|bl)\s+[0-9a-f]+ <__wrap_(\w+)>")
JUMP = re.compile(r"^\s*([0-9a-f]+):\s+(?:jmp|b)\s+[0-9a-f]+ <__wrap_(\w+)>", re.M)
ADDRESS = re.compile(r"^\s*([0-9a-f]+):\s")
OURS = re.compile(r"(?:^|/)(src/\w+/\w+\.[ch]):\d+")
LOAD = re.compile(r"^\s*LOAD\s+0x0+\s+(0x[0-9a-f]+)", re.M)


def said(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def code_of(program):
    return said("objdump", "-d", "--no-show-raw-insn", program)


def calls(code):
    """(where it returns to, function) for each call, those of the tests included."""
    waiting = None
    for line in code.splitlines():
        call, at = CALL.match(line), ADDRESS.match(line)
        if waiting and at:
            yield int(at[1], 16), waiting
            waiting = None
        waiting = call[1] if call else waiting


def frames(program, addresses):
    """For each address the (function, "FILE:LINE") that it is in, then those that this was put
    into."""
    text = said("addr2line", "-aif", "-e", program, *map(hex, addresses))
    for block in re.split(r"^0x[0-9a-f]+\n", text, flags=re.M)[1:]:
        lines = block.splitlines()
        yield list(zip(lines[::2], lines[1::2]))


def caller(found):
    """The innermost of our own: the headers of the C library have some calls of theirs around."""
    for function, line in found:
        ours = OURS.search(line)
        if ours:
            return f"{ours[1]} {function.split('.')[0]}"
    return None


def places(program):
    """{where it returns to, from the start of the program: "FILE CALLER FUNCTION"}. The caller is
    the one of the sources, whatever the compiler put into whom."""
    found = list(calls(code_of(program)))
    start = int(LOAD.search(said("readelf", "-lW", program))[1], 16)
    callers = map(caller, frames(program, [at - 1 for at, _ in found]))
    return {at - start: f"{who} {function}" for (at, function), who in zip(found, callers) if who}


def jumps(program):
    """The same of calls that are jumps."""
    found = [(int(at, 16), function) for at, function in JUMP.findall(code_of(program))]
    callers = map(caller, frames(program, [at for at, _ in found]))
    return {f"{who} {function}" for (_, function), who in zip(found, callers) if who}


def read_fired(text):
    return {int(line.split()[1], 16) for line in text.splitlines()}


def read_excuses(text):
    rows = [line.split("|") for line in text.splitlines() if line and not line.startswith("#")]
    return {place.strip(): words.strip() for place, words in rows}


def untried(program, fired, says, excuses):
    """Places that nobody made fail and nobody excused; of the functions that only say what failed
    none. The same line may stand in several places of the program: one of them is enough."""
    found = places(program)
    tried = {found[at] for at in fired if at in found}
    return sorted(place for place in set(found.values()) - tried - set(excuses)
                  if place.split()[2] not in says)


def idle(program, fired, excuses):
    """Excuses for what is no place of the program, or did fail."""
    found = places(program)
    tried = {found[at] for at in fired if at in found}
    there = set(found.values()) | jumps(program)
    return sorted(place for place in excuses if place in tried or place not in there)


def main():
    fired = read_fired(pathlib.Path(sys.argv[2]).read_text()) if len(sys.argv) > 2 else set()
    print("\n".join(untried(sys.argv[1], fired, (), read_excuses(EXCUSES.read_text()))))


if __name__ == "__main__":
    sys.exit(main())
