/* Statements of a table source on SQLite, which has no modifying CTEs: a few per row under BEGIN
 * IMMEDIATE, where nobody else writes. Those for each row of a batch tell what they did by the
 * count of rows they touched; RETURNING would make and throw away a table each time. ?1 is the key.
 */
#include "store/claims_int.h"

#define OF_KEY " WHERE {name}.{key} = CAST(?1 AS {key_type})"

#define CLAIM                                                                                   \
    "UPDATE {table} SET {status} = {busy}{since_now}" OF_KEY " AND {name}.{status} = {pending}" \
    "   AND {filter} AND NOT {waiting}"

/* ?2 holder, ?3 lease. */
#define GRANT                                                                                   \
    "INSERT INTO claims (source, key, token, state, holder, lease_until, attempts, updated_at)" \
    " SELECT {source}, CAST({name}.{key} AS TEXT), 1, 'held', ?2, {now} + ?3, 1, {now}"         \
    " FROM {table}" OF_KEY " ON CONFLICT (source, key) DO UPDATE SET token = token + 1,"        \
    "   state = 'held', holder = excluded.holder, lease_until = excluded.lease_until,"          \
    "   attempts = CASE WHEN state = 'done' THEN 1 ELSE attempts + 1 END, next_try_at = NULL,"  \
    "   outcome = NULL, updated_at = excluded.updated_at"

#define WON                                                                                      \
    "SELECT tain_c.key, tain_c.token, tain_c.attempts, {row} FROM {table} JOIN claims AS tain_c" \
    " ON tain_c.source = {source} AND tain_c.key = CAST({name}.{key} AS TEXT)" OF_KEY

/* Nothing is pending and due here that was not won. */
#define LOST "SELECT 1 FROM {table}" OF_KEY " AND {name}.{status} = {busy} AND {filter}"

/* ?2 token, ?3 outcome, ?4 class, ?5 error. */
#define FENCE                                                                            \
    "UPDATE claims SET state = 'done', outcome = ?3, holder = NULL, lease_until = NULL," \
    "  next_try_at = NULL, error_class = ?4, error = ?5, updated_at = {now}"             \
    " WHERE source = {source} AND key = ?1 AND token = ?2 AND state = 'held'"

/* ?2 outcome, ?3 values. */
#define FINALIZE                                                                   \
    "UPDATE {table} SET {status} = CASE ?2 WHEN 'match' THEN {match}"              \
    "  WHEN 'no_match' THEN {no_match} ELSE {failed} END{since_none}{sets}" OF_KEY \
    " AND {name}.{status} = {busy} AND ?3 IS NOT NULL"

/* ?2 token, ?3 spent, ?4 wait, ?5 class, ?6 error. */
#define FENCE_RELEASE                                                      \
    "UPDATE claims SET state = 'free', holder = NULL, lease_until = NULL," \
    "  attempts = MAX(attempts - 1 + ?3, 0),"                              \
    "  next_try_at = CASE WHEN ?4 > 0 THEN {now} + ?4 END,"                \
    "  error_class = ?5, error = ?6, updated_at = {now}"                   \
    " WHERE source = {source} AND key = ?1 AND token = ?2 AND state = 'held'"

#define RELEASE \
    "UPDATE {table} SET {status} = {pending}{since_none}" OF_KEY " AND {name}.{status} = {busy}"

/* A claim made before the time that is forgiven, and a death too many. */
#define SPARED "tain_c.updated_at <= {now} - ?3"
#define OVER "(tain_c.attempts >= ?2 AND NOT " SPARED ")"

