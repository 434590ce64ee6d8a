-- Partitions of tables that belong to one and are used by others: what is made belongs to the owner
-- of the table, rights on the sequence of the log follow, names that somebody has are left to them,
-- and one partition that cannot be had does not keep others from being made.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_catalog, pg_temp', true);

-- The new sequence belongs to whom the old one did, and may be used by whom that might.
CREATE FUNCTION partition_sequence() RETURNS VOID LANGUAGE plpgsql SET search_path FROM CURRENT AS
$$
DECLARE
    old  pg_class;
    line TEXT;
BEGIN
    SELECT * INTO old FROM pg_class WHERE oid = 'change_log_first_batch_seq'::regclass;
    IF old.relowner <> (SELECT relowner FROM pg_class
                        WHERE oid = 'change_log_batch_seq'::regclass) THEN
        EXECUTE format('ALTER SEQUENCE change_log_batch_seq OWNER TO %s', old.relowner::regrole);
    END IF;
    FOR line IN SELECT format('GRANT %s ON SEQUENCE change_log_batch_seq TO %s', a.privilege_type,
                              CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END
                              || CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
                FROM aclexplode(old.relacl) AS a WHERE a.grantee <> old.relowner
    LOOP
        EXECUTE line;
    END LOOP;
END
$$;
REVOKE ALL ON FUNCTION partition_sequence() FROM PUBLIC;

-- Of a log that was converted before: it belongs to the same role already.
DO $$
BEGIN
    IF to_regclass('change_log_first_batch_seq') IS NOT NULL THEN
        PERFORM partition_sequence();
    END IF;
END
$$;

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
          AND d.classid = 'pg_proc'::regclass)
    UNION ALL
    SELECT 16, pg_describe_object('pg_class'::regclass, c.oid, 0) || ', whose name is needed'
    FROM pg_class c
    WHERE c.relnamespace = current_schema()::regnamespace
      AND c.relname IN (which || '_first', which || '_other')) AS t
$$;

-- As before, for the owner of the table and under a name that is free.
CREATE OR REPLACE FUNCTION partition_add(which TEXT, wide BIGINT, place BIGINT) RETURNS VOID
LANGUAGE plpgsql SET search_path FROM CURRENT AS
$$
DECLARE
    key_name TEXT := CASE which WHEN 'items' THEN 'id' ELSE 'pos' END;
    made     TEXT := which || '_' || place * wide;
    other    TEXT := which || '_other';
    owner    OID := (SELECT relowner FROM pg_class WHERE oid = which::regclass);
BEGIN
    IF EXISTS (SELECT 1 FROM partition_list l
               WHERE l.parent = which AND NOT l.is_other
                 AND COALESCE(l.lo <= place * wide, true)
                 AND COALESCE(l.hi > place * wide, true)) THEN
        RETURN;
    END IF;
    WHILE to_regclass(quote_ident(made)) IS NOT NULL LOOP
        made := made || '_'; -- somebody has the name for something else
    END LOOP;
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING STORAGE INCLUDING COMPRESSION)', made,
                   which);
    IF owner <> (SELECT relowner FROM pg_class WHERE oid = quote_ident(made)::regclass) THEN
        EXECUTE format('ALTER TABLE %I OWNER TO %s', made, owner::regrole);
    END IF;
    IF which = 'change_log' THEN
        EXECUTE format('ALTER TABLE %I SET (autovacuum_vacuum_scale_factor = 0.05,'
                       ' autovacuum_vacuum_insert_scale_factor = 0.1)', made);
    END IF;
    EXECUTE format('LOCK TABLE ONLY %I IN SHARE UPDATE EXCLUSIVE MODE', which);
    EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', other);
    EXECUTE format('WITH gone AS (DELETE FROM %I WHERE %I >= $1 AND %I < $2 RETURNING *)'
                   ' INSERT INTO %I SELECT * FROM gone', other, key_name, key_name, made)
    USING place * wide, (place + 1) * wide;
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', which, made,
                   place * wide, (place + 1) * wide);
END
$$;

-- As before; what is no matter of waiting is told, in the log of the server.
CREATE OR REPLACE FUNCTION partition_cover(which TEXT, place BIGINT) RETURNS BOOLEAN
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout TO '2s' AS
$$
DECLARE
    wide BIGINT;
BEGIN
    SELECT width INTO wide FROM partitioned WHERE name = which;
    IF wide IS NULL OR NOT has_table_privilege(session_user, which, 'INSERT') THEN
        RETURN false;
    END IF;
    PERFORM pg_advisory_xact_lock(7496946, hashtext(current_schema()));
    PERFORM partition_add(which, wide, place);
    PERFORM partition_add(which, wide, place + 1);
    RETURN true;
