-- Nothing to be done here: SQLite has no triggers but those for a row.
SELECT 1;
