-- Links, the state of their tasks, and who discussed them where.

-- An id is never given out twice: aliases and claims outlive their link. key_version: the rules by
-- which the key was made.
CREATE TABLE links (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    url            TEXT NOT NULL,
    url_key        TEXT NOT NULL,
    title          TEXT,
    description    TEXT,
    summary        TEXT,
    source         TEXT NOT NULL DEFAULT 'agent',
    submitted_by   TEXT,
    parent_link_id INTEGER REFERENCES links (id) ON DELETE SET NULL,
    created_at     INTEGER NOT NULL DEFAULT
        (CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)),
    key_version    INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX links_url_key ON links (url_key);
CREATE INDEX links_parent ON links (parent_link_id) WHERE parent_link_id IS NOT NULL;
CREATE INDEX links_key_version ON links (key_version, id);
CREATE INDEX links_listed ON links (id) WHERE source NOT IN ('auto-parent', 'discussion-ref');

-- Below updated_at is what the order of work needs. submitter: who asked for it, if someone did;
-- waiting_since: since when someone looks at its page; rescans: how often it was due again.
CREATE TABLE link_processing (
    link_id                  INTEGER PRIMARY KEY REFERENCES links (id) ON DELETE CASCADE,
    reddit_status            TEXT NOT NULL DEFAULT 'pending' CHECK (reddit_status IN
        ('pending', 'completed', 'not_found', 'failed', 'skipped')),
    reddit_checked_at        INTEGER,
    reddit_error             TEXT CHECK (length(reddit_error) <= 500),
    hn_status                TEXT NOT NULL DEFAULT 'pending' CHECK (hn_status IN
        ('pending', 'completed', 'not_found', 'failed', 'skipped')),
    hn_checked_at            INTEGER,
    hn_error                 TEXT CHECK (length(hn_error) <= 500),
    summary_status           TEXT NOT NULL DEFAULT 'pending' CHECK (summary_status IN
        ('pending', 'completed', 'failed', 'skipped')),
    summary_generated_at     INTEGER,
    summary_error            TEXT CHECK (length(summary_error) <= 500),
    reverse_lookup_status    TEXT DEFAULT NULL CHECK (reverse_lookup_status IN
        ('pending', 'completed', 'not_found', 'failed')),
    reverse_lookup_error     TEXT CHECK (length(reverse_lookup_error) <= 500),
    reverse_lookup_target_id INTEGER REFERENCES links (id) ON DELETE SET NULL,
    created_at               INTEGER NOT NULL DEFAULT
        (CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)),
    updated_at               INTEGER NOT NULL DEFAULT
        (CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)),
    reverse_lookup_site      TEXT CHECK (reverse_lookup_site IN ('reddit', 'hackernews')),
    submitter                TEXT,
    waiting_since            INTEGER,
    rescans                  INTEGER NOT NULL DEFAULT 0,
    rescan_at                INTEGER
);
CREATE INDEX idx_link_processing_reddit_pending ON link_processing (created_at)
    WHERE reddit_status = 'pending';
CREATE INDEX idx_link_processing_hn_pending ON link_processing (created_at)
    WHERE hn_status = 'pending';
CREATE INDEX idx_link_processing_summary_pending ON link_processing (created_at)
    WHERE summary_status = 'pending';
CREATE INDEX idx_link_processing_reverse_pending ON link_processing (created_at)
    WHERE reverse_lookup_status = 'pending';
-- Submitters take turns.
CREATE INDEX link_processing_reddit_asked ON link_processing (submitter, created_at)
    WHERE reddit_status = 'pending' AND submitter IS NOT NULL AND rescans = 0;
CREATE INDEX link_processing_hn_asked ON link_processing (submitter, created_at)
    WHERE hn_status = 'pending' AND submitter IS NOT NULL AND rescans = 0;
CREATE INDEX link_processing_summary_asked ON link_processing (submitter, created_at)
    WHERE summary_status = 'pending' AND submitter IS NOT NULL AND rescans = 0;
CREATE INDEX link_processing_reverse_asked
    ON link_processing (reverse_lookup_site, submitter, created_at)
    WHERE reverse_lookup_status = 'pending' AND submitter IS NOT NULL AND rescans = 0;
-- Reverse lookups of one site, while those of the other may be many.
CREATE INDEX link_processing_reverse_site ON link_processing (reverse_lookup_site, created_at)
    WHERE reverse_lookup_status = 'pending';
CREATE INDEX link_processing_waiting ON link_processing (waiting_since)
    WHERE waiting_since IS NOT NULL;
CREATE INDEX link_processing_rescan ON link_processing (rescan_at) WHERE rescan_at IS NOT NULL;
CREATE INDEX link_processing_summary_skipped ON link_processing (summary_error, created_at)
    WHERE summary_status = 'skipped';
