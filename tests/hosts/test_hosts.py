"""Many hosts, in network namespaces of the test's own: a primary and a synchronous replica of
PostgreSQL, three hosts with `tain catchup`, two with `updater`, three with `enrich`, two with
`serve` (one reads the replica), an upstream and a lookup service. Links are cut in silence and in
the open, hosts die and come back, the replica is promoted. In the end the archive equals the
truth, limits held, and each reader of the feed has every event once, or was told of a gap.

HOSTS_ROUNDS says how many faults befall them, drawn at random; without it a few that are always
the same. HOSTS_FAULTS names others, each in its turn. HOSTS_SEED repeats what was drawn in an
earlier run; where it is odd the archive is partitioned. As root only."""

import os
import pathlib
import random
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'e2e'))
import lib  # noqa: E402,F401
from cluster import SOON  # noqa: E402
from faults import Faults  # noqa: E402
from network import Network, ip, why_not  # noqa: E402
from readers import check_story  # noqa: E402

SHORT = ('zombie', 'server_reset', 'updater_dies', 'enricher_dies', 'primary_vanishes',
         'updater_cut_off')


def refuse(why):
    print(f'hosts: {why}', file=sys.stderr)
    sys.exit(2)


def number(name, usual):
    text = os.environ.get(name) or str(usual)
    if not text.isdecimal():
        refuse(f"{name}: '{text}' is no number")
    return int(text)


def named():
    """Those of HOSTS_FAULTS."""
    names = tuple(os.environ.get('HOSTS_FAULTS', '').replace(',', ' ').split())
    for name in names:
        if name not in Faults.all_faults():
            refuse(f"HOSTS_FAULTS: '{name}' is none of {', '.join(Faults.all_faults())}")
    return names


ROUNDS = number('HOSTS_ROUNDS', 0)
SEED = number('HOSTS_SEED', time.time_ns() % 1000000)
NAMED = named()
PARTITIONED = bool((ROUNDS or NAMED) and SEED % 2)


def event(pos, key=None, epoch=5):
    return ('event', f'{epoch}-{pos}',
            {'table': 'items', 'action': 'update', 'key': {'id': key or pos}})


def gap(to, epoch=5):
    return 'gap', f'{epoch}-{to}', {}


class Stories(unittest.TestCase):
    """What readers heard is looked at closely enough."""

    LOG = {pos: ('items', 'update', {'id': pos}) for pos in range(3, 9)}

    def check(self, *story):
        return check_story('5-4', story, self.LOG)

    def test_all_of_it(self):
        self.assertEqual(self.check(*map(event, range(5, 9))), ([], set()))

    def test_gaps(self):
        self.assertEqual(self.check(event(5), gap(7), event(8)), ([], {6, 7}))
        lost = (event(5), event(6, 66), event(7, 77), gap(5, 6), event(6, 6, 6), event(7, 7, 6),
                event(8, 8, 6))
        self.assertEqual(self.check(*lost), ([], set()))

    def test_whatever_is_wrong(self):
        for story in ([event(5), event(7), event(8)], [event(5), event(6), event(7)],
                      [event(5), event(5), event(6), event(7), event(8)],
                      [event(5), event(6, 66), event(7), event(8)],
                      [*map(event, range(5, 8)), gap(4), *map(event, range(5, 9))],
                      [event(5), gap(5), event(6), event(7), event(8)],
                      [*map(event, range(5, 10))], [event(6), event(5), event(7), event(8)]):
            with self.subTest(story=story):
                self.assertNotEqual(self.check(*story)[0], [])


class Cables(unittest.TestCase):
    """The ways to lose a connection differ, and nothing is left of a test that is gone."""

    def setUp(self):
        if why_not():
            self.skipTest(why_not())
        self.net = Network()
        self.addCleanup(self.net.close)
        self.far = self.net.host('far')

    def connected(self):
        self.far.enter()
        try:
            listener = socket.create_server((self.far.address, 80))
        finally:
            self.net.hosts['observer'].enter()
        self.addCleanup(listener.close)
        near = socket.create_connection(listener.getsockname())
        self.addCleanup(near.close)
        return near, listener.accept()[0]

    def test_cables(self):
        near, far = self.connected()
        self.addCleanup(far.close)
        near.settimeout(0.2)
        here = self.net.hosts['observer']
        for cut, mend in ((self.far.unplug, self.far.plug),
                          (lambda: self.net.cut(here, self.far),
                           lambda: self.net.mend(here, self.far))):
            cut()
            far.send(b'x')
            self.assertRaises(TimeoutError, near.recv, 1)
            mend()
            lib.wait_until(lambda: self.comes(near), what='what was sent before')
        self.far.reset_connections()
        self.assertRaises(ConnectionResetError, near.recv, 1)

    @staticmethod
    def comes(near):
        try:
            return near.recv(1)
        except TimeoutError:
            return None

    def test_a_host_dies(self):
        near, far = self.connected()
        self.addCleanup(far.close)
        process = self.far.popen(['sleep', '3600'])
        self.far.die()
        self.assertEqual(process.wait(), -9)
        near.settimeout(0.2)
        self.assertRaises(TimeoutError, near.recv, 1)
        self.far.plug()  # it does not know of this connection any more
        near.settimeout(lib.ANSWER)
        near.send(b'x')
        self.assertRaises(ConnectionResetError, near.recv, 1)

    def test_nothing_is_left(self):
        dead = subprocess.Popen(['true'])
        dead.wait()
        left = f'tain{dead.pid}-left'
        ip('netns', 'add', left)
        sleeper = subprocess.Popen(['nsenter', f'--net=/run/netns/{left}', 'sleep', '3600'])
        self.net.close()
        lib.wait_until(lambda: str(sleeper.pid) in ip('netns', 'pids', left), what='the sleeper')
        self.net = Network()
        self.addCleanup(self.net.close)
        self.assertEqual(sleeper.wait(), -9)
        self.assertNotIn(left, ip('netns', 'list'))
        self.net.close()
        self.assertNotIn(f'tain{os.getpid()}-', ip('netns', 'list'))


class Hosts(Faults):
    options = {} if ROUNDS else SOON
    partitioned = PARTITIONED

    def test_hosts(self):
        self.tell(f'seed {SEED}' + (', partitioned' if PARTITIONED else ''))
        with self.subTest(seed=SEED):
            chance = random.Random(SEED)
            faults = NAMED or (self.drawn(chance) if ROUNDS else SHORT)
            self.begin(SEED)
            for fault in faults:
                self.befall(fault, chance)
            self.settle()
            self.check_end()

    def drawn(self, chance):
        """Each of them once in every so many rounds."""
        faults = []
        while len(faults) < ROUNDS:
            faults += chance.sample(self.all_faults(), len(self.all_faults()))
        return faults[:ROUNDS]


if __name__ == '__main__':
    unittest.main()
