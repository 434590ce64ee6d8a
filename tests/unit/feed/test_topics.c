/* Which changes are of a topic, who hears them under its name, and when the hub learns of it. */
#include "hub_scene.h"

#include "feed/hub_int.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct str final[] = {STR("done"), STR("failed"), STR("3")};
static const struct feed_topic topics[] = {
    {STR("a"), STR("live:update"), STR("shop"), STR("orders"), STR("state"), final, 3},
    {STR("b"), STR("failed"), STR("shop"), STR("orders"), STR("state"), final + 1, 1},
    {STR("c"), STR("live:update"), STR("shop"), STR("bills"), STR("paid"), final, 3},
    {STR("d"), STR("live:update"), STR("shop"), STR("orders"), STR("state"), final, 3},
};
static const struct topic_set set = {.version = 1, .all = topics, .n = ARRAY_LEN(topics)};

/* The topics of a change of shop.TABLE, with blanks between. */
static const char *marks_of(const char *table, enum feed_action action, const char *data) {
    static char text[200];
    const struct feed_change c = {
        .schema = STR("shop"), .name = str_of(table), .action = action, .data = str_of(data)};
    struct feed_marks marks;
    topic_set_mark(&set, &c, &marks);
    text[0] = '\0';
    for (size_t i = 0; i < marks.n; i++) {
        strcat(text, i ? " " : "");
        strncat(text, marks.names[i].p, marks.names[i].n);
    }
    return text;
}
#define assert_marks(expected, ...) assert_string_equal(marks_of(__VA_ARGS__), expected)

static void the_new_state_decides(void **state UNUSED) {
    assert_marks("live:update", "orders", FEED_UPDATE, "{\"id\":1,\"state\":\"done\",\"x\":{}}");
    assert_marks("live:update", "orders", FEED_INSERT,
                 "{\"x\":[{\"state\":1}],\"state\":\"done\"}");
    assert_marks("live:update failed", "orders", FEED_UPDATE, "{\"state\":\"failed\"}");
    assert_marks("", "orders", FEED_UPDATE, "{\"state\":\"pending\"}");
    assert_marks("", "orders", FEED_UPDATE, "{\"x\":{\"state\":\"done\"},\"state\":\"busy\"}");
    assert_marks("", "orders", FEED_DELETE, "{\"state\":\"done\"}");
    assert_marks("", "orders", FEED_TRUNCATE, NULL);
    assert_marks("live:update", "bills", FEED_UPDATE, "{\"state\":\"busy\",\"paid\":\"done\"}");
    assert_marks("", "notes", FEED_UPDATE, "{\"state\":\"done\"}");
}

static void states_of_other_types(void **state UNUSED) {
    assert_marks("live:update", "orders", FEED_UPDATE, "{\"state\":3}");
    assert_marks("", "orders", FEED_UPDATE, "{\"state\":33}");
    assert_marks("live:update", "orders", FEED_UPDATE, "{\"state\":\"do\\u006ee\"}");
    assert_marks("live:update", "orders", FEED_UPDATE, "{\"state\":\"done   \"}");
    assert_marks("", "orders", FEED_UPDATE, "{\"state\":\"done.\"}");
    assert_marks("", "orders", FEED_UPDATE, "{\"state\":null}");
    assert_marks("", "orders", FEED_UPDATE, "{\"state\":[\"done\"]}");
}

static void what_cannot_be_known_is_told(void **state UNUSED) {
    assert_marks("live:update failed", "orders", FEED_UPDATE, NULL); /* too large */
    assert_marks("live:update failed", "orders", FEED_RESYNC, NULL);
    /* the column is not logged: nothing can ever be known */
    assert_marks("", "orders", FEED_UPDATE, "{\"id\":1}");
    assert_marks("", "orders", FEED_UPDATE, "{\"id\":");
    assert_marks("", "orders", FEED_UPDATE, "");
    assert_marks("", "orders", FEED_UPDATE, "7");
}

