/* What came of a task. The claim's row is updated first: a zombie changes nothing. */
#include "store/links_int.h"

#define ID_MAX 200 /* characters */
#define TITLE_MAX 1000
#define DESCRIPTION_MAX 5000
#define VALUE_MAX 20000
#define COUNT_MAX INT64_C(1000000000000)

enum verdict links_fence(struct store *s, enum link_task t, int64_t id, int64_t token,
                         const char *outcome, struct str error, struct err *e) {
    enum verdict v = db_run(s->db, SQL_LINK_FENCE,
                            DB_VALS(DBC(link_tasks[t].source), DBI(id), DBI(token), DBC(outcome),
                                    DBT(link_text(s, error, LINK_ERROR_MAX))),
                            NULL, NULL, e);
    return v == V_OK && db_changes(s->db) == 0
               ? err_set(e, V_CONFLICT, "links", 0, "the claim is not ours any more")
               : v;
}

enum verdict links_bump(struct store *s, int64_t id, bool reverse_too, struct err *e) {
    enum verdict v = V_OK;
    for (size_t t = 0; v == V_OK && t < LINK_TASKS; t++)
        if (t != LINK_REVERSE || reverse_too)
            v = db_run(s->db, SQL_LINK_BUMP, DB_VALS(DBC(link_tasks[t].source), DBI(id)), NULL,
                       NULL, e);
    return v;
}

/* What was found before is not lost by a later look that finds nothing. */
static enum verdict found_before(struct store *s, enum link_task t, int64_t id, bool *ret,
                                 struct err *e) {
    int64_t n = 0;
    const char *site = link_site_name(link_tasks[t].site);
    enum verdict v = V_OK;
    if (site)
        v = db_run_int(s->db, SQL_LINK_DISCUSSED, DB_VALS(DBI(id), DBC(site)), &n, e);
    *ret = n > 0;
    return v;
}

enum verdict links_finish(struct store *s, enum link_task t, int64_t id, enum link_status status,
                          struct str error, struct err *e) {
    bool before = false, done = status == LINK_COMPLETED || status == LINK_NOT_FOUND;
    enum verdict v = V_OK;
    if (status == LINK_NOT_FOUND)
        v = found_before(s, t, id, &before, e);
    if (v == V_OK)
        v = db_run(s->db, link_stmt(s, t, LINK_FINISH),
                   DB_VALS(DBI(id), DBC(link_status_name(before ? LINK_COMPLETED : status)),
                           DBT(link_text(s, error, LINK_ERROR_MAX)), DBI(done ? 1 : 0)),
                   NULL, NULL, e);
    if (v == V_OK && db_changes(s->db) == 0)
        return err_set(e, V_CONFLICT, "links", 0, "link %lld is gone", (long long)id);
    return v == V_OK ? db_run(s->db, link_all(s, LINK_SETTLE), DB_VALS(DBI(id)), NULL, NULL, e) : v;
}

/* Whatever a site says: the numbers of one link are added up. */
static int64_t bearable(int64_t n) {
    if (n == DB_NULL)
        return n;
    return n > COUNT_MAX ? COUNT_MAX : n < -COUNT_MAX ? -COUNT_MAX : n;
}

enum verdict links_save_discussions(struct store *s, int64_t id, const struct link_discussion *d,
                                    size_t n, struct err *e) {
    enum verdict v = V_OK;
    for (size_t i = 0; v == V_OK && i < n; i++)
        v = db_run(s->db, SQL_LINK_DISCUSSION_PUT,
                   DB_VALS(DBI(id), DBC(link_site_name(d[i].site)),
                           DBT(link_text(s, d[i].external_id, ID_MAX)),
                           DBT(link_text(s, d[i].external_url, LINK_URL_MAX)),
                           DBT(link_text(s, d[i].title, TITLE_MAX)), DBI(bearable(d[i].score)),
                           DBI(bearable(d[i].num_comments)),
                           DBT(link_text(s, d[i].subreddit, ID_MAX)),
                           DB_STAMP(d[i].external_created_at)),
                   NULL, NULL, e);
    return v;
}

enum verdict links_skip_rest(struct store *s, int64_t id, struct err *e) {
    enum verdict v = V_OK;
    for (size_t t = 0; v == V_OK && t < LINK_TASKS; t++)
        if (t != LINK_REVERSE)
            v = db_run(s->db, link_stmt(s, (enum link_task)t, LINK_SKIP_ONE),
                       DB_VALS(DBI(id), DBC(LINK_WHY_DISCUSSION)), NULL, NULL, e);
    return v;
}

enum verdict links_become_ref(struct store *s, int64_t id, int64_t article, struct err *e) {
    enum verdict v = links_bump(s, id, false, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_LINK_BECOME_REF, DB_VALS(DBI(id), DB_STAMP(article)), NULL, NULL, e);
    if (v == V_OK)
        v = links_skip_rest(s, id, e);
    if (v == V_OK)
        v = links_finish(s, LINK_REVERSE, id, article ? LINK_COMPLETED : LINK_NOT_FOUND, STR_NONE,
                         e);
    return v == V_OK
               ? db_run(s->db, SQL_LINK_LANDED, DB_VALS(DBI(id), DB_STAMP(article)), NULL, NULL, e)
               : v;
}

