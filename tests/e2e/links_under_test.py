"""Links from end to end: an archive, a stand-in for every service behind links, and the programs
that work on them. A test is short with it:

    class Lookup(LinksTest):
        def test_discussions(self):
            links = self.links()                           # nothing runs yet
            url = links.article('plain')
            links.discussed(url, reddit=2, hn=1)
            server = links.serve()                         # pages, no workers
            link = links.add(url)
            self.assertEqual(links.asked(), 0)
            links.enrich()                                 # as many workers as wanted
            links.wait(link, reddit='completed', hn='completed', summary='completed')
            self.assertEqual(len(links.discussions(link)), 3)

    class OnOne(Lookup, OnSqlite, LinksTest): ...
    class OnTheOther(Lookup, OnPostgres, LinksTest): ...

`links.reddit`, `.hn`, `.ai` and `.site` are the stand-ins (tests/support), with all that can be
done to them: links.reddit.become('busy', retry_after=3), links.ai.counts(), links.hn.ahead(30).
"""

import re

from lib import EXIT_DONE, LEAST, wait_until
from anthropic import Anthropic
from article import NAME, Article
from hn_search import HnSearch
from hostile import write_lines
from reddit import Reddit
from serve import Page, Server
from updater import QUICK, UpdaterTest

CLIENT, SECRET, KEY = 'a-client-of-the-tests', 'a-secret-of-the-tests', 'a-key-of-the-tests'
TASKS = ('reddit', 'hn', 'summary', 'reverse_lookup')
FINAL = ('completed', 'not_found', 'failed', 'skipped')


