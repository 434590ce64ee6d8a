#include "fleet.h"

#include "demo/server_int.h"
#include "store/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEASE 3600000 /* nobody else is here; a jump of the clock must not cost it */

static void wake(void *http) {
    http_wakeup(http);
}

static void start_core(struct fleet *f) {
    const struct range window = {1, 0};
    f->ingest = ingest_new(&(struct ingest_options){
        .clock = &f->a.clock,
        .upstream = f->upstream,
        .http = f->http,
        .window = window,
        .maxitem = &f->tidings.maxitem,
        .concurrency = 64,
        .batch_size = 100,
        .retry = {8, {.initial_ms = 500, .max_ms = 30000}},
        .heartbeat_ms = 5000,
        .max_outage_ms = INT64_MAX / 4,
        .to_writer = &f->to_writer,
        .mailbox = &f->mailbox,
        .calls = &f->calls,
        .ids = f->ids,
        .endless = true,
        .db_offset_ms = &f->tidings.db_offset_ms,
        .stop = &f->stop,
        .seed = 1,
    });
    f->writer = writer_new(&(struct writer_options){
        .clock = &f->a.clock,
        .store = f->a.s,
        .plan = {.window = window, .width = 100, .newest_first = f->o.recent_days > 0},
        .provider = "test",
        .maxitem = &f->tidings.maxitem,
        .follow = true,
        .recent_days = f->o.recent_days,
        .index_share = 0.1,
        .max_outage_ms = 60000,
        .in = &f->to_writer,
        .db_offset_ms = &f->tidings.db_offset_ms,
        .stop = &f->stop,
    });
}

static void start_workers(struct fleet *f) {
    for (int i = 0; i < FLEET_WORKERS; i++)
        f->workers[i] = realtime_new(&(struct realtime_options){.clock = &f->a.clock,
                                                                .ids = f->ids,
                                                                .calls = &f->calls,
                                                                .to_writer = &f->to_writer,
                                                                .tidings = &f->tidings,
                                                                .token = &f->token,
                                                                .window = 32,
                                                                .batch_size = 100,
                                                                .attempts = 3,
                                                                .dlq_rounds = 12,
                                                                .stop = &f->stop,
                                                                .seed = 2});
}

static void start_chores(struct fleet *f) {
    f->chores = chores_new(&(struct chores_options){.clock = &f->a.clock,
                                                    .ids = f->ids,
                                                    .names = &f->names,
                                                    .calls = &f->calls,
                                                    .to_writer = &f->to_writer,
                                                    .tidings = &f->tidings,
                                                    .token = &f->token,
                                                    .lease_ms = LEASE,
                                                    .catchup_interval_ms = 15000,
                                                    .lists_interval_ms = 60000,
                                                    .rescan_interval_ms = 6 * 3600000,
                                                    .persist_interval_ms = 60000,
                                                    .startup_rescan_days = f->o.replay_days,
                                                    .rescan_window_days = f->o.rescan_days,
                                                    .segment_width = 100,
                                                    .stop = &f->stop,
                                                    .seed = 3});
}

static void start_live(struct fleet *f) {
    struct err e;
    assert_ok(live_new(&(struct live_options){.clock = &f->a.clock,
                                              .upstream = f->upstream,
                                              .user_agent = "test",
                                              .connect_timeout_ms = 120000,
                                              .stream_timeout_ms = 60000,
                                              .outage_rescan_after_ms = 300000,
                                              .poll_ms = 5000,
                                              .gap_queue_max = f->o.gap_queue_max,
                                              .segment_width = 100,
                                              .ids = f->ids,
                                              .names = &f->names,
                                              .calls = &f->calls,
                                              .to_writer = &f->to_writer,
                                              .tidings = &f->tidings,
                                              .stop = &f->stop,
                                              .seed = 4},
                       &f->live, &e));
}

static void start(struct fleet *f) {
    struct err e;
    int64_t token;
    const struct http_options http = {.clock = &f->a.clock,
                                      .max_connections = 64,
                                      .user_agent = "test",
                                      .connect_timeout_ms = 120000,
                                      .timeout_ms = 120000,
                                      .max_body = 1 << 20,
                                      .max_redirects = 5};
    assert_ok(http_new(&http, &f->http, &e));
    assert_ok(stop_init(&f->stop, &e));
    queue_init(&f->to_writer, 512);
    queue_init(&f->names, 4096);
    mailbox_init(&f->mailbox, 512, wake, f->http);
    f->calls = (struct calls){.wake = wake, .wake_arg = f->http};
    queue_init(&f->calls.queue, 4096);
    memset(&f->tidings, 0, sizeof f->tidings);
    f->ids = keyqueue_new(
        &(struct keyqueue_options){.clock = &f->a.clock, .cap = f->o.channel, .rest_ms = 500});
    assert_ok(store_updater_acquire(f->a.s, "fleet", LEASE, &token, &e));
    f->token = token;
    start_core(f);
    assert_ok(writer_prepare(f->writer, &e));
    start_workers(f);
    start_chores(f);
    start_live(f);
}

