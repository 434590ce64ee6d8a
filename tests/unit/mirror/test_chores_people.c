/* Profiles: from a name of the stream to a row, through failures, repetition and a stop. */
#include "desk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int set_up(void **state) {
    struct desk *d = xcalloc(1, sizeof *d);
    desk_open(d, 100);
    desk_begin(d);
    desk_settle(d);
    *state = d;
    return 0;
}

static int tear_down(void **state) {
    desk_close(*state);
    free(*state);
    return 0;
}

static void name(struct desk *d, const char *text) {
    assert_true(queue_push(&d->names, xstrdup(text)));
}

static void name_many(struct desk *d, int from, int to) {
    char text[20];
    for (int i = from; i <= to; i++) {
        snprintf(text, sizeof text, "u%d", i);
        name(d, text);
    }
}

static int asked(struct desk *d, const char *who) {
    char path[500];
    snprintf(path, sizeof path, "/user/%s.json", who);
    return desk_asked(d, path);
}

static void answer(struct desk *d, const char *who, enum net_class cls, const char *body) {
    char path[500];
    snprintf(path, sizeof path, "/user/%s.json", who);
    desk_answer(d, path, cls, body);
}

static void answer_well(struct desk *d, const char *who, int karma) {
    char body[200];
    snprintf(body, sizeof body, "{\"id\":\"%s\",\"created\":5,\"karma\":%d}", who, karma);
    answer(d, who, NET_OK, body);
}

static int n_asked(struct desk *d) {
    int n = 0;
    desk_asked(d, "");
    for (int i = 0; i < d->n_open; i++)
        n += strncmp(d->open[i]->path, "/user/", 6) == 0;
    return n;
}

#define USERS "SELECT id, karma, gone, last_fetched_at - 1700000000000 FROM users ORDER BY id"
#define WORK "SELECT name, attempts, next_retry_at - 1700000000000, last_error FROM user_work"

static void a_name_becomes_a_profile(void **state) {
    struct desk *d = *state;
    int64_t before = metric_get(&m_profiles, 0);
    name(d, "pg");
    name(d, "pg"); /* once is enough */
    name(d, "a b/c");
    desk_after(d, 10);
    assert_int_equal(asked(d, "pg"), 1);
    assert_int_equal(asked(d, "a%20b%2Fc"), 1);
    assert_int_equal(n_asked(d), 2);
    clock_advance(&d->a.clock, 30);
    answer_well(d, "pg", 157);
    answer(d, "a%20b%2Fc", NET_OK, "{\"id\":\"a b/c\",\"karma\":1}");
    desk_settle(d);
    assert_string_equal(archive_ask(&d->a, USERS), "a b/c|1|0|10 pg|157|0|10");
    assert_int_equal(metric_get(&m_profiles, 0) - before, 2);
    assert_string_equal(archive_ask(&d->a, WORK), "");
    assert_int_equal(n_asked(d), 0);
}

static void named_again_in_flight_is_fetched_again_once(void **state) {
    struct desk *d = *state;
    name(d, "pg");
    desk_settle(d);
    for (int i = 0; i < 5; i++) {
        name(d, "pg");
        desk_settle(d);
    }
    assert_int_equal(asked(d, "pg"), 1);
    answer_well(d, "pg", 1);
    desk_after(d, 3);
    assert_int_equal(asked(d, "pg"), 1);
    answer_well(d, "pg", 2);
    desk_settle(d);
    assert_int_equal(asked(d, "pg"), 0);
    assert_string_equal(archive_ask(&d->a, USERS), "pg|2|0|3");
}

static void a_null_marks_what_is_stored(void **state) {
    struct desk *d = *state;
    name(d, "gone");
    name(d, "never");
    desk_settle(d);
    answer_well(d, "gone", 3);
    answer(d, "never", NET_OK, "null");
    desk_settle(d);
    name(d, "gone");
    desk_after(d, 10);
    answer(d, "gone", NET_OK, "null");
    desk_settle(d);
    assert_string_equal(archive_ask(&d->a, USERS), "gone|3|1|10");
    assert_string_equal(archive_ask(&d->a, WORK), "");
}

