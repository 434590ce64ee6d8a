#include "mirror/catchup.h"

#include "base/log.h"
#include "mirror/ingest.h"
#include "mirror/maxitem.h"
#include "mirror/metrics.h"
#include "mirror/patience.h"
#include "mirror/writer.h"
#include "store/status.h"

#include <poll.h>

#define QUEUE_SLOTS 32 /* more than the jobs that can be out at once */
#define TICK_MS 100

/* The whole run; the two threads see their own parts of it. */
struct run {
    const struct catchup_options *o;
    struct http_client *http;
    struct queue to_writer;
    struct mailbox mailbox;
    _Atomic int64_t db_offset_ms;
    struct ingest *ingest;
    struct writer *writer;
    struct range window;
    _Atomic int64_t maxitem;
    int64_t canary;
    struct patience patience; /* while the main thread has the store */
    pthread_t fetch_thread, write_thread;
    enum ingest_end end;
    atomic_bool fetch_over;
    _Atomic int64_t fetch_beat; /* clock_mono() of its last step */
};

static void wake_fetch(void *http) {
    http_wakeup(http);
}

static void *fetch_main(void *arg) {
    struct run *r = arg;
    do {
        atomic_store(&r->fetch_beat, clock_mono(r->o->clock));
        r->end = ingest_step(r->ingest, clock_mono(r->o->clock) + 1000);
    } while (r->end == INGEST_RUNNING);
    atomic_store(&r->fetch_over, true);
    return NULL;
}

static void *write_main(void *arg) {
    struct run *r = arg;
    while (writer_step(r->writer, 200))
        ;
    return NULL;
}

static enum verdict open_http(struct run *r, struct err *e) {
    const struct http_options options = {
        .clock = r->o->clock,
        .max_connections = r->o->concurrency,
        .user_agent = r->o->user_agent,
        .ca_file = r->o->ca_file,
        .connect_timeout_ms = r->o->timeout_ms < 10000 ? r->o->timeout_ms : 10000,
        .timeout_ms = r->o->timeout_ms,
        .max_body = r->o->max_body,
        .max_redirects = 5,
    };
    return http_new(&options, &r->http, e);
}

/* The window is empty, but repairs may stand open below the frontier: they are the window then. It
 * ends where the mirror does, so that nothing new is planned. */
static enum verdict find_repairs(struct run *r, int64_t frontier, bool *ret_any, struct err *e) {
    int64_t lo = 0, hi = 0;
    enum verdict v = store_reclaim(r->o->store, e);
    if (v == V_OK)
        v = store_repairs(r->o->store, &lo, &hi, e);
    if (v != V_OK || lo == 0 || frontier < 1)
        return v;
    r->window.hi = hi < frontier ? hi : frontier;
    r->window.lo = lo < r->window.hi ? lo : r->window.hi;
    *ret_any = true;
    return V_OK;
}

/* What the archive says: how far it is, and one id that is known to work. */
static enum verdict read_archive(struct run *r, struct frontier *ret, struct err *e) {
    struct store *s = r->o->store;
    enum verdict v = store_note_maxitem(s, r->maxitem, e);
    if (v == V_OK)
        v = plan_frontier(s, ret, e);
    if (v == V_OK)
        v = store_any_item(s, &r->canary, e);
    return v;
}

/* Sets *ret_any when there is something to do. With --limit alone the window begins behind what was
 * ever looked at: a dead letter does not make every run fetch nothing. */
static enum verdict choose_window(struct run *r, bool *ret_any, struct err *e) {
    struct frontier f;
    enum verdict v = read_archive(r, &f, e);
    if (v != V_OK)
        return v;
    const struct window_ask ask = {
        .start_id = r->o->start_id,
        .end_id = r->o->end_id,
        .limit = r->o->limit,
        .ignore_highest = r->o->ignore_highest,
        .frontier = r->o->limit && !r->o->start_id ? f.scanned : f.id,
        .maxitem = r->maxitem,
    };
    metric_set(&m_maxitem, 0, r->maxitem);
    metric_set(&m_frontier, 0, f.id);
    *ret_any = window_resolve(&ask, &r->window);
    if (!*ret_any)
        return find_repairs(r, f.id, ret_any, e);
    return store_lower_floor(r->o->store, r->window.lo, e);
}

