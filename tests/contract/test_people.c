/* Profiles, names that are to be asked for, and the story lists. */
#include "fixture.h"

#include "store/live.h"

#include <string.h>

#define USERS                                                                                  \
    "SELECT id, karma, gone, first_seen_at - 1700000000000, last_fetched_at - 1700000000000, " \
    "last_changed_at - 1700000000000 FROM users ORDER BY id"

/* JSON with ' for ", or NULL: there is no such user. */
static struct user_answer answer(struct fix *f, const char *name, int64_t fetched_at,
                                 const char *json) {
    struct user_answer a = {.name = str_of(name), .exists = json, .fetched_at = fetched_at};
    if (!json)
        return a;
    char *text = arena_strdup(&f->arena, json);
    for (char *p = text; *p; p++)
        if (*p == '\'')
            *p = '"';
    assert_int_equal(user_parse(&f->arena, str_of(text), a.name, &a.user), ITEM_OK);
    return a;
}

static int64_t put(struct fix *f, const struct user_answer *answers, size_t n) {
    struct err e;
    int64_t changed = -1;
    assert_ok(store_put_users(f->s, answers, n, &changed, &e));
    return changed;
}
#define PUT(f, ...)                                   \
    put(f, (const struct user_answer[]){__VA_ARGS__}, \
        ARRAY_LEN(((struct user_answer[]){__VA_ARGS__})))

static void profiles_come_and_change(void **state) {
    struct fix *f = *state;
    assert_int_equal(put(f, NULL, 0), 0);
    assert_int_equal(PUT(f,
                         answer(f, "pg", T0,
                                "{'id':'pg','created':1160418092,'karma':5,'about':'a \\u00fc <p>',"
                                "'submitted':[3,1,2]}"),
                         answer(f, "PG", T0, "{'id':'PG','karma':1}"), answer(f, "none", T0, NULL)),
                     2);
    bool on_pg = fix_kind == DB_POSTGRES;
    assert_q(on_pg ? "PG|-|-|-|0 pg|1160418092|a \u00fc <p>|{3,1,2}|0"
                   : "PG|-|-|-|0 pg|1160418092|a \u00fc <p>|[3,1,2]|0",
             f, "SELECT id, created, about, submitted, gone FROM users ORDER BY karma");
    /* the same again: only its stamp moves */
    assert_int_equal(PUT(f, answer(f, "PG", T0 + 10, "{'id':'PG','karma':1}")), 0);
    assert_q("PG|1|0|0|10|0", f,
             "SELECT id, karma, gone, first_seen_at - 1700000000000, last_fetched_at - "
             "1700000000000, last_changed_at - 1700000000000 FROM users WHERE id = 'PG'");
    assert_int_equal(PUT(f, answer(f, "PG", T0 + 20, "{'id':'PG','karma':2}"),
                         answer(f, "pg", T0 + 20, "{'id':'pg','karma':6}")),
                     2);
    assert_q("PG|2|0|0|20|20|- pg|6|0|0|20|20|-", f,
             "SELECT id, karma, gone, first_seen_at - 1700000000000, last_fetched_at - "
             "1700000000000, last_changed_at - 1700000000000, submitted FROM users "
             "ORDER BY karma");
}

static void old_never_overwrites_new(void **state) {
    struct fix *f = *state;
    PUT(f, answer(f, "a", T0 + 10, "{'id':'a','karma':1}"));
    assert_int_equal(PUT(f, answer(f, "a", T0 + 9, "{'id':'a','karma':2}")), 0);
    assert_int_equal(PUT(f, answer(f, "a", T0 + 8, NULL)), 0);
    assert_q("a|1|0|10|10|10", f, USERS);
    /* unchanged counts as seen, too */
    PUT(f, answer(f, "a", T0 + 30, "{'id':'a','karma':1}"));
    assert_int_equal(PUT(f, answer(f, "a", T0 + 20, "{'id':'a','karma':2}")), 0);
    assert_q("a|1|0|10|30|10", f, USERS);
    /* a stamp of a wrong clock is none */
    PUT(f, answer(f, "a", T0 + 86400000, "{'id':'a','karma':3}"));
    assert_int_equal(PUT(f, answer(f, "a", T0 + 40, "{'id':'a','karma':4}")), 1);
    assert_q("a|4|0|10|40|40", f, USERS);
}

