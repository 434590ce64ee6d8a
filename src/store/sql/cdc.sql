-- Tables of the user's own that are logged: what is alike on both databases.

-- name: cdc_find
-- The name as it was written, or in lower case.
SELECT table_id, schema_name, table_name, is_public, columns
FROM cdc_tables
WHERE removed_at IS NULL AND built_in = ($5 <> 0)
  AND (schema_name = $1 OR schema_name = $2) AND (table_name = $3 OR table_name = $4)
ORDER BY CASE WHEN schema_name = $1 AND table_name = $3 THEN 0 ELSE 1 END LIMIT 1;

-- name: cdc_update
UPDATE cdc_tables SET key_columns = $2 WHERE table_id = $1;

-- name: cdc_move_failures
UPDATE cdc_failures SET table_id = $2 WHERE table_id = $1;

-- name: cdc_drop_failures
DELETE FROM cdc_failures WHERE table_id = $1;

-- name: cdc_known
SELECT schema_name, table_name, built_in, is_public, removed_at IS NOT NULL
FROM cdc_tables ORDER BY table_id LIMIT $1;
