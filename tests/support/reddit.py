"""A stand-in for Reddit: the token endpoint, submissions by URL, one submission with its comments,
share links and redd.it, in the real shapes; www and oauth host are one.

    reddit = Reddit()                                  # anyone may ask, 10 times a minute
    reddit = Reddit(client='id', secret='s')           # tokens are given to this client only
    post = reddit.add('https://a.example/1', title='One', subreddit='programming')
    talk = reddit.add(None, title='A question')        # a self-post
    reddit.page(post), reddit.page(post, host='old.reddit.com'), reddit.comment(post)
    reddit.share(post), reddit.short(post)             # discussion URLs of every form
    reddit.expire()                                    # every token is worth nothing from now on
    reddit.limits(oauth=600, others=60)                # per `window` seconds; None: no limit

Without raw_json=1 texts and URLs are written for HTML, &amp; for &, as the real ones are. Without
a User-Agent that describes its program a call gets 429, as does one beyond the limits, with
X-Ratelimit headers. A wrong token gets 401. As a process it makes posts up: some for most URLs,
none for the others.

| mode | the answer (the others are those of every StandIn) |
|---|---|
| blocked | 403 with the page of HTML that says so |
| expired | 401, and no token is good any more |
| private, quarantined | 403 with that reason |
| empty | a listing without posts |
| later | 302 to a page that wants a log-in |
"""

import base64
import html
import re
import time
import urllib.parse
import zlib

from stand_in import StandIn, Window
from stand_in_http import Answer

FIRST_ID = 36 ** 5  # ids have six characters
TOKEN_SECONDS = 86400
AGENTS_OF_NOBODY = re.compile(r'(?i)(?:(?:lib)?curl|wget|python|java|go-http|mozilla)[-/\w.]*|\s*')
BLOCK_PAGE = b"""<!doctype html>
<html><head><title>Blocked</title></head>
<body><h1>You cannot come in</h1><p>Too many of your kind have been here.</p></body></html>
"""


def base36(number):
    digits = ''
    while number:
        number, last = divmod(number, 36)
        digits = '0123456789abcdefghijklmnopqrstuvwxyz'[last] + digits
    return digits or '0'


def slug_of(title):
    return '_'.join(re.findall(r'\w+', title.lower()))[:50].strip('_')


def listing(children):
    return {'kind': 'Listing', 'data': {'after': None, 'dist': len(children), 'modhash': '',
                                        'children': children, 'before': None}}


def written(call, value):
    """Texts are written for HTML unless the caller says raw_json=1."""
    if call.query.get('raw_json') == '1':
        return value
    if isinstance(value, dict):
        return {name: written(call, member) for name, member in value.items()}
    if isinstance(value, list):
        return [written(call, entry) for entry in value]
    return html.escape(value, quote=False) if isinstance(value, str) else value


class Post(dict):
    """`data` of a submission."""

    def __init__(self, number, url, title='A title', subreddit='test', score=1, num_comments=0,
                 over_18=False, created=None, text=''):
        super().__init__()
        name = base36(FIRST_ID + number)
        permalink = f'/r/{subreddit}/comments/{name}/{slug_of(title)}/'
        created = float(created or 1700000000 + number)
        is_self = url is None
        self.update({
            'id': name, 'name': f't3_{name}', 'title': title, 'permalink': permalink,
            'url': f'https://www.reddit.com{permalink}' if is_self else url,
            'domain': f'self.{subreddit}' if is_self else urllib.parse.urlsplit(url).hostname,
            'is_self': is_self, 'selftext': text, 'selftext_html': None, 'score': score,
            'ups': score, 'downs': 0, 'upvote_ratio': 0.9, 'num_comments': num_comments,
            'subreddit': subreddit, 'subreddit_id': 't5_2qh0y', 'subreddit_type': 'public',
            'subreddit_name_prefixed': f'r/{subreddit}', 'author': f'person{number}',
            'created': created, 'created_utc': created, 'over_18': over_18, 'edited': False,
            'thumbnail': 'self' if is_self else 'default', 'thumbnail_width': None,
            'thumbnail_height': None, 'likes': None, 'media': None, 'secure_media': None,
            'media_embed': {}, 'secure_media_embed': {}, 'user_reports': [], 'mod_reports': [],
            'link_flair_text': None, 'link_flair_css_class': None, 'author_flair_text': None,
            'author_flair_css_class': None, 'distinguished': None, 'num_reports': None,
            'removal_reason': None, 'report_reasons': None, 'approved_by': None,
            'banned_by': None, 'suggested_sort': None, 'view_count': None, 'gilded': 0,
            'archived': False, 'clicked': False, 'contest_mode': False, 'hidden': False,
            'hide_score': False, 'locked': False, 'quarantine': False, 'saved': False,
            'spoiler': False, 'stickied': False, 'visited': False})

    def shown(self):
        return {'kind': 't3', 'data': self}

    def comments(self):
        """A few, each with an answer."""
        shown = [self._comment(n, self['name']) for n in range(min(self['num_comments'], 3))]
        for n, comment in enumerate(shown):
            answer = self._comment(n + 3, comment['data']['name'], depth=1)
            comment['data']['replies'] = listing([answer])
        return shown

    def _comment(self, n, parent, depth=0):
        name = base36(36 * int(self['id'], 36) + n)
        return {'kind': 't1', 'data': {
            'id': name, 'name': f't1_{name}', 'parent_id': parent, 'link_id': self['name'],
            'author': f'reader{n}', 'body': f'Word {n} on it.', 'score': n, 'replies': '',
            'body_html': f'<p>Word {n} on it.</p>', 'subreddit': self['subreddit'],
            'created_utc': self['created_utc'] + n, 'permalink': f"{self['permalink']}{name}/",
            'stickied': False, 'edited': False, 'depth': depth}}