enum verdict links_save_result(struct store *s, const struct link_result *r, struct err *e) {
    const struct db_val vals[] = {DBI(r->id), DBT(link_text(s, r->title, TITLE_MAX)),
                                  DBT(link_text(s, r->description, DESCRIPTION_MAX)),
                                  DBT(link_text(s, r->value, VALUE_MAX))};
    return db_run(s->db, link_stmt(s, r->task, LINK_RESULT), vals,
                  link_tasks[r->task].result ? 4 : 3, NULL, NULL, e);
}

static enum verdict check(const struct link_result *r, struct err *e) {
    bool fits = r->status == LINK_COMPLETED || r->status == LINK_FAILED ||
                (r->status == LINK_NOT_FOUND && link_tasks[r->task].can_be_none) ||
                (r->status == LINK_SKIPPED && link_tasks[r->task].can_skip);
    if (!fits || (r->task == LINK_REVERSE && r->status == LINK_COMPLETED))
        return err_set(e, V_INVALID, "links", 0, "%s cannot end like that",
                       link_tasks[r->task].name);
    for (size_t i = 0; i < r->n_discussions; i++)
        if (r->discussions[i].site == LINK_SITE_NONE || !r->discussions[i].external_id.n ||
            !r->discussions[i].external_url.p)
            return err_set(e, V_INVALID, "links", 0, "a discussion has a site, an id and a URL");
    return r->n_discussions > LINK_DISCUSSIONS_MAX
               ? err_set(e, V_LIMIT, "links", 0, "%zu discussions", r->n_discussions)
               : V_OK;
}

static enum verdict save(struct store *s, const struct link_result *r, struct err *e) {
    const char *outcome = r->status == LINK_COMPLETED ? "match"
                          : r->status == LINK_FAILED  ? "failed"
                                                      : "no_match";
    enum verdict v = links_fence(s, r->task, r->id, r->token, outcome,
                                 r->status == LINK_FAILED ? r->error : STR_NONE, e);
    if (v == V_OK && r->task == LINK_REVERSE && r->status == LINK_NOT_FOUND)
        v = links_become_ref(s, r->id, 0, e);
    else if (v == V_OK)
        v = links_finish(s, r->task, r->id, r->status, r->error, e);
    if (v == V_OK)
        v = links_save_result(s, r, e);
    return v == V_OK ? links_save_discussions(s, r->id, r->discussions, r->n_discussions, e) : v;
}

enum verdict store_link_save(struct store *s, const struct link_result *r, struct err *e) {
    arena_reset(&s->scratch);
    enum verdict v = check(r, e);
    if (v == V_OK)
        v = links_prepare(s, e);
    if (v == V_OK)
        v = db_begin(s->db, e);
    return v == V_OK ? store_end(s, save(s, r, e), e) : v;
}

/* --- again --- */

static enum verdict retry(struct store *s, int64_t id, size_t *ret_n, struct err *e) {
    enum verdict v = V_OK;
    for (size_t t = 0; v == V_OK && t < LINK_TASKS; t++) {
        v = db_run(s->db, link_stmt(s, (enum link_task)t, LINK_RETRY), DB_VALS(DBI(id)), NULL, NULL,
                   e);
        if (v == V_OK)
            *ret_n += (size_t)db_changes(s->db);
    }
    if (v != V_OK || *ret_n == 0)
        return v;
    return db_run(s->db, link_all(s, LINK_WANT), DB_VALS(DBI(id), DBT(STR_NONE), DBI(1)), NULL,
                  NULL, e);
}

enum verdict store_link_retry(struct store *s, int64_t id, size_t *ret_n, struct err *e) {
    struct link link;
    *ret_n = 0;
    arena_reset(&s->scratch);
    enum verdict v = store_link_get(s, &s->scratch, id, &link, e);
    if (v == V_OK)
        v = links_prepare(s, e);
    if (v == V_OK)
        v = db_begin(s->db, e);
    return v == V_OK ? store_end(s, retry(s, link.id, ret_n, e), e) : v;
}

static enum verdict some(struct store *s, enum link_task t, enum link_stmt stmt, const char *why,
                         size_t max, size_t *ret_n, struct err *e) {
    *ret_n = 0;
    if (!link_tasks[t].can_skip)
        return err_set(e, V_INVALID, "links", 0, "%s is never skipped", link_tasks[t].name);
    enum verdict v = links_prepare(s, e);
    if (v == V_OK)
        v = db_run(s->db, link_stmt(s, t, stmt), DB_VALS(DBC(why), DBI((int64_t)max)), NULL, NULL,
                   e);
    if (v == V_OK)
        *ret_n = (size_t)db_changes(s->db);
    return v;
}

enum verdict store_link_skip(struct store *s, enum link_task t, const char *why, size_t max,
                             size_t *ret_n, struct err *e) {
    return some(s, t, LINK_SKIP_SOME, why, max, ret_n, e);
}

enum verdict store_link_unskip(struct store *s, enum link_task t, const char *why, size_t max,
                               size_t *ret_n, struct err *e) {
    return some(s, t, LINK_UNSKIP_SOME, why, max, ret_n, e);
}
