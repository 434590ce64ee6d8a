#include "base/log.h"
#include "mirror/chores.h"
#include "mirror/live.h"
#include "mirror/metrics.h"
#include "mirror/realtime.h"
#include "mirror/updater_int.h"

#include <stdio.h>

#define POLL_MS 5000             /* of updates.json while the stream is down */
#define RESTART_MS 1000          /* before a dead worker lives again; doubles */
#define RESTART_MAX_MS 30000     /* up to this */
#define RESTART_BUDGET 20        /* restarts of one worker */
#define RESTART_BUDGET_MS 600000 /* within this time */
#define HANG_MS 300000           /* a thread that does not move for so long is stuck */
#define STEP_MS 200
#define DLQ_ROUNDS 12

static const char *const post_names[POST_N] = {"write", "fetch", "live", "plan"};

static enum verdict make_self(void *arg, int index UNUSED, void **ret, struct err *e UNUSED) {
    *ret = arg;
    return V_OK;
}

static void leave(void *worker UNUSED, bool died UNUSED) {
}

static enum verdict step_write(void *arg, struct err *e) {
    struct updater *u = arg;
    if (writer_step(u->writer, STEP_MS))
        return V_OK;
    return err_set(e, V_STOPPED, "updater", 0, "everything is written");
}

static enum verdict step_fetch(void *arg, struct err *e) {
    struct updater *u = arg;
    switch (ingest_step(u->ingest, clock_mono(u->o->clock) + STEP_MS)) {
    case INGEST_RUNNING:
        return V_OK;
    case INGEST_FINISHED:
    case INGEST_STOPPED:
        return err_set(e, V_STOPPED, "updater", 0, "stopped");
    default:
        *e = *ingest_error(u->ingest);
        return V_FATAL;
    }
}

static enum verdict make_live(void *arg, int index UNUSED, void **ret, struct err *e) {
    struct updater *u = arg;
    const struct updater_options *o = u->o;
    struct live *l = NULL;
    enum verdict v =
        live_new(&(struct live_options){.clock = o->clock,
                                        .upstream = o->upstream,
                                        .user_agent = o->user_agent,
                                        .ca_file = o->ca_file,
                                        .connect_timeout_ms = 10000,
                                        .stream_timeout_ms = o->stream_timeout_ms,
                                        .outage_rescan_after_ms = o->outage_rescan_after_ms,
                                        .poll_ms = POLL_MS,
                                        .gap_queue_max = o->gap_queue_max,
                                        .segment_width = o->segment_width,
                                        .ids = u->ids,
                                        .names = &u->names,
                                        .calls = &u->calls,
                                        .to_writer = &u->to_writer,
                                        .tidings = &u->tidings,
                                        .stop = o->stop,
                                        .seed = rng_fresh().state},
                 &l, e);
    *ret = l;
    return v;
}

/* The clock is the machine's here, and a step is told until when it may wait. */
static enum verdict step_live(void *live, struct err *e) {
    return live_step(live, clock_mono(&clock_machine) + STEP_MS, e);
}

static void unmake_live(void *live, bool died UNUSED) {
    live_free(live);
}

static enum verdict make_chores(void *arg, int index UNUSED, void **ret, struct err *e UNUSED) {
    struct updater *u = arg;
    const struct updater_options *o = u->o;
    *ret = chores_new(&(struct chores_options){.clock = o->clock,
                                               .ids = u->ids,
                                               .names = &u->names,
                                               .calls = &u->calls,
                                               .to_writer = &u->to_writer,
                                               .tidings = &u->tidings,
                                               .token = &u->token,
                                               .lease_ms = o->updater_lease_ms,
                                               .catchup_interval_ms = o->catchup_interval_ms,
                                               .lists_interval_ms = o->lists_interval_ms,
                                               .rescan_interval_ms = o->rescan_interval_ms,
                                               .persist_interval_ms = o->persist_interval_ms,
                                               .startup_rescan_days = o->startup_rescan_days,
                                               .rescan_window_days = o->rescan_window_days,
                                               .segment_width = o->segment_width,
                                               .stop = o->stop,
                                               .seed = rng_fresh().state});
    return V_OK;
}

static enum verdict step_chores(void *chores, struct err *e) {
    return chores_step(chores, STEP_MS, e);
}

static void unmake_chores(void *chores, bool died UNUSED) {
    chores_free(chores);
}

static int window_of(const struct updater_options *o) {
    int each = 2 * o->concurrency / o->realtime_workers;
    return each < 8 ? 8 : each > 256 ? 256 : each;
}

