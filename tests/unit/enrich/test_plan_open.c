/* The store is a stand-in here: it says what it is told to. tests/contract has the real ones. */
#include "enrich/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct arena arena;
static struct enrich_plan plan;
static struct err e;
static char path[] = "/tmp/tain-plan-XXXXXX";

static struct {
    const char *field;
    size_t index;
    enum verdict verdict;
    const char *message;
    int fail_at; /* the how-many-eth source fails */
    int opened, closed;
    struct source_column columns[2];
} fake;

struct source {
    int number;
};
static struct source sources[2];

enum verdict store_source_open(struct store *s UNUSED, const struct source_spec *spec UNUSED,
                               struct source **ret, const char **ret_field, size_t *ret_index,
                               struct err *err) {
    if (fake.opened == fake.fail_at) {
        *ret_field = fake.field;
        *ret_index = fake.index;
        return err_set(err, fake.verdict, "postgres", 0, "%s", fake.message);
    }
    *ret = &sources[fake.opened++];
    return V_OK;
}

void store_source_close(struct source *src) {
    fake.closed += src != NULL;
}

const struct source_column *source_output(const struct source *src UNUSED, size_t i) {
    return &fake.columns[i];
}

static const char text[] = "provider p { url = \"http://h\" rate = none token = ${TOKEN} }\n"
                           "source a { # line 2\n"
                           "provider = p\n"
                           "table = t\n"
                           "key = id # line 5\n"
                           "status = st\n"
                           "filter = \"x = '${TOKEN}'\"\n"
                           "match = m\n"
                           "states {\n"
                           "busy = b # line 10\n"
                           "}\n"
                           "request { path = \"/{col1}\"\n"
                           "body = '{\n"
                           "\"a\": \"{col2}\",\n"
                           "\"b\": \"{col1} {col3}\" }' }\n"
                           "map x { from = a } # line 16\n"
                           "map y { from = a type = int }\n"
                           "}\n"
                           "source b { provider = p table = t2 key = id status = st match = m\n"
                           "request { path = \"/\" } }\n";

static const char *env(const char *name) {
    return strcmp(name, "TOKEN") == 0 ? "s3cret" : NULL;
}

static int set_up(void **state) {
    (void)state;
    strcpy(path, "/tmp/tain-plan-XXXXXX");
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, text, sizeof text - 1) != sizeof text - 1)
        return -1;
    close(fd);
    arena_init(&arena);
    memset(&fake, 0, sizeof fake);
    fake.fail_at = -1;
    fake.verdict = V_INVALID;
    fake.message = "no good";
    fake.columns[0] = (struct source_column){.type = COLUMN_TEXT, .type_name = STR("text")};
    fake.columns[1] = (struct source_column){.type = COLUMN_INT, .type_name = STR("smallint")};
    if (plan_read(path, env, &arena, &plan, &e) != V_OK)
        fail_msg("%s", e.msg);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    arena_release(&arena);
    return unlink(path);
}

static void sources_are_opened(void **state) {
    (void)state;
    struct source *opened[2];
    assert_int_equal(plan_open_sources(&plan, NULL, opened, &e), V_OK);
    assert_ptr_equal(opened[0], &sources[0]);
    assert_ptr_equal(opened[1], &sources[1]);
    assert_int_equal(fake.closed, 0);
}

