/* An event as JSON and as a frame, and its id. */
#include "feed/event.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct feed_change update = {
    .epoch = 1794810000,
    .pos = 7,
    .at = 1794810012123,
    .table = 1,
    .schema = STR("tain"),
    .name = STR("items"),
    .action = FEED_UPDATE,
    .key = STR("{\"id\":1}"),
    .data = STR("{\"id\":1,\"title\":\"a\"}"),
    .is_public = true,
};

static void json_is(const struct feed_change *c, const char *expected) {
    struct feed_event *ev = feed_event_new(c->epoch, c);
    assert_int_equal(ev->json.n, strlen(expected));
    assert_memory_equal(ev->json.p, expected, ev->json.n);
    assert_int_equal(ev->json.p[ev->json.n], '\n');
    feed_event_drop(ev);
}

static void one_line_of_json(void **state UNUSED) {
    json_is(
        &update,
        "{\"id\":\"1794810000-7\",\"schema\":\"tain\",\"table\":\"items\",\"action\":\"update\","
        "\"key\":{\"id\":1},\"data\":{\"id\":1,\"title\":\"a\"},"
        "\"timestamp\":\"2026-11-16T06:20:12.123Z\"}");
    struct feed_change c = {
        .epoch = 1794810000, .pos = 8, .schema = STR("s"), .name = STR("t"), .action = FEED_RESYNC};
    json_is(&c, "{\"id\":\"1794810000-8\",\"schema\":\"s\",\"table\":\"t\",\"action\":\"resync\","
                "\"key\":null,\"data\":null,\"timestamp\":\"1970-01-01T00:00:00.000Z\"}");
}

static void a_row_that_was_too_large_says_so(void **state UNUSED) {
    struct feed_change c = update;
    c.data = STR_NONE;
    c.at = -1;
    json_is(
        &c,
        "{\"id\":\"1794810000-7\",\"schema\":\"tain\",\"table\":\"items\",\"action\":\"update\","
        "\"key\":{\"id\":1},\"data\":null,\"too_large\":true,"
        "\"timestamp\":\"1969-12-31T23:59:59.999Z\"}");
}

static void times_beyond_the_calendar(void **state UNUSED) {
    struct feed_change c = update;
    const int64_t odd[] = {INT64_MAX, INT64_MIN + 1000, 253402300800000, -62167219200001};
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        c.at = odd[i];
        struct feed_event *ev = feed_event_new(c.epoch, &c);
        json_t *j = json_loadb(ev->json.p, ev->json.n, 0, NULL);
        assert_non_null(j);
        json_decref(j);
        feed_event_drop(ev);
    }
}

static void what_is_no_utf8_breaks_no_client(void **state UNUSED) {
    struct feed_change c = update;
    c.key = STR("{\"id\":\"\xff\"}");
    c.data = STR("{\"v\":\"caf\xe9 \xc3\",\"w\":\"\xed\xa0\x80 \xc3\xa9\xf0\x9f\x99\x82\"}");
    json_is(
        &c,
        "{\"id\":\"1794810000-7\",\"schema\":\"tain\",\"table\":\"items\",\"action\":\"update\","
        "\"key\":{\"id\":\"?\"},\"data\":{\"v\":\"caf? ?\",\"w\":\"??? \xc3\xa9\xf0\x9f\x99\x82\"},"
        "\"timestamp\":\"2026-11-16T06:20:12.123Z\"}");
}

static void a_column_with_line_breaks_stays_one_line(void **state UNUSED) {
    struct feed_change c = update;
    c.data = STR("{\"j\":{\n  \"a\": 1,\r\n\"b\":\"x\\ny\"}}");
    struct feed_event *ev = feed_event_new(c.epoch, &c);
    assert_null(memchr(ev->json.p, '\n', ev->json.n));
    assert_null(memchr(ev->json.p, '\r', ev->json.n));
    json_t *j = json_loadb(ev->json.p, ev->json.n, 0, NULL);
    assert_non_null(j);
    json_t *b = json_object_get(json_object_get(json_object_get(j, "data"), "j"), "b");
    assert_string_equal(json_string_value(b), "x\ny");
    json_decref(j);
    feed_event_drop(ev);
}

