-- Search: the index and what is asked of it. The words are in the other two files.

-- name: index_next
SELECT work_id, lo, hi FROM index_work ORDER BY hi DESC, work_id DESC LIMIT $1;

-- name: index_items
SELECT id, deleted, type, by, time, text, dead, parent, poll, url, score, title, parts, descendants
FROM items WHERE id BETWEEN $1 AND $2 ORDER BY id DESC LIMIT $3;

-- name: index_shrink
UPDATE index_work SET hi = $2 WHERE work_id = $1;

-- name: index_lag
SELECT COALESCE(SUM(hi - lo + 1), 0), COALESCE(MIN(noted_at), 0) FROM index_work;

-- name: index_waits_by
-- Of the newest ids that wait: what a person wrote.
SELECT id, type FROM items
WHERE id > (SELECT MAX(hi) FROM index_work) - $2 AND id <= (SELECT MAX(hi) FROM index_work)
  AND by = $1
ORDER BY id DESC LIMIT $3;

-- name: index_note_all
INSERT INTO index_work (lo, hi, noted_at)
SELECT lo, hi, tain_now_ms()
FROM (SELECT (SELECT MIN(id) FROM items) AS lo, (SELECT MAX(id) FROM items) AS hi) AS t
WHERE lo IS NOT NULL;

-- name: index_forget_work
DELETE FROM index_work;

-- name: search_bounds
SELECT (SELECT MIN(id) FROM items), (SELECT MAX(id) FROM items);

-- name: search_times
-- The clock at an id: what its neighbours say.
SELECT time FROM items WHERE id >= $1 AND time IS NOT NULL ORDER BY id LIMIT 15;

-- name: search_below
-- A story and everything below it.
WITH RECURSIVE below (id) AS (
    SELECT CAST($1 AS BIGINT)
    UNION
    SELECT k.kid FROM below b JOIN kids k ON k.item = b.id
)
SELECT id FROM below LIMIT $2;
