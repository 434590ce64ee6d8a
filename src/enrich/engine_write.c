/* Decisions go into the database in batches: a statement for many rows costs little more than one
 * for one. A row that its table refuses is found by trying one at a time. */
#include "base/fault.h"
#include "base/log.h"
#include "enrich/engine_int.h"
#include "enrich/enrich_metrics.h"

#include <stdio.h>
#include <string.h>

#define ROOM_FOR 4 /* times as many results as others may come wait for those, no more */

void engine_decided(struct engine *g, struct row *r) {
    struct work *w = &g->works[r->source];
    r->stage = ROW_DECIDED;
    if (w->n_finals + w->n_releases == 0)
        w->decided_at = engine_now(g);
    if (r->final)
        w->finals[w->n_finals++] = r;
    else
        w->releases[w->n_releases++] = r;
}

static void log_row(const char *what, const struct row *r, const char *error) {
    char key[120];
    snprintf(key, sizeof key, "%.*s", STR_FMT(r->key));
    log_warn(what, LS("key", key), LS("class", "refused"), LS("error", error));
}

static void written(struct engine *g, struct row *r, bool ours) {
    if (!ours) {
        enrich_claim(r->source, CLAIMS_RACED);
        log_row("this row was taken from us; what came of it is dropped", r,
                "the token is not ours");
    } else if (r->final) {
        enrich_final(r->source, r->verdict.state);
    }
    engine_free_row(g, r);
}

static enum verdict finalize(struct engine *g, struct work *w, struct row **rows, size_t n,
                             struct err *e) {
    struct verdict_on_row verdicts[ENGINE_BATCH];
    bool done[ENGINE_BATCH];
    for (size_t i = 0; i < n; i++)
        verdicts[i] = rows[i]->verdict;
    fault_hit("enrich_before_finalize");
    enum verdict v = store_finalize(g->store, w->source, verdicts, n, done, e);
    if (v != V_OK)
        return v;
    fault_hit("enrich_after_finalize");
    for (size_t i = 0; i < n; i++)
        written(g, rows[i], done[i]);
    return V_OK;
}

static void to_release(struct engine *g, struct row *r, struct release release) {
    struct work *w = &g->works[r->source];
    release.key = r->key;
    release.token = r->token;
    r->final = false;
    r->release = release;
    w->releases[w->n_releases++] = r;
}

/* Its table does not take what came of it: the row is final without it. If it may not be that
 * either, it is tried again, ever more rarely. */
static enum verdict finalize_refused(struct engine *g, struct work *w, struct row *r,
                                     struct err *e) {
    log_row("the table refuses what was found", r, e->msg);
    enrich_refused(r->source, STEP_RESULT);
    struct str error = arena_str(&r->arena, str_of(e->msg));
    r->verdict.state = ROW_FAILED;
    r->verdict.values = STR_NONE;
    r->verdict.error_class = STR("refused");
    r->verdict.error = error;
    enum verdict v = finalize(g, w, &r, 1, e);
    if (!row_is_refused(v))
        return v;
    log_row("the table refuses that this row has failed", r, e->msg);
    to_release(g, r,
               (struct release){.spent = true,
                                .wait_ms = backoff_wait_ms(&engine_again, r->attempts, &g->rng),
                                .error_class = STR("refused"),
                                .error = error});
    return V_OK;
}

static enum verdict finalize_each(struct engine *g, struct work *w, struct row **rows, size_t n,
                                  size_t *ret_done, struct err *e) {
    enum verdict v = V_OK;
    for (*ret_done = 0; v == V_OK && *ret_done < n; ++*ret_done) {
        v = finalize(g, w, &rows[*ret_done], 1, e);
        if (row_is_refused(v))
            v = finalize_refused(g, w, rows[*ret_done], e);
        if (v != V_OK)
            return v;
    }
    return v;
}

static void forget(struct row **rows, size_t *n, size_t done) {
    *n -= done;
    memmove(rows, rows + done, *n * sizeof(struct row *));
}

static enum verdict write_finals(struct engine *g, struct work *w, struct err *e) {
    while (w->n_finals) {
        size_t n = w->n_finals < ENGINE_BATCH ? w->n_finals : ENGINE_BATCH, done = n;
        enum verdict v = finalize(g, w, w->finals, n, e);
        if (row_is_refused(v))
            v = finalize_each(g, w, w->finals, n, &done, e);
        else if (v != V_OK)
            done = 0;
        forget(w->finals, &w->n_finals, done);
        if (v != V_OK)
            return v;
    }
    return V_OK;
}

