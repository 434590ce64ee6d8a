/* What an answer means: for the row, its state or another time; for the lane, how the provider is.
 * A provider that is ill costs no row an attempt; a row that the provider cannot bear does. */
#include "enrich/engine_int.h"

#include "enrich/enrich_metrics.h"

const struct backoff engine_again = {.initial_ms = 15000, .max_ms = 3600000, .jitter_ms = 5000};

/* The class of an answer: of the call, and then of what is in it. */
enum judged {
    JUDGED_MATCH,
    JUDGED_NO_MATCH,
    JUDGED_ROW,       /* this row's fault: it will stay so */
    JUDGED_TRANSIENT, /* the provider's, or the way's */
    JUDGED_WAIT,
    JUDGED_AUTH,
};

struct judgement {
    enum judged how;
    const char *class;
    struct str error;
    struct str values;
};

static const struct source_column *column_of(void *ctx, size_t i) {
    return source_output(ctx, i);
}

static struct judgement read_answer(struct engine *g, struct row *r) {
    struct answer a;
    const struct plan_source *src = engine_source(g, r->source);
    answer_read(&src->answer, r->result.body, column_of, g->works[r->source].source, &r->arena, &a);
    switch (a.kind) {
    case ANSWER_MATCH:
        return (struct judgement){JUDGED_MATCH, NULL, STR_NONE, a.values};
    case ANSWER_NO_MATCH:
        return (struct judgement){JUDGED_NO_MATCH, NULL, STR_NONE, STR_NONE};
    case ANSWER_UNSURE:
        return (struct judgement){JUDGED_TRANSIENT, "unsure", a.error, STR_NONE};
    case ANSWER_GARBAGE:
        return (struct judgement){JUDGED_TRANSIENT, "garbage", a.error, STR_NONE};
    case ANSWER_MISFIT:
        break;
    }
    return (struct judgement){JUDGED_ROW, "misfit", a.error, STR_NONE};
}

/* Of the 4xx only those that speak of this very request are the row's fault. A wrong path or method
 * is the configuration's, and would fail every row there is. */
static enum judged of_status(long status) {
    switch (status) {
    case 400:
    case 413:
    case 414:
    case 422:
        return JUDGED_ROW;
    default:
        return JUDGED_TRANSIENT;
    }
}

static struct judgement judge(struct engine *g, struct row *r) {
    const struct call_result *c = &r->result;
    if (c->cls == NET_OK)
        return read_answer(g, r);
    struct judgement j = {JUDGED_TRANSIENT, net_class_name(c->cls), str_of(c->detail), STR_NONE};
    if (c->cls == NET_HTTP_401 || c->cls == NET_HTTP_403)
        j.how = JUDGED_AUTH;
    else if (c->cls == NET_HTTP_429 || (c->status == 503 && c->retry_after_ms >= 0))
        j.how = JUDGED_WAIT;
    else if (c->cls == NET_HTTP_4XX)
        j.how = of_status(c->status);
    return j;
}

/* The lane hears of trouble, and of a success when it waits for one. */
static enum verdict tell_lane(struct engine *g, struct row *r, const struct judgement *j,
                              struct err *e) {
    static const enum lane_result results[] = {
        [JUDGED_MATCH] = LANE_OK,  [JUDGED_NO_MATCH] = LANE_OK,
        [JUDGED_ROW] = LANE_OK,    [JUDGED_TRANSIENT] = LANE_TRANSIENT,
        [JUDGED_WAIT] = LANE_WAIT, [JUDGED_AUTH] = LANE_AUTH};
    const struct turn_report report = {.result = results[j->how],
                                       .retry_after_ms = r->result.retry_after_ms,
                                       .probe = r->probe,
                                       .err_class = j->class,
                                       .error = j->error};
    return turnstile_tell(&r->lane->turnstile, g->store, &report, e);
}

static struct verdict_on_row final_of(const struct row *r, const struct judgement *j,
                                      enum source_state state) {
    return (struct verdict_on_row){.key = r->key,
                                   .token = r->token,
                                   .state = state,
                                   .values = j->values,
                                   .error_class = str_of(j->class),
                                   .error = j->error};
}

static void decide(struct engine *g, struct row *r, const struct judgement *j) {
    const struct plan_source *src = engine_source(g, r->source);
    bool ill = r->probe || r->lane->turnstile.open;
    bool spent = j->how == JUDGED_TRANSIENT && !ill;
    r->final = true;
    if (j->how == JUDGED_MATCH || j->how == JUDGED_NO_MATCH) {
        r->verdict = final_of(r, j, j->how == JUDGED_MATCH ? ROW_MATCH : ROW_NO_MATCH);
    } else if (j->how == JUDGED_ROW || (spent && r->attempts >= src->max_attempts)) {
        r->verdict = final_of(r, j, ROW_FAILED);
    } else {
        r->final = false;
        r->release = (struct release){
            .key = r->key,
            .token = r->token,
            .spent = spent,
            .wait_ms = spent ? backoff_wait_ms(&engine_again, r->attempts, &g->rng) : 0,
            .error_class = str_of(j->class),
            .error = j->error};
    }
    engine_decided(g, r);
}

static void count_call(const struct row *r, const struct judgement *j) {
    static const enum enrich_call_result results[] = {
        [JUDGED_MATCH] = CALLS_MATCH,  [JUDGED_NO_MATCH] = CALLS_NO_MATCH,
        [JUDGED_ROW] = CALLS_REJECTED, [JUDGED_TRANSIENT] = CALLS_TRANSIENT,
        [JUDGED_WAIT] = CALLS_WAIT,    [JUDGED_AUTH] = CALLS_AUTH};
    enrich_call(r->lane->turnstile.index, results[j->how], r->result.elapsed_ms);
}

enum verdict judge_answered(struct engine *g, struct err *e) {
    enum verdict v = V_OK;
    size_t done = 0;
    while (v == V_OK && done < g->n_answered) {
        struct row *r = g->answered[done];
        struct judgement j = judge(g, r);
        if (j.error.n) /* a redirect or a page of trouble may repeat what it was asked */
            j.error = plan_redacted(g->o.plan, j.error, &r->arena);
        v = tell_lane(g, r, &j, e);
        if (v != V_OK)
            break;
        count_call(r, &j);
        decide(g, r, &j);
        done++;
    }
    g->n_answered -= done;
    for (size_t i = 0; i < g->n_answered; i++)
        g->answered[i] = g->answered[i + done];
    return v;
}
