#include "mirror/updater.h"

#include "base/log.h"
#include "mirror/metrics.h"
#include "mirror/updater_int.h"
#include "store/live.h"

#include <poll.h>
#include <stdlib.h>

#define TICK_MS 100
#define QUEUE_SLOTS 512 /* more than the jobs that can be out at once */
#define CALL_SLOTS 4096
#define NAME_SLOTS 65536           /* a flood of names must not hold the stream up */
#define FOREVER_MS (INT64_MAX / 4) /* a daemon bears with an outage, however long */
#define REST_MS 500                /* least time between two fetches of a hot id */
#define INDEX_SHARE 0.1            /* of the write thread's time, when it is never idle */
#define SPILL_MAX 1000             /* ids written down in one transaction at a stop */

static void wake_fetch(void *http) {
    http_wakeup(http);
}

static enum verdict open_http(struct updater *u, struct err *e) {
    const struct http_options options = {
        .clock = u->o->clock,
        .max_connections = u->o->concurrency,
        .user_agent = u->o->user_agent,
        .ca_file = u->o->ca_file,
        .connect_timeout_ms = u->o->timeout_ms < 10000 ? u->o->timeout_ms : 10000,
        .timeout_ms = u->o->timeout_ms,
        .max_body = u->o->max_body,
        .max_redirects = 5,
    };
    return http_new(&options, &u->http, e);
}

/* What the archive says: where it begins, how far it knew the upstream to be, one id that works. */
static enum verdict read_archive(struct updater *u, int64_t *ret_floor, int64_t *ret_canary,
                                 struct err *e) {
    struct archive_state state;
    struct store *s = u->o->store;
    enum verdict v = store_state(s, &state, e);
    if (v == V_OK && !state.floor_id) {
        state.floor_id = u->o->start_id ? u->o->start_id : 1;
        v = store_lower_floor(s, state.floor_id, e);
    }
    if (v == V_OK)
        v = store_any_item(s, ret_canary, e);
    if (v != V_OK)
        return v;
    *ret_floor = state.floor_id;
    tidings_maxitem(&u->tidings, state.maxitem);
    return V_OK;
}

/* Until the threads run it is as good as a standby. */
static void wait_for_db(void *arg, int64_t down_ms) {
    const struct updater *u = arg;
    const struct updater_view view = {.role = UPDATER_STANDBY,
                                      .workers = u->o->realtime_workers,
                                      .db_down_ms = down_ms,
                                      .stopping = stop_raised(u->o->stop)};
    if (u->o->tick)
        u->o->tick(u->o->tick_arg, &view);
}

static void make_core(struct updater *u, int64_t floor, int64_t canary) {
    const struct updater_options *o = u->o;
    const struct range window = {floor, atomic_load(&u->tidings.maxitem)};
    u->ingest = ingest_new(&(struct ingest_options){
        .clock = o->clock,
        .upstream = o->upstream,
        .http = u->http,
        .window = window,
        .maxitem = &u->tidings.maxitem,
        .canary = canary,
        .concurrency = o->concurrency,
        .batch_size = o->batch_size,
        .rps = o->rps,
        .retry = o->retry,
        .heartbeat_ms = o->lease_ms / 6,
        .max_outage_ms = FOREVER_MS,
        .to_writer = &u->to_writer,
        .mailbox = &u->mailbox,
        .calls = &u->calls,
        .ids = u->ids,
        .endless = true,
        .db_offset_ms = &u->tidings.db_offset_ms,
        .stop = o->stop,
        .seed = rng_fresh().state,
    });
    u->writer = writer_new(&(struct writer_options){
        .clock = o->clock,
        .store = o->store,
        .plan = {.window = window, .width = o->segment_width, .newest_first = o->recent_days > 0},
        .provider = "hn-upstream",
        .rps = o->rps,
        .maxitem = &u->tidings.maxitem,
        .follow = true,
        .recent_days = o->recent_days,
        .index_share = INDEX_SHARE,
        .max_outage_ms = FOREVER_MS,
        .feed_keep_ms = o->feed_keep_ms,
        .feed_keep_rows = o->feed_keep_rows,
        .in = &u->to_writer,
        .db_offset_ms = &u->tidings.db_offset_ms,
        .stop = o->stop,
        .waiting = wait_for_db,
        .waiting_arg = u,
        .wrote = o->wrote,
        .wrote_arg = o->wrote_arg,
    });
}

static void measure(const struct updater *u) {
    struct keyqueue_stats q = keyqueue_stats(u->ids);
    int64_t now = clock_mono(u->o->clock);
    int64_t seen = atomic_load(&u->tidings.last_event_at);
    int64_t since = seen ? seen - atomic_load(&u->tidings.db_offset_ms) : u->active_mono;
    metric_set(&m_queue_depth, 0, (int64_t)q.waiting);
    metric_set(&m_last_event_age, 0, now > since ? now - since : 0);
    int64_t maxitem = atomic_load(&u->tidings.maxitem);
    metric_set(&m_maxitem, 0, maxitem ? maxitem : METRIC_NONE);
}

static int64_t total_ids(const struct updater *u) {
    int64_t n = atomic_load(&u->tidings.maxitem) - u->floor + 1;
    return n > 0 ? n : 0;
}

