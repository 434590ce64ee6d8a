CREATE TABLE imports (
    fingerprint TEXT PRIMARY KEY,
    source      TEXT NOT NULL,
    bytes       BIGINT NOT NULL DEFAULT 0,
    mark        BIGINT NOT NULL DEFAULT 0,
    lines       BIGINT NOT NULL DEFAULT 0,
    items       BIGINT NOT NULL DEFAULT 0,
    missing     BIGINT NOT NULL DEFAULT 0,
    skipped     BIGINT NOT NULL DEFAULT 0,
    broken      BIGINT NOT NULL DEFAULT 0,
    started_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL,
    finished_at BIGINT
);
