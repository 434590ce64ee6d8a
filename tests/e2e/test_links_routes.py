"""Every route of links while nobody works on them: each is answered, and no service is asked for
anything. A worker alone makes calls; whatever was added meanwhile is there for it."""

import json
import unittest

from lib import OnPostgres, OnSqlite
from links_under_test import LinksTest

TOKEN = 'a-token-of-the-tests'


class Routes:
    def test_nobody_is_asked(self):
        links = self.links()
        url = links.article('plain')
        (post,), (story,) = links.discussed(url, reddit=1, hn=1)
        links.mirror({'id': 1, 'url': url, 'title': 'In the mirror'})
        server = links.serve(TAIN_LINKS_TOKEN=TOKEN)
        mine = [links.add(each) for each in (url, links.reddit.page(post), links.reddit.share(post),
                                             links.reddit.short(post), links.hn.page(story))]
        self.assertEqual(links.add(url), mine[0])
        added = server.get('/api/links', {'Authorization': f'Bearer {TOKEN}',
                                          'Content-Type': 'application/json'}, 'POST',
                           json.dumps({'url': url + '?by=a-bot', 'title': 'By a bot'}))
        self.assertEqual(added.status, 201, added.text)
        mine.append(added.json['id'])
        for link in mine:
            self.look_at(links, server, link)
        for path in ('/add', '/links', '/links?q=keeper', '/', '/item?id=1', '/newest',
                     f'/api/check?url={url}', '/api/check?url=https://nobody.example/'):
            self.assertEqual(server.get(path).status, 200, path)
        links.archive.execute("UPDATE link_processing SET hn_status = 'failed', hn_error = 'late' "
                              f'WHERE link_id = {mine[0]}')
        self.assertEqual(links.retry(mine[0]).json['retried'], 1)
        self.assertEqual(links.tasks(mine[0])['hn'], 'pending')
        self.assertEqual((links.asked(), links.counts()['reddit']), (0, {}))
        links.stop(server)
        self.assertEqual(links.asked(), 0)

    def look_at(self, links, server, link):
        self.assertEqual(server.get(f'/link/{link}').status, 200)
        said = links.processing(link)
        self.assertEqual({said[task]['status'] for task in ('reddit', 'hn', 'summary')},
                         {'pending'})
        self.assertIn(said['reverse_lookup']['status'], (None, 'pending'))


class OnOne(Routes, OnSqlite, LinksTest):
    pass


class OnTheOther(Routes, OnPostgres, LinksTest):
    pass


if __name__ == '__main__':
    unittest.main()
