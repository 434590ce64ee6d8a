-- Claims of table sources: what is alike on both databases and has nothing of the table in it.

-- name: claims_holders
SELECT DISTINCT holder FROM claims
WHERE source = $1 AND state = 'held' AND lease_until > 0 AND holder IS NOT NULL;

-- name: claims_end_leases
-- The sweep frees them: it knows their rows.
UPDATE claims SET lease_until = 0
WHERE source = $1 AND state = 'held' AND lease_until > 0 AND holder = $2;
