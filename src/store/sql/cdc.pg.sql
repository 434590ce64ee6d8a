-- name: cdc_add
INSERT INTO cdc_tables (schema_name, table_name, is_public, key_columns, columns)
VALUES ($1, $2, $3 <> 0, $4, $5) RETURNING table_id;

-- name: cdc_retire
-- What was logged stays, and is shown to nobody without the key any more.
UPDATE cdc_tables SET removed_at = tain_now_ms(), is_public = false WHERE table_id = $1;

-- name: cdc_relation
-- A relation by its name as it was written, or in lower case, and what we may do with it.
SELECT c.oid::bigint, n.nspname::text, c.relname::text, c.relkind::text,
       c.relpersistence = 't', n.nspname = current_schema(),
       n.nspname LIKE 'pg\_%' OR n.nspname = 'information_schema',
       c.relkind = 'p' OR EXISTS (SELECT 1 FROM pg_inherits i
                                  WHERE i.inhrelid = c.oid OR i.inhparent = c.oid),
       has_schema_privilege(n.oid, 'USAGE'), has_table_privilege(c.oid, 'TRIGGER'),
       has_table_privilege(c.oid, 'SELECT'), row_security_active(c.oid), current_user::text,
       NOT pg_has_role(c.relowner, current_user, 'MEMBER')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname IN ($1, $2) AND c.relname IN ($3, $4)
  AND c.relkind NOT IN ('i', 'I', 't', 'c')
ORDER BY CASE WHEN n.nspname = $1 AND c.relname = $3 THEN 0 ELSE 1 END LIMIT 1;

-- name: cdc_columns
-- Columns in their order; those of the key with its place and the operator of its index. In place
-- of a domain its base: what a domain checks is none of ours to run. The last column says on which
-- settings of a session its JSON depends: 1 time zone, 2 digits of floats, 4 form of bytea, 8 of
-- intervals, 16 of dates; any of them where that is not known. Times in JSON are always ISO; those
-- of a key are texts too.
WITH chosen AS (
    SELECT i.indexrelid, i.indkey, i.indclass, i.indnkeyatts
    FROM pg_index i
    WHERE i.indrelid = $1::oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
      AND i.indexprs IS NULL AND (i.indisprimary OR i.indimmediate)
      AND NOT EXISTS (SELECT 1 FROM pg_attribute a
                      WHERE a.attrelid = i.indrelid AND NOT a.attnotnull
                        AND a.attnum = ANY (i.indkey::int2[]) )
    ORDER BY i.indisprimary DESC, i.indisreplident DESC, i.indnkeyatts, i.indexrelid LIMIT 1
), key AS (
    SELECT u.attnum, u.place, format('OPERATOR(%I.%s)', opn.nspname, o.oprname) AS equals
    FROM chosen, unnest(chosen.indkey::int2[], chosen.indclass::oid[]) WITH ORDINALITY
                 AS u (attnum, class, place)
    JOIN pg_opclass oc ON oc.oid = u.class
    JOIN pg_amop am ON am.amopfamily = oc.opcfamily AND am.amopstrategy = 3
                   AND am.amoplefttype = oc.opcintype AND am.amoprighttype = oc.opcintype
    JOIN pg_operator o ON o.oid = am.amopopr
    JOIN pg_namespace opn ON opn.oid = o.oprnamespace
    WHERE u.place <= chosen.indnkeyatts
)
SELECT a.attname::text, format('%I.%I', tn.nspname, t.typname), COALESCE(k.place, 0),
       COALESCE(k.equals, ''), a.atttypid IN (20, 21, 23),
       CASE WHEN a.atttypid IN (16, 18, 19, 20, 21, 23, 25, 26, 114, 1005, 1007, 1009, 1015, 1016,
                                 1042, 1043, 1082, 1114, 1700, 2950, 3802)
            THEN 0
            WHEN k.place IS NOT NULL THEN 31
            WHEN a.atttypid = 1184 THEN 1
            WHEN a.atttypid IN (700, 701) THEN 2
            WHEN a.atttypid = 17 THEN 4
            WHEN a.atttypid = 1186 THEN 8
            ELSE 31 END
