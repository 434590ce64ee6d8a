/* Statements of a table source on PostgreSQL: one each, so that token and status change together.
 * Token and status are in two tables, and after a lock wait only the locked row is looked at again:
 * so the owner's UPDATE decides a claim and the token rides on it, and every later write begins
 * with the token's own row. Candidates are locked before, in the order of the key, and what others
 * hold is passed over, so that batches do not wait for each other in a circle.
 *
 * Plans are kept while tables grow, so a table is asked for an array of its keys, which goes by
 * the key's index however many rows there were (of claims, see FENCE). The partial indexes of held
 * claims and of busy rows would fit, too: but rows come and go there all the time, and they are
 * full of what is gone.
 * `|| ''` hides their conditions from the planner. */
#include "store/claims_int.h"

/* $1 keys, $2 and $3: holder and lease, in the first place. What comes back is of three kinds: rows
 * that were won, their tokens, and rows that somebody else has. */
#define CLAIM                                                                                     \
    "WITH tain_p AS MATERIALIZED ("                                                               \
    " SELECT {name}.{key} AS id FROM {table}"                                                     \
    " WHERE {name}.{key} = ANY ($1::text[]::{key_type}[]) AND {name}.{status} = {pending}"        \
    "   AND {filter} AND NOT {waiting}"                                                           \
    " ORDER BY 1 FOR NO KEY UPDATE SKIP LOCKED"                                                   \
    "), tain_w AS ("                                                                              \
    " UPDATE {table} SET {status} = {busy}{since_now}"                                            \
    " WHERE {name}.{key} = ANY (ARRAY(SELECT id FROM tain_p)) AND {name}.{status} = {pending}"    \
    " RETURNING {name}.{key} AS id, {row} AS data"                                                \
    "), tain_g AS ("                                                                              \
    " INSERT INTO claims AS tain_c (source, key, token, state, holder, lease_until, attempts,"    \
    "                               updated_at)"                                                  \
    " SELECT {source}, id::text, 1, 'held', ($2::text[])[1], {now} + ($3::bigint[])[1], 1, {now}" \
    " FROM tain_w ORDER BY 2"                                                                     \
    " ON CONFLICT (source, key) DO UPDATE SET token = tain_c.token + 1, state = 'held',"          \
    "   holder = excluded.holder, lease_until = excluded.lease_until, next_try_at = NULL,"        \
    "   attempts = CASE WHEN tain_c.state = 'done' THEN 1 ELSE tain_c.attempts + 1 END,"          \
    "   outcome = NULL, updated_at = excluded.updated_at"                                         \
    " RETURNING tain_c.key, tain_c.token, tain_c.attempts"                                        \
    ")"                                                                                           \
    "SELECT 0, id::text, NULL, NULL, data::text FROM tain_w"                                      \
    " UNION ALL SELECT 1, key, token, attempts, NULL FROM tain_g"                                 \
    " UNION ALL SELECT 2, {name}.{key}::text, NULL, NULL, NULL FROM {table}"                      \
    " WHERE {name}.{key} = ANY (ARRAY(SELECT unnest($1::text[]::{key_type}[])"                    \
    "                                 EXCEPT SELECT id FROM tain_w))"                             \
    "   AND ({name}.{status} = {busy} OR ({name}.{status} = {pending} AND NOT {waiting}))"        \
    "   AND {filter}"

/* What is said of the rows of a batch: $1 keys, $2 tokens, $3 error classes, $4 errors, and two
 * more of each statement's own. Of claims, each is asked for by its whole key: `source` comes along
 * with it, or a plan that was made when there were few would go through all claims of the source;
 * and so it is made for one row, which is what the planner thinks is left of them by the odd
 * condition. From there on only keys are known, and what is said of a row of the table is found in
 * a map. */
#define FENCE(more, sets)                                                                    \
    "WITH tain_u AS MATERIALIZED ("                                                          \
    " SELECT {source} AS source, tain_i.* FROM unnest($1::text[], $2::bigint[], $3::text[]," \
    "   $4::text[], " more ") AS tain_i (key, token, error_class, error, a, b)"              \
    " WHERE tain_i.key || '' = tain_i.key"                                                   \
    "), tain_f AS ("                                                                         \
    " UPDATE claims AS tain_c SET " sets ", holder = NULL, lease_until = NULL,"              \
    "   error_class = tain_u.error_class, error = tain_u.error, updated_at = {now}"          \
    " FROM tain_u WHERE tain_c.source = tain_u.source AND tain_c.key = tain_u.key"           \
    "   AND tain_c.token = tain_u.token AND tain_c.state || '' = 'held'"                     \
    " RETURNING tain_c.key"                                                                  \
    ")"
