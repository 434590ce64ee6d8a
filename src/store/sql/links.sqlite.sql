-- Links on SQLite, where a transaction that writes is alone.

-- name: link_lock
SELECT id FROM links WHERE id IN ($1, $2) ORDER BY id;

-- name: link_repair_claims
-- Claims of links that are gone. An id is never given out again, nor is a token of it.
DELETE FROM claims WHERE source = $1 AND key IN (
    SELECT c.key FROM claims c WHERE c.source = $1
      AND NOT EXISTS (SELECT 1 FROM links l WHERE l.id = CAST(c.key AS INTEGER)) LIMIT $2);
