/* Statements of a table source on PostgreSQL: one each, so that token and status change together.
 * Token and status are in two tables, and after a lock wait only the locked row is looked at again:
 * so the owner's UPDATE decides a claim and the token rides on it, and every later write begins
 * with the token's own row. Candidates are locked before, in the order of the key, and what others
 * hold is passed over, so that batches do not wait for each other in a circle.
 *
 * Plans are kept while tables grow, so each table is asked for an array of its keys, which goes by
 * the key's index however many rows there were. The partial indexes of held claims and of busy rows
 * would fit, too: but rows come and go there all the time, and they are full of what is gone.
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

/* $1: how many at most. */
#define SWEEP                                                                               \
    "WITH tain_l AS MATERIALIZED ("                                                         \
    " SELECT key FROM claims WHERE source = {source} AND state = 'held'"                    \
    "   AND (lease_until < {now} - {grace} OR updated_at > {now} + {slack})"                \
    " ORDER BY lease_until LIMIT $1 FOR UPDATE SKIP LOCKED"                                 \
    "), tain_s AS ("                                                                        \
    " UPDATE claims AS tain_c SET token = tain_c.token + 1, state = 'free', holder = NULL," \
    "   lease_until = NULL, next_try_at = NULL, updated_at = {now}"                         \
    " WHERE tain_c.source = {source} AND tain_c.key = ANY (ARRAY(SELECT key FROM tain_l))"  \
    " RETURNING tain_c.key AS tain_key"                                                     \
    ")"                                                                                     \
    "UPDATE {table} SET {status} = {pending}{since_none} FROM tain_s"                       \
    " WHERE {name}.{key} = ANY (ARRAY(SELECT {key_of_claim} FROM tain_s))"                  \
    "   AND {name}.{key} = {key_of_claim} AND {name}.{status} = {busy}"                     \
    " RETURNING {name}.{key}::text"

/* A row without a claim may get one in this very moment: its claim has the last word. */
#define ORPHANS                                                                          \
    "WITH tain_b AS MATERIALIZED ("                                                      \
    " SELECT {name}.{key}::text AS key FROM {table}"                                     \
    " WHERE {name}.{status} = {busy} AND {stale}{key_there} AND {filter}"                \
    "   AND NOT EXISTS (SELECT 1 FROM claims AS tain_x WHERE tain_x.source = {source}"   \
    "                   AND tain_x.key = {name}.{key}::text AND tain_x.state = 'held')"  \
    " LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED"                                            \
    "), tain_s AS ("                                                                     \
    " INSERT INTO claims AS tain_c (source, key, token, state, updated_at)"              \
    " SELECT {source}, key, 1, 'free', {now} FROM tain_b ORDER BY key"                   \
    " ON CONFLICT (source, key) DO UPDATE SET token = tain_c.token + 1, state = 'free'," \
    "   holder = NULL, lease_until = NULL, next_try_at = NULL, outcome = NULL,"          \
    "   updated_at = excluded.updated_at"                                                \
    " WHERE tain_c.state <> 'held' RETURNING tain_c.key AS tain_key"                     \
    ")"                                                                                  \
    "UPDATE {table} SET {status} = {pending}{since_none} FROM tain_s"                    \
    " WHERE {name}.{key} = ANY (ARRAY(SELECT {key_of_claim} FROM tain_s))"               \
    "   AND {name}.{key} = {key_of_claim} AND {name}.{status} = {busy} AND {stale}"      \
    " RETURNING {name}.{key}::text"

#define PENDING(what, more)                                                             \
    "SELECT {name}.{key}::text" what " FROM {table}"                                    \
    " WHERE {name}.{status} = {pending} AND {filter} AND NOT {waiting}{key_there}" more \
    " ORDER BY {name}.{key} LIMIT $1"

/* $1: how old, $2: how many. */
#define RECHECK                                                                            \
    "WITH tain_l AS MATERIALIZED ("                                                        \
    " SELECT key FROM claims WHERE source = {source} AND outcome = 'no_match'"             \
    "   AND state = 'done' AND updated_at < {now} - $1"                                    \
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
    [SRC_SWEEP] = {"sweep", SWEEP},
    [SRC_ORPHANS] = {"sweep of rows without a claim", ORPHANS},
    [SRC_PENDING] = {"pending", PENDING("", "")},
    [SRC_PENDING_AFTER] = {"pending", PENDING("", " AND {name}.{key} > $2::text::{key_type}")},
    [SRC_PEEK] = {"pending", PENDING(", {row}::text", "")},
    [SRC_RECHECK] = {"recheck", RECHECK},
    [SRC_COUNT] = {"count", "SELECT {name}.{status}::text, COUNT(*) FROM {table} WHERE {filter}"
                            " GROUP BY 1"},
    [SRC_WAITING] = {"count", WAITING},
};
