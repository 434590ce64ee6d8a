"""Every way in which Reddit, HN Search and Anthropic can answer, or not, and what becomes of the
tasks then: a service that is ill or refuses us is never believed to have nothing, costs no task
more than time, and leaves the others alone."""

import unittest

from lib import EXIT_DONE, OnSqlite, wait_until
import article
from links_under_test import LinksTest

ILL = ('broken', 'down', 'drop', 'cut', 'truncated', 'garbage', 'scrambled', 'odd')
# Once so, then as usual: (how, options, status in the end, words of its error)
REDDIT = [(mode, {}, 'completed', None) for mode in (*ILL, 'gone', 'later', 'mistyped')] + [
    ('busy', {'retry_after': 1}, 'completed', None), ('empty', {}, 'not_found', None),
    ('refuse', {}, 'failed', '422'), ('status', {'status': 400}, 'failed', '400')]
HN = [(mode, {}, 'completed', None) for mode in (*ILL, 'gone', 'mistyped', 'partial')] + [
    ('busy', {'retry_after': 1}, 'completed', None), ('empty', {}, 'not_found', None),
    ('refuse', {}, 'failed', '422'), ('status', {'status': 400}, 'failed', '400')]
AI = [(mode, {}, 'completed', None) for mode in (
    'broken', 'overloaded', 'late', 'drop', 'cut', 'garbage', 'odd', 'silent', 'shortened',
    'thoughtful', 'overlong')] + [
        ('busy', {'retry_after': 1}, 'completed', None), ('invalid', {}, 'failed', '400'),
        ('too_large', {}, 'failed', '413'), ('refused', {}, 'failed', 'would not')]
# Of all calls until somebody resumes the lane.
REFUSALS = ({'reddit': ('info', 'unauthorized'), 'hn': ('search', 'blocked'),
             'anthropic': ('messages', 'unauthorized')},
            {'reddit': ('token', 'unauthorized'), 'anthropic': ('messages', 'unpaid')},
            {'reddit': ('info', 'blocked'), 'hn': ('search', 'forbidden'),
             'anthropic': ('messages', 'gone')})
TASK = {'reddit': 'reddit', 'hn': 'hn', 'anthropic': 'summary'}


class Answers(OnSqlite, LinksTest):
    def setUp(self):
        super().setUp()
        self.all = self.links()
        self.all.unlimited()
        self.all.site.invent = True
        self.all.serve()

    def url(self, name):
        return self.all.site.at(name, host=article.NAME)

    def hurry(self):
        """Nobody waits here for the time of a next attempt."""
        self.all.archive.execute('UPDATE claims SET next_try_at = 0 WHERE next_try_at IS NOT NULL')

    def ended(self, links):
        def all_of_them():
            self.hurry()
            return all('pending' not in self.all.tasks(link).values() for link in links)
        wait_until(all_of_them, 600, 'an end of all tasks', every=0.5)

    def test_every_answer(self):
        links, mine = self.all, []
        for n, (reddit, hn, ai) in enumerate(zip(REDDIT, HN, AI, strict=True)):
            url = self.url(f'n{n:02}x')
            links.discussed(url, reddit=1, hn=1)
            for service, (mode, how, _, _) in ((links.reddit, reddit), (links.hn, hn),
                                               (links.ai, ai)):
                service.when(lambda call, word=f'n{n:02}x': word in self.words(call), mode, times=1,
                             **how)
            mine.append((links.add(url), (('reddit', reddit), ('hn', hn), ('summary', ai))))
        worker = links.enrich()
        self.ended([link for link, _ in mine])
        for link, expected in mine:
            states, errors = links.tasks(link), links.errors(link)
            for task, (mode, _, status, error) in expected:
                with self.subTest(task=task, mode=mode):
                    self.assertEqual(states[task], status, errors)
                    self.assertEqual(error is None, errors[f'{task}_error'] is None, errors)
                    self.assertIn(error or '', errors[f'{task}_error'] or '')
        links.stop(worker)
        self.assertEqual(links.archive.rows("SELECT 1 FROM claims WHERE state = 'held'"), [])

    @staticmethod
    def words(call):
        """Where the page is named that a call is about: its URL, or its title."""
        return call.target + call.data.decode('utf-8', 'replace')

    def test_posts_that_are_closed(self):
        links = self.all
        rows = {'private': 'failed', 'quarantined': 'failed', 'forbidden': 'completed',
                'gone': 'not_found', 'broken': 'completed'}
        mine = {}
        for mode, status in rows.items():
            (post,), _ = links.discussed(self.url(mode), reddit=1, hn=0)
            links.reddit.when(lambda call, post=post: call.route == 'comments'
                              and post['id'] in call.path, mode, times=1)
            mine[links.add(links.reddit.page(post))] = (mode, status)
        talk = links.add(links.reddit.page(links.reddit.add(None, title='A question')))
        mine[talk] = ('a self-post', 'not_found')
        shared = links.add(links.reddit.share(post))
        links.reddit.on('share', 'blocked', times=1)
        mine[shared] = ('a share link', 'completed')
        worker = links.enrich()
        self.ended(mine)
        for link, (mode, status) in mine.items():
            with self.subTest(mode):
                self.assertEqual(links.tasks(link)['reverse_lookup'], status, links.errors(link))
        self.assertEqual(links.archive.rows("SELECT 1 FROM providers WHERE paused <> ''"), [])
        links.stop(worker)

    def test_refusals_pause(self):
        for refusals in REFUSALS:
            with self.subTest(refusals):
                self.refuse_and_resume(refusals)

    def refuse_and_resume(self, refusals):
        links = self.links()
        url = links.article('plain')
        links.unlimited()
        links.serve()
        links.discussed(url, reddit=1, hn=1)
        for name, (route, mode) in refusals.items():
            links.all[name].on(route, mode)
        link = links.add(url)
        worker = links.enrich()
        wait_until(lambda: len(links.archive.rows('SELECT 1 FROM providers WHERE paused IS NOT '
                                                  'NULL')) == len(refusals), what='pauses')
        links.wait(link, **{task: 'pending' if name in refusals else 'completed'
                            for name, task in TASK.items()})
        self.assertEqual([row for row in links.errors(link).values() if row], [])
        for name, service in links.all.items():
            service.usual()
            if name in refusals:
                done = self.run_tain('enrich', 'resume', name, '--db', links.archive.uri)
                self.assertEqual(done.code, EXIT_DONE, done)
        links.wait(link, reddit='completed', hn='completed', summary='completed')
        self.assertEqual(links.archive.rows('SELECT MAX(attempts) FROM claims'), [(1,)])
        links.stop(worker)

    def test_money_that_is_spent(self):
        for mode in ('spent', 'capped'):
            links = self.links()
            links.serve()
            links.ai.become(mode)
            link = links.add(links.article('plain'))
            worker = links.enrich()
            links.wait(link, summary='skipped')
            self.assertIn('budget', links.errors(link)['summary_error'])
            self.assertEqual(len(links.ai.calls), 1)
            links.stop(worker)

    def test_a_limit_reached_leaves_the_others_running(self):
        links = self.all
        links.reddit.become('busy', retry_after=3600)
        mine = [links.add(self.url(f'm{n}')) for n in range(3)]
        worker = links.enrich()
        for link in mine:
            links.wait(link, reddit='pending', hn='not_found', summary='completed')
        self.assertEqual(len(links.reddit.calls), 1)
        links.stop(worker)


if __name__ == '__main__':
    unittest.main()