/* At once, where the lane decides when; or when its time has come, which the sweep sees to. */
static void come_again(struct work *w, const struct release *r, int64_t now) {
    if (r->wait_ms == 0)
        (void)keyring_push_if_room(w->ring, r->key, FROM_SWEEP);
    else if (now + r->wait_ms < w->due_at)
        w->due_at = now + r->wait_ms;
}

static enum verdict release(struct engine *g, struct work *w, struct row **rows, size_t n,
                            struct err *e) {
    struct release releases[ENGINE_BATCH];
    bool done[ENGINE_BATCH];
    int64_t now = engine_now(g);
    for (size_t i = 0; i < n; i++)
        releases[i] = rows[i]->release;
    fault_hit("enrich_before_release");
    enum verdict v = store_release(g->store, w->source, releases, n, done, e);
    if (v != V_OK)
        return v;
    fault_hit("enrich_after_release");
    for (size_t i = 0; i < n; i++) {
        if (done[i])
            come_again(w, &releases[i], now);
        written(g, rows[i], done[i]);
    }
    return V_OK;
}

/* A row that may not be pending again stays busy: it is its owner's turn. */
static enum verdict release_each(struct engine *g, struct work *w, struct row **rows, size_t n,
                                 size_t *ret_done, struct err *e) {
    enum verdict v = V_OK;
    for (*ret_done = 0; v == V_OK && *ret_done < n; ++*ret_done) {
        v = release(g, w, &rows[*ret_done], 1, e);
        if (row_is_refused(v)) {
            log_row("the table refuses that this row be given back", rows[*ret_done], e->msg);
            enrich_refused(rows[*ret_done]->source, STEP_RELEASE);
            engine_free_row(g, rows[*ret_done]);
            v = V_OK;
        }
        if (v != V_OK)
            return v;
    }
    return v;
}

static enum verdict write_releases(struct engine *g, struct work *w, struct err *e) {
    while (w->n_releases) {
        size_t n = w->n_releases < ENGINE_BATCH ? w->n_releases : ENGINE_BATCH, done = n;
        enum verdict v = release(g, w, w->releases, n, e);
        if (row_is_refused(v))
            v = release_each(g, w, w->releases, n, &done, e);
        else if (v != V_OK)
            done = 0;
        forget(w->releases, &w->n_releases, done);
        if (v != V_OK)
            return v;
    }
    return V_OK;
}

enum verdict write_given_up(struct engine *g, struct err *e) {
    enum verdict v = V_OK;
    for (size_t i = 0; v == V_OK && i < g->o.plan->n_sources; i++) {
        struct work *w = &g->works[i];
        for (; w->n_finals; w->n_finals--)
            to_release(g, w->finals[w->n_finals - 1], (struct release){0});
        v = write_releases(g, w, e);
    }
    return v;
}

/* Whether results wait for others: for as long as there may be others, and there is room for those.
 */
static bool more_to_come(const struct engine *g, const struct work *w) {
    const struct plan_source *src = engine_source(g, (size_t)(w - g->works));
    const struct lane *l = &g->lanes[src->provider - g->o.plan->providers];
    return l->turnstile.in_flight || l->n_ready || (work_keys(w) && g->n_unused);
}

static int64_t due_at(const struct engine *g, const struct work *w) {
    size_t n = w->n_finals + w->n_releases;
    if (n == 0)
        return NO_DEADLINE;
    return n < ENGINE_BATCH && n < ROOM_FOR * g->n_unused && more_to_come(g, w)
               ? w->decided_at + ENGINE_GATHER_MS
               : 0;
}

enum verdict write_decided(struct engine *g, bool all, struct err *e) {
    enum verdict v = V_OK;
    for (size_t i = 0; v == V_OK && i < g->o.plan->n_sources; i++) {
        struct work *w = &g->works[i];
        if (!all && engine_now(g) < due_at(g, w))
            continue;
        v = write_finals(g, w, e);
        if (v == V_OK)
            v = write_releases(g, w, e);
    }
    return v;
}

int64_t write_next(const struct engine *g) {
    int64_t next = NO_DEADLINE;
    for (size_t i = 0; i < g->o.plan->n_sources; i++) {
        int64_t due = due_at(g, &g->works[i]);
        if (due < next)
            next = due;
    }
    return next;
}
