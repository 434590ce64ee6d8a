-- The change feed.

-- Which tables are logged. A row stays when its table is logged no more: what was logged names it.
-- Key and columns are JSON arrays of names; columns NULL: all.
CREATE TABLE cdc_tables (
    table_id    INTEGER PRIMARY KEY AUTOINCREMENT,
    schema_name TEXT NOT NULL,
    table_name  TEXT NOT NULL,
    built_in    INTEGER NOT NULL DEFAULT 0,
    is_public   INTEGER NOT NULL DEFAULT 0,
    key_columns TEXT NOT NULL DEFAULT '[]',
    columns     TEXT,
    removed_at  INTEGER
);
CREATE UNIQUE INDEX cdc_tables_name ON cdc_tables (schema_name, table_name)
    WHERE removed_at IS NULL;
INSERT INTO cdc_tables (table_id, schema_name, table_name, built_in, is_public, key_columns)
VALUES (1, 'main', 'items', 1, 1, '["id"]'), (2, 'main', 'users', 1, 1, '["id"]');
UPDATE sqlite_sequence SET seq = 99 WHERE name = 'cdc_tables';

-- Rows that may be replaced by one that is being written: seq is their rowid. Empty but for the
-- time of a statement, or when it was ignored.
CREATE TABLE cdc_failures (
    failure_id INTEGER PRIMARY KEY AUTOINCREMENT,
    table_id   INTEGER NOT NULL,
    seq        INTEGER,
    action     TEXT NOT NULL,
    key        TEXT,
    error      TEXT NOT NULL,
    at         INTEGER NOT NULL
);

-- Writers take turns, so that seq is the order of the commits and the position too. A number is
-- never given out twice, even when every row was pruned. The CHECK has no IN: SQLite would build a
-- table of its values for every row that is written.
CREATE TABLE change_log (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    table_id INTEGER NOT NULL,
    action   TEXT NOT NULL
        CHECK (action = 'update' OR action = 'insert' OR action = 'delete' OR
               action = 'truncate' OR action = 'resync'),
    key      TEXT,
    data     TEXT,
    at       INTEGER NOT NULL
);
-- The latest of ours, however much there is of others.
CREATE INDEX change_log_ours ON change_log (table_id, seq, action, at) WHERE table_id <= 2;
-- To look at by hand, with names that are the same on PostgreSQL.
CREATE VIEW changes AS SELECT seq AS pos, at, table_id, action, key, data FROM change_log;
DROP TABLE recent_changes;

-- bulk is 1 within a transaction whose changes are not to be logged, and never outside one.
CREATE TABLE feed_state (
    only_row   INTEGER PRIMARY KEY CHECK (only_row = 1),
    history_to INTEGER,
    bulk       INTEGER NOT NULL DEFAULT 0
);
INSERT INTO feed_state (only_row, history_to)
SELECT 1, MAX(t.id)
FROM (SELECT maxitem AS id FROM updater_state UNION ALL SELECT MAX(id) FROM items) AS t;

-- The lives of this database: when positions that it gave out may be lost, another one begins.
CREATE TABLE feed_epochs (
    epoch    INTEGER PRIMARY KEY,
    from_pos INTEGER NOT NULL,
    mark     TEXT,
    began_at INTEGER NOT NULL
);
INSERT INTO feed_epochs (epoch, from_pos, began_at) VALUES (tain_now_ms() / 1000, 0, tain_now_ms());

