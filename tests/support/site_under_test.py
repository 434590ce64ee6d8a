"""An archive with something in it, and `tain serve` in front of it, for tests of pages."""

import http.client
import pathlib
import shutil
import sys
import tempfile
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'e2e'))
import hostile  # noqa: E402
from lib import (ANSWER, BUILD, EXIT_DONE, EXIT_UNRESOLVED, QUICK, Demo, Run, Sqlite,  # noqa: E402
                 free_port, wait_until)

GENERATED = 1600  # ids of the generated corpus
HOSTILE = 5000    # the first id of what is hostile
CHANGED = 12      # comments with an earlier version
LONG = 10000      # a story with LONG_N comments
LONG_N = 3000
CODE = 20000      # a story whose text holds a long line of code
STATES = ('pending', 'completed', 'not_found', 'failed', 'skipped')  # of tasks of links
WIDE = 21000      # a story and its answers below each other, all of words that never end


def long_thread():
    """A story with many comments: a few wide levels, in a ranked order that is not that of ids."""
    kids = {}
    for n in range(1, LONG_N + 1):
        parent = LONG if n <= 150 else LONG + n % 150 + (n % 7) * 150 * (n > 1300)
        kids.setdefault(min(parent, LONG + n - 1), []).append(LONG + n)
    parents = {kid: parent for parent, all_of in kids.items() for kid in all_of}
    story = {'id': LONG, 'type': 'story', 'by': 'someone', 'title': 'A long thread', 'score': 900,
             'time': hostile.TIME, 'descendants': LONG_N, 'kids': kids[LONG][::-1]}
    return [story] + [
        {'id': i, 'type': 'comment', 'by': f'person{i % 97}', 'parent': parents[i],
         'time': hostile.TIME + i, 'kids': kids.get(i, [])[::-1],
         'text': f'Comment {i} says <i>something</i> of some length.<p>' + 'And more of it. ' * 20}
        for i in range(LONG + 1, LONG + LONG_N + 1)]


def code_story():
    return [{'id': CODE, 'type': 'story', 'by': 'someone', 'title': 'Ask HN: how wide is too wide?',
             'time': hostile.TIME, 'score': 7, 'descendants': 0,
             'text': 'Like this:<p><pre><code>  ' + 'wide = wide + 1; ' * 30 + '\n</code></pre>'
                     f'<p>As in <a href="https:&#x2F;&#x2F;news.ycombinator.com&#x2F;item?id={LONG}'
                     f'#{LONG + 1}" rel="nofollow">https:&#x2F;&#x2F;news.ycombinato...</a> by '
                     '<a href="http://news.ycombinator.com/user?id=someone">someone</a>.'}]


def wide_story():
    """Names, titles, addresses and words without a place to break them."""
    word, name = 'W' * 300, 'N' * 60
    answers = [{'id': WIDE + n, 'type': 'comment', 'by': name, 'parent': WIDE + n - 1,
                'time': hostile.TIME + n, 'kids': [WIDE + n + 1] if n < 14 else [],
                'text': f'{word} <a href="https://e.example/{word}">{word}</a><p>'
                        f'<pre><code>{word}</code></pre>'} for n in range(1, 15)]
    return [{'id': WIDE, 'type': 'story', 'by': name, 'title': word, 'time': hostile.TIME,
             'url': f'https://{"d" * 60}.example/{word}', 'text': word, 'score': 3,
             'descendants': 14, 'kids': [WIDE + 1]}] + answers


