"""The guard from end to end: links whose pages are on addresses that are not public, by number, by
name, by redirect and by a name that changes its mind. A worker tries to read them; it says what is
wrong with each, and connects to none."""

import re
import unittest

from lib import BUILD, OnSqlite
import article
from links_under_test import LinksTest
from stand_in import StandIn

PUBLIC = '93.184.216.34'
NAMES = {'inner.example': '127.0.0.1', 'inner6.example': '::1', 'net.example': '10.0.0.7',
         'mapped.example': '::ffff:127.0.0.1', 'nat64.example': '64:ff9b::7f00:1',
         'local.example': 'fd00::1', 'shared.example': '100.64.0.1',
         'cloud.example': '169.254.169.254', 'six.example': '2002:7f00:1::',
         'late.example': f'{PUBLIC},127.0.0.1', 'late6.example': f'{PUBLIC},::ffff:10.0.0.1',
         'late-net.example': f'{PUBLIC},10.0.0.1', 'fine.example': PUBLIC}
# URL: what its error says.
BY_NAME = {'http://inner.example/': 'loopback', 'https://inner.example/': 'loopback',
           'http://inner6.example/': 'loopback', 'http://net.example:8080/': 'private',
           'http://mapped.example/': 'IPv4', 'https://nat64.example/': 'NAT64',
           'http://local.example/': 'local', 'http://shared.example/': 'own network',
           'http://cloud.example/latest/meta-data/': 'link-local', 'https://six.example/': 'tunnel'}
BY_NUMBER = {'http://0x7f.1/': 'loopback', 'http://2130706433/': 'loopback',
             'http://017700000001/': 'loopback', 'http://127.1/': 'loopback',
             'http://[::ffff:127.0.0.1]/': 'IPv4', 'http://[::1]/': 'loopback',
             'https://127.0.0.1/': 'loopback', 'https://[64:ff9b::a00:1]/': 'NAT64',
             'http://localhost/': 'loopback', 'https://x.localhost/': 'loopback',
             'http://0/': 'unspecified', 'http://169.254.169.254/': 'link-local',
             'http://example.com@127.0.0.1/': 'user', 'http://u:p@example.com/': 'user',
             'http://example.com:22/': 'port', 'ftp://example.com/': 'http',
             'file:///etc/passwd': 'http'}


class Guard(OnSqlite, LinksTest):
    def setUp(self):
        super().setUp()
        self.all = self.links()
        self.log = self.folder / 'asked-and-connected'
        self.log.touch()

    def put(self, url):
        """A link with a summary to be made, past all that looks at URLs before."""
        archive = self.all.archive
        archive.execute(f"INSERT INTO links (url, url_key) VALUES ('{url}', '{url}')")
        link, = archive.rows(f"SELECT id FROM links WHERE url = '{url}'")[0]
        archive.execute('INSERT INTO link_processing (link_id, reddit_status, hn_status) '
                        f"VALUES ({link}, 'not_found', 'not_found')")
        return link

    def worker(self, **changes):
        names = ';'.join(f'{name}={addresses}' for name, addresses in NAMES.items())
        return self.all.enrich(LD_PRELOAD=str(BUILD / 'tests/support/resolver.so'),
                               RESOLVER_NAMES=names, RESOLVER_LOG=str(self.log), **changes)

    def connected(self):
        """{(address, port)} but for the stand-ins."""
        ours = {service.port for service in self.all.all.values()}
        found = re.findall(r'^connect (\S+) (\d+)$', self.log.read_text(), re.M)
        return {(address, int(port)) for address, port in found if int(port) not in ours}

    def check(self, expected):
        links = {url: self.put(f'{url}{n}') for n, url in enumerate(expected)}  # none is another
        worker = self.worker()
        for url, words in expected.items():
            with self.subTest(url):
                self.all.wait(links[url], summary='failed')
                self.assertIn(words, self.all.errors(links[url])['summary_error'])
        self.assertEqual(self.connected(), set())
        self.assertEqual(self.all.counts()['anthropic'], {})
        self.all.stop(worker)

    def test_by_name(self):
        self.check(BY_NAME)
        asked = self.log.read_text()
        self.assertEqual([name for name in NAMES if f'name {name} ' not in asked
                          and PUBLIC not in NAMES[name]], [])

    def test_by_number(self):
        self.check(BY_NUMBER)

    def test_by_redirect(self):
        self.check({self.all.site.to(url, host=article.NAME) + '&n=': words
                    for url, words in (*BY_NAME.items(), *list(BY_NUMBER.items())[:12])})

    def test_by_a_name_that_changes_its_mind(self):
        """At first its address is public, and somebody is there and sends us on to the same name,
        which has another address by now."""
        site, there = self.all.site, {'RESOLVER_PUBLIC_PORT': str(self.all.site.port)}
        mine = {'late.example': 'loopback', 'late6.example': 'IPv4', 'late-net.example': 'private'}
        links = {name: self.put(site.to(f'http://{name}/secret').replace(
            site.url, f'http://{name}:8080')) for name in mine}
        fine = self.put('http://fine.example:8080/plain')
        worker = self.worker(**there)
        self.all.wait(fine, summary='completed')
        for name, words in mine.items():
            self.all.wait(links[name], summary='failed')
            self.assertIn(words, self.all.errors(links[name])['summary_error'])
            self.assertEqual(self.log.read_text().count(f'name {name} '), 2)
        self.assertEqual(self.connected(), {(PUBLIC, 8080)})
        self.assertEqual(self.all.counts()['article'], {'to': len(mine), 'page': 1})
        self.all.stop(worker)

    def test_what_is_too_much(self):
        self.check({f'{self.all.article(shape)}?': words for shape, words in (
            ('bomb', 'bytes'), ('huge', 'bytes'), ('flood', 'bytes'), ('loop', 'redirects'))})

    def test_proxies_of_the_environment(self):
        proxy = StandIn()
        self.addCleanup(proxy.close)
        told = {name: proxy.url for name in ('http_proxy', 'https_proxy', 'all_proxy', 'ALL_PROXY',
                                             'HTTPS_PROXY')}
        link, inner = self.put(self.all.article('plain')), self.put('http://inner.example/')
        worker = self.worker(no_proxy='nobody.example', NO_PROXY='nobody.example', **told)
        self.all.wait(inner, summary='failed')
        self.assertIn('loopback', self.all.errors(inner)['summary_error'])
        self.all.wait(link, summary='completed')
        self.assertEqual(proxy.connections, 0)
        self.all.stop(worker)


if __name__ == '__main__':
    unittest.main()
