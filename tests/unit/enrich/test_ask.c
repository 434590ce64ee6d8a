#include "enrich/ask_int.h"
#include "enrich/request.h"
#include "heard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

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

static void values_are_encoded(void **state) {
    (void)state;
    struct strbuf b;
    strbuf_init(&b, 4096);
    ask_encode(&b, STR("https://ex.com/a b?c=d&e=%41#f+\u00e9\0~_-."));
    assert_string_equal(b.p,
                        "https%3A%2F%2Fex.com%2Fa%20b%3Fc%3Dd%26e%3D%2541%23f%2B%C3%A9%00~_-.");
    strbuf_release(&b);
}

static void bases(void **state) {
    (void)state;
    assert_true(str_eqc(ask_base(STR_NONE, "https://real"), "https://real"));
    assert_true(str_eqc(ask_base(STR(""), "https://real"), "https://real"));
    assert_true(str_eqc(ask_base(STR("http://x/a//"), "https://real"), "http://x/a"));
}

static void header_lines(void **state) {
    (void)state;
    struct ask q = {0};
    assert_true(ask_header(&q, &arena, "A", STR("b c")));
    assert_true(ask_header(&q, &arena, "Empty", STR("")));
    assert_false(ask_header(&q, &arena, "A", STR("b\r\nX: y")));
    assert_false(ask_header(&q, &arena, "A", STR("b\0c")));
    assert_false(ask_header(&q, &arena, "A", STR("\u00e9")));
    assert_int_equal(q.n_headers, 1);
    assert_string_equal(q.headers[0].p, "A: b c");
}

static void headers_are_found(void **state) {
    (void)state;
    struct heard h = {.headers = STR("HTTP/1.1 200 OK\r\nLocationX: no\r\nlocation:\t a b \r\n"
                                     "X-Empty:\r\nLocation: second\r\nLast: z")};
    assert_true(str_eqc(heard_header(&h, "Location"), "a b"));
    assert_true(str_eqc(heard_header(&h, "LAST"), "z"));
    assert_int_equal(heard_header(&h, "X-Empty").n, 0);
    assert_non_null(heard_header(&h, "X-Empty").p);
    assert_null(heard_header(&h, "HTTP/1.1 200 OK").p);
    assert_null(heard_header(&h, "Loc").p);
    h.headers = STR_NONE;
    assert_null(heard_header(&h, "Location").p);
}

static void texts_are_cut_between_characters(void **state) {
    (void)state;
    assert_int_equal(text_cut(STR("a\u00e9"), 2).n, 1);
    assert_int_equal(text_cut(STR("a\u00e9"), 3).n, 3);
    assert_int_equal(text_cut(STR("\xF0\x9F\x98\x80"), 3).n, 0);
    assert_int_equal(text_cut(STR_NONE, 3).n, 0);
}

static void errors_are_one_printable_line(void **state) {
    (void)state;
    struct told_why why;
    char text[2000];
    told_say(&why, &arena, TOLD_ROW, "x", "a\nb\tc\x7F\xFF %s", "\u00e9");
    assert_true(str_eqc(why.error, "a b c?? \u00e9"));
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "\u00e9", 3);
    told_say(&why, &arena, TOLD_ROW, "x", "-%s", text);
    assert_true(why.error.n <= ASK_ERROR_MAX && why.error.n > ASK_ERROR_MAX - 4);
    for (size_t i = 1, n; i < why.error.n; i += n) {
        n = utf8_len((const unsigned char *)why.error.p + i, why.error.n - i);
        assert_int_equal(n, 2);
    }
}

/* What each status means, where the provider means nothing else. */
static void statuses(void **state) {
    (void)state;
    static const struct {
        long status;
        int64_t retry_after_ms;
        enum told told;
    } rows[] = {
        {400, -1, TOLD_ROW},       {401, -1, TOLD_REFUSED},   {402, -1, TOLD_TRANSIENT},
        {403, -1, TOLD_REFUSED},   {404, -1, TOLD_TRANSIENT}, {405, -1, TOLD_TRANSIENT},
        {408, -1, TOLD_TRANSIENT}, {410, -1, TOLD_TRANSIENT}, {413, -1, TOLD_ROW},
        {414, -1, TOLD_ROW},       {422, -1, TOLD_ROW},       {429, -1, TOLD_WAIT},
        {429, 7000, TOLD_WAIT},    {500, -1, TOLD_TRANSIENT}, {502, 5000, TOLD_TRANSIENT},
        {503, -1, TOLD_TRANSIENT}, {503, 5000, TOLD_WAIT},    {504, -1, TOLD_TRANSIENT},
        {529, -1, TOLD_TRANSIENT}, {529, 0, TOLD_WAIT},       {301, -1, TOLD_TRANSIENT},
        {204, -1, TOLD_TRANSIENT}, {599, -1, TOLD_TRANSIENT}, {418, -1, TOLD_TRANSIENT},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct heard h = heard(rows[i].status, "{\"message\": \"words\"}");
        struct told_why why;
        h.retry_after_ms = rows[i].retry_after_ms;
        told_of_call(&why, &arena, &h);
        int64_t wait = rows[i].told == TOLD_WAIT ? rows[i].retry_after_ms : -1;
        if (why.told != rows[i].told || why.wait_ms != wait || !why.err_class ||
            !str_ends(why.error, ": words"))
            fail_msg("%ld: %s, %lld ms, %s", rows[i].status, told_name(why.told),
                     (long long)why.wait_ms, why.error.p);
    }
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        struct heard h = heard_cls(failures[i]);
        struct told_why why;
        told_of_call(&why, &arena, &h);
        assert_int_equal(why.told, TOLD_TRANSIENT);
        assert_string_equal(why.err_class, net_class_name(failures[i]));
        assert_true(str_eqc(why.error, "it broke"));
    }
}

/* A status of an answer that broke off is not what the provider says. */
static void half_an_answer_says_nothing(void **state) {
    (void)state;
    struct heard h = heard(404, "{\"message\": \"words\", \"error\": 404}");
    struct told_why why;
    assert_true(heard_no_such(&h, &arena));
    h.status = 403;
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        h.cls = failures[i];
        told_of_call(&why, &arena, &h);
        assert_int_equal(why.told, h.cls == NET_REDIRECT ? TOLD_REFUSED : TOLD_TRANSIENT);
    }
    h = heard(404, "<html>no such page</html>");
    assert_false(heard_no_such(&h, &arena));
}

static void names(void **state) {
    (void)state;
    assert_string_equal(told_name(TOLD_FOUND), "found");
    assert_string_equal(told_name(TOLD_SPENT), "spent");
    assert_string_equal(told_name((enum told)99), "?");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_encoded),
        cmocka_unit_test(bases),
        cmocka_unit_test_setup_teardown(header_lines, set_up, tear_down),
        cmocka_unit_test(headers_are_found),
        cmocka_unit_test(texts_are_cut_between_characters),
        cmocka_unit_test_setup_teardown(errors_are_one_printable_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(statuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(half_an_answer_says_nothing, set_up, tear_down),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
