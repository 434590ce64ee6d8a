/* Statements of a table source on SQLite, which has no modifying CTEs: a few in a row under BEGIN
 * IMMEDIATE, where nobody else writes. Run once per row of a batch (db_each). */
#include "store/claims_int.h"

/* ?1 key, ?2 number in the batch. */
#define CLAIM                                                                      \
    "UPDATE {table} SET {status} = {busy}{since_now}"                              \
    " WHERE {name}.{key} = CAST(?1 AS {key_type}) AND {name}.{status} = {pending}" \
    "   AND {filter} AND NOT {waiting}"                                            \
    " RETURNING ?2, CAST({name}.{key} AS TEXT), {row}"

/* ?1 key, ?2 number, ?3 holder, ?4 lease. */
#define GRANT                                                                                   \
    "INSERT INTO claims (source, key, token, state, holder, lease_until, attempts, updated_at)" \
    " VALUES ({source}, ?1, 1, 'held', ?3, {now} + ?4, 1, {now})"                               \
    " ON CONFLICT (source, key) DO UPDATE SET token = token + 1, state = 'held',"               \
    "   holder = excluded.holder, lease_until = excluded.lease_until, next_try_at = NULL,"      \
    "   attempts = CASE WHEN state = 'done' THEN 1 ELSE attempts + 1 END,"                      \
    "   outcome = NULL, updated_at = excluded.updated_at"                                       \
    " RETURNING ?2, token, attempts"

/* Pending and due is what the same batch has named twice. */
#define LOST                                                                                  \
    "SELECT ?2 FROM {table} WHERE {name}.{key} = CAST(?1 AS {key_type})"                      \
    " AND ({name}.{status} = {busy} OR ({name}.{status} = {pending} AND NOT {waiting})) AND " \
    "{filter}"

/* ?1 key, ?2 token, ?3 outcome, ?4 class, ?5 error, ?6 number. */
#define FENCE                                                                            \
    "UPDATE claims SET state = 'done', outcome = ?3, holder = NULL, lease_until = NULL," \
    "  next_try_at = NULL, error_class = ?4, error = ?5, updated_at = {now}"             \
    " WHERE source = {source} AND key = ?1 AND token = ?2 AND state = 'held' RETURNING ?6"

/* ?1 key, ?2 outcome, ?3 values, ?4 number. */
#define FINALIZE                                                                               \
    "UPDATE {table} SET {status} = CASE ?2 WHEN 'match' THEN {match}"                          \
    "  WHEN 'no_match' THEN {no_match} ELSE {failed} END{since_none}{sets}"                    \
    " WHERE {name}.{key} = CAST(?1 AS {key_type}) AND {name}.{status} = {busy} AND ?3 IS NOT " \
    "NULL RETURNING ?4"

/* ?1 key, ?2 token, ?3 spent, ?4 wait, ?5 class, ?6 error, ?7 number. */
#define FENCE_RELEASE                                                      \
    "UPDATE claims SET state = 'free', holder = NULL, lease_until = NULL," \
    "  attempts = MAX(attempts - 1 + ?3, 0),"                              \
    "  next_try_at = CASE WHEN ?4 > 0 THEN {now} + ?4 END,"                \
    "  error_class = ?5, error = ?6, updated_at = {now}"                   \
    " WHERE source = {source} AND key = ?1 AND token = ?2 AND state = 'held' RETURNING ?7"

/* ?1 key, ?2 number. */
#define RELEASE                                                                 \
    "UPDATE {table} SET {status} = {pending}{since_none}"                       \
    " WHERE {name}.{key} = CAST(?1 AS {key_type}) AND {name}.{status} = {busy}" \
    " RETURNING ?2, CAST({name}.{key} AS TEXT)"

#define SWEEP                                                                                   \
    "UPDATE claims SET token = token + 1, state = 'free', holder = NULL, lease_until = NULL,"   \
    "  next_try_at = NULL, updated_at = {now}"                                                  \
    " WHERE source = {source} AND key IN (SELECT key FROM claims WHERE source = {source}"       \
    "   AND state = 'held' AND (lease_until < {now} - {grace} OR updated_at > {now} + {slack})" \
    "   ORDER BY lease_until LIMIT ?1)"                                                         \
    " RETURNING key"

