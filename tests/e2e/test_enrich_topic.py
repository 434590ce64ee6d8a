"""A source's topic: whoever listens to `liveFs:update` hears of a row once, when it is final."""

import json
import os
import subprocess
import unittest

from lib import BUILD, EXIT_DONE, EXIT_USAGE, ROOT, environment, wait_until
from events import KEY, EventStream
from flowsheet import FINAL, TABLE, EnrichTest
from lookup import columns_of
from npm import npm_folder
from serve import Server

TOPIC = 'liveFs:update'
COLUMNS = 'id,artist_name,album_title,metadata_status,artwork_url'


class TopicTest(EnrichTest):
    def serve(self, archive):
        return Server(self, archive, env={'TAIN_CDC_KEY': KEY})

    def listen(self, server, query=f'?topics={TOPIC}', key=True, **options):
        headers = [f'Authorization: Bearer {KEY}'] if key else []
        stream = EventStream(server.port, query, headers=headers, **options)
        self.addCleanup(stream.close)
        return stream

    def make_public(self, archive, columns=COLUMNS):
        done = self.run_tain('cdc', 'install', '--table', TABLE, '--public', '--columns', columns,
                             '--db', archive.uri)
        self.assertEqual(done.code, 0, done)

    def assert_final(self, frames, names):
        """One event for each of these artists, with the row as it is in the end."""
        self.assertEqual(sorted(f.data['data']['artist_name'] for f in frames), sorted(names))
        for f in frames:
            self.assertEqual((f.event, f.id, f.data['action'], f.data['table']),
                             (TOPIC, f.data['id'], 'update', 'flowsheet'))
            self.assertIn(f.data['data']['metadata_status'], FINAL)


