/* Which task is next in a lane, and the proof that it is ours. The pick only proposes: the claim
 * decides, and a sibling that was quicker makes us look again. */
#include "store/links_follow.h"
#include "store/links_int.h"

#define TRIES 16        /* siblings that were quicker, one after the other */
#define KNOWN_AMONG 256 /* of the latest lookups */

struct link_lane_row link_lane_of(enum link_lane which) {
    enum link_task task = link_lane_task(which);
    struct link_lane_row lane = {.name = link_tasks[task].name, .site = link_tasks[task].site};
    if (lane.site)
        lane.tasks[lane.n_tasks++] = LINK_REVERSE;
    lane.tasks[lane.n_tasks++] = task;
    return lane;
}

struct picking {
    struct arena *a;
    const struct link_lane_row *lane;
    struct str last; /* whose turn it was */
    int64_t turns, now;
    int64_t id; /* 0: nothing was found */
    enum link_task task;
    struct str submitter; /* absent: the turn of nobody in particular */
    bool waiting;         /* someone waits for it */
    bool no_turn;         /* it needs none of the lane's turns */
};

static enum verdict read_turn(void *ctx, const struct db_row *row) {
    struct picking *p = ctx;
    p->last = arena_str(p->a, db_row_text(row, 0));
    p->turns = db_row_int(row, 1);
    return V_OK;
}

static enum verdict read_pick(void *ctx, const struct db_row *row) {
    struct picking *p = ctx;
    p->id = db_row_int(row, 0);
    p->submitter = arena_str(p->a, db_row_text(row, 1));
    return V_OK;
}

static enum verdict pick(struct store *s, struct picking *p, enum link_stmt stmt, struct db_val arg,
                         struct err *e) {
    const char *site = link_site_name(p->lane->site);
    for (size_t i = 0; i < p->lane->n_tasks && !p->id; i++) {
        p->task = p->lane->tasks[i];
        enum verdict v = db_run(s->db, link_stmt(s, p->task, stmt),
                                DB_VALS(DBC(site ? site : ""), arg), read_pick, p, e);
        if (v != V_OK)
            return v;
    }
    return V_OK;
}

/* The oldest is nobody's turn: else whoever has much in the backlog would lose turns by it. */
static enum verdict pick_since(struct store *s, struct picking *p, int64_t from, struct err *e) {
    enum verdict v = pick(s, p, LINK_PICK_OLDEST, DBI(from), e);
    p->submitter = STR_NONE;
    return v;
}

static enum verdict pick_any(struct store *s, struct picking *p, struct err *e) {
    p->id = 0;
    enum verdict v = pick(s, p, LINK_PICK_WAITING, DBT(p->last), e);
    p->waiting = p->id != 0;
    if (v != V_OK || p->id)
        return v;
    if (p->turns % LINK_OLDEST_EVERY == LINK_OLDEST_EVERY - 1)
        return pick_since(s, p, 0, e);
    v = pick(s, p, LINK_PICK_ASKED, DBT(p->last), e);
    if (v == V_OK && !p->id)
        v = pick(s, p, LINK_PICK_ASKED, DBT(STR("")), e);
    if (v == V_OK && !p->id)
        v = pick_since(s, p, p->now - LINK_RECENT_MS, e);
    if (v == V_OK && !p->id)
        v = pick_since(s, p, 0, e);
    return v;
}

static enum verdict read_claim(void *ctx, const struct db_row *row) {
    struct link_job *job = ctx;
    job->token = db_row_int(row, 0);
    job->attempts = (int)db_row_int(row, 1);
    return V_OK;
}

struct job_reading {
    struct arena *a;
    struct link_job *job;
    bool pending;
};

static enum verdict read_job(void *ctx, const struct db_row *row) {
    struct job_reading *r = ctx;
    r->pending = true;
    r->job->url = arena_str(r->a, db_row_text(row, 0));
    r->job->url_key = arena_str(r->a, db_row_text(row, 1));
    r->job->title = arena_str(r->a, db_row_text(row, 2));
    r->job->known = arena_str(r->a, db_row_text(row, 3));
    r->job->site = link_site_of(db_row_text(row, 4));
    r->job->rescan = db_row_int(row, 5) > 0;
    return V_OK;
}

/* V_CONFLICT: a sibling was quicker, or it is not pending any more; the claim is taken back. */
static enum verdict claim(struct store *s, const struct picking *p, struct str holder,
                          int64_t lease_ms, struct link_job *job, struct err *e) {
    struct job_reading r = {.a = p->a, .job = job};
    *job = (struct link_job){.task = p->task, .id = p->id, .waiting = p->waiting};
    enum verdict v = db_run(s->db, SQL_LINK_CLAIM,
                            DB_VALS(DBC(link_tasks[p->task].source), DBI(p->id), DBT(holder),
                                    DBI(lease_ms), DBI(CLOCK_SLACK_MS)),
                            read_claim, job, e);
    if (v == V_OK && job->token)
        v = db_run(s->db, link_stmt(s, p->task, LINK_JOB), DB_VALS(DBI(p->id)), read_job, &r, e);
    if (v == V_OK && (!job->token || !r.pending))
        return err_set(e, V_CONFLICT, "links", 0, "a sibling was quicker");
    if (v == V_OK && !p->no_turn)
        v = db_run(s->db, SQL_LINK_TURN_TOOK, DB_VALS(DBC(p->lane->name), DBT(p->submitter)), NULL,
                   NULL, e);
    return v;
}