static void the_last_of_a_name_counts(void **state) {
    struct fix *f = *state;
    assert_int_equal(PUT(f, answer(f, "a", T0 + 2, "{'id':'a','karma':2}"),
                         answer(f, "b", T0, "{'id':'b'}"),
                         answer(f, "a", T0 + 1, "{'id':'a','karma':1}")),
                     2);
    assert_q("a|2|0|2|2|2 b|-|0|0|0|0", f, USERS);
}

static void a_profile_that_is_gone_keeps_its_words(void **state) {
    struct fix *f = *state;
    PUT(f, answer(f, "a", T0, "{'id':'a','karma':1,'about':'words'}"));
    assert_int_equal(PUT(f, answer(f, "a", T0 + 1, NULL)), 1);
    assert_q("a|1|1|0|1|1", f, USERS);
    assert_int_equal(PUT(f, answer(f, "a", T0 + 2, NULL)), 0);
    assert_q("a|1|1|0|2|1", f, USERS);
    assert_q("words", f, "SELECT about FROM users");
    assert_int_equal(PUT(f, answer(f, "a", T0 + 3, "{'id':'a','karma':1,'about':'words'}")), 1);
    assert_q("a|1|0|0|3|3", f, USERS);
}

static void many_submissions(void **state) {
    struct fix *f = *state;
    enum { N = 60000 };
    struct user_answer a = answer(f, "tptacek", T0, "{'id':'tptacek'}");
    int64_t *ids = arena_alloc(&f->arena, N * sizeof *ids);
    for (int i = 0; i < N; i++)
        ids[i] = 50000000 - i;
    a.user.submitted = ids;
    a.user.n_submitted = N;
    assert_int_equal(put(f, &a, 1), 1);
    assert_int_equal(qi(f, fix_kind == DB_POSTGRES ? "SELECT submitted[60000] FROM users"
                                                   : "SELECT json_extract(submitted, '$[59999]') "
                                                     "FROM users"),
                     50000000 - N + 1);
}

static void a_failed_write_is_none(void **state) {
    struct fix *f = *state;
    struct user_answer a = answer(f, "a", T0, "{'id':'a'}");
    struct err e;
    int64_t changed = -1;
    const char *was = dump(f);
    fault_setup("db_before_commit:1:fail");
    assert_int_equal(store_put_users(f->s, &a, 1, &changed, &e), V_RETRY);
    assert_int_equal(changed, 0);
    assert_string_equal(dump(f), was);
    assert_ok(store_recover(f->s, &e));
    assert_int_equal(put(f, &a, 1), 1);
    assert_int_equal(put(f, &a, 1), 0);
}

/* "name:attempts:error ..." of what is due. */
static const char *due(struct fix *f, size_t max) {
    struct user_todo todo[16];
    struct err e;
    size_t n = 99;
    assert_ok(store_users_due(f->s, 60000, &f->arena, todo, max, &n, &e));
    CLEANUP(strbuf_release) struct strbuf out;
    strbuf_init(&out, 4096);
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&out, "%s%.*s:%d:%.*s", i ? " " : "", STR_FMT(todo[i].name), todo[i].attempts,
                    STR_FMT(todo[i].error));
    return arena_strdup(&f->arena, out.p ? out.p : "");
}

static void names_wait_for_their_time(void **state) {
    struct fix *f = *state;
    struct err e;
    static const struct user_todo todo[] = {
        {STR("late"), 3, 5000, STR("timeout")}, {STR("now"), 0, 0, STR_NONE},
        {STR("soon"), 1, 1000, STR("")},        {STR("now"), 2, 10, STR("cut \xE2\x82")},
        {STR("a b/\u00fc"), 0, 2000, STR_NONE},
    };
    assert_string_equal(due(f, 16), "");
    assert_ok(store_users_later(f->s, NULL, 0, &e));
    assert_ok(store_users_later(f->s, todo, ARRAY_LEN(todo), &e));
    assert_q("4", f, "SELECT COUNT(*) FROM user_work");
    assert_string_equal(due(f, 16), "");
    fix_advance(f, 10);
    assert_string_equal(due(f, 16), "now:2:cut ??");
    assert_string_equal(due(f, 16), "");
    fix_advance(f, 5000);
    assert_string_equal(due(f, 2), "soon:1: a b/\u00fc:0:");
    assert_string_equal(due(f, 16), "late:3:timeout");
    assert_string_equal(due(f, 16), "");
    /* an answer ends it, a failure puts it off */
    PUT(f, answer(f, "now", T0, "{'id':'now'}"), answer(f, "soon", T0, NULL));
    assert_ok(
        store_users_later(f->s, &(struct user_todo){STR("late"), 4, 100, STR("reset")}, 1, &e));
    assert_q("2", f, "SELECT COUNT(*) FROM user_work");
    fix_advance(f, 100);
    assert_string_equal(due(f, 16), "late:4:reset");
    fix_advance(f, 60000);
    assert_string_equal(due(f, 16), "a b/\u00fc:0: late:4:reset");
}

