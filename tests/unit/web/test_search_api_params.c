/* Parameters of the HN Search API: what they ask for, and what is refused. */
#include "web/search_api_params.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define END ((const char *)NULL) /* of the arguments of ask() */

static struct search_api_query got;

/* name, value, name, value, ..., END */
static enum verdict ask_v(struct err *e, va_list args) {
    struct call c = {0};
    for (const char *name; (name = va_arg(args, const char *));)
        c.params[c.n_params++] = (struct call_param){str_of(name), str_of(va_arg(args, char *))};
    memset(&got, 0xAB, sizeof got);
    return search_api_params(&c, SEARCH_BY_DATE, &got, e);
}

static void ask(int ignored UNUSED, ...) {
    struct err e = {0};
    va_list args;
    va_start(args, ignored);
    enum verdict v = ask_v(&e, args);
    va_end(args);
    if (v != V_OK)
        fail_msg("%s", e.msg);
}

/* It is refused, and the message holds these words. */
static void refused(const char *name, const char *value, const char *words) {
    struct call c = {.n_params = 1, .params = {{str_of(name), str_of(value)}}};
    struct err e = {0};
    assert_int_equal(search_api_params(&c, SEARCH_BY_DATE, &got, &e), V_INVALID);
    if (!strstr(e.msg, name) || !strstr(e.msg, words))
        fail_msg("%s=%s: %s", name, value, e.msg);
}

static void nothing_asks_for_everything(void **state UNUSED) {
    ask(0, END);
    assert_int_equal(got.page, 0);
    assert_int_equal(got.per_page, 20);
    assert_int_equal(got.q.limit, 20);
    assert_int_equal(got.q.offset, 0);
    assert_int_equal(got.q.n_groups, 0);
    assert_int_equal(got.q.order, SEARCH_BY_DATE);
    assert_int_equal(got.q.fields, 0);
    assert_int_equal(got.fields, API_FIELDS);
    assert_true(got.q.time_lo == I64_NONE && got.q.points_hi == I64_NONE);
    assert_false(got.q.with_dead);
    ask(0, "query", "", "tags", "", "numericFilters", "", "page", "", "hitsPerPage", "",
        "restrictSearchableAttributes", "", "typoTolerance", "false", "filters", "", END);
    assert_int_equal(got.q.n_groups, 0);
    assert_int_equal(got.per_page, 20);
    assert_int_equal(got.fields, API_FIELDS);
}

static void pages(void **state UNUSED) {
    ask(0, "query", "a \"b c\" -d", "page", "3", "hitsPerPage", "1000", END);
    assert_true(str_eqc(got.q.text, "a \"b c\" -d"));
    assert_int_equal(got.q.offset, 3000);
    assert_int_equal(got.q.limit, 1000);
    ask(0, "hitsPerPage", "0", "page", "7", END);
    assert_int_equal(got.per_page, 0);
    assert_int_equal(got.q.limit, 1);
    assert_int_equal(got.q.offset, 0);
    assert_int_equal(got.q.count_to, SEARCH_API_COUNT);
    refused("hitsPerPage", "1001", "1000");
    refused("hitsPerPage", "-1", "1000");
    refused("hitsPerPage", "ten", "\"ten\"");
    refused("page", "-1", "from 0");
    refused("page", "9223372036854775807", "from 0");
    refused("page", "1.5", "1.5");
}

static void expect_tag(size_t group, size_t choice, enum search_tag_kind kind, unsigned kinds) {
    assert_true(group < got.q.n_groups && choice < got.q.groups[group].n);
    assert_int_equal(got.q.groups[group].tags[choice].kind, kind);
    assert_int_equal(got.q.groups[group].tags[choice].kinds, kinds);
}

static void tags_are_joined_by_and_and_or(void **state UNUSED) {
    ask(0, "tags", "story,author_pg", END);
    assert_int_equal(got.q.n_groups, 2);
    expect_tag(0, 0, TAG_KIND, SEARCH_STORY);
    expect_tag(1, 0, TAG_AUTHOR, 0);
    assert_true(str_eqc(got.q.groups[1].tags[0].name, "pg"));
    ask(0, "tags", "author_a_b-C , ( story , poll, job,story_8863 ,ask_hn),front_page", END);
    assert_int_equal(got.q.n_groups, 3);
    assert_true(str_eqc(got.q.groups[0].tags[0].name, "a_b-C"));
    assert_int_equal(got.q.groups[1].n, 3);
    expect_tag(1, 0, TAG_KIND, SEARCH_STORY | SEARCH_POLL | SEARCH_JOB);
    expect_tag(1, 1, TAG_STORY, 0);
    assert_int_equal(got.q.groups[1].tags[1].id, 8863);
    expect_tag(1, 2, TAG_ASK_HN, 0);
    expect_tag(2, 0, TAG_FRONT_PAGE, 0);
    ask(0, "tags", "(comment)", "tags", "show_hn,(pollopt)", END);
    assert_int_equal(got.q.n_groups, 3);
    expect_tag(0, 0, TAG_KIND, SEARCH_COMMENT);
    expect_tag(1, 0, TAG_SHOW_HN, 0);
    expect_tag(2, 0, TAG_KIND, SEARCH_POLLOPT);
}

