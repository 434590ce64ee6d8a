-- What was seen last of the triggers of a table of the user's own: see cdc_state.
ALTER TABLE cdc_tables ADD COLUMN mark TEXT[];

-- The triggers as they are now. Whoever switches one off and on again, drops it or makes it anew
-- leaves another xmin or oid; a partition that is attached, detached or dropped comes or goes with
-- its own copy of the trigger, and one that was truncated has another file. Nothing: not all of
-- them are there and on, so that changes are being missed.
CREATE VIEW cdc_state AS
SELECT c.table_id, c.mark AS was,
       CASE WHEN bool_and(t.tgenabled IN ('O', 'A'))
                 AND COUNT(*) FILTER (WHERE t.tgparentid = 0)
                     = CASE WHEN bool_or(t.tgtype & 1 = 1) THEN 2 ELSE 4 END
            THEN array_agg(concat_ws(' ', t.tgrelid, t.oid, t.xmin, r.relfilenode) ORDER BY t.oid)
            ELSE '{}' END AS mark
FROM cdc_tables c
LEFT JOIN pg_proc p ON p.proname = 'cdc_log_' || c.table_id
                   AND p.pronamespace = (SELECT relnamespace FROM pg_class
                                         WHERE oid = 'cdc_tables'::regclass)
LEFT JOIN pg_trigger t ON t.tgfoid = p.oid
LEFT JOIN pg_class r ON r.oid = t.tgrelid AND t.tgparentid <> 0
WHERE c.removed_at IS NULL AND NOT c.built_in
GROUP BY c.table_id;
