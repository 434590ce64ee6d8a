"""The work on links from end to end: a worker, the services behind links, and what the archive has
in the end. Links are put into the archive by hand; a worker finds them there."""

import unittest

from lib import OnPostgres, OnSqlite, wait_until
from links_under_test import LinksTest


class Work:
    def put(self, links, url):
        """A link without tasks, and with the key of no rules at all."""
        links.archive.execute('INSERT INTO links (url, url_key, source, submitted_by) VALUES '
                              f"('{url}', '{url}', 'agent', 'someone')")
        return links.archive.rows(f"SELECT id FROM links WHERE url = '{url}'")[0][0]

    def test_a_link_gets_all_there_is(self):
        links = self.links()
        url = links.article('plain')
        links.discussed(url, reddit=2, hn=1)
        link = self.put(links, f'{url}?utm_source=a-letter')  # Reddit looks for exact URLs
        worker = links.enrich()
        links.wait(link, seconds=120, reddit='completed', hn='completed', summary='completed')
        self.assertEqual(len(links.discussions(link)), 3)
        self.assertTrue(links.link(link)['summary'])
        links.stop(worker)
        self.assertEqual(links.archive.rows("SELECT 1 FROM claims WHERE state = 'held'"), [])

    def test_discussions_lead_to_their_articles(self):
        links = self.links()
        url = links.article('nav')
        posts, stories = links.discussed(url, reddit=1, hn=1)
        links.hn.reply(stories[0])
        first = links.enrich()
        known = self.put(links, url)
        links.wait(known, seconds=120, reddit='completed', hn='completed', summary='completed')
        links.stop(first)
        found = links.discussions(known)
        self.assertEqual([comments for site, *_, comments in found if site == 'hackernews'], [1])
        mine = [self.put(links, links.reddit.page(posts[0])),
                self.put(links, links.reddit.share(posts[0])),
                self.put(links, links.hn.page(stories[0]))]
        worker = links.enrich()
        for link in mine:
            links.wait(link, seconds=120, reverse_lookup='completed')
        self.assertEqual({links.link(links.target(link))['url'] for link in mine}, {url})
        links.wait(links.target(mine[0]), seconds=120, reddit='completed', hn='completed',
                   summary='completed')
        self.assertEqual(links.discussions(known), found)  # an item of HN does not count comments
        links.stop(worker)

    def test_who_comes_after_a_dead_worker(self):
        """Killed when all services have got its calls and not answered."""
        links = self.links()
        url = links.article('plain')
        links.discussed(url, reddit=2, hn=1)
        link = self.put(links, url)
        for service, route in ((links.reddit, 'info'), (links.hn, 'search'),
                               (links.ai, 'messages')):
            service.on(route, 'hang')
        dead = links.enrich()
        wait_until(lambda: all(service.at_once for service in (links.reddit, links.hn, links.ai)),
                   what='calls under way')
        dead.kill()
        for service in links.all.values():
            service.usual()
        links.archive.execute('UPDATE claims SET lease_until = lease_until - 600000 WHERE '
                              'lease_until IS NOT NULL')  # nobody waits for it here
        worker = links.enrich()
        links.wait(link, reddit='completed', hn='completed', summary='completed')
        self.assertEqual(len(links.discussions(link)), 3)
        links.stop(worker)
        claims = links.archive.rows('SELECT source, state, attempts FROM claims ORDER BY 1')
        self.assertEqual(claims,
                         [(f'links:{task}', 'done', 2) for task in ('hn', 'reddit', 'summary')])

    def test_without_credentials(self):
        links = self.links(oauth=False, key=False)
        link = self.put(links, links.article('plain'))
        worker = links.enrich()
        found = links.wait(link, seconds=120)
        self.assertEqual(found, {'reddit': 'not_found', 'hn': 'not_found', 'summary': 'skipped',
                                 'reverse_lookup': None})
        self.assertEqual(links.counts()['anthropic'], {})
        links.stop(worker)


class OnOne(Work, OnSqlite, LinksTest):
    pass


class OnTheOther(Work, OnPostgres, LinksTest):
    pass


if __name__ == '__main__':
    unittest.main()
