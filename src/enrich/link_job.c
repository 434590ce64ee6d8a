/* What becomes of a job: what an answer means for it and for its lane, and how it is written. A
 * provider that is ill costs no task an attempt; a task that the provider cannot bear does. */
#include "base/fault.h"
#include "base/log.h"
#include "enrich/enrich_metrics.h"
#include "enrich/link_int.h"
#include "enrich/link_metrics.h"
#include "hn/url_key.h"
#include "policy/backoff.h"

#include <string.h>

#define NEXTS_MAX 12     /* calls of one task that only led to another one */
#define NOT_SENT_MS 1000 /* too much is under way */
#define PROBE_LATER_MS 2000

static const struct backoff again = {.initial_ms = 15000, .max_ms = 3600000, .jitter_ms = 5000};

struct job *job_new(struct link_lane_state *l) {
    for (size_t i = 0; i < LINK_LANE_JOBS; i++) {
        struct job *j = &l->jobs[i];
        if (j->stage != JOB_UNUSED)
            continue;
        struct arena arena = j->arena;
        *j = (struct job){.arena = arena, .lane = l, .stage = JOB_TAKEN, .slot = -1};
        l->n_jobs++;
        return j;
    }
    return NULL;
}

void job_free(struct job *j) {
    arena_reset(&j->arena);
    j->stage = JOB_UNUSED;
    j->lane->n_jobs--;
}

/* --- decisions --- */

void job_ready(struct link_engine *g, struct job *j, enum job_step step) {
    j->step = step;
    j->stage = JOB_READY;
    j->ready_at = link_now(g);
}

struct str job_url(struct job *j) {
    return url_whole(&j->arena, j->task.url);
}

void job_visit(struct link_engine *g, struct job *j, struct str url) {
    struct err e = {0};
    j->step = STEP_PAGE;
    j->stage = JOB_VISITING;
    enum verdict v = g->o.caller->visit(g->o.caller, url, j, &e);
    if (v == V_OK)
        return;
    struct str why = arena_str(&j->arena, str_of(e.msg));
    if (v == V_INVALID)
        job_save(j, LINK_FAILED, why);
    else
        job_release(j, false, NOT_SENT_MS, NULL);
}

void job_save(struct job *j, enum link_status status, struct str error) {
    j->stage = JOB_DECIDED;
    j->how = JOB_SAVE;
    j->result.id = j->task.id;
    j->result.token = j->task.token;
    j->result.task = j->task.task;
    j->result.status = status;
    j->result.error = error;
}

static struct link_discussion discussion_of(enum link_site site, const struct found_discussion *f) {
    return (struct link_discussion){.site = site,
                                    .external_id = f->id,
                                    .external_url = f->permalink,
                                    .title = f->title.n ? f->title : STR_NONE,
                                    .subreddit = f->subreddit,
                                    .score = f->score,
                                    .num_comments = f->num_comments,
                                    .external_created_at = f->created_at_ms};
}

void job_land(struct job *j, const struct found_article *a) {
    j->stage = JOB_DECIDED;
    j->how = JOB_LAND;
    j->landing =
        (struct link_landing){.id = j->task.id,
                              .token = j->task.token,
                              .article_url = a->url,
                              .article_title = a->origin.title.n ? a->origin.title : STR_NONE,
                              .discussion = discussion_of(j->task.site, &a->origin)};
}

void job_release(struct job *j, bool spent, int64_t wait_ms, const struct told_why *why) {
    j->stage = JOB_DECIDED;
    j->how = JOB_RELEASE;
    j->release = (struct link_release){.id = j->task.id,
                                       .token = j->task.token,
                                       .task = j->task.task,
                                       .spent = spent,
                                       .wait_ms = wait_ms,
                                       .error_class = why ? str_of(why->err_class) : STR_NONE,
                                       .error = why ? why->error : STR_NONE};
}

void job_forget(struct job *j) {
    j->stage = JOB_DECIDED;
    j->how = JOB_FORGET;
}

static bool is_among(const struct link_discussion *d, size_t n, struct str id) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(d[i].external_id, id))
            return true;
    return false;
}

