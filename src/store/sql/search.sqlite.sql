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

-- name: search_stories
SELECT rowid FROM search_stories
WHERE search_stories MATCH $1 AND rowid BETWEEN $2 AND $3 ORDER BY rowid DESC LIMIT $4;

-- name: search_comments
SELECT rowid FROM search_comments
WHERE search_comments MATCH $1 AND rowid BETWEEN $2 AND $3 ORDER BY rowid DESC LIMIT $4;

-- name: search_count_stories
SELECT COUNT(*) FROM (SELECT rowid FROM search_stories
    WHERE search_stories MATCH $1 AND rowid BETWEEN $2 AND $3 ORDER BY rowid DESC LIMIT $4);

-- name: search_count_comments
SELECT COUNT(*) FROM (SELECT rowid FROM search_comments
    WHERE search_comments MATCH $1 AND rowid BETWEEN $2 AND $3 ORDER BY rowid DESC LIMIT $4);

-- name: search_points
SELECT id, score, descendants FROM items INDEXED BY items_points
WHERE id = $1 AND score IS NOT NULL;

-- name: search_facts
SELECT id, type, by, time, score, descendants, dead OR deleted, title, story_id
FROM items WHERE id = $1;

-- name: search_hits
SELECT id, deleted, type, by, time, text, dead, parent, poll, url, score, title, parts, descendants,
       story_id, url_key, domain, content_hash, kids_hash, first_seen_at, last_fetched_at,
       last_changed_at
FROM items WHERE id = $1;

-- name: search_stories_of
SELECT id, title, url, score, descendants FROM items WHERE id = $1;
