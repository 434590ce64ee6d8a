/* The statements that name the columns of tasks. A pick walks one of the partial
 * indexes of what is pending and stops at the first row that nobody holds: whether one does is
 * asked row by row (a subquery in an expression is never turned into a join), so that the cost is
 * that of the rows passed over, however long the lane is. */
#include "store/links_int.h"

#include <string.h>

#define LINK_SQL_MAX 16384

#define ROW(ID, name, provider, stamp, site, result, again, none) \
    [LINK_##ID] = {#name,                                         \
                   "links:" #name,                                \
                   #name "_status",                               \
                   #name "_error",                                \
                   #name "_" stamp,                               \
                   stamp,                                         \
                   site,                                          \
                   provider,                                      \
                   result,                                        \
                   again,                                         \
                   true,                                          \
                   none},

const struct link_task_row link_tasks[LINK_TASKS] = {
    [LINK_REVERSE] = {.name = "reverse_lookup",
                      .source = "links:reverse_lookup",
                      .status = "reverse_lookup_status",
                      .error = "reverse_lookup_error",
                      .can_be_none = true},
    LINK_TASK_TABLE(ROW)};

#define NOW "(SELECT tain_now_ms())"
/* Somebody waits, and not in the future. */
#define WAITS "p.waiting_since > " NOW " - {waits} AND p.waiting_since <= " NOW " + {slack}"
#define ASKED "p.submitter IS NOT NULL AND p.rescans = 0"
#define FREE_OF(source)                                                    \
    "COALESCE((SELECT CASE WHEN c.state = 'held' OR (c.next_try_at > " NOW \
    " AND c.updated_at <= " NOW                                            \
    " + {slack}) THEN 1 ELSE 0 END FROM claims c WHERE c.source = " source \
    " AND c.key = CAST(p.link_id AS TEXT)), 0) = 0"
#define FREE FREE_OF("{source}")
#define FREE_REVERSE FREE_OF("'links:reverse_lookup'")
/* The number of the item in the key of a discussion on HN; NULL: there is none. */
#define HN_KEY "'news.ycombinator.com/item?id='"
#define HN_NUMBER "SUBSTR(l.url_key, LENGTH(" HN_KEY ") + 1)"
#define HN_ITEM                                                                             \
    "CASE WHEN l.url_key LIKE " HN_KEY " || '%' AND LENGTH(" HN_NUMBER ") BETWEEN 1 AND 15" \
    " AND LTRIM(" HN_NUMBER ", '0123456789') = '' THEN CAST(" HN_NUMBER " AS BIGINT) END"
#define PICK \
    "SELECT p.link_id, p.submitter FROM link_processing p WHERE p.{status} = 'pending' AND {mine}"
#define AHEAD                                                                                 \
    "SELECT COUNT(*) FROM (SELECT 1 FROM link_processing p WHERE p.{status} = 'pending' AND " \
    "{mine}"
#define AT_MOST " LIMIT {ahead}) AS t"
#define RANK(t)                                                                          \
    "CASE " t ".{status} WHEN 'completed' THEN 5 WHEN 'pending' THEN 4 WHEN 'not_found'" \
    " THEN 3 WHEN 'failed' THEN 2 WHEN 'skipped' THEN 1 ELSE 0 END"

