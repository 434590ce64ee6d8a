-- name: plan_lock
-- BEGIN IMMEDIATE is the lock.
SELECT 1;

-- name: segment_add
INSERT INTO ingest_segments (start_id, end_id, purpose, scan_cursor_id)
SELECT $1, $2, $3, $1 - 1
WHERE $3 <> 'mirror' OR NOT EXISTS (SELECT 1 FROM ingest_segments
                                    WHERE purpose = 'mirror' AND start_id <= $2 AND end_id >= $1);

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
                    LIMIT 1)
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

-- name: story_adopt
-- Orphans whose poll or parent lies in a range and knows its story, and everyone below them. The +
-- takes the column's affinity away, without which SQLite would not use the index there.
WITH RECURSIVE found (id, story) AS (
    SELECT c.id, p.story_id FROM items c JOIN items p ON p.id = COALESCE(c.poll, c.parent)
    WHERE c.story_id IS NULL AND COALESCE(c.poll, c.parent) IS NOT NULL
      AND COALESCE(c.poll, c.parent) BETWEEN $1 AND $2 AND p.story_id IS NOT NULL
    UNION
    SELECT c.id, f.story FROM found f JOIN items c ON COALESCE(c.poll, c.parent) = +f.id
    WHERE c.story_id IS NULL AND COALESCE(c.poll, c.parent) IS NOT NULL
)
UPDATE items SET story_id = found.story FROM found WHERE items.id = found.id;

-- name: story_orphans
-- Everyone below an item ($1) that knows its story by now ($2).
WITH RECURSIVE found (id, story) AS (
    SELECT c.id, $2 FROM items c
    WHERE COALESCE(c.poll, c.parent) = $1
      AND c.story_id IS NULL AND COALESCE(c.poll, c.parent) IS NOT NULL
    UNION
    SELECT c.id, f.story FROM found f JOIN items c ON COALESCE(c.poll, c.parent) = +f.id
    WHERE c.story_id IS NULL AND COALESCE(c.poll, c.parent) IS NOT NULL
)
SELECT id, story FROM found;

-- name: story_set
UPDATE items SET story_id = $2 WHERE id = $1;

-- The updater ------------------------------------------------------------------------------

-- name: updater_acquire
-- Free, run out, ours already, of a holder known to be dead ($4), or stamped by a clock that went
-- ahead (by more than $3).
UPDATE updater_state
SET updater_holder = $1, updater_token = updater_token + 1,
    updater_lease_until = tain_now_ms() + $2
WHERE updater_holder IS NULL OR updater_holder IN ($1, $4)
   OR COALESCE(updater_lease_until, 0) NOT BETWEEN tain_now_ms() AND tain_now_ms() + $3
RETURNING updater_token;

-- name: live_fence
SELECT tain_now_ms() FROM updater_state WHERE updater_token = $1 AND updater_holder IS NOT NULL;

-- name: live_put
INSERT INTO ingest_dlq_items (source, item_id, state, failure_class, attempts, rung, next_retry_at,
                              last_error, first_at, last_at)
VALUES ('realtime', $1, $2, $3, $4, $5, $6, $7, tain_now_ms(), tain_now_ms())
ON CONFLICT (source, item_id) DO UPDATE SET state = excluded.state,
    failure_class = excluded.failure_class, attempts = excluded.attempts, rung = excluded.rung,
    next_retry_at = excluded.next_retry_at, last_error = excluded.last_error,
    last_at = excluded.last_at, resolved_at = NULL;

-- name: live_resolve
UPDATE ingest_dlq_items SET state = 'resolved', resolved_at = tain_now_ms(), next_retry_at = NULL
WHERE source = 'realtime' AND item_id = $1 AND state <> 'resolved';

-- name: live_hold
UPDATE ingest_dlq_items SET next_retry_at = tain_now_ms() + $2
WHERE source = 'realtime' AND item_id = $1 AND state = 'retry_wait';

-- name: live_spill
-- An open row keeps what it knows; a resolved one begins anew.
INSERT INTO ingest_dlq_items (source, item_id, state, failure_class, attempts, rung, next_retry_at,
                              last_error, first_at, last_at)