static void tags_that_are_none(void **state UNUSED) {
    static const char *const wrong[] = {
        "stories",     "story_",        "story_x",
        "story_-1",    "author_",       ",",
        "story,,poll", "(story",        "story)",
        "()",          "(story)(poll)", "((story))",
        "(story,)",    "STORY",         "story_99999999999999999999",
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        refused("tags", wrong[i], "");
    refused("tags", "comment,weird_thing", "\"weird_thing\" is not story");
    char many[4096] = "(";
    for (int i = 0; i <= SEARCH_CHOICES; i++)
        sprintf(many + strlen(many), "%sstory_%d", i ? "," : "", i + 1);
    strcat(many, ")");
    refused("tags", many, "too many");
    strcpy(many, "story");
    for (int i = 0; i < SEARCH_GROUPS; i++)
        strcat(many, ",story");
    refused("tags", many, "too many");
}

#define RANGE(name, lo, hi)                    \
    do {                                       \
        assert_int_equal(got.q.name##_lo, lo); \
        assert_int_equal(got.q.name##_hi, hi); \
    } while (0)

static void numbers_are_bounds(void **state UNUSED) {
    ask(0, "numericFilters", "created_at_i>100,created_at_i<200,points>=5 , num_comments = 7", END);
    RANGE(time, 101, 199);
    RANGE(points, 5, I64_NONE);
    RANGE(comments, 7, 7);
    ask(0, "numericFilters", "points<=10", "numericFilters", "points<=20,points>3,points>1", END);
    RANGE(points, 4, 10);
    RANGE(time, I64_NONE, I64_NONE);
    ask(0, "numericFilters", "points>10,points<5", END);
    RANGE(points, 11, 4); /* which nothing is within */
    ask(0, "numericFilters", "points>-3,points<-1", END);
    RANGE(points, -2, -2);
    ask(0, "numericFilters", "points>9223372036854775807,num_comments<-9223372036854775808", END);
    RANGE(points, INT64_MAX, I64_NONE);
    RANGE(comments, I64_NONE, INT64_MIN + 1);
}

static void fractions_are_understood(void **state UNUSED) {
    ask(0, "numericFilters", "created_at_i>1700000000.25,created_at_i<1700000900.75", END);
    RANGE(time, 1700000001, 1700000900);
    ask(0, "numericFilters", "points>=1.5,points<=8.5", END);
    RANGE(points, 2, 8);
    ask(0, "numericFilters", "points>1.0,points<9.000", END);
    RANGE(points, 2, 8);
    ask(0, "numericFilters", "points=2.5", END);
    RANGE(points, 3, 2);
    ask(0, "numericFilters", "points>-2.5,points<-0.5", END);
    RANGE(points, -2, -1);
}

static void filters_that_are_none(void **state UNUSED) {
    static const char *const wrong[] = {
        "points",     "points!=3",     "points>",    "points>x",   "karma>3",
        "points>1,,", "points:1 to 2", "points>1e3", "(points>1)", "points>99999999999999999999",
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        refused("numericFilters", wrong[i], "");
    refused("numericFilters", "karma>3", "created_at_i, points or num_comments");
    refused("filters", "points > 3", "numericFilters");
    refused("facetFilters", "[\"story\"]", "tags");
    char huge[1000];
    memset(huge, 'x', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    refused("numericFilters", huge, "...\"");
}

static void fields(void **state UNUSED) {
    ask(0, "restrictSearchableAttributes", "title, url", "query", "x", END);
    assert_int_equal(got.fields, API_TITLE | API_URL);
    assert_int_equal(got.q.fields, SEARCH_IN_TITLE | SEARCH_IN_URL);
    assert_int_equal(got.q.n_groups, 0);
    ask(0, "restrictSearchableAttributes", "[\"title\", \"url\"]", "query", "x", END);
    assert_int_equal(got.fields, API_TITLE | API_URL);
    ask(0, "restrictSearchableAttributes", "comment_text", "query", "x", END);
    assert_int_equal(got.q.fields, SEARCH_IN_TEXT);
    expect_tag(0, 0, TAG_KIND, SEARCH_COMMENT);
    ask(0, "restrictSearchableAttributes", "title,story_text", "query", "x", "tags", "ask_hn", END);
    expect_tag(1, 0, TAG_KIND, SEARCH_ANY & ~SEARCH_COMMENT);
    ask(0, "restrictSearchableAttributes", "comment_text",
        END); /* there are no words to be in it */
    assert_int_equal(got.q.n_groups, 0);
    refused("restrictSearchableAttributes", "karma", "comment_text");
    refused("restrictSearchableAttributes", "title,", "comment_text");
    refused("restrictSearchableAttributes", "[]", "comment_text");
}

static void the_answer_repeats_them(void **state UNUSED) {
    struct call c = {.n_params = 5,
                     .params = {{STR("tags"), STR("(comment),author_pg")},
                                {STR("query"), STR("a&b")},
                                {STR("hitsPerPage"), STR("1")},
                                {STR("callback"), STR("f")},
                                {STR("tags"), STR("story_1")}}};
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 4096);
    search_api_echo(&c, &b);
    assert_string_equal(b.p, "advancedSyntax=true&analytics=false&hitsPerPage=1&query=a%26b"
                             "&tags=%28comment%29%2Cauthor_pg&tags=story_1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_asks_for_everything),
        cmocka_unit_test(pages),
        cmocka_unit_test(tags_are_joined_by_and_and_or),
        cmocka_unit_test(tags_that_are_none),
        cmocka_unit_test(numbers_are_bounds),
        cmocka_unit_test(fractions_are_understood),
        cmocka_unit_test(filters_that_are_none),
        cmocka_unit_test(fields),
        cmocka_unit_test(the_answer_repeats_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
