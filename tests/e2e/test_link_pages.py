"""The pages of links over HTTP: the list and its search, one link in its states, where pages lead,
who counts as waiting, and a server that cannot write. Rows are put into the archive by hand."""

import re
import unittest

from lib import OnPostgres, OnSqlite
from links_under_test import LinksTest

REFRESH = '<noscript><meta http-equiv="refresh" content="2"></noscript>'


class Pages:
    def put(self, links, path, title='NULL', source='agent', **tasks):
        """A link, and its tasks where they are named: its id."""
        url = f'https://e.example/{path}'
        links.archive.execute('INSERT INTO links (url, url_key, title, source, key_version) VALUES '
                              f"('{url}', '{url[8:]}', {title}, '{source}', 2)")
        link = links.archive.rows(f"SELECT id FROM links WHERE url = '{url}'")[0][0]
        if tasks:
            values = ', '.join(f"'{value}'" for value in tasks.values())
            links.archive.execute(f"INSERT INTO link_processing (link_id, {', '.join(tasks)}) "
                                  f'VALUES ({link}, {values})')
        return link

    def page(self, links, path, status=200):
        answer = links.server.get(path)
        self.assertEqual(answer.status, status, path)
        self.assertTrue(answer.headers['Content-Type'].startswith('text/html'), path)
        return answer.text

    def shown(self, links, path):
        """Ids of the links of a list, and the way to the next page."""
        page = self.page(links, path)
        more = re.search(r'rel="next" href="([^"]*)"', page)
        return ([int(n) for n in re.findall(r'class="title" href="/link/(\d+)"', page)],
                more and more.group(1).replace('&amp;', '&'))

    def test_the_list(self):
        links = self.links()
        links.serve()
        self.assertIn('No links yet', self.page(links, '/links'))
        words = ('even', 'odd')
        links.archive.execute(
            'INSERT INTO links (url, url_key, title) ' + ' UNION ALL '.join(
                f"SELECT 'https://e.example/{n}', 'e.example/{n}', 'Number {n}, {words[n % 2]}'"
                for n in range(70)))
        hidden = self.put(links, 'hidden', source='discussion-ref')
        everything = sorted((i for i, in links.archive.rows('SELECT id FROM links')
                             if i != hidden), reverse=True)
        for query, wanted in (('', everything), ('q=number+ODD', None)):
            seen, path = [], f'/links?{query}'
            while path:
                ids, path = self.shown(links, path)
                seen += ids
            self.assertEqual(len(seen), 70 if wanted else 35)
            self.assertEqual(seen, sorted(set(seen), reverse=True))
            self.assertTrue(not wanted or seen == wanted)
        self.assertIn('No link has these words', self.page(links, '/links?q=never'))
        self.assertIn('There are no more links', self.page(links, '/links?before=1'))

    def test_only_what_is_pending_comes_again(self):
        links = self.links()
        links.serve()
        pending = self.page(links, f"/link/{self.put(links, 'a', reddit_status='pending')}")
        self.assertIn(REFRESH, pending)
        self.assertIn('Checking Reddit…', pending)
        self.assertIn('no worker has started yet', pending)
        done = self.put(links, 'b', reddit_status='not_found', hn_status='completed',
                        summary_status='skipped', summary_error='no key is configured')
        page = self.page(links, f'/link/{done}')
        self.assertNotIn('http-equiv', page)
        self.assertIn('No discussions found on Reddit', page)
        self.assertIn('No summary: no key is configured', page)

    def test_an_address_without_its_scheme(self):
        links = self.links()
        links.serve()
        link = links.add('e.example/a b?next=https://f.example/')
        whole = 'href="https://e.example/a%20b?next=https://f.example/"'
        for path in (f'/link/{link}', '/links'):
            self.assertIn(whole, self.page(links, path), path)
        self.assertEqual(links.link(link)['url'], 'e.example/a b?next=https://f.example/')

    def test_where_pages_lead(self):
        links = self.links()
        links.serve()
        article = self.put(links, 'article', reddit_status='completed')
        other = self.put(links, 'discussion', source='discussion-ref', reddit_status='skipped',
                         reverse_lookup_status='completed', reverse_lookup_target_id=article)
        links.archive.execute('INSERT INTO link_aliases (alias_id, link_id) '
                              f'VALUES (99, {article})')
        for link in (other, 99):
            answer = links.server.get(f'/link/{link}')
            self.assertEqual((answer.status, answer.headers['Location']),
                             (302, f'/link/{article}'))
        for path in ('/link/100', '/link/0', '/link/-1', '/link/x', f'/link/{"9" * 30}'):
            self.assertIn('No such link', self.page(links, path, 404))

    def waiting(self, links, link):
        return links.row('link_processing', link, 'link_id', 'waiting_since')['waiting_since']

    def test_who_waits(self):
        links = self.links()
        links.serve()
        link = self.put(links, 'a', reddit_status='pending')
        self.page(links, f'/link/{link}')
        self.assertIsNone(self.waiting(links, link), 'who fetches a page need not read it')
        stranger = links.server.post(f'/link/{link}/wait', headers={'Origin': 'http://e.example'})
        self.assertEqual(stranger.status, 403)
        self.assertIsNone(self.waiting(links, link))
        self.assertEqual(links.server.post(f'/link/{link}/wait').status, 204)
        since = self.waiting(links, link)
        self.assertTrue(since)
        self.assertEqual(links.server.post(f'/link/{link}/wait').status, 204)
        self.assertEqual(self.waiting(links, link), since)
        self.assertEqual(links.server.get(f'/link/{link}/wait').status, 405)
        done = self.put(links, 'b', reddit_status='completed', hn_status='completed',
                        summary_status='completed')
        self.assertEqual(links.server.post(f'/link/{done}/wait').status, 204)
        self.assertIsNone(self.waiting(links, done))

    def test_a_copy_is_shown_and_not_written(self):
        links = self.links()
        failed = self.put(links, 'a', reddit_status='failed', reddit_error='HTTP 500')
        links.mirror({'id': 5, 'url': 'https://e.example/b'})
        links.serve()
        self.assertIn('/retry"', self.page(links, f'/link/{failed}'))
        self.assertIn('add as link', self.page(links, '/item?id=5'))
        links.serve('--read-db', links.archive.uri)
        page = self.page(links, f'/link/{failed}')
        self.assertIn('Error checking Reddit: HTTP 500', page)
        self.assertNotIn('/retry"', page)
        self.assertNotIn('data-wait', page)
        self.assertNotIn('add as link', self.page(links, '/item?id=5'))
        form = self.page(links, '/add')
        self.assertIn('Nothing can be added here', form)
        self.assertNotIn('method="post"', form)

    def test_buttons_for_whom_they_work(self):
        links = self.links()
        failed = self.put(links, 'a', reddit_status='failed')
        everywhere = ('--listen', '0.0.0.0:0')
        links.serve(*everywhere, TAIN_LINKS_TOKEN=None)
        self.assertNotIn('/retry"', self.page(links, f'/link/{failed}'))
        self.assertIn('Nothing can be added here', self.page(links, '/add'))
        links.serve(*everywhere, TAIN_LINKS_TOKEN='a-token-of-sixteen')
        self.assertNotIn('/retry"', self.page(links, f'/link/{failed}'))
        self.assertIn('name="token"', self.page(links, '/add'))
        added = links.server.post('/add', {'url': 'https://e.example/b',
                                           'token': 'a-token-of-sixteen'})
        self.assertEqual(added.status, 303, added.text)
        cookie = added.headers['Set-Cookie'].partition(';')[0]
        page = links.server.get(f'/link/{failed}', {'Cookie': cookie})
        self.assertIn('/retry"', page.text)
        form = links.server.get('/add', {'Cookie': cookie})
        self.assertNotIn('name="token"', form.text)
        refused = links.server.post(f'/link/{added.headers["Location"][6:]}/wait')
        self.assertEqual(refused.status, 403)


class OnOne(Pages, OnSqlite, LinksTest):
    pass


class OnTheOther(Pages, OnPostgres, LinksTest):
    pass


if __name__ == '__main__':
    unittest.main()
