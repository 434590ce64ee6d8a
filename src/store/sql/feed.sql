-- The change feed: what is alike on both databases.

-- name: feed_epoch_after
-- Of an epoch: whether it is known, and where the one behind it began.
SELECT (SELECT COUNT(*) FROM feed_epochs WHERE epoch = $1),
       (SELECT from_pos FROM feed_epochs WHERE epoch > $1 ORDER BY epoch LIMIT 1);

-- name: feed_set_history
-- Once.
UPDATE feed_state SET history_to = $1 WHERE history_to IS NULL;

-- name: feed_topics_get
-- One row at least: the first column is how often they have changed.
SELECT s.topics, t.source, t.topic, t.schema_name, t.table_name, t.status_column, t.states, t.file
FROM feed_state s LEFT JOIN feed_topics t ON 1 = 1 ORDER BY t.source LIMIT $1;

-- name: feed_topic_put
-- A row when there is something new in it.
INSERT INTO feed_topics (source, topic, schema_name, table_name, status_column, states, file)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (source) DO UPDATE
SET topic = excluded.topic, schema_name = excluded.schema_name, table_name = excluded.table_name,
    status_column = excluded.status_column, states = excluded.states, file = excluded.file
WHERE feed_topics.topic <> excluded.topic OR feed_topics.schema_name <> excluded.schema_name
   OR feed_topics.table_name <> excluded.table_name
   OR feed_topics.status_column <> excluded.status_column
   OR feed_topics.states <> excluded.states OR feed_topics.file <> excluded.file
RETURNING 1;

-- name: feed_topic_drop
DELETE FROM feed_topics WHERE source = $1;

-- name: feed_topics_changed
UPDATE feed_state SET topics = topics + 1 WHERE only_row = 1;
