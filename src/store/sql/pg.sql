-- name: plan_lock
-- Planners and janitors take turns; held to the end of the transaction.
SELECT pg_advisory_xact_lock(7496942, hashtext(current_schema()));

-- name: segment_add
INSERT INTO ingest_segments (start_id, end_id, purpose, scan_cursor_id)
SELECT u.lo, u.hi, u.purpose, u.lo - 1
FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS u (lo, hi, purpose)
ON CONFLICT DO NOTHING;

-- name: segment_claim
UPDATE ingest_segments
SET status = 'in_progress', holder = $1, lease_token = lease_token + 1, attempts = attempts + 1,
    lease_until = tain_now_ms() + $2, heartbeat_at = tain_now_ms(),
    started_at = COALESCE(started_at, tain_now_ms())
WHERE segment_id = (SELECT segment_id FROM ingest_segments
                    WHERE status = 'pending'
                      AND (purpose IN ('gap', 'rescan') OR (start_id >= $3 AND end_id <= $4))
                    ORDER BY start_id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING segment_id, start_id, end_id, scan_cursor_id, lease_token, purpose;

-- name: items_existing_range
SELECT id, content_hash, kids_hash, score, descendants, last_fetched_at, story_id
FROM items WHERE id BETWEEN $1 AND $2 ORDER BY id FOR UPDATE;

-- name: items_existing
SELECT id, content_hash, kids_hash, score, descendants, last_fetched_at, story_id
FROM items WHERE id = ANY ($1::bigint[]) ORDER BY id FOR UPDATE;

-- name: items_story_of
SELECT id, story_id FROM items WHERE id = ANY ($1::bigint[]);

-- name: items_insert
INSERT INTO items (id, deleted, type, by, time, text, dead, parent, poll, url, score, title, parts,
                   descendants, story_id, url_key, domain, content_hash, kids_hash,
                   first_seen_at, last_fetched_at, last_changed_at)
SELECT u.id, u.deleted <> 0, u.type, u.by, u.time, u.text, u.dead <> 0, u.parent, u.poll, u.url,
       u.score, u.title, u.parts::bigint[], u.descendants, u.story_id, u.url_key, u.domain,
       u.content_hash, u.kids_hash, u.fetched_at, u.fetched_at, u.fetched_at
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[],
            $7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::bigint[], $12::text[],
            $13::text[], $14::bigint[], $15::bigint[], $16::text[], $17::text[], $18::bigint[],
            $19::bigint[], $20::bigint[])
    AS u (id, deleted, type, by, time, text, dead, parent, poll, url, score, title, parts,
          descendants, story_id, url_key, domain, content_hash, kids_hash, fetched_at)
ON CONFLICT (id) DO NOTHING;

-- name: items_update
UPDATE items SET deleted = u.deleted <> 0, type = u.type, by = u.by, time = u.time, text = u.text,
    dead = u.dead <> 0, parent = u.parent, poll = u.poll, url = u.url, score = u.score,
    title = u.title, parts = u.parts::bigint[], descendants = u.descendants,
    story_id = u.story_id, url_key = u.url_key, domain = u.domain,
    content_hash = u.content_hash, kids_hash = u.kids_hash, last_fetched_at = u.fetched_at,
    last_changed_at = u.fetched_at
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[],
            $7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::bigint[], $12::text[],
            $13::text[], $14::bigint[], $15::bigint[], $16::text[], $17::text[], $18::bigint[],
            $19::bigint[], $20::bigint[])
    AS u (id, deleted, type, by, time, text, dead, parent, poll, url, score, title, parts,
          descendants, story_id, url_key, domain, content_hash, kids_hash, fetched_at)
WHERE items.id = u.id;

-- name: items_touch
UPDATE items SET last_fetched_at = u.fetched_at
FROM unnest($1::bigint[], $2::bigint[]) AS u (id, fetched_at) WHERE items.id = u.id;

-- name: revisions_keep
INSERT INTO item_revisions (item_id, fetched_at, replaced_at, deleted, type, by, time, text, dead,
                            parent, poll, url, score, title, parts, descendants, content_hash)