static enum verdict find_window(struct run *r, bool *ret_any, struct err *e) {
    int64_t maxitem = 0;
    enum verdict v = fetch_maxitem(r->http, r->o->clock, r->o->upstream, r->o->stop, &maxitem, e);
    if (v != V_OK)
        return v;
    r->maxitem = maxitem;
    do {
        v = choose_window(r, ret_any, e);
    } while (v == V_RETRY && (v = patience_bear(&r->patience, e)) == V_OK);
    patience_well(&r->patience);
    return v;
}

static void make_workers(struct run *r) {
    const struct catchup_options *o = r->o;
    r->ingest = ingest_new(&(struct ingest_options){
        .clock = o->clock,
        .upstream = o->upstream,
        .http = r->http,
        .window = r->window,
        .maxitem = &r->maxitem,
        .canary = r->canary,
        .concurrency = o->concurrency,
        .batch_size = o->batch_size,
        .rps = o->rps,
        .retry = o->retry,
        .heartbeat_ms = o->lease_ms / 6,
        .wait_ms = o->wait_ms,
        .max_outage_ms = o->max_outage_ms,
        .to_writer = &r->to_writer,
        .mailbox = &r->mailbox,
        .db_offset_ms = &r->db_offset_ms,
        .stop = o->stop,
        .seed = rng_fresh().state,
    });
    r->writer = writer_new(&(struct writer_options){
        .clock = o->clock,
        .store = o->store,
        .plan = {.window = r->window, .width = o->segment_width, .replay = o->replay},
        .provider = "hn-upstream",
        .rps = o->rps,
        .maxitem = &r->maxitem,
        .max_outage_ms = o->max_outage_ms,
        .feed_keep_ms = o->feed_keep_ms,
        .feed_keep_rows = o->feed_keep_rows,
        .in = &r->to_writer,
        .db_offset_ms = &r->db_offset_ms,
        .stop = o->stop,
        .waiting = o->waiting,
        .waiting_arg = o->tick_arg,
    });
}

/* Who waits for the writer fell silent after the database did. */
static int64_t silence_ms(const struct run *r) {
    int64_t silence = clock_mono(r->o->clock) - atomic_load(&r->fetch_beat);
    return silence > writer_db_down_ms(r->writer) ? silence : 0;
}

static void tick(const struct run *r) {
    bool over = atomic_load(&r->fetch_over);
    if (!r->o->tick)
        return;
    const struct catchup_view view = {
        .window = r->window,
        .maxitem = r->maxitem,
        .covered = writer_covered(r->writer),
        .illness = ingest_illness(r->ingest),
        .db_down_ms = writer_db_down_ms(r->writer),
        .silence_ms = over ? 0 : silence_ms(r),
        .finishing = over,
    };
    r->o->tick(r->o->tick_arg, &view);
}

static enum verdict run_threads(struct run *r, struct err *e) {
    enum verdict v = thread_start(&r->write_thread, "write", write_main, r, e);
    if (v != V_OK)
        return v;
    atomic_store(&r->fetch_beat, clock_mono(r->o->clock));
    v = thread_start(&r->fetch_thread, "fetch", fetch_main, r, e);
    while (v == V_OK && !atomic_load(&r->fetch_over)) {
        tick(r);
        poll(NULL, 0, TICK_MS);
    }
    if (v == V_OK)
        pthread_join(r->fetch_thread, NULL);
    tick(r);
    queue_close(&r->to_writer);
    pthread_join(r->write_thread, NULL);
    return v;
}

