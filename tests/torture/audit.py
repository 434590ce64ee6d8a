"""Who did what to the rows that are fenced, written down by triggers of the tests' own in the
transaction that did it: a look from outside sees what is there, this sees how it came about.

On PostgreSQL every process has a name of its own (application_name), so that each write of a fenced
row can be held against the name that holds it. On SQLite nobody has a name, and what is left is
that a cursor never goes back and that nobody is freed before his lease is over.
"""

from flowsheet import FINAL

TABLE = """CREATE TABLE {audit} (n {serial}, at BIGINT, who TEXT, kind TEXT, key TEXT,
    token BIGINT, new_token BIGINT, holder TEXT, new_holder TEXT, until BIGINT,
    cursor BIGINT, new_cursor BIGINT, state TEXT, new_state TEXT, stamps TEXT, new_stamps TEXT)"""
COLUMNS = ('n', 'at', 'who', 'kind', 'key', 'token', 'new_token', 'holder', 'new_holder', 'until',
           'cursor', 'new_cursor', 'state', 'new_state', 'stamps', 'new_stamps')
SLACK_MS = 5000

# kind: table, when, and the expressions for key .. stamps; {o} and {n} are the old and new row.
NOTHING = 'NULL'
SAID = ('deleted', 'type', 'by', 'time', 'text', 'dead', 'parent', 'poll', 'url', 'score', 'title',
        'parts', 'descendants', 'story_id', 'url_key', 'domain', 'content_hash', 'kids_hash')
SAME = '{n}.last_changed_at <> {o}.last_changed_at AND ' + ' AND '.join(
    f'{{n}}.{name} IS NOT DISTINCT FROM {{o}}.{name}' for name in SAID)
KINDS = {
    'segment': ('ingest_segments', 'UPDATE', None, (
        '{n}.segment_id', '{o}.lease_token', '{n}.lease_token', '{o}.holder', '{n}.holder',
        '{o}.lease_until', '{o}.scan_cursor_id', '{n}.scan_cursor_id', '{o}.status', '{n}.status',
        NOTHING, NOTHING)),
    'updater': ('updater_state', 'UPDATE', None, (
        '1', '{o}.updater_token', '{n}.updater_token', '{o}.updater_holder', '{n}.updater_holder',
        '{o}.updater_lease_until', NOTHING, NOTHING, NOTHING, NOTHING,
        "COALESCE({o}.last_sse_event_at, 0) || ' ' || COALESCE({o}.last_rescan_at, 0)",
        "COALESCE({n}.last_sse_event_at, 0) || ' ' || COALESCE({n}.last_rescan_at, 0)")),
    'claim': ('claims', 'UPDATE', None, (
        '{n}.key', '{o}.token', '{n}.token', '{o}.holder', '{n}.holder', '{o}.lease_until',
        NOTHING, NOTHING, '{o}.state', '{n}.state', NOTHING, NOTHING)),
    'claimed': ('claims', 'INSERT', None, (
        '{n}.key', NOTHING, '{n}.token', NOTHING, '{n}.holder', NOTHING, NOTHING, NOTHING, NOTHING,
        '{n}.state', NOTHING, NOTHING)),
    'row': ('{flowsheet}', 'UPDATE', '{o}.metadata_status <> {n}.metadata_status', (
        '{n}.id', NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING,
        '{o}.metadata_status', '{n}.metadata_status', NOTHING, NOTHING)),
    'same': ('items', 'UPDATE', SAME, ('{n}.id',) + (NOTHING,) * 11),
    'stamp': ('items', 'UPDATE', '{n}.last_fetched_at < {o}.last_fetched_at', (
        '{n}.id', NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, '{o}.last_fetched_at',
        '{n}.last_fetched_at', NOTHING, NOTHING, NOTHING, NOTHING)),
}


def _insert(audit, now, who, kind, values):
    values = ', '.join(values).format(o='OLD', n='NEW')
    return (f"INSERT INTO {audit} ({', '.join(COLUMNS[1:])}) "
            f"VALUES ({now}, {who}, '{kind}', {values})")


def _on_postgres(kind, table, deed, condition, values, flowsheet):
    table = table.format(flowsheet=flowsheet)
    table = table if '.' in table else 'tain.' + table
    insert = _insert('torture.audit', '(extract(epoch FROM clock_timestamp()) * 1000)::bigint',
                     "current_setting('application_name')", kind, values)
    when = f"WHEN ({condition.format(o='OLD', n='NEW')})" if condition else ''
    return (f'CREATE FUNCTION torture.note_{kind}() RETURNS trigger LANGUAGE plpgsql SECURITY '
            f'DEFINER AS $$ BEGIN {insert}; RETURN NULL; END $$',
            f'CREATE TRIGGER torture_{kind} AFTER {deed} ON {table} FOR EACH ROW {when} '
            f'EXECUTE FUNCTION torture.note_{kind}()')


