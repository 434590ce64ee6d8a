"""Every page that can be reached, followed link by link over a generated corpus and a hostile one:
no link within the site is dead, every anchor exists, tags are balanced, nothing from outside
becomes markup, and the policy against script is always there."""

import collections
import html
import html.parser
import http.client
import pathlib
import re
import sys
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'support'))
import hostile  # noqa: E402
from lib import ANSWER, PostgresArchive, shared_postgres  # noqa: E402
from site_under_test import CODE, LONG, LONG_N, Site, internal  # noqa: E402

VOID = {'meta', 'link', 'input', 'br', 'hr', 'img', 'wbr'}
TAGS = set('''
    html head title body main header footer nav section article aside details summary h1 h2 h3
    h4 p div span a abbr ul ol li dl dt dd form fieldset legend label input select option button
    script link meta time i b em strong mark small pre code meter progress table caption thead
    tbody tr th td svg g circle rect path line polyline polygon text tspan desc defs
    linearGradient stop figure figcaption output noscript'''.lower().split())
BAD_ATTRIBUTES = {'style', 'srcdoc', 'formaction', 'xlink:href', 'background'}
ADDRESSES = {'href', 'src', 'action'}
# The one address of another kind: a bookmark, which is dragged away and not followed.
BOOKMARK = re.compile(r"javascript:location\.href='http://127\.0\.0\.1:\d+/add\?url='"
                      r'\+encodeURIComponent\(location\.href\)')
PAGES_MAX = 20000


class Page(html.parser.HTMLParser):
    """Reads a page as a browser would, more strictly, and notes what is wrong with it."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.wrong, self.links, self.ids = [], [], [], collections.Counter()
        self.words = []
        self.feed(text)
        self.close()
        if self.open:
            self.wrong.append(f'never closed: {self.open}')

    def note(self, text):
        if len(self.wrong) < 5:
            self.wrong.append(f'line {self.getpos()[0]}: {text}')

    def handle_starttag(self, tag, attributes):
        if tag not in TAGS:
            self.note(f'<{tag}>')
        for name, value in attributes:
            self.attribute(tag, name, value or '')
        if tag == 'script' and not dict(attributes).get('src', '').startswith('/assets/'):
            self.note('a script that is not ours')
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.note(f'</{tag}> closes nothing of that name')

    def attribute(self, tag, name, value):
        if name.startswith('on') or name in BAD_ATTRIBUTES:
            self.note(f'{name} on <{tag}>')
        if name in ADDRESSES and not BOOKMARK.fullmatch(value):
            scheme = urllib.parse.urlsplit(value.strip()).scheme.lower()
            if scheme not in ('', 'http', 'https', 'mailto') or value.startswith('//'):
                self.note(f'{name}="{value[:60]}"')
            if tag == 'a' and scheme and 'noopener' not in self.rel_of():
                self.note(f'a link out of the house without rel: {value[:60]}')
        if name == 'id':
            self.ids[value] += 1
        if tag == 'a' and name == 'href':
            self.links.append(value)

    def rel_of(self):
        return self.get_starttag_text().partition(' rel="')[2].partition('"')[0]

    def handle_data(self, data):
        if self.open and self.open[-1] in ('script', 'style') and data.strip():
            self.note('an inline script or style')
        self.words.append(data)

    def handle_comment(self, data):
        self.note(f'a comment: {data[:40]}')

    def unknown_decl(self, data):
        self.note(f'a declaration: {data[:40]}')

    @property
    def text(self):
        return ''.join(self.words)


def letters(text):
    """A text without its blanks: tags may stand for some."""
    return re.sub(r'\s+', '', text)


def plain(text):
    """What a reader sees of HN's HTML, without blanks."""
    return letters(html.unescape(re.sub(r'<[^>]*>', '', text)))


