ALTER TABLE updater_state
    ADD COLUMN last_sse_event_at BIGINT,
    ADD COLUMN last_rescan_at BIGINT,
    ADD COLUMN updater_holder TEXT,
    ADD COLUMN updater_token BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN updater_lease_until BIGINT;

ALTER TABLE ingest_dlq_items ADD COLUMN rung INTEGER NOT NULL DEFAULT 0;
CREATE INDEX ingest_dlq_due ON ingest_dlq_items (source, next_retry_at)
    WHERE state = 'retry_wait';
CREATE INDEX ingest_dlq_past ON ingest_dlq_items (source, resolved_at) WHERE state = 'resolved';

CREATE TABLE users (
    id              TEXT PRIMARY KEY,
    created         BIGINT,
    karma           BIGINT,
    about           TEXT,
    submitted       BIGINT[],
    gone            BOOLEAN NOT NULL DEFAULT false,
    content_hash    BIGINT NOT NULL,
    first_seen_at   BIGINT NOT NULL,
    last_fetched_at BIGINT NOT NULL,
    last_changed_at BIGINT NOT NULL
);

CREATE TABLE user_work (
    name          TEXT PRIMARY KEY,
    attempts      INTEGER NOT NULL,
    next_retry_at BIGINT NOT NULL,
    last_error    TEXT
);
CREATE INDEX user_work_due ON user_work (next_retry_at);

CREATE TABLE lists (
    name       TEXT PRIMARY KEY,
    ids        BIGINT[] NOT NULL,
    seen_at    BIGINT NOT NULL,
    changed_at BIGINT NOT NULL
);

CREATE TABLE update_ages (
    bucket INTEGER PRIMARY KEY,
    n      BIGINT NOT NULL
);
