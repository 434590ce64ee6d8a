-- Statements that both databases run as they stand. `-- name:` starts one; $1, $2 ... are its
-- parameters. sqlite.sql and pg.sql hold what differs.

-- name: now_ms
SELECT tain_now_ms();

-- name: any_item
SELECT id FROM items WHERE NOT deleted AND NOT dead ORDER BY id DESC LIMIT 1;

-- State of the archive ---------------------------------------------------------------------

-- name: state_get
SELECT floor_id, frontier_id, frontier_excluding_waiting, maxitem, maxitem_at FROM updater_state;

-- name: state_set_maxitem
UPDATE updater_state SET maxitem = $1, maxitem_at = tain_now_ms();

-- name: state_lower_floor
UPDATE updater_state SET floor_id = $1 WHERE floor_id IS NULL OR floor_id > $1;

-- name: state_set_frontier
UPDATE updater_state
SET frontier_id = $1, frontier_excluding_waiting = $2, frontier_at = tain_now_ms()
WHERE frontier_id IS DISTINCT FROM $1 OR frontier_excluding_waiting IS DISTINCT FROM $2;

-- Segments ---------------------------------------------------------------------------------

-- name: segments_list
-- blocked: the lowest id without its final outcome; hard: the same, stepping over what only waits
-- on its ladder.
SELECT s.segment_id, s.start_id, s.end_id, s.status, s.scan_cursor_id, s.unresolved_count,
       (SELECT MIN(x.item_id) FROM ingest_exceptions x
        WHERE x.segment_id = s.segment_id AND x.state <> 'terminal_missing') AS blocked,
       (SELECT MIN(x.item_id) FROM ingest_exceptions x
        WHERE x.segment_id = s.segment_id AND x.state <> 'terminal_missing'
          AND NOT (x.state = 'retry_wait' AND x.failure_class IN ('null_young', 'delayed'))) AS hard
FROM ingest_segments s WHERE s.purpose = $1 ORDER BY s.start_id;

-- name: segment_renew
-- The fence of every write of a holder.
UPDATE ingest_segments
SET heartbeat_at = tain_now_ms(), lease_until = tain_now_ms() + $3,
    scan_cursor_id = CASE WHEN scan_cursor_id > $4 THEN scan_cursor_id ELSE $4 END
WHERE segment_id = $1 AND lease_token = $2 AND status = 'in_progress' RETURNING tain_now_ms();

-- name: segment_count_states
SELECT COUNT(CASE WHEN state IN ('pending', 'retry_wait') THEN 1 END),
       COUNT(CASE WHEN state = 'dead_letter' THEN 1 END)
FROM ingest_exceptions WHERE segment_id = $1 AND state <> 'terminal_missing';

-- name: segment_release
UPDATE ingest_segments
SET status = $3, unresolved_count = $4, holder = NULL, lease_until = 0,
    last_error = COALESCE($5, last_error), failure_class = COALESCE($6, failure_class)
WHERE segment_id = $1 AND lease_token = $2;

-- name: segment_note_failure
UPDATE ingest_segments SET last_error = $3, failure_class = 'fatal'
WHERE segment_id = $1 AND lease_token = $2;

-- name: segment_count_unresolved
UPDATE ingest_segments SET unresolved_count = $2 WHERE segment_id = $1;

-- name: segment_delete
DELETE FROM ingest_segments WHERE segment_id = $1;

-- name: segment_delete_exceptions
DELETE FROM ingest_exceptions WHERE segment_id = $1;

-- name: segments_holders
SELECT DISTINCT holder FROM ingest_segments WHERE status = 'in_progress' AND holder IS NOT NULL;

-- name: segments_free_holder
UPDATE ingest_segments SET status = 'pending', holder = NULL, lease_until = 0,
       lease_token = lease_token + 1
WHERE status = 'in_progress' AND holder = $1;

-- name: segments_free_expired
-- A heartbeat of a clock that went ahead (by more than $1) would keep its segment for as long as
-- that; who is alive claims anew.
UPDATE ingest_segments SET status = 'pending', holder = NULL, lease_until = 0,
       lease_token = lease_token + 1
WHERE status = 'in_progress'
  AND (lease_until < tain_now_ms() OR heartbeat_at > tain_now_ms() + $1);

-- What was to be tried again at a time that such a clock has set is due now.

-- name: exceptions_unfreeze
UPDATE ingest_exceptions SET next_retry_at = tain_now_ms(), updated_at = tain_now_ms()
WHERE state <> 'terminal_missing' AND state = 'retry_wait' AND updated_at > tain_now_ms() + $1;

-- name: live_unfreeze
UPDATE ingest_dlq_items SET next_retry_at = tain_now_ms(), last_at = tain_now_ms()
WHERE source = 'realtime' AND state = 'retry_wait' AND next_retry_at >= 0
  AND last_at > tain_now_ms() + $1;

-- name: segments_wake_due
-- Also honours a hand-written state = 'pending', whatever became of its segment.
UPDATE ingest_segments SET status = 'pending'
WHERE status IN ('retry_wait', 'dead_letter', 'done') AND segment_id IN
      (SELECT segment_id FROM ingest_exceptions
       WHERE state = 'pending'
          OR (state = 'retry_wait' AND COALESCE(next_retry_at, 0) <= tain_now_ms()));

