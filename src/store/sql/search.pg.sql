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

-- name: search_matches
-- Of each index the newest ones in a window, and how many the window has: one question for both.
-- OFFSET 0 keeps the inner one apart, so that the words themselves are not carried any further. A
-- query is read once in a SELECT of its own, and else for every row.
(SELECT 0, id, COUNT(*) OVER (), title, phrase
 FROM (SELECT item_id AS id, words @@ (SELECT $11::text::tsquery) AS title,
              words @@ (SELECT $12::text::tsquery) AS phrase
       FROM search_stories
       WHERE words @@ (SELECT $1::text::tsquery) AND words @@ (SELECT $9::text::tsquery)
         AND item_id + 0 BETWEEN $2 AND $3 OFFSET 0) AS s
 ORDER BY id DESC LIMIT $4)
UNION ALL
(SELECT 1, id, COUNT(*) OVER (), NULL, phrase
 FROM (SELECT item_id AS id, words @@ (SELECT $13::text::tsquery) AS phrase
       FROM search_comments
       WHERE words @@ (SELECT $5::text::tsquery) AND words @@ (SELECT $10::text::tsquery)
         AND item_id + 0 BETWEEN $6 AND $7 OFFSET 0) AS c
 ORDER BY id DESC LIMIT $8);

-- name: search_count
-- Each that is counted is a visit of its table: no index answers this alone.
SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM search_stories
            WHERE words @@ (SELECT $1::text::tsquery) AND words @@ (SELECT $9::text::tsquery)
              AND item_id + 0 BETWEEN $2 AND $3 LIMIT $4) AS s),
       (SELECT COUNT(*) FROM (SELECT 1 FROM search_comments
            WHERE words @@ (SELECT $5::text::tsquery) AND words @@ (SELECT $10::text::tsquery)
              AND item_id + 0 BETWEEN $6 AND $7 LIMIT $8) AS c);

-- name: search_points
SELECT id, score, descendants FROM items WHERE id = ANY ($1::bigint[]) AND score IS NOT NULL;

-- name: search_facts
SELECT id, type, by, time, score, descendants, dead OR deleted, title, story_id
FROM items WHERE id = ANY ($1::bigint[]);

-- name: search_hits
-- Items with the stories they belong to.
SELECT i.id, i.deleted, i.type, i.by, i.time, i.text, i.dead, i.parent, i.poll, i.url, i.score,
       i.title, i.parts, i.descendants, i.story_id, i.url_key, i.domain, i.content_hash,
       i.kids_hash, i.first_seen_at, i.last_fetched_at, i.last_changed_at,
       s.title, s.url, s.score, s.descendants
FROM items i LEFT JOIN items s ON s.id = i.story_id WHERE i.id = ANY ($1::bigint[]);