static const char *const templates[LINK_STMTS] = {
    [LINK_PICK_WAITING] =
        PICK " AND " WAITS " AND " FREE
             " ORDER BY CASE WHEN COALESCE(p.submitter, '') > $2 THEN 0 ELSE 1 END,"
             " COALESCE(p.submitter, ''), p.waiting_since, p.link_id LIMIT 1",
    [LINK_PICK_ASKED] = PICK " AND " ASKED " AND p.submitter > $2 AND " FREE
                             " ORDER BY p.submitter, p.created_at LIMIT 1",
    [LINK_PICK_OLDEST] = PICK " AND p.created_at >= $2 AND " FREE " ORDER BY p.created_at LIMIT 1",
    [LINK_JOB] = "SELECT l.url, l.url_key, l.title, {known}, p.reverse_lookup_site,"
                 " CASE WHEN p.rescans > 0 THEN 1 ELSE 0 END"
                 " FROM link_processing p JOIN links l ON l.id = p.link_id"
                 " WHERE p.link_id = $1 AND p.{status} = 'pending'",
    [LINK_FINISH] = "UPDATE link_processing SET {status} = $2, {error} = $3{stamps},"
                    " updated_at = tain_now_ms() WHERE link_id = $1 AND $4 IS NOT NULL",
    [LINK_RESULT] = "UPDATE links SET title = COALESCE(NULLIF(title, ''), $2),"
                    " description = COALESCE(NULLIF(description, ''), $3){set_result}"
                    " WHERE id = $1 AND (COALESCE(title, '') = '' AND CAST($2 AS TEXT) IS NOT NULL"
                    " OR COALESCE(description, '') = '' AND CAST($3 AS TEXT) IS NOT NULL"
                    "{or_result})",
    [LINK_RETRY] = "UPDATE link_processing SET {status} = 'pending', {error} = NULL,"
                   " updated_at = tain_now_ms() WHERE link_id = $1 AND {status} = 'failed'",
    [LINK_SKIP_ONE] = "UPDATE link_processing SET {status} = 'skipped', {error} = $2,"
                      " updated_at = tain_now_ms() WHERE link_id = $1 AND {status} = 'pending'",
    [LINK_SKIP_SOME] =
        "UPDATE link_processing SET {status} = 'skipped', {error} = $1,"
        " updated_at = tain_now_ms() WHERE {status} = 'pending' AND link_id IN ("
        "SELECT p.link_id FROM link_processing p WHERE p.{status} = 'pending' AND " FREE
        " ORDER BY p.created_at LIMIT $2)",
    [LINK_UNSKIP_SOME] = "UPDATE link_processing SET {status} = 'pending', {error} = NULL,"
                         " updated_at = tain_now_ms() WHERE {status} = 'skipped' AND link_id IN ("
                         "SELECT p.link_id FROM link_processing p WHERE p.{status} = 'skipped'"
                         " AND p.{error} = $1 ORDER BY p.created_at LIMIT $2)",
    [LINK_AHEAD_WAITING] = AHEAD " AND " WAITS " AND p.waiting_since < $2" AT_MOST,
    [LINK_AHEAD_ASKED] =
        AHEAD " AND " ASKED " AND p.created_at < $2 AND NOT COALESCE(" WAITS ", false)" AT_MOST,
    [LINK_AHEAD_OTHERS] = AHEAD " AND p.created_at >= $2 AND p.created_at < $3 AND NOT (" ASKED
                                ") AND NOT COALESCE(" WAITS ", false)" AT_MOST,
    [LINK_MERGE] = "UPDATE link_processing AS k SET {status} = g.{status}, {error} = g.{error}"
                   "{stamp_of_g} FROM link_processing AS g WHERE k.link_id = $1 AND g.link_id = $2"
                   " AND " RANK("g") " > " RANK("k"),
};

