/* What is new in the archive reaches the streams: each change once, in pages, behind the mark; the
 * keep-alive; and a database that goes away and comes back. A step at a time, with a manual clock.
 */
#include "hn/updates.h"
#include "store/live.h"
#include "web/herald.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define T0 INT64_C(1700000000000)

struct rig {
    char folder[64], path[96], uri[128];
    struct clock clock;
    struct store_options options;
    struct store *writer;
    struct stream_hub *hub;
    struct herald *herald;
    int wakes;
};

static void count_wake(void *connection) {
    ((struct rig *)connection)->wakes++;
}
static bool never(void *connection UNUSED) {
    return false;
}

static int open_rig(void **state) {
    struct rig *r = xcalloc(1, sizeof *r);
    struct err e;
    clock_manual_init(&r->clock, 1000, T0);
    strcpy(r->folder, "/tmp/tain-herald-XXXXXX");
    assert_non_null(mkdtemp(r->folder));
    snprintf(r->path, sizeof r->path, "%s/a.db", r->folder);
    snprintf(r->uri, sizeof r->uri, "sqlite:%s", r->path);
    r->options = (struct store_options){.uri = r->uri, .clock = &r->clock};
    assert_int_equal(store_open(&r->options, &r->writer, &e), V_OK);
    const struct stream_door door = {count_wake, never};
    r->hub = stream_hub_new(&door, 10);
    const struct herald_options o = {.store = &r->options, .hub = r->hub, .clock = &r->clock};
    r->herald = herald_new(&o);
    *state = r;
    return 0;
}

static int close_rig(void **state) {
    struct rig *r = *state;
    herald_free(r->herald);
    stream_hub_free(r->hub);
    store_close(r->writer);
    const char *const ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        char path[128];
        snprintf(path, sizeof path, "%s%s", r->path, ends[i]);
        unlink(path);
    }
    rmdir(r->folder);
    free(r);
    return 0;
}

static void put_user(struct rig *r, const char *name, int64_t karma) {
    struct err e;
    int64_t changed;
    struct user_answer a = {.name = str_of(name), .exists = true, .fetched_at = T0};
    a.user = (struct user){.id = a.name, .created = 1, .karma = karma, .content_hash = karma};
    assert_int_equal(store_put_users(r->writer, &a, 1, &changed, &e), V_OK);
}

static void step(struct rig *r, int64_t ms) {
    struct err e;
    int wait_ms;
    clock_advance(&r->clock, ms);
    assert_int_equal(herald_step(r->herald, &wait_ms, &e), V_OK);
    assert_in_range(wait_ms, 1, HERALD_POLL_MS);
}