/* The last look: children whose parents came in another process's batch, and what is left. */
static enum verdict look_back(struct run *r, struct catchup_result *ret, struct err *e) {
    struct store *s = r->o->store;
    struct plan plan = {.window = r->window, .width = r->o->segment_width};
    struct plan_report report = {0};
    int64_t adopted;
    enum verdict v = V_OK;
    if (r->end == INGEST_FINISHED)
        v = store_adopt_orphans(s, &adopted, e);
    if (v == V_OK)
        v = plan_step(s, &plan, 0, &report, e);
    if (v == V_OK)
        v = store_unresolved(s, r->window.lo, r->window.hi, &ret->waiting, &ret->dead, e);
    ret->frontier = report.frontier;
    return v;
}

static enum verdict finish(struct run *r, struct catchup_result *ret, struct err *e) {
    enum verdict v = store_recover(r->o->store, e);
    if (v == V_OK)
        v = look_back(r, ret, e);
    while (v == V_RETRY && (v = patience_bear(&r->patience, e)) == V_OK)
        v = look_back(r, ret, e);
    return v;
}

static enum catchup_end end_of(const struct run *r, const struct catchup_result *res,
                               struct err *e) {
    switch (r->end) {
    case INGEST_FINISHED:
        return res->waiting || res->dead ? CATCHUP_UNRESOLVED : CATCHUP_COMPLETE;
    case INGEST_STOPPED:
        return CATCHUP_STOPPED;
    default:
        *e = *ingest_error(r->ingest);
        return CATCHUP_FAILED;
    }
}

static enum verdict run_window(struct run *r, struct catchup_result *ret, struct err *e) {
    make_workers(r);
    enum verdict v = writer_prepare(r->writer, e);
    if (v == V_OK)
        v = run_threads(r, e);
    if (v == V_OK) {
        struct err late;
        v = finish(r, ret, &late);
        if (v != V_OK && r->end == INGEST_FINISHED)
            *e = late;
        else
            v = V_OK; /* what ended the run is the news, not that the last look failed too */
        ret->end = v == V_OK ? end_of(r, ret, e) : CATCHUP_FAILED;
    }
    tick(r);
    ingest_free(r->ingest);
    writer_free(r->writer);
    return v;
}

/* There is nothing to fetch, but the run before this one may have been killed after its last batch
 * and before its last look. */
static enum verdict look_after(const struct run *r, struct catchup_result *ret, struct err *e) {
    struct plan nothing = {.window = {1, 0}, .width = r->o->segment_width};
    struct plan_report report;
    int64_t adopted;
    enum verdict v = store_adopt_orphans(r->o->store, &adopted, e);
    if (v == V_OK)
        v = plan_step(r->o->store, &nothing, 0, &report, e);
    if (v == V_OK)
        ret->frontier = report.frontier;
    return v;
}

enum verdict catchup_run(const struct catchup_options *o, struct catchup_result *ret,
                         struct err *e) {
    *ret = (struct catchup_result){0};
    int64_t begin = clock_mono(o->clock);
    struct run r = {.o = o,
                    .patience = {.store = o->store,
                                 .clock = o->clock,
                                 .stop = o->stop,
                                 .max_outage_ms = o->max_outage_ms,
                                 .waiting = o->waiting,
                                 .waiting_arg = o->tick_arg,
                                 .rng = rng_fresh()}};
    enum verdict v = open_http(&r, e);
    if (v != V_OK)
        return v;
    queue_init(&r.to_writer, QUEUE_SLOTS);
    mailbox_init(&r.mailbox, QUEUE_SLOTS, wake_fetch, r.http);
    bool any = false;
    v = find_window(&r, &any, e);
    ret->end = CATCHUP_NOTHING;
    ret->window = r.window;
    ret->maxitem = r.maxitem;
    ret->frontier.id = metric_get(&m_frontier, 0);
    if (v == V_OK)
        v = any ? run_window(&r, ret, e) : look_after(&r, ret, e);
    ret->duration_ms = clock_mono(o->clock) - begin;
    queue_release(&r.to_writer);
    mailbox_release(&r.mailbox);
    http_free(r.http);
    return v;
}
