-- name: plan_lock
-- Planners and janitors take turns; held to the end of the transaction.
SELECT pg_advisory_xact_lock(7496942, hashtext(current_schema()));

-- name: segment_add
INSERT INTO ingest_segments (start_id, end_id, purpose, scan_cursor_id)
SELECT u.lo, u.hi, u.purpose, u.lo - 1
FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS u (lo, hi, purpose)
ON CONFLICT DO NOTHING;

-- name: segment_claim
-- $6: 1 takes the lowest ids first, -1 the highest.
UPDATE ingest_segments
SET status = 'in_progress', holder = $1, lease_token = lease_token + 1, attempts = attempts + 1,
    lease_until = tain_now_ms() + $2, heartbeat_at = tain_now_ms(),
    started_at = COALESCE(started_at, tain_now_ms())
WHERE segment_id = (SELECT segment_id FROM ingest_segments
                    WHERE status = 'pending'
                      AND (purpose IN ('gap', 'rescan') OR (start_id >= $3 AND end_id <= $4))
                      AND CASE purpose WHEN 'gap' THEN 1 WHEN 'mirror' THEN 2 ELSE 3 END <= $5
                    ORDER BY CASE purpose WHEN 'gap' THEN 1 WHEN 'mirror' THEN 2 ELSE 3 END,
                             start_id * $6
                    LIMIT 1 FOR UPDATE SKIP LOCKED)
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
-- Who is there already is an error, and not ON CONFLICT DO NOTHING: that looks up each one once
-- more and logs it twice, and what was stored since we looked is rare.
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
          descendants, story_id, url_key, domain, content_hash, kids_hash, fetched_at);

-- name: items_update
-- Logs what it has changed by itself, together: the trigger would do so row by row. For that the
-- transaction says that it does (feed_together).
WITH done AS (
    UPDATE items SET deleted = u.deleted <> 0, type = u.type, by = u.by, time = u.time,
        text = u.text, dead = u.dead <> 0, parent = u.parent, poll = u.poll, url = u.url,
        score = u.score, title = u.title, parts = u.parts::bigint[],
        descendants = u.descendants, story_id = u.story_id, url_key = u.url_key,
        domain = u.domain, content_hash = u.content_hash, kids_hash = u.kids_hash,
        last_fetched_at = u.fetched_at, last_changed_at = u.fetched_at
    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[],
                $7::bigint[], $8::bigint[], $9::bigint[], $10::text[], $11::bigint[], $12::text[],
                $13::text[], $14::bigint[], $15::bigint[], $16::text[], $17::text[], $18::bigint[],
                $19::bigint[], $20::bigint[])
        AS u (id, deleted, type, by, time, text, dead, parent, poll, url, score, title, parts,
              descendants, story_id, url_key, domain, content_hash, kids_hash, fetched_at)
    WHERE items.id = u.id
    RETURNING items.*
)
INSERT INTO change_log (batch, at, part, n, bytes, table_id, action, keys, data)
SELECT nextval('change_log_batch_seq'), tain_now_ms(), c.part, COUNT(*), SUM(octet_length(c.j)), 1,
       'update', array_agg(c.k), array_agg(c.j)
FROM (SELECT r.k, r.j,
             SUM(octet_length(r.j) + 32) OVER (ROWS UNBOUNDED PRECEDING) / 131072 AS part
      FROM (SELECT '{"id":' || i.id || '}' AS k, row_to_json(d)::text AS j
            FROM done i CROSS JOIN LATERAL (
                SELECT i.id, i.deleted, i.type, i.by, i.time, i.text, i.dead, i.parent, i.poll,
                       i.url, i.score, i.title, i.parts, i.descendants, i.story_id, i.domain,
                       i.first_seen_at, i.last_fetched_at, i.last_changed_at) AS d
            OFFSET 0) AS r) AS c
WHERE current_setting('tain.bulk', true) IS DISTINCT FROM 'on'
GROUP BY c.part;

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