/* ?1 how many at most, ?2 attempts, ?3 how long ago is forgiven. */
#define SWEEP(more)                                                                       \
    "UPDATE claims AS tain_c SET token = token + 1, holder = NULL, lease_until = NULL,"   \
    "  updated_at = {now}, state = CASE WHEN " OVER " THEN 'done' ELSE 'free' END,"       \
    "  outcome = CASE WHEN " OVER " THEN 'failed' END,"                                   \
    "  attempts = MAX(attempts - CASE WHEN " SPARED " THEN 1 ELSE 0 END, 0),"             \
    "  next_try_at = CASE WHEN attempts > 1 AND NOT " OVER " AND NOT " SPARED             \
    "    THEN {now} + abs(random() % {death_wait}) END,"                                  \
    "  error_class = CASE WHEN " SPARED " THEN error_class ELSE 'worker_died' END,"       \
    "  error = CASE WHEN " SPARED " THEN error ELSE {death} END"                          \
    " WHERE source = {source} AND key IN (SELECT key FROM claims WHERE source = {source}" \
    "   AND state = 'held' AND {lapsed}" more "   ORDER BY lease_until LIMIT ?1)"         \
    " RETURNING key, state = 'done', COALESCE(next_try_at - {now}, 0)"

#define STALE                                                                        \
    "SELECT key FROM claims WHERE source = {source} AND state = 'held' AND {lapsed}" \
    " ORDER BY lease_until LIMIT ?1"

#define UNCLAIMED                                                               \
    "NOT EXISTS (SELECT 1 FROM claims AS tain_x WHERE tain_x.source = {source}" \
    "            AND tain_x.key = CAST({name}.{key} AS TEXT) AND tain_x.state = 'held')"

#define ORPHANS(filter)                                                                  \
    "SELECT CAST({name}.{key} AS TEXT) FROM {table} WHERE {name}.{status} = {busy} AND " \
    "{stale}{key_there} AND " filter " AND " UNCLAIMED " LIMIT ?1"

/* ?1 how many, ?2 behind which key. */
#define BUSY                                                                             \
    "SELECT CAST({name}.{key} AS TEXT) FROM {table} WHERE {name}.{status} = {busy} AND " \
    "{stale}{key_there} AND " UNCLAIMED                                                  \
    " AND (?2 IS NULL OR {name}.{key} > CAST(?2 AS {key_type}))"                         \
    " ORDER BY {name}.{key} LIMIT ?1"

/* ?1 the key, ?2 what was said. Whatever is newer than what was refused stays. */
#define SWEEP_REFUSED                                                                             \
    "INSERT INTO claims (source, key, token, state, lease_until, error_class, error, updated_at)" \
    " VALUES ({source}, ?1, 1, 'held', {now} + {refused}, 'refused', ?2, {now})"                  \
    " ON CONFLICT (source, key) DO UPDATE SET token = token + 1, state = 'held',"                 \
    "   holder = NULL, lease_until = excluded.lease_until, next_try_at = NULL,"                   \
    "   error_class = 'refused', error = excluded.error, updated_at = excluded.updated_at"        \
    " WHERE state <> 'held' OR lease_until < {now} - {grace} OR updated_at > {now} + {slack}"

/* A filter that is asked of these rows only: a condition beside it may be looked at later. */
#define GUARDED(which) "CASE WHEN " which " THEN {filter} ELSE 0 END"
#define ONE_KEY "{name}.{key} = CAST(?2 AS {key_type})"
#define BETWEEN \
    "({name}.{key} >= CAST(?2 AS {key_type}) AND {name}.{key} <= CAST(?3 AS {key_type}))"

#define ORPHAN_FREE                                                               \
    "INSERT INTO claims (source, key, token, state, updated_at)"                  \
    " VALUES ({source}, ?1, 1, 'free', {now})"                                    \
    " ON CONFLICT (source, key) DO UPDATE SET token = token + 1, state = 'free'," \
    "   holder = NULL, lease_until = NULL, next_try_at = NULL, outcome = NULL,"   \
    "   updated_at = excluded.updated_at"

#define PENDING(what, filter)                                                        \
    "SELECT CAST({name}.{key} AS TEXT)" what " FROM {table}"                         \
    " WHERE {name}.{status} = {pending} AND " filter " AND NOT {waiting}{key_there}" \
    " ORDER BY {name}.{key} LIMIT ?1"