static const char *const all_templates[LINK_ALL_STMTS] = {
    [LINK_PROCESSING] =
        "SELECT {columns} p.reverse_lookup_target_id, p.created_at, p.updated_at,"
        " p.submitter, CASE WHEN " WAITS " THEN p.waiting_since END, p.rescans,"
        " p.reverse_lookup_site, " NOW " FROM link_processing p WHERE p.link_id = $1",
    [LINK_WANT] = "UPDATE link_processing AS p SET submitter = COALESCE(p.submitter, $2),"
                  " waiting_since = CASE WHEN $3 = 0 OR (" WAITS ") THEN p.waiting_since"
                  " ELSE tain_now_ms() END WHERE p.link_id = $1 AND {any_pending}"
                  " AND ($2 IS NOT NULL OR NOT COALESCE(" WAITS ", false))",
    [LINK_SETTLE] = "UPDATE link_processing AS p SET waiting_since = NULL WHERE p.link_id = $1"
                    " AND p.waiting_since IS NOT NULL AND NOT {any_pending}",
    [LINK_RESCAN] =
        "UPDATE link_processing AS p SET {again}"
        " rescans = p.rescans + CASE WHEN {again_pending} THEN 0 ELSE 1 END,"
        " rescan_at = CASE WHEN p.created_at + 86400000 > " NOW " THEN p.created_at + 86400000"
        " WHEN p.created_at + 604800000 > " NOW " THEN p.created_at + 604800000"
        " WHEN p.created_at + 2592000000 > " NOW " THEN p.created_at + 2592000000 END,"
        " updated_at = tain_now_ms()"
        " WHERE p.link_id IN (SELECT d.link_id FROM link_processing d WHERE d.rescan_at <= " NOW
        " ORDER BY d.rescan_at LIMIT $1)",
    [LINK_LIST] =
        "SELECT l.id, l.url, l.url_key, l.title, l.description, l.summary, l.source,"
        " l.submitted_by, l.parent_link_id, l.created_at,"
        " (SELECT COUNT(*) FROM external_discussions x WHERE x.link_id = l.id"
        "  AND x.platform = 'reddit'),"
        " (SELECT COALESCE(SUM(x.num_comments), 0) FROM external_discussions x"
        "  WHERE x.link_id = l.id AND x.platform = 'reddit'),"
        " (SELECT COUNT(*) FROM external_discussions x WHERE x.link_id = l.id"
        "  AND x.platform = 'hackernews'),"
        " (SELECT COALESCE(SUM(x.num_comments), 0) FROM external_discussions x"
        "  WHERE x.link_id = l.id AND x.platform = 'hackernews'),"
        " (SELECT COUNT(*) FROM link_processing p WHERE p.link_id = l.id AND {any_pending})"
        " FROM links l WHERE l.id < $1 AND l.source NOT IN ('auto-parent', 'discussion-ref')"
        " ORDER BY l.id DESC LIMIT $2",
    /* Whoever comes now is among the latest; what the archive does not know is not looked at for
     * ever. */
    [LINK_PICK_KNOWN] =
        "SELECT t.link_id FROM (SELECT p.link_id, p.created_at, " HN_ITEM " AS item"
        " FROM (SELECT link_id, created_at FROM link_processing"
        " WHERE reverse_lookup_status = 'pending' AND reverse_lookup_site = 'hackernews'"
        " ORDER BY created_at DESC LIMIT $1) AS p JOIN links l ON l.id = p.link_id"
        " WHERE " FREE_REVERSE ") AS t"
        " JOIN items i ON i.id = t.item AND NOT i.dead AND NOT i.deleted"
        " JOIN items r ON r.id = CASE WHEN i.type IN ('story', 'job', 'poll') THEN i.id"
        " ELSE i.story_id END AND r.type IN ('story', 'job', 'poll') AND NOT r.dead"
        " AND NOT r.deleted ORDER BY t.created_at DESC, t.link_id LIMIT 1",
    [LINK_COUNT] = "SELECT {statuses} COUNT(*),"
                   " MIN(CASE WHEN p.rescans = 0 THEN p.created_at END), " NOW ","
                   " COUNT(CASE WHEN " WAITS " THEN 1 END)"
                   " FROM link_processing p GROUP BY {status_list}",
    [LINK_BACKFILL] =
        "INSERT INTO link_processing (link_id, {done_columns}reverse_lookup_status,"
        " reverse_lookup_site, submitter, created_at, updated_at, rescan_at)"
        " SELECT b.id, {done_values}CASE WHEN CAST($2 AS TEXT) IS NOT NULL THEN 'pending' END,"
        " CAST($2 AS TEXT), CAST($3 AS TEXT), b.created_at, b.now,"
        " CASE WHEN b.created_at + 3600000 > b.now THEN b.created_at + 3600000"
        " WHEN b.created_at + 86400000 > b.now THEN b.created_at + 86400000"
        " WHEN b.created_at + 604800000 > b.now THEN b.created_at + 604800000"
        " WHEN b.created_at + 2592000000 > b.now THEN b.created_at + 2592000000 END"
        " FROM (SELECT l.*, n.now FROM links l, (SELECT tain_now_ms() AS now) AS n"
        " WHERE l.id = $1) AS b WHERE true ON CONFLICT (link_id) DO NOTHING",
    /* What one knew the other knows; what somebody asked for stays asked for. */
    [LINK_MERGE_ROW] =
        "UPDATE links AS k SET title = COALESCE(NULLIF(k.title, ''), g.title),"
        " description = COALESCE(NULLIF(k.description, ''), g.description), {merge_results}"
        " source = CASE WHEN 'discussion-ref' IN (k.source, g.source) THEN 'discussion-ref'"
        " WHEN k.source = 'auto-parent' OR $3 = 1 THEN g.source ELSE k.source END,"
        " submitted_by = CASE WHEN k.source = 'auto-parent' OR $3 = 1 THEN g.submitted_by"
        " ELSE k.submitted_by END,"
        " parent_link_id = CASE WHEN COALESCE(k.parent_link_id, g.parent_link_id)"
        " NOT IN ($1, $2) THEN COALESCE(k.parent_link_id, g.parent_link_id) END"
        " FROM links AS g WHERE k.id = $1 AND g.id = $2",
};

/* --- places --- */

