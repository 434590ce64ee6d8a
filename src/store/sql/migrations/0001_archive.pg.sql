-- The database's time in unix milliseconds. SET tain.now_ms fixes it in a session, for tests.
-- VOLATILE as clock_timestamp() is, else it could not be inlined.
CREATE FUNCTION tain_now_ms() RETURNS BIGINT LANGUAGE sql VOLATILE AS
$$ SELECT COALESCE(NULLIF(current_setting('tain.now_ms', true), '')::bigint,
                   (extract(epoch FROM clock_timestamp()) * 1000)::bigint) $$;

CREATE TABLE items (
    id              BIGINT PRIMARY KEY,
    deleted         BOOLEAN NOT NULL DEFAULT false,
    type            TEXT,
    by              TEXT,
    time            BIGINT,
    text            TEXT,
    dead            BOOLEAN NOT NULL DEFAULT false,
    parent          BIGINT,
    poll            BIGINT,
    url             TEXT,
    score           BIGINT,
    title           TEXT,
    parts           BIGINT[],
    descendants     BIGINT,
    story_id        BIGINT,
    url_key         TEXT,
    domain          TEXT,
    content_hash    BIGINT NOT NULL,
    kids_hash       BIGINT NOT NULL,
    first_seen_at   BIGINT NOT NULL,
    last_fetched_at BIGINT NOT NULL,
    last_changed_at BIGINT NOT NULL
);
CREATE INDEX items_orphans ON items (COALESCE(poll, parent))
    WHERE story_id IS NULL AND COALESCE(poll, parent) IS NOT NULL;

CREATE TABLE kids (
    item          BIGINT NOT NULL,
    kid           BIGINT NOT NULL,
    display_order INTEGER NOT NULL,
    PRIMARY KEY (item, kid)
);

CREATE TABLE item_revisions (
    revision_id  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    item_id      BIGINT NOT NULL,
    fetched_at   BIGINT NOT NULL,
    replaced_at  BIGINT NOT NULL,
    deleted      BOOLEAN NOT NULL,
    type         TEXT,
    by           TEXT,
    time         BIGINT,
    text         TEXT,
    dead         BOOLEAN NOT NULL,
    parent       BIGINT,
    poll         BIGINT,
    url          TEXT,
    score        BIGINT,
    title        TEXT,
    parts        BIGINT[],
    descendants  BIGINT,
    content_hash BIGINT NOT NULL
);
CREATE INDEX item_revisions_item ON item_revisions (item_id);

CREATE TABLE ingest_segments (
    segment_id       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    start_id         BIGINT NOT NULL,
    end_id           BIGINT NOT NULL,
    purpose          TEXT NOT NULL CHECK (purpose IN ('mirror', 'gap', 'replay', 'rescan')),
    status           TEXT NOT NULL DEFAULT 'pending'
        CHECK (status IN ('pending', 'in_progress', 'done', 'retry_wait', 'dead_letter')),
    attempts         INTEGER NOT NULL DEFAULT 0,
    scan_cursor_id   BIGINT NOT NULL,
    unresolved_count BIGINT NOT NULL DEFAULT 0,
    holder           TEXT,
    lease_token      BIGINT NOT NULL DEFAULT 0,
    lease_until      BIGINT NOT NULL DEFAULT 0,
    heartbeat_at     BIGINT,
    started_at       BIGINT,
    last_error       TEXT,
    failure_class    TEXT,
    CHECK (start_id <= end_id),
    CHECK (scan_cursor_id BETWEEN start_id - 1 AND end_id),
    CONSTRAINT mirror_segments_never_overlap
        EXCLUDE USING gist (int8range(start_id, end_id, '[]') WITH &&) WHERE (purpose = 'mirror')
);
CREATE INDEX ingest_segments_range ON ingest_segments (start_id);

CREATE TABLE ingest_exceptions (
    item_id       BIGINT NOT NULL,
    segment_id    BIGINT NOT NULL,
    state         TEXT NOT NULL
        CHECK (state IN ('pending', 'retry_wait', 'terminal_missing', 'dead_letter')),
    attempts      INTEGER NOT NULL DEFAULT 0,
    rung          INTEGER NOT NULL DEFAULT 0,
    next_retry_at BIGINT,
    last_error    TEXT,
    failure_class TEXT,
    updated_at    BIGINT NOT NULL,
    PRIMARY KEY (item_id, segment_id)
);
CREATE INDEX ingest_exceptions_segment ON ingest_exceptions (segment_id, item_id);
CREATE INDEX ingest_exceptions_open ON ingest_exceptions (segment_id, item_id)
    WHERE state <> 'terminal_missing';

CREATE TABLE ingest_dlq_items (
    source        TEXT NOT NULL CHECK (source IN ('catchup', 'realtime', 'rescan')),
    item_id       BIGINT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('dead_letter', 'retry_wait', 'resolved')),
    failure_class TEXT,
    attempts      INTEGER NOT NULL,
    next_retry_at BIGINT,
    last_error    TEXT,
    first_at      BIGINT NOT NULL,
    last_at       BIGINT NOT NULL,
    resolved_at   BIGINT,
    PRIMARY KEY (source, item_id)
);
CREATE INDEX ingest_dlq_open ON ingest_dlq_items (item_id) WHERE state <> 'resolved';

CREATE TABLE updater_state (
    only_row                   INTEGER PRIMARY KEY CHECK (only_row = 1),
    floor_id                   BIGINT,
    frontier_id                BIGINT,
    frontier_excluding_waiting BIGINT,
    frontier_at                BIGINT,
    maxitem                    BIGINT,
    maxitem_at                 BIGINT
);
INSERT INTO updater_state (only_row) VALUES (1);

CREATE TABLE providers (
    name   TEXT PRIMARY KEY,
    tat_us BIGINT NOT NULL DEFAULT 0
);
