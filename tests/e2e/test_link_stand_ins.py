"""The stand-ins for the services that links are looked up with: all of them fail as they are told
and count what they were asked; Reddit and HN Search say what the real ones say, in the recorded
shapes where there are any. Of what they have for summaries: test_summary_stand_ins.py."""

import base64
import http.client
import json
import re
import subprocess
import sys
import unittest
import urllib.parse

from lib import ANSWER, ROOT, wait_until
from anthropic import Anthropic
from article import Article
from hn_search import HnSearch
from reddit import Reddit
from shapes import Shape, recorded
from stand_in_test import AGENT, BROKEN_OFF, KEY, PAGE, QUESTION, Clock, StandInTest, call


# What is common to all ----------------------------------------------------------------------------

def probe(service):
    """A call that every one of them answers with 200 by itself."""
    if isinstance(service, Anthropic):
        return call(service, '/v1/messages', QUESTION, KEY)
    return call(service, {Reddit: '/api/info.json?url=x', HnSearch: '/api/v1/search?query=x',
                          Article: '/plain'}[type(service)], headers=AGENT)


class Common:
    """Of any service; `kind` is which."""

    def setUp(self):
        self.service = self.run_service(self.kind)
        if hasattr(self.service, 'limits'):
            self.service.limits(None) if self.kind is HnSearch else self.service.limits(None, None)

    def test_errors(self):
        for name, status in self.service.ERRORS.items():
            self.service.become(name, times=1, retry_after=7)
            answer = probe(self.service)
            self.assertEqual((answer.status, answer.headers['Retry-After']), (status, '7'), name)
            self.assertEqual(probe(self.service).status, 200, f'after {name}')
        self.service.become('status', status=502)
        answer = probe(self.service)
        self.assertEqual((answer.status, answer.headers['Retry-After']), (502, None))
        self.assertEqual({one.mode for one in self.service.calls},
                         {*self.service.ERRORS, 'normal', 'status'})
        with self.assertRaises(ValueError):
            self.service.become('no such mode')

    def test_bodies_that_are_wrong(self):
        usual = probe(self.service)
        self.service.become('truncated')
        self.assertEqual(len(probe(self.service).body), len(usual.body) // 2)
        self.service.become('mistyped')
        answer = probe(self.service)
        self.assertEqual((answer.status, answer.headers.get_content_type()), (200, 'text/html'))
        self.service.become('garbage')
        self.assertIn('<html>', probe(self.service).text)
        self.service.become('scrambled')
        with self.assertRaises(ValueError):
            json.loads(probe(self.service).body)
        self.service.become('odd')
        self.assertIn('notice', probe(self.service).json)
        self.service.become('endless', size=1000000)
        self.assertGreater(len(probe(self.service).body), 1000000)

    def test_answers_that_break_off(self):
        for mode in ('cut', 'drop'):
            self.service.become(mode, times=1)
            with self.assertRaises(BROKEN_OFF, msg=mode):
                probe(self.service)
        self.assertEqual(probe(self.service).status, 200)

    def test_hanging_calls_count_until_they_are_released(self):
        self.service.become('hang')
        connection = http.client.HTTPConnection(self.service.host, self.service.port,
                                                timeout=ANSWER)
        self.addCleanup(connection.close)
        connection.request('GET', '/plain', headers=AGENT | KEY)
        wait_until(lambda: self.service.at_once == 1, what='the call')
        self.assertIsNone(self.service.calls[0].status)
        self.service.release()
        with self.assertRaises(BROKEN_OFF):
            connection.getresponse()
        wait_until(lambda: self.service.at_once == 0, what='no call')

    def test_faults_for_a_while_and_on_a_route(self):
        self.service.become('down', lasting=0)
        self.assertEqual(probe(self.service).status, 200)
        self.service.become('down', lasting=3600)
        self.assertEqual(probe(self.service).status, 503)
        self.service.usual()
        route = self.service.calls[-1].route
        self.service.on('another', 'broken')
        self.assertEqual(probe(self.service).status, 200)
        self.service.on(route, 'slow', seconds=0.01)
        self.assertEqual(probe(self.service).status, 200)
        self.service.when(lambda one: one.route == route, 'forbidden')
        self.assertEqual(probe(self.service).status, 403)

    def test_what_was_asked(self):
        self.assertEqual((self.service.calls, self.service.connections), ([], 0))
        for _ in range(3):
            probe(self.service)
        route = self.service.calls[0].route
        self.assertEqual(self.service.counts(), {route: 3})
        self.assertEqual([one.status for one in self.service.asked(route)], [200] * 3)
        self.assertEqual(self.service.asked('another'), [])
        self.assertEqual((len(self.service.gaps()), self.service.in_any(3600)), (2, 3))
        self.assertEqual((self.service.connections, self.service.highest), (3, 1))
        self.service.forget()
        self.assertEqual((self.service.calls, self.service.in_any(3600)), ([], 0))

    def test_pace(self):
        self.assertEqual(self.service.ahead(30), 0)
        for at in (0, 2, 4, 30, 32):
            probe(self.service)
            self.service.calls[-1].at = at
        self.assertEqual(self.service.ahead(30), 0)
        self.assertAlmostEqual(self.service.ahead(10), 4 / 3)
        for at in (33, 33):
            probe(self.service)
            self.service.calls[-1].at = at
        self.assertAlmostEqual(self.service.ahead(30), 1.5)

    def test_as_a_process(self):
        path = ROOT / 'tests' / 'support' / f'{self.kind.__module__}.py'
        process = subprocess.Popen([sys.executable, '-B', path, '--port', '0'], text=True,
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        said = process.stdout.readline()
        found = re.fullmatch(r'.+ at http://([\d.]+):(\d+)[/\w]*\n', said)
        self.assertTrue(found, said)
        self.service.host, self.service.port = found.group(1), int(found.group(2))
        self.assertEqual(call(self.service, '/become', {'mode': 'gone', 'times': 1}).status, 200)
        self.assertEqual((probe(self.service).status, probe(self.service).status), (404, 200))
        route = {Anthropic: 'messages', Reddit: 'info', HnSearch: 'search'}.get(self.kind, 'page')
        call(self.service, '/become', {'mode': 'busy', 'route': route})
        self.assertEqual(probe(self.service).status, 429)
        call(self.service, '/usual', {})
        self.assertEqual(probe(self.service).status, 200)
        self.assertEqual(call(self.service, '/become', {'mode': 'unheard of'}).status, 400)
        counted = call(self.service, '/calls').json
        self.assertEqual((counted['calls'], counted['routes']), (4, {route: 4}))


class OfReddit(Common, StandInTest):
    kind = Reddit


class OfHnSearch(Common, StandInTest):
    kind = HnSearch


class OfAnthropic(Common, StandInTest):
    kind = Anthropic


class OfArticle(Common, StandInTest):
    kind = Article


# Reddit -------------------------------------------------------------------------------------------

class RedditTest(StandInTest):
    def setUp(self):
        self.clock = Clock()
        self.reddit = self.run_service(Reddit, client='id', secret='s', clock=self.clock)
        self.post = self.reddit.add(PAGE, title='One & two', subreddit='programming', score=12,
                                    num_comments=5)

    def ask(self, target, token=None, **headers):
        headers = dict(AGENT, **headers)
        if token:
            headers['Authorization'] = f'Bearer {token}'
        return call(self.reddit, target, headers=headers)

    def token(self, secret='s', form='grant_type=client_credentials'):
        known = base64.b64encode(f'id:{secret}'.encode()).decode()
        return call(self.reddit, '/api/v1/access_token', form,
                    dict(AGENT, Authorization=f'Basic {known}'))

    def info(self, url, **how):
        return self.ask(f'/api/info.json?raw_json=1&url={urllib.parse.quote(url, safe="")}', **how)

    def thread(self, path):
        return self.ask(f'{path}.json?raw_json=1')

    def test_submissions_of_a_url(self):
        self.reddit.add(PAGE, title='Again', subreddit='linux')
        self.reddit.add(PAGE + '?other', title='Another')
        self.reddit.add(None, title='A question')
        found = self.info(PAGE).json['data']['children']
        self.assertEqual([child['data']['title'] for child in found], ['One & two', 'Again'])
        self.assertEqual(self.info('https://a.example/').json['data']['children'], [])
        self.assertEqual(self.info('').json['data']['children'], [])

    def test_one_submission(self):
        talk = self.reddit.add(None, title='A question', text='Words')
        for post in (self.post, talk):
            shown, comments = self.thread(f"/comments/{post['id']}").json
            self.assertEqual(shown['data']['children'][0]['data'], post)
            self.assertEqual(len(comments['data']['children']), min(post['num_comments'], 3))
        self.assertTrue(talk['is_self'])
        self.assertEqual(talk['url'], self.reddit.page(talk))
        self.assertEqual(self.ask('/comments/zzzzzz.json').status, 404)
        for path in (self.post['permalink'],
                     urllib.parse.urlsplit(self.reddit.comment(self.post)).path):
            shown = self.thread(path).json[0]
            self.assertEqual(shown['data']['children'][0]['data'], self.post, path)
        self.assertEqual(self.ask(self.post['permalink']).headers.get_content_type(), 'text/html')
        self.assertEqual(self.reddit.counts(), {'comments': 5, 'page': 1})

    def test_texts_are_written_for_html_unless_raw(self):
        post = self.reddit.add('https://a.example/?a=1&b=2', title='1 < 2')
        shown = self.ask(f"/comments/{post['id']}.json").json[0]['data']['children'][0]['data']
        self.assertEqual((shown['url'], shown['title']),
                         ('https://a.example/?a=1&amp;b=2', '1 &lt; 2'))

    def test_links_that_lead_elsewhere(self):
        leads = {self.reddit.share(self.post): self.reddit.page(self.post),
                 self.reddit.share(self.post, to_comment=True): self.reddit.comment(self.post),
                 self.reddit.short(self.post): f"https://www.reddit.com/comments/{self.post['id']}"}
        for link, target in leads.items():
            answer = self.ask(urllib.parse.urlsplit(link).path)
            self.assertEqual(answer.status, 301, link)
            self.assertTrue(answer.headers['Location'].startswith(target), link)
        self.assertEqual(self.ask('/r/programming/s/unknown').status, 404)
        self.assertEqual(self.reddit.counts(), {'share': 3, 'short': 1})

    def test_tokens(self):
        self.assertEqual(self.token('wrong').status, 401)
        self.assertIn('error', self.token(form='grant_type=password').json)
        given = self.token().json
        self.assertEqual((given['token_type'], given['expires_in']), ('bearer', 86400))
        token = given['access_token']
        self.assertEqual(self.info(PAGE, token=token).status, 200)
        self.reddit.expire()
        answer = self.info(PAGE, token=token)
        self.assertEqual((answer.status, answer.json), (401, {'message': 'Unauthorized',
                                                              'error': 401}))
        self.assertIn('invalid_token', answer.headers['WWW-Authenticate'])
        fresh = self.token().json['access_token']
        self.assertEqual(self.info(PAGE, token=fresh).status, 200)
        self.reddit.become('expired', times=1)
        self.assertEqual([self.info(PAGE, token=fresh).status for _ in range(2)], [401, 401])

    def test_callers_that_do_not_say_who_they_are(self):
        for agent in ('', 'curl/7.88.1', 'python-requests/2.28', 'libcurl/7.88'):
            self.assertEqual(self.info(PAGE, **{'User-Agent': agent}).status, 429, agent)
        answer = call(self.reddit, '/api/info.json?url=x')
        self.assertEqual(answer.status, 429)
        self.assertEqual(self.info(PAGE).status, 200)

    def test_limits(self):
        token = self.token().json['access_token']
        for used in range(1, 11):
            headers = self.info(PAGE).headers
            self.assertEqual((headers['X-Ratelimit-Used'], headers['X-Ratelimit-Remaining'],
                              headers['X-Ratelimit-Reset']), (str(used), f'{10 - used}.0', '60'))
        self.clock.now += 20
        answer = self.info(PAGE)
        self.assertEqual((answer.status, answer.headers['X-Ratelimit-Reset']), (429, '40'))
        self.assertEqual(self.info(PAGE, token=token).headers['X-Ratelimit-Remaining'], '99.0')
        self.clock.now += 40
        self.assertEqual(self.info(PAGE).status, 200)
        self.reddit.limits(oauth=2)
        self.assertEqual([self.info(PAGE, token=token).status for _ in range(3)], [200, 200, 429])
        self.assertEqual(self.reddit.in_any(3600, 'info'), 16)

    def test_trouble_of_its_own(self):
        self.reddit.become('blocked')
        answer = self.info(PAGE)
        self.assertEqual((answer.status, answer.headers.get_content_type()), (403, 'text/html'))
        for mode in ('private', 'quarantined'):
            self.reddit.become(mode)
            answer = self.ask(f"/comments/{self.post['id']}.json")
            self.assertEqual((answer.status, answer.json['reason']), (403, mode))
        self.reddit.become('empty')
        self.assertEqual(self.info(PAGE).json['data']['children'], [])
        self.reddit.become('later')
        self.assertEqual(self.info(PAGE).headers['Location'], 'https://www.reddit.com/login/')

    def test_recorded_shapes(self):
        names = ('praw_info_by_url_youtube', 'praw_duplicates', 'praw_info_empty_listing')
        listings = [recorded(f'reddit/{name}.json') for name in names]
        thread = recorded('reddit/goreddit_post_and_comments.json')
        if None in (*listings, thread):
            self.skipTest('no recorded answers')
        bodies = [one['body'] for rows in listings for one in rows]
        bodies = [body for one in bodies for body in (one if isinstance(one, list) else [one])]
        shape = Shape(*bodies, thread[0], recorded('reddit/search_url_shazow.json'))
        self.assert_shape(shape, self.info(PAGE).json)
        self.assert_shape(shape, self.info('https://nobody.example/').json)
        shown, comments = self.thread(f"/comments/{self.post['id']}").json
        self.assert_shape(shape, shown)
        self.assert_shape(Shape(thread[1]), comments, complete=False)

    def test_recorded_errors(self):
        rows = recorded('reddit/praw_non200_responses.json')
        if rows is None:
            self.skipTest('no recorded answers')
        seen = {row['status']['code']: row for row in rows
                if isinstance(row['body'], dict) and set(row['body']) == {'message', 'error'}}
        for status, row in seen.items():
            self.reddit.become('status', status=status)
            answer = self.info(PAGE)
            self.assertEqual(answer.json, row['body'])
            self.assertEqual(answer.headers['Content-Type'], row['headers']['content-type'])
        self.assertLessEqual({401, 403, 404, 500}, set(seen))
        share = next(row for row in rows if '/s/' in row['request']['uri'])
        self.reddit.usual()
        answer = self.ask(urllib.parse.urlsplit(self.reddit.share(self.post, True)).path)
        self.assertEqual((answer.status, answer.headers['Content-Type']),
                         (share['status']['code'], share['headers']['content-type']))
        for location in (answer.headers['Location'], share['headers']['location']):
            self.assertRegex(location, r'^https://www\.reddit\.com/r/\w+/comments/\w+/\w+/\w+/\?')


# HN Search ----------------------------------------------------------------------------------------

class HnSearchTest(StandInTest):
    def setUp(self):
        self.clock = Clock()
        self.hn = self.run_service(HnSearch, clock=self.clock)
        self.story = self.hn.add(PAGE, title='One', points=12, comments=2)
        self.asked = self.hn.add(None, title='Ask HN: what now?', text='Words')

    def search(self, query, prefix='/api/v1', **more):
        wanted = dict({'query': query, 'restrictSearchableAttributes': 'url', 'tags': 'story'},
                      **more)
        return call(self.hn, f'{prefix}/search?{urllib.parse.urlencode(wanted)}')

    def test_near_misses_are_hits_too(self):
        near = [self.hn.add(PAGE + '?page=2', title='Two', points=3),
                self.hn.add(PAGE.replace('three', 'four'), title='Three', points=900)]
        self.hn.add('https://b.example/else', title='Else')
        hits = self.search(PAGE).json['hits']
        self.assertEqual([hit['objectID'] for hit in hits], [str(self.story), *map(str, near)])
        self.assertEqual([hits[0][name] for name in ('url', 'points', 'num_comments')],
                         [PAGE, 12, 2])
        self.assertEqual(self.search(PAGE, prefix='').json['nbHits'], 3)
        self.assertEqual(self.search(PAGE, hitsPerPage=1, page=1).json['hits'][0]['title'], 'Two')
        self.assertEqual(self.search('https://nobody.example/x/y').json['hits'], [])
        one = self.search('', tags=f'(story,poll),story_{self.story}').json
        self.assertEqual([hit['objectID'] for hit in one['hits']], [str(self.story)])
        self.assertEqual(self.search('', tags=f'comment,story_{self.story}').json['nbHits'], 2)

    def test_items(self):
        deep = self.hn.reply(self.hn.reply(self.story))
        tree = call(self.hn, f'/api/v1/items/{self.story}').json
        self.assertEqual((tree['url'], len(tree['children'])), (PAGE, 3))
        self.assertEqual(tree['children'][2]['children'][0]['id'], deep)
        comment = call(self.hn, f'/api/v1/items/{deep}').json
        self.assertEqual((comment['story_id'], comment['url']), (self.story, None))
        self.assertIsNone(call(self.hn, f'/api/v1/items/{self.asked}').json['url'])
        self.assertEqual(call(self.hn, '/api/v1/items/1').status, 404)

    def test_items_of_firebase(self):
        comment = self.hn.reply(self.story)
        item = call(self.hn, f'/v0/item/{comment}.json').json
        while 'parent' in item:
            item = call(self.hn, f"/v0/item/{item['parent']}.json").json
        self.assertEqual((item['id'], item['url'], item['descendants']), (self.story, PAGE, 3))
        self.assertNotIn('url', call(self.hn, f'/v0/item/{self.asked}.json').json)
        self.assertIsNone(call(self.hn, '/v0/item/1.json').json)
        self.assertEqual(call(self.hn, '/v0/maxitem.json').json, comment)
        self.assertEqual(self.hn.counts(), {'item': 4, 'maxitem': 1})

    def test_limit(self):
        self.hn.limits(per_hour=2)
        self.assertEqual([self.search(PAGE).status for _ in range(3)], [200, 200, 429])
        self.clock.now += 3600
        self.assertEqual(self.search(PAGE).status, 200)

    def test_trouble_of_its_own(self):
        self.hn.become('blocked')
        self.assertEqual(self.search(PAGE).status, 403)
        self.hn.become('empty')
        self.assertEqual(self.search(PAGE).json['hits'], [])
        self.assertIsNone(call(self.hn, f'/v0/item/{self.story}.json').json)
        self.hn.become('partial')
        self.assertIs(self.search(PAGE).json['exhaustiveNbHits'], False)

    def test_recorded_shapes(self):
        names = ('search_by_url_shazow', 'santiagobasulto_1.1', 'santiagobasulto_item',
                 'items_tree_shazow', 'npm_hacker-news-api_fixtures')
        by_url, search, item, tree, pairs = (recorded(f'algolia/{name}.json') for name in names)
        if by_url is None:
            self.skipTest('no recorded answers')
        replies = [pair['reply'] for pair in pairs if 'hits' in pair['reply']]
        shape = Shape(by_url, search, *replies)
        self.assert_shape(shape, self.search(PAGE).json)
        self.assert_shape(shape, self.search('Word', tags='comment',
                                             restrictSearchableAttributes='text').json)
        self.assert_shape(shape, self.search('https://nobody.example/x/y').json)
        self.assert_shape(Shape(item, tree), call(self.hn, f'/api/v1/items/{self.story}').json)
        self.assert_shape(Shape(item, tree), call(self.hn, f'/api/v1/items/{self.asked}').json)


if __name__ == '__main__':
    unittest.main()