static void what_the_store_refuses_has_a_line(void **state) {
    (void)state;
    static const struct {
        const char *field;
        size_t index;
        int line;
        const char *label;
    } cases[] = {
        {"table", 0, 4, "table"},     {"key", 0, 5, "key"},         {"status", 0, 6, "status"},
        {"since", 0, 2, "since"},     {"filter", 0, 7, "filter"},   {"states", 1, 10, "states"},
        {"states", 0, 9, "states"},   {"inputs", 0, 12, "request"}, {"inputs", 1, 14, "request"},
        {"inputs", 2, 15, "request"}, {"outputs", 0, 16, "map"},    {"outputs", 1, 17, "map"},
        {"name", 0, 2, "source"},     {NULL, 0, 2, "source"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct source *opened[2];
        char want[100];
        fake.fail_at = 0;
        fake.field = cases[i].field;
        fake.index = cases[i].index;
        assert_int_equal(plan_open_sources(&plan, NULL, opened, &e), V_INVALID);
        snprintf(want, sizeof want, "%s:%d: %s: no good", path, cases[i].line, cases[i].label);
        assert_string_equal(e.msg, want);
        assert_null(opened[0]);
    }
}

static void all_or_none(void **state) {
    (void)state;
    struct source *opened[2];
    fake.fail_at = 1;
    fake.verdict = V_RETRY;
    assert_int_equal(plan_open_sources(&plan, NULL, opened, &e), V_RETRY);
    assert_string_equal(e.msg, "source b: no good");
    assert_int_equal(fake.closed, 1);
    assert_null(opened[0]);
    assert_null(opened[1]);
}

/* A database quotes what it does not understand. */
static void the_environment_stays_out_of_messages(void **state) {
    (void)state;
    struct source *opened[2];
    fake.fail_at = 0;
    fake.field = "filter";
    fake.message = "syntax error at s3crets3cret, in x = 's3cret'";
    assert_int_equal(plan_open_sources(&plan, NULL, opened, &e), V_INVALID);
    assert_non_null(
        strstr(e.msg, ":7: filter: syntax error at ${TOKEN}${TOKEN}, in x = '${TOKEN}'"));
    struct err long_one = {0};
    memset(long_one.msg, 'a', sizeof long_one.msg - 1);
    memcpy(long_one.msg + sizeof long_one.msg - 7, "s3cret", 6);
    plan_redact(&plan, &long_one);
    assert_null(strstr(long_one.msg, "s3"));
    assert_int_equal(strlen(long_one.msg), sizeof long_one.msg - 1);
}

/* What a provider says may repeat what it was asked, whole or up to where the text was cut. */
static void nor_do_tokens_and_headers(void **state) {
    (void)state;
    static const struct {
        const char *given, *want;
    } rows[] = {
        {"", ""},
        {"HTTP 500", "HTTP 500"},
        {"to https://b/?k=s3cret&a=s3cret", "to https://b/?k=${TOKEN}&a=${TOKEN}"},
        {"no such key: written-here!", "no such key: (a secret)!"},
        {"Bearer token-in-the-file", "Bearer (a secret)"},
        {"beginning with: written-", "beginning with: (a secret)"},
        {"beginning with: writ", "beginning with: writ"},
        {"not text/plain", "not text/plain"},
        {"a cookie of two: first-of-two, second1", "a cookie of two: (a secret), (a secret)"},
        {"its name is session", "its name is session"},
        {"X-Key or Authorization is wrong", "X-Key or Authorization is wrong"},
        {"padded: cGFk==.", "padded: (a secret)."},
    };
    struct provider *p = &plan.providers[0];
    p->headers[p->n_headers++] = STR("X-Key: written-here");
    p->headers[p->n_headers++] = STR("Authorization: Bearer token-in-the-file");
    p->headers[p->n_headers++] = STR("Accept: text/plain");
    p->headers[p->n_headers++] = STR("Cookie: session=first-of-two; other second1");
    p->headers[p->n_headers++] = STR("X-Padded: cGFk==");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(plan_redacted(&plan, str_of(rows[i].given), &arena).p, rows[i].want);
}

static void types_must_go_into_their_columns(void **state) {
    (void)state;
    struct source *opened[2];
    char want[200];
    fake.columns[0] = (struct source_column){.type = COLUMN_INT, .type_name = STR("smallint")};
    assert_int_equal(plan_open_sources(&plan, NULL, opened, &e), V_INVALID);
    snprintf(want, sizeof want,
             "%s:16: map x: type = text does not go into a column of type smallint; write "
             "type = int",
             path);
    assert_string_equal(e.msg, want);
    assert_int_equal(fake.opened, fake.closed);
    fake.opened = fake.closed = 0;
    fake.columns[0].type = COLUMN_OTHER;
    assert_int_equal(plan_open_sources(&plan, NULL, opened, &e), V_OK);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(sources_are_opened),
        CASE(what_the_store_refuses_has_a_line),
        CASE(all_or_none),
        CASE(the_environment_stays_out_of_messages),
        CASE(nor_do_tokens_and_headers),
        CASE(types_must_go_into_their_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
