#!/usr/bin/env python3
"""Tortures worlds until the time is over: `make torture`.

    tests/torture/run.py [BUILD]

A world lives through ROUNDS rounds. In each, one to three faults that are drawn by chance befall it
while everybody works; after each the invariants are checked, and in the end everything must have
healed to the truth. TORTURE_SEED repeats what an earlier run has drawn (the instants are those of
the machine, though), TORTURE_MINUTES (5) or TORTURE_ROUNDS say for how long, TORTURE_WORLD begins
with that world of the seed, TORTURE_ON=sqlite|postgres|partitioned keeps to one kind of archive
and TORTURE_FAULTS=Kill,Clock to these faults. The exit code is 1 as soon as a promise is broken.
"""

import os
import pathlib
import random
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 5  # in one world
HOLD = (1.0, 4.0)  # seconds that faults last
KINDS = ('sqlite', 'postgres', 'partitioned')  # of archives


def arrange(build=None):
    """Before anything of the tests is imported."""
    if build:
        os.environ['TAIN_BUILD'] = str(pathlib.Path(build).resolve())
    for folder in (HERE, HERE.parent / 'e2e', HERE.parent / 'support'):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))


def faults_named(*names):
    import faults
    return [fault for name in names for fault in faults.ALL if fault.name() == name]


def server_of(kind):
    return 'sqlite' if kind == 'sqlite' else 'postgres'


class Plan:
    """What befalls a world: the same for the same seed, world and number of rounds."""

    def __init__(self, seed, number, rounds=ROUNDS, on=None, only=(), disks=True):
        import faults
        self.seed = f'{seed}/{number}'
        chance = random.Random(self.seed)
        first = random.Random(str(seed)).randrange(len(KINDS))
        self.kind = on or KINDS[(number + first) % len(KINDS)]
        known = [f for f in faults.ALL if server_of(self.kind) in f.where
                 and (disks or not f.needs_disk) and (not only or f.name() in only)]
        self.rounds = [self._draw(chance, known) for _ in range(rounds)]
        if self.kind == 'partitioned' and self.rounds:
            self.rounds[0].insert(0, faults.Partition)
        self.small_disk = any(f.needs_disk for drawn in self.rounds for f in drawn)

    @staticmethod
    def _draw(chance, known):
        drawn = chance.sample(known, min(len(known), chance.choice((1, 2, 2, 3))))
        if any(f.needs_disk for f in drawn):  # nothing can be started on a full disk
            drawn = [f for f in drawn if f.name() != 'Restart']
        return drawn


def can_mount():
    from small_disk import Disk
    import unittest
    if os.getuid() != 0:
        return False
    with tempfile.TemporaryDirectory() as folder:
        try:
            Disk(folder, '1m').remove()
            return True
        except (unittest.SkipTest, OSError):
            return False


def live_through(world, plan, number, hold, say):
    """One round."""
    chance = random.Random(f'{plan.seed}/{number}')
    world.dawn()
    befall = [fault(world, chance) for fault in plan.rounds[number]]
    world.faulty = True
    begun = []
    try:
        for fault in befall:
            begun.append(fault)
            fault.begin()
        say(f"  round {number + 1}: {', '.join(map(str, befall))}")
        world.live(chance.uniform(*hold), chance)
    finally:
        chance.shuffle(begun)
        for fault in begun:
            fault.end()
    world.heal()
    world.live(1.0, chance)
    for fault in befall:
        fault.after()
    look = world.judge.look()
    world.faulty = False
    return look


def torture(plan, hold=HOLD, say=print, patient=True):
    """One world from its beginning to its end; raises what is wrong with it. What is promised
    within minutes is waited for where there is patience."""
    from world import WORLDS
    world = WORLDS[plan.kind]()
    world.setUp()
    try:
        world.begin(plan.seed, plan.small_disk, say)
        for number in range(len(plan.rounds)):
            look = live_through(world, plan, number, hold, say)
            deaths = sum(m.deaths for m in world.people.members)
            say(f'    {len(look.ids)} items, {len(look.exceptions)} exceptions, '
                f'{world.rows} rows, {len(world.readers["key"].frames)} events, {deaths} deaths')
        if patient and plan.kind == 'partitioned':
            world.gather()
        began = time.monotonic()
        world.finish()
        say(f'  healed to the truth in {time.monotonic() - began:.1f} s; '
            f'{world.judge.audit.freed} leases ran out')
    finally:
        world.doCleanups()