CREATE INDEX link_processing_target ON link_processing (reverse_lookup_target_id)
    WHERE reverse_lookup_target_id IS NOT NULL;
-- Reverse lookups that lost their article.
CREATE INDEX link_processing_lost ON link_processing (link_id)
    WHERE reverse_lookup_status = 'completed' AND reverse_lookup_target_id IS NULL;

CREATE TABLE external_discussions (
    link_id             INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    platform            TEXT NOT NULL CHECK (platform IN ('reddit', 'hackernews')),
    external_id         TEXT NOT NULL,
    external_url        TEXT NOT NULL,
    title               TEXT,
    score               INTEGER,
    num_comments        INTEGER,
    subreddit           TEXT,
    discovered_at       INTEGER NOT NULL DEFAULT
        (CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)),
    external_created_at INTEGER,
    PRIMARY KEY (link_id, platform, external_id)
);

-- Ids of links that became one with another.
CREATE TABLE link_aliases (
    alias_id   INTEGER PRIMARY KEY,
    link_id    INTEGER NOT NULL REFERENCES links (id) ON DELETE CASCADE,
    created_at INTEGER NOT NULL DEFAULT
        (CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER))
);
CREATE INDEX link_aliases_link ON link_aliases (link_id);

-- Whose turn a lane had last, and how many it had.
CREATE TABLE link_turns (
    lane      TEXT PRIMARY KEY,
    submitter TEXT NOT NULL DEFAULT '',
    turns     INTEGER NOT NULL DEFAULT 0
);

-- Up to which change of the feed stories became links, one row for each choice of stories. What was
-- changed before `at` has been looked at; list_at: the list `top` as it was then. Where the feed
-- had a gap, items with ids below scan_below are still to be looked at, for changes since
-- scan_since.
CREATE TABLE link_feed (
    name       TEXT PRIMARY KEY,
    epoch      INTEGER NOT NULL,
    pos        INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    list_at    INTEGER NOT NULL DEFAULT 0,
    scan_below INTEGER,
    scan_since INTEGER
);

-- The rules by which the keys of all items are made; while others are walking, ids up to next_id
-- have been looked at, and those beyond last_id were stored by them.
CREATE TABLE item_keys (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    version  INTEGER NOT NULL DEFAULT 0,
    walking  INTEGER NOT NULL DEFAULT 0,
    next_id  INTEGER NOT NULL DEFAULT 0,
    last_id  INTEGER NOT NULL DEFAULT 0
);
INSERT INTO item_keys (only_row, version, walking)
SELECT 1, t.version, t.version FROM (SELECT CASE WHEN EXISTS (SELECT 1 FROM items) THEN 0 ELSE 2 END
                                            AS version) AS t;

-- What a provider cost since spend_from, the beginning of a month; in millionths. keyed_at: when a
-- worker that has a key for it was there.
ALTER TABLE providers ADD COLUMN spend_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE providers ADD COLUMN spent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE providers ADD COLUMN keyed_at INTEGER;

-- The feed. Who submitted a link is nobody else's business.
INSERT INTO cdc_tables (table_id, schema_name, table_name, built_in, is_public, key_columns)
VALUES (3, 'main', 'links', 1, 1, '["id"]'),
       (4, 'main', 'link_processing', 1, 1, '["link_id"]'),
       (5, 'main', 'external_discussions', 1, 1, '["link_id","platform","external_id"]');