class Links:
    """`oauth` and `key` say whether there are credentials for Reddit and Anthropic."""

    def __init__(self, test, archive, oauth=True, key=True):
        self.test, self.archive, self.server = test, archive, None
        self.reddit = self._keep(Reddit(client=CLIENT, secret=SECRET))
        self.hn = self._keep(HnSearch())
        self.ai = self._keep(Anthropic(key=KEY))
        self.site = self._keep(Article())
        self.oauth, self.key = oauth, key
        migrated = test.run_tain('migrate', '--db', archive.uri)
        test.assertEqual(migrated.code, EXIT_DONE, migrated)

    def _keep(self, service):
        self.test.addCleanup(service.close)
        return service

    # Programs

    @property
    def services(self):
        return {'reddit': self.reddit, 'hn': self.hn, 'anthropic': self.ai, 'article': self.site}

    def env(self, **changes):
        """Of every program; None takes a variable out."""
        return dict({
            'TAIN_REDDIT_URL': self.reddit.url, 'TAIN_HN_SEARCH_URL': self.hn.url,
            'TAIN_ANTHROPIC_URL': self.ai.url, 'TAIN_FETCH_ALLOW': self.site.allow,
            'TAIN_REDDIT_CLIENT_ID': CLIENT if self.oauth else None,
            'TAIN_REDDIT_CLIENT_SECRET': SECRET if self.oauth else None,
            'ANTHROPIC_API_KEY': KEY if self.key else None}, **changes)

    def enrich(self, *arguments, **changes):
        """A worker; `changes` are of its environment."""
        return self.test.start('enrich', '--db', self.archive.uri, '--metrics-bind', '127.0.0.1:0',
                               '--log-level', 'debug', *arguments, env=self.env(**changes))

    def serve(self, *arguments, **changes):
        """Pages without workers. The latest one is asked by what follows."""
        self.server = Server(self.test, self.archive, *arguments, env=self.env(**changes))
        return self.server

    def up(self, upstream, *arguments, **changes):
        """All in one process, with a mirror of `upstream`."""
        run = self.test.start('up', '--db', self.archive.uri, '--upstream', upstream.url,
                              '--start-id', upstream.first, '--listen', '127.0.0.1:0', *QUICK,
                              *arguments, env=self.env(**changes))
        self.server = Page(self.test, run)
        return self.server

    def stop(self, program):
        """As systemd would; a worker or a server."""
        run = getattr(program, 'run', program)
        run.signal(15)
        result = run.wait()
        self.test.assertEqual(result.code, EXIT_DONE, result)
        return result

    # What there is

    def article(self, shape='plain'):
        """The URL of an article that may be fetched, though it is on this machine."""
        return self.site.at(shape, host=NAME)

    def discussed(self, url, reddit=1, hn=1):
        """So many discussions of it: (posts, ids of stories)."""
        return ([self.reddit.add(url, title=f'Post {n} of {url}', subreddit=f'sub{n}',
                                 score=10 + n, num_comments=n) for n in range(reddit)],
                [self.hn.add(url, title=f'Story {n} of {url}', points=20 + n, comments=n)
                 for n in range(hn)])

    def mirror(self, *items):
        """Puts items into the archive, as if they had been fetched."""
        path = self.test.folder / f'items{len(list(self.test.folder.glob("items*")))}.ndjson'
        write_lines(path, [dict({'type': 'story', 'by': 'someone', 'time': 1700000000, 'score': 1,
                                 'title': 'A story', 'descendants': 0}, **item) for item in items])
        done = self.test.run_tain('import', path, '--db', self.archive.uri, '--progress', 'none')
        self.test.assertEqual(done.code, EXIT_DONE, done)

    # Pages and APIs, of the latest server

    def add(self, url):
        """Adds a link by the page: its id."""
        answer = self.server.post('/add', {'url': url})
        found = re.search(r'/link/(\d+)', answer.headers.get('Location') or '')
        self.test.assertTrue(answer.status == 303 and found, f'{answer.status} {answer.text}')
        return int(found.group(1))

    def processing(self, link):
        return self.server.ask(f'/api/link/{link}/processing')

    def retry(self, link, **form):
        return self.server.post(f'/api/link/{link}/retry', form)

    # Rows

    def row(self, table, link, column, *wanted):
        """{column: value} of one row; None: there is none."""
        rows = self.archive.rows(f"SELECT {', '.join(wanted)} FROM {table} WHERE {column} = {link}")
        return dict(zip(wanted, rows[0])) if rows else None

    def link(self, link):
        return self.row('links', link, 'id', 'url', 'url_key', 'title', 'summary', 'source',
                        'submitted_by', 'parent_link_id')

    def tasks(self, link):
        """{task: status}; None: there is no such row."""
        found = self.row('link_processing', link, 'link_id', *(f'{task}_status' for task in TASKS))
        return found and {name.removesuffix('_status'): status for name, status in found.items()}

    def errors(self, link):
        return self.row('link_processing', link, 'link_id', *(f'{task}_error' for task in TASKS))

    def target(self, link):
        """The article behind a discussion: the id of its link, or None."""
        found = self.row('link_processing', link, 'link_id', 'reverse_lookup_target_id')
        return found and found['reverse_lookup_target_id']

    def discussions(self, link):
        """[(platform, external id, score, comments)]"""
        return self.archive.rows('SELECT platform, external_id, score, num_comments FROM '
                                 f'external_discussions WHERE link_id = {link} ORDER BY 1, 2')

    def wait(self, link, seconds=LEAST, **statuses):
        """Until the tasks stand so; a status may be several. Without any: until all are final.
        Answers how all of them stand."""
        wanted = {task: (status,) if isinstance(status, str) else status
                  for task, status in statuses.items()}

        def there():
            found = self.tasks(link)
            wrong = found and [task for task in wanted or found
                               if found[task] not in wanted.get(task, (*FINAL, None))]
            return found if wrong == [] else None
        try:
            return wait_until(there, seconds, f'{statuses or "an end"} of link {link}', every=0.05)
        except AssertionError as late:
            raise AssertionError(f'{late}: {self.tasks(link)}, {self.errors(link)}, '
                                 f'{self.counts()}') from None

    # What was asked

    def counts(self):
        """{service: {route: calls}}"""
        return {name: service.counts() for name, service in self.services.items()}

    def asked(self):
        """Connections to all services together: not even one without a call goes unseen."""
        return sum(service.connections for service in self.services.values())

    def forget(self):
        for service in self.services.values():
            service.forget()

    def unlimited(self):
        """The services take whatever comes; what a caller's own limits do is another matter."""
        self.reddit.limits(None, None)
        self.hn.limits(None)
        self.ai.limits(None)


class LinksTest(UpdaterTest):
    """With OnSqlite or OnPostgres."""

    def links(self, archive=None, **options):
        return Links(self, archive or self.archive(), **options)