-- name: segments_settle
-- What others resolved since: an id stored by another path leaves its segment one less to wait for.
-- And what has nothing left to do: its holder died between its last batch and the release.
UPDATE ingest_segments
SET unresolved_count = (SELECT COUNT(*) FROM ingest_exceptions x
                        WHERE x.segment_id = ingest_segments.segment_id
                          AND x.state <> 'terminal_missing'),
    status = CASE
        WHEN EXISTS (SELECT 1 FROM ingest_exceptions x
                     WHERE x.segment_id = ingest_segments.segment_id
                       AND x.state IN ('pending', 'retry_wait')) THEN 'retry_wait'
        WHEN EXISTS (SELECT 1 FROM ingest_exceptions x
                     WHERE x.segment_id = ingest_segments.segment_id
                       AND x.state = 'dead_letter') THEN 'dead_letter'
        ELSE 'done' END
WHERE scan_cursor_id = end_id
  AND ((status IN ('retry_wait', 'dead_letter')
        AND unresolved_count <> (SELECT COUNT(*) FROM ingest_exceptions x
                                 WHERE x.segment_id = ingest_segments.segment_id
                                   AND x.state <> 'terminal_missing'))
       OR (status = 'pending'
           AND NOT EXISTS (SELECT 1 FROM ingest_exceptions x
                           WHERE x.segment_id = ingest_segments.segment_id
                             AND (x.state = 'pending' OR (x.state = 'retry_wait'
                                  AND COALESCE(x.next_retry_at, 0) <= tain_now_ms())))));

-- name: segment_keep_missing
-- What a finished gap found to be missing is written down where the proof is: in the mirror. The
-- CROSS JOIN makes SQLite begin with the few gaps.
INSERT INTO ingest_exceptions (item_id, segment_id, state, attempts, rung, next_retry_at,
                               last_error, failure_class, updated_at)
SELECT x.item_id, m.segment_id, x.state, x.attempts, x.rung, x.next_retry_at, x.last_error,
       x.failure_class, x.updated_at
FROM ingest_segments g CROSS JOIN ingest_exceptions x
JOIN ingest_segments m ON m.purpose = 'mirror'
                      AND x.item_id BETWEEN m.start_id AND m.scan_cursor_id
WHERE g.purpose = 'gap' AND g.status = 'done' AND ($1 = 0 OR g.segment_id = $1)
  AND x.segment_id = g.segment_id AND x.state = 'terminal_missing'
ON CONFLICT (item_id, segment_id) DO NOTHING;

-- name: segments_sweep_exceptions
DELETE FROM ingest_exceptions
WHERE segment_id IN (SELECT segment_id FROM ingest_segments
                     WHERE purpose <> 'mirror' AND status = 'done');

-- name: segments_sweep
-- What is not the mirror itself leaves no trace when it is done.
DELETE FROM ingest_segments WHERE purpose <> 'mirror' AND status = 'done';

-- What a window has to do: its own segments, and repairs (gap, rescan) wherever they lie.

-- name: segments_pending_count
SELECT COUNT(*) FROM ingest_segments
WHERE status = 'pending'
  AND (purpose IN ('gap', 'rescan') OR (start_id >= $1 AND end_id <= $2));

-- name: segments_unfinished_count
SELECT COUNT(*) FROM ingest_segments
WHERE (status = 'pending'
       AND (purpose IN ('gap', 'rescan') OR (start_id >= $1 AND end_id <= $2)))
   OR (status = 'in_progress'
       AND (purpose IN ('gap', 'rescan') OR (end_id >= $1 AND start_id <= $2)));

-- name: segments_repairs
-- From where to where repairs stand open. NULL: none does.
SELECT MIN(start_id), MAX(end_id) FROM ingest_segments WHERE purpose IN ('gap', 'rescan');

-- name: segments_next_due
-- When the next waiting id of a window is due: after a failure, and on a ladder. NULL: none waits.
SELECT MIN(CASE WHEN x.rung = 0 THEN x.next_retry_at END),
       MIN(CASE WHEN x.rung > 0 THEN x.next_retry_at END)
FROM ingest_exceptions x JOIN ingest_segments s USING (segment_id)
WHERE x.state = 'retry_wait'
  AND (s.purpose IN ('gap', 'rescan') OR x.item_id BETWEEN $1 AND $2);

-- A pending segment that reaches beyond a window is cut at its edge, so that a run does what it was
-- asked to and no more.

-- name: split_shrink
UPDATE ingest_segments SET end_id = $2,
       scan_cursor_id = CASE WHEN scan_cursor_id > $2 THEN $2 ELSE scan_cursor_id END
WHERE segment_id = $1 AND status = 'pending' RETURNING segment_id;

-- name: split_add
INSERT INTO ingest_segments (start_id, end_id, purpose, scan_cursor_id)
VALUES ($1, $2, 'mirror', $3) RETURNING segment_id;

