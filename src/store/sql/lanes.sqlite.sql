-- Lanes on SQLite, where a transaction that writes is alone.

-- name: lane_lock
SELECT tain_now_ms(), per_window, window_ms, slots, tat_us, not_before, breaker, breaker_until,
       failures, trips, paused
FROM providers WHERE name = $1 AND per_window IS NOT NULL;

-- name: lane_hold
-- Slots $2 for holder $3 until $4.
INSERT INTO provider_slots (provider, slot, holder, until)
SELECT $1, u.value, $3, $4 FROM json_each($2) AS u WHERE true
ON CONFLICT (provider, slot) DO UPDATE SET holder = excluded.holder, until = excluded.until;

-- name: lane_free
UPDATE provider_slots SET holder = NULL, until = 0
WHERE provider = $1 AND slot IN (SELECT value FROM json_each($2)) AND holder = $3;
