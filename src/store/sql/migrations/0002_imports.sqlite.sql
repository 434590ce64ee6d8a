CREATE TABLE imports (
    fingerprint TEXT PRIMARY KEY,
    source      TEXT NOT NULL,
    bytes       INTEGER NOT NULL DEFAULT 0,
    mark        INTEGER NOT NULL DEFAULT 0,
    lines       INTEGER NOT NULL DEFAULT 0,
    items       INTEGER NOT NULL DEFAULT 0,
    missing     INTEGER NOT NULL DEFAULT 0,
    skipped     INTEGER NOT NULL DEFAULT 0,
    broken      INTEGER NOT NULL DEFAULT 0,
    started_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    finished_at INTEGER
) WITHOUT ROWID;
