"""`tain demo --services`: what it prints is enough for a worker to find its stand-ins, and every
address that it calls worth adding ends as it says."""

import re
import subprocess
import unittest
import urllib.parse
import urllib.request

from lib import ANSWER, E2E, EXIT_DONE, LEAST, Sqlite, TAIN, environment, wait_until

FINAL = ('completed', 'not_found', 'failed', 'skipped', None)


class DemoServices(E2E):
    def setUp(self):
        super().setUp()
        self.process = subprocess.Popen([TAIN, 'demo', '--services', '--fresh', '--port', '0'],
                                        stdout=subprocess.PIPE, text=True, env=environment())
        self.addCleanup(self.process.stdout.close)
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        self.env, self.finds = {}, {}
        for line in self.process.stdout:
            if line == '# ready\n':
                break
            if line.startswith('export '):
                self.env.update(part.split('=', 1) for part in line.split()[1:])
            elif line.startswith('# '):
                what, self_url = line[2:].rstrip().split(': ', 1)
                self.finds[what] = self_url
            else:
                self.upstream = re.search(r'http://\S+', line).group()
        self.archive = Sqlite(self.folder / 'tain.db')

    def get(self, url):
        """At whatever name below .localhost: the demo's address."""
        parts = urllib.parse.urlsplit(url)
        here = parts._replace(netloc=f'127.0.0.1:{parts.port}').geturl()
        request = urllib.request.Request(here, headers={'Host': parts.netloc})
        with urllib.request.urlopen(request, timeout=ANSWER) as answer:
            return answer.read().decode()

    def put(self, url):
        self.archive.execute('INSERT INTO links (url, url_key, source, submitted_by) VALUES '
                             f"('{url}', '{url}', 'agent', 'someone')")
        return self.archive.rows(f"SELECT id FROM links WHERE url = '{url}'")[0][0]

    def tasks(self, link):
        rows = self.archive.rows('SELECT reverse_lookup_status, reddit_status, hn_status, '
                                 f'summary_status FROM link_processing WHERE link_id = {link}')
        return rows[0] if rows and all(status in FINAL for status in rows[0]) else None

    def target(self, link):
        return self.archive.rows('SELECT reverse_lookup_target_id FROM link_processing '
                                 f'WHERE link_id = {link}')[0][0]

    def test_what_is_worth_adding_ends_as_it_says(self):
        self.assertEqual(set(self.finds), {
            'an article', 'a thread of Reddit about it', 'a share link of Reddit to it',
            'a thread without an article', 'a story of HN', 'an article that is gone',
            'a file that is no page'})
        self.assertEqual(self.run_tain('migrate', '--db', self.archive.uri).code, EXIT_DONE)
        links = {what: self.put(url) for what, url in self.finds.items()}
        worker = self.start('enrich', '--db', self.archive.uri, env=self.env)
        ends = {what: wait_until(lambda link=link: self.tasks(link), LEAST, f'the end of {what}',
                                 every=0.1) for what, link in links.items()}
        worker.signal(15)
        result = worker.wait()
        self.assertEqual(result.code, EXIT_DONE, result)
        article = links['an article']
        self.assertEqual(ends['an article'], (None, 'completed', 'completed', 'completed'))
        for what in ('a thread of Reddit about it', 'a share link of Reddit to it'):
            self.assertEqual(ends[what], ('completed', 'skipped', 'skipped', 'skipped'))
            self.assertEqual(self.target(links[what]), article)
        self.assertEqual(ends['a story of HN'][0], 'completed')
        self.assertEqual(ends['a thread without an article'],
                         ('not_found', 'skipped', 'skipped', 'skipped'))
        self.assertEqual(ends['an article that is gone'][3], 'failed')
        self.assertEqual(ends['a file that is no page'][3], 'skipped')
        platforms = self.archive.rows('SELECT platform, COUNT(*) FROM external_discussions WHERE '
                                      f'link_id = {article} GROUP BY platform ORDER BY platform')
        self.assertEqual([name for name, _ in platforms], ['hackernews', 'reddit'])
        self.assertGreater(dict(platforms)['reddit'], 1)
        (title, summary), = self.archive.rows(
            f'SELECT title, summary FROM links WHERE id = {article}')
        page = self.get(self.finds['an article'])
        self.assertIn(f'<h1>{title}</h1>', page)
        self.assertIn(title, summary)

    def test_stories_name_articles_that_are_there(self):
        found = 0
        for item in range(19900, 20000):
            with urllib.request.urlopen(f'{self.upstream}/item/{item}.json',
                                        timeout=ANSWER) as answer:
                url = re.search(r'"url":"([^"]+)"', answer.read().decode())
            if url:
                self.assertRegex(url.group(1), r'^http://[a-z]+\.localhost:\d+/')
                found += 1
        self.assertGreater(found, 3)

    def test_no_key_but_its_own_is_taken(self):
        request = urllib.request.Request(f"{self.env['TAIN_ANTHROPIC_URL']}/v1/messages", b'{}',
                                         {'x-api-key': 'something that may be real'})
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=ANSWER)
        self.assertEqual(refused.exception.code, 401)
        refused.exception.close()


if __name__ == '__main__':
    unittest.main()
