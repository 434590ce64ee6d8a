#include "desk.h"

#include "store/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void nobody_sleeps(void *arg UNUSED) {
}

void desk_open(struct desk *d, size_t queue_cap) {
    memset(d, 0, sizeof *d);
    archive_open(&d->a);
    d->ids = keyqueue_new(
        &(struct keyqueue_options){.clock = &d->a.clock, .cap = queue_cap, .rest_ms = 0});
    queue_init(&d->names, 8192);
    queue_init(&d->to_writer, 64);
    queue_init(&d->calls.queue, DESK_CALLS);
    d->calls.wake = nobody_sleeps;
    d->tidings.db_offset_ms = T0 - clock_mono(&d->a.clock);
    struct err e;
    int64_t token = 0;
    assert_ok(stop_init(&d->stop, &e));
    assert_ok(store_updater_acquire(d->a.s, "here", LEASE, &token, &e));
    d->token = token;
}

void desk_begin(struct desk *d) {
    d->c = chores_new(&(struct chores_options){
        .clock = &d->a.clock,
        .ids = d->ids,
        .names = &d->names,
        .calls = &d->calls,
        .to_writer = &d->to_writer,
        .tidings = &d->tidings,
        .token = &d->token,
        .lease_ms = LEASE,
        .catchup_interval_ms = 15000,
        .lists_interval_ms = 60000,
        .rescan_interval_ms = 6 * 3600000,
        .persist_interval_ms = 60000,
        .startup_rescan_days = 3,
        .rescan_window_days = 1.5,
        .segment_width = 1000,
        .stop = &d->stop,
        .seed = 1,
    });
}

void desk_close(struct desk *d) {
    desk_cancel_calls(d);
    desk_write(d);
    chores_free(d->c);
    char *name;
    while ((name = queue_pop(&d->names, 0)))
        free(name);
    keyqueue_free(d->ids);
    queue_release(&d->names);
    queue_release(&d->to_writer);
    queue_release(&d->calls.queue);
    stop_release(&d->stop);
    archive_close(&d->a);
}

enum verdict desk_step(struct desk *d) {
    return chores_step(d->c, 0, &d->err);
}

static void run(struct desk *d, struct job *j) {
    assert_int_equal(j->letter, LETTER_JOB);
    assert_int_equal(j->kind, JOB_RUN);
    j->verdict = j->run(d->a.s, j->arg, &j->err);
    assert_int_not_equal(j->verdict, V_RETRY);
}

int desk_write(struct desk *d) {
    struct job *j;
    int n = 0;
    for (; (j = queue_pop(&d->to_writer, 0)); n++) {
        run(d, j);
        mailbox_put(j->reply, j);
    }
    return n;
}

void desk_refuse(struct desk *d, enum verdict v) {
    struct job *j = queue_pop(&d->to_writer, 0);
    assert_non_null(j);
    j->verdict = err_set(&j->err, v, "test", 0, "the writer will not");
    mailbox_put(j->reply, j);
}

void desk_settle(struct desk *d) {
    for (int i = 0; i < 1000; i++) {
        enum verdict v = desk_step(d);
        if (v != V_OK)
            fail_msg("%s: %s", verdict_name(v), d->err.msg);
        if (desk_write(d) == 0)
            return;
    }
    fail_msg("there is no end to what is written");
}

void desk_after(struct desk *d, int64_t ms) {
    clock_advance(&d->a.clock, ms);
    desk_settle(d);
}

int64_t desk_now_db(const struct desk *d) {
    return clock_mono(&d->a.clock) + atomic_load(&d->tidings.db_offset_ms);
}

static void take_calls(struct desk *d) {
    struct call *c;
    while ((c = queue_pop(&d->calls.queue, 0))) {
        assert_int_equal(c->letter, LETTER_CALL);
        assert_int_equal(c->id, 0);
        assert_true(d->n_open < DESK_CALLS);
        c->started_db = desk_now_db(d);
        c->retry_after_ms = -1;
        d->open[d->n_open++] = c;
    }
}

int desk_asked(struct desk *d, const char *path) {
    int n = 0;
    take_calls(d);
    for (int i = 0; i < d->n_open; i++)
        n += strcmp(d->open[i]->path, path) == 0;
    return n;
}

void desk_answer(struct desk *d, const char *path, enum net_class cls, const char *body) {
    take_calls(d);
    for (int i = 0; i < d->n_open; i++) {
        struct call *c = d->open[i];
        if (strcmp(c->path, path) != 0)
            continue;
        d->open[i] = d->open[--d->n_open];
        c->cls = cls;
        strbuf_clear(&c->body);
        if (cls == NET_OK)
            strbuf_adds(&c->body, body);
        snprintf(c->detail, sizeof c->detail, "%s", cls == NET_OK ? "" : "what curl said");
        mailbox_put(c->reply, c);
        return;
    }
    fail_msg("nobody asked for %s", path);
}

void desk_maxitem(struct desk *d, int64_t maxitem) {
    char body[32];
    snprintf(body, sizeof body, "%lld", (long long)maxitem);
    desk_settle(d);
    desk_answer(d, "/maxitem.json", NET_OK, body);
    desk_settle(d);
}

void desk_cancel_calls(struct desk *d) {
    take_calls(d);
    while (d->n_open) {
        struct call *c = d->open[--d->n_open];
        c->cancelled = true;
        mailbox_put(c->reply, c);
    }
}

void desk_items(struct desk *d, int64_t lo, int64_t hi, int64_t last_time) {
    archive_ask(&d->a,
                "WITH RECURSIVE ids (id) AS (SELECT %lld UNION ALL SELECT id + 1 FROM ids "
                "WHERE id < %lld) INSERT INTO items (id, type, time, content_hash, kids_hash, "
                "first_seen_at, last_fetched_at, last_changed_at) "
                "SELECT id, 'comment', %lld - (%lld - id) * 60, 1, 0, 1, 1, 1 FROM ids",
                (long long)lo, (long long)hi, (long long)last_time, (long long)hi);
}

void desk_scanned(struct desk *d, int64_t lo, int64_t hi) {
    archive_ask(&d->a,
                "INSERT INTO ingest_segments (start_id, end_id, purpose, status, scan_cursor_id) "
                "VALUES (%lld, %lld, 'mirror', 'done', %lld)",
                (long long)lo, (long long)hi, (long long)hi);
}
