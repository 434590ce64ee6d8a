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
FROM ingest_exceptions WHERE segment_id = $1;

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
UPDATE ingest_segments SET status = 'pending', holder = NULL, lease_until = 0,
       lease_token = lease_token + 1
WHERE status = 'in_progress' AND lease_until < tain_now_ms();

-- name: segments_wake_due
-- Also honours a hand-written state = 'pending', whatever became of its segment.
UPDATE ingest_segments SET status = 'pending'
WHERE status IN ('retry_wait', 'dead_letter', 'done') AND segment_id IN
      (SELECT segment_id FROM ingest_exceptions
       WHERE state = 'pending' OR (state = 'retry_wait' AND next_retry_at <= tain_now_ms()));

-- name: segments_settle
-- What others resolved since: an id stored by another path leaves its segment one less to wait for.
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
WHERE status IN ('retry_wait', 'dead_letter') AND scan_cursor_id = end_id
  AND unresolved_count <> (SELECT COUNT(*) FROM ingest_exceptions x
                           WHERE x.segment_id = ingest_segments.segment_id
                             AND x.state <> 'terminal_missing');

-- name: segments_sweep_exceptions
DELETE FROM ingest_exceptions
WHERE segment_id IN (SELECT segment_id FROM ingest_segments
                     WHERE purpose <> 'mirror' AND status = 'done');

-- name: segments_sweep
-- What is not the mirror itself leaves no trace when it is done.
DELETE FROM ingest_segments WHERE purpose <> 'mirror' AND status = 'done';

-- name: segments_pending_count
SELECT COUNT(*) FROM ingest_segments
WHERE status = 'pending' AND end_id >= $1 AND start_id <= $2;

-- name: segments_unfinished_count
SELECT COUNT(*) FROM ingest_segments
WHERE status IN ('pending', 'in_progress') AND end_id >= $1 AND start_id <= $2;

-- name: segments_next_due
-- When the next waiting id of a window is due: after a failure, and on a ladder. NULL: none waits.
SELECT MIN(CASE WHEN x.rung = 0 THEN x.next_retry_at END),
       MIN(CASE WHEN x.rung > 0 THEN x.next_retry_at END)
FROM ingest_exceptions x JOIN ingest_segments s USING (segment_id)
WHERE x.state = 'retry_wait' AND s.end_id >= $1 AND s.start_id <= $2;

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
SELECT item_id, state, attempts, rung, next_retry_at FROM ingest_exceptions
WHERE segment_id = $1 ORDER BY item_id;

-- Exceptions and dead letters ----------------------------------------------------------------

-- name: troubles_in_range
-- Ids that a success has to clear: 1 = an exception, 2 = an open dead letter.
SELECT item_id, 1 FROM ingest_exceptions WHERE item_id BETWEEN $1 AND $2
UNION ALL
SELECT item_id, 2 FROM ingest_dlq_items WHERE state <> 'resolved' AND item_id BETWEEN $1 AND $2;

-- Threads ------------------------------------------------------------------------------------

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

-- Rate limit shared by every process on this database -------------------------------------------

-- name: provider_ensure
INSERT INTO providers (name) VALUES ($1) ON CONFLICT (name) DO NOTHING;

-- name: provider_reserve
-- GCRA: $2 turns, $3 microseconds apart. Answers the new tat and the database's time. A tat more
-- than a minute and a hundred such leases ahead is a wrong clock, not a queue.
UPDATE providers SET tat_us = $2 * $3 + CASE
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
WHERE s.end_id >= $1 AND s.start_id <= $2;

-- name: status_stalled
-- Held with a heartbeat older than the lease, or stopped by what waits or died.
SELECT start_id, end_id, scan_cursor_id, unresolved_count, status, holder,
       tain_now_ms() - heartbeat_at, last_error, failure_class
FROM ingest_segments
WHERE status IN ('retry_wait', 'dead_letter')
   OR (status = 'in_progress' AND heartbeat_at < tain_now_ms() - $1)
ORDER BY start_id LIMIT 100;
