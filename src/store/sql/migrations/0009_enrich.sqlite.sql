-- Enrichment: who holds which row with which token, and what each provider allows.

-- A claim outlives its work: its token must never be given out twice. held: being worked on until
-- lease_until; free: not held, to be claimed again, not before next_try_at; done: its row is final,
-- with this outcome. No CHECK with IN: SQLite builds a table of its values for every row.
CREATE TABLE claims (
    source      TEXT NOT NULL,
    key         TEXT NOT NULL,
    token       INTEGER NOT NULL,
    state       TEXT NOT NULL CHECK (state = 'held' OR state = 'done' OR state = 'free'),
    holder      TEXT,
    lease_until INTEGER,
    attempts    INTEGER NOT NULL DEFAULT 0,
    next_try_at INTEGER,
    error_class TEXT,
    error       TEXT,
    outcome     TEXT CHECK (outcome = 'match' OR outcome = 'no_match' OR outcome = 'failed'),
    updated_at  INTEGER,
    PRIMARY KEY (source, key)
) WITHOUT ROWID;
CREATE INDEX claims_held ON claims (source, lease_until) WHERE state = 'held';
CREATE INDEX claims_waiting ON claims (source, next_try_at)
    WHERE state = 'free' AND next_try_at IS NOT NULL;
CREATE INDEX claims_no_match ON claims (source, updated_at) WHERE outcome = 'no_match';

-- A provider of enrichment is a lane. per_window 0: no limit; NULL: it is no lane (the upstream).
ALTER TABLE providers ADD COLUMN per_window INTEGER;
ALTER TABLE providers ADD COLUMN window_ms INTEGER NOT NULL DEFAULT 60000;
ALTER TABLE providers ADD COLUMN slots INTEGER NOT NULL DEFAULT 0;
ALTER TABLE providers ADD COLUMN not_before INTEGER NOT NULL DEFAULT 0;
ALTER TABLE providers ADD COLUMN breaker TEXT NOT NULL DEFAULT 'closed'
    CHECK (breaker IN ('closed', 'open', 'half_open'));
ALTER TABLE providers ADD COLUMN breaker_until INTEGER NOT NULL DEFAULT 0;
ALTER TABLE providers ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE providers ADD COLUMN trips INTEGER NOT NULL DEFAULT 0;
ALTER TABLE providers ADD COLUMN paused TEXT CHECK (paused IN ('by_hand', 'auth'));
ALTER TABLE providers ADD COLUMN paused_why TEXT;
ALTER TABLE providers ADD COLUMN paused_at INTEGER;

-- One row per call that may be under way at once; free when it has no holder, or after its time.
CREATE TABLE provider_slots (
    provider TEXT NOT NULL,
    slot     INTEGER NOT NULL,
    holder   TEXT,
    until    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (provider, slot)
) WITHOUT ROWID;

-- Under which name clients of the feed hear of a row: when its status is one of the states, a JSON
-- list. One per source; file is where the source was read from.
CREATE TABLE feed_topics (
    source        TEXT PRIMARY KEY,
    topic         TEXT NOT NULL,
    schema_name   TEXT NOT NULL,
    table_name    TEXT NOT NULL,
    status_column TEXT NOT NULL,
    states        TEXT NOT NULL,
    file          TEXT NOT NULL
) WITHOUT ROWID;
-- How often they have changed.
ALTER TABLE feed_state ADD COLUMN topics INTEGER NOT NULL DEFAULT 0;
