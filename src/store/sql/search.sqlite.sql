-- Search with FTS5. rowid is the item; a word that an item has lost stays in the index, and what is
-- found is looked at again.

-- name: index_lock
-- The transaction holds the only lock there is.
SELECT 1;

-- name: index_note
INSERT INTO index_work (lo, hi, noted_at) VALUES ($1, $2, tain_now_ms());

-- name: index_drop
DELETE FROM index_work WHERE work_id = $1;

-- name: index_put_story
INSERT INTO search_stories (rowid, title, url, text, author, tags) VALUES ($1, $2, $3, $4, $5, $6);

-- name: index_put_comment
INSERT INTO search_comments (rowid, text, author, tags) VALUES ($1, $2, $3, $4);

-- name: index_leave_stories
-- A comment that became a story, or the other way round, is found in both; what is shown is looked
-- at again.
SELECT $1 WHERE false;

-- name: index_leave_comments
SELECT $1 WHERE false;

-- name: index_empty_stories
INSERT INTO search_stories (search_stories) VALUES ('delete-all');

-- name: index_empty_comments
INSERT INTO search_comments (search_comments) VALUES ('delete-all');

-- name: index_tidy_stories
SELECT 1;

-- name: index_tidy_comments
SELECT 1;

-- name: search_matches
-- Of each index the newest ones in a window. One that is not asked has LIMIT 0, since FTS5 takes no
-- match for an error.
SELECT 0, rowid FROM (SELECT rowid FROM search_stories
    WHERE search_stories MATCH $1 AND rowid BETWEEN $2 AND $3 ORDER BY rowid DESC LIMIT $4)
UNION ALL
SELECT 1, rowid FROM (SELECT rowid FROM search_comments
    WHERE search_comments MATCH $5 AND rowid BETWEEN $6 AND $7 ORDER BY rowid DESC LIMIT $8);

-- name: search_count
SELECT (SELECT COUNT(*) FROM (SELECT rowid FROM search_stories
            WHERE search_stories MATCH $1 AND rowid BETWEEN $2 AND $3
            ORDER BY rowid DESC LIMIT $4)),
       (SELECT COUNT(*) FROM (SELECT rowid FROM search_comments
            WHERE search_comments MATCH $5 AND rowid BETWEEN $6 AND $7
            ORDER BY rowid DESC LIMIT $8));

-- name: search_points
SELECT id, score, descendants FROM items INDEXED BY items_points
WHERE id = $1 AND score IS NOT NULL;

-- name: search_facts
SELECT id, type, by, time, score, descendants, dead OR deleted, title, story_id
FROM items WHERE id = $1;

-- name: search_hits
-- Items with the stories they belong to.
SELECT i.id, i.deleted, i.type, i.by, i.time, i.text, i.dead, i.parent, i.poll, i.url, i.score,
       i.title, i.parts, i.descendants, i.story_id, i.url_key, i.domain, i.content_hash,
       i.kids_hash, i.first_seen_at, i.last_fetched_at, i.last_changed_at,
       s.title, s.url, s.score, s.descendants
FROM items i LEFT JOIN items s ON s.id = i.story_id WHERE i.id = $1;
