/* How a frame looks in each form, and the names of deeds. */
#include "demo/stream_faults.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void each_form_dresses_a_frame(void **state) {
    (void)state;
    static const struct {
        unsigned forms;
        const char *want;
    } CASES[] = {
        {0, "event: put\ndata: 1\n\n"},
        {FORM_BOM | FORM_SPLIT | FORM_REDIRECT, "event: put\ndata: 1\n\n"},
        {FORM_CRLF, "event: put\r\ndata: 1\r\n\r\n"},
        {FORM_COMMENTS, ": all is well\n:\n\nevent: put\n:data: 1\ndata: 1\n\n"},
        {FORM_GARBAGE, "event: put\ndata: 1\n\nlorem ipsum\nno-such-field: 1\n\n"},
        {FORM_CRLF | FORM_COMMENTS | FORM_GARBAGE,
         ": all is well\r\n:\r\n\r\nevent: put\r\n:data: 1\r\ndata: 1\r\n\r\n"
         "lorem ipsum\r\nno-such-field: 1\r\n\r\n"},
    };
    struct strbuf out;
    strbuf_init(&out, 4096);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        strbuf_clear(&out);
        stream_dress(CASES[i].forms, 0, STR("event: put\ndata: 1\n\n"), &out);
        assert_string_equal(out.p, CASES[i].want);
    }
    strbuf_release(&out);
}

static void garbage_comes_in_kinds_and_ends_an_event(void **state) {
    (void)state;
    struct strbuf out, first;
    strbuf_init(&out, 4096);
    strbuf_init(&first, 4096);
    stream_garbage(0, 0, &first);
    int kinds = 1;
    for (uint64_t turn = 1;; turn++, kinds++) {
        strbuf_clear(&out);
        stream_garbage(0, turn, &out);
        assert_true(str_ends(strbuf_str(&out), "\n\n"));
        if (strcmp(out.p, first.p) == 0)
            break;
    }
    assert_true(kinds >= 5);
    strbuf_release(&out);
    strbuf_release(&first);
}

static void deeds_have_names(void **state) {
    (void)state;
    static const struct {
        const char *name;
        enum stream_deed want; /* DEED_NONE: there is no such name */
    } CASES[] = {
        {"drop", DEED_DROP},
        {"reset", DEED_RESET},
        {"silence", DEED_SILENCE},
        {"wake", DEED_WAKE},
        {"keep-alive", DEED_KEEP_ALIVE},
        {"cancel", DEED_CANCEL},
        {"auth_revoked", DEED_AUTH_REVOKED},
        {"garbage", DEED_GARBAGE},
        {"midframe", DEED_MIDFRAME},
        {"midframe-close", DEED_MIDFRAME_CLOSE},
        {"none", DEED_NONE},
        {"", DEED_NONE},
        {"Drop", DEED_NONE},
        {NULL, DEED_NONE},
    };
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        enum stream_deed got = DEED_NONE;
        bool ok = stream_deed_named(str_of(CASES[i].name), &got);
        assert_int_equal(ok, CASES[i].want != DEED_NONE);
        assert_int_equal(got, CASES[i].want);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_dresses_a_frame),
        cmocka_unit_test(garbage_comes_in_kinds_and_ends_an_event),
        cmocka_unit_test(deeds_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
