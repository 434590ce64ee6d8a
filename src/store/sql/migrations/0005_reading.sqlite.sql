-- In a large archive there are more keys to sort than memory should hold.
PRAGMA temp_store=FILE;
CREATE INDEX items_url_key ON items (url_key) WHERE url_key IS NOT NULL;
PRAGMA temp_store=MEMORY;

-- What changed lately, by the live writer. The newest ones stay.
CREATE TABLE recent_changes (
    change_id INTEGER PRIMARY KEY,
    item_id   INTEGER,
    name      TEXT,
    at        INTEGER NOT NULL
);