static void a_failed_hand_out_changes_nothing(void **state) {
    struct fix *f = *state;
    struct err e;
    struct user_todo todo = {STR("a"), 1, 0, STR_NONE};
    size_t n = 99;
    assert_ok(store_users_later(f->s, &todo, 1, &e));
    const char *was = dump(f);
    fault_setup("db_before_commit:1:fail");
    assert_int_equal(store_users_due(f->s, 1, &f->arena, &todo, 1, &n, &e), V_RETRY);
    assert_int_equal(n, 0);
    assert_string_equal(dump(f), was);
    assert_string_equal(due(f, 16), "a:1:");
}

static bool put_list(struct fix *f, const char *name, int64_t seen_at, const int64_t *ids,
                     size_t n) {
    struct err e;
    bool changed = true;
    assert_ok(store_put_list(f->s, name, ids, n, seen_at, &changed, &e));
    return changed;
}
#define IDS(...) ((const int64_t[]){__VA_ARGS__}), ARRAY_LEN(((const int64_t[]){__VA_ARGS__}))

static void assert_lists(struct fix *f, const char *expected) {
    char text[400];
    snprintf(text, sizeof text, "%s",
             q(f, "SELECT name, ids, seen_at - 1700000000000, changed_at - 1700000000000 "
                  "FROM lists ORDER BY name"));
    for (char *p = text; *p; p++)
        *p = *p == '{' ? '[' : *p == '}' ? ']' : *p;
    assert_string_equal(text, expected);
}

static void lists_are_seen_and_change(void **state) {
    struct fix *f = *state;
    assert_true(put_list(f, "top", T0, IDS(3, 1, 2)));
    assert_true(put_list(f, "job", T0, NULL, 0));
    assert_lists(f, "job|[]|0|0 top|[3,1,2]|0|0");
    assert_false(put_list(f, "top", T0 + 5, IDS(3, 1, 2)));
    assert_false(put_list(f, "job", T0 + 5, NULL, 0));
    assert_lists(f, "job|[]|5|0 top|[3,1,2]|5|0");
    assert_true(put_list(f, "top", T0 + 10, IDS(1, 3, 2)));
    assert_true(put_list(f, "job", T0 + 10, IDS(7)));
    assert_lists(f, "job|[7]|10|10 top|[1,3,2]|10|10");
    /* seen before what is there */
    assert_false(put_list(f, "top", T0 + 9, IDS(9)));
    assert_lists(f, "job|[7]|10|10 top|[1,3,2]|10|10");
    /* a stamp of a wrong clock is none */
    x(f, "UPDATE lists SET seen_at = %lld", (long long)(T0 + 86400000));
    assert_true(put_list(f, "top", T0 + 20, IDS(9)));
    assert_false(put_list(f, "job", T0 + 20, IDS(7)));
    assert_lists(f, "job|[7]|20|10 top|[9]|20|20");
}

static void a_list_that_fails_stays(void **state) {
    struct fix *f = *state;
    struct err e;
    bool changed = true;
    put_list(f, "top", T0, IDS(1));
    fault_setup("db_before_commit:1:fail");
    assert_int_equal(store_put_list(f->s, "top", IDS(2), T0 + 1, &changed, &e), V_RETRY);
    assert_false(changed);
    assert_lists(f, "top|[1]|0|0");
    assert_ok(store_recover(f->s, &e));
    assert_true(put_list(f, "top", T0 + 1, IDS(2)));
    assert_false(put_list(f, "top", T0 + 1, IDS(2)));
}

int people_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(profiles_come_and_change),  CASE(old_never_overwrites_new),
        CASE(the_last_of_a_name_counts), CASE(a_profile_that_is_gone_keeps_its_words),
        CASE(many_submissions),          CASE(a_failed_write_is_none),
        CASE(names_wait_for_their_time), CASE(a_failed_hand_out_changes_nothing),
        CASE(lists_are_seen_and_change), CASE(a_list_that_fails_stays),
    };
    return cmocka_run_group_tests_name("people", tests, NULL, NULL);
}
