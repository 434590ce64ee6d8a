"""A stand-in for the Anthropic Messages API: POST /v1/messages, in the real shapes.

    ai = Anthropic(key='k')
    ai.limits(requests=50, input_tokens=30000, output_tokens=8000)     # per `window` seconds
    ai.say('A summary.')                              # from now on; None: made of the question
    ai.become('spent')
    ai.tokens_in, ai.tokens_out                       # what the caller would have to pay for

A token is four characters. Every error has a JSON body with its type, and a request id.

| mode | the answer (the others are those of every StandIn) |
|---|---|
| invalid, unauthorized, unpaid, forbidden, gone | 400, 401, 402, 403, 404 |
| too_large, busy, broken, late, overloaded | 413, 429, 500, 504, 529 |
| spent | 429 because the month's spend limit is reached: a code in the details and no Retry-After |
| capped | 400 because the limit is reached that the organization has set for itself |
| shortened | 200 that ends with `max_tokens` |
| refused | 200 that ends with `refusal`, and no text |
| silent | 200 with no content at all |
| thoughtful | 200 whose text comes after a block of another type, in two pieces |
| overlong | 200 with a text of `size` characters |
"""

import json
import time

from stand_in import StandIn, Window
from stand_in_http import Answer

VERSION = '2023-06-01'
REQUEST_MAX = 32 * 1000 * 1000
TYPES = {400: 'invalid_request_error', 401: 'authentication_error', 402: 'billing_error',
         403: 'permission_error', 404: 'not_found_error', 405: 'invalid_request_error',
         413: 'request_too_large', 429: 'rate_limit_error', 500: 'api_error', 503: 'api_error',
         504: 'timeout_error', 529: 'overloaded_error'}


def text_of(content):
    """The words of a message or a system prompt: text, or a list of blocks."""
    if isinstance(content, str):
        return content
    return ' '.join(block.get('text', '') for block in content or [])


