#include "mirror/live_int.h"

#include "base/log.h"
#include "mirror/metrics.h"
#include "policy/backoff.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_REDIRECTS 5
#define MAILBOX_SLOTS 8 /* three calls and a job */
#define BIT(s) (1u << (s))

static const struct backoff backoff = {.initial_ms = 500, .max_ms = 30000, .jitter_ms = 250};

static const char *const state_names[] = {"asking",  "opening",   "measuring",
                                          "filling", "streaming", "down"};
static const uint32_t state_next[] = {
    [LIVE_ASKING] = BIT(LIVE_OPENING) | BIT(LIVE_DOWN),
    [LIVE_OPENING] = BIT(LIVE_MEASURING) | BIT(LIVE_DOWN),
    [LIVE_MEASURING] = BIT(LIVE_FILLING) | BIT(LIVE_DOWN),
    [LIVE_FILLING] = BIT(LIVE_STREAMING) | BIT(LIVE_DOWN),
    [LIVE_STREAMING] = BIT(LIVE_DOWN),
    [LIVE_DOWN] = BIT(LIVE_ASKING),
};
const struct fsm live_fsm = {"live stream", state_names, state_next, LIVE_N};

int64_t live_now(const struct live *l) {
    return clock_mono(l->o.clock);
}

static void wake(void *live) {
    stream_wakeup(((struct live *)live)->stream);
}

enum verdict live_new(const struct live_options *o, struct live **ret, struct err *e) {
    const struct stream_options stream = {.clock = o->clock,
                                          .user_agent = o->user_agent,
                                          .ca_file = o->ca_file,
                                          .connect_timeout_ms = (long)o->connect_timeout_ms,
                                          .max_redirects = MAX_REDIRECTS};
    struct live *l = xcalloc(1, sizeof *l);
    l->o = *o;
    int n = snprintf(l->url, sizeof l->url, "%s/updates.json", o->upstream);
    enum verdict v = n < (int)sizeof l->url
                         ? stream_new(&stream, &l->stream, e)
                         : err_set(e, V_INVALID, "live", 0, "the upstream's URL is too long");
    if (v != V_OK) {
        free(l);
        return v;
    }
    event_stream_init(&l->parser, LIVE_EVENT_MAX, live_on_event, l);
    arena_init(&l->arena);
    mailbox_init(&l->mailbox, MAILBOX_SLOTS, wake, l);
    live_errands_init(l);
    l->rng = (struct rng){o->seed};
    l->ask_at = l->turn_at = l->seen_at = live_now(l);
    l->last_poll = live_now(l) - o->poll_ms;
    l->next_poll = live_now(l) + o->poll_ms; /* by then it should be connected */
    *ret = l;
    return V_OK;
}

void live_free(struct live *l) {
    if (!l)
        return;
    mailbox_release(&l->mailbox); /* before what it wakes */
    stream_free(l->stream);
    event_stream_release(&l->parser);
    arena_release(&l->arena);
    live_named_release(l);
    live_errands_release(l);
    free(l);
}

enum live_state live_state(const struct live *l) {
    return l->state;
}

enum verdict live_go(struct live *l, enum live_state to, struct err *e) {
    enum verdict v = fsm_check(&live_fsm, (int)l->state, (int)to, e);
    if (v != V_OK)
        return v;
    l->state = to;
    atomic_store(&l->o.tidings->connected, to == LIVE_STREAMING);
    metric_set(&m_connected, 0, to == LIVE_STREAMING);
    return V_OK;
}

enum verdict live_lose(struct live *l, const char *why, int64_t retry_after_ms, struct err *e) {
    int64_t now = live_now(l), wait = backoff_wait_ms(&backoff, ++l->losses, &l->rng);
    if (retry_after_ms > LIVE_LONGEST_REQUEST_MS)
        retry_after_ms = LIVE_LONGEST_REQUEST_MS;
    if (wait < retry_after_ms)
        wait = retry_after_ms;
    log_info("no event stream", LS("while", state_names[l->state]), LS("reason", why),
             LI("wait_ms", wait));
    stream_close(l->stream);
    l->retry_at = now + wait;
    /* At once, unless there was a poll just now: a stream that comes and goes is no reason to ask
     * more often. */
    l->next_poll = now > l->last_poll + l->o.poll_ms ? now : l->last_poll + l->o.poll_ms;
    return live_go(l, LIVE_DOWN, e);
}

enum verdict live_connect(struct live *l, struct err *e) {
    if (stream_open(l->stream, l->url, e) != V_OK)
        return err_wrap(e, V_FATAL, "%s", l->url);
    event_stream_restart(&l->parser);
    l->over = NULL;
    l->opened_at = live_now(l);
    return live_go(l, LIVE_OPENING, e);
}

static enum verdict on_open(struct live *l, struct err *e) {
    count_answer(TARGET_STREAM, NET_OK);
    metric_add(&m_reconnects, 0, l->opened);
    l->opened = true;
    l->measures = 0;
    l->ask_at = live_now(l);
    return live_go(l, LIVE_MEASURING, e);
}

enum verdict live_consume(struct live *l, struct err *e) {
    int64_t now = live_now(l);
    int64_t blind_ms = now - l->seen_at;
    if (blind_ms > l->o.outage_rescan_after_ms) {
        atomic_fetch_add(&l->o.tidings->outages, 1);
        l->seen_at = now; /* a rescan will look at everything before */
        log_warn("nothing was heard of the stream for long; items will be fetched again",
                 LI("blind_ms", blind_ms));
    }
    log_debug("event stream open", LI("maxitem", l->mark), LI("blind_ms", blind_ms));
    l->byte_at = now;
    return live_go(l, LIVE_STREAMING, e);
}

