-- Links: what is alike on both databases and names no column of a task (links_text.c has those).

-- name: link_make
INSERT INTO links (url, url_key, title, description, source, submitted_by, created_at, key_version)
VALUES ($1, $2, $3, $4, $5, $6, tain_now_ms(), $7)
ON CONFLICT DO NOTHING RETURNING id;

-- name: link_by_key
SELECT id, url, url_key, title, description, summary, source, submitted_by, parent_link_id,
       created_at FROM links WHERE url_key = $1;

-- name: link_by_id
SELECT id, url, url_key, title, description, summary, source, submitted_by, parent_link_id,
       created_at FROM links WHERE id = $1;

-- name: link_by_alias
SELECT l.id, l.url, l.url_key, l.title, l.description, l.summary, l.source, l.submitted_by,
       l.parent_link_id, l.created_at
FROM link_aliases a JOIN links l ON l.id = a.link_id WHERE a.alias_id = $1;

-- name: link_scan
-- What a search looks at.
SELECT id, title, url, summary, description FROM links
WHERE id < $1 AND source NOT IN ('auto-parent', 'discussion-ref') ORDER BY id DESC LIMIT $2;

-- name: link_adopt
-- What was only kept as a parent is a link like any other now.
UPDATE links SET source = $2, submitted_by = $3 WHERE id = $1 AND source = 'auto-parent';

-- name: link_tasks_make
-- $2: where the discussion is, if it is one; $3 submitter; $4: does someone wait?
INSERT INTO link_processing (link_id, reverse_lookup_status, reverse_lookup_site, submitter,
                             waiting_since, created_at, updated_at, rescan_at)
SELECT CAST($1 AS BIGINT), CASE WHEN CAST($2 AS TEXT) IS NOT NULL THEN 'pending' END,
       CAST($2 AS TEXT), CAST($3 AS TEXT), CASE WHEN $4 = 1 THEN n.now END,
       n.now, n.now, n.now + 3600000
FROM (SELECT tain_now_ms() AS now) AS n WHERE true
ON CONFLICT (link_id) DO NOTHING;

-- name: link_claim
-- $1 source, $2 id, $3 holder, $4 lease, $5 slack of clocks.
INSERT INTO claims AS c (source, key, token, state, holder, lease_until, attempts, updated_at)
VALUES ($1, CAST($2 AS TEXT), 1, 'held', $3, tain_now_ms() + $4, 1, tain_now_ms())
ON CONFLICT (source, key) DO UPDATE SET token = c.token + 1, state = 'held',
    holder = excluded.holder, lease_until = excluded.lease_until,
    attempts = CASE WHEN c.state = 'done' THEN 1 ELSE c.attempts + 1 END, next_try_at = NULL,
    outcome = NULL, updated_at = excluded.updated_at
WHERE c.state <> 'held'
  AND (c.next_try_at IS NULL OR c.next_try_at <= tain_now_ms() OR c.updated_at > tain_now_ms() + $5)
RETURNING token, attempts;

-- name: link_fence
UPDATE claims SET state = 'done', outcome = $4, holder = NULL, lease_until = NULL,
    next_try_at = NULL, error_class = NULL, error = $5, updated_at = tain_now_ms()
WHERE source = $1 AND key = CAST($2 AS TEXT) AND token = $3 AND state = 'held';

-- name: link_release
-- $4: does the attempt count, $5 wait.
UPDATE claims SET state = 'free', holder = NULL, lease_until = NULL,
    attempts = CASE WHEN attempts - 1 + $4 > 0 THEN attempts - 1 + $4 ELSE 0 END,
    next_try_at = CASE WHEN $5 > 0 THEN tain_now_ms() + $5 END, error_class = $6, error = $7,
    updated_at = tain_now_ms()
WHERE source = $1 AND key = CAST($2 AS TEXT) AND token = $3 AND state = 'held';

-- name: link_bump
UPDATE claims SET token = token + 1, state = 'free', holder = NULL, lease_until = NULL,
    attempts = 0, next_try_at = NULL, outcome = NULL, updated_at = tain_now_ms()
