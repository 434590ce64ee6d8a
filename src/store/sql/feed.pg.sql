-- name: feed_state_get
SELECT (SELECT MAX(epoch) FROM feed_epochs), head,
       COALESCE((SELECT MIN(pos) FROM change_log), head + 1), COALESCE(history_to, 0),
       (SELECT COUNT(*) FROM cdc_tables WHERE removed_at IS NOT NULL)
FROM feed_state;

-- name: feed_look
-- Is this a standby, and is there anything to number, or a new life to be named? Who stood further
-- than this database must hear of that before the next change.
SELECT r.standby, EXISTS (SELECT 1 FROM change_log WHERE pos IS NULL) OR CASE WHEN NOT r.standby
       THEN (SELECT mark FROM feed_epochs ORDER BY epoch DESC LIMIT 1) IS DISTINCT FROM feed_mark()
       ELSE false END
FROM (SELECT pg_is_in_recovery() AS standby) AS r;

-- name: feed_lock
-- Held to the end of the transaction. What is numbered is looked for in a later statement: this one
-- sees the database as it was before it waited.
SELECT head FROM feed_state WHERE only_row = 1 FOR UPDATE;

-- name: feed_number
-- The next positions for at most $1 rows of the log; a new epoch first, where this is another life
-- of the database than the last one that numbered. Rings ($2) when there is something to hear. Rows
-- are found again by their place: whoever counts the log finds next to none without a number, and a
-- plan that believes this compares each with all the others. Nobody else changes them; where
-- somebody does all the same, and has moved one, the answer is -1: all of it is to be taken back.
WITH life AS (
    INSERT INTO feed_epochs (epoch, from_pos, mark, began_at)
    SELECT GREATEST(tain_now_ms() / 1000, e.epoch + 1), s.head, feed_mark(), tain_now_ms()
    FROM feed_state s, (SELECT epoch, mark FROM feed_epochs ORDER BY epoch DESC LIMIT 1) AS e
    WHERE e.mark IS DISTINCT FROM feed_mark()
    RETURNING epoch
), todo AS (
    SELECT w.place, w.tableoid,
           SUM(w.n) OVER (ORDER BY w.batch, w.part ROWS UNBOUNDED PRECEDING) - w.n AS before
    FROM (SELECT ctid AS place, tableoid, batch, part, n FROM change_log
          WHERE pos IS NULL ORDER BY batch, part LIMIT $1) AS w
), numbered AS (
    UPDATE change_log l SET pos = s.head + t.before + 1
    FROM feed_state s, todo t
    WHERE l.ctid = t.place AND l.tableoid = t.tableoid AND l.pos IS NULL
    RETURNING l.n
), moved AS (
    UPDATE feed_state SET head = head + (SELECT COALESCE(SUM(n), 0) FROM numbered)
)
SELECT n.n, CASE WHEN n.n > 0 OR EXISTS (SELECT 1 FROM life) THEN pg_notify($2, '') END
FROM (SELECT CASE WHEN COUNT(*) = (SELECT COUNT(*) FROM todo) THEN COALESCE(SUM(n), 0)
                  ELSE -1 END AS n FROM numbered) AS n;

-- name: feed_read
-- The changes at the $2 positions behind $1, no further than some $3 bytes: rows of the log that
-- are beyond that are not opened. They begin in the middle of such a row, perhaps. The limit keeps
-- the plan to the index, whatever the statistics say.
SELECT t.pos + t.place, t.at, t.table_id, c.schema_name, c.table_name, c.is_public, t.action, t.key,
       CASE WHEN octet_length(t.json) <= $4 THEN t.json END,
       CASE WHEN t.pos > (SELECT from_pos FROM feed_epochs ORDER BY epoch DESC LIMIT 1)
            THEN (SELECT MAX(epoch) FROM feed_epochs)
            ELSE (SELECT MAX(epoch) FROM feed_epochs WHERE from_pos < t.pos) END,
       (SELECT topics FROM feed_state)
FROM (SELECT w.pos, w.at, w.table_id, w.action, generate_series(0, w.n - 1) AS place,
             unnest(w.keys) AS key, unnest(w.data) AS json
      FROM (SELECT l.*, SUM(l.bytes) OVER (ROWS UNBOUNDED PRECEDING) AS upto
            FROM (SELECT pos, at, table_id, action, n, bytes, keys, data FROM change_log
                  WHERE pos <= $1::bigint + $2::bigint
                    AND pos >= COALESCE((SELECT MAX(pos) FROM change_log WHERE pos <= $1 + 1), $1)
                  ORDER BY pos LIMIT $2 + 1) AS l
            WHERE l.pos + l.n > $1 + 1) AS w
      WHERE w.upto - w.bytes < $3) AS t
LEFT JOIN cdc_tables c ON c.table_id = t.table_id
WHERE t.pos + t.place > $1 AND t.pos + t.place <= $1 + $2
ORDER BY t.pos, t.place;

-- name: feed_waiting
SELECT GREATEST(tain_now_ms() - at, 0) FROM change_log
WHERE pos IS NULL ORDER BY batch, part LIMIT 1;