static enum verdict take_letters(struct live *l, struct err *e) {
    enum verdict v = V_OK;
    enum letter_kind *letter;
    while (v == V_OK && (letter = mailbox_take(&l->mailbox, 0)))
        v = *letter == LETTER_JOB ? live_planned(l, e)
                                  : live_answered(l, (struct call *)(void *)letter, e);
    return v;
}

/* What the state has to do by the clock. */
static enum verdict tend(struct live *l, struct err *e) {
    enum verdict v = V_OK;
    if (l->state == LIVE_DOWN && live_now(l) >= l->retry_at) {
        l->ask_at = live_now(l);
        v = live_go(l, LIVE_ASKING, e);
    }
    if (v == V_OK && (l->state == LIVE_ASKING || l->state == LIVE_MEASURING))
        v = live_ask(l, e);
    if (v == V_OK && l->state == LIVE_FILLING)
        v = live_fill(l, e);
    if (v == V_OK)
        live_poll(l);
    return v;
}

static int64_t due(const struct live *l) {
    int64_t tick = live_now(l) + LIVE_TICK_MS;
    switch (l->state) {
    case LIVE_ASKING:
    case LIVE_MEASURING:
        return l->ask.out ? NO_DEADLINE : l->ask_at;
    case LIVE_OPENING:
        return l->opened_at + l->o.stream_timeout_ms;
    case LIVE_FILLING:
        return l->job_out ? NO_DEADLINE : tick;
    case LIVE_STREAMING:
        return l->held ? tick : l->byte_at + l->o.stream_timeout_ms;
    default:
        return l->retry_at;
    }
}

static int64_t earliest(const struct live *l, int64_t deadline) {
    int64_t candidates[] = {due(l), live_poll_due(l),
                            live_has_named(l) ? live_now(l) + LIVE_TICK_MS : NO_DEADLINE};
    for (size_t i = 0; i < ARRAY_LEN(candidates); i++)
        if (candidates[i] < deadline)
            deadline = candidates[i];
    return deadline;
}

/* An end in good order before the stream was open: what came was no event stream. */
static void count_refusal(const struct live *l, enum net_class cls) {
    if (l->state == LIVE_OPENING)
        count_answer(TARGET_STREAM, cls == NET_OK ? NET_PROTOCOL : cls);
}

static enum verdict look_at(struct live *l, enum stream_phase phase, struct err *e) {
    bool reads = l->state == LIVE_STREAMING && !l->held;
    if (l->state != LIVE_OPENING && !reads)
        return V_OK;
    if (l->over)
        return live_lose(l, l->over, -1, e);
    if (phase == STREAM_ENDED) {
        const struct stream_end *end = stream_end(l->stream);
        count_refusal(l, end->cls);
        return live_lose(l, end->detail, end->retry_after_ms, e);
    }
    if (l->state == LIVE_OPENING && phase == STREAM_OPEN)
        return on_open(l, e);
    int64_t since = reads ? l->byte_at : l->opened_at;
    if (live_now(l) - since < l->o.stream_timeout_ms)
        return V_OK;
    count_refusal(l, NET_TIMEOUT);
    return live_lose(l, reads ? "not a byte for too long" : "no answer", -1, e);
}

/* Before anything else in a turn: the time since the last one was not the stream's if it was we who
 * did not read. */
static void keep_watch(struct live *l) {
    int64_t now = live_now(l);
    if (l->held)
        l->byte_at += now - l->turn_at;
    l->turn_at = now;
}

static void count_full(struct live *l) {
    if (l->stuck && !l->full) {
        metric_add(&m_queue_full, 0, 1);
        log_warn("the queue of named ids is full; the stream is not read until there is room");
    }
    l->full = l->stuck;
}

static bool all_back(const struct live *l) {
    return !live_errands_out(l) && !l->job_out;
}

/* Nothing new is begun, and what was lent has to come back: its receivers write into it. */
static enum verdict wind_up(struct live *l, int64_t deadline) {
    enum verdict v = V_OK;
    if (!l->stopping) {
        l->stopping = true;
        stream_close(l->stream);
        live_flush(l, true); /* the queue is written down at a stop; what stays here is not */
        if (l->state != LIVE_DOWN)
            v = live_go(l, LIVE_DOWN, &l->why);
    }
    if (v == V_OK)
        v = take_letters(l, &l->why);
    if (v == V_OK && !all_back(l)) {
        stream_step(l->stream, deadline, true, live_on_bytes, l);
        v = take_letters(l, &l->why);
    }
    return v;
}

static enum verdict turn(struct live *l, int64_t deadline) {
    keep_watch(l);
    l->stuck = false;
    enum verdict v = take_letters(l, &l->why);
    if (v == V_OK)
        v = tend(l, &l->why);
    if (v != V_OK)
        return v;
    live_flush(l, false);
    count_full(l);
    l->held = l->state == LIVE_STREAMING && live_has_named(l);
    enum stream_phase phase = stream_step(l->stream, earliest(l, deadline),
                                          l->state != LIVE_STREAMING || l->held, live_on_bytes, l);
    return look_at(l, phase, &l->why);
}

enum verdict live_step(struct live *l, int64_t deadline, struct err *e) {
    enum verdict v;
    if (l->ending == V_OK && !stop_raised(l->o.stop)) {
        v = turn(l, deadline);
        if (v == V_OK)
            return V_OK;
        l->ending = v;
    }
    v = wind_up(l, deadline);
    if (v != V_OK)
        l->ending = v;
    if (!all_back(l))
        return V_OK;
    if (l->ending == V_OK)
        return err_set(e, V_STOPPED, "live", 0, "stopped");
    return err_set(e, l->ending, l->why.domain, l->why.code, "%s", l->why.msg);
}
