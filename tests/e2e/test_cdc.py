"""`tain cdc install`, `remove`, `list` and `new-epoch`: tables of the user's own, from the command
line to the line that a reader gets; and what `tain doctor` says of them."""

import json
import unittest

from lib import E2E, EXIT_DONE, EXIT_FAILED, EXIT_USAGE, OnPostgres, OnSqlite, wait_until

PATIENCE = 120


class Cdc(E2E):
    schema = 'public'

    def cdc(self, archive, *words, code=EXIT_DONE):
        result = self.run_tain('cdc', *words, '--db', archive.uri)
        self.assertEqual(result.code, code, result)
        return result

    def tables(self, archive):
        report = json.loads(self.cdc(archive, 'list', '--json').out)
        return {t['table']: t for t in report['tables']}

    def with_orders(self):
        archive = self.archive()
        self.cdc(archive, 'install', '--table', 'nothing', code=EXIT_USAGE)  # makes the archive
        archive.execute(f'CREATE TABLE {self.schema}.orders '
                        '(id INTEGER PRIMARY KEY, v TEXT, secret TEXT)')
        return archive

    def tail(self, archive):
        """Every event that is kept."""
        result = self.cdc(archive, 'tail', '--no-follow', '--since', 'oldest')
        return [json.loads(line) for line in result.out.splitlines()]

    def write(self, archive, sql):
        archive.execute(sql.replace('orders', f'{self.schema}.orders'))

    def test_from_the_table_to_the_reader(self):
        archive = self.with_orders()
        said = self.cdc(archive, 'install', '--table', 'orders', '--columns', 'id,v').out
        self.assertIn(f'{self.schema}.orders is logged from now on: key id, id,v', said)
        self.write(archive, "INSERT INTO orders VALUES (1, 'a', 'x')")
        self.write(archive, "UPDATE orders SET v = 'b'")
        self.write(archive, 'DELETE FROM orders')
        events = self.tail(archive)
        self.assertEqual([(e['schema'], e['table'], e['action'], e['key'], e['data'])
                          for e in events],
                         [(self.schema, 'orders', 'insert', {'id': 1}, {'id': 1, 'v': 'a'}),
                          (self.schema, 'orders', 'update', {'id': 1}, {'id': 1, 'v': 'b'}),
                          (self.schema, 'orders', 'delete', {'id': 1}, {'id': 1, 'v': 'b'})])
        self.cdc(archive, 'remove', '--table', 'orders')
        self.write(archive, "INSERT INTO orders VALUES (2, 'a', 'x')")
        self.assertEqual(len(self.tail(archive)), 3)
        self.assertNotIn('orders', self.tables(archive))
        self.assertIn('not installed',
                      self.cdc(archive, 'remove', '--table', 'orders', code=EXIT_FAILED).err)

    def test_list(self):
        archive = self.with_orders()
        self.cdc(archive, 'install', '--table', f'{self.schema}.orders', '--columns', 'id,v',
                 '--public')
        found = self.tables(archive)
        self.assertEqual(set(found), {'items', 'users', 'links', 'link_processing',
                                       'external_discussions', 'orders'})
        orders = found['orders']
        self.assertEqual((orders['schema'], orders['key'], orders['columns'], orders['public'],
                          orders['present'], orders['trouble'], orders['failures']),
                         (self.schema, 'id', 'id,v', True, True, None, 0))
        text = self.cdc(archive, 'list').out
        self.assertRegex(text, rf'\n{self.schema}\.orders +public +id +id,v +logged\n')

    def test_wrong_usage(self):
        archive = self.with_orders()
        for words, said in ((('install',), 'install wants --table'),
                            (('remove',), 'remove wants --table'),
                            (('list', '--table', 'x'), '--table does not belong to list'),
                            (('remove', '--table', 'x', '--public'), '--public does not belong'),
                            (('install', '--table', 'orders', '--public'), 'list of columns'),
                            (('install', '--table', 'orders', '--columns', 'a,,b'), '--columns'),
                            (('install', '--table', 'orders', '--columns', '"v'), '--columns'),
                            (('install', '--table', 'orders', '--columns', 'v,no'), 'no column no'),
                            (('install', '--table', 'a.b.c'), 'does not name a table'),
                            (('install', '--table', 'change'), 'there is no table'),
                            (('grow',), 'give one of')):
            with self.subTest(words=words):
                self.assertIn(said, self.cdc(archive, *words, code=EXIT_USAGE).err)

    def test_new_epoch(self):
        archive = self.with_orders()
        first = archive.rows('SELECT MAX(epoch) FROM feed_epochs')[0][0]
        report = json.loads(self.cdc(archive, 'new-epoch', '--json').out)
        self.assertGreater(report['epoch'], first)
        self.assertIn('epoch', self.cdc(archive, 'new-epoch').out)

    def doctor(self, archive):
        demo = self.demo()
        result = self.run_tain('doctor', '--db', archive.uri, '--upstream', demo.url, '--json')
        self.assertEqual(result.code, EXIT_DONE, result)
        return [(c['level'], c['text']) for c in json.loads(result.out)['checks']
                if c['name'] == 'feed']

    def test_doctor(self):
        archive = self.with_orders()
        self.cdc(archive, 'install', '--table', 'orders')
        level, text = self.doctor(archive)[0]
        self.assertEqual((level, '1 table of your own' in text), ('ok', True), text)
        archive.execute(f'DROP TABLE {self.schema}.orders')
        level, text = self.doctor(archive)[0]
        self.assertEqual((level, 'the table is gone' in text), ('warn', True), text)


