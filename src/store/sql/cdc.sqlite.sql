-- name: cdc_add
INSERT INTO cdc_tables (schema_name, table_name, is_public, key_columns, columns)
VALUES ($1, $2, $3 <> 0, $4, $5) RETURNING table_id;

-- name: cdc_retire
-- What was logged stays, and is shown to nobody without the key any more.
UPDATE cdc_tables SET removed_at = tain_now_ms(), is_public = 0 WHERE table_id = $1;

-- name: cdc_relation
-- Case means nothing to SQLite.
SELECT name, type, wr FROM pragma_table_list
WHERE schema = 'main' AND ($1 IS NULL OR $2 = $2)
  AND (name = $3 COLLATE NOCASE OR name = $4 COLLATE NOCASE);

-- name: cdc_columns
SELECT name, "notnull", pk FROM pragma_table_xinfo($1) WHERE hidden <> 1 ORDER BY cid;

-- name: cdc_by_trigger
SELECT c.table_id, c.schema_name, c.table_name, c.is_public, c.columns
FROM sqlite_schema m JOIN cdc_tables c ON m.name = 'tain_cdc_' || c.table_id || '_insert'
WHERE m.type = 'trigger' AND m.tbl_name = $2 COLLATE NOCASE AND $1 = $1
  AND c.removed_at IS NULL AND NOT c.built_in LIMIT 1;

-- name: cdc_uniques
-- Columns of the unique indexes, by index; an absent name is an expression.
SELECT l.name, l.partial, l.origin = 'pk', i.name, i.coll
FROM pragma_index_list($1) AS l, pragma_index_xinfo(l.name) AS i
WHERE l."unique" = 1 AND i.key = 1 ORDER BY l.seq DESC, i.seqno;

-- name: cdc_triggers
-- How many there are, twice; nothing is for each row, nor elsewhere; their text, in the order of
-- their making.
SELECT COUNT(*), COUNT(*), 0,
       CASE WHEN COUNT(*) > SUM(tbl_name = $3 COLLATE NOCASE) THEN MAX(tbl_name) END,
       group_concat(sql || ';', char(10)) || char(10), NULL
FROM (SELECT sql, tbl_name FROM sqlite_schema
      WHERE type = 'trigger' AND $2 = $2
        AND name LIKE CASE WHEN $1 < 100 THEN 'feed\_' || $3 || '\_%'
                           ELSE 'tain\_cdc\_' || $1 || '\_%' END ESCAPE '\'
      ORDER BY rowid);

-- name: cdc_watch
SELECT 1;

-- name: cdc_remark
SELECT $1 WHERE $2 < 0;

-- name: cdc_list
SELECT t.table_id, t.schema_name, t.table_name, t.built_in, t.is_public, t.key_columns, t.columns,
       0
FROM cdc_tables t WHERE t.removed_at IS NULL ORDER BY t.table_id;

-- name: cdc_heal
-- What waits here was a guess that did not come true: see cdc_sqlite_text.c.
DELETE FROM cdc_failures
WHERE failure_id IN (SELECT failure_id FROM cdc_failures ORDER BY failure_id LIMIT $1);
