-- Links on PostgreSQL.

-- name: link_lock
-- In the order of the ids, so that nobody waits in a circle.
SELECT id FROM links WHERE id IN ($1, $2) ORDER BY id FOR UPDATE;

-- name: link_repair_claims
-- Claims of links that are gone. An id is never given out again, nor is a token of it.
DELETE FROM claims WHERE source = $1 AND key IN (
    SELECT c.key FROM claims c WHERE c.source = $1
      AND NOT EXISTS (SELECT 1 FROM links l WHERE l.id = c.key::bigint) LIMIT $2);