static const char *heard(struct stream_client *c) {
    static char text[1 << 16];
    size_t n = 0;
    ptrdiff_t got;
    while ((got = stream_read(c, text + n, 100)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    return text;
}

#define PUT "event: put\ndata: {\"path\":\"/\",\"data\":"
#define PATCH "event: patch\ndata: {\"path\":\"/\",\"data\":"

static void first_all_then_what_changed(void **state) {
    struct rig *r = *state;
    put_user(r, "a", 1);
    step(r, 0);
    struct stream_client *c = stream_join(r->hub, TOPIC_UPDATES, r);
    struct stream_client *m = stream_join(r->hub, TOPIC_MAXITEM, r);
    assert_string_equal(heard(c), PUT "{\"items\":[],\"profiles\":[\"a\"]}}\n\n");
    assert_string_equal(heard(m), PUT "0}\n\n");
    step(r, HERALD_POLL_MS);
    assert_int_equal(r->wakes, 0);
    put_user(r, "b", 1);
    put_user(r, "a", 2);
    step(r, HERALD_POLL_MS - 1);
    assert_int_equal(r->wakes, 0); /* not yet */
    step(r, 1);
    assert_int_equal(r->wakes, 1);
    assert_string_equal(heard(c), PATCH "{\"profiles\":[\"b\",\"a\"]}}\n\n");
    struct stream_client *late = stream_join(r->hub, TOPIC_UPDATES, r);
    assert_string_equal(heard(late), PUT "{\"items\":[],\"profiles\":[\"a\",\"b\"]}}\n\n");
    assert_string_equal(heard(m), "");
    stream_leave(c);
    stream_leave(m);
    stream_leave(late);
}

static void a_flood_comes_in_pages_and_completely(void **state) {
    struct rig *r = *state;
    enum { N = 2500 };
    static struct user_answer all[N];
    static char names[N][16];
    struct err e;
    int64_t changed;
    step(r, 0);
    struct stream_client *c = stream_join(r->hub, TOPIC_UPDATES, r);
    heard(c);
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        all[i] = (struct user_answer){.name = str_of(names[i]), .exists = true, .fetched_at = T0};
        all[i].user = (struct user){.id = all[i].name, .content_hash = 1 + i};
    }
    assert_int_equal(store_put_users(r->writer, all, N, &changed, &e), V_OK);
    step(r, HERALD_POLL_MS);
    const char *text = heard(c);
    int frames = 0, n = 0;
    for (const char *p = text; (p = strstr(p, "event: patch")); p++)
        frames++;
    for (const char *p = text; (p = strstr(p, "\"n")); p++)
        n++;
    assert_int_equal(frames, 3);
    assert_int_equal(n, N);
    stream_leave(c);
}

static void beats(void **state) {
    struct rig *r = *state;
    step(r, 0);
    struct stream_client *c = stream_join(r->hub, TOPIC_MAXITEM, r);
    heard(c);
    step(r, HERALD_KEEP_ALIVE_MS - 1);
    assert_string_equal(heard(c), "");
    step(r, 1);
    assert_string_equal(heard(c), STREAM_KEEP_ALIVE);
    step(r, HERALD_KEEP_ALIVE_MS);
    assert_string_equal(heard(c), STREAM_KEEP_ALIVE);
    stream_leave(c);
}

static void run_sql(struct rig *r, const char *sql) {
    sqlite3 *db;
    assert_int_equal(sqlite3_open(r->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* Streams stay open, are kept alive, and hear what happened meanwhile. */
static void the_archive_goes_away_and_comes_back(void **state) {
    struct rig *r = *state;
    struct err e;
    int wait_ms;
    step(r, 0);
    struct stream_client *c = stream_join(r->hub, TOPIC_UPDATES, r);
    heard(c);
    run_sql(r, "ALTER TABLE items RENAME TO away");
    clock_advance(&r->clock, HERALD_KEEP_ALIVE_MS);
    assert_int_not_equal(herald_step(r->herald, &wait_ms, &e), V_OK);
    assert_string_equal(heard(c), STREAM_KEEP_ALIVE);
    run_sql(r, "ALTER TABLE away RENAME TO items");
    put_user(r, "a", 1);
    step(r, 1000);
    assert_string_equal(heard(c), PATCH "{\"profiles\":[\"a\"]}}\n\n");
    stream_leave(c);
}

static const char *wait_for(struct stream_client *c) {
    for (int i = 0; i < 120000; i++) {
        const char *text = heard(c);
        if (*text)
            return text;
        usleep(1000);
    }
    return "nothing";
}

static void a_thread_of_its_own(void **state) {
    struct rig *r = *state;
    struct herald *l;
    struct err e;
    const struct herald_options o = {.store = &r->options, .hub = r->hub, .clock = &clock_machine};
    put_user(r, "a", 1);
    assert_int_equal(herald_start(&o, &l, &e), V_OK);
    struct stream_client *c = stream_join(r->hub, TOPIC_UPDATES, r);
    assert_string_equal(wait_for(c), PUT "{\"items\":[],\"profiles\":[\"a\"]}}\n\n");
    put_user(r, "b", 1);
    herald_ring(l);
    assert_string_equal(wait_for(c), PATCH "{\"profiles\":[\"b\"]}}\n\n");
    herald_stop(l);
    stream_leave(c);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
    const struct CMUnitTest tests[] = {
        CASE(first_all_then_what_changed),
        CASE(a_flood_comes_in_pages_and_completely),
        CASE(beats),
        CASE(the_archive_goes_away_and_comes_back),
        CASE(a_thread_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