FROM pg_attribute a
CROSS JOIN LATERAL (
    WITH RECURSIVE down AS (
        SELECT d.oid, d.typbasetype FROM pg_type d WHERE d.oid = a.atttypid
        UNION ALL
        SELECT d.oid, d.typbasetype FROM down JOIN pg_type d ON d.oid = down.typbasetype
    )
    SELECT down.oid FROM down WHERE down.typbasetype = 0) AS base
JOIN pg_type t ON t.oid = base.oid
JOIN pg_namespace tn ON tn.oid = t.typnamespace
LEFT JOIN key k ON k.attnum = a.attnum
WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum;

-- name: cdc_by_trigger
-- The table whose triggers are on $1, whatever it was called then.
SELECT c.table_id, c.schema_name, c.table_name, c.is_public, c.columns
FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
JOIN cdc_tables c ON 'cdc_log_' || c.table_id = p.proname
WHERE t.tgrelid = $1::oid AND t.tgparentid = 0 AND $2 = $2
  AND p.pronamespace = current_schema()::regnamespace
  AND c.removed_at IS NULL AND NOT c.built_in LIMIT 1;

-- name: cdc_uniques
SELECT '' WHERE $1 < 0;

-- name: cdc_triggers
-- Of table $1, whose oid is $2 (0: it is gone): how many triggers of its function are on, and are
-- there at all; whether one is for each row; whether they are on another table; the function's
-- body; a partition where its copy of one is off.
SELECT COUNT(t.oid) FILTER (WHERE t.tgparentid = 0 AND t.tgenabled IN ('O', 'A')),
       COUNT(t.oid) FILTER (WHERE t.tgparentid = 0), COALESCE(bool_or(t.tgtype & 1 = 1), false),
       MAX(t.tgrelid::regclass::text) FILTER (WHERE t.tgparentid = 0 AND t.tgrelid <> $2::oid),
       (SELECT p.prosrc FROM pg_proc p
        WHERE p.pronamespace = current_schema()::regnamespace
          AND p.proname = 'cdc_log_' || $1::bigint),
       MIN(t.tgrelid::regclass::text) FILTER (WHERE t.tgparentid <> 0
                                                AND t.tgenabled NOT IN ('O', 'A'))
FROM pg_trigger t
WHERE t.tgfoid = (SELECT p.oid FROM pg_proc p
                  WHERE p.pronamespace = current_schema()::regnamespace
                    AND p.proname = CASE WHEN $1::bigint < 100 THEN 'feed_log_' || $3::text
                                         ELSE 'cdc_log_' || $1::bigint END);

-- name: cdc_watch
-- Tables whose triggers are not as they were, unless all that is new are partitions without a row,
-- which nothing can have been written to unseen. The first time there is nothing to compare with.
WITH changed AS (
    UPDATE cdc_tables c SET mark = n.mark FROM cdc_state n
    WHERE c.table_id = n.table_id AND n.was IS DISTINCT FROM n.mark
      AND c.mark IS NOT DISTINCT FROM n.was
    RETURNING c.table_id, n.was, n.mark
)
INSERT INTO cdc_failures (table_id, action, error, at)
SELECT c.table_id, 'update', 'its triggers were off or gone, or its partitions have changed',
       tain_now_ms()
FROM changed c
WHERE c.was IS NOT NULL
  AND (EXISTS (SELECT unnest(c.was) EXCEPT SELECT unnest(c.mark))
       OR EXISTS (SELECT 1 FROM (SELECT unnest(c.mark) EXCEPT SELECT unnest(c.was)) AS t (entry)
                  WHERE split_part(t.entry, ' ', 4) = ''
                     OR pg_relation_size(split_part(t.entry, ' ', 1)::oid::regclass) > 0));

-- name: cdc_remark
UPDATE cdc_tables c SET mark = CASE WHEN o.mark = '{}' THEN o.mark ELSE n.mark END
FROM cdc_state n, cdc_tables o
WHERE c.table_id = $1 AND n.table_id = $1
  AND o.table_id = CASE WHEN $2::integer = 0 THEN $1::integer ELSE $2::integer END;

-- name: cdc_list
SELECT t.table_id, t.schema_name, t.table_name, t.built_in, t.is_public, t.key_columns, t.columns,
       (SELECT COUNT(*) FROM cdc_failures f WHERE f.table_id = t.table_id)
FROM cdc_tables t WHERE t.removed_at IS NULL ORDER BY t.table_id;

-- name: cdc_heal
SELECT cdc_heal($1::integer);