-- Triggers know only what SQLite knows by itself, so that any program may write these tables.
CREATE TRIGGER feed_items_insert AFTER INSERT ON items
WHEN NOT EXISTS (SELECT 1 FROM feed_state WHERE bulk)
BEGIN
    INSERT INTO change_log (table_id, action, key, data, at)
    VALUES (1, 'insert', json_object('id', NEW.id),
        json_object(
            'id', NEW.id, 'deleted', json(CASE WHEN NEW.deleted THEN 'true' ELSE 'false' END),
            'type', CAST(NEW.type AS TEXT), 'by', CAST(NEW.by AS TEXT), 'time', NEW.time,
            'text', CAST(NEW.text AS TEXT),
            'dead', json(CASE WHEN NEW.dead THEN 'true' ELSE 'false' END),
            'parent', NEW.parent, 'poll', NEW.poll, 'url', CAST(NEW.url AS TEXT),
            'score', NEW.score, 'title', CAST(NEW.title AS TEXT),
            'parts', CASE WHEN json_valid(NEW.parts) THEN json(NEW.parts) END,
            'descendants', NEW.descendants, 'story_id', NEW.story_id,
            'domain', CAST(NEW.domain AS TEXT), 'first_seen_at', NEW.first_seen_at,
            'last_fetched_at', NEW.last_fetched_at, 'last_changed_at', NEW.last_changed_at),
        CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
END;
-- A fetch that found nothing new is no change, nor is a story found later, nor a doubt.
CREATE TRIGGER feed_items_update AFTER UPDATE
    OF last_changed_at, kids_hash, score, descendants, content_hash ON items
WHEN (NEW.last_changed_at IS NOT OLD.last_changed_at OR NEW.kids_hash IS NOT OLD.kids_hash
        OR NEW.score IS NOT OLD.score OR NEW.descendants IS NOT OLD.descendants
        OR (NEW.content_hash IS NOT OLD.content_hash AND NEW.content_hash <> 0))
    AND NOT EXISTS (SELECT 1 FROM feed_state WHERE bulk)
BEGIN
    INSERT INTO change_log (table_id, action, key, data, at)
    VALUES (1, 'update', json_object('id', NEW.id),
        json_object(
            'id', NEW.id, 'deleted', json(CASE WHEN NEW.deleted THEN 'true' ELSE 'false' END),
            'type', CAST(NEW.type AS TEXT), 'by', CAST(NEW.by AS TEXT), 'time', NEW.time,
            'text', CAST(NEW.text AS TEXT),
            'dead', json(CASE WHEN NEW.dead THEN 'true' ELSE 'false' END),
            'parent', NEW.parent, 'poll', NEW.poll, 'url', CAST(NEW.url AS TEXT),
            'score', NEW.score, 'title', CAST(NEW.title AS TEXT),
            'parts', CASE WHEN json_valid(NEW.parts) THEN json(NEW.parts) END,
            'descendants', NEW.descendants, 'story_id', NEW.story_id,
            'domain', CAST(NEW.domain AS TEXT), 'first_seen_at', NEW.first_seen_at,
            'last_fetched_at', NEW.last_fetched_at, 'last_changed_at', NEW.last_changed_at),
        CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
END;
CREATE TRIGGER feed_items_delete AFTER DELETE ON items
WHEN NOT EXISTS (SELECT 1 FROM feed_state WHERE bulk)
BEGIN
    INSERT INTO change_log (table_id, action, key, data, at)
    VALUES (1, 'delete', json_object('id', OLD.id),
        json_object(
            'id', OLD.id, 'deleted', json(CASE WHEN OLD.deleted THEN 'true' ELSE 'false' END),
            'type', CAST(OLD.type AS TEXT), 'by', CAST(OLD.by AS TEXT), 'time', OLD.time,
            'text', CAST(OLD.text AS TEXT),
            'dead', json(CASE WHEN OLD.dead THEN 'true' ELSE 'false' END),
            'parent', OLD.parent, 'poll', OLD.poll, 'url', CAST(OLD.url AS TEXT),
            'score', OLD.score, 'title', CAST(OLD.title AS TEXT),
            'parts', CASE WHEN json_valid(OLD.parts) THEN json(OLD.parts) END,
            'descendants', OLD.descendants, 'story_id', OLD.story_id,
            'domain', CAST(OLD.domain AS TEXT), 'first_seen_at', OLD.first_seen_at,
            'last_fetched_at', OLD.last_fetched_at, 'last_changed_at', OLD.last_changed_at),
        CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
END;
CREATE TRIGGER feed_users_insert AFTER INSERT ON users
WHEN NOT EXISTS (SELECT 1 FROM feed_state WHERE bulk)
BEGIN
    INSERT INTO change_log (table_id, action, key, data, at)
    VALUES (2, 'insert', json_object('id', CAST(NEW.id AS TEXT)),
        json_object(
            'id', CAST(NEW.id AS TEXT), 'created', NEW.created, 'karma', NEW.karma,
            'about', CAST(NEW.about AS TEXT),
            'gone', json(CASE WHEN NEW.gone THEN 'true' ELSE 'false' END),
            'first_seen_at', NEW.first_seen_at, 'last_fetched_at', NEW.last_fetched_at,
            'last_changed_at', NEW.last_changed_at),
        CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
END;
CREATE TRIGGER feed_users_update AFTER UPDATE OF last_changed_at, gone, content_hash ON users
WHEN (NEW.last_changed_at IS NOT OLD.last_changed_at OR NEW.gone IS NOT OLD.gone
        OR NEW.content_hash IS NOT OLD.content_hash)
    AND NOT EXISTS (SELECT 1 FROM feed_state WHERE bulk)
BEGIN
    INSERT INTO change_log (table_id, action, key, data, at)
    VALUES (2, 'update', json_object('id', CAST(NEW.id AS TEXT)),
        json_object(
            'id', CAST(NEW.id AS TEXT), 'created', NEW.created, 'karma', NEW.karma,
            'about', CAST(NEW.about AS TEXT),
            'gone', json(CASE WHEN NEW.gone THEN 'true' ELSE 'false' END),
            'first_seen_at', NEW.first_seen_at, 'last_fetched_at', NEW.last_fetched_at,
            'last_changed_at', NEW.last_changed_at),
        CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
END;
CREATE TRIGGER feed_users_delete AFTER DELETE ON users
WHEN NOT EXISTS (SELECT 1 FROM feed_state WHERE bulk)
BEGIN
    INSERT INTO change_log (table_id, action, key, data, at)
    VALUES (2, 'delete', json_object('id', CAST(OLD.id AS TEXT)),
        json_object(
            'id', CAST(OLD.id AS TEXT), 'created', OLD.created, 'karma', OLD.karma,
            'about', CAST(OLD.about AS TEXT),
            'gone', json(CASE WHEN OLD.gone THEN 'true' ELSE 'false' END),
            'first_seen_at', OLD.first_seen_at, 'last_fetched_at', OLD.last_fetched_at,
            'last_changed_at', OLD.last_changed_at),
        CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
END;
