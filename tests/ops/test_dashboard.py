"""The dashboard that the build made: a shape that Grafana takes, every alert on a panel with its
threshold as a line, and only figures that the program has. That Prometheus takes its expressions,
and that they show something, is in test_prometheus.py."""

import json
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get('TAIN_BUILD', ROOT / 'build')).resolve()
sys.path[:0] = [str(ROOT / 'tools'), str(pathlib.Path(__file__).resolve().parent)]
import alert_rules  # noqa: E402
import make_dashboard  # noqa: E402
from test_alerts import known_metrics  # noqa: E402

UNITS = {'none', 'short', 's', 'ops', 'reqps', 'percent', 'percentunit', 'bytes', 'bool_on_off',
         'bool_yes_no'}  # as Grafana spells them


class Dashboard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        text = (BUILD / 'packaging' / 'grafana' / 'tain.json').read_text('utf-8')
        cls.page = json.loads(text)
        cls.rows = [p for p in cls.page['panels'] if p['type'] == 'row']
        cls.panels = [p for p in cls.page['panels'] if p['type'] != 'row']

    def test_it_is_that_of_these_rules(self):
        self.assertEqual(self.page, make_dashboard.dashboard(alert_rules.rules()),
                         'the build folder is older than the sources')

    def test_frame(self):
        self.assertGreaterEqual(self.page['schemaVersion'], 36)
        self.assertEqual(self.page['uid'], 'tain')
        self.assertNotIn('id', self.page, 'Grafana numbers dashboards itself')
        kinds = {v['name']: v['type'] for v in self.page['templating']['list']}
        self.assertEqual(kinds, {'datasource': 'datasource', 'job': 'query', 'instance': 'query'})
        self.assertEqual([r['title'] for r in self.rows],
                         ['Freshness', 'Realtime', 'Catch-up', 'Upstream', 'Database',
                          'Change feed', 'Enrichment', 'Links', 'Process'])

    def test_panels(self):
        ids = [p['id'] for p in self.page['panels']]
        self.assertEqual(len(ids), len(set(ids)))
        titles = [p['title'] for p in self.panels]
        self.assertEqual(len(titles), len(set(titles)))
        for p in self.panels:
            with self.subTest(p['title']):
                self.assertIn(p['type'], ('stat', 'timeseries'))
                self.assertIn(p['fieldConfig']['defaults']['unit'], UNITS)
                self.assertEqual(p['fieldConfig']['defaults']['thresholds']['mode'], 'absolute')
                self.assertTrue(p['targets'])
                refs = [t['refId'] for t in p['targets']]
                self.assertEqual(len(refs), len(set(refs)))
                for t in p['targets']:
                    self.assertEqual(t['datasource']['uid'], '${datasource}')
                    self.assertTrue(t['legendFormat'])
                    self.assertIn('job=~"$job", instance=~"$instance"', t['expr'])
                    self.assertNotRegex(t['expr'], r'\b(?:SEL|RATE)\b')

    def test_nothing_overlaps(self):
        taken = set()
        for p in self.page['panels']:
            at = p['gridPos']
            self.assertLessEqual(at['x'] + at['w'], 24, p['title'])
            cells = {(x, y) for x in range(at['x'], at['x'] + at['w'])
                     for y in range(at['y'], at['y'] + at['h'])}
            self.assertFalse(cells & taken, p['title'])
            taken |= cells

    def test_steps_rise(self):
        for p in self.panels:
            first, *others = p['fieldConfig']['defaults']['thresholds']['steps']
            self.assertIsNone(first['value'])
            values = [s['value'] for s in others]
            self.assertEqual(values, sorted(set(values)), p['title'])

    def test_each_alert_is_a_line(self):
        for name, rule in alert_rules.rules().items():
            with self.subTest(name):
                panel, = (p for p in self.panels if p['description'].startswith(name + ' ('))
                shown = set().union(*(alert_rules.metrics_of(self.plain(t['expr']))
                                      for t in panel['targets']))
                self.assertTrue(shown & alert_rules.metrics_of(rule['expr']), 'another figure')
                defaults = panel['fieldConfig']['defaults']
                color = {'page': 'red', 'ticket': 'orange'}[rule['labels']['severity']]
                steps = {s['color']: s['value'] for s in defaults['thresholds']['steps']}
                _, operator, number = alert_rules.threshold(rule) or ('', '==', 0)
                self.assertEqual(steps[color], None if operator == '==' else number or 1)
                if panel['type'] == 'timeseries':
                    self.assertEqual(defaults['custom']['thresholdsStyle']['mode'], 'line')

    def test_figures_exist(self):
        known = known_metrics()
        for p in self.panels:
            for t in p['targets']:
                used = alert_rules.metrics_of(self.plain(t['expr']))
                self.assertTrue(used, t['expr'])
                self.assertEqual(sorted(used - known), [], f"{p['title']}: {t['expr']}")

    @staticmethod
    def plain(expr):
        return expr.replace('$__rate_interval', '1m')


if __name__ == '__main__':
    unittest.main()