def tokens_of(text):
    return -(-len(text) // 4)


def wrong_with(body):
    """What a request lacks, in words; None when it is one."""
    if not isinstance(body, dict):
        return 'the body is no JSON object'
    if not isinstance(body.get('model'), str) or not body['model']:
        return 'model: Field required'
    if not isinstance(body.get('max_tokens'), int) or body['max_tokens'] < 1:
        return 'max_tokens: Field required'
    messages = body.get('messages')
    if not isinstance(messages, list) or not messages:
        return 'messages: at least one message is required'
    for n, message in enumerate(messages):
        if message.get('role') not in ('user', 'assistant') or not text_of(message.get('content')):
            return f'messages.{n}: no role or no content'
    if messages[0]['role'] != 'user':
        return 'messages: first message must use the "user" role'
    strange = set(body) - {'model', 'max_tokens', 'messages', 'system', 'temperature', 'metadata',
                           'stop_sequences', 'top_p', 'top_k', 'stream', 'thinking'}
    return f'{min(strange)}: Extra inputs are not permitted' if strange else None


class Anthropic(StandIn):
    """The service."""

    NAME = 'Anthropic'
    JSON = 'application/json'
    ROUTES = (('POST', r'/v1/messages', 'messages'),)
    ERRORS = dict(StandIn.ERRORS, invalid=400, unpaid=402, too_large=413, late=504, overloaded=529)

    def __init__(self, key=None, port=0, models=None, clock=time.monotonic):
        self.key, self.models, self.clock = key, models, clock
        self.words, self.tokens_in, self.tokens_out, self.numbered = None, 0, 0, 0
        self.limits()
        super().__init__(port)

    def limits(self, requests=50, input_tokens=None, output_tokens=None, window=60.0):
        self.windows = {name: Window(limit, window, self.clock) for name, limit in (
            ('requests', requests), ('input-tokens', input_tokens),
            ('output-tokens', output_tokens))}

    def say(self, words):
        self.words = words

    # What is said

    def refusal(self, call):
        if call.headers.get('x-api-key') is None or \
                self.key not in (None, call.headers['x-api-key']):
            return self.failed(401)
        return None

    def error(self, status, message=None, **details):
        kind = TYPES.get(status, 'invalid_request_error')
        error = dict({'type': kind, 'message': message or kind.replace('_', ' ')}, **details)
        return {'type': 'error', 'error': error, 'request_id': f'req_{self.numbered:024}'}

    def failed(self, status, retry_after=None, **about):
        self.numbered += 1
        headers = [('request-id', f'req_{self.numbered:024}'),
                   ('x-should-retry', 'true' if status in (429, 500, 503, 504, 529) else 'false')]
        if retry_after is not None:
            headers.append(('retry-after', retry_after))
        return Answer(status, self.error(status, **about), headers, self.JSON)

    def usual_messages(self, call):
        if call.headers.get('anthropic-version') != VERSION:
            return self.failed(400, message='anthropic-version: header is required')
        if len(call.data) > REQUEST_MAX:
            return self.failed(413)
        wrong = wrong_with(call.body)
        if wrong:
            return self.failed(400, message=wrong)
        if self.models is not None and call.body['model'] not in self.models:
            return self.failed(404, message=f"model: {call.body['model']}")
        return self.within_limits(call)

    def within_limits(self, call):
        asked = ' '.join([text_of(call.body.get('system')),
                          *(text_of(message['content']) for message in call.body['messages'])])
        text, stop = self.summary(asked, call.body)
        used = {'requests': 1, 'input-tokens': tokens_of(asked), 'output-tokens': tokens_of(text)}
        for name, window in self.windows.items():
            if not window.take(used[name]):
                return self.with_limits(self.failed(
                    429, window.reset, message=f'the limit of {name} per minute is reached'))
        self.tokens_in += used['input-tokens']
        self.tokens_out += used['output-tokens']
        return self.with_limits(self.message(call, [{'type': 'text', 'text': text}], stop, used))

    def summary(self, asked, body):
        """What is answered, and why it ends."""
        words = self.words if self.words is not None else \
            'In short: ' + ' '.join(asked.split()[-40:])
        longest = 4 * body['max_tokens']
        return words[:longest], 'end_turn' if len(words) <= longest else 'max_tokens'

    def message(self, call, content, stop, used):
        self.numbered += 1
        number = f'{self.numbered:024}'
        return Answer(200, {
            'id': f'msg_{number}', 'type': 'message', 'role': 'assistant',
            'model': call.body['model'], 'content': content, 'stop_reason': stop,
            'stop_sequence': None, 'usage': {
                'input_tokens': used['input-tokens'], 'cache_creation_input_tokens': 0,
                'cache_read_input_tokens': 0, 'output_tokens': used['output-tokens'],
                'service_tier': 'standard'}},
            [('request-id', f'req_{number}')], self.JSON)

    def with_limits(self, answer):
        for name, window in self.windows.items():
            if window.limit is not None:
                reset = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + window.reset))
                answer.headers += [(f'anthropic-ratelimit-{name}-limit', window.limit),
                                   (f'anthropic-ratelimit-{name}-remaining', window.left),
                                   (f'anthropic-ratelimit-{name}-reset', reset)]
        return answer

    def be_spent(self, *_):
        return self.failed(429, message='You have reached the monthly limit of your tier.',
                           details={'error_code': 'enforced_spend_limit_reached'})

    def be_capped(self, *_):
        return self.failed(400, message='You have reached your specified API usage limits.')

    def altered(self, call, change):
        """The usual answer after change(answer as JSON)."""
        answer = self.usual_answer(call)
        if answer.status == 200:
            said = json.loads(answer.body)
            change(said)
            answer.body = json.dumps(said).encode()
        return answer

    def be_shortened(self, _, call):
        return self.altered(call, lambda said: said.update(stop_reason='max_tokens'))

    def be_refused(self, _, call):
        return self.altered(call, lambda said: said.update(stop_reason='refusal', content=[]))

    def be_silent(self, _, call):
        return self.altered(call, lambda said: said.update(content=[]))

    def be_thoughtful(self, _, call):
        def think(said):
            text = said['content'][0]['text']
            said['content'] = [{'type': 'thinking', 'thinking': 'Well.', 'signature': 'x'},
                               *({'type': 'text', 'text': part}
                                 for part in (text[:len(text) // 2], text[len(text) // 2:]))]
        return self.altered(call, think)

    def be_overlong(self, mode, call):
        return self.altered(call, lambda said: said['content'][0].update(text='ü' * mode.size))


if __name__ == '__main__':
    Anthropic.main([('key', 'what callers must have')])