/* As the end of the process would: nothing more is written, whatever is on its way. */
static void drop(struct fleet *f) {
    ingest_free(f->ingest); /* every call comes back, cancelled */
    queue_close(&f->to_writer);
    struct job *j;
    while ((j = queue_pop(&f->to_writer, 0))) {
        j->verdict = err_set(&j->err, V_STOPPED, "test", 0, "the process is gone");
        mailbox_put(j->reply, j);
    }
    for (int i = 0; i < FLEET_WORKERS; i++)
        realtime_free(f->workers[i]);
    chores_free(f->chores);
    live_free(f->live);
    while ((j = mailbox_take(&f->mailbox, 0))) {
        batch_free(j->batch);
        arena_release(&j->arena);
        free(j);
    }
    char *name;
    while ((name = queue_pop(&f->names, 0)))
        free(name);
    writer_free(f->writer);
    keyqueue_free(f->ids);
    mailbox_release(&f->mailbox);
    queue_release(&f->calls.queue);
    queue_release(&f->names);
    queue_release(&f->to_writer);
    http_free(f->http);
    stop_release(&f->stop);
}

void fleet_open(struct fleet *f, const struct fleet_options *o) {
    struct err e;
    *f = (struct fleet){.o = *o, .step_ms = 5};
    archive_open(&f->a);
    f->o.rescan_days = o->rescan_days > 0 ? o->rescan_days : 3;
    f->o.replay_days = o->replay_days > 0 ? o->replay_days : 3;
    f->o.channel = o->channel ? o->channel : 4096;
    f->o.gap_queue_max = o->gap_queue_max ? o->gap_queue_max : 1000;
    size_t n = 0;
    while (n < ARRAY_LEN(o->faults) && o->faults[n])
        n++;
    struct corpus_rates tame = corpus_rates_tame();
    const struct demo_options demo = {.seed = 7,
                                      .maxitem = o->maxitem,
                                      .first_time = T0 / 1000 - 7 * o->maxitem,
                                      .rates = &tame,
                                      .faults = o->faults,
                                      .n_faults = n,
                                      .clock = &f->a.clock};
    assert_ok(demo_start(&demo, &f->demo, &e));
    snprintf(f->upstream, sizeof f->upstream, "http://127.0.0.1:%d/v0", demo_port(f->demo));
    start(f);
}

void fleet_close(struct fleet *f) {
    drop(f);
    demo_stop(f->demo);
    archive_close(&f->a);
}

void fleet_kill_and_start(struct fleet *f) {
    drop(f);
    start(f);
}

void fleet_round(struct fleet *f) {
    struct err e;
    int64_t now = clock_mono(&f->a.clock);
    assert_ok(live_step(f->live, now, &e));
    assert_ok(chores_step(f->chores, 0, &e));
    for (int i = 0; i < FLEET_WORKERS; i++)
        assert_ok(realtime_step(f->workers[i], 0, &e));
    int64_t patience = http_inflight(f->http) ? 1000 : 0;
    assert_int_equal(ingest_step(f->ingest, now + patience), INGEST_RUNNING);
    for (int i = 0; i < 16; i++)
        writer_step(f->writer, 0);
    clock_advance(&f->a.clock, f->step_ms);
}

void fleet_pass(struct fleet *f, int64_t ms, int64_t step_ms) {
    int64_t until = clock_mono(&f->a.clock) + ms, usual = f->step_ms;
    f->step_ms = step_ms;
    while (clock_mono(&f->a.clock) < until)
        fleet_round(f);
    f->step_ms = usual;
}

void fleet_until(struct fleet *f, const char *wanted, const char *sql) {
    for (int64_t until = patience(); patient(until);) {
        if (strcmp(archive_ask(&f->a, "%s", sql), wanted) == 0)
            return;
        fleet_round(f);
    }
    fail_msg("%s answers '%s', not '%s'", sql, archive_ask(&f->a, "%s", sql), wanted);
}

void fleet_until_connected(struct fleet *f, bool connected) {
    for (int64_t until = patience();
         patient(until) && atomic_load(&f->tidings.connected) != connected;)
        fleet_round(f);
    assert_int_equal(atomic_load(&f->tidings.connected), connected);
}

/* The first id whose row is not what the upstream says; 0: there is none. */
static int64_t first_difference(struct fleet *f) {
    struct corpus *c = demo_corpus(f->demo);
    struct arena arena;
    struct strbuf body;
    arena_init(&arena);
    strbuf_init(&body, 1 << 20);
    int64_t found = 0;
    for (int64_t id = 1; id <= corpus_maxitem(c) && !found; id++) {
        struct item it;
        char wanted[64] = "";
        strbuf_clear(&body);
        arena_reset(&arena);
        corpus_item(c, id, &body);
        if (item_parse(&arena, strbuf_str(&body), id, &it) == ITEM_OK) {
            item_derive(&arena, &it);
            snprintf(wanted, sizeof wanted, "%lld|%lld|%lld", (long long)it.content_hash,
                     (long long)it.kids_hash, it.score == I64_NONE ? -1LL : (long long)it.score);
        }
        const char *have = archive_ask(
            &f->a, "SELECT content_hash, kids_hash, COALESCE(score, -1) FROM items WHERE id = %lld",
            (long long)id);
        if (strcmp(have, wanted) != 0)
            found = id;
    }
    strbuf_release(&body);
    arena_release(&arena);
    return found;
}

void fleet_until_true(struct fleet *f, const char *what) {
    int64_t begin = clock_mono(&f->a.clock), id = 0;
    for (int64_t until = patience(); patient(until);) {
        id = first_difference(f);
        if (id == 0) {
            print_message("%s: true after %.1f s by the clock\n", what,
                          (double)(clock_mono(&f->a.clock) - begin) / 1000);
            return;
        }
        for (int i = 0; i < 20; i++)
            fleet_round(f);
    }
    fail_msg("%s: id %lld is not what the upstream has", what, (long long)id);
}