static void names_are_escaped(void **state UNUSED) {
    struct feed_change c = update;
    c.schema = STR("a\"b");
    c.name = STR("line\nbreak");
    struct feed_event *ev = feed_event_new(c.epoch, &c);
    json_t *j = json_loadb(ev->json.p, ev->json.n, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(j, "schema")), "a\"b");
    assert_string_equal(json_string_value(json_object_get(j, "table")), "line\nbreak");
    assert_true(str_eq(ev->schema, c.schema));
    assert_true(str_eq(ev->name, c.name));
    json_decref(j);
    feed_event_drop(ev);
}

/* The length that a frame's head says, and the length of the head itself. */
static size_t frame_says(struct str frame, size_t *ret_head) {
    const unsigned char *p = (const unsigned char *)frame.p;
    assert_int_equal(p[0], 0x81);
    size_t bytes = p[1] < 126 ? 0 : p[1] == 126 ? 2 : 8, n = p[1] < 126 ? p[1] : 0;
    assert_int_equal(p[1] & 0x80, 0); /* unmasked */
    for (size_t i = 0; i < bytes; i++)
        n = n << 8 | p[2 + i];
    *ret_head = 2 + bytes;
    return n;
}

static void frame_fits(size_t data_n, size_t head_expected) {
    char *data = xmalloc(data_n);
    memset(data, '1', data_n);
    struct feed_change c = {.data = {data, data_n}, .action = FEED_DELETE};
    c.schema = c.name = STR("");
    struct feed_event *ev = feed_event_new(c.epoch, &c);
    size_t head;
    assert_int_equal(frame_says(ev->frame, &head), ev->json.n);
    if (head_expected)
        assert_int_equal(head, head_expected);
    assert_int_equal(ev->frame.n, head + ev->json.n);
    assert_ptr_equal(ev->frame.p + head, ev->json.p);
    feed_event_drop(ev);
    free(data);
}

static void frames_of_all_lengths(void **state UNUSED) {
    for (size_t n = 1; n < 60; n++)
        frame_fits(n, 0);
    for (size_t n = 65536 - 160; n < 65536; n++)
        frame_fits(n, 0);
    frame_fits(1, 2);
    frame_fits(1000, 4);
    frame_fits(65536, 10);
    frame_fits((size_t)16 << 20, 10);
}

static void references_count(void **state UNUSED) {
    struct feed_event *ev = feed_event_new(update.epoch, &update);
    assert_ptr_equal(feed_event_keep(ev), ev);
    feed_event_drop(ev);
    assert_true(str_eqc(ev->name, "items"));
    feed_event_drop(ev);
    feed_event_drop(NULL);
}

static void ids(void **state UNUSED) {
    char text[FEED_ID_MAX];
    struct feed_id id = {1, 2};
    feed_id_format((struct feed_id){INT64_MAX, INT64_MAX}, text);
    assert_true(feed_id_parse(str_of(text), &id));
    assert_true(id.epoch == INT64_MAX && id.pos == INT64_MAX);
    assert_true(feed_id_parse(STR("0-0"), &id));
    assert_true(id.epoch == 0 && id.pos == 0);
    const char *wrong[] = {
        "",      "-",    "1",    "1-",   "-1",   "1--2", "+1-2",
        "1-2-3", "1-2 ", " 1-2", "01-2", "1-02", "a-b",  "1-9223372036854775808"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_false(feed_id_parse(str_of(wrong[i]), &id));
    assert_false(feed_id_parse(STR_NONE, &id));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_line_of_json),
        cmocka_unit_test(a_row_that_was_too_large_says_so),
        cmocka_unit_test(times_beyond_the_calendar),
        cmocka_unit_test(what_is_no_utf8_breaks_no_client),
        cmocka_unit_test(a_column_with_line_breaks_stays_one_line),
        cmocka_unit_test(names_are_escaped),
        cmocka_unit_test(frames_of_all_lengths),
        cmocka_unit_test(references_count),
        cmocka_unit_test(ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
