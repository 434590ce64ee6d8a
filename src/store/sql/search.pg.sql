-- Search with tsvector and GIN.

-- name: index_lock
-- One indexer at a time, so that what was read earlier cannot be written later.
SELECT CASE WHEN pg_try_advisory_xact_lock(7496943, hashtext(current_schema())) THEN 1 ELSE 0 END;

-- name: index_note
INSERT INTO index_work (lo, hi, noted_at)
SELECT u.lo, u.hi, tain_now_ms() FROM unnest($1::bigint[], $2::bigint[]) AS u (lo, hi);

-- name: index_drop
DELETE FROM index_work WHERE work_id = ANY ($1::bigint[]);

-- name: index_put_story
INSERT INTO search_stories (item_id, words)
SELECT u.id, u.words::tsvector FROM unnest($1::bigint[], $2::text[]) AS u (id, words)
ON CONFLICT (item_id) DO UPDATE SET words = excluded.words;

-- name: index_put_comment
INSERT INTO search_comments (item_id, words)
SELECT u.id, u.words::tsvector FROM unnest($1::bigint[], $2::text[]) AS u (id, words)
ON CONFLICT (item_id) DO UPDATE SET words = excluded.words;

-- name: index_leave_stories
DELETE FROM search_stories WHERE item_id = ANY ($1::bigint[]);

-- name: index_leave_comments
DELETE FROM search_comments WHERE item_id = ANY ($1::bigint[]);

-- name: index_empty_stories
-- Words are replaced one by one, so there is nothing to empty.
SELECT 1;

-- name: index_empty_comments
SELECT 1;

-- name: index_tidy_stories
-- What was added lately waits in a list that every search has to read.
SELECT gin_clean_pending_list('search_stories_words'::regclass);

-- name: index_tidy_comments
SELECT gin_clean_pending_list('search_comments_words'::regclass);

-- Only the index of words may be used: `+ 0` hides the key, which would read whole ranges.

-- name: search_stories
SELECT item_id, words @@ $5::text::tsquery, words @@ $6::text::tsquery FROM search_stories
WHERE words @@ $1::text::tsquery AND item_id + 0 BETWEEN $2 AND $3
ORDER BY item_id + 0 DESC LIMIT $4;

-- name: search_comments
SELECT item_id, words @@ $5::text::tsquery, words @@ $6::text::tsquery FROM search_comments
WHERE words @@ $1::text::tsquery AND item_id + 0 BETWEEN $2 AND $3
ORDER BY item_id + 0 DESC LIMIT $4;

-- The index alone answers these where the table was vacuumed.

-- name: search_count_stories
SELECT COUNT(*) FROM search_stories WHERE words @@ $1::text::tsquery;

-- name: search_count_comments
SELECT COUNT(*) FROM search_comments WHERE words @@ $1::text::tsquery;

-- name: search_points
SELECT id, score, descendants FROM items WHERE id = ANY ($1::bigint[]) AND score IS NOT NULL;

-- name: search_facts
SELECT id, type, by, time, score, descendants, dead OR deleted, title, story_id
FROM items WHERE id = ANY ($1::bigint[]);

-- name: search_hits
SELECT id, deleted, type, by, time, text, dead, parent, poll, url, score, title, parts, descendants,
       story_id, url_key, domain, content_hash, kids_hash, first_seen_at, last_fetched_at,
       last_changed_at
FROM items WHERE id = ANY ($1::bigint[]);

-- name: search_stories_of
SELECT id, title, url, score, descendants FROM items WHERE id = ANY ($1::bigint[]);
