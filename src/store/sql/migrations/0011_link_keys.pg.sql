-- A key may be longer than a row of a B-tree (2,704 bytes). No two links have the same key, as
-- before; only the hash of a key is in the index.
DROP INDEX links_url_key;
ALTER TABLE links ADD CONSTRAINT links_url_key EXCLUDE USING hash (url_key WITH =);