WHERE source = $1 AND key = CAST($2 AS TEXT);

-- name: link_claim_of
SELECT state, next_try_at FROM claims WHERE source = $1 AND key = CAST($2 AS TEXT);

-- name: link_sweep
-- $2 grace, $3 slack, $4 how many.
UPDATE claims SET token = token + 1, state = 'free', holder = NULL, lease_until = NULL,
    next_try_at = NULL, updated_at = tain_now_ms()
WHERE source = $1 AND state = 'held' AND key IN (SELECT c.key FROM claims c
    WHERE c.source = $1 AND c.state = 'held'
      AND (c.lease_until < (SELECT tain_now_ms()) - $2
           OR c.updated_at > (SELECT tain_now_ms()) + $3)
    ORDER BY c.lease_until LIMIT $4);

-- name: link_turn
SELECT submitter, turns FROM link_turns WHERE lane = $1;

-- name: link_turn_took
INSERT INTO link_turns AS t (lane, submitter, turns) VALUES ($1, COALESCE(CAST($2 AS TEXT), ''), 1)
ON CONFLICT (lane) DO UPDATE SET submitter = COALESCE(CAST($2 AS TEXT), t.submitter),
    turns = t.turns + 1;

-- name: link_landing_lock
-- Landings are few, and one at a time: together they could close a circle.
INSERT INTO link_turns AS t (lane, turns) VALUES ('landing', 1)
ON CONFLICT (lane) DO UPDATE SET turns = t.turns + 1;

-- name: link_discussion_put
INSERT INTO external_discussions AS x (link_id, platform, external_id, external_url, title, score,
    num_comments, subreddit, discovered_at, external_created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, tain_now_ms(), $9)
ON CONFLICT (link_id, platform, external_id) DO UPDATE SET external_url = excluded.external_url,
    title = COALESCE(excluded.title, x.title), score = COALESCE(excluded.score, x.score),
    num_comments = COALESCE(excluded.num_comments, x.num_comments),
    subreddit = COALESCE(excluded.subreddit, x.subreddit),
    external_created_at = COALESCE(excluded.external_created_at, x.external_created_at);

-- name: link_discussed
SELECT COUNT(*) FROM (SELECT 1 FROM external_discussions WHERE link_id = $1 AND platform = $2
                      LIMIT 1) AS d;

-- name: link_discussions
SELECT platform, external_id, external_url, title, subreddit, score, num_comments,
       external_created_at, discovered_at
FROM external_discussions WHERE link_id = $1
ORDER BY COALESCE(num_comments, 0) DESC, COALESCE(score, 0) DESC, platform, external_id LIMIT $2;

-- name: link_become_ref
UPDATE links SET source = 'discussion-ref', parent_link_id = $2 WHERE id = $1;

-- name: link_landed
UPDATE link_processing SET reverse_lookup_target_id = $2, waiting_since = NULL, rescan_at = NULL
WHERE link_id = $1;

-- name: link_submitter
SELECT submitter FROM link_processing WHERE link_id = $1;

-- name: link_stories
-- A story as links need it, if it has so many points.
SELECT id, url, title FROM items
WHERE id = $1 AND type = 'story' AND url IS NOT NULL AND url <> '' AND NOT dead AND NOT deleted
  AND COALESCE(score, 0) >= $2;

-- name: link_feed_get
SELECT epoch, pos, at, list_at, scan_below, scan_since, tain_now_ms() FROM link_feed
WHERE name = $1;

-- name: link_feed_begin
INSERT INTO link_feed (name, epoch, pos, at) VALUES ($1, $2, $3, tain_now_ms())
ON CONFLICT (name) DO NOTHING;

-- name: link_feed_move
-- From where it was found; no row: a sibling was quicker.
UPDATE link_feed SET epoch = $4, pos = $5, at = $6 WHERE name = $1 AND epoch = $2 AND pos = $3;