static void add_source(struct strbuf *b, const struct link_task_row *t) {
    strbuf_addf(b, "'%s'", t->source);
}
static void add_status(struct strbuf *b, const struct link_task_row *t) {
    strbuf_adds(b, t->status);
}
static void add_error(struct strbuf *b, const struct link_task_row *t) {
    strbuf_adds(b, t->error);
}
static void add_stamps(struct strbuf *b, const struct link_task_row *t) {
    if (t->stamp)
        strbuf_addf(b, ", %s = CASE WHEN $4 = 1 THEN tain_now_ms() ELSE %s END", t->stamp,
                    t->stamp);
}
static void add_stamp_of_g(struct strbuf *b, const struct link_task_row *t) {
    if (t->stamp)
        strbuf_addf(b, ", %s = g.%s", t->stamp, t->stamp);
}
static void add_known(struct strbuf *b, const struct link_task_row *t) {
    strbuf_addf(b, "%s%s", t->result ? "l." : "", t->result ? t->result : "NULL");
}
static void add_set_result(struct strbuf *b, const struct link_task_row *t) {
    if (t->result)
        strbuf_addf(b, ", %s = COALESCE(NULLIF(%s, ''), $4)", t->result, t->result);
}
static void add_or_result(struct strbuf *b, const struct link_task_row *t) {
    if (t->result)
        strbuf_addf(b, " OR COALESCE(%s, '') = '' AND CAST($4 AS TEXT) IS NOT NULL", t->result);
}
/* A reverse lookup is its site's; the rest of a discussion waits for what its reverse lookup says.
 */
static void add_mine(struct strbuf *b, const struct link_task_row *t) {
    strbuf_adds(b, t == &link_tasks[LINK_REVERSE]
                       ? "p.reverse_lookup_site = $1"
                       : "$1 IS NOT NULL AND (p.reverse_lookup_status IS NULL"
                         " OR p.reverse_lookup_status <> 'pending')"
                         " AND COALESCE((SELECT l.source FROM links l WHERE l.id = p.link_id), '')"
                         " NOT IN ('auto-parent', 'discussion-ref')");
}
static void add_waits(struct strbuf *b, const struct link_task_row *t UNUSED) {
    strbuf_addf(b, "%d", LINK_WAITS_MS);
}
static void add_slack(struct strbuf *b, const struct link_task_row *t UNUSED) {
    strbuf_addf(b, "%d", CLOCK_SLACK_MS);
}
static void add_ahead(struct strbuf *b, const struct link_task_row *t UNUSED) {
    strbuf_addf(b, "%d", LINK_AHEAD_MAX);
}
static void add_columns(struct strbuf *b, const struct link_task_row *t UNUSED) {
    for (size_t i = 0; i < LINK_TASKS; i++)
        strbuf_addf(b, "p.%s, %s%s, p.%s, ", link_tasks[i].status, link_tasks[i].stamp ? "p." : "",
                    link_tasks[i].stamp ? link_tasks[i].stamp : "NULL", link_tasks[i].error);
}
static void add_any_pending(struct strbuf *b, const struct link_task_row *t UNUSED) {
    for (size_t i = 0; i < LINK_TASKS; i++)
        strbuf_addf(b, "%sCOALESCE(p.%s, '') = 'pending'", i ? " OR " : "(", link_tasks[i].status);
    strbuf_addc(b, ')');
}
static void add_again_pending(struct strbuf *b, const struct link_task_row *t UNUSED) {
    strbuf_adds(b, "(false");
    for (size_t i = 0; i < LINK_TASKS; i++)
        if (link_tasks[i].again)
            strbuf_addf(b, " OR p.%s = 'pending'", link_tasks[i].status);
    strbuf_addc(b, ')');
}
static void add_again(struct strbuf *b, const struct link_task_row *t UNUSED) {
    for (size_t i = 0; i < LINK_TASKS; i++) {
        const struct link_task_row *r = &link_tasks[i];
        const char *from = r->again ? "'completed', 'not_found', 'failed'" : "'failed'";
        strbuf_addf(b, "%s = CASE WHEN p.%s IN (%s) THEN 'pending' ELSE p.%s END, ", r->status,
                    r->status, from, r->status);
        strbuf_addf(b, "%s = CASE WHEN p.%s IN (%s) THEN NULL ELSE p.%s END, ", r->error, r->status,
                    from, r->error);
    }
}
static void add_done_columns(struct strbuf *b, const struct link_task_row *t UNUSED) {
    for (size_t i = 0; i < LINK_TASKS; i++)
        if (i != LINK_REVERSE)
            strbuf_addf(b, "%s, %s, ", link_tasks[i].status, link_tasks[i].stamp);
}
/* Of a link that was there before its tasks: is what the task would find there, too? */
static void add_done(struct strbuf *b, const struct link_task_row *t) {
    if (t->site)
        strbuf_addf(b,
                    "EXISTS (SELECT 1 FROM external_discussions x WHERE x.link_id = b.id AND"
                    " x.platform = '%s')",
                    link_site_name(t->site));
    else if (t->result)
        strbuf_addf(b, "COALESCE(b.%s, '') <> ''", t->result);
    else
        strbuf_adds(b, "false");
}
static void add_done_values(struct strbuf *b, const struct link_task_row *t UNUSED) {
    for (size_t i = 0; i < LINK_TASKS; i++) {
        if (i == LINK_REVERSE)
            continue;
        strbuf_adds(b, "CASE WHEN ");
        add_done(b, &link_tasks[i]);
        strbuf_adds(b, " THEN 'completed' ELSE 'pending' END, CASE WHEN ");
        add_done(b, &link_tasks[i]);
        strbuf_adds(b, " THEN b.now END, ");
    }
}
static void add_merge_results(struct strbuf *b, const struct link_task_row *t UNUSED) {
    for (size_t i = 0; i < LINK_TASKS; i++) {
        const char *column = link_tasks[i].result;
        if (column)
            strbuf_addf(b, "%s = COALESCE(NULLIF(k.%s, ''), g.%s),", column, column, column);
    }
}
static void add_statuses(struct strbuf *b, const struct link_task_row *t UNUSED) {
    for (size_t i = 0; i < LINK_TASKS; i++)
        strbuf_addf(b, "p.%s, ", link_tasks[i].status);
}
static void add_status_list(struct strbuf *b, const struct link_task_row *t UNUSED) {
    for (size_t i = 0; i < LINK_TASKS; i++)
        strbuf_addf(b, "%sp.%s", i ? ", " : "", link_tasks[i].status);
}

