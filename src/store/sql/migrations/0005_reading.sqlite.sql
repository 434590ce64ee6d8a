CREATE INDEX items_url_key ON items (url_key) WHERE url_key IS NOT NULL;

-- What changed lately, by the live writer. The newest ones stay.
CREATE TABLE recent_changes (
    change_id INTEGER PRIMARY KEY,
    item_id   INTEGER,
    name      TEXT,
    at        INTEGER NOT NULL
);
