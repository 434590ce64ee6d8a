"""The stand-ins for what a summary is made with: Anthropic says what the real one says, in all its
error forms; the site has every shape of article that it promises. What all stand-ins have in
common: test_link_stand_ins.py."""

import gzip
import http.client
import json
import socket
import unittest
import urllib.parse
import zlib

from lib import ANSWER, wait_until
import article
from anthropic import TYPES, Anthropic, tokens_of
from article import NOISE, SHAPES, WORDS, Article, title_of
from stand_in_test import KEY, QUESTION, Clock, StandInTest, call


# Anthropic ----------------------------------------------------------------------------------------

class AnthropicTest(StandInTest):
    def setUp(self):
        self.clock = Clock()
        self.ai = self.run_service(Anthropic, key='k', models=['m'], clock=self.clock)

    def ask(self, question=None, headers=None, **more):
        return call(self.ai, '/v1/messages', dict(QUESTION, **more) if question is None
                    else question, dict(KEY) if headers is None else headers)

    def test_an_answer(self):
        said = self.ask(system='Be brief.', messages=[{'role': 'user', 'content': [
            {'type': 'text', 'text': 'The words of an article'}]}]).json
        self.assertEqual((said['type'], said['role'], said['model'], said['stop_reason']),
                         ('message', 'assistant', 'm', 'end_turn'))
        text, = said['content']
        self.assertEqual(text['type'], 'text')
        self.assertIn('words of an article', text['text'])
        asked = tokens_of('Be brief. The words of an article')
        self.assertEqual((said['usage']['input_tokens'], said['usage']['output_tokens']),
                         (asked, tokens_of(text['text'])))
        self.assertEqual((self.ai.tokens_in, self.ai.tokens_out),
                         (asked, tokens_of(text['text'])))
        self.ai.say('A summary.')
        self.assertEqual(self.ask().json['content'][0]['text'], 'A summary.')
        said = self.ask(max_tokens=1).json
        self.assertEqual((said['content'][0]['text'], said['stop_reason']), ('A su', 'max_tokens'))

    def test_large_questions(self):
        """With which clients ask first whether they may go on."""
        self.ai.limits(None)
        data = json.dumps(dict(QUESTION, messages=[{'role': 'user', 'content': 'x' * 1500000}]))
        head = ''.join(f'{name}: {value}\r\n' for name, value in KEY.items())
        with socket.create_connection((self.ai.host, self.ai.port), timeout=ANSWER) as one:
            one.sendall(f'POST /v1/messages HTTP/1.1\r\n{head}Expect: 100-continue\r\n'
                        f'Content-Length: {len(data)}\r\n\r\n'.encode())
            self.assertEqual(one.recv(100), b'HTTP/1.1 100 Continue\r\n\r\n')
            one.sendall(data.encode())
            self.assertRegex(one.recv(100), rb'^HTTP/1\.1 200 OK\r\n')

    def test_what_is_wrong_with_a_question(self):
        def error(answer):
            said = answer.json
            self.assertEqual((said['type'], said['request_id']),
                             ('error', answer.headers['request-id']))
            return answer.status, said['error']['type']
        invalid = (400, 'invalid_request_error')
        self.assertEqual(error(self.ask(headers={})), (401, 'authentication_error'))
        self.assertEqual(error(self.ask(headers=dict(KEY, **{'x-api-key': 'other'}))),
                         (401, 'authentication_error'))
        self.assertEqual(error(self.ask(headers={'x-api-key': 'k'})), invalid)
        for change in ({'model': ''}, {'max_tokens': 0}, {'messages': []}, {'unknown': 1},
                       {'messages': [{'role': 'user', 'content': ''}]},
                       {'messages': [{'role': 'assistant', 'content': 'x'}]}):
            self.assertEqual(error(self.ask(**change)), invalid, change)
        self.assertEqual(error(self.ask(b'{')), invalid)
        self.assertEqual(error(self.ask(model='unknown')), (404, 'not_found_error'))
        self.assertEqual(error(call(self.ai, '/v1/else', {}, KEY)), (404, 'not_found_error'))
        self.assertEqual((self.ai.tokens_in, self.ai.tokens_out), (0, 0))

    def test_every_error(self):
        for name, status in self.ai.ERRORS.items():
            self.ai.become(name)
            answer = self.ask()
            self.assertEqual(answer.status, status, name)
            self.assertEqual(answer.json['error']['type'],
                             TYPES.get(status, 'invalid_request_error'), name)
            self.assertNotIn('details', answer.json['error'])
        self.assertLessEqual({400, 401, 402, 403, 404, 413, 429, 500, 529},
                             set(self.ai.ERRORS.values()))

    def test_a_limit_that_is_spent(self):
        self.ai.become('spent')
        answer = self.ask()
        self.assertEqual((answer.status, answer.headers['Retry-After'],
                          answer.json['error']['type'], answer.json['error']['details']),
                         (429, None, 'rate_limit_error',
                          {'error_code': 'enforced_spend_limit_reached'}))
        self.ai.become('capped')
        answer = self.ask()
        self.assertEqual((answer.status, answer.json['error']['type']),
                         (400, 'invalid_request_error'))

    def test_limits_per_minute(self):
        self.ai.limits(requests=2)
        self.assertEqual(self.ask().headers['anthropic-ratelimit-requests-remaining'], '1')
        self.ask()
        self.clock.now += 45
        answer = self.ask()
        self.assertEqual((answer.status, answer.headers['retry-after']), (429, '15'))
        self.clock.now += 15
        self.assertEqual(self.ask().status, 200)
        self.ai.limits(input_tokens=100)
        long = [{'role': 'user', 'content': 'x' * 300}]
        self.assertEqual([self.ask(messages=long).status for _ in range(2)], [200, 429])
        self.assertEqual(self.ask().status, 200)
        self.ai.limits(output_tokens=5)
        self.ai.say('y' * 20)
        self.assertEqual([self.ask().status for _ in range(2)], [200, 429])

    def test_answers_of_other_kinds(self):
        self.ai.say('All of it.')
        ends = {'shortened': ('max_tokens', 1), 'refused': ('refusal', 0),
                'silent': ('end_turn', 0), 'thoughtful': ('end_turn', 3)}
        for mode, (stop, blocks) in ends.items():
            self.ai.become(mode)
            said = self.ask().json
            self.assertEqual((said['stop_reason'], len(said['content'])), (stop, blocks), mode)
        texts = [block.get('text', '') for block in said['content']]
        self.assertEqual(''.join(texts), 'All of it.')
        self.ai.become('overlong', size=100000)
        self.assertEqual(len(self.ask().json['content'][0]['text']), 100000)


