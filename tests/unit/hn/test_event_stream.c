#include "hn/event_stream.h"
#include "shared_data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#define LIMIT ((size_t)1 << 16)

/* Every event as a line "type|data|id", with what cannot be seen written as \xHH. */
static void put_visible(struct strbuf *out, struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c < ' ' || c == '\\' || c == '|')
            strbuf_addf(out, "\\x%02x", c);
        else
            strbuf_addc(out, (char)c);
    }
}

static void put_event(void *context, const struct stream_event *event) {
    struct strbuf *out = context;
    put_visible(out, event->type);
    strbuf_addc(out, '|');
    put_visible(out, event->data);
    strbuf_addc(out, '|');
    put_visible(out, event->id);
    strbuf_addc(out, '\n');
}

struct parsed {
    struct strbuf events;
    int64_t retry_ms;
    enum verdict verdict;
};

/* Cuts the input into pieces of sizes[0], sizes[1], ...; the last size repeats. */
static struct parsed parse(struct str in, const size_t *sizes, size_t n_sizes, size_t limit) {
    struct parsed ret = {.verdict = V_OK};
    struct event_stream s;
    struct err e;
    strbuf_init(&ret.events, 1 << 20);
    event_stream_init(&s, limit, put_event, &ret.events);
    for (size_t at = 0, i = 0; at < in.n; i++) {
        size_t n = sizes[i < n_sizes ? i : n_sizes - 1];
        n = n < in.n - at ? n : in.n - at;
        ret.verdict = event_stream_push(&s, (struct str){in.p + at, n}, &e);
        at += n;
    }
    ret.retry_ms = s.retry_ms;
    event_stream_release(&s);
    return ret;
}

static void expect(const char *name, struct str in, const size_t *sizes, size_t n_sizes,
                   const char *events, int64_t retry_ms) {
    struct parsed got = parse(in, sizes, n_sizes, LIMIT);
    if (strcmp(strbuf_str(&got.events).p, events) != 0)
        fail_msg("%s, pieces of %zu:\n%swanted:\n%s", name, sizes[0], strbuf_str(&got.events).p,
                 events);
    if (got.retry_ms != retry_ms)
        fail_msg("%s: retry %lld", name, (long long)got.retry_ms);
    assert_int_equal(got.verdict, V_OK);
    strbuf_release(&got.events);
}

static void expect_any_split(const char *name, struct str in, const char *events, int64_t retry) {
    for (size_t size = 1; size <= in.n + 1; size++)
        expect(name, in, &size, 1, events, retry);
}

static const struct {
    const char *name;
    struct str in;
    const char *events;
    int64_t retry_ms;
} cases[] = {
    {"nothing", STR(""), "", -1},
    {"line ends of all kinds", STR("data:a\ndata:b\rdata:c\r\n\r\ndata:d\r\rdata:e\n\n"),
     "message|a\\x0ab\\x0ac|\nmessage|d|\nmessage|e|\n", -1},
    {"CR CR LF is two lines", STR("data:a\r\r\ndata:b\n\n"), "message|a|\nmessage|b|\n", -1},
    {"one space is dropped", STR("data:  a\ndata:b \n\n"), "message| a\\x0ab |\n", -1},
    {"comments", STR(":\n: data: no\ndata:a\n:data:no\n\n"), "message|a|\n", -1},
    {"a field without a colon", STR("data\n\ndata\ndata\n\nevent\ndata:x\n\n"),
     "message||\nmessage|\\x0a|\nmessage|x|\n", -1},
    {"unknown fields", STR("dat:a\ndata :b\n data:c\nDATA:d\ndata:e\n\n"), "message|e|\n", -1},
    {"type without data", STR("event:put\n\ndata:a\n\n"), "message|a|\n", -1},
    {"the last type counts", STR("event:a\nevent:b\ndata:x\n\ndata:y\n\n"), "b|x|\nmessage|y|\n",
     -1},
    {"an id without data counts", STR("id:7\n\ndata:a\n\n"), "message|a|7\n", -1},
    {"an id is cleared", STR("id:7\ndata:a\n\nid:\ndata:b\n\n"), "message|a|7\nmessage|b|\n", -1},
    {"retry", STR("retry: 10\nretry:5x\nretry:-1\nretry:\nretry:99999999999999999999\n"), "", 10},
    {"a byte order mark",
     STR("\xEF\xBB\xBF"
         "data:a\n\n"),
     "message|a|\n", -1},
    {"half a mark is a name",
     STR("\xEF\xBB"
         "data:a\n\ndata:b\n\n"),
     "message|b|\n", -1},
    {"a mark alone", STR("\xEF\xBB\xBF\n\ndata:a\n\n"), "message|a|\n", -1},
    {"a mark later is none",
     STR("\n\xEF\xBB\xBF"
         "data:a\n\n"),
     "", -1},
    {"cut off", STR("data:a\n\ndata:b\n"), "message|a|\n", -1},
    {"firebase",
     STR("event: put\ndata: {\"path\":\"/\",\"data\":null}\n\nevent: keep-alive\n"
         "data: null\n\n"),
     "put|{\"path\":\"/\",\"data\":null}|\nkeep-alive|null|\n", -1},
};

static void reads_by_the_rules(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect_any_split(cases[i].name, cases[i].in, cases[i].events, cases[i].retry_ms);
}

