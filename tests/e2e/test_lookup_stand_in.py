"""The stand-in for the lookup service says what the real one says, and counts what it was asked."""

import http.client
import json
import socket
import unittest

from lib import ANSWER, wait_until
from lookup import PATH, Lookup, columns_of


def body_of(artist, album='Album', song='Song'):
    return {'artist': artist, 'song': song, 'album': album,
            'raw_message': f'{artist} - {album or ""} - {song}'}


class StandIn(unittest.TestCase):
    def setUp(self):
        self.lookup = Lookup(token='t')
        self.addCleanup(self.lookup.close)

    def connect(self, timeout=ANSWER):
        connection = http.client.HTTPConnection('127.0.0.1', self.lookup.port, timeout=timeout)
        self.addCleanup(connection.close)
        return connection

    def ask(self, body, token='t', connection=None, path=PATH, method='POST'):
        connection = connection or self.connect()
        data = body if isinstance(body, bytes) else json.dumps(body)
        connection.request(method, path, data, {'Authorization': f'Bearer {token}'})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def status(self, artist='Sun Ra', **how):
        return self.ask(body_of(artist), **how)[0]

    def test_known_and_unknown_artists(self):
        connection = self.connect()
        status, _, text = self.ask(body_of('Sun Ra'), connection=connection)
        known = json.loads(text)
        self.assertEqual((status, known['timeout'], known['degraded']), (200, False, False))
        self.assertEqual(known['results'][0]['artwork']['artwork_url'],
                         columns_of('Sun Ra')['artwork_url'])
        status, _, text = self.ask(body_of('Nobody at all', None), connection=connection)
        self.assertEqual((status, json.loads(text)['results']), (200, []))
        self.assertEqual([call.body['artist'] for call in self.lookup.calls],
                         ['Sun Ra', 'Nobody at all'])
        self.assertEqual(self.lookup.highest, 1)

    def test_what_is_not_a_lookup(self):
        self.assertEqual(self.ask(b'{')[0], 422)
        self.assertEqual(self.ask({'artist': 'x'})[0], 422)
        self.assertEqual(self.status(''), 422)
        self.assertEqual(self.status(token='wrong'), 401)
        self.assertEqual(self.status(method='GET'), 405)
        self.assertEqual(self.status(path='/else'), 404)

    def test_every_mode(self):
        expected = {'busy': 429, 'down': 503, 'broken': 500, 'garbage': 200, 'odd': 200,
                    'degraded': 200, 'timeout': 200, 'unauthorized': 401, 'forbidden': 403,
                    'refuse': 422}
        for mode, status in expected.items():
            self.lookup.become(mode, times=1)
            self.assertEqual(self.status(), status, mode)
            self.assertEqual(self.status(), 200, f'after {mode}')
        self.assertEqual([call.mode for call in self.lookup.calls],
                         [name for mode in expected for name in (mode, 'normal')])
        for mode in ('degraded', 'timeout'):
            self.lookup.become(mode)
            answer = json.loads(self.ask(body_of('Sun Ra'))[2])
            self.assertTrue(answer[mode])
            self.assertEqual(answer['results'], [])
        with self.assertRaises(ValueError):
            self.lookup.become('no such mode')

    def test_waits_are_said_or_not(self):
        self.lookup.become('busy', retry_after=7)
        self.assertEqual(self.ask(body_of('x'))[1]['Retry-After'], '7')
        self.lookup.become('down')
        self.assertNotIn('Retry-After', self.ask(body_of('x'))[1])

    def test_chosen_rows(self):
        self.lookup.when(lambda body: body['artist'] == 'bad', 'refuse')
        self.assertEqual(self.status('bad'), 422)
        self.assertEqual(self.status('good'), 200)
        self.lookup.usual()
        self.assertEqual(self.status('bad'), 200)

    def test_answers_that_break_off(self):
        self.lookup.become('cut')
        with self.assertRaises(http.client.IncompleteRead):
            self.status()
        self.lookup.become('drop')
        with self.assertRaises((http.client.HTTPException, OSError)):
            self.status()

    def test_hanging_calls_count_until_the_client_leaves(self):
        self.lookup.become('hang')
        patient = [self.connect() for _ in range(3)]
        for connection in patient:
            connection.request('POST', PATH, json.dumps(body_of('x')),
                               {'Authorization': 'Bearer t'})
        wait_until(lambda: self.lookup.at_once == 3, what='three calls at once')
        self.assertEqual(self.lookup.highest, 3)
        patient[0].sock.shutdown(socket.SHUT_RDWR)
        wait_until(lambda: self.lookup.at_once == 2, what='one less')
        self.lookup.release()
        with self.assertRaises((http.client.HTTPException, OSError)):
            patient[1].getresponse()

    def test_slow_and_large_answers(self):
        self.lookup.become('slow', seconds=0.05)
        self.assertEqual(self.status(), 200)
        self.lookup.become('large', size=300000)
        answer = json.loads(self.ask(body_of('Sun Ra'))[2])
        self.assertEqual(len(answer['results'][0]['artwork']['artist_bio']), 300000)

    def test_counts(self):
        for artist in ('a', 'b', 'a'):
            self.status(artist)
        self.assertEqual(dict(self.lookup.artists()), {'a': 2, 'b': 1})
        self.assertEqual(self.lookup.in_any(3600), 3)
        self.lookup.forget()
        self.assertEqual((self.lookup.calls, self.lookup.in_any(3600)), ([], 0))

    def test_steered_over_http(self):
        self.assertEqual(self.ask({'mode': 'broken', 'times': 1}, path='/become')[0], 200)
        self.assertEqual(self.status(), 500)
        said = json.loads(self.ask({}, path='/calls', method='GET')[2])
        self.assertEqual((said['calls'], said['modes']), (1, {'broken': 1}))


if __name__ == '__main__':
    unittest.main()
