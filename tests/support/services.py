"""All services behind links at once, and the environment by which a program finds them.

    services = Services()
    start('enrich', env=services.env())
    services.reddit, services.hn, services.ai, services.site     # each with all that it can do
    services.asked() == 0

As a process it makes up whatever it is asked for, and says where in lines for a shell; the last one
is a comment:

    python3 tests/support/services.py >FILE &
    until grep -q '^# ready' FILE; do sleep 0.1; done
    . FILE
"""

import shlex

from anthropic import Anthropic
from article import NAME, Article
from hn_search import HnSearch
from reddit import Reddit

CLIENT, SECRET, KEY = 'a-client-of-the-tests', 'a-secret-of-the-tests', 'a-key-of-the-tests'


class Services:
    """`oauth` and `key` say whether a program is told of credentials for Reddit and Anthropic;
    `invent` whether there is something to be found without having been added."""

    def __init__(self, oauth=True, key=True, invent=False):
        self.oauth, self.key = oauth, key
        self.reddit = Reddit(client=CLIENT, secret=SECRET, invent=invent)
        self.hn = HnSearch(invent=invent)
        self.ai = Anthropic(key=KEY)
        self.site = Article(invent=invent)
        self.all = {'reddit': self.reddit, 'hn': self.hn, 'anthropic': self.ai,
                    'article': self.site}

    def close(self):
        for service in self.all.values():
            service.close()

    def env(self, **changes):
        """None takes a variable out."""
        return dict({
            'TAIN_REDDIT_URL': self.reddit.url, 'TAIN_HN_SEARCH_URL': self.hn.url,
            'TAIN_ANTHROPIC_URL': self.ai.url, 'TAIN_FETCH_ALLOW': self.site.allow,
            'TAIN_REDDIT_CLIENT_ID': CLIENT if self.oauth else None,
            'TAIN_REDDIT_CLIENT_SECRET': SECRET if self.oauth else None,
            'ANTHROPIC_API_KEY': KEY if self.key else None}, **changes)

    def article(self, shape='plain'):
        """The URL of an article that may be fetched, though it is on this machine."""
        return self.site.at(shape, host=NAME)

    def discussed(self, url, reddit=1, hn=1):
        """So many discussions of it: (posts, ids of stories)."""
        return ([self.reddit.add(url, title=f'Post {n} of {url}', subreddit=f'sub{n}',
                                 score=10 + n, num_comments=n) for n in range(reddit)],
                [self.hn.add(url, title=f'Story {n} of {url}', points=20 + n, comments=n)
                 for n in range(hn)])

    def unlimited(self):
        """They take whatever comes; what a caller's own limits do is another matter."""
        self.reddit.limits(None, None)
        self.hn.limits(None)
        self.ai.limits(None)

    def counts(self):
        """{service: {route: calls}}"""
        return {name: service.counts() for name, service in self.all.items()}

    def asked(self):
        """Calls to all of them together; a connection without a call is one, too."""
        return sum(max(service.connections, len(service.calls)) for service in self.all.values())

    def forget(self):
        for service in self.all.values():
            service.forget()


def main():
    services = Services(invent=True)
    for name, value in services.env(DEMO_ARTICLE=services.article()).items():
        print(f'export {name}={shlex.quote(value)}')
    print('# ready', flush=True)
    services.site.thread.join()


if __name__ == '__main__':
    main()
