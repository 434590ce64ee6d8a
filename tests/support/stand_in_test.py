"""What the suites of the stand-ins share: one of them to a test, and calls to it."""

import http.client
import json
import unittest

from anthropic import VERSION
from lib import ANSWER
from serve import Answer

AGENT = {'User-Agent': 'tests:tain:v1 (by /u/nobody)'}
PAGE = 'https://a.example/one/two-three'
BROKEN_OFF = (http.client.HTTPException, OSError)
QUESTION = {'model': 'm', 'max_tokens': 100, 'messages': [{'role': 'user', 'content': 'Why?'}]}
KEY = {'x-api-key': 'k', 'anthropic-version': VERSION}


class Clock:
    """Time that a test moves."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def call(service, target, body=None, headers=None, method=None):
    """One request on a connection of its own, to a stand-in or where a URL (split) leads."""
    host = getattr(service, 'host', None) or service.hostname
    connection = http.client.HTTPConnection(host, service.port, timeout=ANSWER)
    try:
        data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        connection.request(method or ('GET' if data is None else 'POST'), target, data,
                           headers or {})
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())
    finally:
        connection.close()


class StandInTest(unittest.TestCase):
    def run_service(self, kind, **options):
        service = kind(**options)
        self.addCleanup(service.close)
        return service

    def assert_shape(self, shape, value, complete=True):
        self.assertEqual(shape.differences(value, complete), [])
