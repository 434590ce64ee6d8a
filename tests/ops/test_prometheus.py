"""A real Prometheus scrapes a server, two updaters, one active and one standing by, and a worker of
enrichment, with the rules that are shipped but in a hurry: seconds for minutes. Faults make the
alerts fire, their end clears them."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / 'tests' / 'e2e'), str(ROOT / 'tools')]
from lib import (ANSWER, BUILD, Demo, PostgresArchive, Run, Sqlite, environment,  # noqa: E402
                 find_bin, free_port, shared_postgres, wait_until)
from lookup import Lookup  # noqa: E402
from services import Services  # noqa: E402
from updater import ROOM, Pulse, id_at  # noqa: E402
import alert_rules  # noqa: E402

MAXITEM = 4000
EVERY = '1s'  # scrapes and evaluations
# For how long, and what in the expression becomes what.
HURRY = {
    'TainListenerDown': ('2s',),
    'TainStreamSilent': ('0s', ('> 300', '> 4')),
    'TainNoWorker': ('2s',),
    'TainRestarting': ('0s', ('[15m]', '[30s]'), ('> 3', '> 1')),
    'TainNoActiveUpdater': ('6s',),
    'TainTargetDown': ('2s',),
    'TainDeadLetters': ('1s',),
    'TainRealtimeDeadLetters': ('1s',),
    'TainFrontierLag': ('1s', ('> 50000', '> 500')),
    'TainQueueDeep': ('1s',),
    'TainReconnects': ('1s', ('[1h]', '[20s]'), ('> 6', '> 2')),
    'TainRescanOverdue': ('1s', ('> 43200', '> 10')),
    'TainFeedBehind': ('1s',),
    'TainFeedDown': ('1s', ('> 30', '> 5')),
    'TainFeedDeaf': ('10s',),
    'TainFeedSlowClients': ('1s', ('[15m]', '[20s]'), ('> 10', '> 1')),
    'TainFeedFailures': ('10s',),
    'TainFeedNotPruned': ('1s',),
    'TainEnrichNobody': ('2s',),
    'TainEnrichRefused': ('1s',),
    'TainEnrichPaused': ('1s',),
    'TainEnrichIll': ('1s',),
    'TainEnrichStuck': ('60s',),
    'TainEnrichFailures': ('1s', ('[1h]', '[20s]')),
    'TainEnrichSwept': ('1s',),
    'TainEnrichWaits': ('3s',),
    'TainLinksOld': ('1s', ('> 21600', '> 20')),
    'TainLinksFailing': ('1s', ('[1h]', '[20s]'), ('> 10', '> 1')),
    'TainLinksBudgetSpent': ('1s',),
    'TainLinksUpkeep': ('1s', ('[1h]', '[20s]')),
}
# Figures of the change feed that there are on PostgreSQL only.
ONLY_POSTGRES = 'tain_feed_(lag_seconds|listen_up|failures_waiting)'
UPDATER = ['--rps', '0', '--retry-attempts', '2', '--retry-initial-ms', '20', '--retry-max-ms',
           '200', '--retry-jitter-ms', '20', '--catchup-interval', '1s', '--updater-lease', '60s',
           '--rescan-interval', '2s', '--log-level', 'warn']


# One lane, one table; every row is asked for by its name.
PLAN = """
provider lookup {{ url = "{url}" rate = "6000/min" slots = 2 }}
source records {{
    provider = lookup
    table = main.records key = id status = state since = since
    request {{
        method = POST
        path = "/api/v1/lookup"
        body = '{{"artist": "{{name}}", "song": "", "album": "", "raw_message": ""}}'
    }}
    match = "results[0]"
    map found {{ from = "results[0].artwork.artist_bio" }}
    max_attempts = 9
}}
"""


def ask(url):
    """The JSON or text of an answer; None when nobody answers yet."""
    try:
        with urllib.request.urlopen(url, timeout=ANSWER) as answer:
            return answer.read().decode('utf-8')
    except urllib.error.HTTPError as error:
        return error.read().decode('utf-8')
    except OSError:
        return None


def hurried():
    """The rules as JSON, which is YAML."""
    found = []
    for name, rule in alert_rules.rules().items():
        wait, *changes = HURRY[name]
        expr = rule['expr']
        for old, new in changes:
            assert old in expr, f'{name}: no {old} in {expr}'
            expr = expr.replace(old, new)
        found.append(dict(rule, expr=expr, **{'for': wait}))
    return json.dumps({'groups': [{'name': 'hurried', 'rules': found}]})


class Prometheus:
    def __init__(self, folder, updaters, server, worker):
        self.folder, self.url = folder, f'http://127.0.0.1:{free_port()}'
        self.hurried = folder / 'hurried.yml'
        self.hurried.write_text(hurried(), 'utf-8')
        (folder / 'prometheus.yml').write_text(json.dumps({
            'global': {'scrape_interval': EVERY, 'scrape_timeout': EVERY,
                       'evaluation_interval': EVERY},
            'rule_files': [str(self.hurried), str(alert_rules.RULES)],
            'scrape_configs': [{'job_name': job, 'static_configs': [{'targets': targets}]}
                               for job, targets in (('tain-updater', updaters),
                                                    ('tain-serve', [server]),
                                                    ('tain-enrich', [worker]))]}), 'utf-8')
        self.log = open(folder / 'prometheus.log', 'wb')
        self.process = subprocess.Popen(
            ['prometheus', f'--config.file={folder}/prometheus.yml', '--log.level=warn',
             f'--storage.tsdb.path={folder}/data', f'--web.listen-address={self.url[7:]}'],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=environment())

    def wait_ready(self):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError((self.folder / 'prometheus.log').read_text('utf-8', 'replace'))
            return 'is Ready' in (ask(self.url + '/-/ready') or '')
        wait_until(ready, 60, 'Prometheus', every=0.05)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def get(self, path, **query):
        text = ask(f'{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}')
        answer = json.loads(text or '{"status": "no answer"}')
        if answer['status'] != 'success':
            raise AssertionError(f'{path} {query}: {answer}')
        return answer['data']

    def rules(self, path):
        return [rule for group in self.get('rules', type='alert')['groups']
                if group['file'] == str(path) for rule in group['rules']]

    def firing(self):
        """{(alert, instance): annotations}"""
        return {(rule['name'], a['labels'].get('instance')): a['annotations']
                for rule in self.rules(self.hurried) for a in rule['alerts']
                if a['state'] == 'firing'}


class Worker:
    """`tain enrich` on a table and on links of its own archive, and the services it asks."""

    def __init__(self, folder):
        self.archive, self.address, self.run = (Sqlite(folder / 'records.db'),
                                                f'127.0.0.1:{free_port()}', None)
        self.tain('migrate')
        self.archive.execute('CREATE TABLE records (id INTEGER PRIMARY KEY, name VARCHAR(99), '
                             "state VARCHAR(20) NOT NULL DEFAULT 'pending', since BIGINT, "
                             'found TEXT)')
        self.tain('cdc', 'install', '--table', 'records')
        self.lookup, self.plan = Lookup(), folder / 'records.conf'
        self.plan.write_text(PLAN.format(url=self.lookup.url), 'utf-8')
        self.services = Services()
        self.services.unlimited()
        self.start()

    def tain(self, *words):
        run = Run([*words, '--db', self.archive.uri])
        try:
            result = run.wait()
        finally:
            run.close()
        if result.code:
            raise AssertionError(result)

    def start(self, *arguments, **changes):
        self.run = Run(['enrich', '--db', self.archive.uri, '--sources', str(self.plan),
                        '--metrics-bind', self.address, '--log-level', 'warn', *arguments],
                       env=self.services.env(**changes))

    def start_again(self, *arguments, **changes):
        self.run.signal(15)
        self.run.wait()
        self.run.close()
        self.start(*arguments, **changes)

    def add(self, url):
        """A link, with its tasks: the upkeep would come to it within a minute only."""
        self.archive.execute('INSERT INTO links (url, url_key, source, submitted_by) VALUES '
                             f"('{url}', '{url}', 'agent', 'someone')")
        self.archive.execute('INSERT OR IGNORE INTO link_processing (link_id, submitter) '
                             f"SELECT id, 'someone' FROM links WHERE url = '{url}'")

    def pending(self, task):
        return self.archive.rows(f"SELECT COUNT(*) FROM links l LEFT JOIN link_processing p ON "
                                 f"p.link_id = l.id WHERE p.link_id IS NULL OR {task}_status = "
                                 "'pending'")[0][0]

    def insert(self, *names):
        self.archive.execute('INSERT INTO records (name) VALUES '
                             + ', '.join(f"('{name}')" for name in names))

    def count(self, state):
        return self.archive.rows(f"SELECT COUNT(*) FROM records WHERE state = '{state}'")[0][0]

    def close(self):
        self.run.close()
        self.lookup.close()
        self.services.close()


@unittest.skipUnless(shutil.which('prometheus'), 'Prometheus is not installed')
class Alerts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix='tain-prometheus-'))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.archive = Sqlite(cls.folder / 'archive.db')
        cls.demo = Demo(maxitem=MAXITEM)
        cls.addClassCleanup(cls.demo.stop)
        cls.pulse = Pulse(cls.demo.url)
        cls.addClassCleanup(cls.pulse.stop)
        cls.runs = {f'127.0.0.1:{free_port()}': None for _ in range(2)}
        cls.addClassCleanup(cls.end_all)
        cls.serve()
        cls.worker = Worker(cls.folder)
        cls.addClassCleanup(cls.worker.close)
        cls.prometheus = Prometheus(cls.folder, list(cls.runs), cls.server, cls.worker.address)
        cls.addClassCleanup(cls.prometheus.stop)
        cls.prometheus.wait_ready()

    @classmethod
    def serve(cls):
        """On PostgreSQL where there is one: SQLite has no doorbell, and nothing waits there."""
        cls.served = PostgresArchive(shared_postgres()) if find_bin() else cls.archive
        cls.server = f'127.0.0.1:{free_port()}'
        made = Run(['migrate', '--db', cls.served.uri])
        cls.addClassCleanup(made.close)
        result = made.wait()
        if result.code:
            raise AssertionError(result)
        run = Run(['serve', '--db', cls.served.uri, '--listen', cls.server, '--log-level', 'warn'])
        cls.addClassCleanup(run.close)

    @classmethod
    def end_all(cls):
        for instance in cls.runs:
            cls.end(instance)

    @classmethod
    def end(cls, instance):
        if cls.runs[instance]:
            cls.runs[instance].close()
            cls.runs[instance] = None

    @classmethod
    def begin(cls, instance, *arguments, archive=None, upstream=None, env=None):
        cls.runs[instance] = Run(['updater', '--db', (archive or cls.archive).uri, '--upstream',
                                  upstream or cls.demo.url, '--metrics-bind', instance, *UPDATER,
                                  *arguments], env=env)

    def setUp(self):
        self.addCleanup(self.demo.faults)
        for instance, run in self.runs.items():
            if not run or not run.running():
                self.end(instance)
                self.begin(instance)
        self.active = wait_until(lambda: next((i for i in self.runs if 'role="active"} 1' in
                                               self.metrics(i)), None),
                                 what='an active updater')
        self.standby, = set(self.runs) - {self.active}
        self.await_quiet()

    @classmethod
    def metrics(cls, instance):
        return ask(f'http://{instance}/metrics') or ''

    def value(self, name):
        return next(float(line.split()[1]) for line in self.metrics(self.active).splitlines()
                    if line.startswith(name + ' '))

    def firing(self):
        """Names of what fires. The standby is never heard of, unless it is gone."""
        found = self.prometheus.firing()
        for name, instance in found:
            if instance == self.standby:
                self.assertEqual(name, 'TainTargetDown')
        return {name for name, _ in found}

    def await_firing(self, *names, meanwhile=lambda: None):
        def fires():
            meanwhile()
            return set(names) <= self.firing()
        wait_until(fires, what=f'{names} firing', every=0.1)

    def await_words(self, name, instance):
        """What an alert says of that instance, when it fires for that one."""
        return wait_until(lambda: self.prometheus.firing().get((name, instance)),
                          what=f'{name} of {instance}', every=0.1)

    def await_quiet(self):
        """All are scraped, every rule was looked at, and nothing fires or is about to."""
        def quiet():
            up = self.prometheus.get('query', query='sum(up)')['result']
            return (up and up[0]['value'][1] == '4' and
                    all(r['state'] == 'inactive' and not r['lastEvaluation'].startswith('0001')
                        for r in self.prometheus.rules(self.prometheus.hurried)))
        try:
            wait_until(quiet, 240, 'quiet', every=0.1)
        except AssertionError as error:
            loud = [(r['name'], r['state']) for r in
                    self.prometheus.rules(self.prometheus.hurried) if r['state'] != 'inactive']
            raise AssertionError(f'{error}: {loud}') from None

    def test_the_reader_of_the_rules_reads_what_prometheus_reads(self):
        def bare(text):
            return ''.join(text.split())
        mine = alert_rules.rules()
        theirs = self.prometheus.rules(alert_rules.RULES)
        self.assertEqual([r['name'] for r in theirs], list(mine))
        for rule in theirs:
            my = mine[rule['name']]
            self.assertEqual(rule['health'], 'ok', rule)
            self.assertEqual(bare(rule['query']), bare(my['expr']))
            self.assertEqual(rule['labels'], my['labels'])
            self.assertEqual(rule['annotations'], my['annotations'])
            unit = {'s': 1, 'm': 60, 'h': 3600}[my['for'][-1]]
            self.assertEqual(rule['duration'], float(my['for'][:-1]) * unit)

    def test_stream_down(self):
        self.demo.faults('stream:status=503')
        self.demo.ask('POST', '/demo/stream?do=drop')
        said = self.await_words('TainListenerDown', self.active)
        self.assertIn(f'The updater at {self.active} has had no event stream', said['description'])
        self.demo.faults()
        self.await_quiet()

    def test_stream_silent(self):
        self.demo.ask('POST', '/demo/stream?do=silence')
        self.await_firing('TainStreamSilent')
        self.assertNotIn('TainListenerDown', self.firing(), 'the connection is still there')
        self.demo.ask('POST', '/demo/stream?do=wake')
        self.await_quiet()

    def test_stream_comes_and_goes(self):
        seen = [self.value('tain_realtime_reconnects_total')]

        def drop():
            now = self.value('tain_realtime_reconnects_total')
            if now >= seen[0] and self.value('tain_realtime_listener_connected'):
                seen[0] = now + 1
                self.demo.ask('POST', '/demo/stream?do=drop')
        self.await_firing('TainReconnects', meanwhile=drop)
        self.await_quiet()

    def test_dead_letter(self):
        bad = self.demo.maxitem + 1
        self.demo.faults(f'id={bad}:status=500')
        self.demo.grow(bad)
        self.await_firing('TainDeadLetters', 'TainRealtimeDeadLetters')
        self.demo.faults()
        self.demo.mutate(bad, 'restore')
        done = Run(['dead-letter', 'replay', '--all', '--db', self.archive.uri])
        self.addCleanup(done.close)
        result = done.wait()
        self.assertEqual(result.code, 0, result)
        self.await_quiet()

    def test_slow_upstream(self):
        self.demo.faults('items:delay=2000')
        self.demo.ask('POST', f'/demo/maxitem?value={self.demo.maxitem + 1000}&quiet=1')
        self.demo.maxitem += 1000
        self.await_firing('TainFrontierLag')
        self.demo.ask('POST', '/demo/mention?from=1&n=3500')
        self.await_firing('TainQueueDeep')
        self.demo.faults()
        self.await_quiet()

    def test_a_rescan_that_does_not_end(self):
        """With items of today, since there is nothing to be looked at again among old ones."""
        self.end_all()
        young = Demo(maxitem=id_at(time.time()) - ROOM)
        self.addCleanup(young.stop)
        self.begin(self.active, '--start-id', young.maxitem - 300, '--rescan-window-days', 1,
                   archive=Sqlite(self.folder / 'young.db'), upstream=young.url)
        wait_until(lambda: re.search(r'^tain_rescan_last_run_age_seconds ', self.metrics(
            self.active), re.M) and self.value('tain_rescan_items_processed_total') > 300,
                   what='a rescan')
        wait_until(lambda: 'TainRescanOverdue' not in self.firing(), what='a rescan in time')
        young.faults('items:delay=8000')
        self.await_firing('TainRescanOverdue')
        young.faults()
        wait_until(lambda: 'TainRescanOverdue' not in self.firing(), what='another rescan')
        self.end_all()
        self.setUp()  # two good ones again, and quiet

    def test_updaters_end(self):
        self.runs[self.active].kill()
        self.await_words('TainTargetDown', self.active)
        self.active, self.standby = self.standby, self.active
        wait_until(lambda: 'role="active"} 1' in self.metrics(self.active), what='a takeover')
        wait_until(lambda: 'TainNoActiveUpdater' not in self.firing(), what='one that counts')

        self.end_all()
        said = self.await_words('TainNoActiveUpdater', None)
        self.assertIn('Of the updaters of tain-updater none', said['description'])

        # An updater whose workers die ends, and a service manager starts it again. In an archive of
        # its own, since the ids it did not get to stay behind.
        sick = Sqlite(self.folder / 'sick.db')

        def serve():
            if not self.runs[self.active] or not self.runs[self.active].running():
                self.end(self.active)
                self.begin(self.active, '--realtime-workers', '1', '--start-id', self.demo.maxitem,
                           archive=sick, env={'TAIN_FAULT': 'realtime_worker:1:fail'})
            up = self.prometheus.get('query', query='max(up{job="tain-updater"})')['result']
            if up and up[0]['value'][1] == '1':
                self.demo.ask('POST', '/demo/mention?from=1')
        self.await_firing('TainRestarting', meanwhile=serve)
        self.end_all()
        self.setUp()  # two good ones again, and quiet

    def test_the_feed_loses_its_database(self):
        if self.served is self.archive:
            self.skipTest('PostgreSQL is not installed')
        psql, name = self.served.server.psql, self.served.name
        self.addCleanup(psql, f'ALTER DATABASE {name} ALLOW_CONNECTIONS true')
        psql(f'ALTER DATABASE {name} ALLOW_CONNECTIONS false')
        psql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        self.await_firing('TainFeedDown')
        self.assertNotIn('TainFeedDeaf', self.firing(), 'without a database there is no doorbell')
        ready = wait_until(lambda: 'feed: ' in (said := ask(f'http://{self.server}/readyz') or '')
                           and said, what='an unready server')
        self.assertRegex(ready, r'feed: .* has had no answer of its database for \d+ s')
        self.assertEqual(ask(f'http://{self.server}/healthz'), 'ok\n')
        psql(f'ALTER DATABASE {name} ALLOW_CONNECTIONS true')
        self.await_quiet()
        wait_until(lambda: ask(f'http://{self.server}/readyz') == 'ready\n', what='a ready server')

    def test_a_provider_in_trouble(self):
        worker, lookup = self.worker, self.worker.lookup
        self.addCleanup(lookup.usual)
        worker.tain('enrich', 'pause', 'lookup')
        said = self.await_words('TainEnrichPaused', None)
        self.assertIn('paused the lane lookup of tain-enrich', said['description'])
        worker.tain('enrich', 'resume', 'lookup')

        lookup.become('unauthorized')
        worker.insert('someone')
        self.await_firing('TainEnrichRefused')
        lookup.become('broken')
        worker.insert(*'abcdefghij')
        worker.tain('enrich', 'resume', 'lookup')
        self.await_firing('TainEnrichIll')
        lookup.usual()
        worker.tain('enrich', 'resume', 'lookup')
        self.await_quiet()
        wait_until(lambda: worker.count('enriched_match') == 11, what='an answer for every row')

    def test_rows_fail(self):
        self.addCleanup(self.worker.lookup.usual)
        self.worker.lookup.become('refuse')
        self.worker.insert(*'klmnopqrst')
        said = self.await_words('TainEnrichFailures', None)
        self.assertIn('percent of the rows of records', said['description'])
        self.worker.lookup.usual()
        self.await_quiet()

    def test_a_link_waits_for_long(self):
        self.addCleanup(self.worker.services.reddit.usual)
        self.worker.tain('enrich', 'pause', 'reddit')
        self.worker.add(self.worker.services.article('plain'))
        said = self.await_words('TainLinksOld', None)
        self.assertIn('was never looked up for reddit', said['description'])
        self.worker.services.reddit.become('busy', retry_after=20)
        self.worker.tain('enrich', 'resume', 'reddit')
        self.await_firing('TainEnrichWaits')
        self.worker.services.reddit.usual()
        self.worker.tain('enrich', 'resume', 'reddit')
        wait_until(lambda: self.worker.pending('reddit') == 0, what='an answer of Reddit')
        self.await_quiet()

    def test_links_fail(self):
        for n in range(6):
            self.worker.add(f'http://127.0.0.1:{n + 1}/closed')  # the guard lets nobody there
        said = self.await_words('TainLinksFailing', None)
        self.assertIn('percent of the tasks summary', said['description'])
        wait_until(lambda: self.worker.pending('summary') == 0, what='an end of every task')
        self.await_quiet()

    def test_the_money_is_spent(self):
        self.worker.start_again('--summary-budget', '0.001')
        self.await_firing('TainLinksBudgetSpent')
        self.worker.start_again()
        self.await_quiet()

    def test_a_row_hinders_the_upkeep(self):
        self.worker.archive.execute(
            'CREATE TRIGGER hinder BEFORE UPDATE OF summary_status ON link_processing WHEN '
            "NEW.summary_status = 'skipped' BEGIN SELECT RAISE(ABORT, 'not this one'); END")
        self.addCleanup(self.worker.archive.execute, 'DROP TRIGGER IF EXISTS hinder')
        self.worker.start_again('--summary-budget', '0.001')  # so summaries are skipped
        self.worker.add(self.worker.services.article('nav'))
        self.await_firing('TainLinksUpkeep')
        self.worker.archive.execute('DROP TRIGGER hinder')
        wait_until(lambda: self.worker.pending('summary') == 0, what='a skipped summary')
        self.worker.start_again()
        self.await_quiet()

    def test_no_worker_of_enrichment(self):
        self.worker.run.close()
        self.await_firing('TainEnrichNobody')
        self.await_words('TainTargetDown', self.worker.address)
        self.worker.start()
        self.await_quiet()

    def test_the_dashboard_shows_something(self):
        page = json.loads((BUILD / 'packaging' / 'grafana' / 'tain.json').read_text('utf-8'))
        exprs = [t['expr'].replace('$job', '.*').replace('$instance', '.*')
                 .replace('$__rate_interval', '15s')
                 for p in page['panels'] for t in p.get('targets', ())]
        self.assertGreater(len(exprs), 40)
        exprs.append(page['annotations']['list'][0]['expr'].replace('firing', '.*'))

        def empty():
            return [e for e in exprs if 'ALERTS' not in e
                    and (find_bin() or not re.search(ONLY_POSTGRES, e))
                    and not self.prometheus.get('query', query=e)['result']]
        try:
            wait_until(lambda: not empty(), what='a figure on every panel', every=0.5)
        except AssertionError as error:
            raise AssertionError(f'{error}; nothing from {empty()}') from None


if __name__ == '__main__':
    unittest.main()