-- name: link_feed_missed
-- The same; what changed since $6 is to be looked for in the archive.
UPDATE link_feed SET epoch = $4, pos = $5, at = tain_now_ms(),
    scan_below = COALESCE((SELECT MAX(id) FROM items), 0) + 1,
    scan_since = CASE WHEN scan_below IS NOT NULL AND scan_since < $6 THEN scan_since ELSE $6 END
WHERE name = $1 AND epoch = $2 AND pos = $3;

-- name: link_missed_to
SELECT MIN(t.id) FROM (SELECT id FROM items WHERE id < $1 ORDER BY id DESC LIMIT $2) AS t;

-- name: link_missed_latest
SELECT MAX(time) FROM items WHERE id >= $1 AND id < $2;

-- name: link_missed_these
SELECT id FROM items WHERE id >= $1 AND id < $2 AND type = 'story' AND url <> ''
  AND last_changed_at >= $3 AND time >= $4 ORDER BY id;

-- name: link_missed_move
UPDATE link_feed SET scan_below = $3 WHERE name = $1 AND scan_below = $2;

-- name: link_front_list
SELECT ids, changed_at FROM lists WHERE name = 'top' AND changed_at > $1;

-- name: link_front_seen
UPDATE link_feed SET list_at = $3 WHERE name = $1 AND list_at = $2;

-- name: link_hn_item
-- The last column: where its story is, or what is above it.
SELECT type, url, title, score, descendants, time, CASE WHEN dead OR deleted THEN 1 ELSE 0 END,
       COALESCE(story_id, poll, parent)
FROM items WHERE id = $1;

-- name: item_keys_get
SELECT version, walking, next_id, last_id FROM item_keys;

-- name: item_keys_begin
UPDATE item_keys SET walking = $1, next_id = 0,
    last_id = COALESCE((SELECT MAX(id) FROM items), 0) WHERE walking <> $1;

-- name: item_keys_to
SELECT MAX(t.id) FROM (SELECT id FROM items WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3) AS t;

-- name: item_keys_these
SELECT id, url, url_key, domain FROM items WHERE id > $1 AND id <= $2 AND url <> '' ORDER BY id;

-- name: item_keys_set
UPDATE items SET url_key = $3, domain = $4 WHERE id = $1 AND url = $2;

-- name: item_keys_move
-- From where it was found; no row: a sibling was quicker.
UPDATE item_keys SET next_id = $3 WHERE walking = $1 AND next_id = $2 AND version <> $1;

-- name: item_keys_done
UPDATE item_keys SET version = $1 WHERE walking = $1;

-- name: link_hn_local
SELECT id, title, score, descendants, time FROM items
WHERE url_key = $1 AND type = 'story' AND NOT dead AND NOT deleted
ORDER BY COALESCE(descendants, 0) DESC, id LIMIT $2;

-- name: link_backfill_to
SELECT MAX(t.id) FROM (SELECT id FROM links WHERE id > $1 ORDER BY id LIMIT $2) AS t;

-- name: link_backfill_these
SELECT l.id, l.url, l.source, l.submitted_by FROM links l
WHERE l.id > $1 AND l.id <= $2 AND l.source NOT IN ('auto-parent', 'discussion-ref')
  AND NOT EXISTS (SELECT 1 FROM link_processing p WHERE p.link_id = l.id)
ORDER BY l.id;

-- name: link_repair_lost
-- The article is gone, and the lookup is to be done again.
UPDATE link_processing SET reverse_lookup_status = 'pending', updated_at = tain_now_ms(),
    reverse_lookup_error = NULL
WHERE reverse_lookup_status = 'completed' AND reverse_lookup_target_id IS NULL
  AND link_id IN (SELECT p.link_id FROM link_processing p
                  WHERE p.reverse_lookup_status = 'completed' AND p.reverse_lookup_target_id IS NULL
                  ORDER BY p.link_id LIMIT $1);

-- name: link_repair_siteless
SELECT l.id, l.url_key FROM link_processing p JOIN links l ON l.id = p.link_id
WHERE p.reverse_lookup_status = 'pending' AND p.reverse_lookup_site IS NULL LIMIT $1;

