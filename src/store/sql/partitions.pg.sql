-- name: partition_tend
SELECT of_items, of_log FROM partition_tend();

-- name: partition_cover
SELECT partition_cover($1, $2);

-- name: partition_positions
-- The last position, and what it will be when the next $1 rows of the log have theirs.
SELECT s.head, s.head + COALESCE((SELECT SUM(w.n) FROM (
           SELECT n FROM change_log WHERE pos IS NULL ORDER BY batch, part LIMIT $1) AS w),
       0)::bigint
FROM feed_state s;

-- name: partition_prune
SELECT partition_prune($1, $2);

-- name: partition_state
-- Of each table: width (NULL: not partitioned), partitions, whether the last resort has rows that
-- belong elsewhere, whether a conversion was begun.
SELECT t.name, p.width,
       (SELECT COUNT(*) FROM partition_list l WHERE l.parent = t.name AND NOT l.is_other),
       CASE WHEN p.width IS NULL THEN false ELSE partition_stray(t.name) IS NOT NULL END,
       EXISTS (SELECT 1 FROM pg_constraint
               WHERE conrelid = t.name::regclass AND conname = 'items_before_edge')
FROM (VALUES ('items'), ('change_log')) AS t (name) LEFT JOIN partitioned p ON p.name = t.name;

-- name: partition_hold
-- One at a time converts; held by this connection until it ends.
SELECT pg_try_advisory_lock(7496945, hashtext(current_schema()));

-- name: partition_obstacle
SELECT COALESCE(partition_obstacle($1), '');

-- name: partition_owner
-- Whose table it is, where that is not for us to change.
SELECT COALESCE((SELECT c.relowner::regrole::text FROM pg_class c
                 WHERE c.oid = $1::text::regclass AND NOT pg_has_role(c.relowner, 'USAGE')), '');

-- name: partition_edge
-- Where the first partition of items will end, so far ahead that nothing passes it meanwhile.
SELECT (GREATEST((SELECT MAX(id) FROM items), (SELECT maxitem FROM updater_state), 0) / $1 + 2)
       * $1;

-- name: partition_make
SELECT 1 FROM partition_make($1, $2, $3);