#define FENCED                                                              \
    " WHERE {name}.{key} = ANY (ARRAY(SELECT key::{key_type} FROM tain_f))" \
    "   AND {name}.{status}::text || '' = {busy} RETURNING {name}.{key}::text"

/* $5 outcomes, $6 in the first place: {"key": {"s": outcome, "v": values}}. OFFSET 0 has a row's
 * part of it looked up once. */
#define FINALIZE                                                                                 \
    FENCE("$5::text[], NULL::text[]", "state = 'done', outcome = tain_u.a, next_try_at = NULL")  \
    ", tain_m AS MATERIALIZED (SELECT ($6::text[])[1]::jsonb AS m)"                              \
    "UPDATE {table} SET ({status}{set_names}) = (SELECT (CASE tain_n.n ->> 's'"                  \
    "   WHEN 'match' THEN {match} WHEN 'no_match' THEN {no_match} ELSE {failed}"                 \
    "   END)::{status_type}{set_values} FROM (SELECT n, n -> 'v' AS v FROM"                      \
    "   (SELECT (SELECT m FROM tain_m) -> {name}.{key}::text AS n OFFSET 0) AS tain_o OFFSET 0)" \
    "   AS tain_n{set_from}){since_none}" FENCED

/* $5 whether the attempt counts, $6 how long to wait. */
#define RELEASE                                                                     \
    FENCE("$5::bigint[], $6::bigint[]",                                             \
          "state = 'free', attempts = GREATEST(tain_c.attempts - 1 + tain_u.a, 0)," \
          " next_try_at = CASE WHEN tain_u.b > 0 THEN {now} + tain_u.b END")        \
    "UPDATE {table} SET {status} = {pending}{since_none}" FENCED

/* A claim made before the time that is forgiven, and a death too many. */
#define SPARED "tain_c.updated_at <= {now} - $3::bigint"
#define OVER "(tain_c.attempts >= $2::bigint AND NOT " SPARED ")"

/* $1: how many at most, $2: attempts, $3: how long ago is forgiven. */
#define SWEEP(more)                                                                             \
    "WITH tain_l AS MATERIALIZED ("                                                             \
    " SELECT key FROM claims WHERE source = {source} AND state = 'held'"                        \
    "   AND {lapsed}" more " ORDER BY lease_until LIMIT $1 FOR UPDATE SKIP LOCKED"              \
    "), tain_s AS ("                                                                            \
    " UPDATE claims AS tain_c SET token = tain_c.token + 1, holder = NULL, lease_until = NULL," \
    "   updated_at = {now}, state = CASE WHEN " OVER " THEN 'done' ELSE 'free' END,"            \
    "   outcome = CASE WHEN " OVER " THEN 'failed' END,"                                        \
    "   attempts = GREATEST(tain_c.attempts - CASE WHEN " SPARED " THEN 1 ELSE 0 END, 0),"      \
    "   next_try_at = CASE WHEN tain_c.attempts > 1 AND NOT " OVER " AND NOT " SPARED           \
    "     THEN {now} + (random() * {death_wait})::bigint END,"                                  \
    "   error_class = CASE WHEN " SPARED " THEN tain_c.error_class ELSE 'worker_died' END,"     \
    "   error = CASE WHEN " SPARED " THEN tain_c.error ELSE {death} END"                        \
    " WHERE tain_c.source = {source} AND tain_c.key = ANY (ARRAY(SELECT key FROM tain_l))"      \
    " RETURNING tain_c.key AS tain_key, (tain_c.state = 'done') AS over,"                       \
    "   COALESCE(tain_c.next_try_at - {now}, 0) AS wait"                                        \
    ")"                                                                                         \
    "UPDATE {table} SET {status} = (CASE WHEN tain_s.over THEN {failed} ELSE {pending}"         \
    "   END)::{status_type}{since_none} FROM tain_s"                                            \
    " WHERE {name}.{key} = ANY (ARRAY(SELECT {key_of_claim} FROM tain_s))"                      \
    "   AND {name}.{key} = {key_of_claim} AND {name}.{status} = {busy}"                         \
    " RETURNING {name}.{key}::text, tain_s.over::int, tain_s.wait"

