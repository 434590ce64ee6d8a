#include "rig.h"

#include "demo/server_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUEUE_SLOTS 64

static void wake(void *http) {
    http_wakeup(http);
}

static void start_run(struct rig *r) {
    struct err e;
    const struct http_options http = {.clock = &r->a.clock,
                                      .max_connections = r->o.concurrency,
                                      .user_agent = "test",
                                      .connect_timeout_ms = 120000,
                                      .timeout_ms = 120000,
                                      .max_body = 1 << 20,
                                      .max_redirects = 5};
    assert_ok(http_new(&http, &r->http, &e));
    assert_ok(stop_init(&r->stop, &e));
    queue_init(&r->to_writer, QUEUE_SLOTS);
    mailbox_init(&r->mailbox, QUEUE_SLOTS, wake, r->http);
    r->calls = (struct calls){.wake = wake, .wake_arg = r->http};
    queue_init(&r->calls.queue, QUEUE_SLOTS);
    r->maxitem = r->o.maxitem;
    r->writer = writer_new(&(struct writer_options){
        .clock = &r->a.clock,
        .store = r->a.s,
        .plan = {.window = r->o.window, .width = r->o.width},
        .provider = "test",
        .rps = r->o.rps,
        .maxitem = &r->maxitem,
        .follow = r->o.endless,
        .max_outage_ms = r->o.max_outage_ms,
        .in = &r->to_writer,
        .db_offset_ms = &r->db_offset_ms,
        .stop = &r->stop,
    });
    r->ingest = ingest_new(&(struct ingest_options){
        .clock = &r->a.clock,
        .upstream = r->upstream,
        .http = r->http,
        .window = r->o.window,
        .maxitem = &r->maxitem,
        .concurrency = r->o.concurrency,
        .batch_size = r->o.batch_size,
        .rps = r->o.rps,
        .retry = {r->o.max_attempts, {.initial_ms = 10, .max_ms = 80}},
        .heartbeat_ms = 5000,
        .wait_ms = r->o.wait_ms,
        .max_outage_ms = r->o.max_outage_ms,
        .to_writer = &r->to_writer,
        .mailbox = &r->mailbox,
        .calls = &r->calls,
        .endless = r->o.endless,
        .db_offset_ms = &r->db_offset_ms,
        .stop = &r->stop,
        .seed = 1,
    });
    assert_ok(writer_prepare(r->writer, &e));
}

static void end_run(struct rig *r) {
    queue_close(&r->to_writer);
    while (writer_step(r->writer, 0))
        ;
    ingest_free(r->ingest);
    struct job *j;
    while ((j = mailbox_take(&r->mailbox, 0))) {
        batch_free(j->batch);
        arena_release(&j->arena);
        free(j);
    }
    writer_free(r->writer);
    http_free(r->http);
    queue_release(&r->to_writer);
    mailbox_release(&r->mailbox);
    queue_release(&r->calls.queue);
    stop_release(&r->stop);
}

void rig_open(struct rig *r, const struct rig_options *o) {
    struct err e;
    *r = (struct rig){.o = *o, .step_ms = 5};
    archive_open(&r->a);
    if (!r->o.maxitem)
        r->o.maxitem = o->window.hi;
    if (!r->o.width)
        r->o.width = 50;
    if (!r->o.batch_size)
        r->o.batch_size = 20;
    if (!r->o.concurrency)
        r->o.concurrency = 64;
    if (!r->o.max_attempts)
        r->o.max_attempts = 8;
    if (!r->o.max_outage_ms)
        r->o.max_outage_ms = 600000;
    struct corpus_rates tame = corpus_rates_tame();
    size_t n = 0;
    while (n < ARRAY_LEN(o->faults) && o->faults[n])
        n++;
    const struct demo_options demo = {.seed = 7,
                                      .maxitem = r->o.maxitem,
                                      .rates = &tame,
                                      .faults = o->faults,
                                      .n_faults = n,
                                      .clock = &r->a.clock};
    assert_ok(demo_start(&demo, &r->demo, &e));
    snprintf(r->upstream, sizeof r->upstream, "http://127.0.0.1:%d/v0", demo_port(r->demo));
    start_run(r);
}

void rig_again(struct rig *r) {
    end_run(r);
    start_run(r);
}

void rig_close(struct rig *r) {
    end_run(r);
    demo_stop(r->demo);
    archive_close(&r->a);
}

void rig_set_faults(struct rig *r, const char *spec) {
    struct err e;
    assert_ok(demo_set_faults(r->demo, &spec, spec ? 1 : 0, &e));
}

enum ingest_end rig_round(struct rig *r) {
    /* with nothing in flight there is nothing to wait for but the clock, which moves below */
    int64_t patience = http_inflight(r->http) ? 1000 : 0;
    enum ingest_end end = ingest_step(r->ingest, clock_mono(&r->a.clock) + patience);
    for (int i = 0; i < 8; i++)
        writer_step(r->writer, 0);
    clock_advance(&r->a.clock, r->step_ms);
    return end;
}

enum ingest_end rig_run(struct rig *r) {
    for (int64_t until = patience(); patient(until);) {
        enum ingest_end end = rig_round(r);
        if (end != INGEST_RUNNING)
            return end;
    }
    fail_msg("the run does not end: %s",
             archive_ask(&r->a, "SELECT status, COUNT(*) FROM ingest_segments GROUP BY 1"));
    return INGEST_RUNNING;
}

void rig_until(struct rig *r, const char *wanted, const char *sql) {
    for (int64_t until = patience(); patient(until);) {
        if (strcmp(archive_ask(&r->a, "%s", sql), wanted) == 0)
            return;
        if (rig_round(r) != INGEST_RUNNING)
            break;
    }
    fail_msg("%s answers '%s', not '%s'", sql, archive_ask(&r->a, "%s", sql), wanted);
}

unsigned rig_asked(struct rig *r, int64_t id) {
    return hits_add(r->demo->stats.hits, id) - 1;
}

void rig_check_cursors(struct rig *r) {
    assert_string_equal(
        archive_ask(&r->a, "WITH RECURSIVE ids (id, hi) AS (SELECT start_id, scan_cursor_id "
                           "FROM ingest_segments WHERE scan_cursor_id >= start_id "
                           "UNION ALL SELECT id + 1, hi FROM ids WHERE id < hi) "
                           "SELECT id FROM ids WHERE id NOT IN (SELECT id FROM items) "
                           "AND id NOT IN (SELECT item_id FROM ingest_exceptions)"),
        "");
}
