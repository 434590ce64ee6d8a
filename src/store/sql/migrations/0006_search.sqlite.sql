-- What waits to be indexed: written with the items, worked off behind the writer.
CREATE TABLE index_work (
    work_id  INTEGER PRIMARY KEY,
    lo       INTEGER NOT NULL,
    hi       INTEGER NOT NULL,
    noted_at INTEGER NOT NULL,
    CHECK (lo <= hi)
);
CREATE INDEX index_work_newest ON index_work (hi);

-- The index keeps no text: words are fed as store/search_words.c reads them. `tags` holds what is
-- no word: kind, author, Show HN.
CREATE VIRTUAL TABLE search_stories USING fts5 (
    title, url, text, author, tags,
    content = '', columnsize = 0, tokenize = "ascii tokenchars '+#_'");
CREATE VIRTUAL TABLE search_comments USING fts5 (
    text, author, tags,
    content = '', columnsize = 0, tokenize = "ascii tokenchars '+#_'");
INSERT INTO search_stories (search_stories, rank) VALUES ('hashsize', 8388608);
INSERT INTO search_comments (search_comments, rank) VALUES ('hashsize', 8388608);

-- What hits are ranked by, apart from the texts: thousands of them are read for one search.
CREATE INDEX items_points ON items (id, score, descendants) WHERE score IS NOT NULL;

INSERT INTO index_work (lo, hi, noted_at)
SELECT lo, hi, tain_now_ms()
FROM (SELECT (SELECT MIN(id) FROM items) AS lo, (SELECT MAX(id) FROM items) AS hi)
WHERE lo IS NOT NULL;