-- name: split_move_exceptions
UPDATE ingest_exceptions SET segment_id = $2 WHERE segment_id = $1 AND item_id >= $3;

-- name: split_recount
UPDATE ingest_segments
SET unresolved_count = (SELECT COUNT(*) FROM ingest_exceptions x
                        WHERE x.segment_id = ingest_segments.segment_id
                          AND x.state <> 'terminal_missing')
WHERE segment_id IN ($1, $2);

-- What an earlier replay could not do is forgotten when its window is replayed again.

-- name: replay_forget_exceptions
DELETE FROM ingest_exceptions WHERE segment_id IN
    (SELECT segment_id FROM ingest_segments WHERE purpose = 'replay'
       AND status IN ('retry_wait', 'dead_letter') AND end_id >= $1 AND start_id <= $2);

-- name: replay_forget
DELETE FROM ingest_segments WHERE purpose = 'replay'
  AND status IN ('retry_wait', 'dead_letter') AND end_id >= $1 AND start_id <= $2;

-- name: merge_move_exceptions
UPDATE ingest_exceptions SET segment_id = $1
WHERE segment_id IN (SELECT segment_id FROM ingest_segments
                     WHERE purpose = 'mirror' AND status = 'done'
                       AND start_id > $2 AND end_id <= $3);

-- name: merge_delete
DELETE FROM ingest_segments
WHERE purpose = 'mirror' AND status = 'done' AND start_id > $1 AND end_id <= $2;

-- name: merge_extend
UPDATE ingest_segments SET end_id = $2, scan_cursor_id = $2 WHERE segment_id = $1;

-- What a claimer has to know -----------------------------------------------------------------

-- name: claim_stored_ids
SELECT id FROM items WHERE id BETWEEN $1 AND $2;

-- name: claim_exceptions
-- Confirmed missing ids matter only where the cursor has not passed yet.
SELECT item_id, state, attempts, rung, next_retry_at FROM ingest_exceptions
WHERE segment_id = $1 AND state <> 'terminal_missing'
UNION ALL
SELECT item_id, state, attempts, rung, next_retry_at FROM ingest_exceptions
WHERE segment_id = $1 AND state = 'terminal_missing' AND item_id > $2
ORDER BY 1;

-- Exceptions and dead letters ----------------------------------------------------------------

-- name: troubles_in_range
-- Ids that a success has to clear: 1 = an exception, 2 = an open dead letter.
SELECT item_id, 1 FROM ingest_exceptions WHERE item_id BETWEEN $1 AND $2
UNION ALL
SELECT item_id, 2 FROM ingest_dlq_items WHERE state <> 'resolved' AND item_id BETWEEN $1 AND $2;

-- Threads ------------------------------------------------------------------------------------

-- name: story_move
-- A moderator moved an item: everyone below it follows. NULL makes them wait for the new parent.
WITH RECURSIVE below (id) AS (
    SELECT kid FROM kids WHERE item = $1
    UNION
    SELECT k.kid FROM below b JOIN kids k ON k.item = b.id
)
UPDATE items SET story_id = $2
WHERE id IN (SELECT id FROM below) AND story_id IS DISTINCT FROM $2
  AND COALESCE(type, '') NOT IN ('story', 'job', 'poll');

-- Dumps, in and out ------------------------------------------------------------------------

-- name: import_find
SELECT bytes, mark, lines, items, missing, skipped, broken,
       CASE WHEN finished_at IS NULL THEN 0 ELSE 1 END
FROM imports WHERE fingerprint = $1;

-- name: import_reserve
INSERT INTO imports (fingerprint, source, started_at, updated_at)
VALUES ($1, $2, tain_now_ms(), tain_now_ms()) ON CONFLICT (fingerprint) DO NOTHING;

-- name: import_holder
SELECT holder, tain_now_ms() - updated_at FROM imports WHERE fingerprint = $1;

-- name: import_take
-- $3 is who was seen to hold it: of two that come at the same time one finds somebody else.
UPDATE imports SET holder = $2, updated_at = tain_now_ms()
WHERE fingerprint = $1 AND COALESCE(holder, '') = $3 RETURNING 1;

-- name: import_give_back
UPDATE imports SET holder = NULL WHERE fingerprint = $1 AND holder = $2;

-- name: import_begin
INSERT INTO imports (fingerprint, source, started_at, updated_at)
VALUES ($1, $2, tain_now_ms(), tain_now_ms())
ON CONFLICT (fingerprint) DO UPDATE SET source = excluded.source, bytes = 0, mark = 0, lines = 0,
    items = 0, missing = 0, skipped = 0, broken = 0, started_at = excluded.started_at,
    updated_at = excluded.updated_at, finished_at = NULL;

-- name: import_step
-- The fence of a batch: it follows what is stored, or is stored already (a commit whose answer was
-- lost).
UPDATE imports SET bytes = $3, mark = $4, lines = $5, items = $6, missing = $7, skipped = $8,
       broken = $9, updated_at = tain_now_ms()
WHERE fingerprint = $1 AND bytes IN ($2, $3) RETURNING tain_now_ms();

