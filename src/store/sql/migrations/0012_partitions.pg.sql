-- Partitions, for those who ask for them: `tain migrate --partitioned` calls partition_make(). The
-- functions that tend them run with the rights of their owner, so that whoever may write the table
-- may have the next partition made.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_catalog, pg_temp', true);

-- The tables that have partitions, of so many ids or positions each. None: nobody asked.
CREATE TABLE partitioned (
    name  TEXT PRIMARY KEY CHECK (name IN ('items', 'change_log')),
    width BIGINT NOT NULL CHECK (width > 0),
    since BIGINT NOT NULL
);

-- Keys from lo to below hi. NULL: without an end; both: all that no other takes.
CREATE VIEW partition_list AS
SELECT p.relname::text AS parent, c.relname::text AS name, c.oid,
       substring(b.bound FROM 'FROM \(''(-?\d+)''\)')::bigint AS lo,
       substring(b.bound FROM 'TO \(''(-?\d+)''\)')::bigint AS hi, b.bound = 'DEFAULT' AS is_other
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid AND c.relkind = 'r'
JOIN pg_class p ON p.oid = i.inhparent
               AND p.relnamespace = (SELECT relnamespace FROM pg_class
                                     WHERE oid = 'partitioned'::regclass)
CROSS JOIN LATERAL (SELECT pg_get_expr(c.relpartbound, c.oid) AS bound) AS b
WHERE p.relname IN ('items', 'change_log');

-- The lowest key that the last resort has and that belongs elsewhere.
CREATE FUNCTION partition_stray(which TEXT) RETURNS BIGINT LANGUAGE plpgsql VOLATILE
SECURITY DEFINER SET search_path FROM CURRENT AS
$$
DECLARE
    stray BIGINT;
BEGIN
    IF which = 'items' THEN
        SELECT MIN(id) INTO stray FROM items_other WHERE id > 0;
    ELSE
        SELECT MIN(pos) INTO stray FROM change_log_other;
    END IF;
    RETURN stray;
END
$$;

-- One partition, for keys from place * wide on, with what the last resort has of them. ATTACH locks
-- that one only, and readers and writers of the table go on.
CREATE FUNCTION partition_add(which TEXT, wide BIGINT, place BIGINT) RETURNS VOID
LANGUAGE plpgsql SET search_path FROM CURRENT AS
$$
DECLARE
    key_name TEXT := CASE which WHEN 'items' THEN 'id' ELSE 'pos' END;
    made     TEXT := which || '_' || place * wide;
    other    TEXT := which || '_other';
BEGIN
    IF EXISTS (SELECT 1 FROM partition_list l
               WHERE l.parent = which AND NOT l.is_other
                 AND COALESCE(l.lo <= place * wide, true)
                 AND COALESCE(l.hi > place * wide, true)) THEN
        RETURN;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING STORAGE)', made, which);
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
REVOKE ALL ON FUNCTION partition_add(TEXT, BIGINT, BIGINT) FROM PUBLIC;

-- Makes the partition of that place and the next one. False: it could not be had now; what is
-- written meanwhile goes where the last resort is, and is moved later.
CREATE FUNCTION partition_cover(which TEXT, place BIGINT) RETURNS BOOLEAN LANGUAGE plpgsql
SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout TO '2s' AS
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
EXCEPTION WHEN OTHERS THEN
    RETURN false;
END
$$;

-- What is due now and then, and how wide partitions are (NULL: there are none): what the last
-- resort took gets a partition, and a conversion that was cut off leaves nothing that is in the
-- way. Whoever converts holds the other lock.
CREATE FUNCTION partition_tend(OUT of_items BIGINT, OUT of_log BIGINT) LANGUAGE plpgsql
SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout TO '2s' AS
$$
DECLARE
    stray BIGINT;
BEGIN
    SELECT width INTO of_items FROM partitioned WHERE name = 'items';
    SELECT width INTO of_log FROM partitioned WHERE name = 'change_log';
    IF of_items IS NOT NULL THEN
        LOOP
            stray := partition_stray('items');
            EXIT WHEN stray IS NULL OR NOT partition_cover('items', stray / of_items);
        END LOOP;
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
        LOOP
            stray := partition_stray('change_log');
            EXIT WHEN stray IS NULL OR NOT partition_cover('change_log', stray / of_log);
        END LOOP;
    END IF;
