/* The far ends: long texts, many kids, strange characters, the largest numbers, the shared rate. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>

static struct batch_item *bare_item(struct batch *b, int64_t id) {
    struct batch_item *bi = batch_add_item(b);
    bi->fetched_at = T0;
    bi->item = (struct item){.id = id,
                             .type = STR("comment"),
                             .time = I64_NONE,
                             .parent = I64_NONE,
                             .poll = I64_NONE,
                             .score = I64_NONE,
                             .descendants = I64_NONE};
    return bi;
}

static void texts_of_any_length(void **state) {
    static const size_t sizes[] = {1, 7999, 8191, 8192, 8193, 100000, 3000000};
    struct fix *f = *state;
    struct batch *b = wide_batch(f);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        char *text = arena_alloc(&b->arena, sizes[i]);
        for (size_t k = 0; k < sizes[i]; k++)
            text[k] = (char)('a' + (k * 7 + i) % 26);
        bare_item(b, (int64_t)i + 1)->item.text = (struct str){text, sizes[i]};
    }
    assert_int_equal(apply_ok(f->s, b).inserted, ARRAY_LEN(sizes));
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        const char *text = q(f, "SELECT text FROM items WHERE id = %zu", i + 1);
        assert_int_equal(strlen(text), sizes[i]);
        for (size_t k = 0; k < sizes[i]; k++)
            if (text[k] != (char)('a' + (k * 7 + i) % 26))
                fail_msg("text %zu differs at byte %zu", i, k);
    }
}

static void five_thousand_kids(void **state) {
    struct fix *f = *state;
    enum { N = 5000 };
    struct batch *b = wide_batch(f);
    int64_t *kids = arena_alloc(&b->arena, N * sizeof *kids);
    for (int i = 0; i < N; i++)
        kids[i] = 1000000 + (i * 7919) % N;
    struct item *it = &bare_item(b, 1)->item;
    it->kids = kids;
    it->n_kids = N;
    assert_int_equal(apply_ok(f->s, b).kids, N);
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM kids"), N);
    assert_int_equal(qi(f, "SELECT kid FROM kids WHERE display_order = 4321"),
                     1000000 + (4321 * 7919) % N);
    /* all but one of them go */
    b = wide_batch(f);
    it = &bare_item(b, 1)->item;
    int64_t *one = arena_alloc(&b->arena, sizeof *one);
    *one = 1000042;
    it->kids = one;
    it->n_kids = 1;
    assert_int_equal(apply_ok(f->s, b).changed, 1);
    assert_q("1|1000042|0", f, "SELECT item, kid, display_order FROM kids");
}

static void strange_characters(void **state) {
    struct fix *f = *state;
    struct batch *b = wide_batch(f);
    put_item(b, T0,
             "{'id':1,'type':'story','title':'\\u0000 nul','text':'\\ud83d\\ude00 "
             "\\u00e9\\u4e2d \\\\ \\t {} %s $1 ?1 --'}");
    apply_ok(f->s, b);
    assert_q("\xef\xbf\xbd nul|\xf0\x9f\x98\x80 \xc3\xa9\xe4\xb8\xad \\ \t {} %s $1 ?1 --", f,
             "SELECT title, text FROM items");
    b = wide_batch(f);
    put_item(b, T0 + 1,
             "{'id':1,'type':'story','title':'\\u0000 nul','text':'\\ud83d\\ude00 "
             "\\u00e9\\u4e2d \\\\ \\t {} %s $1 ?1 --'}");
    assert_int_equal(apply_ok(f->s, b).unchanged, 1);
}

static void the_largest_numbers(void **state) {
    static const int64_t ends[] = {INT64_MAX, INT64_MIN + 1, -1, 0, 1, INT64_C(1) << 40};
    struct fix *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct batch *b = wide_batch(f);
        struct item *it = &bare_item(b, (int64_t)i + 1)->item;
        it->time = it->score = it->descendants = ends[i];
        it->parent = 5000 + (int64_t)i;
        apply_ok(f->s, b);
        char expected[100];
        snprintf(expected, sizeof expected, "%lld|%lld|%lld", (long long)ends[i],
                 (long long)ends[i], (long long)ends[i]);
        assert_q(expected, f, "SELECT time, score, descendants FROM items WHERE id = %zu", i + 1);
        b = wide_batch(f);
        it = &bare_item(b, (int64_t)i + 1)->item;
        it->time = it->score = it->descendants = ends[i];
        it->parent = 5000 + (int64_t)i;
        assert_int_equal(apply_ok(f->s, b).unchanged, 1);
    }
    struct claim c = claim_new(f, PURPOSE_GAP, INT64_MAX - 1, INT64_MAX - 1);
    struct batch *b = batch_for(&c, INT64_MAX - 1, true);
    put_item(b, T0, "{'id':9223372036854775806,'type':'story','score':9223372036854775807}");
    apply_ok(f->s, b);
    assert_q("9223372036854775806|9223372036854775807", f,
             "SELECT id, score FROM items WHERE id > 1000000");
}

