"""The built program has what makes a mistake harder to use: looked for with readelf.

    test_hardening.py PROGRAM SANITIZERS
"""

import platform
import re
import shutil
import subprocess
import sys
import unittest

PROGRAM, SANITIZERS = sys.argv[1:3]
READELF, OBJDUMP = shutil.which('readelf'), shutil.which('objdump')


def readelf(*options):
    return subprocess.run([READELF, '-W', *options, PROGRAM], stdout=subprocess.PIPE, check=True,
                          text=True).stdout


@unittest.skipUnless(READELF, 'readelf is not installed')
class Hardening(unittest.TestCase):
    def test_position_independent(self):
        self.assertRegex(readelf('-h'), r'Type:\s+DYN')
        self.assertRegex(readelf('-d'), r'FLAGS_1.*\bPIE\b')

    def test_relocations_are_read_only(self):
        self.assertIn('GNU_RELRO', readelf('-l'))
        self.assertRegex(readelf('-d'), r'BIND_NOW|FLAGS.*\bNOW\b')

    def test_nothing_is_writable_and_executable(self):
        segments = re.findall(r'^\s+(LOAD|GNU_STACK)(?:\s+0x[0-9a-f]+){5} ([R ][W ][E ]) ',
                              readelf('-l'), re.M)
        self.assertEqual({flags for name, flags in segments if name == 'LOAD'},
                         {'R  ', 'R E', 'RW '})
        self.assertIn('GNU_STACK', [name for name, _ in segments])
        for name, flags in segments:
            self.assertFalse('W' in flags and 'E' in flags, (name, flags))

    def test_no_way_to_other_libraries(self):
        self.assertNotRegex(readelf('-d'), r'\((RPATH|RUNPATH|TEXTREL)\)')

    def test_stack_protector(self):
        self.assertIn('__stack_chk_fail', readelf('--dyn-syms'))

    @unittest.skipUnless(SANITIZERS == 'none', 'a sanitizer looks itself')
    def test_fortified(self):
        found = set(re.findall(r'\b(__\w+_chk)\b', readelf('--dyn-syms')))
        self.assertGreater(len(found - {'__stack_chk_fail'}), 4, found)

    @unittest.skipUnless(platform.machine() == 'x86_64' and OBJDUMP, 'said of x86 alone')
    def test_control_flow(self):
        # The note that turns it on is lost where a start file of the C library has none.
        code = subprocess.run([OBJDUMP, '-d', '--disassemble=cli_main', PROGRAM],
                              stdout=subprocess.PIPE, check=True, text=True).stdout
        self.assertRegex(code, r'<cli_main>:\n.*\bendbr64\b')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