class Topic(TopicTest):
    def test_a_final_row_is_heard_once(self):
        archive, lookup = self.flowsheet(), self.lookup()
        run = self.ready(self.worker(archive, lookup))
        servers = [self.serve(archive) for _ in range(2)]
        streams = [self.listen(server) for server in servers]
        whole = self.listen(servers[0], f'?topics={TABLE}')
        for stream in (*streams, whole):
            stream.wait_hello()
        self.insert(archive, 'Artist 1', 'Nobody 2')
        self.wait_final(archive, 2, [run])
        self.assertEqual(len(whole.wait_events(6)), 6)  # the insert, the claim and the end of each
        self.assertEqual({f.event for f in whole.events()}, {'flowsheet'})
        archive.execute(f"DELETE FROM {TABLE} WHERE artist_name = 'Nobody 2'")
        self.insert(archive, 'Artist 3')  # what came before its end is out
        self.wait_final(archive, 2, [run])
        for stream in streams:
            frames = stream.wait_events(3)
            self.assert_final(frames, ['Artist 1', 'Nobody 2', 'Artist 3'])
            rows = {f.data['data']['artist_name']: f.data['data'] for f in frames}
            row = rows['Artist 1']
            self.assertEqual(row, dict(row, metadata_status='enriched_match', enriching_since=None,
                                       **columns_of('Artist 1', 'Album')))
        self.assertEqual([f.id for f in streams[0].events()], [f.id for f in streams[1].events()])

    def test_a_client_that_was_there_before(self):
        """The topic is made while the server runs, and may be asked for at once."""
        archive, lookup = self.flowsheet(), self.lookup()
        server = self.serve(archive)
        before = self.listen(server, f'?topics={TABLE}')
        start = before.wait_hello().id
        self.insert(archive, 'Artist 1')
        before.wait_events(1)  # now the server's reader has read, and knew of no topic
        answer = server.get(f'/events?topics={TOPIC}', {'Authorization': f'Bearer {KEY}'})
        self.assertEqual(answer.status, 400, answer.text)
        run = self.ready(self.worker(archive, lookup))
        self.wait_final(archive, 1, [run])
        stream = self.listen(server, last=start)
        self.assert_final(stream.wait_events(1), ['Artist 1'])
        self.insert(archive, 'Artist 2')
        self.assert_final(stream.wait_events(2), ['Artist 1', 'Artist 2'])

    def test_going_on_behind_the_last(self):
        archive, lookup = self.flowsheet(), self.lookup()
        run = self.ready(self.worker(archive, lookup))
        server = self.serve(archive)
        stream = self.listen(server)
        stream.wait_hello()
        self.insert(archive, 'Artist 1')
        last = stream.wait_events(1)[0].id
        stream.close()
        self.insert(archive, 'Artist 2', 'Artist 3')
        self.wait_final(archive, 3, [run])
        self.assert_final(self.listen(server, last=last).wait_events(2), ['Artist 2', 'Artist 3'])
        server = self.serve(archive)  # one that reads it from the log
        again = self.listen(server, last=last)
        self.assert_final(again.wait_events(2), ['Artist 2', 'Artist 3'])
        self.insert(archive, 'Nobody 4')
        self.assert_final(again.wait_events(3)[2:], ['Nobody 4'])
        tail = self.run_tain('cdc', 'tail', '--tables', TOPIC, '--since', last, '--no-follow',
                             '--db', archive.uri)
        self.assertEqual(tail.code, EXIT_DONE, tail)
        told = [json.loads(line)['data']['artist_name'] for line in tail.out.splitlines()]
        self.assertEqual(sorted(told), ['Artist 2', 'Artist 3', 'Nobody 4'])

    def test_with_the_table(self):
        """Both may be asked for; an event comes once, under the name that says more."""
        archive, lookup = self.flowsheet(), self.lookup()
        self.ready(self.worker(archive, lookup))
        stream = self.listen(self.serve(archive), f'?topics=flowsheet,{TOPIC}')
        stream.wait_hello()
        self.insert(archive, 'Artist 1')
        frames = stream.wait_events(3)
        self.assertEqual([f.event for f in frames], ['flowsheet', 'flowsheet', TOPIC])
        archive.execute(f"UPDATE {TABLE} SET metadata_status = 'pending'")
        frames = stream.wait_events(6)
        self.assertEqual([f.event for f in frames[3:]], ['flowsheet', 'flowsheet', TOPIC])

    def test_who_may_hear_it(self):
        archive, lookup = self.flowsheet(), self.lookup()
        run = self.ready(self.worker(archive, lookup))
        server = self.serve(archive)
        answer = server.get(f'/events?topics={TOPIC}')
        self.assertEqual(answer.status, 400)
        self.assertEqual(answer.json['message'], f'topics: there is no public "{TOPIC}"; there are '
                         'items, users, links, link_processing, external_discussions')
        wrong = server.get(f'/events?topics={TOPIC}', {'Authorization': 'Bearer another'})
        self.assertEqual(wrong.status, 403)
        answer = server.get('/events?topics=liveFs', {'Authorization': f'Bearer {KEY}'})
        self.assertEqual(answer.status, 400)
        self.assertRegex(answer.json['message'],
                         'there are items, users, links, link_processing, external_discussions, '
                         f'{TABLE}, {TOPIC}$')
        self.make_public(archive)
        open_to_all = self.listen(server, key=False)
        with_key = self.listen(server)
        for stream in (open_to_all, with_key):
            stream.wait_hello()
        self.insert(archive, 'Artist 1')
        self.wait_final(archive, 1, [run])
        for stream in (open_to_all, with_key):
            frames = stream.wait_events(1)
            self.assert_final(frames, ['Artist 1'])
            self.assertEqual(sorted(frames[0].data['data']), sorted(COLUMNS.split(',')))

    def test_a_topic_goes_with_its_source(self):
        archive, lookup = self.flowsheet(), self.lookup()
        path = self.sources()
        text = path.read_text(encoding='utf-8')
        topics = lambda: archive.rows('SELECT source, topic FROM feed_topics')  # noqa: E731

        def start_with(changed):
            path.write_text(changed, encoding='utf-8')
            run = self.ready(self.worker(archive, lookup, path))
            run.signal(15)
            self.assertEqual(run.wait().code, EXIT_DONE)
        start_with(text)
        self.assertEqual(topics(), [('flowsheet', TOPIC)])
        start_with(text.replace(TOPIC, 'other'))
        self.assertEqual(topics(), [('flowsheet', 'other')])
        start_with(text.replace('source flowsheet', 'source renamed'))
        self.assertEqual(topics(), [('renamed', TOPIC)])
        start_with(text.replace('source flowsheet', 'source renamed')
                   .replace(f'topic = "{TOPIC}"', ''))
        self.assertEqual(topics(), [])
        tail = self.run_tain('cdc', 'tail', '--tables', TOPIC, '--no-follow', '--db', archive.uri)
        self.assertEqual(tail.code, EXIT_USAGE, tail)

    def test_a_state_that_is_not_logged(self):
        archive, lookup = self.flowsheet(install=False), self.lookup()
        self.make_public(archive, 'id,artist_name,artwork_url')
        run = self.ready(self.worker(archive, lookup))
        wait_until(lambda: 'metadata_status' in run.so_far(), what='a warning')
        self.assertIn('nobody will hear of its topic', run.so_far())


class Published(TopicTest):
    def test_eventsource_of_npm(self):
        folder = npm_folder(BUILD, 'events', {'eventsource': '3.0.2'})
        archive, lookup = self.flowsheet(install=False), self.lookup()
        self.make_public(archive)
        run = self.ready(self.worker(archive, lookup))
        server = self.serve(archive)
        client = subprocess.Popen(
            ['node', str(ROOT / 'tests' / 'npm' / 'events.cjs'),
             f'{server.origin}/events?topics={TOPIC}', '2', TOPIC],
            env=environment({'TAIN_NPM_FOLDER': str(folder), 'PATH': os.environ['PATH']}),
            stdout=subprocess.PIPE, text=True, cwd=self.folder)
        self.addCleanup(client.stdout.close)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        self.assertEqual(json.loads(client.stdout.readline())['event'], 'hello')
        self.insert(archive, 'Artist 1', 'Nobody 2')
        self.wait_final(archive, 2, [run])
        got = [json.loads(client.stdout.readline()) for _ in range(2)]
        self.assertEqual({line['event'] for line in got}, {TOPIC})
        rows = [line['data']['data'] for line in got]
        self.assertEqual({row['artist_name']: row['metadata_status'] for row in rows},
                         {'Artist 1': 'enriched_match', 'Nobody 2': 'enriched_no_match'})


if __name__ == '__main__':
    unittest.main()
