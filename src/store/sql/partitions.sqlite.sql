-- name: partition_tend
SELECT NULL, NULL;

-- name: partition_cover
SELECT 0 WHERE $1 <> $1 AND $2 <> $2;

-- name: partition_positions
SELECT 0, 0 WHERE $1 = $1;

-- name: partition_prune
SELECT NULL WHERE $1 = $1 AND $2 = $2;

-- name: partition_state
SELECT 'items', NULL, 0, 0, 0 UNION ALL SELECT 'change_log', NULL, 0, 0, 0;

-- name: partition_hold
SELECT 0;

-- name: partition_obstacle
SELECT '' WHERE $1 = $1;

-- name: partition_owner
SELECT '' WHERE $1 = $1;

-- name: partition_edge
SELECT 0 WHERE $1 = $1;

-- name: partition_make
SELECT 0 WHERE $1 = $1 AND $2 = $2 AND $3 = $3;