-- name: feed_prune_to
-- Below which position all may go: of the rows of the log with the $3 oldest changes those in front
-- of the first with a change that is no older than $1 and among the last $2. NULL: there are none.
WITH low AS (
    SELECT pos, n, at FROM change_log
    WHERE pos < (SELECT MIN(pos) FROM change_log) + $3 ORDER BY pos LIMIT $3
)
SELECT COALESCE((SELECT MIN(l.pos) FROM low l, feed_state s
                 WHERE l.at >= tain_now_ms() - $1 AND l.pos + l.n > s.head - $2 + 1),
                (SELECT MAX(pos + n) FROM low));

-- name: feed_prune
-- Whole rows of the log. How many changes those were.
WITH gone AS (
    DELETE FROM change_log WHERE pos < $1 RETURNING n
)
SELECT n FROM gone;

-- name: feed_new_epoch
INSERT INTO feed_epochs (epoch, from_pos, mark, began_at)
SELECT GREATEST(tain_now_ms() / 1000, COALESCE((SELECT MAX(epoch) FROM feed_epochs), 0) + 1), head,
       feed_mark(), tain_now_ms()
FROM feed_state
RETURNING epoch;

-- name: feed_ring
SELECT pg_notify($1, '');

-- name: feed_role
-- Held by this connection until it ends, however often it is asked for.
SELECT pg_try_advisory_lock(7496944, hashtext(current_schema()));

-- name: feed_bulk_on
-- Of a batch whose largest id is $1, if that is history. Ends with the transaction at the latest.
SELECT set_config('tain.bulk', 'on', true) FROM feed_state WHERE COALESCE(history_to, $1) >= $1;

-- name: feed_bulk_off
SELECT set_config('tain.bulk', 'off', true);

-- name: feed_together
-- From here to the end of the transaction, statements log the items that they update by themselves.
-- They lock the log before its sequence, where triggers and partition_make() do it the other way
-- round: so the sequence is locked here, by taking a number of it.
SELECT set_config('tain.together', 'on', true), nextval('change_log_batch_seq');

-- name: recent_mark
SELECT COALESCE((SELECT head FROM feed_state), 0);

-- name: recent_items
-- Each once, by its newest change, out of the newest $2 changes.
SELECT t.id, MAX(t.pos) FROM (
    SELECT (u.key::json ->> 'id')::bigint AS id, l.pos + u.place - 1 AS pos
    FROM (SELECT w.*, SUM(w.n) OVER (ORDER BY w.pos DESC ROWS UNBOUNDED PRECEDING) AS upto
          FROM (SELECT pos, n, keys FROM change_log
                WHERE table_id = 1 AND pos IS NOT NULL AND action IN ('insert', 'update')
                ORDER BY pos DESC LIMIT $2) AS w) AS l
    CROSS JOIN LATERAL unnest(l.keys) WITH ORDINALITY AS u (key, place)
    WHERE l.upto - l.n < $2 AND u.place - 1 >= l.upto - $2) AS t
GROUP BY t.id ORDER BY 2 DESC LIMIT $1;

-- name: recent_names
SELECT t.id, MAX(t.pos) FROM (
    SELECT u.key::json ->> 'id' AS id, l.pos + u.place - 1 AS pos
    FROM (SELECT w.*, SUM(w.n) OVER (ORDER BY w.pos DESC ROWS UNBOUNDED PRECEDING) AS upto
          FROM (SELECT pos, n, keys FROM change_log
                WHERE table_id = 2 AND pos IS NOT NULL AND action IN ('insert', 'update')
                ORDER BY pos DESC LIMIT $2) AS w) AS l
    CROSS JOIN LATERAL unnest(l.keys) WITH ORDINALITY AS u (key, place)
    WHERE l.upto - l.n < $2 AND u.place - 1 >= l.upto - $2) AS t
GROUP BY t.id ORDER BY 2 DESC LIMIT $1;

-- name: recent_since
-- Each once, by its newest change, out of the $2 changes behind $1; and how many those are.
SELECT CASE t.table_id WHEN 1 THEN t.id::bigint END, CASE t.table_id WHEN 2 THEN t.id END,
       MAX(t.pos), COUNT(*)
FROM (SELECT l.table_id, u.key::json ->> 'id' AS id, l.pos + u.place - 1 AS pos
      FROM (SELECT w.*, SUM(w.n - w.had) OVER (ORDER BY w.pos ROWS UNBOUNDED PRECEDING) AS upto
            FROM (SELECT pos, n, keys, table_id, GREATEST($1 + 1 - pos, 0) AS had FROM change_log
                  WHERE pos >= COALESCE((SELECT MAX(pos) FROM change_log WHERE pos <= $1 + 1), $1)
                    AND pos + n > $1 + 1
                    AND table_id <= 2 AND action IN ('insert', 'update')
                  ORDER BY pos LIMIT $2) AS w) AS l
      CROSS JOIN LATERAL unnest(l.keys) WITH ORDINALITY AS u (key, place)
      WHERE l.upto - (l.n - l.had) < $2
        AND u.place - 1 >= l.had AND u.place - 1 < l.n + $2 - l.upto) AS t
GROUP BY t.table_id, t.id ORDER BY 3;

-- name: recent_rate
-- Changes of items by whole minutes before now, of the last $1 minutes and the newest $2 rows.
SELECT (tain_now_ms() - t.at) / 60000, SUM(t.n)
FROM (SELECT at, n FROM change_log
      WHERE table_id = 1 AND pos IS NOT NULL AND action IN ('insert', 'update')
      ORDER BY pos DESC LIMIT $2) AS t
WHERE t.at > tain_now_ms() - $1 * 60000 AND t.at <= tain_now_ms() GROUP BY 1;
