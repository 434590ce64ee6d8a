-- A B-tree would refuse keys of more than a third of a page.
CREATE INDEX items_url_key ON items USING hash (url_key) WHERE url_key IS NOT NULL;

-- What changed lately, by the live writer. The newest ones stay.
CREATE TABLE recent_changes (
    change_id BIGINT PRIMARY KEY,
    item_id   BIGINT,
    name      TEXT,
    at        BIGINT NOT NULL
);
