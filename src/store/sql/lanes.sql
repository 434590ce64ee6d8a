-- Lanes: what is alike on both databases. `paused` is NULL, 'by_hand' or 'auth'.

-- name: lane_declare
-- Nothing is written when nothing is new: every process declares its lanes when it starts.
INSERT INTO providers (name, per_window, window_ms, slots) VALUES ($1, $2, $3, $4)
ON CONFLICT (name) DO UPDATE SET per_window = excluded.per_window, window_ms = excluded.window_ms,
    slots = excluded.slots
WHERE providers.per_window IS DISTINCT FROM excluded.per_window
   OR providers.window_ms <> excluded.window_ms OR providers.slots <> excluded.slots;

-- name: lane_read
SELECT tain_now_ms(), per_window, window_ms, slots, tat_us, not_before, breaker, breaker_until,
       failures, trips, paused
FROM providers WHERE name = $1 AND per_window IS NOT NULL;

-- name: lane_slots
-- The time, and the slots that are held; are they this holder's ($2)? An end further ahead than any
-- hold reaches ($3) was written by a wrong clock. One row with NULL where none is held.
SELECT n.now, s.slot, CASE WHEN s.holder = $2 THEN 1 ELSE 0 END
FROM (SELECT tain_now_ms() AS now) AS n
LEFT JOIN provider_slots s ON s.provider = $1 AND s.holder IS NOT NULL
     AND s.until > n.now AND s.until <= n.now + $3;

-- name: lane_write
UPDATE providers SET tat_us = $2, not_before = $3, breaker = $4, breaker_until = $5, failures = $6,
    trips = $7 WHERE name = $1;

-- name: lane_pause
UPDATE providers SET paused = $2, paused_why = $3, paused_at = tain_now_ms()
WHERE name = $1 AND per_window IS NOT NULL RETURNING 1;

-- name: lane_resume
UPDATE providers SET paused = NULL, paused_why = NULL, paused_at = NULL, not_before = 0,
    breaker = 'closed', breaker_until = 0, failures = 0, trips = 0
WHERE name = $1 AND per_window IS NOT NULL RETURNING 1;

-- name: lane_list
SELECT n.now, p.per_window, p.window_ms, p.slots, p.tat_us, p.not_before, p.breaker,
       p.breaker_until, p.failures, p.trips, p.paused, p.name, p.paused_why, p.paused_at,
       (SELECT COUNT(*) FROM provider_slots s WHERE s.provider = p.name AND s.holder IS NOT NULL
        AND s.until > n.now AND s.until <= n.now + $1)
FROM providers p, (SELECT tain_now_ms() AS now) AS n
WHERE p.per_window IS NOT NULL ORDER BY p.name;
