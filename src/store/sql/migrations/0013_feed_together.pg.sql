-- Whoever updates many items may log them together instead of one by one, and says so by
-- tain.together. That holds for his own statements, and not for what triggers do within them.
CREATE OR REPLACE TRIGGER feed_items_update
    AFTER UPDATE OF last_changed_at, kids_hash, score, descendants, content_hash ON items
    FOR EACH ROW WHEN (
        ((NEW.last_changed_at, NEW.kids_hash, NEW.score, NEW.descendants)
             IS DISTINCT FROM (OLD.last_changed_at, OLD.kids_hash, OLD.score, OLD.descendants)
         OR (NEW.content_hash <> OLD.content_hash AND NEW.content_hash <> 0))
        AND (current_setting('tain.together', true) IS DISTINCT FROM 'on'
             OR pg_trigger_depth() > 0))
    EXECUTE FUNCTION feed_log_items();
