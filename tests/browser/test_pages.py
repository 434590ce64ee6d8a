"""The pages in Debian's Chromium, driven by playwright-core: lists, a thread, keys, search, status,
light and dark, the width of a phone, without script, and with hostile words everywhere. Pictures of
all of it are left in screenshots/ of the build folder."""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'support'))
from site_under_test import BUILD, CODE, GENERATED, LONG, LONG_N, WIDE, Site  # noqa: E402
from npm import npm_folder  # noqa: E402

PLAYWRIGHT = {'playwright-core': '1.65.0'}
SECONDS = 1500  # for all cases together


def chromium():
    found = shutil.which('chromium')
    if not found:
        raise unittest.SkipTest('chromium is not installed')
    return found


def all_kids(archive):
    kids = collections.defaultdict(list)
    for item, kid in archive.rows('SELECT item, kid FROM kids ORDER BY item, display_order'):
        kids[item].append(kid)
    return kids


def order_of(kids, story):
    """(ids, parents) of a thread as the upstream ranks it; the parent of the first level is 0."""
    ids, parents, todo = [], [], [(kid, 0) for kid in reversed(kids[story])]
    while todo:
        item, parent = todo.pop()
        ids.append(item)
        parents.append(parent)
        todo += [(kid, item) for kid in reversed(kids[item])]
    return ids, parents


def facts_of(site):
    """What the cases need to know of the corpus."""
    rows = site.archive.rows
    ours = f'id <= {GENERATED} AND NOT dead AND NOT deleted'
    kids = all_kids(site.archive)
    stories = rows(f"SELECT id FROM items WHERE type = 'story' AND {ours} AND title IS NOT NULL "
                   'ORDER BY descendants DESC')
    # its first comment has an answer, and is not the last of its level
    story = next(i for i, in stories if len(kids[i]) > 2 and kids[kids[i][0]])
    user = rows(f'SELECT "by" FROM items WHERE {ours} AND "by" IS NOT NULL GROUP BY "by" '
                'ORDER BY count(*) DESC, 1 LIMIT 1')[0][0]
    words = collections.Counter(
        word for (title,) in rows(f'SELECT title FROM items WHERE {ours} AND title IS NOT NULL')
        for word in set(re.findall(r'[a-z]{6,}', title.lower())))
    word = max(sorted(words), key=words.get)
    order, parents = order_of(kids, story)
    named = urllib.parse.quote(user)
    return {
        'story': story, 'order': order, 'parents': parents, 'user': user, 'word': word,
        'code': CODE, 'long': LONG, 'long_n': LONG_N,
        'hostile': [f"/item?id={item['id']}" for item in site.hostile
                    if item['type'] in ('story', 'poll')] + ['/newest', '/', '/links']
        + [f'/link/{link}' for link in site.links],
        'wide': [f'/item?id={WIDE}', f'/item?id={WIDE + 9}', '/newest', f'/user?id={"N" * 60}',
                 f'/search?q={"W" * 300}', f'/search?author={"N" * 60}',
                 f'/discussions?url=https://{"d" * 60}.example/{"W" * 300}', f'/{"W" * 500}'],
        'pages': {'front': '/', 'newest': '/newest', 'thread': f'/item?id={story}',
                  'comment': f'/item?id={order[0]}', 'user': f'/user?id={named}',
                  'search': f'/search?q={word}', 'status': '/status', 'links': '/links',
                  'link': f'/link/{site.links[0]}', 'link-failed': f'/link/{site.links[3]}',
                  'add': '/add?url=https://e.example/'},
    }


class InTheBrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.chromium = chromium()
        cls.packages = npm_folder(BUILD, 'browser', PLAYWRIGHT)
        cls.site = Site()
        cls.addClassCleanup(cls.site.close)
        cls.shots = BUILD / 'screenshots'
        cls.shots.mkdir(exist_ok=True)
        only = os.environ.get('BROWSER_CASES')  # names with commas between them; all when absent
        cls.results = cls.run_cases({
            'base': cls.site.base, 'chromium': cls.chromium, 'shots': str(cls.shots),
            'playwright': str(cls.packages / 'node_modules' / 'playwright-core'),
            'only': only.split(',') if only else None, **facts_of(cls.site)})

    @classmethod
    def run_cases(cls, facts):
        """One browser for all of them: {case: what does not hold, or None}."""
        path = cls.site.folder / 'facts.json'
        path.write_text(json.dumps(facts), encoding='utf-8')
        done = subprocess.run(['node', str(HERE / 'pages.cjs'), str(path)], text=True,
                              stdout=subprocess.PIPE, timeout=SECONDS, check=True)
        return json.loads(done.stdout)

    def case(self, name):
        if name not in self.results:
            self.skipTest('not asked for')
        self.assertIsNone(self.results[name], self.results[name])

    def test_front_page_and_lists(self):
        self.case('front')

    def test_a_thread_and_its_links(self):
        self.case('thread')

    def test_keys_in_a_thread(self):
        self.case('keys')

    def test_keys_in_a_list(self):
        self.case('keys_in_lists')

    def test_skip_link_and_visible_focus(self):
        self.case('skip_link')

    def test_light_and_dark(self):
        self.case('dark')

    def test_everything_can_be_read(self):
        self.case('contrast')

    def test_phone(self):
        self.case('phone')

    def test_words_that_never_end(self):
        self.case('wide')

    def test_without_script(self):
        self.case('without_script')

    def test_search(self):
        self.case('search')

    def test_status(self):
        self.case('status')

    def test_people(self):
        self.case('people')

    def test_a_long_thread(self):
        self.case('long_thread')

    def test_hostile_words(self):
        self.case('hostile')


if __name__ == '__main__':
    unittest.main()