-- name: import_finish
UPDATE imports SET finished_at = tain_now_ms(), updated_at = tain_now_ms() WHERE fingerprint = $1;

-- name: import_forget
DELETE FROM imports WHERE fingerprint = $1;

-- name: export_bounds
SELECT (SELECT MIN(id) FROM items WHERE id >= $1), (SELECT MAX(id) FROM items WHERE id <= $2);

-- name: export_items
SELECT id, deleted, type, by, time, text, dead, parent, poll, url, score, title, parts, descendants
FROM items WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3;

-- name: export_kids
SELECT item, kid, display_order FROM kids WHERE item BETWEEN $1 AND $2 ORDER BY item;

-- The updater ------------------------------------------------------------------------------

-- name: updater_row
SELECT updater_holder, COALESCE(updater_lease_until, 0), last_sse_event_at, last_rescan_at,
       tain_now_ms()
FROM updater_state;

-- name: updater_renew
UPDATE updater_state SET updater_lease_until = tain_now_ms() + $2
WHERE updater_token = $1 AND updater_holder IS NOT NULL RETURNING updater_token;

-- name: updater_release
UPDATE updater_state SET updater_holder = NULL, updater_lease_until = NULL
WHERE updater_token = $1;

-- name: updater_persist
-- Stamps rise, unless what is there was written by a clock that went ahead ($4: by more than this).
UPDATE updater_state
SET last_sse_event_at = CASE
        WHEN $2 > 0 AND ($2 > COALESCE(last_sse_event_at, 0)
                         OR last_sse_event_at > tain_now_ms() + $4) THEN $2
        ELSE last_sse_event_at END,
    last_rescan_at = CASE
        WHEN $3 > 0 AND ($3 > COALESCE(last_rescan_at, 0)
                         OR last_rescan_at > tain_now_ms() + $4) THEN $3
        ELSE last_rescan_at END
WHERE updater_token = $1 AND updater_holder IS NOT NULL RETURNING updater_token;

-- name: live_due
-- The subquery makes now a value that an index can be asked for.
SELECT item_id, attempts, rung FROM ingest_dlq_items
WHERE source = 'realtime' AND state = 'retry_wait' AND next_retry_at <= (SELECT tain_now_ms())
ORDER BY next_retry_at, item_id LIMIT $1;

-- name: live_sweep
-- Rows of the live stream come and go with every young null: what was resolved long ago goes.
DELETE FROM ingest_dlq_items
WHERE source = 'realtime' AND state = 'resolved' AND item_id IN
      (SELECT item_id FROM ingest_dlq_items
       WHERE source = 'realtime' AND state = 'resolved'
         AND resolved_at < (SELECT tain_now_ms()) - $1
       ORDER BY resolved_at LIMIT $2);

-- name: live_backlog
-- Whatever waits has a time; asking for one makes SQLite use the index of what waits.
SELECT COUNT(CASE WHEN failure_class IN ('null_young', 'delayed') THEN NULL ELSE 1 END),
       COUNT(CASE WHEN failure_class IN ('null_young', 'delayed') THEN 1 END)
           + (SELECT COUNT(*) FROM ingest_exceptions
              WHERE state <> 'terminal_missing' AND state = 'retry_wait'
                AND failure_class IN ('null_young', 'delayed'))
FROM ingest_dlq_items
WHERE source = 'realtime' AND state = 'retry_wait' AND next_retry_at >= 0;

-- name: ages_list
SELECT bucket, n FROM update_ages;

-- name: item_times
SELECT id, time FROM items WHERE id >= $1 AND time > 0 ORDER BY id LIMIT $2;

-- name: segments_open_count
SELECT COUNT(*) FROM ingest_segments WHERE purpose = $1 AND status <> 'done';

-- A range that is planned anew: what of its purpose ($1) lies within it ($2 .. $3) and is held by
-- nobody makes room. A segment that reaches over one end is cut there, and keeps what is outside;
-- one that reaches over both stays as it is.

-- name: range_forget_exceptions
DELETE FROM ingest_exceptions
WHERE item_id BETWEEN $2 AND $3 AND segment_id IN
      (SELECT segment_id FROM ingest_segments
       WHERE purpose = $1 AND status <> 'in_progress' AND start_id <= $3 AND end_id >= $2
         AND (start_id >= $2 OR end_id <= $3));

-- name: range_letters
-- Dead letters that lost their exception are tried again with the range.
UPDATE ingest_dlq_items SET state = 'retry_wait', next_retry_at = tain_now_ms()
WHERE state <> 'resolved' AND state = 'dead_letter' AND source <> 'realtime'
  AND item_id BETWEEN $1 AND $2
  AND NOT EXISTS (SELECT 1 FROM ingest_exceptions x
                  WHERE x.item_id = ingest_dlq_items.item_id AND x.state = 'dead_letter');

-- name: range_forget
DELETE FROM ingest_segments
WHERE purpose = $1 AND status <> 'in_progress' AND start_id >= $2 AND end_id <= $3;