def _on_sqlite(kind, table, deed, condition, values, flowsheet):
    insert = _insert('torture_audit',
                     "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)", 'NULL', kind,
                     values)
    when = f"WHEN {condition.format(o='OLD', n='NEW')}" if condition else ''
    return (f'CREATE TRIGGER torture_{kind} AFTER {deed} ON {table.format(flowsheet=flowsheet)} '
            f'{when} BEGIN {insert}; END',)


# At the commit: each id that a cursor passed has a row. (SQLite has no trigger so late.)
HOLES = """CREATE FUNCTION torture.note_hole() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
$$ DECLARE hole BIGINT; BEGIN
    SELECT g INTO hole FROM generate_series(OLD.scan_cursor_id + 1, NEW.scan_cursor_id) g
    WHERE NOT EXISTS (SELECT 1 FROM tain.items WHERE id = g)
      AND NOT EXISTS (SELECT 1 FROM tain.ingest_exceptions WHERE item_id = g) LIMIT 1;
    IF FOUND THEN
        INSERT INTO torture.audit (who, kind, key, cursor, new_cursor)
        VALUES (current_setting('application_name'), 'hole', hole, OLD.scan_cursor_id,
                NEW.scan_cursor_id);
    END IF;
    RETURN NULL;
END $$""", """CREATE CONSTRAINT TRIGGER torture_hole AFTER UPDATE ON tain.ingest_segments
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.scan_cursor_id > OLD.scan_cursor_id AND NEW.start_id = OLD.start_id
          AND NEW.purpose IN ('mirror', 'gap'))
    EXECUTE FUNCTION torture.note_hole()"""


# What an item said is kept before it says something else.
REVISED = """SELECT 1 FROM {schema}item_revisions r WHERE r.item_id = OLD.id
    AND r.content_hash = OLD.content_hash AND r.fetched_at = OLD.last_fetched_at"""
REVISIONS_PG = f"""CREATE FUNCTION torture.note_unkept() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER AS $$ BEGIN
    IF NOT EXISTS ({REVISED.format(schema='tain.')}) THEN
        INSERT INTO torture.audit (who, kind, key)
        VALUES (current_setting('application_name'), 'unkept', OLD.id);
    END IF;
    RETURN NULL;
END $$""", """CREATE CONSTRAINT TRIGGER torture_unkept AFTER UPDATE ON tain.items
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.content_hash <> OLD.content_hash)
    EXECUTE FUNCTION torture.note_unkept()"""
# Rows may move from one partition to another: it is the end of the transaction that counts.
ERASED_PG = """CREATE FUNCTION torture.note_erased() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER AS $$ BEGIN
    IF NOT EXISTS (SELECT 1 FROM tain.items WHERE id = OLD.id) THEN
        INSERT INTO torture.audit (who, kind, key)
        VALUES (current_setting('application_name'), 'erased', OLD.id);
    END IF;
    RETURN NULL;
END $$""", """CREATE CONSTRAINT TRIGGER torture_erased AFTER DELETE ON tain.items
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION torture.note_erased()"""
ERASED_SQLITE = ("CREATE TRIGGER torture_erased AFTER DELETE ON items BEGIN "
                 "INSERT INTO torture_audit (kind, key) VALUES ('erased', OLD.id); END",)
REVISIONS_SQLITE = (
    'CREATE TRIGGER torture_unkept AFTER UPDATE ON items WHEN NEW.content_hash <> OLD.content_hash '
    f"AND NOT EXISTS ({REVISED.format(schema='')}) BEGIN "
    "INSERT INTO torture_audit (kind, key) VALUES ('unkept', OLD.id); END",)


def install(archive, named, flowsheet):
    """named: on PostgreSQL, where processes have names."""
    if named:
        archive.execute('CREATE SCHEMA torture')
        archive.execute(TABLE.format(audit='torture.audit', serial='BIGSERIAL PRIMARY KEY'))
        archive.execute('GRANT ALL ON SCHEMA torture TO PUBLIC')
    else:
        archive.execute(TABLE.format(audit='torture_audit',
                                     serial='INTEGER PRIMARY KEY AUTOINCREMENT'))
    for kind, (table, deed, condition, values) in KINDS.items():
        make = _on_postgres if named else _on_sqlite
        for statement in make(kind, table, deed, condition, values, flowsheet):
            archive.execute(statement)
    for statement in ((*HOLES, *REVISIONS_PG, *ERASED_PG) if named
                      else (*REVISIONS_SQLITE, *ERASED_SQLITE)):
        archive.execute(statement)


