CREATE TABLE items (
    id              INTEGER PRIMARY KEY,
    deleted         INTEGER NOT NULL DEFAULT 0,
    type            TEXT,
    by              TEXT,
    time            INTEGER,
    text            TEXT,
    dead            INTEGER NOT NULL DEFAULT 0,
    parent          INTEGER,
    poll            INTEGER,
    url             TEXT,
    score           INTEGER,
    title           TEXT,
    parts           TEXT,
    descendants     INTEGER,
    story_id        INTEGER,
    url_key         TEXT,
    domain          TEXT,
    content_hash    INTEGER NOT NULL,
    kids_hash       INTEGER NOT NULL,
    first_seen_at   INTEGER NOT NULL,
    last_fetched_at INTEGER NOT NULL,
    last_changed_at INTEGER NOT NULL
);
CREATE INDEX items_orphans ON items (COALESCE(poll, parent))
    WHERE story_id IS NULL AND COALESCE(poll, parent) IS NOT NULL;

CREATE TABLE kids (
    item          INTEGER NOT NULL,
    kid           INTEGER NOT NULL,
    display_order INTEGER NOT NULL,
    PRIMARY KEY (item, kid)
) WITHOUT ROWID;

CREATE TABLE item_revisions (
    revision_id  INTEGER PRIMARY KEY AUTOINCREMENT,
    item_id      INTEGER NOT NULL,
    fetched_at   INTEGER NOT NULL,
    replaced_at  INTEGER NOT NULL,
    deleted      INTEGER NOT NULL,
    type         TEXT,
    by           TEXT,
    time         INTEGER,
    text         TEXT,
    dead         INTEGER NOT NULL,
    parent       INTEGER,
    poll         INTEGER,
    url          TEXT,
    score        INTEGER,
    title        TEXT,
    parts        TEXT,
    descendants  INTEGER,
    content_hash INTEGER NOT NULL
);
CREATE INDEX item_revisions_item ON item_revisions (item_id);

CREATE TABLE ingest_segments (
    segment_id       INTEGER PRIMARY KEY AUTOINCREMENT,
    start_id         INTEGER NOT NULL,
    end_id           INTEGER NOT NULL,
    purpose          TEXT NOT NULL CHECK (purpose IN ('mirror', 'gap', 'replay', 'rescan')),
    status           TEXT NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'in_progress', 'done', 'retry_wait', 'dead_letter')),
    attempts         INTEGER NOT NULL DEFAULT 0,
    scan_cursor_id   INTEGER NOT NULL,
    unresolved_count INTEGER NOT NULL DEFAULT 0,
    holder           TEXT,
    lease_token      INTEGER NOT NULL DEFAULT 0,
    lease_until      INTEGER NOT NULL DEFAULT 0,
    heartbeat_at     INTEGER,
    started_at       INTEGER,
    last_error       TEXT,
    failure_class    TEXT,
    CHECK (start_id <= end_id),
    CHECK (scan_cursor_id BETWEEN start_id - 1 AND end_id)
);
CREATE INDEX ingest_segments_range ON ingest_segments (start_id);

CREATE TABLE ingest_exceptions (
    item_id       INTEGER NOT NULL,
    segment_id    INTEGER NOT NULL,
    state         TEXT NOT NULL
        CHECK (state IN ('pending', 'retry_wait', 'terminal_missing', 'dead_letter')),
    attempts      INTEGER NOT NULL DEFAULT 0,
    rung          INTEGER NOT NULL DEFAULT 0,
    next_retry_at INTEGER,
    last_error    TEXT,
    failure_class TEXT,
    updated_at    INTEGER NOT NULL,
    PRIMARY KEY (item_id, segment_id)
) WITHOUT ROWID;
CREATE INDEX ingest_exceptions_segment ON ingest_exceptions (segment_id, item_id);
CREATE INDEX ingest_exceptions_open ON ingest_exceptions (segment_id, item_id)
    WHERE state <> 'terminal_missing';

CREATE TABLE ingest_dlq_items (
    source        TEXT NOT NULL CHECK (source IN ('catchup', 'realtime', 'rescan')),
    item_id       INTEGER NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('dead_letter', 'retry_wait', 'resolved')),
    failure_class TEXT,
    attempts      INTEGER NOT NULL,
    next_retry_at INTEGER,
    last_error    TEXT,
    first_at      INTEGER NOT NULL,
    last_at       INTEGER NOT NULL,
    resolved_at   INTEGER,
    PRIMARY KEY (source, item_id)
) WITHOUT ROWID;
CREATE INDEX ingest_dlq_open ON ingest_dlq_items (item_id) WHERE state <> 'resolved';

CREATE TABLE updater_state (
    only_row                   INTEGER PRIMARY KEY CHECK (only_row = 1),
    floor_id                   INTEGER,
    frontier_id                INTEGER,
    frontier_excluding_waiting INTEGER,
    frontier_at                INTEGER,
    maxitem                    INTEGER,
    maxitem_at                 INTEGER
);
INSERT INTO updater_state (only_row) VALUES (1);

CREATE TABLE providers (
    name   TEXT PRIMARY KEY,
    tat_us INTEGER NOT NULL DEFAULT 0
);