-- name: story_adopt
-- Orphans whose poll or parent lies in a range and knows its story, and everyone below them. OFFSET
-- 0 keeps the lookup of each one's children a lookup: where orphans are thought to be few, the
-- planner would rather read all of them for each generation.
WITH RECURSIVE found (id, story) AS (
    SELECT c.id, p.story_id FROM items c JOIN items p ON p.id = COALESCE(c.poll, c.parent)
    WHERE c.story_id IS NULL AND COALESCE(c.poll, c.parent) IS NOT NULL
      AND COALESCE(c.poll, c.parent) BETWEEN $1 AND $2 AND p.story_id IS NOT NULL
    UNION
    SELECT c.id, f.story FROM found f CROSS JOIN LATERAL (
        SELECT i.id FROM items i
        WHERE COALESCE(i.poll, i.parent) = f.id
          AND i.story_id IS NULL AND COALESCE(i.poll, i.parent) IS NOT NULL OFFSET 0) AS c
)
UPDATE items SET story_id = found.story FROM found WHERE items.id = found.id;

-- name: story_orphans
-- Everyone below some items ($1) that know their stories by now ($2).
WITH RECURSIVE found (id, story) AS (
    SELECT c.id, u.story FROM unnest($1::bigint[], $2::bigint[]) AS u (id, story)
    CROSS JOIN LATERAL (
        SELECT i.id FROM items i
        WHERE COALESCE(i.poll, i.parent) = u.id
          AND i.story_id IS NULL AND COALESCE(i.poll, i.parent) IS NOT NULL OFFSET 0) AS c
    UNION
    SELECT c.id, f.story FROM found f CROSS JOIN LATERAL (
        SELECT i.id FROM items i
        WHERE COALESCE(i.poll, i.parent) = f.id
          AND i.story_id IS NULL AND COALESCE(i.poll, i.parent) IS NOT NULL OFFSET 0) AS c
)
SELECT id, story FROM found;

-- name: story_set
UPDATE items SET story_id = u.story FROM unnest($1::bigint[], $2::bigint[]) AS u (id, story)
WHERE items.id = u.id;

-- The updater ------------------------------------------------------------------------------

-- name: updater_acquire
-- Free, run out, ours already, of a holder known to be dead ($4), or stamped by a clock that went
-- ahead (by more than $3). FOR UPDATE waits for the batches that passed live_fence, which a plain
-- UPDATE of these columns would not.
UPDATE updater_state
SET updater_holder = $1, updater_token = updater_token + 1,
    updater_lease_until = tain_now_ms() + $2
WHERE only_row = (SELECT only_row FROM updater_state
                  WHERE updater_holder IS NULL OR updater_holder IN ($1, $4)
                     OR COALESCE(updater_lease_until, 0)
                        NOT BETWEEN tain_now_ms() AND tain_now_ms() + $3
                  FOR UPDATE)
RETURNING updater_token;

-- name: live_fence
-- KEY SHARE is in the way of updater_acquire, and of no other write to the row.
SELECT tain_now_ms() FROM updater_state WHERE updater_token = $1 AND updater_holder IS NOT NULL
FOR KEY SHARE;

-- name: live_put
INSERT INTO ingest_dlq_items (source, item_id, state, failure_class, attempts, rung, next_retry_at,
                              last_error, first_at, last_at)
SELECT 'realtime', u.*, tain_now_ms(), tain_now_ms()
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[],
            $7::text[]) AS u
ON CONFLICT (source, item_id) DO UPDATE SET state = excluded.state,
    failure_class = excluded.failure_class, attempts = excluded.attempts, rung = excluded.rung,
    next_retry_at = excluded.next_retry_at, last_error = excluded.last_error,
    last_at = excluded.last_at, resolved_at = NULL;

-- name: live_resolve
UPDATE ingest_dlq_items SET state = 'resolved', resolved_at = tain_now_ms(), next_retry_at = NULL
WHERE source = 'realtime' AND item_id = ANY ($1::bigint[]) AND state <> 'resolved';

-- name: live_hold
UPDATE ingest_dlq_items SET next_retry_at = tain_now_ms() + u.hold
FROM unnest($1::bigint[], $2::bigint[]) AS u (id, hold)
WHERE source = 'realtime' AND item_id = u.id AND state = 'retry_wait';

