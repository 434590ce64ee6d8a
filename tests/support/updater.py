"""What the suites of `tain updater` share: an upstream with all its controls, an updater with its
metrics at hand, and the comparison with the upstream's truth, item by item, as it is now.

Two kinds of upstream. The usual one has ids from 1 on, whose times lie years back: no replay or
rescan reaches them, so that only the stream, or what was written down, can have repaired something.
A recent one ends with about this very minute, and windows of a few hours hold what they should.
"""

import http.client
import json
import re
import sqlite3
import threading
import time
import urllib.request

from lib import (ANSWER, COLUMNS, E2E, LEAST, Demo, normalised, patient, wait_until,
                 with_stories)

FIRST_TIME, SECONDS_PER_ID = 1160418111, 7  # of the made-up site
ROOM = 600  # ids that a recent upstream may still grow by without reaching the future

# Short waits; what a test is about it sets itself, since the last of two options counts.
QUICK = ['--rps', '0', '--retry-initial-ms', '20', '--retry-max-ms', '200', '--retry-jitter-ms',
         '20', '--catchup-interval', '1s', '--lists-interval', '1s', '--stream-timeout', '60s',
         '--persist-interval', '1s', '--segment-width', '250', '--metrics-bind', '127.0.0.1:0']


def id_at(seconds):
    """The id that the made-up site gives out at that time."""
    return int(seconds - FIRST_TIME) // SECONDS_PER_ID


class Upstream(Demo):
    """The stand-in, and what can be done to its stream."""

    def __init__(self, *faults, ids=1500, recent=False, room=ROOM, **options):
        last = id_at(time.time()) - room if recent else ids
        self.first = last - ids + 1
        super().__init__(*faults, maxitem=last, **options)

    def post(self, path, **arguments):
        query = '&'.join(f'{name}={value}' for name, value in arguments.items())
        return self.ask('POST', f'/demo/{path}?{query}')

    def change(self, lo, hi, quiet=False, how='any'):
        """Changes a range; quietly: no stream and no poll ever names it."""
        return self.post('mutate-range', lo=lo, hi=hi, how=how, quiet=int(quiet))

    def stream(self, what):
        return self.post('stream', do=what)

    def down(self, value):
        self.post('down', value=int(value))

    def grow_by(self, n, quiet=False):
        self.maxitem += n
        self.post('maxitem', value=self.maxitem, quiet=int(quiet))

    def hits(self, item):
        return self.ask('GET', f'/demo/hits?id={item}')['hits']

    def now(self, lo, hi):
        """{id: item or None}, past all faults."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=ANSWER)
        try:
            connection.request('GET', f'/demo/truth?lo={lo}&hi={hi}')
            text = connection.getresponse().read().decode('utf-8')
        finally:
            connection.close()
        lines = text.splitlines()
        assert len(lines) == hi - lo + 1, f'{len(lines)} lines for {lo} to {hi}'
        return {lo + n: normalised(json.loads(line)) for n, line in enumerate(lines)}


class Pulse(threading.Thread):
    """The made-up stream says something all the time, as the real one does."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.request = urllib.request.Request(url.removesuffix('/v0') +
                                              '/demo/stream?do=keep-alive', method='POST')
        self.over = threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(0.3):
            try:
                urllib.request.urlopen(self.request, timeout=ANSWER).close()
            except OSError:
                pass

    def stop(self):
        self.over.set()
        self.join()


