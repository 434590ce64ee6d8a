/* Pretty printing: the layout of the HN API, to the last blank. */
#include "web/json_pretty.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
    const char *compact, *pretty;
} cases[] = {
    {"null", "null\n"},
    {"8863", "8863\n"},
    {"[]", "[ ]\n"},
    {"{}", "{ }\n"},
    {"[1,2,3]", "[ 1, 2, 3 ]\n"},
    {"{\"by\":\"dhouston\",\"id\":8863,\"kids\":[9224,8917],\"dead\":true}",
     "{\n"
     "  \"by\" : \"dhouston\",\n"
     "  \"id\" : 8863,\n"
     "  \"kids\" : [ 9224, 8917 ],\n"
     "  \"dead\" : true\n"
     "}\n"},
    {"{\"items\":[],\"profiles\":[\"a,b\",\"c:d\"]}", "{\n"
                                                      "  \"items\" : [ ],\n"
                                                      "  \"profiles\" : [ \"a,b\", \"c:d\" ]\n"
                                                      "}\n"},
    {"{\"text\":\"a \\\"{[,:]}\\\" \\\\\"}", "{\n  \"text\" : \"a \\\"{[,:]}\\\" \\\\\"\n}\n"},
    {"{\"a\":{\"b\":{}},\"c\":[{\"d\":1},{\"e\":-2.5e3}]}", "{\n"
                                                            "  \"a\" : {\n"
                                                            "    \"b\" : { }\n"
                                                            "  },\n"
                                                            "  \"c\" : [ {\n"
                                                            "    \"d\" : 1\n"
                                                            "  }, {\n"
                                                            "    \"e\" : -2.5e3\n"
                                                            "  } ]\n"
                                                            "}\n"},
};

static void layout(void **state UNUSED) {
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(strbuf_release) struct strbuf b;
        strbuf_init(&b, 4096);
        json_pretty(str_of(cases[i].compact), &b);
        assert_string_equal(b.p, cases[i].pretty);
    }
}

/* Far deeper than anything that is served. */
static void any_depth(void **state UNUSED) {
    CLEANUP(strbuf_release) struct strbuf in, out;
    strbuf_init(&in, 1 << 20);
    strbuf_init(&out, 1 << 22);
    for (int i = 0; i < 1000; i++)
        strbuf_adds(&in, "{\"a\":[");
    strbuf_adds(&in, "\"never closed");
    json_pretty(strbuf_str(&in), &out);
    for (int i = 0; i < 1000; i++)
        strbuf_adds(&in, "]}");
    strbuf_clear(&out);
    json_pretty(strbuf_str(&in), &out);
    assert_false(out.overflow);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout),
        cmocka_unit_test(any_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