class Site:
    """Made once for many tests; close() ends it."""

    def __init__(self, archive=None, generated=GENERATED, with_long=True):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='tain-site-'))
        self.demo = self.server = None
        try:
            self._make(archive, generated, with_long)
        except BaseException:
            self.close()
            raise

    def _make(self, archive, generated, with_long):
        self.archive = archive or Sqlite(self.folder / 'tain.db')
        self.uri = self.archive.uri
        self.demo = Demo(maxitem=generated)
        self._catchup()
        self.changed = self._change(CHANGED)
        self._catchup('--force-replay-window', '--start-id', 1)
        self.hostile = hostile.items(HOSTILE)
        self._import('hostile', self.hostile)
        if with_long:
            self._import('long', long_thread() + code_story() + wide_story())
        self._profile('someone', '<p>'.join(hostile.VECTORS), [i['id'] for i in self.hostile
                                                               if i['by'] == 'someone'])
        self._profile('nobody', 'about nothing', [], gone='TRUE')
        self.links = self._links()
        self.port = free_port()
        self.base = f'http://127.0.0.1:{self.port}'
        self.server = Run(['serve', '--db', self.uri, '--listen', f'127.0.0.1:{self.port}'],
                          cwd=self.folder)
        wait_until(self._answers, what='an answer of the server')
        wait_until(lambda: not self.archive.rows('SELECT 1 FROM index_work LIMIT 1'), 120,
                   'an index of everything', every=0.1)

    def _profile(self, name, about, submitted, gone='FALSE'):
        """As the updater would have stored it."""
        ids = ','.join(map(str, sorted(submitted, reverse=True)))
        about = about.replace('\0', '\ufffd').replace("'", "''")
        array = f"'[{ids}]'" if isinstance(self.archive, Sqlite) else f"'{{{ids}}}'"
        self.archive.execute(
            'INSERT INTO users (id, created, karma, about, submitted, gone, content_hash, '
            'first_seen_at, last_fetched_at, last_changed_at) VALUES '
            f"('{name}', {hostile.TIME}, 1234, '{about}', {array}, {gone}, 1, 1, 1, 1)")

    def _insert(self, table, **values):
        """Text as the archive stores it, without NULs."""
        def literal(value):
            if isinstance(value, str):
                return "'" + value.replace('\0', '\ufffd').replace("'", "''") + "'"
            return 'NULL' if value is None else str(value)
        self.archive.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES "
                             f"({', '.join(map(literal, values.values()))})")

    def _links(self):
        """Links with hostile words in every field, in every state, some of them of hostile stories:
        their ids."""
        keys = self.archive.rows('SELECT DISTINCT url, url_key FROM items WHERE url_key IS NOT '
                                 f'NULL AND id BETWEEN {HOSTILE} AND {LONG - 1} ORDER BY 2')
        taken, ids = set(), []
        for n, vector in enumerate(hostile.VECTORS):
            url, key = keys[n] if n < len(keys) else (f'https://e.example/{n}/{vector}', f'k{n}')
            if key in taken:
                continue
            taken.add(key)
            link = len(ids) + 1
            status = STATES[n % len(STATES)]
            self._insert('links', id=link, url=url, url_key=key, title=vector if n % 4 else None,
                         description=vector, summary=vector if n % 3 else None, source='agent',
                         submitted_by=vector)
            self._insert('link_processing', link_id=link, reddit_status=status, hn_status=status,
                         summary_status='failed' if status == 'not_found' else status,
                         reddit_error=vector[:500], hn_error=vector[:500],
                         summary_error=vector[:500])
            for platform in ('reddit', 'hackernews'):
                self._insert('external_discussions', link_id=link, platform=platform,
                             external_id=vector, title=vector, subreddit=vector, score=n,
                             external_url=hostile.ADDRESSES[n % len(hostile.ADDRESSES)],
                             num_comments=n, external_created_at=hostile.TIME * 1000)
            ids.append(link)
        return ids

    def _catchup(self, *arguments):
        self._run('catchup', '--db', self.uri, '--upstream', self.demo.url, *QUICK, *arguments)

    def _change(self, n):
        """Edits and removes some comments upstream: {id: the words it had}."""
        found = self.archive.rows("SELECT id, text FROM items WHERE type = 'comment' AND NOT dead "
                                  f'AND NOT deleted AND text IS NOT NULL ORDER BY id LIMIT {n}')
        for number, (item, _) in enumerate(found):
            self.demo.mutate(item, ('edit', 'delete', 'dead')[number % 3])
        return dict(found)

    def _run(self, *arguments):
        run = Run(arguments, cwd=self.folder)
        result = run.wait()
        run.close()
        if result.code not in (EXIT_DONE, EXIT_UNRESOLVED):  # young nulls wait
            raise AssertionError(f'tain {arguments[0]}: {result}')

    def _import(self, name, items):
        path = self.folder / f'{name}.ndjson'
        hostile.write_lines(path, items)
        self._run('import', path, '--db', self.uri, '--json', '--progress', 'none')

    def _answers(self):
        if not self.server.running():
            raise AssertionError(f'the server ended: {self.server.wait()}')
        try:
            return self.get('/healthz')[0] == 200
        except OSError:
            return False

    def get(self, path, headers=None):
        """(status, headers, body) of one request on a connection of its own."""
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=ANSWER)
        try:
            connection.request('GET', path, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def close(self):
        if self.server:
            self.server.close()
        if self.demo:
            self.demo.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def internal(link):
    """The path and query of a link within the site, None for any other."""
    parts = urllib.parse.urlsplit(link)
    if parts.scheme or parts.netloc or not parts.path.startswith('/'):
        return None
    return parts.path + ('?' + parts.query if parts.query else '')
