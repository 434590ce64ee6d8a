"""The alerts: Prometheus accepts them, each fires and clears when it should, none is without a test
or a runbook, and none asks for a figure that the program does not have."""

import copy
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / 'tools'))
import alert_rules  # noqa: E402

CASES = ROOT / 'tests' / 'ops' / 'alerts_test.yml'
README = ROOT / 'packaging' / 'prometheus' / 'README.md'
RUNBOOK = 'docs/operations.md'
JOIN = re.compile(r' (?:and|unless) on \(job, instance\) '
                  r'tain_updater_role\{role="(?:active|standby)"\} == 1')
SECONDS = {'s': 1, 'm': 60, 'h': 3600}


def promtool(*arguments):
    done = subprocess.run(['promtool', *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=600)
    return done.returncode == 0, done.stdout


def known_metrics():
    """Names in the sources, and what a histogram makes of its own."""
    names = {'up'}
    for path in (ROOT / 'src').rglob('*.c'):
        names.update(re.findall(r'"((?:tain|process)_[a-z0-9_]+)"', path.read_text('utf-8')))
    return names | {n + end for n in names for end in ('_bucket', '_sum', '_count')}


@unittest.skipUnless(shutil.which('promtool'), 'promtool is not installed')
class Promtool(unittest.TestCase):
    def test_the_rules_are_good(self):
        good, said = promtool('check', 'rules', alert_rules.RULES)
        self.assertTrue(good, said)
        self.assertIn(f'{len(alert_rules.rules())} rules found', said)

    def test_each_alert_at_its_time(self):
        good, said = promtool('test', 'rules', CASES)
        self.assertTrue(good, said)

    def test_the_example_of_a_configuration(self):
        text = (README.parent / 'prometheus.yml').read_text('utf-8')
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / 'prometheus.yml'
            path.write_text(text.replace('/usr/share/tain/prometheus/alerts.yml',
                                         str(alert_rules.RULES)), 'utf-8')
            good, said = promtool('check', 'config', path)
        self.assertTrue(good, said)


class Texts(unittest.TestCase):
    def test_annotations(self):
        for name, rule in alert_rules.rules().items():
            with self.subTest(name):
                self.assertRegex(name, r'^Tain[A-Z]')
                self.assertIn(rule['labels']['severity'], ('page', 'ticket'))
                self.assertEqual(sorted(rule['annotations']),
                                 ['description', 'runbook_url', 'summary'])
                self.assertEqual(rule['annotations']['runbook_url'], f'{RUNBOOK}#{name.lower()}')

    def test_each_has_a_runbook(self):
        text = (ROOT / RUNBOOK).read_text('utf-8') if (ROOT / RUNBOOK).exists() else ''
        headings = {h.strip().lower() for h in re.findall(r'^#+ (.+)$', text, re.M)}
        missing = [n for n in alert_rules.rules() if n.lower() not in headings]
        self.assertEqual(missing, [], f'{RUNBOOK} has no section of that name')

    def test_the_table_for_readers(self):
        rows = re.findall(r'^\| (Tain\w+) \| (\w+) \|', README.read_text('utf-8'), re.M)
        self.assertEqual(rows, [(n, r['labels']['severity'])
                                for n, r in alert_rules.rules().items()])

    def test_figures_exist(self):
        known = known_metrics()
        for name, rule in alert_rules.rules().items():
            used = alert_rules.metrics_of(rule['expr'])
            self.assertTrue(used, name)
            self.assertEqual(sorted(used - known), [], f'{name} asks for what is not there')

    def test_a_figure_that_is_not_there_is_noticed(self):
        used = alert_rules.metrics_of('rate(tain_no_such_total{code="tain_a"}[5m]) > 1 '
                                      'and on (job) tain_updater_role == 1')
        self.assertEqual(used, {'tain_no_such_total', 'tain_updater_role'})
        self.assertEqual(used - known_metrics(), {'tain_no_such_total'})


class Reader(unittest.TestCase):
    def test_what_it_reads(self):
        self.assertEqual(alert_rules.read('a:\n  - b: c d\n    # e\n    f: >-\n      g\n      h\n'
                                          '  - b: 1\ni:\n  j: k\n'),
                         {'a': [{'b': 'c d', 'f': 'g h'}, {'b': '1'}], 'i': {'j': 'k'}})

    def test_what_it_refuses(self):
        for text in ('a: "b"', "a: 'b'", 'a: [b]', 'a: {b: c}', 'a: |\n  b', 'a: &b c', 'a: b: c',
                     'a: b # c', 'a: b\na: c', 'a:\n   b: c', 'a: >-\nb: c', 'a: >-\n  b\n    c',
                     'a', '', 'a: b\n  c: d', 'a:\n  - b\n'):
            with self.subTest(text), self.assertRaises(alert_rules.Malformed):
                alert_rules.read(text)


def seconds(text):
    return int(text[:-1]) * SECONDS[text[-1]]


def compared_with(rule, operator, number):
    left, old, n = alert_rules.threshold(rule)
    return rule['expr'].replace(f'{left} {old} {n:.0f}', f'{left} {operator} {number:.0f}', 1)


def wrong_rules(rule):
    """What could be wrong with it, as (what, the wrong rule)."""
    def but(**changes):
        return dict(copy.deepcopy(rule), **changes)

    yield 'never fires', but(expr='vector(1) == 0')
    longer, shorter = seconds(rule['for']) + 15, seconds(rule['for']) - 15
    yield 'waits too long', but(**{'for': f'{longer}s'})
    if shorter >= 0:
        yield 'waits too short', but(**{'for': f'{shorter}s'})
    yield 'wrong severity', but(labels={'severity': 'none'})
    if JOIN.search(rule['expr']):
        yield 'a standby counts', but(expr=JOIN.sub('', rule['expr']))
    if alert_rules.threshold(rule):
        _, operator, number = alert_rules.threshold(rule)
        if operator == '>':
            yield 'too strict', but(expr=compared_with(rule, '>=', number))
            yield 'too lax', but(expr=compared_with(rule, '>', number + 1))
        else:
            yield 'too strict', but(expr=compared_with(rule, '<=', number + 1))


@unittest.skipUnless(shutil.which('promtool'), 'promtool is not installed')
class TestsCanFail(unittest.TestCase):
    """Every alert is tested so well that no small change to it goes unnoticed."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='tain-alerts-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        head, *blocks = CASES.read_text('utf-8').split('\n  - name: ')
        self.head = re.sub(r'(?m)^  - .*alerts\.yml$', '  - rules.json', head)
        self.assertIn('rules.json', self.head)
        self.blocks = ['\n  - name: ' + b for b in blocks]

    def cases_pass(self, rule):
        name = rule['alert']
        mine = [b for b in self.blocks if f'alertname="{name}"' in b]
        rules = {'groups': [{'name': 'one', 'rules': [rule]}]}
        (self.folder / 'rules.json').write_text(json.dumps(rules), 'utf-8')  # JSON is YAML
        (self.folder / 'cases.yml').write_text(self.head + ''.join(mine) + '\n', 'utf-8')
        return promtool('test', 'rules', self.folder / 'cases.yml')

    def test_wrong_alerts_are_noticed(self):
        for name, rule in alert_rules.rules().items():
            with self.subTest(name):
                good, said = self.cases_pass(rule)
                self.assertTrue(good, said)
            for what, wrong in wrong_rules(rule):
                with self.subTest(name, what=what):
                    good, said = self.cases_pass(wrong)
                    self.assertFalse(good, f'{wrong["expr"]} for {wrong["for"]} passes')
                    self.assertIn('FAILED', said)
                    self.assertIn('exp:', said)


if __name__ == '__main__':
    unittest.main()
