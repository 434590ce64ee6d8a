"""A stand-in for the lookup service of the flowsheet: POST /api/v1/lookup, in the real shapes.

    with Lookup(token='t') as lookup:           # a thread of this process, a free port
        start('enrich', env={'LML_URL': lookup.url, 'LML_TOKEN': 't'})
        lookup.become('down', retry_after=2)    # from now on
        lookup.become('busy', times=3)          # three calls, then as usual
        lookup.when(lambda body: body['song'] == 'x', 'refuse')    # these rows only
        lookup.calls, lookup.highest            # what was asked, and the most at once

| mode | the answer (the others are those of every StandIn) |
|---|---|
| normal | by the artist: `nobody` in the name means no match, everyone else has one |
| degraded, timeout | 200, no results, and the member of that name is true |
| large | as usual with a biography of `size` characters |
"""

import collections
import urllib.parse

from stand_in import StandIn
from stand_in_http import Answer, reason_of

PATH = '/api/v1/lookup'
FIELDS = ('artist', 'song', 'album', 'raw_message')


def matches(artist):
    return 'nobody' not in artist.lower()


def artwork_of(artist, album=None):
    """What the service knows of an artist; the year is unknown (0) for a third of them."""
    name = urllib.parse.quote(artist, safe='')
    number = sum(artist.encode('utf-8'))
    return {
        'artwork_url': f'https://img.example/{name}.jpg',
        'release_url': f'https://discogs.example/release/{number}',
        'release_year': 0 if number % 3 == 0 else 1950 + number % 70,
        'artist_bio': f'{artist} plays music. Born in “Łódź”; see {album or "no album"}.',
        'wikipedia_url': f'https://wiki.example/{name}',
        'spotify_url': f'https://spotify.example/{name}',
        'apple_music_url': None,
        'youtube_music_url': f'https://youtube.example/{name}',
        'bandcamp_url': '',
        'soundcloud_url': f'https://soundcloud.example/{name}',
        'confidence': 0.87,
    }


def columns_of(artist, album=None):
    """What must stand in the row of a flowsheet after a match."""
    art = artwork_of(artist, album)
    kept = {name: art[name] or None for name in (
        'artwork_url', 'spotify_url', 'apple_music_url', 'youtube_music_url', 'bandcamp_url',
        'soundcloud_url', 'release_year', 'artist_bio')}
    return dict(kept, discogs_url=art['release_url'], artist_wikipedia_url=art['wikipedia_url'])


def answer_to(body):
    found = matches(body['artist'])
    item = {'artist': body['artist'], 'title': body['album'], 'call_letters': 'RO'}
    result = {'library_item': item,
              'artwork': artwork_of(body['artist'], body['album'])}
    return {'results': [result] if found else [], 'search_type': 'direct' if found else 'none',
            'timeout': False, 'degraded': False}


def is_lookup(body):
    return (isinstance(body, dict) and set(body) == set(FIELDS)
            and isinstance(body['artist'], str) and body['artist'])


class Lookup(StandIn):
    """The service."""

    NAME = 'the lookup service'
    ROUTES = (('POST', PATH, 'lookup'),)

    def __init__(self, token=None, port=0, host='127.0.0.1'):
        self.token = token
        super().__init__(port, host)

    def refusal(self, call):
        if call.route and self.token and call.headers.get('authorization') != \
                f'Bearer {self.token}':
            return self.failed(401)
        return None

    def usual_lookup(self, call):
        return Answer(200, answer_to(call.body)) if is_lookup(call.body) else self.failed(422)

    def error(self, status):
        return {'detail': [{'loc': ['body'], 'msg': 'not a lookup'}] if status == 422
                else reason_of(status)}

    def failed(self, status, retry_after=None):
        answer = super().failed(status, retry_after)
        if status == 401:
            answer.headers.append(('WWW-Authenticate', 'Bearer'))
        return answer

    def be_degraded(self, mode, _):
        """Or timeout: the member of that name is true."""
        return Answer(200, dict({'results': [], 'search_type': 'none', 'timeout': False,
                                 'degraded': False}, **{mode.name: True}))

    be_timeout = be_degraded

    def be_large(self, mode, call):
        answer = answer_to(call.body)
        for result in answer['results']:
            result['artwork']['artist_bio'] = 'ü' * mode.size
        return Answer(200, answer)

    def when(self, condition, name, **how):
        """Calls whose body (no JSON: none of them) meets the condition."""
        super().when(lambda call: call.body is not None and condition(call.body), name, **how)

    def artists(self):
        """How often each was asked for."""
        return collections.Counter(call.body['artist'] for call in self.calls
                                   if isinstance(call.body, dict) and 'artist' in call.body)


if __name__ == '__main__':
    Lookup.main([('token', 'what callers must have')])