#define ORPHANS                                                                               \
    "SELECT CAST({name}.{key} AS TEXT) FROM {table} WHERE {name}.{status} = {busy} AND "      \
    "{stale}{key_there}"                                                                      \
    " AND NOT EXISTS (SELECT 1 FROM claims AS tain_x WHERE tain_x.source = {source}"          \
    "                 AND tain_x.key = CAST({name}.{key} AS TEXT) AND tain_x.state = 'held')" \
    " LIMIT ?1"

#define ORPHAN_FREE                                                               \
    "INSERT INTO claims (source, key, token, state, updated_at)"                  \
    " VALUES ({source}, ?1, 1, 'free', {now})"                                    \
    " ON CONFLICT (source, key) DO UPDATE SET token = token + 1, state = 'free'," \
    "   holder = NULL, lease_until = NULL, next_try_at = NULL, outcome = NULL,"   \
    "   updated_at = excluded.updated_at"

#define PENDING(more)                                                                   \
    "SELECT CAST({name}.{key} AS TEXT) FROM {table}"                                    \
    " WHERE {name}.{status} = {pending} AND {filter} AND NOT {waiting}{key_there}" more \
    " ORDER BY {name}.{key} LIMIT ?1"

#define RECHECK                                                                           \
    "UPDATE claims SET token = token + 1, state = 'free', attempts = 0, outcome = NULL,"  \
    "  error_class = NULL, error = NULL, updated_at = {now}"                              \
    " WHERE source = {source} AND key IN (SELECT key FROM claims WHERE source = {source}" \
    "   AND outcome = 'no_match' AND state = 'done' AND updated_at < {now} - ?1"          \
    "   ORDER BY updated_at LIMIT ?2)"                                                    \
    " RETURNING key"

/* ?1 key, ?2 number. */
#define RECHECK_ROW                                                                              \
    "UPDATE {table} SET {status} = {pending}{since_none}"                                        \
    " WHERE {name}.{key} = CAST(?1 AS {key_type}) AND {name}.{status} = {no_match} AND {filter}" \
    " RETURNING ?2, CAST({name}.{key} AS TEXT)"

#define WAITING                                                                                    \
    "SELECT COUNT(*) FILTER (WHERE tain_x.next_try_at > {now}),"                                   \
    "       {now} - MIN(tain_x.next_try_at) FILTER (WHERE tain_x.next_try_at <= {now})"            \
    " FROM claims AS tain_x"                                                                       \
    " WHERE tain_x.source = {source} AND tain_x.state = 'free' AND tain_x.next_try_at IS NOT NULL" \
    " AND EXISTS (SELECT 1 FROM {table} WHERE {name}.{key} = CAST(tain_x.key AS {key_type})"       \
    "             AND {name}.{status} = {pending} AND {filter})"

const struct source_template source_templates_sqlite[SRC_N] = {
    [SRC_CLAIM] = {"claim", CLAIM},
    [SRC_GRANT] = {"claim", GRANT},
    [SRC_LOST] = {"claim", LOST},
    [SRC_FENCE] = {"finalize", FENCE},
    [SRC_FINALIZE] = {"finalize", FINALIZE},
    [SRC_FENCE_RELEASE] = {"release", FENCE_RELEASE},
    [SRC_RELEASE] = {"release", RELEASE},
    [SRC_SWEEP] = {"sweep", SWEEP},
    [SRC_ORPHANS] = {"sweep of rows without a claim", ORPHANS},
    [SRC_ORPHAN_FREE] = {"sweep of rows without a claim", ORPHAN_FREE},
    [SRC_PENDING] = {"pending", PENDING("")},
    [SRC_PENDING_AFTER] = {"pending", PENDING(" AND {name}.{key} > CAST(?2 AS {key_type})")},
    [SRC_RECHECK] = {"recheck", RECHECK},
    [SRC_RECHECK_ROW] = {"recheck", RECHECK_ROW},
    [SRC_COUNT] = {"count",
                   "SELECT {name}.{status}, COUNT(*) FROM {table} WHERE {filter} GROUP BY 1"},
    [SRC_WAITING] = {"count", WAITING},
};
