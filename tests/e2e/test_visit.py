"""A stranger's URL, visited under the guard and read, on a site with every shape of page: its words
come out and nothing else does; what is too much, too slow or not a page is told; and no redirect
leads to an address that is not public."""

import json
import shutil
import ssl
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

from lib import BUILD, environment
import article
from article import NOISE, SENTENCES, WORDS, Article, title_of
from stand_in_test import StandInTest

TOOL = BUILD / 'tests/support/visit_page'
PATIENCE = 600


class Visiting(StandInTest):
    site = None

    def visit(self, url, *more, allow=None):
        done = subprocess.run([TOOL, self.site.allow if allow is None else allow, url, *more],
                              check=True, stdout=subprocess.PIPE, timeout=PATIENCE,
                              env=environment())
        return json.loads(done.stdout)


class VisitTest(Visiting):
    def setUp(self):
        self.site = self.run_service(Article)

    def shape(self, name):
        return self.visit(self.site.at(name, host=article.NAME))

    def test_articles(self):
        for name, words in WORDS.items():
            with self.subTest(name):
                said = self.shape(name)
                self.assertEqual((said['class'], said['article']), ('ok', 'ok'))
                self.assertEqual(said['title'], title_of(name))
                self.assertEqual([w for w in words if w not in said['text']], [])
                self.assertEqual([w for w in NOISE if w in said['text']], [])

    def test_articles_whose_words_others_lose(self):
        for name, language in (('lying', 'de'), ('nul', 'en'), ('deep', 'en'), ('text', 'en')):
            with self.subTest(name):
                said = self.shape(name)
                self.assertEqual([w for w in SENTENCES[language] if w not in said['text']], [])

    def test_what_is_none(self):
        """Shape: class of the visit, status, and what its bytes are."""
        expected = {'huge': ('too_large', 200, None), 'bomb': ('too_large', 200, None),
                    'flood': ('too_large', 200, None), 'json': ('not_html', 200, None),
                    'pdf': ('not_html', 200, None), 'image': ('not_html', 200, None),
                    'binary': ('not_html', 200, None), 'disguised': ('ok', 200, 'invalid'),
                    'nothing': ('ok', 200, 'ok'), 'script': ('ok', 200, 'ok'),
                    'no-content': ('denied', 204, None), 'nowhere': ('denied', 302, None),
                    'status/404': ('gone', 404, None), 'status/410': ('gone', 410, None),
                    'status/403': ('denied', 403, None), 'status/503': ('later', 503, None)}
        for name, (kind, status, read) in expected.items():
            with self.subTest(name):
                said = self.shape(name)
                self.assertEqual((said['class'], said['status']), (kind, status))
                self.assertEqual(said['article'], read)
                self.assertFalse(said['text'])

    def test_a_byte_a_second(self):
        said = self.visit(self.site.at('drip', host=article.NAME), '2')
        self.assertEqual((said['class'], said['text']), ('later', None))
        self.assertIn('too slow', said['detail'])

    def test_redirects(self):
        said = self.visit(self.site.hops(5, 'nav', host=article.NAME))
        self.assertEqual((said['class'], said['title']), ('ok', title_of('nav')))
        self.assertEqual(said['url'], self.site.at('nav', host=article.NAME))
        for url in (self.site.hops(6, host=article.NAME), self.site.at('loop', host=article.NAME),
                    self.site.at('ring', host=article.NAME)):
            said = self.visit(url)
            self.assertEqual((said['class'], said['rule']), ('refused', 'redirects'), url)

    def test_redirects_that_are_refused(self):
        rules = {article.PRIVATE: 'link_local', 'http://10.0.0.1/': 'private',
                 'http://127.0.0.1/': 'loopback', 'http://0x7f.1/': 'loopback',
                 'http://2130706433/': 'loopback', 'http://[::1]/': 'loopback',
                 'http://[::ffff:10.0.0.1]/': 'mapped', 'http://localhost/': 'loopback',
                 'http://other.localhost/': 'loopback', 'http://[64:ff9b::a00:1]/': 'nat64',
                 'http://100.64.0.1/': 'shared', 'file:///etc/passwd': 'scheme',
                 'gopher://example.com/': 'scheme', 'http://u:p@example.com/': 'credentials',
                 'http://example.com:25/': 'port', self.site.at('plain'): 'port'}
        for target, rule in rules.items():
            with self.subTest(target):
                said = self.visit(self.site.to(target, host=article.NAME))
                self.assertEqual((said['class'], said['rule']), ('refused', rule))

    def test_without_an_allowance(self):
        for url in (self.site.at('plain'), self.site.at('plain', host=article.NAME)):
            self.assertEqual(self.visit(url, allow='')['class'], 'refused', url)
        self.assertEqual(self.site.connections, 0)


