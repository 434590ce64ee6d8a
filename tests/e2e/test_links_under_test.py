"""What tests of links stand on: every service has its stand-in, programs are told of them and of
nothing else, and what is in the archive is read as it is."""

import os
import socket
import subprocess
import sys
import unittest
import unittest.mock
import urllib.parse

from lib import (ANSWER, ROOT, SERVICE_URLS, OnPostgres, OnSqlite, environment,
                 wait_until)
from article import WORDS
from links_under_test import LinksTest
from services import KEY
from stand_in_test import AGENT, call


class UnderTest:
    def put(self, archive, url, **columns):
        """A link with its tasks, past all programs."""
        archive.execute(f"INSERT INTO links (url, url_key) VALUES ('{url}', '{url}')")
        link, = archive.rows(f"SELECT id FROM links WHERE url = '{url}'")[0]
        names = ''.join(f', {name}' for name in columns)
        values = ''.join(f", '{value}'" for value in columns.values())
        archive.execute(f'INSERT INTO link_processing (link_id{names}) VALUES ({link}{values})')
        return link

    def test_rows(self):
        links = self.links()
        link = self.put(links.archive, 'https://a.example/', hn_status='failed', hn_error='late')
        self.assertEqual(links.tasks(link), {'reddit': 'pending', 'hn': 'failed',
                                             'summary': 'pending', 'reverse_lookup': None})
        self.assertEqual(links.errors(link)['hn_error'], 'late')
        self.assertEqual(links.link(link)['source'], 'agent')
        self.assertEqual((links.target(link), links.discussions(link)), (None, []))
        self.assertEqual(links.wait(link, hn='failed', reddit=('pending', 'completed'))['hn'],
                         'failed')
        self.assertIsNone(links.tasks(link + 1))
        links.archive.execute("UPDATE link_processing SET reddit_status = 'not_found', "
                              "summary_status = 'skipped'")
        self.assertEqual(links.wait(link)['summary'], 'skipped')
        links.archive.execute(
            'INSERT INTO external_discussions (link_id, platform, external_id, external_url, '
            f"score, num_comments) VALUES ({link}, 'reddit', 'abc', 'https://r.example/', 7, 8)")
        self.assertEqual(links.discussions(link), [('reddit', 'abc', 7, 8)])

    def test_a_server_and_no_worker(self):
        links = self.links()
        links.mirror({'id': 1, 'url': 'https://a.example/', 'title': 'In the mirror'})
        server = links.serve()
        self.assertEqual(server.ask('/v0/item/1.json')['title'], 'In the mirror')
        self.assertEqual(server.get('/').status, 200)
        links.stop(server)
        self.assertEqual((links.asked(), links.counts()['reddit']), (0, {}))

    def test_all_in_one_process(self):
        links, upstream = self.links(), self.upstream(ids=300)
        page = links.up(upstream)
        self.assertEqual(page.get('/').status, 200)
        self.converge(page.run, links.archive, upstream)
        links.stop(page)


