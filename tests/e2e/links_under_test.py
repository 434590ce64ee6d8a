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
from hostile import write_lines
from serve import Page, Server
from services import Services
from updater import QUICK, UpdaterTest

TASKS = ('reddit', 'hn', 'summary', 'reverse_lookup')
FINAL = ('completed', 'not_found', 'failed', 'skipped')


class Links(Services):
    """What Services can do, an archive, and programs."""

    def __init__(self, test, archive, **options):
        super().__init__(**options)
        test.addCleanup(self.close)
        self.test, self.archive, self.server = test, archive, None
        migrated = test.run_tain('migrate', '--db', archive.uri)
        test.assertEqual(migrated.code, EXIT_DONE, migrated)

    # Programs

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


class LinksTest(UpdaterTest):
    """With OnSqlite or OnPostgres. Options are those of Services: oauth=False, key=False."""

    def links(self, archive=None, **options):
        return Links(self, archive or self.archive(), **options)