-- name: link_repair_site
UPDATE link_processing SET reverse_lookup_site = CAST($2 AS TEXT), updated_at = tain_now_ms(),
    reverse_lookup_status = CASE WHEN CAST($2 AS TEXT) IS NOT NULL THEN 'pending' END
WHERE link_id = $1 AND reverse_lookup_status = 'pending' AND reverse_lookup_site IS NULL;

-- name: link_old_keys
SELECT id, url, url_key FROM links WHERE key_version < $1 ORDER BY key_version, id LIMIT $2;

-- name: link_set_key
UPDATE links SET url_key = $2, key_version = $3 WHERE id = $1;

-- name: link_merge_discussions
INSERT INTO external_discussions (link_id, platform, external_id, external_url, title, score,
    num_comments, subreddit, discovered_at, external_created_at)
SELECT CAST($1 AS BIGINT), platform, external_id, external_url, title, score, num_comments,
       subreddit, discovered_at, external_created_at
FROM external_discussions WHERE link_id = $2
ON CONFLICT (link_id, platform, external_id) DO NOTHING;

-- name: link_merge_tasks
-- The row of the one that goes, where the one that stays has none.
UPDATE link_processing SET link_id = $1 WHERE link_id = $2
  AND NOT EXISTS (SELECT 1 FROM link_processing p WHERE p.link_id = $1);

-- name: link_merge_rest
UPDATE link_processing AS k SET
    reverse_lookup_target_id = CASE
        WHEN COALESCE(k.reverse_lookup_target_id, g.reverse_lookup_target_id) NOT IN ($1, $2)
        THEN COALESCE(k.reverse_lookup_target_id, g.reverse_lookup_target_id) END,
    reverse_lookup_site = COALESCE(k.reverse_lookup_site, g.reverse_lookup_site),
    submitter = COALESCE(k.submitter, g.submitter),
    waiting_since = COALESCE(k.waiting_since, g.waiting_since),
    rescan_at = COALESCE(k.rescan_at, g.rescan_at), updated_at = tain_now_ms()
FROM link_processing AS g WHERE k.link_id = $1 AND g.link_id = $2;

-- name: link_merge_ref
-- Nobody looks for new discussions of a discussion.
UPDATE link_processing SET rescan_at = NULL WHERE link_id = $1;

-- name: link_merge_parents
UPDATE links SET parent_link_id = $1 WHERE parent_link_id = $2 AND id <> $1;

-- name: link_merge_targets
UPDATE link_processing SET reverse_lookup_target_id = $1
WHERE reverse_lookup_target_id = $2 AND link_id <> $1;

-- name: link_merge_aliases
UPDATE link_aliases SET link_id = $1 WHERE link_id = $2;

-- name: link_merge_alias
INSERT INTO link_aliases (alias_id, link_id, created_at) VALUES ($2, $1, tain_now_ms());

-- name: link_delete
DELETE FROM links WHERE id = $1;

-- name: provider_keyed
UPDATE providers SET keyed_at = tain_now_ms() WHERE name = $1;

-- name: provider_keyed_ms
-- $2: slack of clocks.
SELECT tain_now_ms() - keyed_at FROM providers
WHERE name = $1 AND keyed_at <= tain_now_ms() + $2;

-- name: spend_make
INSERT INTO providers (name) VALUES ($1) ON CONFLICT (name) DO NOTHING;

-- name: spend_get
-- $2: the beginning of this month.
SELECT CASE WHEN spend_from = $2 THEN spent ELSE 0 END FROM providers WHERE name = $1;

-- name: spend_reserve
UPDATE providers SET spent = CASE WHEN spend_from = $2 THEN spent ELSE 0 END + $3, spend_from = $2
WHERE name = $1 AND CASE WHEN spend_from = $2 THEN spent ELSE 0 END + $3 <= $4 RETURNING spent;

-- name: spend_settle
-- In the month in which it was set aside; later there is nothing to be corrected.
UPDATE providers SET spent = CASE WHEN spent + $3 > 0 THEN spent + $3 ELSE 0 END
WHERE name = $1 AND spend_from = $2;