#define STALE                                                           \
    "SELECT key FROM claims WHERE source = {source} AND state = 'held'" \
    " AND {lapsed} ORDER BY lease_until LIMIT $1"

#define UNCLAIMED                                                               \
    "NOT EXISTS (SELECT 1 FROM claims AS tain_x WHERE tain_x.source = {source}" \
    "            AND tain_x.key = {name}.{key}::text AND tain_x.state = 'held')"

/* $1: how many, $2: behind which key. */
#define BUSY                                                                \
    "SELECT {name}.{key}::text FROM {table}"                                \
    " WHERE {name}.{status} = {busy} AND {stale}{key_there} AND " UNCLAIMED \
    "   AND ($2::text IS NULL OR {name}.{key} > $2::text::{key_type})"      \
    " ORDER BY {name}.{key} LIMIT $1"

/* $1: the key, $2: what was said. Whatever is newer than what was refused stays. */
#define SWEEP_REFUSED                                                                           \
    "INSERT INTO claims AS tain_c (source, key, token, state, lease_until, error_class, error," \
    "                              updated_at)"                                                 \
    " VALUES ({source}, $1, 1, 'held', {now} + {refused}, 'refused', $2, {now})"                \
    " ON CONFLICT (source, key) DO UPDATE SET token = tain_c.token + 1, state = 'held',"        \
    "   holder = NULL, lease_until = excluded.lease_until, next_try_at = NULL,"                 \
    "   error_class = 'refused', error = excluded.error, updated_at = excluded.updated_at"      \
    " WHERE tain_c.state <> 'held' OR tain_c.lease_until < {now} - {grace}"                     \
    "   OR tain_c.updated_at > {now} + {slack}"

/* A filter that is asked of these rows only: a condition beside it may be looked at later. */
#define GUARDED(which) "CASE WHEN " which " THEN {filter} ELSE FALSE END"
#define OF_KEY "{name}.{key} = $2::text::{key_type}"
#define BETWEEN "({name}.{key} >= $2::text::{key_type} AND {name}.{key} <= $3::text::{key_type})"

/* A row without a claim may get one in this very moment: its claim has the last word. */
#define ORPHANS(filter)                                                                      \
    "WITH tain_b AS MATERIALIZED ("                                                          \
    " SELECT {name}.{key}::text AS key FROM {table}"                                         \
    " WHERE {name}.{status} = {busy} AND {stale}{key_there} AND " filter "   AND " UNCLAIMED \
    " LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED"                                                \
    "), tain_s AS ("                                                                         \
    " INSERT INTO claims AS tain_c (source, key, token, state, updated_at)"                  \
    " SELECT {source}, key, 1, 'free', {now} FROM tain_b ORDER BY key"                       \
    " ON CONFLICT (source, key) DO UPDATE SET token = tain_c.token + 1, state = 'free',"     \
    "   holder = NULL, lease_until = NULL, next_try_at = NULL, outcome = NULL,"              \
    "   updated_at = excluded.updated_at"                                                    \
    " WHERE tain_c.state <> 'held' RETURNING tain_c.key AS tain_key"                         \
    ")"                                                                                      \
    "UPDATE {table} SET {status} = {pending}{since_none} FROM tain_s"                        \
    " WHERE {name}.{key} = ANY (ARRAY(SELECT {key_of_claim} FROM tain_s))"                   \
    "   AND {name}.{key} = {key_of_claim} AND {name}.{status} = {busy} AND {stale}"          \
    " RETURNING {name}.{key}::text"

#define PENDING(what, filter)                                                        \
    "SELECT {name}.{key}::text" what " FROM {table}"                                 \
    " WHERE {name}.{status} = {pending} AND " filter " AND NOT {waiting}{key_there}" \
    " ORDER BY {name}.{key} LIMIT $1"

#define UNFILTERED                                                                        \
    "SELECT {name}.{key}::text FROM {table} WHERE {name}.{status} = {pending}{key_there}" \
    "   AND ($2::text IS NULL OR {name}.{key} > $2::text::{key_type})"                    \
    " ORDER BY {name}.{key} LIMIT $1"