-- name: range_cut_below
-- What waits at the end of its range is counted when it settles.
UPDATE ingest_segments
SET end_id = $2 - 1,
    scan_cursor_id = CASE WHEN scan_cursor_id >= $2 THEN $2 - 1 ELSE scan_cursor_id END,
    unresolved_count = CASE WHEN status <> 'pending' THEN unresolved_count
        ELSE (SELECT COUNT(*) FROM ingest_exceptions x
              WHERE x.segment_id = ingest_segments.segment_id
                AND x.state <> 'terminal_missing') END
WHERE purpose = $1 AND status <> 'in_progress'
  AND start_id < $2 AND end_id BETWEEN $2 AND $3;

-- name: range_cut_above
UPDATE ingest_segments
SET start_id = $3 + 1,
    scan_cursor_id = CASE WHEN scan_cursor_id < $3 THEN $3 ELSE scan_cursor_id END,
    unresolved_count = CASE WHEN status <> 'pending' THEN unresolved_count
        ELSE (SELECT COUNT(*) FROM ingest_exceptions x
              WHERE x.segment_id = ingest_segments.segment_id
                AND x.state <> 'terminal_missing') END
WHERE purpose = $1 AND status <> 'in_progress'
  AND start_id BETWEEN $2 AND $3 AND end_id > $3;

-- name: user_work_due
SELECT name, attempts, last_error FROM user_work
WHERE next_retry_at <= (SELECT tain_now_ms()) ORDER BY next_retry_at, name LIMIT $1;

-- name: list_touch
UPDATE lists SET seen_at = $2 WHERE name = $1;

-- What pages and APIs read -------------------------------------------------------------------

-- Items come with the columns of read_discussions, in its order.

-- name: read_discussions
SELECT id, deleted, type, by, time, text, dead, parent, poll, url, score, title, parts, descendants,
       url_key, domain, story_id, first_seen_at, last_fetched_at, last_changed_at
FROM items WHERE url_key = $1 ORDER BY COALESCE(score, 0) DESC, id DESC LIMIT $2;

-- name: read_missing
SELECT COUNT(*) FROM ingest_exceptions WHERE item_id = $1 AND state = 'terminal_missing';

-- name: read_maxitem
SELECT COALESCE(MAX(id), 0) FROM items;

-- name: read_list
SELECT ids, seen_at FROM lists WHERE name = $1;

-- name: read_candidates
-- What a list could be made of, among the newest $1 + 1 items.
SELECT id, type, time, score, title FROM items
WHERE id >= COALESCE((SELECT id FROM items ORDER BY id DESC LIMIT 1 OFFSET $1), 0)
  AND type IN ('story', 'job', 'poll') AND NOT dead AND NOT deleted;

-- name: read_user
SELECT id, created, karma, about, submitted, gone, last_fetched_at, content_hash
FROM users WHERE id = $1;

-- name: read_revisions
SELECT item_id, deleted, type, by, time, text, dead, parent, poll, url, score, title, parts,
       descendants, fetched_at, replaced_at, content_hash
FROM item_revisions WHERE item_id = $1 ORDER BY revision_id DESC LIMIT $2;

-- Rate limit shared by every process on this database -------------------------------------------

-- name: provider_ensure
INSERT INTO providers (name) VALUES ($1) ON CONFLICT (name) DO NOTHING;

-- name: provider_reserve
-- GCRA: $2 turns, $3 microseconds apart. Answers the new tat and the database's time. A tat more
-- than a minute and a hundred such leases ahead is a wrong clock, not a queue.
UPDATE providers SET tat_us = CAST($2 AS BIGINT) * $3 + CASE
    WHEN tat_us BETWEEN tain_now_ms() * 1000
                    AND (tain_now_ms() + 60000) * 1000 + 100 * $2 * $3 THEN tat_us
    ELSE tain_now_ms() * 1000 END
WHERE name = $1 RETURNING tat_us, tain_now_ms();

-- Status -------------------------------------------------------------------------------------

-- name: status_segments
SELECT status, COUNT(*) FROM ingest_segments GROUP BY status;

-- name: status_exceptions
SELECT state, COUNT(*) FROM ingest_exceptions GROUP BY state;

-- name: status_dead_letters
SELECT COUNT(*) FROM ingest_dlq_items WHERE state = 'dead_letter';

-- name: status_unresolved_ids
SELECT DISTINCT x.item_id FROM ingest_exceptions x JOIN ingest_segments s USING (segment_id)
WHERE s.purpose = 'mirror' AND x.state <> 'terminal_missing' ORDER BY x.item_id LIMIT $1;

-- name: status_unresolved_in
SELECT COUNT(DISTINCT CASE WHEN x.state IN ('pending', 'retry_wait') THEN x.item_id END),
       COUNT(DISTINCT CASE WHEN x.state = 'dead_letter' THEN x.item_id END)
FROM ingest_exceptions x JOIN ingest_segments s USING (segment_id)
WHERE x.state <> 'terminal_missing'
  AND (s.purpose IN ('gap', 'rescan') OR x.item_id BETWEEN $1 AND $2);

-- name: status_stalled
-- Held with a heartbeat older than the lease, or stopped by what failed or died. Young nulls and
-- [delayed] on their ladder are the order of the day, and hold nothing up.
SELECT s.start_id, s.end_id, s.scan_cursor_id, s.unresolved_count, s.status, s.holder,
       tain_now_ms() - s.heartbeat_at, s.last_error, s.failure_class