#define UNFILTERED                                                                                \
    "SELECT CAST({name}.{key} AS TEXT) FROM {table} WHERE {name}.{status} = {pending}{key_there}" \
    "   AND (?2 IS NULL OR {name}.{key} > CAST(?2 AS {key_type}))"                                \
    " ORDER BY {name}.{key} LIMIT ?1"

/* ?1: how old, ?2: how many. */
#define OLD                                                                   \
    "SELECT key FROM claims WHERE source = {source} AND outcome = 'no_match'" \
    "  AND state = 'done' AND updated_at < {now} - ?1"
#define RECHECK(more)                                                                    \
    "UPDATE claims SET token = token + 1, state = 'free', attempts = 0, outcome = NULL," \
    "  error_class = NULL, error = NULL, updated_at = {now}"                             \
    " WHERE source = {source} AND key IN (" OLD more " ORDER BY updated_at LIMIT ?2)"    \
    " RETURNING key"

/* ?1: the key, ?2: what was said. Its time comes again when it is as old again. */
#define RECHECK_REFUSED                                                         \
    "UPDATE claims SET updated_at = {now}, error_class = 'refused', error = ?2" \
    " WHERE source = {source} AND key = ?1 AND outcome = 'no_match' AND state = 'done'"

#define RECHECK_ROW                                              \
    "UPDATE {table} SET {status} = {pending}{since_none}" OF_KEY \
    " AND {name}.{status} = {no_match} AND {filter}"

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
    [SRC_WON] = {"claim", WON},
    [SRC_LOST] = {"claim", LOST},
    [SRC_FENCE] = {"finalize", FENCE},
    [SRC_FINALIZE] = {"finalize", FINALIZE},
    [SRC_FENCE_RELEASE] = {"release", FENCE_RELEASE},
    [SRC_RELEASE] = {"release", RELEASE},
    [SRC_SWEEP] = {"sweep", SWEEP("")},
    [SRC_SWEEP_ONE] = {"sweep", SWEEP(" AND key = ?4")},
    [SRC_STALE] = {"sweep", STALE},
    [SRC_ORPHANS] = {"sweep of rows without a claim", ORPHANS("{filter}")},
    [SRC_ORPHANS_ONE] = {"sweep of rows without a claim",
                         ORPHANS(ONE_KEY " AND " GUARDED(ONE_KEY))},
    [SRC_BUSY] = {"sweep of rows without a claim", BUSY},
    [SRC_SWEEP_REFUSED] = {"sweep", SWEEP_REFUSED},
    [SRC_ORPHAN_FREE] = {"sweep of rows without a claim", ORPHAN_FREE},
    [SRC_PENDING] = {"pending", PENDING("", "{filter}")},
    [SRC_PENDING_AFTER] = {"pending",
                           PENDING("", "{name}.{key} > CAST(?2 AS {key_type}) AND {filter}")},
    [SRC_PENDING_BETWEEN] = {"pending", PENDING("", BETWEEN " AND " GUARDED(BETWEEN))},
    [SRC_UNFILTERED] = {"pending", UNFILTERED},
    [SRC_PEEK] = {"pending", PENDING(", {row}", "{filter}")},
    [SRC_RECHECK] = {"recheck", RECHECK("")},
    [SRC_RECHECK_ONE] = {"recheck", RECHECK(" AND key = ?3")},
    [SRC_OLD] = {"recheck", OLD " ORDER BY updated_at LIMIT ?2"},
    [SRC_RECHECK_REFUSED] = {"recheck", RECHECK_REFUSED},
    [SRC_RECHECK_ROW] = {"recheck", RECHECK_ROW},
    [SRC_COUNT] = {"count",
                   "SELECT {name}.{status}, COUNT(*) FROM {table} WHERE {filter} GROUP BY 1"},
    [SRC_WAITING] = {"count", WAITING},
};