/* Answers that are no profile, and what is written of them. */
static void failures_are_put_off(void **state) {
    static const struct {
        enum net_class cls;
        const char *body, *error;
    } rows[] = {
        {NET_TIMEOUT, NULL, "what curl said"},
        {NET_HTTP_5XX, NULL, "what curl said"},
        {NET_HTTP_404, NULL, "what curl said"},
        {NET_OK, "<html>", "the answer cannot be read"},
        {NET_OK, "", "the answer cannot be read"},
        {NET_OK, "{\"id\":\"other\"}", "the answer is of someone else"},
    };
    struct desk *d = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t before = metric_get(&m_profiles_failed, 0);
        name(d, "pg");
        desk_settle(d);
        answer(d, "pg", rows[i].cls, rows[i].body);
        desk_settle(d);
        assert_int_equal(archive_int(&d->a, "SELECT attempts FROM user_work"), 1);
        assert_string_equal(archive_ask(&d->a, "SELECT last_error FROM user_work"), rows[i].error);
        assert_int_equal(metric_get(&m_profiles_failed, 0) - before, 1);
        archive_ask(&d->a, "DELETE FROM user_work");
    }
    assert_string_equal(archive_ask(&d->a, USERS), "");
}

static void the_wait_grows_with_the_attempts(void **state) {
    static const struct {
        int had;
        int64_t seconds;
    } rows[] = {{0, 10}, {1, 20}, {2, 40}, {5, 320}, {8, 2560}, {9, 86400}, {50, 86400}};
    struct desk *d = *state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        archive_ask(&d->a, "DELETE FROM user_work");
        archive_ask(&d->a,
                    "INSERT INTO user_work (name, attempts, next_retry_at) VALUES "
                    "('pg', %d, 0)",
                    rows[i].had);
        desk_after(d, 5000);
        answer(d, "pg", NET_RESET, NULL);
        desk_settle(d);
        assert_int_equal(archive_int(&d->a, "SELECT attempts FROM user_work"), rows[i].had + 1);
        int64_t wait = archive_int(&d->a, "SELECT next_retry_at FROM user_work") - desk_now_db(d);
        assert_in_range(wait, rows[i].seconds * 1000, rows[i].seconds * 1000 + 1000);
    }
}

static void retry_after_is_heeded(void **state) {
    struct desk *d = *state;
    name(d, "pg");
    desk_settle(d);
    assert_int_equal(asked(d, "pg"), 1);
    d->open[d->n_open - 1]->retry_after_ms = 90000;
    answer(d, "pg", NET_HTTP_429, NULL);
    desk_settle(d);
    assert_int_equal(archive_int(&d->a, "SELECT next_retry_at FROM user_work"),
                     desk_now_db(d) + 90000);
}

static void what_failed_is_asked_again_and_then_forgotten(void **state) {
    struct desk *d = *state;
    name(d, "pg");
    desk_settle(d);
    answer(d, "pg", NET_RESET, NULL);
    desk_settle(d);
    desk_after(d, 9000);
    assert_int_equal(asked(d, "pg"), 0);
    desk_after(d, 7000);
    assert_int_equal(asked(d, "pg"), 1);
    desk_after(d, 60000);
    assert_int_equal(asked(d, "pg"), 1); /* held while it is out */
    answer_well(d, "pg", 4);
    desk_settle(d);
    assert_string_equal(archive_ask(&d->a, WORK), "");
    assert_int_equal(archive_int(&d->a, "SELECT karma FROM users"), 4);
}

/* Failed and then had, before the writer came to either: nothing is left to do. */
static void a_later_success_undoes_the_delay(void **state) {
    struct desk *d = *state;
    name(d, "first");
    name(d, "pg");
    assert_int_equal(desk_step(d), V_OK);
    answer_well(d, "first", 1);
    assert_int_equal(desk_step(d), V_OK); /* the writer is kept busy */
    assert_int_equal(queue_depth(&d->to_writer), 1);
    answer(d, "pg", NET_RESET, NULL);
    assert_int_equal(desk_step(d), V_OK);
    name(d, "pg");
    assert_int_equal(desk_step(d), V_OK);
    answer_well(d, "pg", 4);
    desk_settle(d);
    assert_string_equal(archive_ask(&d->a, WORK), "");
    assert_int_equal(archive_int(&d->a, "SELECT COUNT(*) FROM users"), 2);
}