class Asked:
    """What the environment asks for; what cannot be done is said, and ends the program with 2."""

    def __init__(self, env):
        import faults
        self.env = env
        self.seed = self._number('TORTURE_SEED', random.randrange(1, 1000000), least=0)
        self.rounds = self._number('TORTURE_ROUNDS', 0)
        self.world = self._number('TORTURE_WORLD', 1)
        self.seconds = self._number('TORTURE_MINUTES', 5, float) * 60
        self.on = env.get('TORTURE_ON') or None
        if self.on not in (None, *KINDS):
            self._refuse(f"TORTURE_ON: '{self.on}' is none of {', '.join(KINDS)}")
        self.only = tuple(env.get('TORTURE_FAULTS', '').replace(',', ' ').split())
        known = {f.name(): f for f in faults.ALL}
        for name in self.only:
            if name not in known:
                self._refuse(f"TORTURE_FAULTS: '{name}' is none of {', '.join(known)}")
        for kind in (self.on,) if self.on else KINDS:
            if self.only and not any(server_of(kind) in known[name].where for name in self.only):
                self._refuse(f'TORTURE_FAULTS: none of these befalls {kind}; TORTURE_ON names '
                             'another kind')

    @staticmethod
    def _refuse(why):
        print(f'torture: {why}', file=sys.stderr)
        raise SystemExit(2)

    def _number(self, name, usual, kind=int, least=1):
        text = self.env.get(name)
        if not text:
            return usual
        try:
            found = kind(text)
        except ValueError:
            found = None
        if found is None or not (0 < found if kind is float else least <= found):
            self._refuse(f"{name}: '{text}' is no number that makes sense here")
        return found

    def plan(self, number, lived, disks):
        rounds = min(ROUNDS, self.rounds - lived) if self.rounds else ROUNDS
        return Plan(self.seed, number, rounds, self.on, self.only, disks)


def check_means(asked):
    """Whether there can be small disks; what a run will lack is said before it."""
    from lib import find_bin
    if asked.on != 'sqlite' and not find_bin():
        print('torture: PostgreSQL is not installed; TORTURE_ON=sqlite does without',
              file=sys.stderr)
        raise SystemExit(2)
    disks = can_mount()
    if not disks:
        print('torture: no small disk can be mounted here (as root it can): FullDisk is left out',
              flush=True)
        if asked.only == ('FullDisk',):
            raise SystemExit(2)
    return disks


def main():
    arrange(sys.argv[1] if len(sys.argv) > 1 else HERE.parent.parent / 'build')
    asked = Asked(os.environ)
    seed, rounds = asked.seed, asked.rounds
    print(f'torture: seed {seed}', flush=True)
    disks = check_means(asked)
    number, lived, began = asked.world, 0, time.monotonic()
    while lived < rounds if rounds else time.monotonic() - began < asked.seconds:
        plan = asked.plan(number, lived, disks)
        print(f'world {number} on {plan.kind}', flush=True)
        try:
            torture(plan, say=lambda line: print(line, flush=True))
        except (Exception, KeyboardInterrupt) as broken:  # pylint: disable=broad-except
            traceback.print_exc()
            print(f'torture failed with {type(broken).__name__}: TORTURE_SEED={seed} '
                  f'TORTURE_WORLD={number} repeats it', flush=True)
            return 1
        number, lived = number + 1, lived + len(plan.rounds)
    print(f'torture: {lived} rounds in {time.monotonic() - began:.0f} s, seed {seed}: every '
          'promise was kept', flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
