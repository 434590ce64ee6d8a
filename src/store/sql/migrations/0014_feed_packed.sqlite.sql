-- Nothing to be done here: SQLite packs nothing.
SELECT 1;