-- name: live_spill
-- An open row keeps what it knows; a resolved one begins anew.
INSERT INTO ingest_dlq_items (source, item_id, state, failure_class, attempts, rung, next_retry_at,
                              last_error, first_at, last_at)
SELECT 'realtime', u.id, 'retry_wait', 'spilled', 0, 0, tain_now_ms(),
       'the updater ended before it was fetched', tain_now_ms(), tain_now_ms()
FROM (SELECT DISTINCT t.id FROM unnest($1::bigint[]) AS t (id)) AS u
ON CONFLICT (source, item_id) DO UPDATE SET
    failure_class = CASE WHEN ingest_dlq_items.state = 'resolved' THEN excluded.failure_class
                         ELSE ingest_dlq_items.failure_class END,
    attempts = CASE WHEN ingest_dlq_items.state = 'resolved' THEN 0
                    ELSE ingest_dlq_items.attempts END,
    rung = CASE WHEN ingest_dlq_items.state = 'resolved' THEN 0 ELSE ingest_dlq_items.rung END,
    last_error = CASE WHEN ingest_dlq_items.state = 'resolved' THEN excluded.last_error
                      ELSE ingest_dlq_items.last_error END,
    state = excluded.state, next_retry_at = excluded.next_retry_at, last_at = excluded.last_at,
    resolved_at = NULL;

-- name: ages_add
INSERT INTO update_ages (bucket, n) SELECT * FROM unnest($1::bigint[], $2::bigint[])
ON CONFLICT (bucket) DO UPDATE SET n = update_ages.n + excluded.n;

-- Profiles and lists -------------------------------------------------------------------------

-- name: users_existing
SELECT id, content_hash, gone, last_fetched_at FROM users
WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE;

-- name: users_insert
INSERT INTO users (id, created, karma, about, submitted, content_hash, first_seen_at,
                   last_fetched_at, last_changed_at)
SELECT u.id, u.created, u.karma, u.about, u.submitted::bigint[], u.content_hash, u.fetched_at,
       u.fetched_at, u.fetched_at
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[],
            $7::bigint[]) AS u (id, created, karma, about, submitted, content_hash, fetched_at)
ON CONFLICT (id) DO NOTHING;

-- name: users_update
UPDATE users SET created = u.created, karma = u.karma, about = u.about,
    submitted = u.submitted::bigint[], gone = false, content_hash = u.content_hash,
    last_fetched_at = u.fetched_at, last_changed_at = u.fetched_at
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[],
            $7::bigint[]) AS u (id, created, karma, about, submitted, content_hash, fetched_at)
WHERE users.id = u.id;

-- name: users_gone
UPDATE users SET gone = true, last_fetched_at = u.fetched_at, last_changed_at = u.fetched_at
FROM unnest($1::text[], $2::bigint[]) AS u (id, fetched_at) WHERE users.id = u.id;

-- name: users_touch
UPDATE users SET last_fetched_at = u.fetched_at
FROM unnest($1::text[], $2::bigint[]) AS u (id, fetched_at) WHERE users.id = u.id;

-- name: user_work_forget
DELETE FROM user_work WHERE name = ANY ($1::text[]);

-- name: user_work_put
INSERT INTO user_work (name, attempts, next_retry_at, last_error)
SELECT u.name, u.attempts, tain_now_ms() + u.wait, u.error
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[]) AS u (name, attempts, wait, error)
ON CONFLICT (name) DO UPDATE SET attempts = excluded.attempts,
    next_retry_at = excluded.next_retry_at, last_error = excluded.last_error;

-- name: user_work_hold
UPDATE user_work SET next_retry_at = tain_now_ms() + u.hold
FROM unnest($1::text[], $2::bigint[]) AS u (id, hold) WHERE name = u.id;

-- name: list_get
SELECT ids, seen_at, tain_now_ms() FROM lists WHERE name = $1 FOR UPDATE;

-- name: list_insert
INSERT INTO lists (name, ids, seen_at, changed_at) VALUES ($1, $2::bigint[], $3, $3)
ON CONFLICT (name) DO NOTHING;