class Pages:
    """What holds on both databases; `site` is made by the class."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site = cls.make_site()
        cls.addClassCleanup(cls.site.close)
        cls.connection = http.client.HTTPConnection('127.0.0.1', cls.site.port, timeout=ANSWER)
        cls.addClassCleanup(cls.connection.close)

    def fetch(self, path):
        for attempt in (1, 2):
            try:
                self.connection.request('GET', path)
                answer = self.connection.getresponse()
                return answer.status, answer.headers, answer.read()
            except (http.client.HTTPException, OSError):
                self.connection.close()  # it may have been closed as idle
                if attempt == 2:
                    raise
        return None

    def page(self, path):
        """A page that is as it should be."""
        status, headers, body = self.fetch(path)
        self.assertEqual(status, 200, path)
        if not headers['Content-Type'].startswith('text/html'):
            return None
        policy = headers['Content-Security-Policy'] or ''
        self.assertIn("default-src 'none'", policy, path)
        self.assertNotIn('unsafe', policy, path)
        self.assertEqual(headers['X-Content-Type-Options'], 'nosniff', path)
        page = Page(body.decode('utf-8'))
        self.assertFalse(page.wrong, f'{path}: {page.wrong}')
        repeated = [i for i, n in page.ids.items() if n > 1]
        self.assertFalse(repeated, f'{path}: ids that come twice')
        for link in page.links:
            if link.startswith('#'):
                self.assertIn(link[1:], page.ids, f'{path} leads to {link}, which is not there')
        return page

    def test_hostile_words_are_shown_as_words(self):
        for item in self.site.hostile:
            page = self.page(f"/item?id={item['id']}")
            wanted = item.get('title')
            if wanted:
                clean = ''.join('\ufffd' if c < ' ' else c for c in wanted)
                self.assertIn(clean, page.text, item['id'])

    def test_hostile_links(self):
        for link in self.site.links:
            page = self.page(f'/link/{link}')
            title, = self.site.archive.rows(f'SELECT title FROM links WHERE id = {link}')[0]
            clean = ''.join('\ufffd' if c < ' ' else c for c in title or '')
            self.assertIn(clean, page.text, link)
        stories = self.site.archive.rows('SELECT i.id, l.id FROM items i JOIN links l ON '
                                         'l.url_key = i.url_key WHERE i.url IS NOT NULL')
        shown = [link for story, link in stories
                 if f'/link/{link}' in self.page(f'/item?id={story}').links]
        self.assertTrue(shown, 'no story shows its link')

    def test_hostile_parameters(self):
        for vector in hostile.VECTORS:
            quoted = urllib.parse.quote(vector)
            for path in (f'/user?id={quoted}', f'/search?q={quoted}', f'/item?id={quoted}',
                         f'/?p={quoted}', f'/discussions?url={quoted}', f'/links?q={quoted}',
                         f'/add?url={quoted}', f'/add?url=http://e.example/{quoted}',
                         f'/discussions?url=http://e.example/{quoted}', f'/{quoted}'):
                status, headers, body = self.fetch(path)
                self.assertIn(status, (200, 400, 404), path)
                if headers['Content-Type'].startswith('text/html'):
                    page = Page(body.decode('utf-8'))
                    self.assertFalse(page.wrong, f'{path}: {page.wrong}')

    def test_what_is_not_there(self):
        for path, code in (('/item?id=999999', 404), ('/item', 400), ('/item?id=x', 400),
                           ('/item?id=0', 400), ('/item?id=-5', 400), ('/nothing', 404),
                           ('/user', 400), ('/user?id=nobody-of-that-name', 404),
                           ('/?p=0', 400), ('/link/0', 404), ('/link/x', 404), ('/link/99', 404),
                           ('/link/', 404), ('/links?before=0', 400),
                           ('/?p=99999999999999999999', 400),
                           ('/item/revisions?id=999999', 404), ('/discussions', 400),
                           ('/user?id=someone&show=all-of-it', 400)):
            status, headers, body = self.fetch(path)
            self.assertEqual(status, code, path)
            self.assertTrue(headers['Content-Type'].startswith('text/html'), path)
            self.assertFalse(Page(body.decode('utf-8')).wrong, path)

    def test_what_is_not_here_may_be_elsewhere(self):
        for path, original in (('/item?id=999999', 'item?id=999999'),
                               ('/item/revisions?id=999999', 'item?id=999999'),
                               ('/user?id=no"body', 'user?id=no%22body')):
            page = Page(self.fetch(path)[2].decode('utf-8'))
            self.assertIn('https://news.ycombinator.com/' + original, page.links, path)
            self.assertIn('Not in this archive', page.text)

    def test_links_to_hacker_news_stay_here(self):
        links = self.page(f'/item?id={CODE}').links
        self.assertIn(f'/item?id={LONG}#{LONG + 1}', links)
        self.assertIn('/user?id=someone', links)
        self.assertNotIn('https://news.ycombinator.com/user?id=someone', links)

    def test_a_long_thread_is_complete(self):
        page = self.page(f'/item?id={LONG}')
        self.assertEqual(sum(i.isdigit() for i in page.ids), LONG_N + 1)

    def test_discussions_of_one_address(self):
        address = 'http://e.example/?a=1&b=2&lt;3'
        page = self.page('/discussions?url=' + urllib.parse.quote(address, safe=''))
        self.assertIn('address 9', page.text)

    def test_a_profile(self):
        page = self.page('/user?id=someone')
        self.assertIn('karma 1,234', page.text)
        self.assertIn(hostile.VECTORS[0], page.text)
        mine = {i['id'] for i in self.site.hostile if i['by'] == 'someone'}
        shown, path = set(), '/user?id=someone'
        while path:  # from page to page
            page = self.page(path)
            shown |= {int(link[9:]) for link in page.links if re.fullmatch(r'/item\?id=\d+', link)}
            path = next((link for link in page.links
                         if link.startswith('/user?id=someone&p=')), None)
        self.assertLessEqual(mine, shown)
        self.assertIn('gone upstream', self.page('/user?id=nobody').text)

    def test_earlier_versions(self):
        for item, text in self.site.changed.items():
            page = self.page(f'/item/revisions?id={item}')
            self.assertIn(plain(text), letters(page.text), item)
            now = self.page(f'/item?id={item}')
            self.assertIn(f'/item/revisions?id={item}', now.links)


class OnSqlite(Pages, unittest.TestCase):
    @classmethod
    def make_site(cls):
        return Site()

    def test_every_link_leads_somewhere(self):
        seen, todo, pages = {'/'}, collections.deque(['/']), 0
        while todo:
            path = todo.popleft()
            with self.subTest(path=path):
                page = self.page(path)
            pages += 1
            self.assertLess(pages, PAGES_MAX, 'a site without an end')
            for link in page.links if page else []:
                target = internal(link)
                if target and target not in seen and self.wanted(target):
                    seen.add(target)
                    todo.append(target)
        for start, least in (('/item?id=', 800), ('/user?id=', 50), ('/discussions?', 10),
                             ('/item/revisions?', len(self.site.changed)),
                             ('/link/', len(self.site.links)), ('/links', 2)):
            self.assertGreaterEqual(sum(path.startswith(start) for path in seen), least, start)

    @staticmethod
    def wanted(path):
        """All of it, but of the long thread's comments and of search results a part."""
        parts = urllib.parse.urlsplit(path)
        query = urllib.parse.parse_qs(parts.query)
        if query.get('id', [''])[0].isdigit():
            number = int(query['id'][0])
            return not LONG < number <= LONG + LONG_N or number % 50 == 0
        return parts.path != '/search' or len(query) < 2


class OnPostgres(Pages, unittest.TestCase):
    @classmethod
    def make_site(cls):
        return Site(PostgresArchive(shared_postgres()), generated=400)


if __name__ == '__main__':
    unittest.main()