static void a_few_at_a_time_and_written_together(void **state) {
    struct desk *d = *state;
    char who[20];
    name_many(d, 1, 20);
    assert_int_equal(desk_step(d), V_OK);
    assert_int_equal(n_asked(d), 8);
    for (int i = 1; i <= 20; i++) {
        snprintf(who, sizeof who, "u%d", i);
        answer_well(d, who, i);
        assert_int_equal(desk_step(d), V_OK);
    }
    assert_int_equal(queue_depth(&d->to_writer), 1); /* one job at a time */
    assert_int_equal(desk_write(d), 1);
    assert_int_equal(archive_int(&d->a, "SELECT COUNT(*) FROM users"), 1);
    assert_int_equal(desk_step(d), V_OK);
    assert_int_equal(desk_write(d), 1); /* the other nineteen */
    assert_int_equal(archive_int(&d->a, "SELECT COUNT(*) FROM users"), 20);
}

static void a_slow_writer_holds_the_asking_up(void **state) {
    struct desk *d = *state;
    char who[20];
    name_many(d, 1, 300);
    int n = 0;
    for (int i = 1; i <= 300; i++) {
        assert_int_equal(desk_step(d), V_OK);
        snprintf(who, sizeof who, "u%d", i);
        if (!asked(d, who))
            break;
        answer_well(d, who, i);
        n++;
    }
    assert_int_equal(n, 1 + 100); /* at the writer, and gathered */
    desk_settle(d);
    assert_int_equal(archive_int(&d->a, "SELECT COUNT(*) FROM users"), 101);
    assert_int_equal(n_asked(d), 8);
}

static void what_does_not_fit_stays_in_the_queue(void **state) {
    struct desk *d = *state;
    name_many(d, 1, 5000);
    desk_settle(d);
    assert_int_equal(n_asked(d), 8);
    assert_int_equal(queue_depth(&d->names), 5000 - 4096 - 8);
    answer(d, "u1", NET_OK, "null");
    desk_settle(d);
    assert_int_equal(queue_depth(&d->names), 5000 - 4096 - 9);
}

static void names_that_cannot_be_are_passed_over(void **state) {
    struct desk *d = *state;
    char longest[200];
    memset(longest, '~', sizeof longest);
    longest[129] = '\0';
    name(d, longest);
    name(d, "");
    desk_settle(d);
    assert_int_equal(n_asked(d), 0);
    longest[128] = '\0';
    name(d, longest);
    desk_settle(d);
    assert_int_equal(n_asked(d), 1);
}

static void stop_and_settle(struct desk *d) {
    stop_raise(&d->stop);
    desk_cancel_calls(d);
    enum verdict v;
    while ((v = desk_step(d)) == V_OK)
        assert_true(desk_write(d) > 0);
    assert_int_equal(v, V_STOPPED);
}

static void a_stop_loses_no_name(void **state) {
    struct desk *d = *state;
    archive_ask(&d->a,
                "INSERT INTO user_work (name, attempts, next_retry_at) VALUES ('old', 7, 0)");
    desk_after(d, 5000);
    name_many(d, 1, 5000);
    desk_settle(d);
    answer_well(d, "u1", 1);
    answer(d, "u2", NET_RESET, NULL);
    stop_and_settle(d);
    assert_int_equal(archive_int(&d->a, "SELECT COUNT(*) FROM users"), 1);
    assert_int_equal(archive_int(&d->a, "SELECT COUNT(*) FROM user_work"), 5000);
    assert_int_equal(archive_int(&d->a,
                                 "SELECT COUNT(*) FROM user_work WHERE attempts = 0 AND "
                                 "next_retry_at <= %lld",
                                 (long long)desk_now_db(d)),
                     4998);
    assert_string_equal(archive_ask(&d->a, "SELECT name, attempts FROM user_work "
                                           "WHERE attempts > 0 ORDER BY name"),
                        "old|7 u2|1");
    assert_int_equal(queue_depth(&d->names), 0);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(a_name_becomes_a_profile),
        CASE(named_again_in_flight_is_fetched_again_once),
        CASE(a_null_marks_what_is_stored),
        CASE(failures_are_put_off),
        CASE(the_wait_grows_with_the_attempts),
        CASE(retry_after_is_heeded),
        CASE(what_failed_is_asked_again_and_then_forgotten),
        CASE(a_later_success_undoes_the_delay),
        CASE(a_few_at_a_time_and_written_together),
        CASE(a_slow_writer_holds_the_asking_up),
        CASE(what_does_not_fit_stays_in_the_queue),
        CASE(names_that_cannot_be_are_passed_over),
        CASE(a_stop_loses_no_name),
    };
    return cmocka_run_group_tests_name("mirror/chores_people", tests, NULL, NULL);
}