/* A limit of 8: lines of 8 bytes pass, the data of an event may have 8. */
static const struct {
    struct str in;
    const char *events;
    enum verdict verdict;
} limits[] = {
    {STR("data:abc\n\n"), "message|abc|\n", V_OK},
    {STR("data:abcd\n\n"), "", V_LIMIT},
    {STR("data:x\n\ndata:abcd"), "message|x|\n", V_LIMIT},
    {STR(":1234567\ndata:x\n\n"), "message|x|\n", V_OK},
    {STR(":12345678\ndata:x\n\n"), "", V_LIMIT},
    {STR("data:abc\ndata:abc\ndata\n\n"), "message|abc\\x0aabc\\x0a|\n", V_OK},
    {STR("data:abc\ndata:abc\ndata:x\n\ndata:y\n\n"), "", V_LIMIT},
    {STR("data:x\n\n123456789\ndata:y\n\n"), "message|x|\n", V_LIMIT},
};

static void keeps_to_its_limit(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        for (size_t size = 1; size <= limits[i].in.n; size++) {
            struct parsed got = parse(limits[i].in, &size, 1, 8);
            assert_string_equal(strbuf_str(&got.events).p, limits[i].events);
            if (got.verdict != limits[i].verdict)
                fail_msg("limit case %zu, pieces of %zu: %s", i, size, verdict_name(got.verdict));
            strbuf_release(&got.events);
        }
    }
}

static void starts_anew(void **state) {
    (void)state;
    struct strbuf events;
    struct event_stream s;
    struct err e;
    strbuf_init(&events, 4096);
    event_stream_init(&s, 16, put_event, &events);
    assert_int_equal(event_stream_push(&s, STR("id:1\nretry:5\n\ndata:half\n\r"), &e), V_OK);
    assert_int_equal(event_stream_push(&s, STR("event:lost\ndata:lo"), &e), V_OK);
    event_stream_restart(&s);
    assert_int_equal(event_stream_push(&s,
                                       STR("\xEF\xBB\xBF"
                                           "data:new\n\n"),
                                       &e),
                     V_OK);
    assert_int_equal(event_stream_push(&s, STR("data:much too long a line"), &e), V_LIMIT);
    assert_int_equal(event_stream_push(&s, STR("\n\ndata:a\n\n"), &e), V_LIMIT);
    event_stream_restart(&s);
    assert_int_equal(event_stream_push(&s, STR("\ndata:b\n\n"), &e), V_OK);
    assert_string_equal(events.p, "message|half|1\nmessage|new|1\nmessage|b|1\n");
    assert_int_equal(s.retry_ms, 5);
    event_stream_release(&s);
    strbuf_release(&events);
}

/* Recorded cases of the web platform ------------------------------------------------------------
 */

static size_t decode_base64(const char *text, char *to) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = 0;
    unsigned bits = 0, have = 0;
    for (; *text && *text != '='; text++) {
        bits = bits << 6 | (unsigned)(strchr(digits, *text) - digits);
        have += 6;
        if (have >= 8) {
            have -= 8;
            to[n++] = (char)(bits >> have);
        }
    }
    return n;
}

static struct str text_of(json_t *event, const char *key) {
    json_t *value = json_object_get(event, key);
    return (struct str){json_string_value(value), json_string_length(value)};
}

static void run_recorded(json_t *c) {
    char bytes[4096];
    struct strbuf wanted;
    size_t sizes[16] = {0}, n_sizes = json_array_size(json_object_get(c, "chunk_sizes")), i;
    const char *name = json_string_value(json_object_get(c, "name"));
    json_t *retry = json_object_get(c, "expected_retry_ms");
    const char *coded = json_string_value(json_object_get(c, "input_b64"));
    assert_true(strlen(coded) < sizeof bytes && n_sizes <= ARRAY_LEN(sizes));
    struct str in = {bytes, decode_base64(coded, bytes)};
    strbuf_init(&wanted, 1 << 16);
    for (i = 0; i < json_array_size(json_object_get(c, "expected_events")); i++) {
        json_t *event = json_array_get(json_object_get(c, "expected_events"), i);
        struct stream_event e = {text_of(event, "type"), text_of(event, "data"),
                                 text_of(event, "lastEventId")};
        put_event(&wanted, &e);
    }
    int64_t retry_ms = json_is_integer(retry) ? json_integer_value(retry) : -1;
    expect_any_split(name, in, strbuf_str(&wanted).p, retry_ms);
    for (i = 0; i < n_sizes; i++)
        sizes[i] = (size_t)json_integer_value(json_array_get(json_object_get(c, "chunk_sizes"), i));
    if (n_sizes)
        expect(name, in, sizes, n_sizes, strbuf_str(&wanted).p, retry_ms);
    strbuf_release(&wanted);
}

static void agrees_with_recorded_cases(void **state) {
    (void)state;
    FILE *f = shared_data_open("cat", "eventsource_cases.json");
    if (!f)
        skip();
    json_t *all = json_loadf(f, JSON_ALLOW_NUL, NULL);
    pclose(f);
    assert_non_null(all);
    json_t *recorded = json_object_get(all, "stream_cases");
    assert_true(json_array_size(recorded) >= 20);
    for (size_t i = 0; i < json_array_size(recorded); i++)
        run_recorded(json_array_get(recorded, i));
    json_decref(all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_by_the_rules),
        cmocka_unit_test(keeps_to_its_limit),
        cmocka_unit_test(starts_anew),
        cmocka_unit_test(agrees_with_recorded_cases),
    };
    return cmocka_run_group_tests_name("hn/event_stream", tests, NULL, NULL);
}