CREATE TRIGGER feed_links_insert AFTER INSERT ON links
WHEN NOT EXISTS (SELECT 1 FROM feed_state WHERE bulk)
BEGIN
    INSERT INTO change_log (table_id, action, key, data, at)
    VALUES (3, 'insert',
        json_object('id', NEW.id),
        json_object(
            'id', NEW.id, 'url', CAST(NEW.url AS TEXT), 'url_key', CAST(NEW.url_key AS TEXT),
            'title', CAST(NEW.title AS TEXT), 'description', CAST(NEW.description AS TEXT),
            'summary', CAST(NEW.summary AS TEXT), 'source', CAST(NEW.source AS TEXT),
            'parent_link_id', NEW.parent_link_id, 'created_at', NEW.created_at),
        CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
END;
CREATE TRIGGER feed_links_update AFTER UPDATE ON links
WHEN (NEW.url IS NOT OLD.url OR NEW.url_key IS NOT OLD.url_key OR NEW.title IS NOT OLD.title OR
        NEW.description IS NOT OLD.description OR NEW.summary IS NOT OLD.summary OR
        NEW.source IS NOT OLD.source OR NEW.parent_link_id IS NOT OLD.parent_link_id)
    AND NOT EXISTS (SELECT 1 FROM feed_state WHERE bulk)
BEGIN
    INSERT INTO change_log (table_id, action, key, data, at)
    VALUES (3, 'update',
        json_object('id', NEW.id),
        json_object(
            'id', NEW.id, 'url', CAST(NEW.url AS TEXT), 'url_key', CAST(NEW.url_key AS TEXT),
            'title', CAST(NEW.title AS TEXT), 'description', CAST(NEW.description AS TEXT),
            'summary', CAST(NEW.summary AS TEXT), 'source', CAST(NEW.source AS TEXT),
            'parent_link_id', NEW.parent_link_id, 'created_at', NEW.created_at),
        CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
END;
CREATE TRIGGER feed_links_delete AFTER DELETE ON links
WHEN NOT EXISTS (SELECT 1 FROM feed_state WHERE bulk)
BEGIN
    INSERT INTO change_log (table_id, action, key, data, at)
    VALUES (3, 'delete',
        json_object('id', OLD.id),
        json_object(
            'id', OLD.id, 'url', CAST(OLD.url AS TEXT), 'url_key', CAST(OLD.url_key AS TEXT),
            'title', CAST(OLD.title AS TEXT), 'description', CAST(OLD.description AS TEXT),
            'summary', CAST(OLD.summary AS TEXT), 'source', CAST(OLD.source AS TEXT),
            'parent_link_id', OLD.parent_link_id, 'created_at', OLD.created_at),
        CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
END;
CREATE TRIGGER feed_link_processing_insert AFTER INSERT ON link_processing
WHEN NOT EXISTS (SELECT 1 FROM feed_state WHERE bulk)
BEGIN
    INSERT INTO change_log (table_id, action, key, data, at)
    VALUES (4, 'insert',
        json_object('link_id', NEW.link_id),
        json_object(
            'link_id', NEW.link_id, 'reddit_status', CAST(NEW.reddit_status AS TEXT),
            'reddit_checked_at', NEW.reddit_checked_at,
            'reddit_error', CAST(NEW.reddit_error AS TEXT),
            'hn_status', CAST(NEW.hn_status AS TEXT), 'hn_checked_at', NEW.hn_checked_at,
            'hn_error', CAST(NEW.hn_error AS TEXT),
            'summary_status', CAST(NEW.summary_status AS TEXT),
            'summary_generated_at', NEW.summary_generated_at,
            'summary_error', CAST(NEW.summary_error AS TEXT),
            'reverse_lookup_status', CAST(NEW.reverse_lookup_status AS TEXT),
            'reverse_lookup_error', CAST(NEW.reverse_lookup_error AS TEXT),
            'reverse_lookup_target_id', NEW.reverse_lookup_target_id,
            'created_at', NEW.created_at, 'updated_at', NEW.updated_at),
        CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
END;
CREATE TRIGGER feed_link_processing_update AFTER UPDATE ON link_processing
WHEN (NEW.link_id IS NOT OLD.link_id OR NEW.reddit_status IS NOT OLD.reddit_status OR
        NEW.reddit_checked_at IS NOT OLD.reddit_checked_at OR
        NEW.reddit_error IS NOT OLD.reddit_error OR NEW.hn_status IS NOT OLD.hn_status OR
        NEW.hn_checked_at IS NOT OLD.hn_checked_at OR NEW.hn_error IS NOT OLD.hn_error OR
        NEW.summary_status IS NOT OLD.summary_status OR
        NEW.summary_generated_at IS NOT OLD.summary_generated_at OR
        NEW.summary_error IS NOT OLD.summary_error OR
        NEW.reverse_lookup_status IS NOT OLD.reverse_lookup_status OR
        NEW.reverse_lookup_error IS NOT OLD.reverse_lookup_error OR
        NEW.reverse_lookup_target_id IS NOT OLD.reverse_lookup_target_id)
    AND NOT EXISTS (SELECT 1 FROM feed_state WHERE bulk)
BEGIN
    INSERT INTO change_log (table_id, action, key, data, at)
    VALUES (4, 'update',
        json_object('link_id', NEW.link_id),
        json_object(
            'link_id', NEW.link_id, 'reddit_status', CAST(NEW.reddit_status AS TEXT),
            'reddit_checked_at', NEW.reddit_checked_at,
            'reddit_error', CAST(NEW.reddit_error AS TEXT),
            'hn_status', CAST(NEW.hn_status AS TEXT), 'hn_checked_at', NEW.hn_checked_at,
            'hn_error', CAST(NEW.hn_error AS TEXT),
            'summary_status', CAST(NEW.summary_status AS TEXT),
            'summary_generated_at', NEW.summary_generated_at,
            'summary_error', CAST(NEW.summary_error AS TEXT),
            'reverse_lookup_status', CAST(NEW.reverse_lookup_status AS TEXT),
            'reverse_lookup_error', CAST(NEW.reverse_lookup_error AS TEXT),
            'reverse_lookup_target_id', NEW.reverse_lookup_target_id,
            'created_at', NEW.created_at, 'updated_at', NEW.updated_at),
        CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
END;
CREATE TRIGGER feed_link_processing_delete AFTER DELETE ON link_processing
WHEN NOT EXISTS (SELECT 1 FROM feed_state WHERE bulk)
BEGIN
    INSERT INTO change_log (table_id, action, key, data, at)
    VALUES (4, 'delete',
        json_object('link_id', OLD.link_id),
        json_object(
            'link_id', OLD.link_id, 'reddit_status', CAST(OLD.reddit_status AS TEXT),
            'reddit_checked_at', OLD.reddit_checked_at,
            'reddit_error', CAST(OLD.reddit_error AS TEXT),
            'hn_status', CAST(OLD.hn_status AS TEXT), 'hn_checked_at', OLD.hn_checked_at,
            'hn_error', CAST(OLD.hn_error AS TEXT),
            'summary_status', CAST(OLD.summary_status AS TEXT),
            'summary_generated_at', OLD.summary_generated_at,
            'summary_error', CAST(OLD.summary_error AS TEXT),
            'reverse_lookup_status', CAST(OLD.reverse_lookup_status AS TEXT),
            'reverse_lookup_error', CAST(OLD.reverse_lookup_error AS TEXT),
            'reverse_lookup_target_id', OLD.reverse_lookup_target_id,
            'created_at', OLD.created_at, 'updated_at', OLD.updated_at),
        CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
END;
CREATE TRIGGER feed_external_discussions_insert AFTER INSERT ON external_discussions
WHEN NOT EXISTS (SELECT 1 FROM feed_state WHERE bulk)
BEGIN
    INSERT INTO change_log (table_id, action, key, data, at)
    VALUES (5, 'insert',
        json_object('link_id', NEW.link_id, 'platform', CAST(NEW.platform AS TEXT),
            'external_id', CAST(NEW.external_id AS TEXT)),
        json_object(
            'link_id', NEW.link_id, 'platform', CAST(NEW.platform AS TEXT),
            'external_id', CAST(NEW.external_id AS TEXT),
            'external_url', CAST(NEW.external_url AS TEXT), 'title', CAST(NEW.title AS TEXT),
            'score', NEW.score, 'num_comments', NEW.num_comments,
            'subreddit', CAST(NEW.subreddit AS TEXT), 'discovered_at', NEW.discovered_at,
            'external_created_at', NEW.external_created_at),
        CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
END;
CREATE TRIGGER feed_external_discussions_update AFTER UPDATE ON external_discussions
WHEN (NEW.link_id IS NOT OLD.link_id OR NEW.external_url IS NOT OLD.external_url OR
        NEW.title IS NOT OLD.title OR NEW.score IS NOT OLD.score OR
        NEW.num_comments IS NOT OLD.num_comments OR NEW.subreddit IS NOT OLD.subreddit)
    AND NOT EXISTS (SELECT 1 FROM feed_state WHERE bulk)
BEGIN
    INSERT INTO change_log (table_id, action, key, data, at)
    VALUES (5, 'update',
        json_object('link_id', NEW.link_id, 'platform', CAST(NEW.platform AS TEXT),
            'external_id', CAST(NEW.external_id AS TEXT)),
        json_object(
            'link_id', NEW.link_id, 'platform', CAST(NEW.platform AS TEXT),
            'external_id', CAST(NEW.external_id AS TEXT),
            'external_url', CAST(NEW.external_url AS TEXT), 'title', CAST(NEW.title AS TEXT),
            'score', NEW.score, 'num_comments', NEW.num_comments,
            'subreddit', CAST(NEW.subreddit AS TEXT), 'discovered_at', NEW.discovered_at,
            'external_created_at', NEW.external_created_at),
        CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
END;
CREATE TRIGGER feed_external_discussions_delete AFTER DELETE ON external_discussions
WHEN NOT EXISTS (SELECT 1 FROM feed_state WHERE bulk)
BEGIN
    INSERT INTO change_log (table_id, action, key, data, at)
    VALUES (5, 'delete',
        json_object('link_id', OLD.link_id, 'platform', CAST(OLD.platform AS TEXT),
            'external_id', CAST(OLD.external_id AS TEXT)),
        json_object(
            'link_id', OLD.link_id, 'platform', CAST(OLD.platform AS TEXT),
            'external_id', CAST(OLD.external_id AS TEXT),
            'external_url', CAST(OLD.external_url AS TEXT), 'title', CAST(OLD.title AS TEXT),
            'score', OLD.score, 'num_comments', OLD.num_comments,
            'subreddit', CAST(OLD.subreddit AS TEXT), 'discovered_at', OLD.discovered_at,
            'external_created_at', OLD.external_created_at),
        CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
END;
