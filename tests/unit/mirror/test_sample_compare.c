/* How a stored item stands to what the upstream says now. */
#include "mirror/sample_compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define OURS                                                                         \
    "{\"id\":1,\"type\":\"story\",\"by\":\"a\",\"time\":7,\"score\":5,\"kids\":[2]," \
    "\"text\":\"t\"}"

static const struct {
    const char *theirs;
    enum sample_verdict wanted;
    const char *fields;
} cases[] = {
    {OURS, SAMPLE_EQUAL, ""},
    {"{\"id\":1,\"type\":\"story\",\"by\":\"a\",\"time\":7,\"score\":6,\"kids\":[2],\"text\":"
     "\"t\"}",
     SAMPLE_NEWER, ""},
    {"{\"id\":1,\"type\":\"story\",\"by\":\"a\",\"time\":7,\"score\":5,\"kids\":[3,2],"
     "\"text\":\"t\"}",
     SAMPLE_NEWER, ""},
    {"{\"id\":1,\"type\":\"story\",\"by\":\"a\",\"time\":7,\"score\":5,\"kids\":[2],\"text\":\"t\","
     "\"descendants\":1}",
     SAMPLE_NEWER, ""},
    {"{\"id\":1,\"type\":\"story\",\"by\":\"b\",\"time\":7,\"score\":9,\"kids\":[2],\"dead\":true}",
     SAMPLE_DIFFERS, "by, dead, text"},
    {"{\"id\":1,\"type\":\"story\",\"by\":\"b\",\"time\":7,\"kids\":[2],\"text\":\"t\"}",
     SAMPLE_DIFFERS, "by"},
    {"{\"id\":1,\"type\":\"story\",\"by\":\"a\",\"time\":7,\"text\":\"evil\"}", SAMPLE_DIFFERS,
     "text"},
    /* put up again by a moderator, who gave it another title */
    {"{\"id\":1,\"type\":\"story\",\"by\":\"a\",\"time\":9,\"title\":\"x\",\"text\":\"t\"}",
     SAMPLE_DIFFERS, "title, time"},
    {"{\"id\":1,\"type\":\"story\",\"by\":\"a\",\"time\":9,\"score\":5,\"kids\":[2],\"text\":"
     "\"t\"}",
     SAMPLE_CONTRADICTS, "time"},
    {"{\"id\":1,\"type\":\"job\",\"by\":\"a\",\"time\":7,\"score\":5,\"kids\":[2],\"text\":\"t\"}",
     SAMPLE_CONTRADICTS, "type"},
    {"{\"id\":1,\"time\":7,\"deleted\":true}", SAMPLE_DIFFERS, "by, deleted, text, type"},
    {"{\"id\":1,\"by\":\"a\",\"parts\":[1],\"poll\":2,\"parent\":3,\"time\":4,\"title\":\"x\","
     "\"type\":\"y\",\"url\":\"z\",\"deleted\":true,\"text\":\"t\"}",
     SAMPLE_CONTRADICTS, "deleted, parent, parts, poll, title, type, url, time"},
};

static void each_difference(void **state) {
    (void)state;
    struct sample_report r = {0};
    struct arena a;
    struct item ours, theirs;
    struct sample_difference d;
    arena_init(&a);
    assert_int_equal(item_parse(&a, str_of(OURS), 1, &ours), ITEM_OK);
    ours.content_hash = 5; /* what the row says of itself counts for nothing */
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(item_parse(&a, str_of(cases[i].theirs), 1, &theirs), ITEM_OK);
        if (sample_take(&r, &ours, &theirs, &d) != cases[i].wanted)
            fail_msg("case %zu: %s", i, d.fields);
        assert_string_equal(d.fields, cases[i].fields);
        assert_int_equal(d.contradicts, cases[i].wanted == SAMPLE_CONTRADICTS);
    }
    assert_int_equal(r.equal, 1);
    assert_int_equal(r.newer, 3);
    assert_int_equal(r.differs, 5);
    assert_int_equal(r.contradicts, 3);
    assert_int_equal(r.n_differences, 8);
    arena_release(&a);
}

static void what_is_fine(void **state) {
    (void)state;
    struct sample_report r = {.asked = 9, .newer = 2, .differs = 3};
    assert_true(sample_is_fine(&r));
    r.contradicts = 1;
    assert_false(sample_is_fine(&r));
    r = (struct sample_report){.gone = 1};
    assert_false(sample_is_fine(&r));
    r = (struct sample_report){0};
    sample_no_answer(&r, "timeout", "no byte for 5 s");
    assert_false(sample_is_fine(&r));
    assert_string_equal(r.trouble, "timeout: no byte for 5 s");
    sample_no_answer(&r, "connect", NULL);
    assert_string_equal(r.trouble, "connect");
    assert_int_equal(r.unanswered, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_difference),
        cmocka_unit_test(what_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
