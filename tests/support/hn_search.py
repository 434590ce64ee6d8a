"""A stand-in for the HN Search API (Algolia) and for the items of the Firebase API, in the real
shapes.

    hn = HnSearch()
    story = hn.add('https://a.example/1', title='One', points=12, comments=3)
    asked = hn.add(None, title='Ask HN: what now?', text='Words')
    reply = hn.reply(story)                       # comments, as deep as wanted
    hn.url, hn.upstream                           # .../api/v1 and .../v0
    hn.limits(per_hour=10000)                     # None: no limit

The search is fuzzy, as the real one is: whatever has most words of the query in its URL is a hit,
the best first. As a process it makes stories up: some for most URLs, none for the others.

| mode | the answer (the others are those of every StandIn) |
|---|---|
| blocked | 403, as for an address that asked too often |
| empty | no hits; an item that is null |
| partial | hits, with a note that the search has not looked everywhere |
"""

import re
import time
import urllib.parse
import zlib

from stand_in import StandIn, Window
from stand_in_http import Answer

FIRST_ID = 30000000
SHARE = 0.6  # of the words of a query that make a hit
ITEM = r'(?P<id>\d+)'


def words_of(text):
    return re.findall(r'[a-z0-9]+', text.lower())


def tagged(wanted, tags):
    """`a,(b,c)` is a and one of b and c."""
    groups = re.findall(r'\(([^)]*)\)|([^,()]+)', wanted)
    return all(set((some or one).split(',')) & set(tags) for some, one in groups)


def stamp(seconds, millis):
    """Both forms are seen: with .000 and without."""
    return time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds)) + ('.000Z' if millis else 'Z')