class Reddit(StandIn):
    """The service."""

    NAME = 'Reddit'
    COMMENTS = r'(?:/r/(?P<sub>\w+))?/comments/(?P<id>\w+)(?:/[^/]*(?:/(?P<comment>\w+))?)?/?'
    ROUTES = (('POST', r'/api/v1/access_token', 'token'),
              ('GET', r'/api/info(?:\.json|/)?', 'info'),
              ('GET', COMMENTS[:-2] + r'/?\.json', 'comments'),
              ('GET', COMMENTS, 'page'),
              ('GET', r'/r/(?P<sub>\w+)/s/(?P<share>\w*)/?', 'share'),
              ('GET', r'/(?P<id>[0-9a-z]{4,8})/?', 'short'))

    def __init__(self, client=None, secret=None, port=0, invent=False, clock=time.monotonic):
        self.client, self.secret, self.clock = client, secret, clock
        self.posts, self.shares, self.tokens, self.invent = [], {}, set(), invent
        self.given = 0
        self.limits()
        super().__init__(port)

    def limits(self, oauth=100, others=10, window=60.0):
        self.windows = {True: Window(oauth, window, self.clock),
                        False: Window(others, window, self.clock)}

    # What there is

    def add(self, url, **about):
        """A submission; without a URL it is a self-post."""
        post = Post(len(self.posts), url, **about)
        self.posts = [*self.posts, post]
        return post

    @staticmethod
    def page(post, host='www.reddit.com'):
        return f"https://{host}{post['permalink']}"

    def comment(self, post, host='www.reddit.com'):
        return f"{self.page(post, host)}{base36(36 * int(post['id'], 36))}/?context=3"

    @staticmethod
    def short(post):
        return f"https://redd.it/{post['id']}"

    def share(self, post, to_comment=False):
        """Its address says nothing of where it leads."""
        name = f'Sh4re{len(self.shares):05}'
        self.shares[name] = (self.comment if to_comment else self.page)(post)
        return f"https://www.reddit.com/r/{post['subreddit']}/s/{name}"

    def expire(self):
        self.tokens = set()

    def post(self, name):
        found = next((post for post in self.posts if post['id'] == name), None)
        if found or not self.invent:
            return found
        number = zlib.crc32(name.encode())
        post = self.add(None if number % 4 == 0 else f'https://article.example/{name}',
                        **self.made_up(number))
        post.update(id=name, name=f't3_{name}', permalink=post['permalink'].replace(
            f"/{post['id']}/", f'/{name}/'))
        return post

    @staticmethod
    def made_up(number):
        return {'title': f'What people say, number {number % 1000}', 'score': number % 4000,
                'num_comments': number % 300,
                'subreddit': ('programming', 'technology', 'linux', 'science')[number % 4]}

    def of_url(self, url):
        """Exact submissions, whatever the scheme and a last slash."""
        def plain(address):
            return re.sub(r'^https?://|/$', '', address)
        if self.invent and not any(plain(post['url']) == plain(url) for post in self.posts):
            number = zlib.crc32(plain(url).encode())
            for n in range(number % 4):
                self.add(url, **self.made_up(number // (n + 1)))
        return [post for post in self.posts
                if not post['is_self'] and plain(post['url']) == plain(url)]

    # What is said

    @staticmethod
    def with_token(call):
        """The token, or None."""
        kind, _, token = call.headers.get('authorization', '').partition(' ')
        return token if kind.lower() == 'bearer' else None

    def refusal(self, call):
        if AGENTS_OF_NOBODY.fullmatch(call.headers.get('user-agent', '')):
            return self.failed(429)
        token = self.with_token(call)
        if token is not None and token not in self.tokens:
            return self.failed(401)
        window = self.windows[token is not None]
        if call.route != 'token' and not window.take():
            return self.limited(self.failed(429), window)
        return None

    @staticmethod
    def limited(answer, window):
        if window.limit is not None:
            answer.headers += [('X-Ratelimit-Used', window.used),
                               ('X-Ratelimit-Remaining', float(window.left)),
                               ('X-Ratelimit-Reset', window.reset)]
        return answer

    def failed(self, status, retry_after=None):
        answer = super().failed(status, retry_after)
        if status == 401:
            answer.headers.append(('WWW-Authenticate',
                                   'Bearer realm="reddit", error="invalid_token"'))
        return answer

    def usual_answer(self, call):
        answer = super().usual_answer(call)
        if call.route == 'token':
            return answer
        return self.limited(answer, self.windows[self.with_token(call) is not None])

    def usual_token(self, call):
        form = dict(urllib.parse.parse_qsl(call.data.decode('latin-1')))
        kind, _, secret = call.headers.get('authorization', '').partition(' ')
        known = base64.b64encode(f'{self.client}:{self.secret}'.encode()).decode()
        if not self.client or kind.lower() != 'basic' or secret != known:
            return self.failed(401)
        if form.get('grant_type') != 'client_credentials':
            return Answer(200, {'error': 'unsupported_grant_type'})
        self.given += 1
        token = f'token-{self.given}-' + 'x' * 40
        self.tokens = self.tokens | {token}
        return Answer(200, {'access_token': token, 'token_type': 'bearer',
                            'expires_in': TOKEN_SECONDS, 'scope': '*'})

    def usual_info(self, call):
        found = self.of_url(call.query['url']) if call.query.get('url') else []
        return Answer(200, written(call, listing([post.shown() for post in found[:25]])))

    def usual_comments(self, call):
        post = self.post(call.found['id'])
        if not post:
            return self.failed(404)
        return Answer(200, written(call, [listing([post.shown()]), listing(post.comments())]))

    def usual_page(self, call):
        post = self.post(call.found['id'])
        return self.in_html(200, post['title']) if post else self.failed(404)

    def usual_share(self, call):
        target = self.shares.get(call.found['share'])
        if not target:
            return self.in_html(404, 'page not found')
        return self.moved(f'{target}?share_id=made-up&utm_medium=web&utm_source=share')

    def usual_short(self, call):
        return self.moved(f"https://www.reddit.com/comments/{call.found['id']}")

    @staticmethod
    def moved(target, status=301):
        return Answer(status, f'<a href="{target}">Moved</a>.\n'.encode(),
                      [('Location', target)], 'text/html; charset=utf-8')

    @staticmethod
    def in_html(status, words):
        return Answer(status, f'<html><body>{words}</body></html>'.encode(), (),
                      'text/html; charset=utf-8')

    def be_blocked(self, *_):
        return Answer(403, BLOCK_PAGE, kind='text/html')

    def be_private(self, mode, _):
        return Answer(403, dict(self.error(403), reason=mode.name))

    def be_quarantined(self, *_):
        return Answer(403, dict(self.error(403), reason='quarantined', quarantine_message='Oh.'))

    def be_expired(self, *_):
        self.expire()
        return self.failed(401)

    def be_empty(self, *_):
        return Answer(200, listing([]))

    def be_later(self, *_):
        return self.moved('https://www.reddit.com/login/', 302)


if __name__ == '__main__':
    Reddit.main([('client', 'the id of the client that gets tokens'), ('secret', 'of that client')],
                invent=True)