FROM ingest_segments s
WHERE s.status = 'dead_letter'
   OR (s.status = 'retry_wait' AND EXISTS (
           SELECT 1 FROM ingest_exceptions x
           WHERE x.segment_id = s.segment_id AND x.state <> 'terminal_missing'
             AND NOT (x.state = 'retry_wait' AND x.failure_class IN ('null_young', 'delayed'))))
   OR (s.status = 'in_progress' AND s.heartbeat_at < tain_now_ms() - $1)
ORDER BY s.start_id LIMIT 100;

-- Proving the archive ------------------------------------------------------------------------

-- name: verify_items
-- With what the thread's parent says of its story.
SELECT i.id, i.deleted, i.type, i.by, i.time, i.text, i.dead, i.parent, i.poll, i.url, i.score,
       i.title, i.parts, i.descendants, i.story_id, i.url_key, i.domain, i.content_hash,
       i.kids_hash, i.last_fetched_at, p.id, p.story_id
FROM items i LEFT JOIN items p ON p.id = COALESCE(i.poll, i.parent)
WHERE i.id BETWEEN $1 AND $2 ORDER BY i.id;

-- name: verify_kids
SELECT item, kid FROM kids WHERE item BETWEEN $1 AND $2 ORDER BY item, display_order, kid;

-- name: verify_exceptions
SELECT x.item_id, x.segment_id, x.state, s.purpose, s.start_id, s.end_id
FROM ingest_exceptions x LEFT JOIN ingest_segments s ON s.segment_id = x.segment_id
WHERE x.item_id BETWEEN $1 AND $2 ORDER BY x.item_id, x.segment_id;

-- name: verify_letters
SELECT DISTINCT item_id FROM ingest_dlq_items
WHERE state <> 'resolved' AND state = 'dead_letter' AND source <> 'realtime'
  AND item_id BETWEEN $1 AND $2 ORDER BY item_id;

-- name: verify_next
-- The next id that anything is known of.
SELECT MIN(t.id) FROM (
    SELECT MIN(id) AS id FROM items WHERE id >= $1
    UNION ALL SELECT MIN(item) FROM kids WHERE item >= $1
    UNION ALL SELECT MIN(item_id) FROM ingest_exceptions WHERE item_id >= $1
    UNION ALL SELECT MIN(item_id) FROM ingest_dlq_items WHERE state <> 'resolved' AND item_id >= $1
) AS t;

-- name: verify_last
SELECT MAX(id) FROM items;

-- name: verify_segments
SELECT s.segment_id, s.start_id, s.end_id, s.purpose, s.status, s.scan_cursor_id,
       s.unresolved_count,
       (SELECT COUNT(*) FROM ingest_exceptions x WHERE x.segment_id = s.segment_id
           AND x.state IN ('pending', 'retry_wait', 'dead_letter')),
       (SELECT COUNT(*) FROM ingest_exceptions x WHERE x.segment_id = s.segment_id
           AND x.state = 'pending'),
       s.holder, tain_now_ms() - s.lease_until
FROM ingest_segments s ORDER BY s.start_id, s.segment_id;

-- name: sample_item
SELECT id FROM items WHERE id >= $1 ORDER BY id LIMIT 1;

-- name: sample_missing
SELECT item_id FROM ingest_exceptions WHERE item_id >= $1 AND state = 'terminal_missing'
ORDER BY item_id LIMIT 1;

-- name: verify_repairs
-- Repairs that touch a range, in the columns of verify_segments.
SELECT segment_id, start_id, end_id, purpose, status, scan_cursor_id, unresolved_count,
       0, 0, holder, 0
FROM ingest_segments WHERE purpose IN ('gap', 'rescan') AND start_id <= $2 AND end_id >= $1
ORDER BY start_id, segment_id;

-- name: verify_impossible
SELECT id FROM items WHERE id < 1 ORDER BY id LIMIT 1000;

-- name: repair_derived
-- Only if nobody stored the item anew since it was read.
UPDATE items SET url_key = $3, domain = $4 WHERE id = $1 AND last_fetched_at = $2;

-- name: repair_unconfirmed
-- The same. Only a fetch gives a row its hash: it differs from this one, whatever it brings.
UPDATE items SET content_hash = 0 WHERE id = $1 AND last_fetched_at = $2 AND content_hash = $3;

-- name: repair_impossible
DELETE FROM items WHERE id < 1;

-- name: repair_impossible_kids
DELETE FROM kids WHERE item < 1;

-- name: repair_state
INSERT INTO updater_state (only_row) VALUES (1) ON CONFLICT (only_row) DO NOTHING;

-- name: repair_story
UPDATE items SET story_id = CASE WHEN items.type IN ('story', 'job', 'poll') THEN items.id
    ELSE (SELECT p.story_id FROM items p WHERE p.id = COALESCE(items.poll, items.parent)) END
WHERE items.id = $1;