/* $1: how old, $2: how many. */
#define OLD                                                                    \
    " SELECT key FROM claims WHERE source = {source} AND outcome = 'no_match'" \
    "   AND state = 'done' AND updated_at < {now} - $1"
#define RECHECK(more)                                                                      \
    "WITH tain_l AS MATERIALIZED (" OLD more                                               \
    " ORDER BY updated_at LIMIT $2 FOR UPDATE SKIP LOCKED"                                 \
    "), tain_s AS ("                                                                       \
    " UPDATE claims AS tain_c SET token = tain_c.token + 1, state = 'free', attempts = 0," \
    "   outcome = NULL, error_class = NULL, error = NULL, updated_at = {now}"              \
    " WHERE tain_c.source = {source} AND tain_c.key = ANY (ARRAY(SELECT key FROM tain_l))" \
    " RETURNING tain_c.key AS tain_key"                                                    \
    ")"                                                                                    \
    "UPDATE {table} SET {status} = {pending}{since_none} FROM tain_s"                      \
    " WHERE {name}.{key} = ANY (ARRAY(SELECT {key_of_claim} FROM tain_s))"                 \
    "   AND {name}.{key} = {key_of_claim} AND {name}.{status} = {no_match} AND {filter}"   \
    " RETURNING {name}.{key}::text"

/* $1: the key, $2: what was said. Its time comes again when it is as old again. */
#define RECHECK_REFUSED                                                         \
    "UPDATE claims SET updated_at = {now}, error_class = 'refused', error = $2" \
    " WHERE source = {source} AND key = $1 AND outcome = 'no_match' AND state = 'done'"

#define WAITING                                                                                \
    "SELECT COUNT(*) FILTER (WHERE tain_s.at > {now}),"                                        \
    "       {now} - MIN(tain_s.at) FILTER (WHERE tain_s.at <= {now})"                          \
    " FROM (SELECT key AS tain_key, next_try_at AS at FROM claims"                             \
    "       WHERE source = {source} AND state = 'free' AND next_try_at IS NOT NULL) AS tain_s" \
    " WHERE EXISTS (SELECT 1 FROM {table} WHERE {name}.{key} = {key_of_claim}"                 \
    "               AND {name}.{status} = {pending} AND {filter})"

const struct source_template source_templates_pg[SRC_N] = {
    [SRC_CLAIM] = {"claim", CLAIM},
    [SRC_FINALIZE] = {"finalize", FINALIZE},
    [SRC_RELEASE] = {"release", RELEASE},
    [SRC_SWEEP] = {"sweep", SWEEP("")},
    [SRC_SWEEP_ONE] = {"sweep", SWEEP(" AND key = $4")},
    [SRC_STALE] = {"sweep", STALE},
    [SRC_ORPHANS] = {"sweep of rows without a claim", ORPHANS("{filter}")},
    [SRC_ORPHANS_ONE] = {"sweep of rows without a claim", ORPHANS(OF_KEY " AND " GUARDED(OF_KEY))},
    [SRC_BUSY] = {"sweep of rows without a claim", BUSY},
    [SRC_SWEEP_REFUSED] = {"sweep", SWEEP_REFUSED},
    [SRC_PENDING] = {"pending", PENDING("", "{filter}")},
    [SRC_PENDING_AFTER] = {"pending",
                           PENDING("", "{name}.{key} > $2::text::{key_type} AND {filter}")},
    [SRC_PENDING_BETWEEN] = {"pending", PENDING("", BETWEEN " AND " GUARDED(BETWEEN))},
    [SRC_UNFILTERED] = {"pending", UNFILTERED},
    [SRC_PEEK] = {"pending", PENDING(", {row}::text", "{filter}")},
    [SRC_RECHECK] = {"recheck", RECHECK("")},
    [SRC_RECHECK_ONE] = {"recheck", RECHECK(" AND key = $3")},
    [SRC_OLD] = {"recheck", OLD " ORDER BY updated_at LIMIT $2"},
    [SRC_RECHECK_REFUSED] = {"recheck", RECHECK_REFUSED},
    [SRC_COUNT] = {"count", "SELECT {name}.{status}::text, COUNT(*) FROM {table} WHERE {filter}"
                            " GROUP BY 1"},
    [SRC_WAITING] = {"count", WAITING},
};
