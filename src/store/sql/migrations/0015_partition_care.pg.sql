-- What would not follow a table when it becomes a partitioned one is named before anything is done.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_catalog, pg_temp', true);

-- By name; NULL: nothing. What is ours follows: its key, indexes, triggers and the view `changes`.
CREATE OR REPLACE FUNCTION partition_obstacle(which TEXT) RETURNS TEXT LANGUAGE sql STABLE
SET search_path FROM CURRENT AS
$$
WITH self AS (
    SELECT c.oid, c.relrowsecurity, c.relforcerowsecurity, c.reltype,
           (SELECT t.typarray FROM pg_type t WHERE t.oid = c.reltype) AS of_many
    FROM pg_class c WHERE c.oid = which::regclass),
own_log AS (
    SELECT p.oid FROM pg_proc p
    WHERE p.proname = 'feed_log_items' AND p.pronamespace = current_schema()::regnamespace)
SELECT string_agg(t.what, ', ' ORDER BY t.rank, t.what) FROM (
    SELECT DISTINCT 1 AS rank, CASE WHEN r.rulename = '_RETURN' THEN 'the view ' || v.oid::regclass
                               ELSE 'the rule ' || r.rulename || ' of ' || v.oid::regclass END
           AS what
    FROM self s
    JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = s.oid
                    AND d.classid = 'pg_rewrite'::regclass
    JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class
    WHERE v.oid <> 'changes'::regclass AND v.oid <> s.oid
    UNION ALL
    SELECT 2, 'the rule ' || r.rulename FROM pg_rewrite r JOIN self s ON r.ev_class = s.oid
    UNION ALL
    SELECT 3, 'the foreign key ' || c.conname || ' of ' || c.conrelid::regclass
    FROM pg_constraint c JOIN self s ON c.confrelid = s.oid
    WHERE c.contype = 'f' AND c.conrelid <> s.oid
    UNION ALL
    SELECT 4, 'the constraint ' || c.conname FROM pg_constraint c JOIN self s ON c.conrelid = s.oid
    WHERE c.contype IN ('c', 'f', 'u', 'x') AND c.conname <> 'items_before_edge'
    UNION ALL -- a partitioned table has none of these, or would build it under the lock
    SELECT 5, CASE WHEN i.indisvalid THEN 'the unique index ' ELSE 'the broken index ' END
              || i.indexrelid::regclass
    FROM pg_index i JOIN self s ON i.indrelid = s.oid
    WHERE NOT i.indisvalid
       OR (i.indisunique AND NOT EXISTS (SELECT 1 FROM pg_constraint c
                                         WHERE c.conindid = i.indexrelid)
           AND NOT EXISTS (SELECT 1 FROM pg_attribute a
                           WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
                             AND a.attname = CASE which WHEN 'items' THEN 'id' ELSE 'pos' END))
    UNION ALL
    SELECT 6, 'the trigger ' || g.tgname
              || CASE WHEN g.tgenabled = 'D' THEN ', which is disabled'
                      WHEN g.tgenabled <> 'O' THEN ', which is not enabled in the usual way'
                      ELSE '' END
    FROM pg_trigger g JOIN self s ON g.tgrelid = s.oid
    WHERE NOT g.tgisinternal
      AND (g.tgenabled <> 'O' OR g.tgfoid NOT IN (SELECT oid FROM own_log))
    UNION ALL
    SELECT 7, 'row level security' FROM self s WHERE s.relrowsecurity OR s.relforcerowsecurity
    UNION ALL
    SELECT 8, 'the policy ' || p.polname FROM pg_policy p JOIN self s ON p.polrelid = s.oid
    UNION ALL -- of this table, of its schema, or of all tables
    SELECT 9, 'the publication ' || p.pubname FROM pg_publication_tables p
    WHERE p.schemaname = current_schema() AND p.tablename = which
    UNION ALL
    SELECT 10, 'the subscription ' || u.subname
    FROM pg_subscription_rel r JOIN pg_subscription u ON u.oid = r.srsubid
    JOIN self s ON r.srrelid = s.oid
    UNION ALL
    SELECT 11, 'rights on its column ' || a.attname
    FROM pg_attribute a JOIN self s ON a.attrelid = s.oid
    WHERE a.attacl IS NOT NULL AND NOT a.attisdropped
    UNION ALL
    SELECT 12, CASE WHEN a.attgenerated <> '' THEN 'the generated column ' ELSE
                    'the identity column ' END || a.attname
    FROM pg_attribute a JOIN self s ON a.attrelid = s.oid
    WHERE NOT a.attisdropped
      AND (a.attgenerated <> ''
           OR (a.attidentity <> '' AND (which, a.attname) <> ('change_log', 'batch')))
    UNION ALL
    SELECT 13, 'the statistics ' || x.stxname
    FROM pg_statistic_ext x JOIN self s ON x.stxrelid = s.oid
    UNION ALL
    SELECT 14, CASE WHEN i.inhparent = s.oid
                    THEN 'the table ' || i.inhrelid::regclass || ', which inherits from it'
                    ELSE 'what it inherits from ' || i.inhparent::regclass END
    FROM pg_inherits i JOIN self s ON s.oid IN (i.inhparent, i.inhrelid)
    UNION ALL -- the type of its rows, or the table in the body of a function
    SELECT DISTINCT 15, pg_describe_object(d.classid, d.objid, d.objsubid)
                        || ', which uses its rows'
    FROM self s JOIN pg_depend d
      ON (d.refclassid = 'pg_type'::regclass AND d.refobjid IN (s.reltype, s.of_many)
          AND NOT (d.classid = 'pg_type'::regclass AND d.objid = s.of_many))
      OR (d.refclassid = 'pg_class'::regclass AND d.refobjid = s.oid
          AND d.classid = 'pg_proc'::regclass)) AS t
$$;