EXCEPTION
    WHEN lock_not_available OR deadlock_detected THEN
        RETURN false;
    WHEN OTHERS THEN
        RAISE WARNING 'tain: the partition of % from % on cannot be made: %', which, place * wide,
            SQLERRM;
        RETURN false;
END
$$;

-- What the last resort has gets partitions, from the lowest on. Those that cannot be had now are
-- passed over, up to three of them: each may have been waited for.
CREATE FUNCTION partition_gather(which TEXT, wide BIGINT) RETURNS VOID LANGUAGE plpgsql
SET search_path FROM CURRENT AS
$$
DECLARE
    stray  BIGINT := -1;
    failed INTEGER := 0;
BEGIN
    WHILE failed < 3 LOOP
        EXECUTE format('SELECT MIN(%1$I) FROM %2$I WHERE %1$I > $1',
                       CASE which WHEN 'items' THEN 'id' ELSE 'pos' END, which || '_other')
        INTO stray USING GREATEST(stray, 0);
        EXIT WHEN stray IS NULL;
        IF NOT partition_cover(which, stray / wide) THEN
            failed := failed + 1;
            stray := (stray / wide + 1) * wide - 1;
        END IF;
    END LOOP;
END
$$;
REVOKE ALL ON FUNCTION partition_gather(TEXT, BIGINT) FROM PUBLIC;

CREATE OR REPLACE FUNCTION partition_tend(OUT of_items BIGINT, OUT of_log BIGINT) LANGUAGE plpgsql
SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout TO '2s' AS
$$
BEGIN
    SELECT width INTO of_items FROM partitioned WHERE name = 'items';
    SELECT width INTO of_log FROM partitioned WHERE name = 'change_log';
    IF of_items IS NOT NULL THEN
        PERFORM partition_gather('items', of_items);
    ELSIF EXISTS (SELECT 1 FROM pg_constraint
                  WHERE conrelid = 'items'::regclass AND conname = 'items_before_edge')
          AND pg_try_advisory_xact_lock(7496945, hashtext(current_schema())) THEN
        BEGIN
            ALTER TABLE items DROP CONSTRAINT IF EXISTS items_before_edge;
        EXCEPTION WHEN OTHERS THEN
            NULL; -- another time
        END;
    END IF;
    IF of_log IS NOT NULL THEN
        PERFORM partition_gather('change_log', of_log);
    END IF;
END
$$;

-- As before; only what is older than the partition keeps it.
CREATE OR REPLACE FUNCTION partition_prune(max_age BIGINT, max_rows BIGINT) RETURNS BIGINT
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout TO '2s' AS
$$
DECLARE
    oldest RECORD;
    last   BIGINT := (SELECT head FROM feed_state);
    young  BOOLEAN;
    gone   BIGINT;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM partitioned WHERE name = 'change_log') THEN
        RETURN NULL;
    END IF;
    SELECT * INTO oldest FROM partition_list l
    WHERE l.parent = 'change_log' AND NOT l.is_other ORDER BY l.lo NULLS FIRST LIMIT 1;
    IF oldest.hi IS NULL OR oldest.hi > last
       OR NOT has_table_privilege(session_user, 'change_log', 'DELETE') THEN
        RETURN 0;
    END IF;
    young := COALESCE(partition_stray('change_log') < oldest.hi, false);
    IF NOT young AND oldest.hi > last - max_rows + 1 THEN
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I WHERE at >= $1 AND pos + n > $2)',
                       oldest.name)
        INTO young USING tain_now_ms() - max_age, last - max_rows + 1;
    END IF;
    IF young THEN
        RETURN 0;
    END IF;
    PERFORM pg_advisory_xact_lock(7496946, hashtext(current_schema()));
    EXECUTE format('SELECT COALESCE(SUM(n), 0) FROM %I', oldest.name) INTO gone;
    EXECUTE format('DROP TABLE %I', oldest.name);
    RETURN gone;
EXCEPTION WHEN lock_not_available OR undefined_table OR deadlock_detected THEN
    RETURN 0; -- someone reads, or another one was faster
END
$$;

-- As before; indexes have names of their own, whatever those of the others are.
CREATE OR REPLACE FUNCTION partition_make(which TEXT, wide BIGINT, upto BIGINT) RETURNS VOID
LANGUAGE plpgsql SET search_path FROM CURRENT SET lock_timeout TO '2s' AS
$$
DECLARE
    key_name TEXT := CASE which WHEN 'items' THEN 'id' ELSE 'pos' END;
    was      TEXT := which || '_first';
    other    TEXT := which || '_other';
    edge     BIGINT := upto;
    old      pg_class;
    again    TEXT[];
    r        RECORD;
    fresh    TEXT;
    line     TEXT;