-- name: repair_stray_kids
DELETE FROM kids WHERE item = $1 AND NOT EXISTS (SELECT 1 FROM items WHERE id = $1);

-- name: repair_exception_home
-- An exception without its segment moves to the mirror segment that covers it.
INSERT INTO ingest_exceptions (item_id, segment_id, state, attempts, rung, next_retry_at,
                               last_error, failure_class, updated_at)
SELECT x.item_id, m.segment_id, x.state, x.attempts, x.rung, x.next_retry_at, x.last_error,
       x.failure_class, x.updated_at
FROM ingest_exceptions x JOIN ingest_segments m
     ON m.purpose = 'mirror' AND x.item_id BETWEEN m.start_id AND m.scan_cursor_id
WHERE x.item_id = $1 AND x.segment_id = $2 AND NOT EXISTS (SELECT 1 FROM items WHERE id = $1)
ON CONFLICT (item_id, segment_id) DO NOTHING;

-- name: repair_exception_drop
DELETE FROM ingest_exceptions WHERE item_id = $1 AND segment_id = $2;

-- name: repair_exception_state
UPDATE ingest_exceptions SET state = 'pending', attempts = 0, rung = 0, next_retry_at = NULL,
       updated_at = tain_now_ms()
WHERE item_id = $1 AND segment_id = $2;

-- name: repair_letter_add
INSERT INTO ingest_dlq_items (source, item_id, state, failure_class, attempts, last_error,
                              first_at, last_at)
SELECT 'catchup', item_id, 'dead_letter', failure_class, attempts, last_error, updated_at,
       updated_at
FROM ingest_exceptions WHERE item_id = $1 AND segment_id = $2 AND state = 'dead_letter'
ON CONFLICT (source, item_id) DO UPDATE SET state = excluded.state, resolved_at = NULL;

-- name: repair_letter_resolve
UPDATE ingest_dlq_items SET state = 'resolved', resolved_at = tain_now_ms(), next_retry_at = NULL
WHERE item_id = $1 AND state <> 'resolved' AND source <> 'realtime';

-- name: repair_segment_move
-- Exceptions of a segment up to an id go to the segment that keeps these ids.
UPDATE ingest_exceptions SET segment_id = $2
WHERE segment_id = $1 AND item_id <= $3 AND NOT EXISTS
      (SELECT 1 FROM ingest_exceptions o
       WHERE o.segment_id = $2 AND o.item_id = ingest_exceptions.item_id);

-- name: repair_segment_move_rest
DELETE FROM ingest_exceptions WHERE segment_id = $1 AND item_id <= $2;

-- name: repair_segment_trim
UPDATE ingest_segments SET start_id = $2,
    scan_cursor_id = CASE WHEN scan_cursor_id < $3 THEN $3 ELSE scan_cursor_id END
WHERE segment_id = $1;

-- name: repair_segments_wake
-- At rest, and yet with ids behind the cursor; or done, and yet with unresolved ones.
UPDATE ingest_segments SET status = 'pending'
WHERE (status IN ('done', 'retry_wait', 'dead_letter') AND scan_cursor_id < end_id)
   OR (status = 'done'
       AND EXISTS (SELECT 1 FROM ingest_exceptions x WHERE x.segment_id = ingest_segments.segment_id
                     AND x.state IN ('pending', 'retry_wait', 'dead_letter')));

-- name: repair_segments_count
UPDATE ingest_segments
SET unresolved_count = (SELECT COUNT(*) FROM ingest_exceptions x
                        WHERE x.segment_id = ingest_segments.segment_id
                          AND x.state IN ('pending', 'retry_wait', 'dead_letter'))
WHERE status IN ('pending', 'done')
  AND unresolved_count <> (SELECT COUNT(*) FROM ingest_exceptions x
                           WHERE x.segment_id = ingest_segments.segment_id
                             AND x.state IN ('pending', 'retry_wait', 'dead_letter'));

-- name: repair_missing_again
-- The upstream has an item after all: the next plan step wakes the segment.
UPDATE ingest_exceptions SET state = 'pending', attempts = 0, rung = 0, next_retry_at = NULL,
       updated_at = tain_now_ms()
WHERE item_id = $1 AND state = 'terminal_missing';

-- Dead letters, by hand ----------------------------------------------------------------------

-- A choice of dead letters is a range of ids and a failure class; '' is every class.

-- name: letters_list
-- What exceptions hold, and what only the queue does (ids of the live stream).
SELECT * FROM (
    SELECT x.item_id AS id, s.purpose AS origin, x.failure_class AS class, x.attempts AS attempts,
           x.updated_at AS at, x.last_error AS error, x.segment_id AS segment
    FROM ingest_exceptions x LEFT JOIN ingest_segments s ON s.segment_id = x.segment_id
    WHERE x.state = 'dead_letter' AND x.item_id BETWEEN $1 AND $2
      AND ($3 = '' OR x.failure_class = $3)
    UNION ALL
    SELECT d.item_id, d.source, d.failure_class, d.attempts, d.last_at, d.last_error, 0
    FROM ingest_dlq_items d
    WHERE d.state <> 'resolved' AND d.state = 'dead_letter' AND d.item_id BETWEEN $1 AND $2
      AND ($3 = '' OR d.failure_class = $3)
      AND NOT EXISTS (SELECT 1 FROM ingest_exceptions x
                      WHERE x.item_id = d.item_id AND x.state = 'dead_letter')
) AS t ORDER BY t.id, t.segment LIMIT $4;

