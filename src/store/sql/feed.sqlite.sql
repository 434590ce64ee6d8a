-- name: feed_state_get
SELECT (SELECT MAX(epoch) FROM feed_epochs), h.head,
       COALESCE((SELECT MIN(seq) FROM change_log), h.head + 1),
       COALESCE((SELECT history_to FROM feed_state), 0),
       (SELECT COUNT(*) FROM cdc_tables WHERE removed_at IS NOT NULL)
FROM (SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'change_log'), 0) AS head) AS h;

-- name: feed_look
-- A change is numbered as it is written.
SELECT 0, 0;

-- name: feed_lock
SELECT 0;

-- name: feed_number
SELECT 0 WHERE $1 > 0 AND $2 <> '';

-- name: feed_read
SELECT l.seq, l.at, l.table_id, c.schema_name, c.table_name, c.is_public, l.action, l.key,
       CASE WHEN length(CAST(l.data AS BLOB)) <= $4 THEN l.data END,
       CASE WHEN l.seq > (SELECT from_pos FROM feed_epochs ORDER BY epoch DESC LIMIT 1)
            THEN (SELECT MAX(epoch) FROM feed_epochs)
            ELSE (SELECT MAX(epoch) FROM feed_epochs WHERE from_pos < l.seq) END,
       (SELECT topics FROM feed_state)
FROM change_log l LEFT JOIN cdc_tables c ON c.table_id = l.table_id
WHERE l.seq > $1 AND $3 > 0 ORDER BY l.seq LIMIT $2;

-- name: feed_waiting
SELECT 0 WHERE false;

-- name: feed_prune_to
-- Below which position all may go: of the $3 oldest changes those in front of the first one that is
-- no older than $1 and among the last $2. NULL: there are none.
WITH low AS (SELECT seq, at FROM change_log ORDER BY seq LIMIT $3)
SELECT COALESCE((SELECT MIN(seq) FROM low
                 WHERE at >= tain_now_ms() - $1
                   AND seq > (SELECT seq FROM sqlite_sequence WHERE name = 'change_log') - $2),
                (SELECT MAX(seq) + 1 FROM low));

-- name: feed_prune
DELETE FROM change_log WHERE seq < $1 RETURNING 1;

-- name: feed_new_epoch
INSERT INTO feed_epochs (epoch, from_pos, began_at)
SELECT MAX(tain_now_ms() / 1000, COALESCE((SELECT MAX(epoch) FROM feed_epochs), 0) + 1),
       COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'change_log'), 0), tain_now_ms()
RETURNING epoch;

-- name: feed_ring
SELECT 0 WHERE $1 <> '';

-- name: feed_role
SELECT 1;

-- name: feed_bulk_on
-- Of a batch whose largest id is $1, if that is history. The triggers see it at once, and nobody
-- else does: it is off again before the transaction ends.
UPDATE feed_state SET bulk = 1 WHERE COALESCE(history_to, $1) >= $1;

-- name: feed_bulk_off
UPDATE feed_state SET bulk = 0 WHERE bulk;

-- name: feed_together
-- Triggers log row by row here, and nothing is dearer for it.
SELECT 1;

-- name: recent_mark
SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'change_log'), 0);

-- name: recent_items
-- Each once, by its newest change, out of the newest $2 changes. table_id <= 2 opens the index.
SELECT t.id, MAX(t.seq) FROM (
    SELECT json_extract(key, '$.id') AS id, seq FROM change_log
    WHERE table_id = 1 AND table_id <= 2 AND action IN ('insert', 'update')
    ORDER BY seq DESC LIMIT $2) AS t
GROUP BY t.id ORDER BY 2 DESC LIMIT $1;

-- name: recent_names
SELECT t.id, MAX(t.seq) FROM (
    SELECT json_extract(key, '$.id') AS id, seq FROM change_log
    WHERE table_id = 2 AND table_id <= 2 AND action IN ('insert', 'update')
    ORDER BY seq DESC LIMIT $2) AS t
GROUP BY t.id ORDER BY 2 DESC LIMIT $1;

-- name: recent_since
-- Each once, by its newest change, out of the $2 changes behind $1; and how many those are.
SELECT CASE t.table_id WHEN 1 THEN t.id END, CASE t.table_id WHEN 2 THEN t.id END,
       MAX(t.seq), COUNT(*)
FROM (SELECT table_id, json_extract(key, '$.id') AS id, seq FROM change_log
      WHERE seq > $1 AND +table_id <= 2 AND action IN ('insert', 'update')
      ORDER BY seq LIMIT $2) AS t
GROUP BY t.table_id, t.id ORDER BY 3;

-- name: recent_rate
-- Changes of items by whole minutes before now, of the last $1 minutes and the newest $2 changes.
SELECT (tain_now_ms() - t.at) / 60000, COUNT(*)
FROM (SELECT at FROM change_log
      WHERE table_id = 1 AND table_id <= 2 AND action IN ('insert', 'update')
      ORDER BY seq DESC LIMIT $2) AS t
WHERE t.at > tain_now_ms() - $1 * 60000 AND t.at <= tain_now_ms() GROUP BY 1;