-- name: list_update
UPDATE lists SET ids = $2::bigint[], seen_at = $3, changed_at = $3 WHERE name = $1;

-- What pages and APIs read -------------------------------------------------------------------

-- name: read_item
-- The kids last, in the order they are shown.
SELECT id, deleted, type, by, time, text, dead, parent, poll, url, score, title, parts, descendants,
       url_key, domain, story_id, first_seen_at, last_fetched_at, last_changed_at,
       CASE WHEN kids_hash <> 0 THEN
           ARRAY (SELECT k.kid FROM kids k WHERE k.item = $1 ORDER BY k.display_order) END
FROM items WHERE id = $1;

-- name: read_items
-- OFFSET 0 keeps each one a lookup, however many are asked for.
SELECT i.id, i.deleted, i.type, i.by, i.time, i.text, i.dead, i.parent, i.poll, i.url, i.score,
       i.title, i.parts, i.descendants, i.url_key, i.domain, i.story_id, i.first_seen_at,
       i.last_fetched_at, i.last_changed_at,
       CASE WHEN i.kids_hash <> 0 THEN
           ARRAY (SELECT k.kid FROM kids k WHERE k.item = i.id ORDER BY k.display_order) END
FROM unnest($1::bigint[]) WITH ORDINALITY AS u (id, place)
CROSS JOIN LATERAL (SELECT * FROM items WHERE items.id = u.id OFFSET 0) AS i
ORDER BY u.place;

-- name: read_newest
-- OFFSET 0, and the order inside only, let the stories be found by walking down the key. Where it
-- is not known yet how many there are, the planner would rather sort all of them.
SELECT i.id, i.deleted, i.type, i.by, i.time, i.text, i.dead, i.parent, i.poll, i.url, i.score,
       i.title, i.parts, i.descendants, i.url_key, i.domain, i.story_id, i.first_seen_at,
       i.last_fetched_at, i.last_changed_at
FROM (SELECT * FROM items WHERE id < $1 ORDER BY id DESC OFFSET 0) AS i
WHERE i.type IN ('story', 'job', 'poll') AND NOT i.dead AND NOT i.deleted LIMIT $2;

-- name: read_thread
-- Who names whom below $1, level by level. UNION: no pair comes twice, so that a loop ends. OFFSET
-- 0 keeps the lookups lookups, whatever the planner thinks of the number of pairs.
WITH RECURSIVE pairs (item, kid, place) AS (
    SELECT item, kid, display_order FROM kids WHERE item = $1
    UNION
    SELECT k.item, k.kid, k.display_order FROM pairs p CROSS JOIN LATERAL (
        SELECT item, kid, display_order FROM kids WHERE kids.item = p.kid OFFSET 0) AS k
)
SELECT i.id, i.deleted, i.type, i.by, i.time, i.text, i.dead, i.parent, i.poll, i.url, i.score,
       i.title, i.parts, i.descendants, i.url_key, i.domain, i.story_id, i.first_seen_at,
       i.last_fetched_at, i.last_changed_at,
       p.item, p.kid, p.place
FROM pairs p LEFT JOIN LATERAL (SELECT * FROM items WHERE items.id = p.kid OFFSET 0) AS i ON true
LIMIT $2;

-- name: have_revisions
SELECT u.id FROM unnest($1::bigint[]) AS u (id)
WHERE EXISTS (SELECT 1 FROM item_revisions r WHERE r.item_id = u.id);

-- name: status_items
-- Exact while small, the planner's estimate beyond: a count of 50 million rows takes minutes.
SELECT CASE WHEN t.n > 2000000 THEN t.n ELSE (SELECT COUNT(*) FROM items) END
FROM (SELECT COALESCE(SUM(GREATEST(c.reltuples, 0)), 0)::bigint AS n FROM pg_class c
      WHERE c.relkind = 'r' AND (c.oid = 'items'::regclass OR c.oid IN
          (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'items'::regclass))) AS t;

-- name: health_version
SELECT 'PostgreSQL ' || current_setting('server_version');

-- name: health_indexes
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = current_schema() AND c.relkind IN ('i', 'I');

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
