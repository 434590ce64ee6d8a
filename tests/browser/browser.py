"""A browser, step by step: Debian's Chromium, driven by playwright-core in a process of node.

    browser = Browser()                        # skips the test where there is none
    page = browser.open(server.origin + '/add', colorScheme='dark')
    page.see('.state', 'Checking Reddit')      # until it is there
    page.press('Enter')
    page.well()                                # no error, no dialog, nothing asked elsewhere
    browser.close()
"""

import itertools
import json
import pathlib
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / 'support'), str(HERE.parent / 'e2e')]
from lib import BUILD  # noqa: E402
from npm import npm_folder  # noqa: E402

PLAYWRIGHT = {'playwright-core': '1.65.0'}


def chromium():
    found = shutil.which('chromium')
    if not found:
        raise unittest.SkipTest('chromium is not installed')
    return found


class Page:
    """A tab, in a profile of its own."""

    def __init__(self, browser, name):
        self.browser, self.name = browser, name

    def do(self, deed, **arguments):
        return self.browser.do(self.name, deed, arguments)

    def see(self, what, text=None):
        """Until it is there and can be seen."""
        self.do('see', what=what, **({} if text is None else {'text': text}))

    def miss(self, what):
        self.do('miss', what=what)

    def text(self, what):
        return self.do('text', what=what)

    def count(self, what):
        return self.do('count', what=what)

    def at(self, end):
        """Until its address ends so."""
        return self.do('at', end=end)

    def press(self, key):
        self.do('press', key=key)

    def shot(self, name):
        folder = BUILD / 'screenshots'
        folder.mkdir(exist_ok=True)
        self.do('shot', path=str(folder / f'{name}.png'))

    def well(self, test):
        test.assertEqual(self.do('troubles'), [])


class Browser:
    def __init__(self):
        packages = npm_folder(BUILD, 'browser', PLAYWRIGHT)
        self.names = itertools.count()
        self.process = subprocess.Popen(
            ['node', str(HERE / 'driver.cjs'),
             str(packages / 'node_modules' / 'playwright-core'), chromium()],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.hear()

    def hear(self):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f'the browser ended: {self.process.wait()}')
        said = json.loads(line)
        if 'error' in said:
            raise AssertionError(said['error'])
        return said['value']

    def do(self, page, deed, arguments):
        self.process.stdin.write(json.dumps({'page': page, 'do': deed, 'with': arguments}) + '\n')
        return self.hear()

    def open(self, url, status=200, **options):
        """A page that answers with this status. `lacks` names what is taken from it: 'polls' or
        'events'; the rest are options of a playwright context."""
        page = Page(self, str(next(self.names)))
        answered = page.do('open', url=url, **options)
        if answered != status:
            raise AssertionError(f'{url}: {answered}')
        return page

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