class OverTls(Visiting):
    """The same over https: the address is looked at before a word of TLS is spoken."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix='tain-tls-')
        cls.addClassCleanup(folder.cleanup)
        cls.key, cls.certificate = (f'{folder.name}/{name}.pem' for name in ('key', 'cert'))
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt',
                        'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj',
                        '/CN=tests', '-addext', f'subjectAltName=DNS:{article.NAME}', '-keyout',
                        cls.key, '-out', cls.certificate], check=True, stderr=subprocess.DEVNULL)

    def setUp(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        self.site = self.run_service(type('Secure', (Article,), {'TLS': context}))

    def at(self, path):
        return f'https://{article.NAME}:{self.site.port}/{path}'

    def to(self, target):
        return self.at('to?' + urllib.parse.urlencode({'url': target}))

    def known(self, url, **how):
        return self.visit(url, '600', self.certificate, **how)

    def test_articles(self):
        said = self.known(self.at('plain'))
        self.assertEqual((said['class'], said['title']), ('ok', title_of('plain')))

    def test_a_redirect(self):
        said = self.known(self.to(self.at('nav')))
        self.assertEqual((said['class'], said['title']), ('ok', title_of('nav')))

    def test_what_is_too_much(self):
        for shape in ('bomb', 'huge', 'flood'):
            self.assertEqual(self.known(self.at(shape))['class'], 'too_large', shape)

    def test_a_certificate_that_nobody_knows(self):
        said = self.visit(self.at('plain'))
        self.assertEqual((said['class'], said['text']), ('later', None))

    def test_a_byte_a_second(self):
        self.assertIn('too slow', self.visit(self.at('drip'), '2', self.certificate)['detail'])

    def test_redirects(self):
        said = self.known(self.at('ring'))
        self.assertEqual((said['class'], said['rule']), ('refused', 'redirects'))

    def test_redirects_that_are_refused(self):
        for target, rule in (('https://127.0.0.1/', 'loopback'), ('http://[::1]/', 'loopback'),
                             ('https://10.0.0.1/', 'private'), ('file:///etc/passwd', 'scheme'),
                             ('https://[::ffff:10.0.0.1]/', 'mapped'),
                             ('https://0x7f.1:8443/', 'loopback'),
                             (self.at('plain').replace(article.NAME, 'x.localhost'), 'port'),
                             (f'http://{article.NAME}/', 'loopback')):
            said = self.known(self.to(target))
            self.assertEqual((said['class'], said['rule']), ('refused', rule), target)

    def test_without_an_allowance(self):
        for url in (self.at('plain'), f'https://{article.NAME}/', 'https://localhost:8443/'):
            self.assertEqual(self.known(url, allow='')['class'], 'refused', url)
        self.assertEqual(self.site.connections, 0)


OWN = '93.184.216.34'  # a public number, of this machine in a network of its own
# Serves there, has TOOL visit it, and says what it said and how many requests came.
ALONE = '''
import http.server, subprocess, sys, threading
asked = []
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(self.path)
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer((sys.argv[2], 8080), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
subprocess.run([sys.argv[1], sys.argv[3], f"http://{sys.argv[2]}:8080/"], check=True)
print(len(asked))
'''


def why_not_alone():
    if not (shutil.which('unshare') and shutil.which('ip')):
        return 'unshare or ip is not installed'
    done = subprocess.run(['unshare', '--net', 'ip', 'link', 'set', 'lo', 'up'],
                          stderr=subprocess.DEVNULL)
    return 'no network of its own can be made here' if done.returncode else None


@unittest.skipIf(why_not_alone(), why_not_alone())
class OwnNumber(unittest.TestCase):
    """A public address is an inner one when it is our own; only the connection shows that."""

    def visit(self, *allow):
        done = subprocess.run(
            ['unshare', '--net', 'sh', '-c', f'ip link set lo up && ip addr add {OWN}/32 dev lo && '
             'exec "$@"', 'alone', sys.executable, '-c', ALONE, TOOL, OWN, *allow],
            stdout=subprocess.PIPE, check=True, text=True, timeout=PATIENCE, env=environment())
        said, asked = done.stdout.splitlines()
        return json.loads(said), int(asked)

    def test_refused_before_anything_is_asked(self):
        said, asked = self.visit('')
        self.assertEqual((said['class'], said['rule'], asked), ('refused', 'own', 0))

    def test_with_an_allowance(self):
        said, asked = self.visit(f'{OWN}:8080')
        self.assertEqual((said['class'], asked), ('ok', 1))


if __name__ == '__main__':
    unittest.main()
