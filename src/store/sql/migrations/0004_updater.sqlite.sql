ALTER TABLE updater_state ADD COLUMN last_sse_event_at INTEGER;
ALTER TABLE updater_state ADD COLUMN last_rescan_at INTEGER;
ALTER TABLE updater_state ADD COLUMN updater_holder TEXT;
ALTER TABLE updater_state ADD COLUMN updater_token INTEGER NOT NULL DEFAULT 0;
ALTER TABLE updater_state ADD COLUMN updater_lease_until INTEGER;

ALTER TABLE ingest_dlq_items ADD COLUMN rung INTEGER NOT NULL DEFAULT 0;
CREATE INDEX ingest_dlq_due ON ingest_dlq_items (source, next_retry_at)
    WHERE state = 'retry_wait';
CREATE INDEX ingest_dlq_past ON ingest_dlq_items (source, resolved_at) WHERE state = 'resolved';

CREATE TABLE users (
    id              TEXT NOT NULL PRIMARY KEY,
    created         INTEGER,
    karma           INTEGER,
    about           TEXT,
    submitted       TEXT,
    gone            INTEGER NOT NULL DEFAULT 0,
    content_hash    INTEGER NOT NULL,
    first_seen_at   INTEGER NOT NULL,
    last_fetched_at INTEGER NOT NULL,
    last_changed_at INTEGER NOT NULL
);

CREATE TABLE user_work (
    name          TEXT NOT NULL PRIMARY KEY,
    attempts      INTEGER NOT NULL,
    next_retry_at INTEGER NOT NULL,
    last_error    TEXT
) WITHOUT ROWID;
CREATE INDEX user_work_due ON user_work (next_retry_at);

CREATE TABLE lists (
    name       TEXT NOT NULL PRIMARY KEY,
    ids        TEXT NOT NULL,
    seen_at    INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
);

CREATE TABLE update_ages (
    bucket INTEGER PRIMARY KEY,
    n      INTEGER NOT NULL
);
