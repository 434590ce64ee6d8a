/* Lists, updates and frames of the HN API; what we send, our own reader of streams understands. */
#include "hn/event_stream.h"
#include "hn/updates.h"
#include "web/hn_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const int64_t ids[] = {42, 7, 49402521};
static const struct str names[] = {{"pg", 2}, {"a \"b\"", 5}};
static const struct recent both = {ids, 3, names, 2};

static void expect(struct strbuf *b, const char *text) {
    assert_string_equal(b->p, text);
    strbuf_clear(b);
}

static void bodies(void **state UNUSED) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 4096);
    hn_add_ids(&b, NULL, 0);
    expect(&b, "[]");
    hn_add_ids(&b, ids, 3);
    expect(&b, "[42,7,49402521]");
    hn_add_updates(&b, &both);
    expect(&b, "{\"items\":[42,7,49402521],\"profiles\":[\"pg\",\"a \\\"b\\\"\"]}");
    hn_add_updates(&b, &(struct recent){0});
    expect(&b, "{\"items\":[],\"profiles\":[]}");
}

static void frames(void **state UNUSED) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 4096);
    hn_frame_maxitem(&b, 8863);
    expect(&b, "event: put\ndata: {\"path\":\"/\",\"data\":8863}\n\n");
    hn_frame_updates(&b, &(struct recent){ids, 1, names, 1});
    expect(&b, "event: put\n"
               "data: {\"path\":\"/\",\"data\":{\"items\":[42],\"profiles\":[\"pg\"]}}\n\n");
    hn_frame_changes(&b, &(struct recent){ids, 2, NULL, 0});
    expect(&b, "event: patch\ndata: {\"path\":\"/\",\"data\":{\"items\":[42,7]}}\n\n");
    hn_frame_changes(&b, &(struct recent){NULL, 0, names, 1});
    expect(&b, "event: patch\ndata: {\"path\":\"/\",\"data\":{\"profiles\":[\"pg\"]}}\n\n");
    hn_frame_changes(&b, &(struct recent){ids, 1, names, 1});
    expect(&b, "event: patch\n"
               "data: {\"path\":\"/\",\"data\":{\"items\":[42],\"profiles\":[\"pg\"]}}\n\n");
}

struct heard {
    struct arena arena;
    int n;
    struct updates last;
};

static void hear(void *context, const struct stream_event *event) {
    struct heard *h = context;
    h->n++;
    assert_int_equal(updates_read_event(&h->arena, event->type, event->data, &h->last),
                     UPDATES_CHANGES);
}

static void our_own_reader_understands_them(void **state UNUSED) {
    CLEANUP(strbuf_release) struct strbuf b;
    struct heard h = {0};
    struct event_stream s;
    arena_init(&h.arena);
    strbuf_init(&b, 4096);
    hn_frame_updates(&b, &both);
    hn_frame_changes(&b, &both);
    event_stream_init(&s, 4096, hear, &h);
    assert_int_equal(event_stream_push(&s, strbuf_str(&b), NULL), V_OK);
    assert_int_equal(h.n, 2);
    assert_int_equal(h.last.n_items, 3);
    assert_int_equal(h.last.items[2], 49402521);
    assert_int_equal(h.last.n_profiles, 2);
    assert_true(str_eq(h.last.profiles[1], names[1]));
    event_stream_release(&s);
    arena_release(&h.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies),
        cmocka_unit_test(frames),
        cmocka_unit_test(our_own_reader_understands_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