static enum verdict make_realtime(void *arg, int index UNUSED, void **ret, struct err *e UNUSED) {
    struct updater *u = arg;
    const struct updater_options *o = u->o;
    *ret = realtime_new(&(struct realtime_options){.clock = o->clock,
                                                   .ids = u->ids,
                                                   .calls = &u->calls,
                                                   .to_writer = &u->to_writer,
                                                   .tidings = &u->tidings,
                                                   .token = &u->token,
                                                   .window = window_of(o),
                                                   .batch_size = o->batch_size,
                                                   .attempts = o->realtime_attempts,
                                                   .dlq_rounds = DLQ_ROUNDS,
                                                   .stop = o->stop,
                                                   .seed = rng_fresh().state});
    return V_OK;
}

static enum verdict step_realtime(void *worker, struct err *e) {
    return realtime_step(worker, STEP_MS, e);
}

static void unmake_realtime(void *worker, bool died UNUSED) {
    realtime_free(worker);
}

static enum verdict start_realtime(struct updater *u, struct err *e) {
    return crew_start(&(struct crew_kind){.name = "realtime",
                                          .n = u->o->realtime_workers,
                                          .make = make_realtime,
                                          .step = step_realtime,
                                          .unmake = unmake_realtime,
                                          .arg = u,
                                          .restart = true,
                                          .delay_ms = RESTART_MS,
                                          .max_delay_ms = RESTART_MAX_MS,
                                          .budget = RESTART_BUDGET,
                                          .budget_ms = RESTART_BUDGET_MS,
                                          .clock = u->o->clock},
                      &u->realtime, e);
}

enum verdict updater_start_threads(struct updater *u, struct err *e) {
    const struct crew_kind kinds[POST_N] = {
        [POST_WRITE] = {.make = make_self, .step = step_write, .unmake = leave},
        [POST_FETCH] = {.make = make_self, .step = step_fetch, .unmake = leave},
        [POST_LIVE] = {.make = make_live, .step = step_live, .unmake = unmake_live},
        [POST_PLAN] = {.make = make_chores, .step = step_chores, .unmake = unmake_chores},
    };
    enum verdict v = V_OK;
    for (int i = 0; i < POST_N && v == V_OK; i++) {
        struct crew_kind kind = kinds[i];
        kind.name = post_names[i];
        kind.n = 1;
        kind.arg = u;
        kind.clock = u->o->clock;
        v = crew_start(&kind, &u->posts[i], e);
    }
    return v == V_OK ? start_realtime(u, e) : v;
}

static void fail(struct updater *u, const struct err *e, const char *what) {
    if (u->failed || stop_raised(u->o->stop)) /* at a stop they are meant to end */
        return;
    u->failed = true;
    u->why = *e;
    err_wrap(&u->why, V_FATAL, "%s", what);
}

static void say_death(void *arg UNUSED, int index, const struct err *e) {
    log_warn("a realtime worker died and will be started again", LI("worker", index), LE(e));
}

static void tend_post(struct updater *u, enum post post) {
    char what[80];
    enum crew_state state = crew_tend(u->posts[post], NULL, NULL);
    bool stuck = post != POST_WRITE && crew_silence_ms(u->posts[post]) > HANG_MS;
    if (state != CREW_WORKING) {
        snprintf(what, sizeof what, "the %s thread has ended", post_names[post]);
        fail(u, crew_error(u->posts[post]), what);
    } else if (stuck) {
        struct err e;
        err_set(&e, V_FATAL, "updater", 0, "no step within %d s", HANG_MS / 1000);
        snprintf(what, sizeof what, "the %s thread is stuck", post_names[post]);
        fail(u, &e, what);
    }
}

static void tend_realtime(struct updater *u) {
    enum crew_state state = crew_tend(u->realtime, say_death, u);
    metric_set(&m_workers_alive, 0, crew_alive(u->realtime));
    metric_set(&m_worker_restarts, 0, crew_restarts(u->realtime));
    if (state != CREW_WORKING)
        fail(u, crew_error(u->realtime), "no realtime worker is alive");
}

bool updater_tend(struct updater *u) {
    for (int i = 0; i < POST_N; i++)
        tend_post(u, (enum post)i);
    tend_realtime(u);
    return !u->failed;
}

int64_t updater_silence_ms(const struct updater *u) {
    int64_t longest = u->realtime ? crew_silence_ms(u->realtime) : 0;
    for (int i = 0; i < POST_N; i++) {
        int64_t silence = i != POST_WRITE && u->posts[i] ? crew_silence_ms(u->posts[i]) : 0;
        longest = silence > longest ? silence : longest;
    }
    /* Who waits for the writer fell silent after the database did. */
    return longest > writer_db_down_ms(u->writer) ? longest : 0;
}

static void join(struct crew *c) {
    if (!c)
        return;
    crew_join(c);
    crew_free(c);
}

void updater_join_threads(struct updater *u) {
    join(u->posts[POST_LIVE]);
    join(u->posts[POST_PLAN]);
    join(u->realtime);
    join(u->posts[POST_FETCH]);
    queue_close(&u->to_writer);
    join(u->posts[POST_WRITE]);
}
