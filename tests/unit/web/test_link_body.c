/* What a bot may say of a link, and how it is told what it may not. */
#include "web/link_body.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static enum verdict read_body(struct arena *a, const char *text, struct link_add *ret,
                              struct err *e) {
    arena_init(a);
    return link_body_read(a, str_of(text), ret, e);
}

static void all_fields(void **state UNUSED) {
    struct arena a;
    struct link_add add;
    struct err e;
    assert_int_equal(read_body(&a,
                               "{\"url\":\"https:\\/\\/a.example\\/\\u00e4\",\"title\":\"T\","
                               "\"description\":\"D\",\"submitted_by\":\"me\","
                               "\"source\":\"my-bot-2\"}\n",
                               &add, &e),
                     V_OK);
    assert_true(str_eqc(add.url, "https://a.example/ä"));
    assert_true(str_eqc(add.title, "T") && str_eqc(add.description, "D"));
    assert_true(str_eqc(add.submitted_by, "me") && str_eqc(add.source, "my-bot-2"));
    assert_false(add.waiting);
    arena_release(&a);
}

static void what_is_left_out(void **state UNUSED) {
    struct arena a;
    struct link_add add;
    struct err e;
    assert_int_equal(
        read_body(&a, "{\"url\":\"x.example\",\"title\":null,\"source\":\"\"}", &add, &e), V_OK);
    assert_null(add.title.p);
    assert_null(add.description.p);
    assert_null(add.submitted_by.p);
    assert_true(str_eqc(add.source, "agent"));
    arena_release(&a);
}

static void refused(const char *text, const char *why) {
    struct arena a;
    struct link_add add;
    struct err e = {0};
    enum verdict v = read_body(&a, text, &add, &e);
    if (v != V_INVALID || !strstr(e.msg, why))
        fail_msg("%s: %s, %s", text, verdict_name(v), e.msg);
    arena_release(&a);
}

static void mistakes_are_named(void **state UNUSED) {
    refused("", "send a JSON object");
    refused("[]", "send a JSON object");
    refused("\"https://a.example\"", "send a JSON object");
    refused("{}", "url: it is missing");
    refused("{\"url\":\"\"}", "url: it is missing");
    refused("{\"url\":null}", "url: it is missing");
    refused("{\"url\":7}", "url: give a text");
    refused("{\"url\":[\"https://a.example\"]}", "url: give a text");
    refused("{\"url\":\"https://a.example\",\"title\":{}}", "title: give a text");
    refused("{\"link\":\"https://a.example\"}", "link: there is no such field");
    refused("{\"url\":\"https://a.example\"", "the JSON is broken");
    refused("{\"url\":\"https://a.example\"} x", "the JSON is broken");
    refused("{\"url\":\"https://a.example", "the JSON is broken");
    refused("{\"url\":\"a.example\",\"source\":\"Mine\"}", "source: give a word");
    refused("{\"url\":\"a.example\",\"source\":\"a b\"}", "source: give a word");
    refused("{\"url\":\"a.example\",\"source\":\"discussion-ref\"}",
            "source: that one is for tain");
    refused("{\"url\":\"a.example\",\"source\":\"auto-parent\"}", "source: that one is for tain");
}

static void sizes_have_limits(void **state UNUSED) {
    static const struct {
        const char *name;
        int max;
    } fields[] = {{"url", LINK_URL_MAX},
                  {"title", LINK_BODY_TITLE_MAX},
                  {"description", LINK_BODY_DESCRIPTION_MAX},
                  {"submitted_by", LINK_BODY_NAME_MAX},
                  {"source", LINK_BODY_SOURCE_MAX}};
    static char text[LINK_BODY_DESCRIPTION_MAX + 200], value[LINK_BODY_DESCRIPTION_MAX + 2];
    char why[100];
    struct arena a;
    struct link_add add;
    struct err e;
    memset(value, 'x', sizeof value - 1);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        snprintf(text, sizeof text, "{\"url\":\"a.example\",\"%s\":\"%.*s\"}", fields[i].name,
                 fields[i].max, value);
        assert_int_equal(read_body(&a, text, &add, &e), V_OK);
        arena_release(&a);
        snprintf(text, sizeof text, "{\"url\":\"a.example\",\"%s\":\"%.*s\"}", fields[i].name,
                 fields[i].max + 1, value);
        snprintf(why, sizeof why, "%s: it has %d bytes; %d are the most", fields[i].name,
                 fields[i].max + 1, fields[i].max);
        refused(text, why);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_fields),
        cmocka_unit_test(what_is_left_out),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(sizes_have_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