/* A lane that is suddenly long is not what the statistics say; whatever they say, a pick walks its
 * index in order and stops at the first. */
enum verdict links_begin_pick(struct store *s, struct err *e) {
    if (!store_is_shared(s))
        return V_OK; /* no plan of SQLite's is made by numbers; and a pick must not lock others out
                      */
    enum verdict v = db_begin(s->db, e);
    return v == V_OK
               ? db_script(s->db,
                           "SET LOCAL enable_bitmapscan TO off; SET LOCAL enable_sort TO off", e)
               : v;
}

static enum verdict find(struct store *s, struct picking *p, struct err *e) {
    enum verdict v = links_begin_pick(s, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_LINK_TURN, DB_VALS(DBC(p->lane->name)), read_turn, p, e);
    if (v == V_OK)
        v = pick_any(s, p, e);
    if (v == V_OK && !p->id)
        v = err_set(e, V_NOT_FOUND, "links", 0, "nothing is due in this lane");
    if (v == V_OK && !store_is_shared(s))
        v = db_begin(s->db, e);
    return v;
}

enum verdict store_link_take(struct store *s, enum link_lane lane, struct str holder,
                             int64_t lease_ms, struct arena *a, struct link_job *ret,
                             struct err *e) {
    const struct link_lane_row mine = link_lane_of(lane);
    struct picking p = {.a = a, .lane = &mine, .last = STR("")};
    enum verdict v = links_prepare(s, e);
    if (v == V_OK)
        v = store_now(s, &p.now, e);
    for (int i = 0; v == V_OK && i < TRIES; i++) {
        v = find(s, &p, e);
        v = store_end(s, v == V_OK ? claim(s, &p, holder, lease_ms, ret, e) : v, e);
        if (v != V_CONFLICT)
            return v;
        v = V_OK;
    }
    return v == V_OK ? err_set(e, V_RETRY, "links", 0, "siblings were quicker, again and again")
                     : v;
}

static enum verdict read_known(void *ctx, const struct db_row *row) {
    ((struct picking *)ctx)->id = db_row_int(row, 0);
    return V_OK;
}

enum verdict store_link_take_known(struct store *s, struct str holder, int64_t lease_ms,
                                   struct arena *a, struct link_job *ret, struct err *e) {
    const struct link_lane_row mine = link_lane_of(LINK_LANE_HN);
    enum verdict v = links_prepare(s, e);
    for (int i = 0; v == V_OK && i < TRIES; i++) {
        struct picking p = {.a = a, .lane = &mine, .task = LINK_REVERSE, .no_turn = true};
        v = db_run(s->db, link_all(s, LINK_PICK_KNOWN), DB_VALS(DBI(KNOWN_AMONG)), read_known, &p,
                   e);
        if (v == V_OK && !p.id)
            return err_set(e, V_NOT_FOUND, "links", 0, "the archive knows none of them");
        if (v == V_OK)
            v = db_begin(s->db, e);
        if (v == V_OK)
            v = store_end(s, claim(s, &p, holder, lease_ms, ret, e), e);
        if (v != V_CONFLICT)
            return v;
        v = V_OK;
    }
    return v == V_OK ? err_set(e, V_RETRY, "links", 0, "siblings were quicker, again and again")
                     : v;
}

enum verdict store_link_due(struct store *s, enum link_lane lane, bool *ret, struct err *e) {
    arena_reset(&s->scratch);
    const struct link_lane_row mine = link_lane_of(lane);
    struct picking p = {.a = &s->scratch, .lane = &mine, .last = STR("")};
    enum verdict v = links_prepare(s, e);
    if (v == V_OK)
        v = store_now(s, &p.now, e);
    if (v == V_OK)
        v = pick_any(s, &p, e);
    if (v == V_OK)
        *ret = p.id != 0;
    return v;
}

enum verdict store_link_release(struct store *s, const struct link_release *r, struct err *e) {
    arena_reset(&s->scratch);
    enum verdict v = db_run(s->db, SQL_LINK_RELEASE,
                            DB_VALS(DBC(link_tasks[r->task].source), DBI(r->id), DBI(r->token),
                                    DBI(r->spent ? 1 : 0), DBI(r->wait_ms),
                                    DBT(link_text(s, r->error_class, 60)),
                                    DBT(link_text(s, r->error, LINK_ERROR_MAX))),
                            NULL, NULL, e);
    return v == V_OK && db_changes(s->db) == 0
               ? err_set(e, V_CONFLICT, "links", 0, "the claim is not ours any more")
               : v;
}

enum verdict store_link_sweep(struct store *s, size_t max, size_t *ret_n, struct err *e) {
    enum verdict v = V_OK;
    *ret_n = 0;
    for (size_t t = 0; v == V_OK && t < LINK_TASKS && *ret_n < max; t++) {
        v = db_run(s->db, SQL_LINK_SWEEP,
                   DB_VALS(DBC(link_tasks[t].source), DBI(SWEEP_GRACE_MS), DBI(CLOCK_SLACK_MS),
                           DBI((int64_t)(max - *ret_n))),
                   NULL, NULL, e);
        if (v == V_OK)
            *ret_n += (size_t)db_changes(s->db);
    }
    return v;
}
