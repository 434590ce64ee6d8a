"""What is measured, as if the machine did nothing else: Linux divides its processors among sessions
(autogroup), and those of this program and of all it starts are given the highest weight. Root may.
What the disk and the caches do for others is still felt."""

import os
import threading

LOOK_SECONDS = 0.3
WEIGHT = '-20'  # as of `nice`


def parents():
    found = {}
    for name in os.listdir('/proc'):
        if not name.isdigit():
            continue
        try:
            with open(f'/proc/{name}/stat', encoding='utf-8', errors='replace') as stat:
                found[int(name)] = int(stat.read().rpartition(')')[2].split()[1])
        except OSError:  # it ended meanwhile
            continue
    return found


def descendants(pid):
    found, parent_of = {pid}, parents()
    while True:
        more = {child for child, parent in parent_of.items() if parent in found} - found
        if not more:
            return found
        found |= more


class Alone:
    """Looks again and again: a PostgreSQL has a session for each connection."""

    def __init__(self):
        self.seen, self.ended = set(), threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def weigh(self, pid):
        try:
            with open(f'/proc/{pid}/autogroup', 'w', encoding='ascii') as weight:
                weight.write(WEIGHT)
        except FileNotFoundError:  # it ended meanwhile
            return
        self.seen.add(pid)

    def run(self):
        while not self.ended.wait(LOOK_SECONDS):
            for pid in descendants(os.getpid()) - self.seen:
                self.weigh(pid)

    def __enter__(self):
        self.weigh(os.getpid())  # here it fails where it cannot be done
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
