-- Table sources: what SQLite says of a table of the user's own.

-- name: source_columns
-- Of table $2: name, nothing, nothing, declared type, may it be NULL, may we read it, may we write
-- it (not if it is generated), is it unique by itself.
SELECT x.name, 0, 0, x.type, x."notnull" = 0, 1, x.hidden = 0,
       (x.pk = 1 AND (SELECT COUNT(*) FROM pragma_table_xinfo($2) AS y WHERE y.pk > 0) = 1)
       OR EXISTS (SELECT 1 FROM pragma_index_list($2) AS l
                  WHERE l."unique" = 1 AND l.partial = 0
                    AND (SELECT COUNT(*) FROM pragma_index_xinfo(l.name) AS i WHERE i.key = 1) = 1
                    AND (SELECT i.name FROM pragma_index_xinfo(l.name) AS i
                         WHERE i.key = 1) = x.name)
FROM pragma_table_xinfo($2) AS x WHERE x.hidden <> 1 AND $1 = $1 ORDER BY x.cid;

-- name: source_indexes
-- Of table $2: partial indexes that begin with column $3.
SELECT l.name, '' FROM pragma_index_list($2) AS l, pragma_index_xinfo(l.name) AS i
WHERE l.partial = 1 AND i.key = 1 AND i.seqno = 0 AND i.name = $3 COLLATE NOCASE AND $1 = $1;

-- name: source_checks
-- They are not to be had here but in the text of the table.
SELECT '' WHERE $1 < 0 AND $2 = $3;

-- name: source_take_name
-- Nobody could see it here.
SELECT '' WHERE $1 IS NULL AND $2 < 0;

-- name: source_share
SELECT 1, 0 WHERE $1 IS NOT NULL AND $2 IS NOT NULL;

-- name: source_name_elsewhere
SELECT '', '' WHERE $1 IS NULL AND $2 < 0;
