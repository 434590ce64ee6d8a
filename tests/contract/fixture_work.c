/* The part of the fixture that makes segments, claims and batches. */
#include "fixture.h"

#include "base/thread.h"
#include "store/live.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WIDE_END 100000

int64_t add_segment(struct fix *f, enum purpose p, int64_t lo, int64_t hi) {
    struct err e;
    int64_t added;
    assert_ok(store_plan_begin(f->s, &e));
    enum verdict v = store_add_segments(f->s, p, &lo, &hi, 1, &added, &e);
    assert_ok(store_plan_end(f->s, v, &e));
    assert_int_equal(added, 1);
    return qi(f, "SELECT MAX(segment_id) FROM ingest_segments");
}

enum verdict try_claim(struct fix *f, struct store *s, int64_t lo, int64_t hi, struct claim *ret) {
    struct err e;
    return store_claim(s, "me", &(struct claim_ask){lo, hi, PURPOSE_RESCAN}, &f->arena, ret, &e);
}

struct claim claim_one(struct fix *f, int64_t lo, int64_t hi) {
    struct err e;
    struct claim c;
    assert_ok(
        store_claim(f->s, "me", &(struct claim_ask){lo, hi, PURPOSE_RESCAN}, &f->arena, &c, &e));
    return c;
}

struct claim claim_new(struct fix *f, enum purpose p, int64_t lo, int64_t hi) {
    int64_t id = add_segment(f, p, lo, hi);
    struct claim c = claim_one(f, lo, hi);
    assert_int_equal(c.segment_id, id);
    return c;
}

void reclaim(struct fix *f) {
    struct err e;
    assert_ok(store_reclaim(f->s, &e));
}

struct batch *batch_for(const struct claim *c, int64_t cursor, bool release) {
    struct batch *b = batch_new();
    b->segment_id = c->segment_id;
    b->lease_token = c->lease_token;
    b->end_id = c->end_id;
    b->purpose = c->purpose;
    b->cursor = cursor;
    b->release = release;
    return b;
}

struct batch *wide_batch(struct fix *f) {
    if (!f->wide.segment_id)
        f->wide = claim_new(f, PURPOSE_MIRROR, 1, WIDE_END);
    return batch_for(&f->wide, 0, false);
}

void put_item(struct batch *b, int64_t fetched_at, const char *json) {
    char *text = arena_strdup(&b->arena, json);
    for (char *p = text; *p; p++)
        if (*p == '\'')
            *p = '"';
    struct batch_item *it = batch_add_item(b);
    it->fetched_at = fetched_at;
    assert_int_equal(item_parse(&b->arena, str_of(text), 0, &it->item), ITEM_OK);
}

struct batch_exception *put_exception(struct batch *b, int64_t id, enum exception_state state,
                                      const char *cls) {
    struct batch_exception *ex = batch_add_exception(b);
    ex->id = id;
    ex->state = state;
    ex->cls = cls;
    ex->error = STR("it did not work");
    return ex;
}

struct apply_stats apply_ok(struct store *s, struct batch *b) {
    struct apply_stats stats;
    struct err e;
    assert_ok(store_apply(s, b, &stats, &e));
    batch_free(b);
    return stats;
}

enum verdict apply_verdict(struct store *s, struct batch *b) {
    struct apply_stats stats;
    struct err e;
    enum verdict v = store_apply(s, b, &stats, &e);
    batch_free(b);
    return v;
}

struct apply_stats store_item(struct fix *f, int64_t fetched_at, const char *json) {
    struct batch *b = wide_batch(f);
    put_item(b, fetched_at, json);
    return apply_ok(f->s, b);
}

void be_updater(struct fix *f) {
    struct err e;
    assert_ok(store_updater_acquire(f->s, "me", LEASE_MS, &f->token, &e));
}

struct batch *live_batch(struct fix *f) {
    struct batch *b = batch_new();
    if (!f->token)
        be_updater(f);
    b->lease_token = f->token;
    return b;
}

struct apply_stats apply_live_ok(struct fix *f, struct batch *b) {
    struct apply_stats stats;
    struct err e;
    assert_ok(store_apply_live(f->s, b, &stats, &e));
    batch_free(b);
    return stats;
}

void dead_identity(char *out, size_t size) {
    int pipe_fd[2];
    assert_int_equal(pipe(pipe_fd), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char name[200] = "";
        process_identity(name, sizeof name);
        _exit(write(pipe_fd[1], name, sizeof name) == sizeof name ? 0 : 1);
    }
    char name[200];
    assert_int_equal(read(pipe_fd[0], name, sizeof name), sizeof name);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(pipe_fd[0]);
    close(pipe_fd[1]);
    snprintf(out, size, "%s", name);
}
