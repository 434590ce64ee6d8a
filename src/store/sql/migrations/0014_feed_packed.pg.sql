-- What is long in the log is packed with LZ4, which costs less than writing what it saves. A server
-- that was built without it keeps the log as it is: its own packing costs more.
DO $$
DECLARE
    part REGCLASS;
    made REGPROCEDURE;
BEGIN
    FOR part IN SELECT 'change_log'::regclass
                UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = 'change_log'::regclass
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER keys SET COMPRESSION lz4,'
                       ' ALTER data SET COMPRESSION lz4, ALTER keys SET STORAGE EXTENDED,'
                       ' ALTER data SET STORAGE EXTENDED', part);
    END LOOP;
    FOREACH made IN ARRAY ARRAY['partition_add(text, bigint, bigint)'::regprocedure,
                                'partition_make(text, bigint, bigint)'] LOOP
        EXECUTE replace(pg_get_functiondef(made), 'INCLUDING STORAGE',
                        'INCLUDING STORAGE INCLUDING COMPRESSION');
    END LOOP;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END
$$;