static void tick(struct updater *u) {
    measure(u);
    if (!u->o->tick)
        return;
    const struct updater_view view = {
        .role = UPDATER_ACTIVE,
        .illness = ingest_illness(u->ingest),
        .db_down_ms = writer_db_down_ms(u->writer),
        .connected = atomic_load(&u->tidings.connected),
        .workers_alive = (int)metric_get(&m_workers_alive, 0),
        .workers = u->o->realtime_workers,
        .covered = writer_covered(u->writer),
        .total = total_ids(u),
        .silence_ms = updater_silence_ms(u),
        .stopping = stop_raised(u->o->stop),
    };
    u->o->tick(u->o->tick_arg, &view);
}

static void work(struct updater *u) {
    struct pollfd stop = {.fd = u->o->stop->fd, .events = POLLIN};
    struct err e;
    if (updater_start_threads(u, &e) != V_OK) {
        u->failed = true;
        u->why = e;
    }
    while (!u->failed && !stop_raised(u->o->stop) && updater_tend(u)) {
        tick(u);
        poll(&stop, 1, TICK_MS);
    }
    if (u->failed)
        log_error("the updater has to end", LE(&u->why));
    stop_raise(u->o->stop);
    tick(u);
    updater_join_threads(u);
}

/* Ids that were named and not fetched are written down; the next updater begins with them. */
static enum verdict spill_ids(struct updater *u, struct err *e) {
    struct key_ticket tickets[SPILL_MAX];
    int64_t ids[SPILL_MAX], total = 0;
    enum verdict v = V_OK;
    keyqueue_close(u->ids);
    for (size_t n; v == V_OK && (n = keyqueue_drain(u->ids, tickets, SPILL_MAX));) {
        for (size_t i = 0; i < n; i++)
            ids[i] = tickets[i].key;
        do
            v = store_live_spill(u->o->store, ids, n, e);
        while (v == V_RETRY && (v = patience_bear(&u->patience, e)) == V_OK);
        total += (int64_t)n;
    }
    if (v == V_OK && total)
        log_info("ids that were named and not fetched yet are written down", LI("ids", total));
    return v;
}

/* Names that came after the plan thread had left. */
static enum verdict spill_names(struct updater *u, struct err *e) {
    enum verdict v = V_OK;
    char *name;
    while ((name = queue_pop(&u->names, 0))) {
        const struct user_todo todo = {.name = str_of(name)};
        if (v == V_OK)
            v = store_users_later(u->o->store, &todo, 1, e);
        free(name);
    }
    return v;
}

static void write_down(struct updater *u) {
    struct err e;
    enum verdict v = store_recover(u->o->store, &e);
    if (v == V_OK)
        v = spill_ids(u, &e);
    enum verdict names = spill_names(u, &e);
    if ((v != V_OK || names != V_OK) && !u->failed) {
        u->failed = true;
        u->why = e;
        err_wrap(&u->why, V_FATAL, "what was named and not fetched yet could not be written down");
    }
    updater_release_lease(u);
}

static void forget_letters(struct updater *u) {
    struct job *j;
    while ((j = mailbox_take(&u->mailbox, 0))) {
        batch_free(j->batch);
        arena_release(&j->arena);
        free(j);
    }
}

static enum verdict run_active(struct updater *u, struct err *e) {
    int64_t floor = 1, canary = 0;
    enum verdict v;
    u->active_mono = clock_mono(u->o->clock);
    do
        v = read_archive(u, &floor, &canary, e);
    while (v == V_RETRY && (v = patience_bear(&u->patience, e)) == V_OK);
    if (v != V_OK)
        return v;
    u->floor = floor;
    make_core(u, floor, canary);
    v = writer_prepare(u->writer, e);
    if (v == V_OK) {
        work(u);
        write_down(u);
    }
    forget_letters(u);
    ingest_free(u->ingest);
    writer_free(u->writer);
    if (u->failed) {
        *e = u->why;
        return V_FATAL;
    }
    return v;
}

enum verdict updater_run(const struct updater_options *o, struct err *e) {
    struct updater u = {.o = o,
                        .patience = {.store = o->store,
                                     .clock = o->clock,
                                     .stop = o->stop,
                                     .max_outage_ms = FOREVER_MS,
                                     .rng = rng_fresh()}};
    enum verdict v = open_http(&u, e);
    if (v != V_OK)
        return v;
    u.patience.waiting = wait_for_db;
    u.patience.waiting_arg = &u;
    queue_init(&u.to_writer, QUEUE_SLOTS);
    queue_init(&u.names, NAME_SLOTS);
    mailbox_init(&u.mailbox, QUEUE_SLOTS, wake_fetch, u.http);
    u.calls = (struct calls){.wake = wake_fetch, .wake_arg = u.http};
    queue_init(&u.calls.queue, CALL_SLOTS);
    u.ids = keyqueue_new(&(struct keyqueue_options){
        .clock = o->clock, .cap = o->channel_capacity, .rest_ms = REST_MS});
    v = updater_wait_for_lease(&u, e);
    if (v == V_OK)
        v = run_active(&u, e);
    keyqueue_free(u.ids);
    queue_release(&u.calls.queue);
    mailbox_release(&u.mailbox);
    queue_release(&u.names);
    queue_release(&u.to_writer);
    http_free(u.http);
    return v == V_STOPPED ? V_OK : v;
}