void job_found(struct job *j, enum link_site site, const struct found_list *list) {
    size_t n = 0;
    struct link_discussion *all =
        arena_zalloc(&j->arena, (list->n + j->n_local + 1) * sizeof all[0]);
    for (size_t i = 0; i < list->n; i++)
        if (!is_among(all, n, list->at[i].id))
            all[n++] = discussion_of(site, &list->at[i]);
    for (size_t i = 0; i < j->n_local && n < LINK_DISCUSSIONS_MAX; i++)
        if (!is_among(all, n, j->local[i].external_id))
            all[n++] = j->local[i];
    j->result.discussions = all;
    j->result.n_discussions = n;
    job_save(j, n ? LINK_COMPLETED : LINK_NOT_FOUND, STR_NONE);
}

/* --- judgement --- */

static enum verdict tell_lane(struct link_engine *g, struct job *j, struct err *e) {
    static const enum lane_result results[] = {
        [TOLD_FOUND] = LANE_OK,  [TOLD_NONE] = LANE_OK,     [TOLD_NEXT] = LANE_OK,
        [TOLD_ROW] = LANE_OK,    [TOLD_SPENT] = LANE_OK,    [TOLD_TRANSIENT] = LANE_TRANSIENT,
        [TOLD_WAIT] = LANE_WAIT, [TOLD_REFUSED] = LANE_AUTH};
    struct turn_report report = {.result = results[j->why.told],
                                 .retry_after_ms = j->why.wait_ms,
                                 .probe = j->probe,
                                 .err_class = j->why.err_class,
                                 .error = j->why.error};
    enum verdict v = turnstile_tell(&j->lane->turnstile, g->store, &report, e);
    if (v != V_OK || report.result != LANE_OK || j->rest_ms <= 0)
        return v;
    report = (struct turn_report){.result = LANE_WAIT, .retry_after_ms = j->rest_ms};
    return turnstile_tell(&j->lane->turnstile, g->store, &report, e);
}

static void count_call(const struct job *j) {
    static const enum enrich_call_result results[] = {
        [TOLD_FOUND] = CALLS_MATCH,    [TOLD_NONE] = CALLS_NO_MATCH,
        [TOLD_NEXT] = CALLS_MATCH,     [TOLD_ROW] = CALLS_REJECTED,
        [TOLD_SPENT] = CALLS_REJECTED, [TOLD_TRANSIENT] = CALLS_TRANSIENT,
        [TOLD_WAIT] = CALLS_WAIT,      [TOLD_REFUSED] = CALLS_AUTH};
    enrich_call(j->lane->turnstile.index, results[j->why.told], j->elapsed_ms);
}

/* A failure right behind another one, whichever task had that, is more likely the provider's than
 * this task's, and costs it nothing. But it lets another one be the next probe, if there is any: so
 * none that cannot be borne keeps the lane closed. */
static void decide_transient(struct link_engine *g, struct job *j) {
    const struct turnstile *t = &j->lane->turnstile;
    bool ill = j->step != STEP_PAGE && (j->probe || t->open || t->failures > 1);
    int64_t wait = backoff_wait_ms(&again, ill ? 1 : j->task.attempts, &g->rng);
    if (ill && t->open)
        wait = t->open_ms + PROBE_LATER_MS;
    if (!ill && j->task.attempts >= LINK_ATTEMPTS_MAX)
        job_save(j, LINK_FAILED, j->why.error);
    else
        job_release(j, !ill, wait, &j->why);
}

static void decide(struct link_engine *g, struct job *j) {
    if (j->task.id == 0) {
        j->lane->kind->found(g, j);
        return;
    }
    switch (j->why.told) {
    case TOLD_NEXT:
        if (++j->nexts > NEXTS_MAX) {
            job_save(j, LINK_FAILED, STR("one answer only led to another, again and again"));
            return;
        }
        __attribute__((fallthrough));
    case TOLD_FOUND:
    case TOLD_NONE:
    case TOLD_SPENT:
        j->lane->kind->found(g, j);
        return;
    case TOLD_ROW:
        job_save(j, LINK_FAILED, j->why.error);
        return;
    case TOLD_TRANSIENT:
        decide_transient(g, j);
        return;
    case TOLD_WAIT:
    case TOLD_REFUSED:
        break;
    }
    job_release(j, false, 0, &j->why);
}