static void parts_are_arrays(void **state) {
    struct fix *f = *state;
    store_item(f, T0, "{'id':1,'type':'poll','parts':[3,2,9007199254740993]}");
    store_item(f, T0, "{'id':2,'type':'poll','parts':[7]}");
    store_item(f, T0, "{'id':3,'type':'story'}");
    bool pg = fix_kind == DB_POSTGRES;
    assert_q(pg ? "{3,2,9007199254740993} {7} -" : "[3,2,9007199254740993] [7] -", f,
             "SELECT parts FROM items ORDER BY id");
    assert_q("9007199254740993", f,
             pg ? "SELECT parts[3] FROM items WHERE id = 1"
                : "SELECT json_extract(parts, '$[2]') FROM items WHERE id = 1");
    store_item(f, T0 + 1, "{'id':2,'type':'poll'}");
    assert_q("-", f, "SELECT parts FROM items WHERE id = 2");
    assert_q(pg ? "{7}" : "[7]", f, "SELECT parts FROM item_revisions");
}

static void a_thousand_items_in_a_batch(void **state) {
    struct fix *f = *state;
    for (int round = 0; round < 2; round++) {
        struct batch *b = wide_batch(f);
        for (int id = 1000; id >= 1; id--) {
            char json[120];
            snprintf(json, sizeof json, "{'id':%d,'type':'%s','parent':%d,'kids':[%d,%d]}", id,
                     id == 1 ? "story" : "comment", id - 1, id + 5000, id + 7000);
            put_item(b, T0 + round, json);
        }
        struct apply_stats st = apply_ok(f->s, b);
        assert_counts(st, round ? 0 : 1000, 0, round ? 1000 : 0, 0);
    }
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM items WHERE story_id = 1"), 1000);
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM kids"), 2000);
}

/* Turns of a rate that all connections share, as microseconds from now. */
static int64_t reserve(struct store *s, double rps, int n) {
    struct err e;
    int64_t wait;
    assert_ok(store_reserve_turns(s, "upstream", rps, n, &wait, &e));
    return wait;
}

static void rate_is_held_across_connections(void **state) {
    struct fix *f = *state;
    struct store *other = fix_open(f);
    assert_int_equal(reserve(f->s, 100, 20), 0);
    assert_int_equal(reserve(other, 100, 20), 200000);
    assert_int_equal(reserve(f->s, 100, 5), 400000);
    fix_advance(f, 300);
    assert_int_equal(reserve(other, 100, 5), 150000);
    /* idle time is not saved up */
    fix_advance(f, 10000);
    assert_int_equal(reserve(f->s, 100, 1), 0);
    assert_int_equal(reserve(other, 100, 1), 10000);
    int64_t wait;
    struct err e;
    assert_ok(store_reserve_turns(other, "another", 100, 1, &wait, &e));
    assert_int_equal(wait, 0);
}

static void slow_rates_are_held_too(void **state) {
    struct fix *f = *state;
    struct store *other = fix_open(f);
    for (int i = 0; i < 6; i++)
        assert_int_equal(reserve(i % 2 ? other : f->s, 0.01, 1), i * INT64_C(100000000));
}

static void a_wrong_clock_does_not_freeze_the_rate(void **state) {
    struct fix *f = *state;
    fix_advance(f, INT64_C(86400000));
    reserve(f->s, 100, 1);
    fix_set_now(f, T0);
    assert_int_equal(reserve(f->s, 100, 1), 0);
    assert_int_equal(reserve(f->s, 100, 1), 10000);
}

int limit_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(texts_of_any_length),
        CASE(five_thousand_kids),
        CASE(strange_characters),
        CASE(the_largest_numbers),
        CASE(parts_are_arrays),
        CASE(a_thousand_items_in_a_batch),
        CASE(rate_is_held_across_connections),
        CASE(slow_rates_are_held_too),
        CASE(a_wrong_clock_does_not_freeze_the_rate),
    };
    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