class Services(OnSqlite, LinksTest):
    def test_what_is_discussed(self):
        links = self.links()
        url = links.article()
        links.discussed(url, reddit=2, hn=3)
        links.discussed(url + '?other', reddit=1, hn=1)
        query = urllib.parse.urlencode({'url': url})
        found = call(links.reddit, f'/api/info.json?{query}', headers=AGENT).json
        self.assertEqual(len(found['data']['children']), 2)
        self.assertEqual([hit['url'] for hit in call(
            links.hn, f'/search?{urllib.parse.urlencode({"query": url})}').json['hits']].count(url),
            3)
        self.assertIn(WORDS['plain'][0], call(links.site, urllib.parse.urlsplit(url).path).text)
        self.assertEqual(links.asked(), 3)
        self.assertEqual(links.counts(), {'reddit': {'info': 1}, 'hn': {'search': 1},
                                          'anthropic': {}, 'article': {'page': 1}})
        links.forget()
        self.assertEqual((links.asked(), links.counts()['hn']), (0, {}))
        with socket.create_connection((links.hn.host, links.hn.port)):
            wait_until(lambda: links.asked() == 1, what='a connection that nothing comes over')
        links.unlimited()
        for _ in range(11):
            self.assertEqual(call(links.reddit, '/api/info', headers=AGENT).status, 200)

    def test_what_programs_are_told(self):
        links = self.links()
        told = environment(links.env())
        self.assertEqual((told['TAIN_REDDIT_URL'], told['TAIN_HN_SEARCH_URL'],
                          told['TAIN_ANTHROPIC_URL'], told['ANTHROPIC_API_KEY']),
                         (links.reddit.url, links.hn.url, links.ai.url, KEY))
        poor = environment(self.links(oauth=False, key=False).env())
        self.assertEqual([name for name in poor if 'CLIENT' in name or 'KEY' in name
                          and 'ANTHROPIC' in name], [])
        with unittest.mock.patch.dict(os.environ, {'ANTHROPIC_API_KEY': 'of a developer'}):
            self.assertNotIn('ANTHROPIC_API_KEY', environment())

    def test_no_test_asks_the_real_services(self):
        """Whatever a test says or forgets to say, their addresses are of this machine, and those
        that were not said are closed."""
        real = {'TAIN_REDDIT_URL': 'https://www.reddit.com', 'ANTHROPIC_API_KEY': 'real'}
        with unittest.mock.patch.dict(os.environ, real):
            for extra in (None, {}, {name: None for name in SERVICE_URLS},
                          {name: '' for name in SERVICE_URLS}):
                env = environment(extra)
                for name in SERVICE_URLS:
                    at = urllib.parse.urlsplit(env[name])
                    self.assertEqual(at.hostname, '127.0.0.1')
                    with self.assertRaises(ConnectionRefusedError):
                        socket.create_connection((at.hostname, at.port), timeout=ANSWER).close()

    def test_a_worker_without_services_gets_nowhere(self):
        """It knows no address but the closed ones: each call fails, and is tried again."""
        links = self.links()
        links.archive.execute("INSERT INTO links (url, url_key) VALUES ('https://a.example/', 'a')")
        worker = self.start('enrich', '--db', links.archive.uri,
                            env={'ANTHROPIC_API_KEY': 'of-a-test'})

        def failed():
            rows = links.archive.rows('SELECT source, error FROM claims WHERE error IS NOT NULL')
            return rows if {'links:reddit', 'links:hn'} <= {source for source, _ in rows} else None
        for source, error in wait_until(failed, what='calls that failed'):
            if source in ('links:reddit', 'links:hn'):
                self.assertRegex(error, '(?i)connect')
        self.assertEqual(links.asked(), 0)
        links.stop(worker)

    def test_all_services_in_one_process(self):
        """As a demonstration has them: whatever is asked for is there."""
        script = ROOT / 'tests' / 'support' / 'services.py'
        process = subprocess.Popen([sys.executable, '-B', script], stdout=subprocess.PIPE,
                                   text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        said = [line.rstrip() for line in iter(process.stdout.readline, '# ready\n')]
        told = dict(line.removeprefix('export ').split('=', 1) for line in said)
        self.assertEqual(set(told), {*self.links().env(), 'DEMO_ARTICLE'})
        for variable, path in (('TAIN_HN_SEARCH_URL', '/search?query=http://a.example/2'),
                               ('TAIN_REDDIT_URL', '/api/info?url=http://a.example/2')):
            parts = urllib.parse.urlsplit(told[variable])
            answer = call(parts, parts.path + path, headers=AGENT).json
            self.assertTrue(answer.get('hits') or answer['data']['children'], variable)


class OfSqlite(UnderTest, OnSqlite, LinksTest):
    pass


class OfPostgres(UnderTest, OnPostgres, LinksTest):
    pass


if __name__ == '__main__':
    unittest.main()