-- name: letters_count
SELECT COUNT(*) FROM (
    SELECT item_id FROM ingest_exceptions
    WHERE state = 'dead_letter' AND item_id BETWEEN $1 AND $2 AND ($3 = '' OR failure_class = $3)
    UNION
    SELECT item_id FROM ingest_dlq_items
    WHERE state <> 'resolved' AND state = 'dead_letter' AND item_id BETWEEN $1 AND $2
      AND ($3 = '' OR failure_class = $3)
) AS t;

-- name: letters_count_stored
-- Those of them whose item is stored all the same.
SELECT COUNT(*) FROM (
    SELECT item_id FROM ingest_exceptions
    WHERE state = 'dead_letter' AND item_id BETWEEN $1 AND $2 AND ($3 = '' OR failure_class = $3)
    UNION
    SELECT item_id FROM ingest_dlq_items
    WHERE state <> 'resolved' AND state = 'dead_letter' AND item_id BETWEEN $1 AND $2
      AND ($3 = '' OR failure_class = $3)
) AS t JOIN items i ON i.id = t.item_id;

-- name: letters_replay_queue
-- Before the exceptions change: a row of the queue follows the exception of its id. What only the
-- queue knows has its attempts there.
UPDATE ingest_dlq_items SET state = 'retry_wait', next_retry_at = tain_now_ms(),
       attempts = CASE WHEN source = 'realtime' THEN 0 ELSE attempts END,
       rung = CASE WHEN source = 'realtime' THEN 0 ELSE rung END
WHERE state = 'dead_letter' AND item_id BETWEEN $1 AND $2
  AND ($3 = '' OR failure_class = $3
       OR EXISTS (SELECT 1 FROM ingest_exceptions x WHERE x.item_id = ingest_dlq_items.item_id
                     AND x.state = 'dead_letter' AND x.failure_class = $3));

-- name: letters_replay
UPDATE ingest_exceptions SET state = 'pending', attempts = 0, rung = 0, next_retry_at = NULL,
       updated_at = tain_now_ms()
WHERE state = 'dead_letter' AND item_id BETWEEN $1 AND $2 AND ($3 = '' OR failure_class = $3);

-- name: letters_accept_queue
UPDATE ingest_dlq_items SET state = 'resolved', resolved_at = tain_now_ms(), next_retry_at = NULL
WHERE state = 'dead_letter' AND item_id BETWEEN $1 AND $2
  AND ($3 = '' OR failure_class = $3
       OR EXISTS (SELECT 1 FROM ingest_exceptions x WHERE x.item_id = ingest_dlq_items.item_id
                     AND x.state = 'dead_letter' AND x.failure_class = $3));

-- name: letters_accept_stored
-- A stored item is not missing, whoever says so.
DELETE FROM ingest_exceptions
WHERE state = 'dead_letter' AND item_id BETWEEN $1 AND $2 AND ($3 = '' OR failure_class = $3)
  AND EXISTS (SELECT 1 FROM items i WHERE i.id = ingest_exceptions.item_id);

-- name: letters_accept
UPDATE ingest_exceptions SET state = 'terminal_missing', next_retry_at = NULL, last_error = $4,
       updated_at = tain_now_ms()
WHERE state = 'dead_letter' AND item_id BETWEEN $1 AND $2 AND ($3 = '' OR failure_class = $3);

-- name: letters_extent
-- The ids of what waits for another try in segments that a window has to reach.
SELECT MIN(x.item_id), MAX(x.item_id)
FROM ingest_exceptions x JOIN ingest_segments s ON s.segment_id = x.segment_id
WHERE s.purpose = 'replay' AND x.state = 'pending' AND x.item_id BETWEEN $1 AND $2;

-- name: known_item
SELECT type, deleted, dead, last_fetched_at FROM items WHERE id = $1;

-- name: known_exceptions
SELECT x.segment_id, s.purpose, s.start_id, s.end_id, s.status, x.state, x.failure_class,
       x.attempts, x.rung, x.next_retry_at, x.updated_at, x.last_error
FROM ingest_exceptions x LEFT JOIN ingest_segments s ON s.segment_id = x.segment_id
WHERE x.item_id = $1 ORDER BY x.segment_id;

-- name: known_letters
SELECT source, state, failure_class, attempts, next_retry_at, first_at, last_at, resolved_at,
       last_error
FROM ingest_dlq_items WHERE item_id = $1 ORDER BY source;

-- name: known_segment
-- The mirror segment that covers an id.
SELECT segment_id, start_id, end_id, status, scan_cursor_id, unresolved_count
FROM ingest_segments WHERE purpose = 'mirror' AND $1 BETWEEN start_id AND end_id;

-- Health -------------------------------------------------------------------------------------

-- name: health_write
UPDATE updater_state SET only_row = only_row;
