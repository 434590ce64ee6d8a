"""Links in the browser, with stand-ins behind them and workers that start while somebody looks: the
spinner and then what was found, the way from a discussion to its article, trouble and the button
that tries again, all of it without script too."""

import unittest

from browser import Browser
from lib import OnPostgres, OnSqlite
from links_under_test import LinksTest
from updater import Upstream

# Is it the same page all the time, and what is a screen reader told?
WATCH = """(() => {
  const status = document.querySelector("[role=status]");
  window.first = document.querySelector("#reddit h2");
  window.told = [];
  const note = () => window.told.push(status.textContent);
  new MutationObserver(note).observe(status, {childList: true});
})()"""


class InTheBrowser:
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def open(self, links, path, **options):
        page = self.browser.open(links.server.origin + path, **options)
        self.addCleanup(page.do, 'close')
        return page

    def add(self, links, url, **options):
        """By the form, with the keyboard; the page is that of the link."""
        page = self.open(links, '/add', **options)
        page.do('focus', what='#url')
        page.do('type', text=url)
        page.press('Enter')
        page.see('article.link')
        return page, int(page.do('attribute', what='#link', attribute='data-link'))

    def test_spinner_then_results(self):
        links = self.links()
        url = links.article('plain')
        links.discussed(url, reddit=2, hn=1)
        links.serve()
        page, link = self.add(links, url)
        pages = [page, self.open(links, f'/link/{link}', lacks=['events']),
                 self.open(links, f'/link/{link}', lacks=['polls'])]
        for page in pages:
            page.see('#reddit .spinner')
            page.see('#reddit', 'Checking Reddit…')
            page.see('#hn', 'Checking HN…')
            page.see('#summary', 'Reading the article…')
            page.do('run', script=WATCH)
        pages[0].shot('link-pending')
        self.assertEqual(links.asked(), 0)
        links.enrich()
        for page in pages:
            page.see('#reddit', 'r/sub1')
            page.see('#reddit .replies', '1 comment')
            page.see('#hn', '20 points')
            page.see('#summary .text')
            page.miss('.spinner')
            self.assertTrue(page.do('run', script='window.first.isConnected'), 'the page was left')
            self.assertEqual(page.count('#link[data-pending]'), 0)
            told = ' '.join(page.do('run', script='window.told'))
            for words in ('Reddit: 2 discussions', 'Hacker News: 1 discussion',
                          'There is a summary'):
                self.assertIn(words, told)
            page.well(self)
        pages[0].shot('link-done')
        shown = self.open(links, '/links?q=plain')
        shown.see('.story', '2 on Reddit')
        shown.see('.story .replies', '1 comment')
        shown.well(self)

    def test_a_discussion_leads_to_its_article(self):
        links = self.links()
        url = links.article('nav')
        posts, stories = links.discussed(url, reddit=1, hn=1)
        links.serve()
        pages = {}
        for name, discussion in (('reddit', links.reddit.page(posts[0])),
                                 ('hn', links.hn.page(stories[0]))):
            pages[name] = self.add(links, discussion)
            pages[name][0].see('#reverse', 'Finding the article…')
        links.enrich()
        for page, link in pages.values():
            links.wait(link, reverse_lookup='completed')
            target = links.target(link)
            page.at(f'/link/{target}')
            page.see('#summary .text')
            page.see('#reddit', 'sub0')
            page.well(self)
            moved = links.server.get(f'/link/{link}')
            self.assertEqual((moved.status, moved.headers['Location']), (302, f'/link/{target}'))

    def test_a_slow_page_of_the_article_is_asked_for_once(self):
        links = self.links()
        posts, _ = links.discussed(links.article('nav'), reddit=1, hn=0)
        links.serve()
        page, link = self.add(links, links.reddit.page(posts[0]), lacks=['pauses'])
        page.see('#reverse', 'Finding the article…')
        page.do('delay', ms=500)  # so many looks long
        links.enrich()
        links.wait(link, reverse_lookup='completed')
        page.at(f'/link/{links.target(link)}')
        self.assertEqual(page.do('asked'), 1)
        page.see('#summary .text')
        page.well(self)

    def test_trouble_and_the_button(self):
        links = self.links()
        links.ai.become('invalid')
        links.serve()
        links.enrich()
        page, link = self.add(links, links.article('plain'))
        page.see('#summary .failed', 'Error making a summary: ')
        page.see('#reddit', 'No discussions found on Reddit')
        page.see('#hn', 'No discussions found on HN')
        self.assertTrue(links.errors(link)['summary_error'])
        page.see('#summary .failed', links.errors(link)['summary_error'][:60])
        page.shot('link-failed')
        links.ai.usual()
        page.do('focus', what='#summary button')
        page.press('Enter')
        page.see('#summary .text')
        page.miss('#summary .failed')
        links.wait(link, summary='completed')
        focused = page.do('run', script='document.activeElement.closest("#summary") !== null')
        self.assertTrue(focused, 'the focus is lost')
        page.well(self)

    def test_without_script(self):
        links = self.links()
        url = links.article('plain')
        links.discussed(url, reddit=1, hn=0)
        links.ai.become('invalid')
        links.serve()
        page, link = self.add(links, url, javaScriptEnabled=False)
        page.see('#reddit', 'Checking Reddit…')
        links.enrich()
        page.see('#reddit', 'r/sub0')
        page.see('#hn', 'No discussions found on HN')
        page.see('#summary .failed')
        links.wait(link, summary='failed')
        page.miss('.spinner')
        links.ai.usual()
        page.do('click', what='#summary button')
        page.see('#summary .text')
        self.assertTrue(page.do('url').endswith(f'/link/{link}'))
        page.well(self)

    def test_what_cannot_be_added(self):
        links = self.links()
        links.serve()
        for options in ({}, {'javaScriptEnabled': False}):
            page = self.open(links, '/add?url=ftp://e.example/%22%3E', **options)
            self.assertEqual(page.do('attribute', what='#url', attribute='value'),
                             'ftp://e.example/">')
            page.do('click', what='form.add button')
            page.see('.problem', 'http')
            self.assertEqual(page.do('attribute', what='#url', attribute='aria-invalid'), 'true')
            self.assertEqual(page.do('attribute', what='#url', attribute='value'),
                             'ftp://e.example/">')

    def test_the_bookmark_leads_to_the_form(self):
        links = self.links()
        links.serve()
        page = self.open(links, '/links')
        bookmark = self.open(links, '/add').do('attribute', what='.bookmarklet', attribute='href')
        page.do('run', script=bookmark.removeprefix('javascript:'))
        page.at('%2Flinks')
        value = page.do('run', script='document.querySelector("#url").value')
        self.assertEqual(value, f'{links.server.origin}/links')

    def test_a_story_becomes_a_link(self):
        links = self.links()
        url = links.article('plain')
        links.discussed(url, reddit=1, hn=0)
        links.mirror({'id': 5, 'url': url, 'title': 'Told here'},
                     {'id': 6, 'url': url, 'title': 'Told again'})
        links.serve()
        page = self.open(links, '/item?id=5')
        page.do('click', what='form.inline button', text='add as link')
        page.see('article.link')
        link = int(page.do('attribute', what='#link', attribute='data-link'))
        links.enrich()
        links.wait(link, reddit='completed', hn='completed', summary='completed')
        page.see('#hn', 'Told again')
        story = self.open(links, '/item?id=5')
        story.see('.beside', 'r/sub0')
        story.see('.beside', 'Told again')
        story.see('.beside .text')
        self.assertEqual(story.count('form.inline'), 0)
        story.do('click', what='.beside .links a')
        story.at(f'/link/{link}')
        story.do('click', what='#hn a.title', text='Told here')
        story.at('/item?id=5')
        page.well(self)
        story.well(self)


class OnOne(InTheBrowser, OnSqlite, LinksTest):
    def test_all_in_one_process(self):
        links = self.links()
        url = links.article('plain')
        links.discussed(url, reddit=1, hn=0)
        links.up(Upstream(ids=50))
        page, link = self.add(links, url)
        page.see('#reddit', 'r/sub0')
        page.see('#summary .text')
        page.miss('.spinner')
        links.wait(link)
        page.well(self)


class OnTheOther(InTheBrowser, OnPostgres, LinksTest):
    def test_what_cannot_be_added(self):
        self.skipTest('is the same on both')

    test_the_bookmark_leads_to_the_form = test_without_script = test_what_cannot_be_added


if __name__ == '__main__':
    unittest.main()