class CdcOnSqlite(OnSqlite, Cdc):
    schema = 'main'

    def test_what_is_no_utf8(self):
        archive = self.with_orders()
        self.cdc(archive, 'install', '--table', 'orders')
        self.write(archive, "INSERT INTO orders VALUES (1, CAST(x'636166e9' AS TEXT), 'x')")
        result = self.cdc(archive, 'tail', '--no-follow', '--since', 'oldest')
        self.assertEqual(json.loads(result.out)['data']['v'], 'caf?')


class CdcOnPostgres(OnPostgres, Cdc):
    def test_a_failure_is_healed_by_a_reader(self):
        archive = self.with_orders()
        self.cdc(archive, 'install', '--table', 'orders', '--columns', 'v')
        archive.execute('ALTER TABLE change_log ADD CONSTRAINT no CHECK (table_id < 100)')
        self.write(archive, "INSERT INTO orders VALUES (1, 'a', 'x')")
        self.assertEqual(self.tables(archive)['orders']['failures'], 1)
        self.assertIn(('warn', 'public.orders: 1 changes could not be logged and wait'),
                      self.doctor(archive))
        archive.execute('ALTER TABLE change_log DROP CONSTRAINT no')
        tail = self.start('cdc', 'tail', '--db', archive.uri, '--since', 'oldest')
        wait_until(lambda: not archive.rows('SELECT 1 FROM cdc_failures'), PATIENCE,
                   'the failure to be healed')
        tail.kill()
        self.assertEqual([e['data'] for e in self.tail(archive)], [{'v': 'a'}])

    def test_what_no_trigger_saw_is_read_again_and_mended_as_told(self):
        archive = self.archive()
        self.cdc(archive, 'install', '--table', 'nothing', code=EXIT_USAGE)  # makes the archive
        archive.execute('CREATE TABLE public.orders (id INTEGER PRIMARY KEY, v TEXT) '
                        'PARTITION BY RANGE (id)')
        archive.execute('CREATE TABLE public.few PARTITION OF public.orders '
                        'FOR VALUES FROM (0) TO (10)')
        self.cdc(archive, 'install', '--table', 'orders', '--columns', 'id,v', '--public')
        self.write(archive, "INSERT INTO orders VALUES (1, 'a')")
        archive.execute('TRUNCATE public.few')
        tail = self.start('cdc', 'tail', '--db', archive.uri, '--since', 'oldest')
        wait_until(lambda: [e['action'] for e in self.tail(archive)] == ['insert', 'resync'],
                   PATIENCE, 'the truncated partition to be told of')
        tail.kill()
        archive.execute('ALTER TABLE public.few DISABLE TRIGGER USER')
        command = 'tain cdc install --table public.orders --columns id,v --public'
        self.assertEqual(self.tables(archive)['orders']['mend'], command)
        self.assertIn(f'    {command}\n', self.cdc(archive, 'list').out)
        self.assertIn(command, self.run_tain('doctor', '--db', archive.uri, '--upstream',
                                             self.demo().url).out)
        self.cdc(archive, *command.split()[2:])
        self.assertEqual((self.tables(archive)['orders']['mend'],
                          self.tables(archive)['orders']['trouble']), (None, None))

    def test_texts_are_utf8_whatever_the_environment_says(self):
        archive = self.with_orders()
        self.cdc(archive, 'install', '--table', 'orders')
        self.write(archive, "INSERT INTO orders VALUES (1, U&'caf\\00e9', 'x')")
        result = self.run_tain('cdc', 'tail', '--no-follow', '--since', 'oldest', '--db',
                               archive.uri, env={'PGCLIENTENCODING': 'LATIN1'})
        self.assertEqual(result.code, EXIT_DONE, result)
        self.assertEqual(json.loads(result.out)['data']['v'], 'caf\u00e9')


del Cdc

if __name__ == '__main__':
    unittest.main()