SELECT i.id, i.last_fetched_at, u.replaced_at, i.deleted, i.type, i.by, i.time, i.text, i.dead,
       i.parent, i.poll, i.url, i.score, i.title, i.parts, i.descendants, i.content_hash
FROM unnest($1::bigint[], $2::bigint[]) AS u (id, replaced_at) JOIN items i ON i.id = u.id;

-- name: kids_insert
INSERT INTO kids (item, kid, display_order)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]);

-- name: kids_delete
DELETE FROM kids WHERE item = ANY ($1::bigint[]);

-- name: exceptions_put
INSERT INTO ingest_exceptions (item_id, segment_id, state, attempts, rung, next_retry_at,
                               last_error, failure_class, updated_at)
SELECT u.*, tain_now_ms()
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[],
            $7::text[], $8::text[]) AS u
ON CONFLICT (item_id, segment_id) DO UPDATE SET state = excluded.state,
    attempts = excluded.attempts, rung = excluded.rung, next_retry_at = excluded.next_retry_at,
    last_error = excluded.last_error, failure_class = excluded.failure_class,
    updated_at = excluded.updated_at;

-- name: exceptions_clear
DELETE FROM ingest_exceptions WHERE item_id = ANY ($1::bigint[]);

-- name: exceptions_believe_null
-- A replay got null for an old id that the mirror has trouble with: that is the answer.
UPDATE ingest_exceptions SET state = 'terminal_missing', failure_class = 'null_old',
    last_error = 'the upstream answered null', next_retry_at = NULL, updated_at = tain_now_ms()
WHERE item_id = ANY ($1::bigint[]) AND state <> 'terminal_missing'
  AND segment_id IN (SELECT segment_id FROM ingest_segments WHERE purpose = 'mirror');

-- name: exceptions_exist
SELECT item_id, 1 FROM ingest_exceptions WHERE item_id = ANY ($1::bigint[])
UNION ALL
SELECT item_id, 2 FROM ingest_dlq_items WHERE state <> 'resolved' AND item_id = ANY ($1::bigint[]);

-- name: dlq_put
INSERT INTO ingest_dlq_items (source, item_id, state, failure_class, attempts, last_error,
                              first_at, last_at)
SELECT u.source, u.item_id, 'dead_letter', u.failure_class, u.attempts, u.last_error,
       tain_now_ms(), tain_now_ms()
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::text[])
    AS u (source, item_id, failure_class, attempts, last_error)
ON CONFLICT (source, item_id) DO UPDATE SET state = excluded.state,
    failure_class = excluded.failure_class, attempts = excluded.attempts,
    last_error = excluded.last_error, last_at = excluded.last_at, resolved_at = NULL;

-- name: dlq_resolve
UPDATE ingest_dlq_items SET state = 'resolved', resolved_at = tain_now_ms(), next_retry_at = NULL
WHERE item_id = ANY ($1::bigint[]) AND state <> 'resolved';

-- name: status_items
-- Exact while small, the planner's estimate beyond: a count of 50 million rows takes minutes.
SELECT CASE WHEN c.reltuples > 2000000 THEN c.reltuples::bigint
            ELSE (SELECT COUNT(*) FROM items) END
FROM pg_class c WHERE c.oid = 'items'::regclass;

-- name: health_version
SELECT 'PostgreSQL ' || current_setting('server_version');

-- name: health_indexes
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relkind = 'i';

-- name: health_check
SELECT CASE
    WHEN pg_is_in_recovery() THEN 'the server is a standby, which cannot be written'
    WHEN EXISTS (SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                 JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE n.nspname = current_schema() AND NOT i.indisvalid)
        THEN 'an index is invalid; REINDEX SCHEMA makes it anew'
    ELSE 'ok' END;

-- name: health_check_deep
SELECT CASE
    WHEN pg_is_in_recovery() THEN 'the server is a standby, which cannot be written'
    WHEN EXISTS (SELECT 1 FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                 JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE n.nspname = current_schema() AND NOT i.indisvalid)
        THEN 'an index is invalid; REINDEX SCHEMA makes it anew'
    ELSE 'ok' END;
