-- What waits to be indexed: written with the items, worked off behind the writer.
CREATE TABLE index_work (
    work_id  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    lo       BIGINT NOT NULL,
    hi       BIGINT NOT NULL,
    noted_at BIGINT NOT NULL,
    CHECK (lo <= hi)
);
CREATE INDEX index_work_newest ON index_work (hi);

-- Words as store/search_words.c reads them; lexemes that begin with _ are no words: kind, author,
-- Show HN, and the range of ids that the item is in.
CREATE TABLE search_stories (
    item_id BIGINT PRIMARY KEY,
    words   TSVECTOR NOT NULL
);
CREATE INDEX search_stories_words ON search_stories USING gin (words);
CREATE TABLE search_comments (
    item_id BIGINT PRIMARY KEY,
    words   TSVECTOR NOT NULL
);
CREATE INDEX search_comments_words ON search_comments USING gin (words);

-- What hits are ranked by, apart from the texts: thousands of them are read for one search.
CREATE INDEX items_points ON items (id) INCLUDE (score, descendants) WHERE score IS NOT NULL;

INSERT INTO index_work (lo, hi, noted_at)
SELECT lo, hi, tain_now_ms()
FROM (SELECT (SELECT MIN(id) FROM items) AS lo, (SELECT MAX(id) FROM items) AS hi) AS t
WHERE lo IS NOT NULL;