def differences(archive, upstream):
    """Where the archive differs from the upstream as it is now, in words; empty when nowhere. What
    lies below the archive's first id is there only because something above names it."""
    found, known = archive.items(), upstream.now(upstream.first, upstream.maxitem)
    for item in found:
        if item not in known:
            known.update(upstream.now(item, item))
    expected, wrong = with_stories(known), []
    kids = {}
    for item, kid in archive.rows('SELECT item, kid FROM kids ORDER BY item, display_order'):
        kids.setdefault(item, []).append(kid)
    for item in sorted(set(expected) | set(found)):
        if item not in found or item not in expected:
            wrong.append(f'{item} is ' + ('not stored' if item in expected else 'too many'))
            continue
        wrong += [f'{item}, {name}: {found[item][name]!r:.90} is not {expected[item][name]!r:.90}'
                  for name in COLUMNS if found[item][name] != expected[item][name]]
        if kids.get(item, []) != expected[item]['kids']:
            wrong.append(f"{item}, kids: {kids.get(item, [])} is not {expected[item]['kids']}")
    return wrong


def metrics_of(run):
    """{name with labels: value}; None while there is no such page."""
    port = re.search(r'msg="?metrics"? .*port=(\d+)', run.so_far())
    if not port:
        return None
    try:
        with urllib.request.urlopen(f'http://127.0.0.1:{port.group(1)}/metrics',
                                    timeout=ANSWER) as page:
            lines = page.read().decode().splitlines()
    except (OSError, http.client.HTTPException):  # cut off in the midst of it
        return None
    return {name: float(value) for name, value in
            (line.rsplit(' ', 1) for line in lines if line and not line.startswith('#'))}


def metric(run, name):
    return (metrics_of(run) or {}).get('tain_' + name, 0)


class UpdaterTest(E2E):
    def upstream(self, *faults, **options):
        upstream = Upstream(*faults, **options)
        self.addCleanup(upstream.stop)
        return upstream

    def start_updater(self, archive, upstream, *arguments, env=None, url=None):
        return self.start('updater', '--db', archive.uri, '--upstream', url or upstream.url,
                          '--start-id', upstream.first, *QUICK, *arguments, env=env)

    def follow(self, archive, upstream, *arguments, **options):
        """An updater that has caught up and reads the stream."""
        run = self.start_updater(archive, upstream, *arguments, **options)
        self.converge(run, archive, upstream)
        self.wait_metric(run, 'realtime_listener_connected', 1)
        return run

    def say(self, run, pattern, seconds=LEAST):
        """Waits until the log says it."""
        def look():
            text = run.so_far()
            found = re.search(pattern, text)
            if not found and not run.running():
                raise AssertionError(f'it ended before it said {pattern!r}\n{text}')
            return found
        return wait_until(look, seconds, f'a log line like {pattern!r}')

    def wait_metric(self, run, name, least, seconds=LEAST):
        try:
            return wait_until(lambda: metric(run, name) >= least, seconds, f'{name} >= {least}')
        except AssertionError as late:
            raise AssertionError(f'{late}: {metrics_of(run)}\n{run.so_far()}') from None

    def stop_updater(self, run, code=0, seconds=LEAST):
        run.signal(15)
        result = run.wait(seconds)
        self.assertEqual(result.code, code, result)
        return result

    def converge(self, run, archive, upstream, seconds=LEAST):
        """Polls until the archive equals the upstream's truth."""
        seconds, began = patient(seconds), time.monotonic()
        wrong = True
        while wrong:
            late = time.monotonic() - began > seconds
            try:
                wrong = differences(archive, upstream)
            except (sqlite3.OperationalError, RuntimeError) as why:
                wrong = [f'the database does not answer: {why}']
            if wrong and (late or not run.running()):
                self.fail(f"{'not within ' + str(seconds) + ' s' if late else 'it ended'}: "
                          f'{len(wrong)} differences, {wrong[:5]}\n{run.so_far()[-6000:]}')
            if wrong:
                time.sleep(0.05)

    def show_time(self, what, seconds):
        """One line per scenario; the runner shows these."""
        print(f'\n  {type(self).__name__}: {what}: equal to the truth after {seconds:.2f} s',
              flush=True)

    def settle(self, what, run, archive, upstream, since=None, seconds=LEAST):
        """Converges and tells how long it took, from `since` on."""
        since = since or time.monotonic()
        self.converge(run, archive, upstream, seconds)
        self.show_time(what, time.monotonic() - since)
