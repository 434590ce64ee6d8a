-- Lanes on PostgreSQL.

-- name: lane_lock
-- Held to the end of the transaction. What slots there are is asked in a later statement: this one
-- sees the database as it was before it waited.
SELECT tain_now_ms(), per_window, window_ms, slots, tat_us, not_before, breaker, breaker_until,
       failures, trips, paused
FROM providers WHERE name = $1 AND per_window IS NOT NULL FOR UPDATE;

-- name: lane_hold
-- Slots $2 for holder $3 until $4.
INSERT INTO provider_slots (provider, slot, holder, until)
SELECT $1, u.slot, $3, $4 FROM unnest($2::bigint[]) AS u (slot)
ON CONFLICT (provider, slot) DO UPDATE SET holder = excluded.holder, until = excluded.until;

-- name: lane_free
UPDATE provider_slots SET holder = NULL, until = 0
WHERE provider = $1 AND slot = ANY ($2::bigint[]) AND holder = $3;