class HnSearch(StandIn):
    """The service."""

    NAME = 'HN Search'
    ROUTES = (('GET', r'(?:/api/v1)?/search', 'search'),
              ('GET', r'(?:/api/v1)?/search_by_date', 'search'),
              ('GET', rf'(?:/api/v1)?/items/{ITEM}', 'items'),
              ('GET', rf'/v0/item/{ITEM}\.json', 'item'),
              ('GET', r'/v0/maxitem\.json', 'maxitem'))

    def __init__(self, port=0, invent=False, clock=time.monotonic):
        self.items, self.invent, self.clock = {}, invent, clock
        self.limits()
        super().__init__(port)
        root, self.url = self.url, f'{self.url}/api/v1'
        self.upstream = f'{root}/v0'

    def limits(self, per_hour=10000):
        self.window = Window(per_hour, 3600.0, self.clock)

    # What there is

    def _keep(self, **item):
        number = FIRST_ID + len(self.items)
        item = dict(item, id=number, time=1700000000 + len(self.items), kids=[])
        self.items = dict(self.items, **{str(number): item})
        return number

    def add(self, url, title='A title', points=1, comments=0, text='', kind='story', by='someone'):
        """The id of a story with so many answers of its own; without a URL it is an Ask HN."""
        number = self._keep(type=kind, by=by, title=title, url=url, text=text, score=points,
                            descendants=0)
        for _ in range(comments):
            self.reply(number)
        return number

    def reply(self, parent, text='A word on it.', by='reader'):
        number = self._keep(type='comment', by=by, parent=parent, text=text)
        self.items[str(parent)]['kids'].append(number)
        self.items[str(self.story_of(number))]['descendants'] += 1
        return number

    def story_of(self, number):
        while 'parent' in self.items[str(number)]:
            number = self.items[str(number)]['parent']
        return number

    @staticmethod
    def page(number):
        return f'https://news.ycombinator.com/item?id={number}'

    def _make_up(self, url):
        number = zlib.crc32(url.encode())
        if self.invent and url.startswith('http') and not any(
                item.get('url') == url for item in self.items.values()):
            for n in range(number % 3):
                self.add(url, title=f'News of {urllib.parse.urlsplit(url).hostname}',
                         points=number // (n + 1) % 900, comments=number // (n + 2) % 9)

    # What is said

    def refusal(self, call):
        return None if self.window.take() else self.failed(429)

    def error(self, status):
        return {'status': status, 'error': super().error(status)['message']}

    def usual_search(self, call):
        self._make_up(call.query.get('query', ''))
        size, page = (int(call.query.get(name, default))
                      for name, default in (('hitsPerPage', 20), ('page', 0)))
        found = self.matching(call.query)
        return Answer(200, {
            'hits': [self.hit(item, call.query) for item in found[page * size:(page + 1) * size]],
            'nbHits': len(found), 'page': page, 'nbPages': -(-len(found) // max(size, 1)),
            'hitsPerPage': size, 'exhaustiveNbHits': True, 'query': call.query.get('query', ''),
            'params': urllib.parse.urlencode(call.query), 'processingTimeMS': 1})

    @staticmethod
    def searched(query):
        """Where the words of a query are looked for."""
        return query.get('restrictSearchableAttributes', 'title,url,text').split(',')

    def matching(self, query):
        wanted, where = set(words_of(query.get('query', ''))), self.searched(query)

        def worth(item):
            has = set(words_of(' '.join(str(item.get(name) or '') for name in where)))
            return len(wanted & has) / max(len(wanted), 1) if wanted else 1
        found = [(worth(item), item.get('score', 0), item) for item in self.items.values()
                 if tagged(query.get('tags', ''), self.tags_of(item))]
        return [item for share, _, item in sorted(
            (row for row in found if row[0] >= SHARE), key=lambda row: (-row[0], -row[1]))]

    def hit(self, item, query):
        story = self.items[str(self.story_of(item['id']))]
        comment = item['type'] == 'comment'
        shown = {name: item.get(name) for name in ('title', 'url')}
        return {
            **shown, 'objectID': str(item['id']), 'author': item['by'],
            'created_at': stamp(item['time'], item['id'] % 2), 'created_at_i': item['time'],
            'points': item.get('score'), 'num_comments': item.get('descendants'),
            'story_text': None if comment else item['text'],
            'comment_text': item['text'] if comment else None,
            'story_id': story['id'] if comment else None, 'parent_id': item.get('parent'),
            'story_title': story['title'] if comment else None,
            'story_url': story['url'] if comment else None,
            '_tags': self.tags_of(item),
            '_highlightResult': {
                name: self.marked(text, query if name in self.searched(query) else {})
                for name, text in dict(shown, author=item['by']).items() if text}}

    def tags_of(self, item):
        return [item['type'], f"author_{item['by']}", f"story_{self.story_of(item['id'])}"]

    @staticmethod
    def marked(text, query):
        wanted = sorted(set(words_of(query.get('query', ''))) & set(words_of(text)))
        if not wanted:
            return {'value': text, 'matchLevel': 'none', 'matchedWords': []}
        pattern = '(?i)\\b(' + '|'.join(wanted) + ')\\b'
        return {'value': re.sub(pattern, r'<em>\1</em>', text), 'matchLevel': 'full',
                'fullyHighlighted': False, 'matchedWords': wanted}

    def usual_items(self, call):
        if call.found['id'] not in self.items:
            return self.failed(404)
        return Answer(200, self.tree(self.items[call.found['id']]))

    def tree(self, item):
        comment = item['type'] == 'comment'
        return {'id': item['id'], 'created_at': stamp(item['time'], True),
                'created_at_i': item['time'], 'type': item['type'], 'author': item['by'],
                'title': item.get('title'), 'url': item.get('url'), 'text': item['text'],
                'points': item.get('score'), 'parent_id': item.get('parent'),
                'story_id': self.story_of(item['id']) if comment else None,
                'children': [self.tree(self.items[str(kid)]) for kid in item['kids']],
                'options': []}

    def usual_item(self, call):
        """As Firebase has it: absent rather than null, and null for what is not there."""
        item = self.items.get(call.found['id'])
        return Answer(200, item and {name: value for name, value in item.items()
                                     if value not in (None, [], '')})

    def usual_maxitem(self, _):
        return Answer(200, FIRST_ID + len(self.items) - 1)

    def be_blocked(self, *_):
        return self.failed(403)

    def be_empty(self, _, call):
        if call.route != 'search':
            return Answer(200, b'null')
        return Answer(200, {'hits': [], 'nbHits': 0, 'page': 0, 'nbPages': 0, 'hitsPerPage': 20,
                            'exhaustiveNbHits': True, 'query': call.query.get('query', ''),
                            'params': '', 'processingTimeMS': 1})

    def be_partial(self, _, call):
        answer = self.usual_answer(call)
        if call.route != 'search':
            return answer
        answer.body = answer.body.replace(b'"exhaustiveNbHits": true', b'"exhaustiveNbHits": false')
        return answer


if __name__ == '__main__':
    HnSearch.main(invent=True)
