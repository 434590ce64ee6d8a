-- Table sources: what the catalogue says of a table of the user's own.

-- name: source_columns
-- Of the table whose oid is $1: name, type (of a domain: what it is made of), the type's modifier
-- and name, may it be NULL, may we read it, may we write it, is it unique by itself.
SELECT a.attname::text, COALESCE(NULLIF(t.typbasetype, 0), t.oid)::bigint,
       CASE WHEN t.typbasetype <> 0 THEN t.typtypmod ELSE a.atttypmod END,
       format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
       has_column_privilege($1::oid, a.attnum, 'SELECT'),
       has_column_privilege($1::oid, a.attnum, 'UPDATE')
       AND a.attgenerated = '' AND a.attidentity <> 'a',
       EXISTS (SELECT 1 FROM pg_index i
               WHERE i.indrelid = a.attrelid AND i.indisunique AND i.indisvalid
                 AND i.indpred IS NULL AND i.indexprs IS NULL
                 AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum)
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped AND $2::text IS NOT NULL
ORDER BY a.attnum;

-- name: source_indexes
-- Of the table whose oid is $1: indexes that begin with column $3, and the condition of each.
SELECT c.relname::text, pg_get_expr(i.indpred, i.indrelid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
JOIN pg_am m ON m.oid = c.relam AND m.amname = 'btree'
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
WHERE i.indrelid = $1::oid AND i.indisvalid AND i.indpred IS NOT NULL AND $2::text IS NOT NULL
  AND a.attname = $3;

-- name: source_checks
-- Of the table whose oid is $1: what its constraints ask of column $3 alone.
SELECT pg_get_expr(c.conbin, c.conrelid)
FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attname = $3
WHERE c.conrelid = $1::oid AND c.contype = 'c' AND c.conkey = ARRAY[a.attnum]
  AND $2::text IS NOT NULL LIMIT 16;

-- name: source_take_name
-- As long as this connection lasts, others see that source $1 is worked on, with the table whose
-- oid is $2. Once for a connection.
SELECT pg_try_advisory_lock_shared(hashtext('tain source ' || current_schema() || ' ' || $1::text),
                                   $2::bigint::bit(32)::integer)
WHERE NOT EXISTS (SELECT 1 FROM pg_locks l
                  WHERE l.locktype = 'advisory' AND l.pid = pg_backend_pid() AND l.objsubid = 2
                    AND l.classid::bigint =
                        hashtext('tain source ' || current_schema() || ' ' || $1)::bit(32)::bigint
                    AND l.objid::bigint = $2);

-- name: source_share
-- How many work on source $1 with the table whose oid is $2, and which of them this connection is.
-- Each minute each of them is the next one: what belongs to one that is stuck does not wait for it.
SELECT COUNT(*), (COUNT(*) FILTER (WHERE l.pid < pg_backend_pid()) + tain_now_ms() / 60000)
                 % GREATEST(COUNT(*), 1)
FROM pg_locks l
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND l.classid::bigint =
      hashtext('tain source ' || current_schema() || ' ' || $1::text)::bit(32)::bigint
  AND l.objid::bigint = $2;

-- name: source_name_elsewhere
-- A table other than $2 that somebody works on under the name $1, and from where.
SELECT l.objid::regclass::text, COALESCE(host(a.client_addr), 'this host')
FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND l.classid::bigint =
      hashtext('tain source ' || current_schema() || ' ' || $1::text)::bit(32)::bigint
  AND l.objid::bigint <> $2
LIMIT 1;
