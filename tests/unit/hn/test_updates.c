#include "hn/event_stream.h"
#include "hn/updates.h"
#include "shared_data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static struct arena arena;

static int set_up(void **state) {
    (void)state;
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    arena_release(&arena);
    return 0;
}

/* "kind: 1 2 3; name name" */
static void put_updates(struct strbuf *out, enum updates_kind kind, const struct updates *u) {
    strbuf_addf(out, "%s:", updates_kind_name(kind));
    for (size_t i = 0; i < u->n_items; i++)
        strbuf_addf(out, " %lld", (long long)u->items[i]);
    strbuf_addc(out, ';');
    for (size_t i = 0; i < u->n_profiles; i++)
        strbuf_addf(out, " %.*s", STR_FMT(u->profiles[i]));
}

static const struct {
    const char *type, *data, *want;
} cases[] = {
    {"put", "{\"path\":\"/\",\"data\":{\"items\":[3,1,2],\"profiles\":[\"pg\",\"dang\"]}}",
     "changes: 3 1 2; pg dang"},
    {"put", "{\"data\":{\"profiles\":[\"pg\"],\"items\":[3]},\"path\":\"/\"}", "changes: 3; pg"},
    {"put", " { \"path\" : \"/items\" , \"data\" : [ 5 , 6 ] } ", "changes: 5 6;"},
    {"put", "{\"path\":\"/items/7\",\"data\":42}", "changes: 42;"},
    {"put", "{\"path\":\"/profiles\",\"data\":[\"a\",\"b\"]}", "changes:; a b"},
    {"put", "{\"path\":\"/profiles/0\",\"data\":\"a\"}", "changes:; a"},
    {"patch", "{\"path\":\"/\",\"data\":{\"items\":[9]}}", "changes: 9;"},
    {"patch", "{\"path\":\"/items\",\"data\":{\"0\":9,\"17\":8}}", "changes: 9 8;"},
    {"patch", "{\"path\":\"/\",\"data\":{\"items/3\":4,\"profiles/0\":\"a\"}}", "changes: 4; a"},
    /* odd shapes */
    {"put", "{\"path\":\"/\",\"data\":{\"items\":{\"0\":1,\"1\":2},\"profiles\":{\"x\":\"a\"}}}",
     "changes: 1 2; a"},
    {"put", "{\"path\":\"/\",\"data\":{\"items\":5,\"profiles\":\"a\"}}", "changes: 5; a"},
    {"put", "{\"path\":\"/items\",\"data\":[\"12\",13.0,null,0,-4,1.5,\"x\",[7],{\"a\":8},true]}",
     "changes: 12 13;"},
    {"put", "{\"path\":\"/profiles\",\"data\":[\"\",1,null,\"a b\",\"\\u00e9\"]}",
     "changes:; a b \u00e9"},
    {"put", "{\"path\":\"/items\",\"data\":[1,1,1]}", "changes: 1 1 1;"},
    {"put", "{\"path\":\"/\",\"data\":null}", "changes:;"},
    {"put", "{\"path\":\"/items\",\"data\":null}", "changes:;"},
    {"put", "{\"path\":\"/\",\"data\":{\"items\":null}}", "changes:;"},
    {"put", "{\"path\":\"/\",\"data\":[1,2]}", "changes:;"},
    {"put", "{\"path\":\"/\",\"data\":{\"\":[1],\"/\":[2],\"other\":[3]}}", "changes:;"},
    {"put", "{\"path\":\"/other\",\"data\":[1,2]}", "changes:;"},
    {"put", "{\"path\":\"/items/1/2\",\"data\":3}", "changes:;"},
    {"put", "{\"path\":\"\",\"data\":{\"items\":[3]}}", "changes: 3;"},
    {"put", "{\"path\":\"/items/\",\"data\":[3]}", "changes: 3;"},
    {"put", "{\"path\":\"/items\",\"data\":[1],\"more\":{\"a\":[]}}", "changes: 1;"},
    /* broken */
    {"put", "", "garbage:;"},
    {"put", "null", "garbage:;"},
    {"put", "{}", "garbage:;"},
    {"put", "{\"path\":\"/\"}", "garbage:;"},
    {"put", "{\"data\":[1]}", "garbage:;"},
    {"put", "{\"path\":7,\"data\":[1]}", "garbage:;"},
    {"put", "{\"path\":\"/items\",\"data\":[1,2", "garbage:;"},
    {"put", "{\"path\":\"/items\",\"data\":[1]}x", "garbage:;"},
    {"patch", "<html>", "garbage:;"},
    /* the others */
    {"keep-alive", "null", "keep-alive:;"},
    {"cancel", "null", "cancel:;"},
    {"auth_revoked", "\"token expired\"", "auth_revoked:;"},
    {"message", "{\"path\":\"/items\",\"data\":[1]}", "unknown:;"},
    {"PUT", "{}", "unknown:;"},
};

