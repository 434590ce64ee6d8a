"""Whether the promises hold: DESIGN's invariants, from outside. Judge.look() holds at any instant,
Judge.settled() when there has been time to heal."""

import contextlib
import sqlite3

from lib import Look
from audit import Audit
from events import heard, id_of, log_of
from flowsheet import FINAL
from updater import differences

INDEXES = ('search_stories', 'search_comments')
PUBLIC = ('items', 'users', 'links', 'link_processing', 'external_discussions')


def proved_frontier(look):
    """The largest id below which all is settled, from mirror segments alone."""
    is_open = {}
    for x in look.exceptions:
        if x['state'] != 'terminal_missing':
            is_open[x['segment_id']] = min(x['id'], is_open.get(x['segment_id'], x['id']))
    last = (look.floor or 1) - 1
    for s in look.mirror:
        if s['start_id'] > last + 1:
            break
        last = min(s['cursor'], is_open.get(s['segment_id'], s['cursor'] + 1) - 1)
        if last < s['end_id']:
            break
    return last


class Judge:
    def __init__(self, world):
        self.world, self.archive = world, world.own
        self.audit = Audit(world.own, world.NAMED)
        self.ids = set()
        self.base = self.head()
        self.heard_to = self.base
        self.jumps = []  # (from, to) of positions: the clock by which stamps are made had jumped

    def head(self):
        return self.archive.rows('SELECT COALESCE(MAX(pos), 0) FROM changes')[0][0]

    def fail(self, wrong, what):
        if wrong:
            self.world.fail(f'{what}: {len(wrong)}\n' + '\n'.join(map(str, wrong[:8])))

    def look(self):
        """What holds at any instant."""
        world = self.world
        look = world.assert_invariants(self.archive)
        self.ids = world.assert_kept(self.ids, look.ids)
        proved = proved_frontier(look)
        if (look.frontier or 0) > proved:
            world.fail(f'the frontier is {look.frontier}, proved is {proved}')
        world.people.note_deaths()
        self.fail(self.audit.read(world.people.is_dead), 'fences and leases')
        self.fail(self._unlettered(look), 'dead letters without a row')
        self.fail(self._idle_exceptions(look), 'ids with an exception that need none')
        self._all_hear(whole=False)
        return look

    def _unlettered(self, look):
        letters = {row[0] for row in self.archive.rows(
            "SELECT item_id FROM ingest_dlq_items WHERE state = 'dead_letter'")}
        return [x for x in look.exceptions
                if x['state'] == 'dead_letter' and x['id'] not in letters]

    @staticmethod
    def _idle_exceptions(look):
        """Rows grow with trouble: who is stored and waits for nothing has none."""
        return [x for x in look.exceptions if x['id'] in look.ids
                and x['state'] == 'terminal_missing']

    # Readers of the feed

    def _all_hear(self, whole):
        """Answers {name: positions that were told of as a gap}."""
        frames = {name: list(reader.frames) for name, reader in self.world.readers.items()}
        log = log_of(self.archive)  # after what was heard
        self.heard_to = log[-1][0] if log else self.base
        return {name: self._hears(name, reader, frames[name], log, whole)
                for name, reader in self.world.readers.items()}

    def _hears(self, name, reader, frames, log, whole):
        """Every event once and in the order of the log, or an explicit gap; whole: up to the
        end."""
        if reader.failure:
            self.world.fail(f'{name}: {reader.failure!r}')
        events, at, skipped = [], self.base, set()
        for f in frames:
            if f.event == 'gap' or f.data.get('type') == 'gap':
                to = id_of(f.data['to'])[1]
                skipped.update(range(at + 1, to + 1))
                at = to
                continue
            pos = id_of(f.id)[1]
            if pos <= at:
                self.world.fail(f'{name}: {f} came at {at}')
            at = pos
            events.append(f)
        self.fail([entry for entry in log if entry[0] in skipped],
                  f'{name} was told of a gap, and these are in the log')
        tables = PUBLIC if reader.public else None
        expected = [entry for entry in log if entry[0] > self.base and entry[0] not in skipped
                    and (tables is None or entry[1] in tables) and (whole or entry[0] <= at)]
        if heard(events) != expected:
            got = heard(events)
            where = next((n for n, (a, b) in enumerate(zip(got, expected)) if a != b),
                         min(len(got), len(expected)))
            self.world.fail(f'{name} heard {len(got)} of {len(expected)} events; at {where} '
                            f'{got[where:where + 2]} is not {expected[where:where + 2]}')
        self._rises(name, events)
        return skipped

    def _rises(self, name, events):
        """Points of the made-up site only rise: an older answer never comes behind a newer one."""
        points = {}
        for f in events:
            if f.data['table'] != 'items' or not f.data.get('data'):
                continue
            item, score = f.data['key']['id'], f.data['data'].get('score')
            pos = id_of(f.id)[1]
            if score is None:
                continue
            if score < points.get(item, score) and not any(lo <= pos <= hi
                                                           for lo, hi in self.jumps):
                self.world.fail(f'{name}: item {item} had {points[item]} points and then {score}')
            points[item] = score

    def all_heard(self):
        for name, skipped in self._all_hear(whole=True).items():
            if not skipped:
                self._replica(name, self.world.readers[name])

    def _replica(self, name, reader):
        """Who applies every event to a copy of his own has, row by row, what the table says."""
        tables = {'items': ('id, score, title, descendants', 'items')}
        if not reader.public:
            tables['flowsheet'] = ('id, metadata_status, artwork_url', self.world.table)
        for table, (columns, place) in tables.items():
            names = columns.split(', ')
            copy = {}
            for f in list(reader.frames):
                if f.data.get('table') == table and f.data['action'] != 'delete':
                    copy[f.data['key']['id']] = tuple(f.data['data'][n] for n in names)
            rows = {row[0]: tuple(row) for row in self.archive.rows(
                f'SELECT {columns} FROM {place}')}
            wrong = [f'{row} is {rows.get(key)}' for key, row in copy.items()
                     if tuple(map(str, row)) != tuple(map(str, rows.get(key, ())))]
            if table == 'flowsheet':
                wrong += [f'row {key} was never heard of' for key in rows if key not in copy]
            if wrong and table == 'flowsheet' and self.world.lost_aloud():
                continue  # without room for a note there is a warning, and no more
            self.fail(wrong, f'what {name} would have of {table}')

    # In the end

    def all_indexed(self):
        """The search index has what it would have if it were made anew. What those who stopped have
        left to be indexed is noted, and no loss: that is done first."""
        before = self._indexed()
        self.archive.execute('INSERT INTO index_work (lo, hi, noted_at) '
                             'SELECT MIN(id), MAX(id), 1 FROM items')
        after = self._indexed()
        self.fail(sorted(before ^ after), 'entries of the search index that differ from one made '
                                          'anew')

    def _indexed(self):
        done = self.world.run_tain('search', '--index', '--db', self.archive.uri)
        self.world.assertEqual(done.code, 0, done)
        return self._index()

    def _index(self):
        """{(table, item, words)}; SQLite's index keeps no texts, but the words that it knows."""
        if self.world.NAMED:
            return {(table, *row) for table in INDEXES
                    for row in self.archive.rows(f'SELECT item_id, words::text FROM {table}')}
        found = set()
        with contextlib.closing(sqlite3.connect(self.archive.path)) as db:
            for table in INDEXES:
                db.execute(f"CREATE VIRTUAL TABLE temp.{table}_words USING fts5vocab('main', "
                           f"'{table}', 'instance')")
                found.update((table, *row) for row in db.execute(
                    f'SELECT doc, group_concat(term) FROM (SELECT doc, term FROM '
                    f'temp.{table}_words ORDER BY doc, col, offset, term) GROUP BY doc'))
        return found

    def unsettled(self):
        """What is not as it should be yet, in words; empty: all has healed."""
        world, a = self.world, self.archive
        wrong = differences(a, world.upstream)
        if wrong:
            return wrong
        look = Look(a.snapshot())
        truth = world.upstream.now(world.upstream.first, world.upstream.maxitem)
        waits = [x for x in look.exceptions if x['state'] != 'terminal_missing']
        wrong += [f'open: {x}' for x in waits
                  if truth.get(x['id'], x) is not None or x['state'] == 'dead_letter']
        if look.frontier_waiting != world.upstream.maxitem:
            wrong.append(f'frontier {look.frontier_waiting}, not {world.upstream.maxitem}')
        if (look.frontier or 0) != proved_frontier(look):
            wrong.append(f'frontier {look.frontier}, proved {proved_frontier(look)}')
        if len(look.segments) > 4 + 2 * len(waits):
            wrong.append(f'{len(look.segments)} segments for {len(waits)} ids that wait')
        states = world.states(a)
        if set(states) - set(FINAL):
            wrong.append(f'rows of the flowsheet: {states}')
        wrong += [f'{n} {what}' for n, what in self._left(a) if n]
        wrong += self.unheard()
        return wrong

    def unheard(self):
        """Who of the readers is behind, in words."""
        log = log_of(self.archive)
        for name, reader in self.world.readers.items():
            last = max((pos for pos, table, _, _ in log if not reader.public or table in PUBLIC),
                       default=self.base)
            if last > self.base and (not reader.last or id_of(reader.last)[1] < last):
                yield f'{name} stands at {reader.last}, not {last}'
        if self.world.NAMED and self.archive.rows('SELECT 1 FROM change_log WHERE pos IS NULL'):
            yield 'changes have no position'

    def _left(self, a):
        yield a.rows("SELECT COUNT(*) FROM claims WHERE state = 'held'")[0][0], 'claims are held'
        yield a.rows('SELECT COUNT(*) FROM index_work')[0][0], 'ranges wait for the index'
        if self.world.NAMED:
            yield a.rows('SELECT COUNT(*) FROM cdc_failures')[0][0], 'changes wait to be healed'
