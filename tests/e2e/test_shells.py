"""Manual pages and completions, as the build made them: there is one page for each command, the
formatters have nothing to complain about, and the tab key offers what the tables say."""

import os
import pty
import re
import select
import shutil
import subprocess
import tempfile
import time
import unittest

from lib import ANSWER, BUILD, E2E, ROOT, TAIN, environment

MAN = BUILD / 'packaging' / 'man'
BASH = BUILD / 'packaging' / 'completion' / 'tain'
ZSH = BUILD / 'packaging' / 'completion' / '_tain'


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True,
                          env=environment()).stdout.decode()


def commands():
    overview = output(TAIN, '--help').partition('Commands:\n')[2]
    return re.findall(r'^  ([a-z-]+) ', overview, re.M)


def options(command):
    return re.findall(r'^  (?:-h, )?(--[a-z-]+)', output(TAIN, 'help', command), re.M)


class Manual(unittest.TestCase):
    def pages(self):
        return sorted(MAN.glob('*.1'))

    def test_one_for_each_command(self):
        self.assertEqual({p.name for p in self.pages()},
                         {'tain.1'} | {f'tain-{name}.1' for name in commands()})

    def test_as_the_program_makes_them(self):
        for page in self.pages():
            words = [page.stem[len('tain-'):]] if page.stem != 'tain' else []
            self.assertEqual(page.read_text('utf-8'), output(TAIN, 'help', '--man', *words))

    def test_nothing_is_left_out(self):
        if not shutil.which('mandoc'):
            self.skipTest('mandoc is not installed')
        for name in commands():
            text = output('mandoc', '-Tascii', str(MAN / f'tain-{name}.1'))
            text = re.sub('.\b', '', text)
            for option in options(name):
                self.assertRegex(text, rf'(?m)^     (-h, )?{option}\b', name)
            for title in ('NAME', 'SYNOPSIS', 'DESCRIPTION', 'ENVIRONMENT', 'EXIT STATUS',
                          'EXAMPLES', 'SEE ALSO'):
                self.assertIn(f'\n{title}\n', text)
            help_text = ' '.join(output(TAIN, 'help', name).split())
            about = re.search(r'\[options\] (.*?) Options:', help_text)
            if about:  # the same words, however they are broken
                self.assertIn(about.group(1)[:60], ' '.join(text.split()))

    def test_lint(self):
        if not shutil.which('mandoc'):
            self.skipTest('mandoc is not installed')
        done = subprocess.run(['mandoc', '-Tlint', *(p.name for p in self.pages())], cwd=MAN,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = [line for line in done.stdout.splitlines()
                if 'operating system explicitly specified' not in line]  # ours is the program
        self.assertEqual(said, [])

    def test_lint_can_fail(self):
        if not shutil.which('mandoc'):
            self.skipTest('mandoc is not installed')
        with tempfile.NamedTemporaryFile('w', suffix='.1') as page:
            page.write((MAN / 'tain.1').read_text('utf-8').replace('.El', '', 1))
            page.flush()
            done = subprocess.run(['mandoc', '-Tlint', page.name], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
        self.assertRegex(done.stdout, 'WARNING|ERROR')

    def test_unknown(self):
        done = subprocess.run([TAIN, 'help', '--man', 'nonsense'], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout), (2, b''))


class Reference(unittest.TestCase):
    maxDiff = None

    def test_the_table_in_the_docs(self):
        page = (ROOT / 'docs' / 'cli.md').read_text('utf-8')
        table = page[page.index('| option | commands |'):]
        self.assertEqual(table, output(TAIN, 'help', '--reference'),
                         "put what 'tain help --reference' prints at the end of docs/cli.md")
        rows = re.findall(r'^\| `(--[a-z-]+)', table, re.M)
        known = {option for name in commands() for option in options(name)} - {'--help'}
        self.assertEqual(sorted(rows), sorted(known))


class Bash(E2E):
    def complete(self, line):
        """What is offered at the end of the line; words are taken apart as readline does."""
        words = re.findall(r'[=:]|[^ =:]+', line) + ([''] if line.endswith(' ') else [])
        script = (f'source {BASH}\nCOMP_WORDS=({" ".join(map(repr, words))})\n'
                  f'COMP_CWORD={len(words) - 1}\n_tain\nprintf "%s\\n" "${{COMPREPLY[@]}}"')
        done = subprocess.run(['bash', '--norc', '-c', script], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, cwd=self.folder,
                              env=environment())
        self.assertEqual(done.stderr, '', line)
        return done.stdout.split()

    def test_what_is_offered(self):
        (self.folder / 'tain.conf').touch()
        (self.folder / 'tain.db').touch()
        cases = [
            ('tain ca', ['catchup']),
            ('tain --v', ['--version']),
            ('tain help upd', ['updater']),
            ('tain catchup --rev', ['--revisions']),
            ('tain catchup --revisions ', ['all', 'content', 'none']),
            ('tain catchup --revisions=c', ['content']),
            ('tain catchup --revisions=', ['all', 'content', 'none']),
            ('tain catchup --limit ', []),
            ('tain catchup --limit=', []),
            ('tain catchup ', []),
            ('tain catchup --config tain.c', ['tain.conf']),
            ('tain catchup --config=tain.c', ['tain.conf']),
            ('tain status --db ', ['sqlite:', 'postgres://']),
            ('tain status --db sq', ['sqlite:']),
            ('tain status --db sqlite:tain.d', ['tain.db']),
            ('tain status --db sqlite:', ['tain.conf', 'tain.db']),
            ('tain status --db=sqlite:tain.d', ['tain.db']),
            ('tain status --no', ['--no-json']),
            ('tain catchup --no-m', ['--no-migrate']),
            ('tain dead-letter ', ['list', 'show', 'replay', 'accept']),
            ('tain dead-letter --log-level info re', ['replay']),
            ('tain dead-letter --json --class=dns l', ['list']),
            ('tain dead-letter show ', []),
            ('tain import tain.d', ['tain.db']),
            ('tain import --as-of 2026-01-01 tain.d', ['tain.db']),
            ('tain import tain.db ', []),
            ('tain nonsense --', []),
        ]
        for line, expected in cases:
            with self.subTest(line):
                self.assertEqual(sorted(self.complete(line)), sorted(expected))

    def test_every_command_and_option(self):
        offered = self.complete('tain ')
        self.assertEqual(sorted(offered), sorted(commands() + ['help', '--help', '--version']))
        for name in commands():
            self.assertEqual(sorted(self.complete(f'tain {name} --')), sorted(options(name)))


@unittest.skipUnless(shutil.which('zsh'), 'zsh is not installed')
class Zsh(E2E):
    """A zsh at a terminal; `tain` is a function that says what it was given."""

    def setUp(self):
        super().setUp()
        (self.folder / 'tain.conf').touch()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(self.folder)
            os.execvpe('zsh', ['zsh', '-f', '-i'], environment({'TERM': 'dumb', 'PS1': ''}))
        self.addCleanup(self.end)
        self.type(f'unsetopt zle_bracketed_paste prompt_sp; fpath=({ZSH.parent} $fpath); '
                  f'autoload -Uz compinit; compinit -u -D; '
                  'tain() { print -r -- "GOT<$*>" }; print READ""Y\n')
        self.wait_for('READY')

    def end(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)

    def type(self, keys):
        os.write(self.terminal, keys.encode())

    def wait_for(self, pattern):
        text, deadline = '', time.monotonic() + ANSWER
        while time.monotonic() < deadline:
            if select.select([self.terminal], [], [], 0.2)[0]:
                text += os.read(self.terminal, 65536).decode('utf-8', 'replace')
            found = re.search(pattern, text)
            if found:
                return found
        raise AssertionError(f'{pattern} did not come: {text!r}')

    def test_what_is_offered(self):
        for keys, expected in (('tain ca\t', 'catchup'),
                               ('tain dead-letter sho\t', 'dead-letter show'),
                               ('tain catchup --rev\tc\t', 'catchup --revisions=content'),
                               ('tain catchup --revisions n\t', 'catchup --revisions none'),
                               ('tain catchup --config tain.c\t', 'catchup --config tain.conf'),
                               ('tain status --js\t', 'status --json'),
                               ('tain status --db sq\tx', 'status --db sqlite:x'),
                               ('tain export tain.c\t', 'export tain.conf'),
                               ('tain help upd\t', 'help updater')):
            with self.subTest(keys):
                self.type(keys + '\n')
                self.assertEqual(self.wait_for(r'GOT<([^>]*)>').group(1).strip(), expected)

    def test_every_option_is_there(self):
        text = ZSH.read_text('utf-8')
        for name in commands():
            case = re.search(rf'^    {name}\)$(.*?)^        ;;$', text, re.M | re.S).group(1)
            found = re.findall(r"^            '\*?(--[a-z-]+)", case, re.M) + ['--help']
            self.assertEqual(sorted(found), sorted(options(name)))
        self.assertEqual(subprocess.run(['zsh', '-n', ZSH]).returncode, 0)


if __name__ == '__main__':
    unittest.main()