static enum verdict judge(struct link_engine *g, struct job *j, struct err *e) {
    const struct link_lane_kind *kind = j->lane->kind;
    bool called = j->step != STEP_PAGE;
    enum verdict v = V_OK;
    if (!j->is_read) {
        j->why = (struct told_why){.told = TOLD_TRANSIENT, .wait_ms = -1};
        fault_hit("links_answered");
        kind->read(g, j);
        j->is_read = true;
        j->is_told = !called;
    }
    if (!j->is_told) {
        v = tell_lane(g, j, e);
        if (v != V_OK)
            return v;
        count_call(j);
        j->is_told = true;
    }
    if (called && kind->after)
        v = kind->after(g, j, e);
    if (v == V_OK)
        decide(g, j);
    return v;
}

enum verdict jobs_judge(struct link_engine *g, struct err *e) {
    enum verdict v = V_OK;
    for (size_t l = 0; l < LINK_LANES; l++)
        for (size_t i = 0; v == V_OK && i < LINK_LANE_JOBS; i++)
            if (g->lanes[l].jobs[i].stage == JOB_ANSWERED)
                v = judge(g, &g->lanes[l].jobs[i], e);
    return v;
}

/* --- writing --- */

static bool is_refused(enum verdict v) {
    return v == V_INVALID || v == V_LIMIT || v == V_NOT_FOUND;
}

static void log_job(const char *what, const struct job *j, const char *why) {
    log_warn(what, LI("link", j->task.id), LS("task", link_task_name(j->task.task)),
             LS("why", why));
}

/* What was found cannot be stored: that is of this task alone. It failed, and if not even that can
 * be written it is for another time. */
static void give_up(struct link_engine *g, struct job *j, const struct err *e) {
    log_job("what was found cannot be stored", j, e->msg);
    bool was_failure = j->how == JOB_SAVE && j->result.status == LINK_FAILED;
    j->result = (struct link_result){0};
    if (was_failure)
        job_release(j, true, backoff_wait_ms(&again, j->task.attempts, &g->rng), NULL);
    else
        job_save(j, LINK_FAILED, arena_str(&j->arena, str_of(e->msg)));
}

static enum verdict write_one(struct link_engine *g, struct job *j, enum link_status *ret,
                              struct err *e) {
    int64_t article = 0;
    enum verdict v = V_OK;
    *ret = LINK_PENDING;
    switch (j->how) {
    case JOB_SAVE:
        fault_hit("links_before_save");
        v = store_link_save(g->store, &j->result, e);
        fault_hit("links_after_save");
        *ret = j->result.status;
        break;
    case JOB_LAND:
        fault_hit("links_before_land");
        v = store_link_land(g->store, &j->landing, &article, e);
        fault_hit("links_after_land");
        *ret = article ? LINK_COMPLETED : LINK_NOT_FOUND;
        break;
    case JOB_RELEASE:
        fault_hit("links_before_release");
        v = store_link_release(g->store, &j->release, e);
        fault_hit("links_after_release");
        break;
    case JOB_FORGET:
        break;
    }
    if (v == V_OK && j->how == JOB_LAND) /* the article has tasks of its own, and someone waits */
        for (size_t i = 0; i < LINK_LANES; i++)
            g->lanes[i].due = true;
    return v;
}

static enum verdict write_job(struct link_engine *g, struct job *j, struct err *e) {
    enum link_status status = LINK_PENDING;
    enum verdict v = j->reserved ? purse_return(g, j, e) : V_OK;
    if (v == V_OK)
        v = write_one(g, j, &status, e);
    for (int i = 0; is_refused(v) && i < 2; i++) {
        give_up(g, j, e);
        v = write_one(g, j, &status, e);
    }
    if (v == V_CONFLICT || is_refused(v)) {
        if (v == V_CONFLICT)
            enrich_link_raced();
        log_job("this task was taken from us; what came of it is dropped", j, e->msg);
        v = V_OK;
    } else if (v == V_OK && status != LINK_PENDING) {
        enrich_link_done(j->task.task, status);
    }
    if (v == V_OK)
        job_free(j);
    return v;
}

enum verdict jobs_write(struct link_engine *g, struct err *e) {
    enum verdict v = V_OK;
    for (size_t l = 0; l < LINK_LANES; l++)
        for (size_t i = 0; v == V_OK && i < LINK_LANE_JOBS; i++)
            if (g->lanes[l].jobs[i].stage == JOB_DECIDED)
                v = write_job(g, &g->lanes[l].jobs[i], e);
    return v;
}