BEGIN
    IF which = 'change_log' THEN
        -- Before the table: whoever has drawn a number may still use it. Who waits for this lock
        -- draws from the old one afterwards, and has a lower number than all that come later.
        ALTER SEQUENCE change_log_batch_seq RENAME TO change_log_first_batch_seq;
        CREATE SEQUENCE change_log_batch_seq;
        PERFORM partition_sequence();
    END IF;
    EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', which);
    SELECT * INTO old FROM pg_class WHERE oid = which::regclass;
    IF which = 'change_log' THEN
        edge := ((SELECT head FROM feed_state) / wide + 1) * wide;
    END IF;
    line := partition_obstacle(which);
    IF line IS NOT NULL THEN
        RAISE EXCEPTION 'these would not follow the table %: %. Drop them, and make them again '
                        'afterwards', which, line;
    END IF;

    -- The texts name the table, and will mean the new one.
    again := ARRAY(SELECT format('ALTER TABLE %I ADD CONSTRAINT %I %s', which, c.conname,
                                 pg_get_constraintdef(c.oid))
                   FROM pg_constraint c WHERE c.conrelid = old.oid AND c.contype = 'p');
    again := again || ARRAY(SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i
                            WHERE i.indrelid = old.oid AND NOT i.indisprimary);
    again := again || ARRAY(SELECT pg_get_triggerdef(g.oid) FROM pg_trigger g
                            WHERE g.tgrelid = old.oid AND NOT g.tgisinternal ORDER BY g.oid);
    again := again || ARRAY(SELECT format('GRANT %s ON %I TO %s', a.privilege_type, which,
                                          CASE a.grantee WHEN 0 THEN 'PUBLIC'
                                               ELSE a.grantee::regrole::text END
                                          || CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION'
                                             ELSE '' END)
                            FROM aclexplode(old.relacl) AS a WHERE a.grantee <> old.relowner);
    FOR r IN SELECT i.indexrelid::regclass::text AS name, c.relname
             FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = old.oid
    LOOP
        fresh := CASE WHEN starts_with(r.relname, which || '_')
                      THEN was || substr(r.relname, length(which) + 1)
                      ELSE left(r.relname, 50) || '_first' END;
        WHILE to_regclass(quote_ident(fresh)) IS NOT NULL LOOP
            fresh := fresh || '_';
        END LOOP;
        EXECUTE format('ALTER INDEX %s RENAME TO %I', r.name, fresh);
    END LOOP;
    FOR r IN SELECT tgname FROM pg_trigger WHERE tgrelid = old.oid AND NOT tgisinternal LOOP
        EXECUTE format('DROP TRIGGER %I ON %I', r.tgname, which);
    END LOOP;
    EXECUTE format('ALTER TABLE %I RENAME TO %I', which, was);
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING STORAGE'
                   ' INCLUDING COMPRESSION) PARTITION BY RANGE (%I)', which, was, key_name);
    EXECUTE format('ALTER TABLE %I OWNER TO %s', which, old.relowner::regrole);
    FOREACH line IN ARRAY again LOOP
        EXECUTE line;
    END LOOP;
    EXECUTE format('CREATE TABLE %I PARTITION OF %I DEFAULT', other, which);
    EXECUTE format('ALTER TABLE %I OWNER TO %s', other, old.relowner::regrole);
    IF which = 'change_log' THEN
        PERFORM setval('change_log_batch_seq',
                       (SELECT last_value FROM change_log_first_batch_seq) + 10000);
        ALTER TABLE change_log ALTER batch SET DEFAULT nextval('change_log_batch_seq');
        ALTER SEQUENCE change_log_batch_seq OWNED BY change_log.batch;
        IF current_setting('server_version_num')::integer >= 170000 THEN
            ALTER TABLE change_log_first ALTER batch DROP IDENTITY;
        END IF;
        ALTER TABLE change_log_other SET (autovacuum_vacuum_scale_factor = 0.05,
                                          autovacuum_vacuum_insert_scale_factor = 0.1);
        WITH gone AS (DELETE FROM change_log_first WHERE pos IS NULL RETURNING *)
        INSERT INTO change_log_other SELECT * FROM gone;
        CREATE OR REPLACE VIEW changes AS
        SELECT l.pos + u.place - 1 AS pos, l.at, l.table_id, l.action, u.key, u.data, l.batch,
               l.part, u.place - 1 AS idx
        FROM change_log l
        CROSS JOIN LATERAL unnest(l.keys, l.data) WITH ORDINALITY AS u (key, data, place);
    END IF;
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%s)', which,
                   was, edge);
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT IF EXISTS items_before_edge', was);
    INSERT INTO partitioned (name, width, since) VALUES (which, wide, tain_now_ms());
    PERFORM partition_add(which, wide, edge / wide);
END
$$;