def look_away(archive):
    """The triggers on items are gone; what brings them back."""
    found = archive.rows('SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = '
                         "'tain.items'::regclass AND tgname LIKE 'torture%' AND NOT tgisinternal")
    archive.execute('; '.join(f'DROP TRIGGER {name} ON tain.items' for name, _ in found))
    return [definition for _, definition in found]


class Audit:
    """Reads on where it left off. What is wrong is answered in words."""

    def __init__(self, archive, named):
        self.archive, self.named = archive, named
        self.table = 'torture.audit' if named else 'torture_audit'
        self.last, self.owners, self.finals, self.freed = 0, {}, {}, 0
        self.excused = []  # (from, to) of n: the clock by which leases are judged had jumped

    def position(self):
        return self.archive.rows(f'SELECT COALESCE(MAX(n), 0) FROM {self.table}')[0][0]

    def read(self, is_dead):
        """is_dead(holder): that process is known to be gone."""
        rows = self.archive.rows(f"SELECT {', '.join(COLUMNS)} FROM {self.table} "
                                 f'WHERE n > {self.last} ORDER BY n')
        wrong = []
        for row in rows:
            row = dict(zip(COLUMNS, row))
            self.last = row['n']
            said = getattr(self, '_' + row['kind'])(row, is_dead)
            if said:
                wrong.append(f'{said}: {row}')
        return wrong

    def _jumped(self, row):
        return any(lo <= row['n'] <= hi for lo, hi in self.excused)

    def _fenced(self, row, is_dead, held, touched):
        """A row with a holder and a token: whoever writes it holds it; whoever frees it may."""
        key = (row['kind'].replace('claimed', 'claim'), row['key'])
        if row['new_token'] != row['token'] and row['new_holder']:
            is_other = row['holder'] and row['holder'] != row['new_holder']
            if held and is_other and not self._over(row, is_dead):
                return 'taken from one that lives'
            self.owners[key] = row['who'], row['new_token']
            return None
        if not held:
            return None
        if row['new_token'] != row['token']:  # freed
            self.freed += 1
            return None if self._over(row, is_dead) else 'freed though its lease was not over'
        owner = self.owners.get(key)
        if self.named and touched and owner and owner != (row['who'], row['token']):
            return f"written by {row['who']}, held by {owner}"
        return None

    def _over(self, row, is_dead):
        return ((row['until'] or 0) < row['at'] or is_dead(row['holder']) or self._jumped(row))

    def _segment(self, row, is_dead):
        held = row['state'] == 'in_progress'
        if held and row['new_token'] == row['token'] and row['new_cursor'] < row['cursor']:
            return 'the cursor went back'
        touched = any(row[name] != row['new_' + name] for name in ('cursor', 'state', 'holder'))
        return self._fenced(row, is_dead, held, touched)

    @staticmethod
    def _hole(*_):
        return 'the cursor passed an id that has no row'

    @staticmethod
    def _erased(*_):
        return 'a stored item was deleted'

    @staticmethod
    def _same(*_):
        return 'called changed, and it says what it said'

    @staticmethod
    def _unkept(*_):
        return 'says something else, and what it said is in no revision'

    def _updater(self, row, is_dead):
        return self._fenced(row, is_dead, bool(row['holder']), row['stamps'] != row['new_stamps'])

    def _claim(self, row, is_dead):
        return self._fenced(row, is_dead, row['state'] == 'held', row['state'] != row['new_state'])

    _claimed = _claim

    def _row(self, row, _):
        if row['state'] in FINAL:
            return 'a final row was changed'
        if row['new_state'] not in FINAL:
            return None
        self.finals[row['key']] = self.finals.get(row['key'], 0) + 1
        owner = self.owners.get(('claim', row['key']))
        if self.finals[row['key']] > 1:
            return 'finalized twice'
        given_up = row['new_state'] == 'failed_no_retry'  # by a sweep: its workers died
        if self.named and not given_up and (not owner or owner[0] != row['who']):
            return f"finalized by {row['who']}, held by {owner}"
        return None

    def _stamp(self, row, _):
        """A stamp further ahead than clocks differ was made by a wrong clock: it counts as none."""
        if row['cursor'] > row['at'] + SLACK_MS or self._jumped(row):
            return None
        return 'an older fetch overwrote a newer one'