static struct feed_filter filter_of(const char *tables) {
    struct feed_filter f;
    struct err e;
    assert_int_equal(feed_filter_read(str_of(tables), STR_NONE, &f, &e), V_OK);
    return f;
}

static void an_event_has_its_topics(void **state UNUSED) {
    const struct feed_change c = {.pos = 7,
                                  .schema = STR("shop"),
                                  .name = STR("orders"),
                                  .action = FEED_UPDATE,
                                  .data = STR("{\"state\":\"failed\"}")};
    struct feed_marks marks;
    topic_set_mark(&set, &c, &marks);
    struct feed_event *ev = feed_event_of(EPOCH, &c, &marks), *plain = feed_event_new(EPOCH, &c);
    assert_true(str_eq(ev->json, plain->json) && str_eq(ev->frame, plain->frame));
    assert_true(str_eqc(ev->name, "orders") && str_eqc(ev->schema, "shop"));

    const struct {
        const char *asked, *topic; /* NULL: it is not taken; "": as the table */
    } cases[] = {{"live:update", "live:update"},
                 {"failed,live:update", "failed"},
                 {"orders,failed", "failed"},
                 {"shop.orders", ""},
                 {"items", NULL},
                 {"live", NULL}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct feed_filter f = filter_of(cases[i].asked);
        assert_int_equal(feed_filter_takes(&f, ev), cases[i].topic != NULL);
        if (cases[i].topic)
            assert_true(str_eqc(feed_filter_topic(&f, ev), cases[i].topic) ||
                        (!*cases[i].topic && !feed_filter_topic(&f, ev).p));
        f.public_only = true; /* the table is not */
        assert_false(feed_filter_takes(&f, ev));
    }
    struct feed_filter f = filter_of("live:update");
    assert_false(feed_filter_takes(&f, plain));
    feed_event_drop(ev);
    feed_event_drop(plain);
}

static void unknown_topics_are_named(void **state UNUSED) {
    struct cdc_known known[] = {{STR("tain"), STR("items"), .built_in = true, .is_public = true},
                                {STR("shop"), STR("orders")}};
    const struct feed_names names = {known, ARRAY_LEN(known), topics, 3};
    struct feed_filter f = filter_of("live:update,items");
    struct err e;
    assert_int_equal(feed_filter_check(&f, &names, "topics", &e), V_OK);
    f.public_only = true;
    assert_int_equal(feed_filter_check(&f, &names, "topics", &e), V_INVALID);
    assert_string_equal(e.msg, "topics: there is no public \"live:update\"; there are items");
    known[1].is_public = true;
    assert_true(feed_filter_is_known(&f, &names));
    f = filter_of("live");
    assert_int_equal(feed_filter_check(&f, &names, "topics", &e), V_INVALID);
    assert_string_equal(e.msg, "topics: there is no \"live\"; there are items, shop.orders, "
                               "live:update, failed");
}

static const char *mark_of(int table, enum feed_action action, const char *key) {
    static char text[64];
    const struct feed_change c = {.table = table, .action = action, .key = str_of(key)};
    struct feed_marks marks;
    topic_set_mark(NULL, &c, &marks);
    assert_true(marks.n <= 1);
    snprintf(text, sizeof text, "%.*s", marks.n ? (int)marks.names[0].n : 0, marks.names[0].p);
    return text;
}

static void each_link_is_a_topic(void **state UNUSED) {
    assert_string_equal(mark_of(3, FEED_UPDATE, "{\"id\":42}"), "link:42");
    assert_string_equal(mark_of(3, FEED_DELETE, "{\"id\":42}"), "link:42");
    assert_string_equal(mark_of(4, FEED_INSERT, "{\"link_id\" : 7}"), "link:7");
    assert_string_equal(
        mark_of(5, FEED_INSERT, "{\"external_id\":\"9\",\"link_id\":7,\"platform\":\"reddit\"}"),
        "link:7");
    assert_string_equal(mark_of(3, FEED_UPDATE, "{\"id\":\"42\"}"), "link:");
    assert_string_equal(mark_of(5, FEED_RESYNC, NULL), "link:");
    assert_string_equal(mark_of(1, FEED_UPDATE, "{\"id\":42}"), "");
    assert_string_equal(mark_of(6, FEED_UPDATE, "{\"link_id\":42}"), "");
}

