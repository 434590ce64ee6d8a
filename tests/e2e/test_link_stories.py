"""Stories become links by way of the change feed; links as `tain enrich status` tells of them."""

import json
import random
import string
import unittest

from lib import EXIT_DONE, OnPostgres, OnSqlite, wait_until
from links_under_test import TASKS, LinksTest

STORIES = ("FROM items i WHERE i.id > {} AND i.type = 'story' AND i.url_key IS NOT NULL "
           'AND NOT i.dead AND NOT i.deleted')
NO_LINK = 'AND NOT EXISTS (SELECT 1 FROM links l WHERE l.url_key = i.url_key)'


class Stories:
    def counted(self, links, text, *values):
        return links.archive.rows(f'SELECT COUNT(*) {text.format(*values)}')[0][0]

    def newest(self, links):
        return links.archive.rows('SELECT MAX(id) FROM items')[0][0]

    def all_are_links(self, links, above):
        """Those that are newer than an id; there are some."""
        wait_until(lambda: self.counted(links, f'{STORIES} {NO_LINK}', above) == 0, 120,
                   'links of all new stories')
        self.assertGreater(self.counted(links, STORIES, above), 0)

    def test_new_stories_become_links(self):
        links, upstream = self.links(), self.upstream(ids=300)
        page = links.up(upstream, '--link-stories', 'all')
        self.converge(page.run, links.archive, upstream)
        wait_until(lambda: links.archive.rows('SELECT 1 FROM link_feed'), 120, 'a first look')
        above = self.newest(links)
        upstream.grow_by(80)
        self.converge(page.run, links.archive, upstream)
        self.all_are_links(links, above)
        links.stop(page)
        above = self.newest(links)
        upstream.grow_by(80)
        page = links.up(upstream)  # mirrors only
        self.converge(page.run, links.archive, upstream)
        self.assertGreater(self.counted(links, f'{STORIES} {NO_LINK}', above), 0)
        links.stop(page)
        worker = links.enrich('--link-stories', 'all')  # which goes on where the first one stopped
        self.all_are_links(links, above)
        links.stop(worker)
        self.assertEqual(links.archive.rows(
            'SELECT url_key FROM links GROUP BY url_key HAVING COUNT(*) > 1'), [])

    def test_the_longest_url(self):
        links = self.links()
        url = links.article('plain') + '?'
        chance = random.Random(1)  # what repeats itself would be packed by PostgreSQL
        url += ''.join(chance.choices(string.ascii_letters, k=4096 - len(url)))
        server = links.serve()
        link = links.add(url)
        self.assertEqual(links.add(url), link)
        links.stop(server)
        worker = links.enrich()
        links.wait(link, seconds=120, reddit='not_found', hn='not_found',
                   summary=('completed', 'skipped', 'failed'))
        self.assertNotRegex(links.errors(link)['summary_error'] or '', 'bytes')
        links.stop(worker)

    def test_status(self):
        links = self.links(oauth=False, key=False)
        for name in ('plain', 'nav'):
            url = links.article(name)
            links.archive.execute('INSERT INTO links (url, url_key, source, submitted_by) VALUES '
                                  f"('{url}', '{url}', 'agent', 'someone')")
        worker = links.enrich()
        for (link,) in links.archive.rows('SELECT id FROM links'):
            links.wait(link, seconds=120)
        links.stop(worker)
        told = self.run_tain('enrich', 'status', '--json', '--db', links.archive.uri)
        self.assertEqual(told.code, EXIT_DONE, told)
        report = json.loads(told.out)['links']
        self.assertEqual(set(report['tasks']), set(TASKS))
        self.assertEqual((report['tasks']['reddit']['not_found'],
                          report['tasks']['summary']['skipped'], report['spent']), (2, 2, 0))
        self.assertEqual(report['tasks']['hn']['oldest_pending_ms'], 0)
        told = self.run_tain('enrich', 'status', '--db', links.archive.uri)
        self.assertRegex(told.out, r'links +pending +completed')
        self.assertRegex(told.out, r'summaries cost \$0\.00 this month')


class OnOne(Stories, OnSqlite, LinksTest):
    pass


class OnTheOther(Stories, OnPostgres, LinksTest):
    pass


if __name__ == '__main__':
    unittest.main()
