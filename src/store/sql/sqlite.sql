-- name: plan_lock
-- BEGIN IMMEDIATE is the lock.
SELECT 1;

-- name: segment_add
INSERT INTO ingest_segments (start_id, end_id, purpose, scan_cursor_id)
SELECT $1, $2, $3, $1 - 1
WHERE $3 <> 'mirror' OR NOT EXISTS (SELECT 1 FROM ingest_segments
                                    WHERE purpose = 'mirror' AND start_id <= $2 AND end_id >= $1);

-- name: segment_claim
UPDATE ingest_segments
SET status = 'in_progress', holder = $1, lease_token = lease_token + 1, attempts = attempts + 1,
    lease_until = tain_now_ms() + $2, heartbeat_at = tain_now_ms(),
    started_at = COALESCE(started_at, tain_now_ms())
WHERE segment_id = (SELECT segment_id FROM ingest_segments
                    WHERE status = 'pending'
                      AND (purpose IN ('gap', 'rescan') OR (start_id >= $3 AND end_id <= $4))
                    ORDER BY start_id LIMIT 1)
RETURNING segment_id, start_id, end_id, scan_cursor_id, lease_token, purpose;

-- name: items_existing_range
SELECT id, content_hash, kids_hash, score, descendants, last_fetched_at, story_id
FROM items WHERE id BETWEEN $1 AND $2;

-- name: items_existing
SELECT id, content_hash, kids_hash, score, descendants, last_fetched_at, story_id
FROM items WHERE id = $1;

-- name: items_story_of
SELECT id, story_id FROM items WHERE id = $1;

-- name: items_insert
INSERT INTO items (id, deleted, type, by, time, text, dead, parent, poll, url, score, title, parts,
                   descendants, story_id, url_key, domain, content_hash, kids_hash,
                   first_seen_at, last_fetched_at, last_changed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
        $20, $20);

-- name: items_update
UPDATE items SET deleted = $2, type = $3, by = $4, time = $5, text = $6, dead = $7, parent = $8,
    poll = $9, url = $10, score = $11, title = $12, parts = $13, descendants = $14, story_id = $15,
    url_key = $16, domain = $17, content_hash = $18, kids_hash = $19, last_fetched_at = $20,
    last_changed_at = $20
WHERE id = $1;

-- name: items_touch
UPDATE items SET last_fetched_at = $2 WHERE id = $1;

-- name: revisions_keep
INSERT INTO item_revisions (item_id, fetched_at, replaced_at, deleted, type, by, time, text, dead,
                            parent, poll, url, score, title, parts, descendants, content_hash)
SELECT id, last_fetched_at, $2, deleted, type, by, time, text, dead, parent, poll, url, score,
       title, parts, descendants, content_hash
FROM items WHERE id = $1;

-- name: kids_insert
INSERT INTO kids (item, kid, display_order) VALUES ($1, $2, $3);

-- name: kids_delete
DELETE FROM kids WHERE item = $1;

-- name: exceptions_put
INSERT INTO ingest_exceptions (item_id, segment_id, state, attempts, rung, next_retry_at,
                               last_error, failure_class, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, tain_now_ms())
ON CONFLICT (item_id, segment_id) DO UPDATE SET state = excluded.state,
    attempts = excluded.attempts, rung = excluded.rung, next_retry_at = excluded.next_retry_at,
    last_error = excluded.last_error, failure_class = excluded.failure_class,
    updated_at = excluded.updated_at;

-- name: exceptions_clear
DELETE FROM ingest_exceptions WHERE item_id = $1;

-- name: exceptions_believe_null
-- A replay got null for an old id that the mirror has trouble with: that is the answer.
UPDATE ingest_exceptions SET state = 'terminal_missing', failure_class = 'null_old',
    last_error = 'the upstream answered null', next_retry_at = NULL, updated_at = tain_now_ms()
WHERE item_id = $1 AND state <> 'terminal_missing'
  AND segment_id IN (SELECT segment_id FROM ingest_segments WHERE purpose = 'mirror');

-- name: exceptions_exist
SELECT item_id, 1 FROM ingest_exceptions WHERE item_id = $1
UNION ALL
SELECT item_id, 2 FROM ingest_dlq_items WHERE state <> 'resolved' AND item_id = $1;

-- name: dlq_put
INSERT INTO ingest_dlq_items (source, item_id, state, failure_class, attempts, last_error,
                              first_at, last_at)
VALUES ($1, $2, 'dead_letter', $3, $4, $5, tain_now_ms(), tain_now_ms())
ON CONFLICT (source, item_id) DO UPDATE SET state = excluded.state,
    failure_class = excluded.failure_class, attempts = excluded.attempts,
    last_error = excluded.last_error, last_at = excluded.last_at, resolved_at = NULL;

-- name: dlq_resolve
UPDATE ingest_dlq_items SET state = 'resolved', resolved_at = tain_now_ms(), next_retry_at = NULL
WHERE item_id = $1 AND state <> 'resolved';

-- name: status_items
SELECT COUNT(*) FROM items;

-- name: health_version
SELECT 'SQLite ' || sqlite_version();

-- name: health_indexes
SELECT name FROM sqlite_master WHERE type = 'index';

-- name: health_check
SELECT quick_check FROM pragma_quick_check('ingest_segments');

-- name: health_check_deep
SELECT quick_check FROM pragma_quick_check(1);