VALUES ('realtime', $1, 'retry_wait', 'spilled', 0, 0, tain_now_ms(),
        'the updater ended before it was fetched', tain_now_ms(), tain_now_ms())
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
INSERT INTO update_ages (bucket, n) VALUES ($1, $2)
ON CONFLICT (bucket) DO UPDATE SET n = update_ages.n + excluded.n;

-- Profiles and lists -------------------------------------------------------------------------

-- name: users_existing
SELECT id, content_hash, gone, last_fetched_at FROM users WHERE id = $1;

-- name: users_insert
INSERT INTO users (id, created, karma, about, submitted, content_hash, first_seen_at,
                   last_fetched_at, last_changed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $7);

-- name: users_update
UPDATE users SET created = $2, karma = $3, about = $4, submitted = $5, gone = 0, content_hash = $6,
    last_fetched_at = $7, last_changed_at = $7
WHERE id = $1;

-- name: users_gone
UPDATE users SET gone = 1, last_fetched_at = $2, last_changed_at = $2 WHERE id = $1;

-- name: users_touch
UPDATE users SET last_fetched_at = $2 WHERE id = $1;

-- name: user_work_forget
DELETE FROM user_work WHERE name = $1;

-- name: user_work_put
INSERT INTO user_work (name, attempts, next_retry_at, last_error)
VALUES ($1, $2, tain_now_ms() + $3, $4)
ON CONFLICT (name) DO UPDATE SET attempts = excluded.attempts,
    next_retry_at = excluded.next_retry_at, last_error = excluded.last_error;

-- name: user_work_hold
UPDATE user_work SET next_retry_at = tain_now_ms() + $2 WHERE name = $1;

-- name: list_get
SELECT ids, seen_at, tain_now_ms() FROM lists WHERE name = $1;

-- name: list_insert
INSERT INTO lists (name, ids, seen_at, changed_at) VALUES ($1, $2, $3, $3);

-- name: list_update
UPDATE lists SET ids = $2, seen_at = $3, changed_at = $3 WHERE name = $1;

-- What pages and APIs read -------------------------------------------------------------------

-- name: read_item
-- The kids last, in the order they are shown.
SELECT id, deleted, type, by, time, text, dead, parent, poll, url, score, title, parts, descendants,
       url_key, domain, story_id, first_seen_at, last_fetched_at, last_changed_at,
       CASE WHEN kids_hash <> 0 THEN
           (SELECT group_concat(kid)
            FROM (SELECT kid FROM kids WHERE item = $1 ORDER BY display_order)) END
FROM items WHERE id = $1;

-- name: read_items
SELECT id, deleted, type, by, time, text, dead, parent, poll, url, score, title, parts, descendants,
       url_key, domain, story_id, first_seen_at, last_fetched_at, last_changed_at,
       CASE WHEN kids_hash <> 0 THEN
           (SELECT group_concat(kid)
            FROM (SELECT kid FROM kids WHERE item = $1 ORDER BY display_order)) END
FROM items WHERE id = $1;

-- name: read_newest
SELECT id, deleted, type, by, time, text, dead, parent, poll, url, score, title, parts, descendants,
       url_key, domain, story_id, first_seen_at, last_fetched_at, last_changed_at
FROM items WHERE id < $1 AND type IN ('story', 'job', 'poll') AND NOT dead AND NOT deleted
ORDER BY id DESC LIMIT $2;

-- name: read_thread
-- Who names whom below $1, level by level. UNION: no pair comes twice, so that a loop ends.
WITH RECURSIVE pairs (item, kid, place) AS (
    SELECT item, kid, display_order FROM kids WHERE item = $1
    UNION
    SELECT k.item, k.kid, k.display_order FROM pairs p CROSS JOIN kids k ON k.item = p.kid
)
SELECT i.id, i.deleted, i.type, i.by, i.time, i.text, i.dead, i.parent, i.poll, i.url, i.score,
       i.title, i.parts, i.descendants, i.url_key, i.domain, i.story_id, i.first_seen_at,
       i.last_fetched_at, i.last_changed_at,
       p.item, p.kid, p.place
FROM pairs p LEFT JOIN items i ON i.id = p.kid LIMIT $2;

-- name: have_revisions
SELECT $1 WHERE EXISTS (SELECT 1 FROM item_revisions WHERE item_id = $1);

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
