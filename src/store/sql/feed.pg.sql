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
-- The next positions for at most $1 changes; a new epoch first, where this is another life of the
-- database than the last one that numbered. Rings ($2) when there is something to hear.
WITH life AS (
    INSERT INTO feed_epochs (epoch, from_pos, mark, began_at)
    SELECT GREATEST(tain_now_ms() / 1000, e.epoch + 1), s.head, feed_mark(), tain_now_ms()
    FROM feed_state s, (SELECT epoch, mark FROM feed_epochs ORDER BY epoch DESC LIMIT 1) AS e
    WHERE e.mark IS DISTINCT FROM feed_mark()
    RETURNING epoch
), todo AS (
    SELECT seq FROM change_log WHERE pos IS NULL ORDER BY seq LIMIT $1
), numbered AS (
    UPDATE change_log c SET pos = s.head + t.place
    FROM feed_state s, (SELECT seq, row_number() OVER (ORDER BY seq) AS place FROM todo) AS t
    WHERE c.seq = t.seq AND c.pos IS NULL
    RETURNING c.pos
), moved AS (
    UPDATE feed_state SET head = head + (SELECT COUNT(*) FROM numbered)
)
SELECT n.n, CASE WHEN n.n > 0 OR EXISTS (SELECT 1 FROM life) THEN pg_notify($2, '') END
FROM (SELECT COUNT(*) AS n FROM numbered) AS n;

-- name: feed_read
-- At most $2 changes behind $1, and no further than $3 bytes; the length of a text is known without
-- reading it.
SELECT t.pos, t.at, t.table_id, c.schema_name, c.table_name, c.is_public, t.action, t.key,
       CASE WHEN octet_length(t.data) <= $4 THEN t.data END,
       CASE WHEN t.pos > (SELECT from_pos FROM feed_epochs ORDER BY epoch DESC LIMIT 1)
            THEN (SELECT MAX(epoch) FROM feed_epochs)
            ELSE (SELECT MAX(epoch) FROM feed_epochs WHERE from_pos < t.pos) END
FROM (SELECT l.*, SUM(octet_length(l.data)) OVER (ORDER BY l.pos ROWS UNBOUNDED PRECEDING) AS upto
      FROM (SELECT pos, at, table_id, action, key, data FROM change_log
            WHERE pos > $1 ORDER BY pos LIMIT $2) AS l) AS t
LEFT JOIN cdc_tables c ON c.table_id = t.table_id
WHERE COALESCE(t.upto, 0) - COALESCE(octet_length(t.data), 0) < $3
ORDER BY t.pos;

-- name: feed_waiting
SELECT GREATEST(tain_now_ms() - at, 0) FROM change_log WHERE pos IS NULL ORDER BY seq LIMIT 1;

-- name: feed_prune_to
-- Below which position all may go: of the $3 oldest changes those in front of the first one that is
-- no older than $1 and among the last $2. NULL: there are none.
WITH low AS (
    SELECT pos, at FROM change_log WHERE pos IS NOT NULL ORDER BY pos LIMIT $3
)
SELECT COALESCE((SELECT MIN(l.pos) FROM low l, feed_state s
                 WHERE l.at >= tain_now_ms() - $1 AND l.pos > s.head - $2),
                (SELECT MAX(pos) + 1 FROM low));

-- name: feed_prune
DELETE FROM change_log WHERE pos < $1;

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
-- Of a batch whose largest id is $1, if that is history. Ends with the transaction.
SELECT set_config('tain.bulk', 'on', true) FROM feed_state WHERE COALESCE(history_to, $1) >= $1;

-- name: feed_bulk_off
SELECT 1;

-- name: recent_mark
SELECT COALESCE((SELECT head FROM feed_state), 0);

-- name: recent_items
-- Each once, by its newest change, out of the newest $2 changes.
SELECT t.id, MAX(t.pos) FROM (
    SELECT (key::json ->> 'id')::bigint AS id, pos FROM change_log
    WHERE table_id = 1 AND pos IS NOT NULL AND action IN ('insert', 'update')
    ORDER BY pos DESC LIMIT $2) AS t
GROUP BY t.id ORDER BY 2 DESC LIMIT $1;

-- name: recent_names
SELECT t.id, MAX(t.pos) FROM (
    SELECT key::json ->> 'id' AS id, pos FROM change_log
    WHERE table_id = 2 AND pos IS NOT NULL AND action IN ('insert', 'update')
    ORDER BY pos DESC LIMIT $2) AS t
GROUP BY t.id ORDER BY 2 DESC LIMIT $1;

-- name: recent_since
-- Each once, by its newest change, out of the $2 changes behind $1; and how many those are.
SELECT CASE t.table_id WHEN 1 THEN t.id::bigint END, CASE t.table_id WHEN 2 THEN t.id END,
       MAX(t.pos), COUNT(*)
FROM (SELECT table_id, key::json ->> 'id' AS id, pos FROM change_log
      WHERE pos > $1 AND table_id <= 2 AND action IN ('insert', 'update')
      ORDER BY pos LIMIT $2) AS t
GROUP BY t.table_id, t.id ORDER BY 3;

-- name: recent_rate
-- Changes of items by whole minutes before now, of the last $1 minutes and the newest $2 changes.
SELECT (tain_now_ms() - t.at) / 60000, COUNT(*)
FROM (SELECT at FROM change_log
      WHERE table_id = 1 AND pos IS NOT NULL AND action IN ('insert', 'update')
      ORDER BY pos DESC LIMIT $2) AS t
WHERE t.at > tain_now_ms() - $1 * 60000 AND t.at <= tain_now_ms() GROUP BY 1;