static void reads_events(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf got;
        struct updates u;
        strbuf_init(&got, 4096);
        put_updates(
            &got, updates_read_event(&arena, str_of(cases[i].type), str_of(cases[i].data), &u), &u);
        if (strcmp(got.p, cases[i].want) != 0)
            fail_msg("%s %s\n  gave   %s\n  wanted %s", cases[i].type, cases[i].data, got.p,
                     cases[i].want);
        strbuf_release(&got);
    }
}

static void reads_long_lists(void **state) {
    (void)state;
    struct strbuf body;
    struct updates u;
    strbuf_init(&body, 1 << 20);
    strbuf_adds(&body, "{\"items\":[1");
    for (int i = 2; i <= 5000; i++)
        strbuf_addf(&body, ",%d", i);
    strbuf_adds(&body, "],\"profiles\":[\"p1\"");
    for (int i = 2; i <= 500; i++)
        strbuf_addf(&body, ",\"p%d\"", i);
    strbuf_adds(&body, "]}");
    assert_true(updates_read_body(&arena, strbuf_str(&body), &u));
    assert_int_equal(u.n_items, 5000);
    assert_int_equal(u.n_profiles, 500);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(u.items[i], i + 1);
    assert_string_equal(u.profiles[499].p, "p500");
    strbuf_release(&body);
}

static void leaves_long_names_out(void **state) {
    (void)state;
    char body[400];
    struct updates u;
    snprintf(body, sizeof body, "{\"profiles\":[\"%0128d\",\"%0129d\"]}", 0, 0);
    assert_true(updates_read_body(&arena, str_of(body), &u));
    assert_int_equal(u.n_profiles, 1);
    assert_int_equal(u.profiles[0].n, PROFILE_NAME_MAX);
}

static void refuses_other_bodies(void **state) {
    (void)state;
    static const char *const bodies[] = {"", "null", "[1]", "{", "{\"items\":[1}", "{} {}"};
    struct updates u;
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++)
        if (updates_read_body(&arena, str_of(bodies[i]), &u) || u.n_items)
            fail_msg("taken: %s", bodies[i]);
}

/* Recorded ------------------------------------------------------------------------------------- */

static void put_event(void *context, const struct stream_event *event) {
    struct strbuf *out = context;
    struct updates u;
    put_updates(out, updates_read_event(&arena, event->type, event->data, &u), &u);
    strbuf_addc(out, '\n');
}

static struct strbuf slurp(FILE *f) {
    struct strbuf b;
    char piece[512];
    size_t n;
    strbuf_init(&b, 1 << 20);
    while ((n = fread(piece, 1, sizeof piece, f)) > 0)
        strbuf_add(&b, piece, n);
    pclose(f);
    return b;
}

static const struct {
    const char *file, *want;
} recorded[] = {
    {"sse/firebase_admin_python_test_single_event.txt", "changes:;\n"},
    {"sse/firebase_admin_python_test_multiple_events.txt", "changes:;\nchanges:;\n"},
    {"sse/firebase_admin_python_test_event_separators.txt", "changes:;\nchanges:;\nchanges:;\n"},
    {"sse/firego_auth_revoked.txt", "auth_revoked:;\n"},
    {"sse/firego_put_then_child_put_then_keepalive.txt", "changes:;\nchanges:;\nkeep-alive:;\n"},
};

static void reads_recorded_streams(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(recorded); i++) {
        FILE *f = shared_data_open("cat", recorded[i].file);
        if (!f)
            skip();
        struct strbuf body = slurp(f), got;
        struct event_stream s;
        struct err e;
        strbuf_init(&got, 4096);
        event_stream_init(&s, 4096, put_event, &got);
        assert_int_equal(event_stream_push(&s, strbuf_str(&body), &e), V_OK);
        if (strcmp(strbuf_str(&got).p, recorded[i].want) != 0)
            fail_msg("%s gave\n%s", recorded[i].file, strbuf_str(&got).p);
        event_stream_release(&s);
        strbuf_release(&got);
        strbuf_release(&body);
    }
}

static void reads_a_recorded_body(void **state) {
    (void)state;
    FILE *f = shared_data_open("cat", "lists/updates_*.json");
    if (!f)
        skip();
    struct strbuf body = slurp(f);
    struct updates u;
    assert_true(updates_read_body(&arena, strbuf_str(&body), &u));
    assert_true(u.n_items > 0 && u.n_profiles > 0);
    strbuf_release(&body);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_events, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_long_lists, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leaves_long_names_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_other_bodies, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_recorded_streams, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reads_a_recorded_body, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("hn/updates", tests, NULL, NULL);
}