END
$$;

-- Drops the oldest partition of the log if all of it may go, and answers how many changes it had.
-- The rules are those of feed_prune_to. NULL: the log has no partitions.
CREATE FUNCTION partition_prune(max_age BIGINT, max_rows BIGINT) RETURNS BIGINT LANGUAGE plpgsql
SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout TO '2s' AS
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
    young := partition_stray('change_log') IS NOT NULL;
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

-- What would not follow a table to its new place, by name.
CREATE FUNCTION partition_obstacle(which TEXT) RETURNS TEXT LANGUAGE sql STABLE
SET search_path FROM CURRENT AS
$$
SELECT string_agg(t.what, ', ') FROM (
    SELECT 'the view ' || v.oid::regclass AS what
    FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class
    WHERE d.classid = 'pg_rewrite'::regclass AND d.refobjid = which::regclass
      AND v.oid <> 'changes'::regclass AND v.oid <> which::regclass
    GROUP BY v.oid
    UNION ALL
    SELECT 'the foreign key ' || c.conname || ' of ' || c.conrelid::regclass
    FROM pg_constraint c WHERE c.confrelid = which::regclass AND c.contype = 'f'
    UNION ALL
    SELECT 'the trigger ' || g.tgname FROM pg_trigger g
    WHERE g.tgrelid = which::regclass AND NOT g.tgisinternal AND g.tgfoid NOT IN
        (SELECT p.oid FROM pg_proc p WHERE p.proname = 'feed_log_items'
           AND p.pronamespace = current_schema()::regnamespace)
    UNION ALL
    SELECT 'the policy ' || p.polname FROM pg_policy p WHERE p.polrelid = which::regclass
    UNION ALL
    SELECT 'the publication ' || p.pubname
    FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid
    WHERE r.prrelid = which::regclass
    UNION ALL
    SELECT 'rights on its column ' || a.attname FROM pg_attribute a
    WHERE a.attrelid = which::regclass AND a.attacl IS NOT NULL AND NOT a.attisdropped) AS t
$$;

-- Makes a partitioned table of `which`; what there is becomes its first partition as it stands, for
-- ids below `upto`, a multiple of `wide`, or positions up to the next one. No row is copied but
-- those of the log without a position, and all of it is one transaction.
CREATE FUNCTION partition_make(which TEXT, wide BIGINT, upto BIGINT) RETURNS VOID LANGUAGE plpgsql
SET search_path FROM CURRENT SET lock_timeout TO '2s' AS
$$
DECLARE
    key_name TEXT := CASE which WHEN 'items' THEN 'id' ELSE 'pos' END;
    was      TEXT := which || '_first';
    other    TEXT := which || '_other';
    edge     BIGINT := upto;
    old      pg_class;
    again    TEXT[];
    r        RECORD;
    line     TEXT;
BEGIN
    IF which = 'change_log' THEN
        -- Before the table: whoever has drawn a number may still use it. Who waits for this lock
        -- draws from the old one afterwards, and has a lower number than all that come later.
        ALTER SEQUENCE change_log_batch_seq RENAME TO change_log_first_batch_seq;
        CREATE SEQUENCE change_log_batch_seq;
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
        EXECUTE format('ALTER INDEX %s RENAME TO %I', r.name,
                       was || substr(r.relname, length(which) + 1));
    END LOOP;
    FOR r IN SELECT tgname FROM pg_trigger WHERE tgrelid = old.oid AND NOT tgisinternal LOOP
        EXECUTE format('DROP TRIGGER %I ON %I', r.tgname, which);
    END LOOP;
    EXECUTE format('ALTER TABLE %I RENAME TO %I', which, was);
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING STORAGE)'
                   ' PARTITION BY RANGE (%I)', which, was, key_name);
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
REVOKE ALL ON FUNCTION partition_make(TEXT, BIGINT, BIGINT) FROM PUBLIC;
