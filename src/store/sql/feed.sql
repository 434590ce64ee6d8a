-- The change feed: what is alike on both databases.

-- name: feed_epoch_after
-- Of an epoch: whether it is known, and where the one behind it began.
SELECT (SELECT COUNT(*) FROM feed_epochs WHERE epoch = $1),
       (SELECT from_pos FROM feed_epochs WHERE epoch > $1 ORDER BY epoch LIMIT 1);

-- name: feed_set_history
-- Once.
UPDATE feed_state SET history_to = $1 WHERE history_to IS NULL;