static bool hears(const char *asked, int table, enum feed_action action, const char *key) {
    const struct feed_change c = {.table = table,
                                  .schema = STR("main"),
                                  .name = STR("whatever"),
                                  .action = action,
                                  .key = str_of(key),
                                  .is_public = true};
    struct feed_marks marks;
    struct feed_filter f = filter_of(asked);
    topic_set_mark(NULL, &c, &marks);
    struct feed_event *ev = feed_event_of(1, &c, &marks);
    bool takes = feed_filter_takes(&f, ev);
    assert_true(!takes || str_eqc(feed_filter_topic(&f, ev), asked));
    feed_event_drop(ev);
    return takes;
}

static void who_listens_to_one_link(void **state UNUSED) {
    assert_true(hears("link:4", 3, FEED_UPDATE, "{\"id\":4}"));
    assert_true(hears("link:4", 4, FEED_UPDATE, "{\"link_id\":4}"));
    assert_false(hears("link:4", 3, FEED_UPDATE, "{\"id\":42}"));
    assert_false(hears("link:42", 3, FEED_UPDATE, "{\"id\":4}"));
    assert_true(hears("link:4", 4, FEED_RESYNC, NULL));
    assert_true(hears("link:4", 4, FEED_TRUNCATE, NULL));
    assert_false(hears("link:", 4, FEED_UPDATE, "{\"link_id\":4}"));
    static const char *const none[] = {
        "link:",   "link:0",  "link:-1", "link:x",
        "link:04", "link:+4", "link:4x", "link:99999999999999999999"};
    struct err e;
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        struct feed_filter f = filter_of(none[i]);
        assert_int_equal(feed_filter_check(&f, &(struct feed_names){0}, "topics", &e), V_INVALID);
        assert_non_null(strstr(e.msg, "there are link:ID"));
    }
    struct feed_filter f = filter_of("link:4,link:9223372036854775807");
    f.public_only = true;
    assert_true(feed_filter_is_known(&f, &(struct feed_names){0}));
}

/* The log says that there are topics now: pages know it, and what is in the ring is read anew. */
static void a_topic_that_comes_later(void **state UNUSED) {
    static const struct str states[] = {STR("x")};
    struct feed_hub *h = hub_at_head(0);
    int bell = 0;
    fake_log.topic =
        (struct feed_topic){STR("s"), STR("odd"), STR("tain"), STR("users"), STR("id"), states, 1};
    fake_log_write(h, 4); /* in the ring, of no topic */
    const struct feed_join ask = {.since = {EPOCH, 0},
                                  .filter = filter_of("odd"),
                                  .wake = ring_the_bell,
                                  .connection = &bell};
    struct feed_client *c = feed_join(h, &ask);
    gets_nothing(c);
    feed_leave(c);

    struct topic_set *t;
    struct err e;
    fake_log.topics = 1;
    fake_log.no_data = true; /* so that each may be of it */
    c = feed_join(h, &ask);
    assert_int_equal(hub_topics(h, NULL, 1, &t, &e), V_OK);
    topic_set_drop(t);
    receives(c, 1);
    receives(c, 3);
    gets_nothing(c);
    assert_string_equal(fake_log_diary(), "tR");
    assert_int_equal(hub_topics(h, NULL, 1, &t, &e), V_OK); /* known by now */
    topic_set_drop(t);
    assert_string_equal(fake_log_diary(), "");
    feed_leave(c);
    feed_hub_free(h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_new_state_decides),        cmocka_unit_test(states_of_other_types),
        cmocka_unit_test(what_cannot_be_known_is_told), cmocka_unit_test(an_event_has_its_topics),
        cmocka_unit_test(unknown_topics_are_named),     cmocka_unit_test(each_link_is_a_topic),
        cmocka_unit_test(who_listens_to_one_link),      cmocka_unit_test(a_topic_that_comes_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