static const struct {
    const char *name;
    void (*add)(struct strbuf *b, const struct link_task_row *t);
} places[] = {
    {"source", add_source},
    {"status", add_status},
    {"error", add_error},
    {"stamps", add_stamps},
    {"stamp_of_g", add_stamp_of_g},
    {"known", add_known},
    {"set_result", add_set_result},
    {"or_result", add_or_result},
    {"done_columns", add_done_columns},
    {"done_values", add_done_values},
    {"merge_results", add_merge_results},
    {"mine", add_mine},
    {"waits", add_waits},
    {"slack", add_slack},
    {"ahead", add_ahead},
    {"columns", add_columns},
    {"any_pending", add_any_pending},
    {"again_pending", add_again_pending},
    {"again", add_again},
    {"statuses", add_statuses},
    {"status_list", add_status_list},
};

static void fill(struct strbuf *b, const char *text, const struct link_task_row *t) {
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "{");
        strbuf_add(b, p, n);
        p += n;
        if (!*p)
            return;
        struct str name = {p + 1, strcspn(p + 1, "}")};
        for (size_t i = 0; i < ARRAY_LEN(places); i++)
            if (str_eqc(name, places[i].name))
                places[i].add(b, t);
        p += name.n + 2;
    }
}

/* SQLite numbers its parameters with question marks. */
static void number(struct strbuf *b, enum db_kind kind) {
    for (size_t i = 0; kind == DB_SQLITE && i < b->n; i++)
        if (b->p[i] == '$')
            b->p[i] = '?';
}

static enum verdict make(struct store *s, const char *text, const struct link_task_row *t, int *ret,
                         struct err *e) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, LINK_SQL_MAX);
    fill(&b, text, t);
    number(&b, db_kind(s->db));
    if (b.overflow)
        return err_set(e, V_FATAL, "links", 0, "a statement is too long");
    return db_add(s->db, t ? t->source : "links", b.p, ret, e);
}

enum verdict links_prepare(struct store *s, struct err *e) {
    if (s->links)
        return V_OK;
    struct link_statements *made = xcalloc(1, sizeof *made);
    enum verdict v = V_OK;
    for (size_t t = 0; t < LINK_TASKS; t++)
        for (size_t i = 0; v == V_OK && i < LINK_STMTS; i++)
            v = make(s, templates[i], &link_tasks[t], &made->task[t][i], e);
    for (size_t i = 0; v == V_OK && i < LINK_ALL_STMTS; i++)
        v = make(s, all_templates[i], NULL, &made->all[i], e);
    s->links = made; /* whatever was made is the connection's and goes with it */
    if (v != V_OK) {
        free_ptr(&s->links);
        s->links = NULL;
    }
    return v;
}