# Articles -----------------------------------------------------------------------------------------

class ArticleTest(StandInTest):
    def setUp(self):
        self.site = self.run_service(Article)

    def get(self, url):
        parts = urllib.parse.urlsplit(url)
        return call(self.site, f'{parts.path}?{parts.query}' if parts.query else parts.path)

    def test_articles_have_their_words(self):
        charsets = {'latin1': 'latin-1', 'meta': 'cp1252', 'utf16': 'utf-16', 'sjis': 'shift_jis'}
        unpack = {'gzip': gzip.decompress, 'deflate': zlib.decompress}
        for shape, words in WORDS.items():
            answer = self.get(self.site.at(shape))
            self.assertEqual(answer.status, 200, shape)
            text = unpack.get(shape, bytes)(answer.body).decode(charsets.get(shape, 'utf-8'),
                                                                'replace')
            for sentence in words:
                self.assertIn(sentence, text, shape)
            told = (title_of(shape) or '').replace('&', '&amp;' if shape != 'broken' else '&')
            self.assertIn(told, text, shape)
            self.assertEqual('<title>' in text, shape not in ('untitled', 'bare', 'social'), shape)
        noisy = self.get(self.site.at('nav')).text
        self.assertEqual([words for words in NOISE if words not in noisy], [])

    def test_every_shape_is_there(self):
        for shape in set(SHAPES) - {'drip', 'huge', 'bomb', 'flood'}:
            self.assertIn(self.get(self.site.at(shape)).status, (200, 204, 302), shape)
        self.assertEqual(self.get(self.site.at('unknown')).status, 404)
        self.assertEqual(self.get(self.site.at('status/451')).status, 451)
        kinds = {'json': 'application/json', 'pdf': 'application/pdf', 'image': 'image/png',
                 'binary': 'application/octet-stream', 'text': 'text/plain',
                 'disguised': 'text/html', 'nothing': 'text/html'}
        for shape, kind in kinds.items():
            self.assertEqual(self.get(self.site.at(shape)).headers.get_content_type(), kind)

    def test_words_that_may_be_lost(self):
        lying = self.get(self.site.at('lying'))
        self.assertEqual(lying.headers.get_content_charset(), 'utf-8')
        with self.assertRaises(UnicodeDecodeError):
            lying.body.decode('utf-8')
        self.assertIn(b'\0', self.get(self.site.at('nul')).body)
        self.assertEqual(self.get(self.site.at('deep')).body.count(b'<div>'), 20000)

    def test_redirects(self):
        target = 'http://10.0.0.1/x?y=z'
        answer = self.get(self.site.to(target, status=307))
        self.assertEqual((answer.status, answer.headers['Location']), (307, target))
        self.assertEqual(self.get(self.site.hops(2)).headers['Location'], '/hops/1/plain')
        self.assertEqual(self.get(self.site.hops(1, 'nav')).headers['Location'], '/nav')
        self.assertEqual(self.get(self.site.at('loop')).headers['Location'], '/loop')
        self.assertEqual(self.get(self.site.at('ring')).headers['Location'], '/hops/1/ring')
        self.assertIsNone(self.get(self.site.at('nowhere')).headers['Location'])

    def test_what_is_too_much(self):
        packed = self.get(self.site.at('bomb')).body
        self.assertLess(len(packed), article.MIB)
        self.assertGreater(sum(map(len, self.pieces(packed))), 200 * article.MIB)
        self.assertEqual(gzip.decompress(article.bomb(3)), b' ' * 3 * article.MIB)
        self.assertGreater(len(self.get(self.site.at('huge')).body), 60 * article.MIB)
        with self.assertRaises(http.client.HTTPException):
            self.get(self.site.at('flood'))

    @staticmethod
    def pieces(packed):
        unpacker = zlib.decompressobj(31)
        while packed:
            yield unpacker.decompress(packed, article.MIB)
            packed = unpacker.unconsumed_tail

    def test_drips(self):
        connection = http.client.HTTPConnection(self.site.host, self.site.port, timeout=ANSWER)
        self.addCleanup(connection.close)
        connection.request('GET', '/drip')
        answer = connection.getresponse()  # which is the connection from now on
        self.assertEqual(answer.read(2), b'  ')
        self.assertEqual(self.site.at_once, 1)
        answer.close()
        wait_until(lambda: self.site.at_once == 0, what='an end without a client')

    def test_other_addresses(self):
        self.assertEqual(self.site.at('x', host='news.example'),
                         f'http://news.example:{self.site.port}/x')
        try:
            six = self.run_service(Article, host='::1')
        except OSError:
            self.skipTest('no IPv6')
        self.assertEqual(six.url, f'http://[::1]:{six.port}')
        self.assertEqual(call(six, '/plain').status, 200)


if __name__ == '__main__':
    unittest.main()
