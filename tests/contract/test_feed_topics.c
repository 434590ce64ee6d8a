/* Topics: what files declare, what stays of it, and how readers of the log learn of it. */
#include "fixture.h"

#include "store/feed.h"
#include "store/feed_topics.h"

static const struct str states[] = {STR("done"), STR("say \"no\"")};

static struct feed_topic topic(const char *source, const char *name) {
    return (struct feed_topic){.source = str_of(source),
                               .topic = str_of(name),
                               .schema = STR("shop"),
                               .table = STR("orders"),
                               .column = STR("state"),
                               .states = states,
                               .n_states = ARRAY_LEN(states)};
}

static void declare(struct fix *f, const char *file, const struct feed_topic *all, size_t n) {
    struct err e;
    assert_ok(store_feed_topics_declare(f->s, str_of(file), all, n, &e));
}

static int64_t version(struct fix *f) {
    const struct feed_topic *all;
    struct err e;
    int64_t v;
    size_t n;
    assert_ok(store_feed_topics(f->s, &f->arena, &all, &n, &v, &e));
    return v;
}

#define TOPICS "SELECT source, topic, file FROM feed_topics ORDER BY source"

static void they_are_read_as_declared(void **state) {
    struct fix *f = *state;
    const struct feed_topic *all, one = topic("orders", "shop:done");
    struct err e;
    int64_t v;
    size_t n;
    assert_ok(store_feed_topics(f->s, &f->arena, &all, &n, &v, &e));
    assert_int_equal(n, 0);
    assert_int_equal(v, 0);
    declare(f, "a", &one, 1);
    assert_ok(store_feed_topics(f->s, &f->arena, &all, &n, &v, &e));
    assert_int_equal(n, 1);
    assert_int_equal(v, 1);
    assert_true(str_eq(all[0].source, one.source) && str_eq(all[0].topic, one.topic));
    assert_true(str_eq(all[0].schema, one.schema) && str_eq(all[0].table, one.table));
    assert_true(str_eq(all[0].column, one.column));
    assert_int_equal(all[0].n_states, 2);
    assert_true(str_eq(all[0].states[0], states[0]) && str_eq(all[0].states[1], states[1]));
}

static void a_version_for_each_change(void **state) {
    struct fix *f = *state;
    struct feed_topic one = topic("orders", "shop:done");
    declare(f, "a", &one, 1);
    declare(f, "a", &one, 1); /* nothing new */
    assert_int_equal(version(f), 1);
    one.n_states = 1;
    declare(f, "a", &one, 1);
    assert_int_equal(version(f), 2);
    one.column = STR("status");
    declare(f, "a", &one, 1);
    assert_int_equal(version(f), 3);
    declare(f, "a", NULL, 0);
    assert_int_equal(version(f), 4);
    declare(f, "a", NULL, 0);
    assert_int_equal(version(f), 4);
}

static void a_topic_goes_with_its_source(void **state) {
    struct fix *f = *state;
    struct feed_topic two[] = {topic("orders", "shop:done"), topic("bills", "shop:done")};
    const struct feed_topic other = topic("notes", "notes");
    declare(f, "a", two, 2);
    declare(f, "b", &other, 1);
    assert_q("bills|shop:done|a notes|notes|b orders|shop:done|a", f, TOPICS);
    two[1].topic = STR_NONE; /* it is there, and has none any more */
    declare(f, "a", two, 2);
    assert_q("notes|notes|b orders|shop:done|a", f, TOPICS);
    declare(f, "b", &two[0], 1); /* it moves to another file, which has lost its own */
    assert_q("orders|shop:done|b", f, TOPICS);
    declare(f, "a", NULL, 0); /* that is nothing of this file any more */
    assert_q("orders|shop:done|b", f, TOPICS);
    two[0].topic = STR_NONE;
    declare(f, "a", two, 1); /* a source is the same one wherever it stands */
    assert_q("", f, TOPICS);
}

static void changes_say_which_version_they_were_read_with(void **state) {
    struct fix *f = *state;
    const struct feed_topic one = topic("orders", "shop:done");
    const struct feed_change *c;
    struct err e;
    size_t n;
    log_changes(f, 1, 1, T0);
    assert_ok(store_feed_publish(f->s, 10, &n, &e));
    assert_ok(store_feed_read(f->s, &f->arena, 0, 10, 1 << 20, &c, &n, &e));
    assert_int_equal(n, 1);
    assert_int_equal(c[0].topics, 0);
    declare(f, "a", &one, 1);
    log_changes(f, 1, 1, T0);
    assert_ok(store_feed_publish(f->s, 10, &n, &e));
    assert_ok(store_feed_read(f->s, &f->arena, 0, 10, 1 << 20, &c, &n, &e));
    assert_int_equal(n, 2);
    assert_int_equal(c[0].topics, 1);
    assert_int_equal(c[1].topics, 1);
}

int feed_topic_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(they_are_read_as_declared),
        CASE(a_version_for_each_change),
        CASE(a_topic_goes_with_its_source),
        CASE(changes_say_which_version_they_were_read_with),
    };
    return cmocka_run_group_tests_name("feed_topics", tests, NULL, NULL);
}
