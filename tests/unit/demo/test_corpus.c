/* The structure of the made-up site, judged from its JSON alone. */
#include "demo/corpus.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_IDS 20000

static struct corpus *make(uint64_t seed, int64_t maxitem, const struct corpus_rates *rates) {
    struct corpus_options o = {.seed = seed, .maxitem = maxitem, .rates = rates};
    struct corpus *c = NULL;
    struct err e;
    assert_int_equal(corpus_new(&o, &c, &e), V_OK);
    return c;
}

static json_t *item(const struct corpus *c, int64_t id) {
    struct strbuf out;
    strbuf_init(&out, CORPUS_ITEM_MAX);
    corpus_item(c, id, &out);
    assert_false(out.overflow);
    json_t *j =
        json_loadb(out.p, out.n, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(j);
    strbuf_release(&out);
    return j;
}

static int64_t number(const json_t *j, const char *key) {
    return json_integer_value(json_object_get(j, key));
}

/* Calls fn for every id of kids or parts, whatever shape they came in. */
static size_t each_id(const json_t *ids, void (*fn)(void *arg, int64_t id), void *arg) {
    const char *key;
    json_t *value;
    size_t i, n = 0;
    if (json_is_integer(ids)) {
        fn(arg, json_integer_value(ids));
        return 1;
    }
    json_array_foreach(ids, i, value) {
        fn(arg, json_integer_value(value));
        n++;
    }
    json_object_foreach((json_t *)ids, key, value) {
        fn(arg, json_integer_value(value));
        n++;
    }
    return n;
}

struct world {
    json_t *items[N_IDS + 1];
    int64_t parent[N_IDS + 1], poll[N_IDS + 1];
    int children[N_IDS + 1], below[N_IDS + 1], options[N_IDS + 1];
};

struct expected {
    const int64_t *points_back;
    int64_t self;
};

static void check_points_back(void *arg, int64_t id) {
    const struct expected *x = arg;
    assert_in_range(id, x->self + 1, N_IDS);
    assert_int_equal(x->points_back[id], x->self);
}

static void read_world(struct world *w, const struct corpus *c) {
    for (int64_t id = 1; id <= N_IDS; id++) {
        json_t *j = w->items[id] = item(c, id);
        if (json_is_null(j))
            continue;
        assert_int_equal(number(j, "id"), id);
        w->parent[id] = number(j, "parent");
        w->poll[id] = number(j, "poll");
        assert_true(w->parent[id] < id && w->poll[id] < id);
        assert_false(w->parent[id] && json_is_null(w->items[w->parent[id]]));
        w->children[w->parent[id]]++;
        w->options[w->poll[id]]++;
    }
    for (int64_t id = N_IDS; id > 0; id--) /* children are always the younger ones */
        if (w->parent[id])
            w->below[w->parent[id]] += w->below[id] + 1;
}

static void check_shape(const struct world *w, int64_t id) {
    const json_t *j = w->items[id];
    struct expected kids = {w->parent, id}, parts = {w->poll, id};
    assert_int_equal(each_id(json_object_get(j, "kids"), check_points_back, &kids),
                     w->children[id]);
    assert_int_equal(each_id(json_object_get(j, "parts"), check_points_back, &parts),
                     w->options[id]);
    if (json_object_get(j, "descendants"))
        assert_int_equal(number(j, "descendants"), w->below[id]);
    const char *type = json_string_value(json_object_get(j, "type"));
    if (w->poll[id] && type)
        assert_string_equal(type, "pollopt");
    if (w->parent[id] && type)
        assert_string_equal(type, "comment");
    if (w->options[id] && type)
        assert_string_equal(type, "poll");
}

static void kids_parts_and_descendants_are_exact(void **state) {
    (void)state;
    struct world *w = calloc(1, sizeof *w);
    struct corpus *c = make(7, N_IDS, NULL);
    read_world(w, c);
    int far = 0, polls = 0, ranked = 0;
    for (int64_t id = 1; id <= N_IDS; id++) {
        check_shape(w, id);
        far += w->parent[id] && (w->parent[id] - 1) / 64 != (id - 1) / 64;
        polls += w->options[id] > 1;
        const json_t *kids = json_object_get(w->items[id], "kids");
        ranked += json_integer_value(json_array_get(kids, 0)) >
                      json_integer_value(json_array_get(kids, 1)) &&
                  json_array_size(kids) > 1;
    }
    assert_in_range(far, 2000, 6000);
    assert_in_range(polls, 20, 200);
    assert_in_range(ranked, 500, 5000);
    for (int64_t id = 1; id <= N_IDS; id++)
        json_decref(w->items[id]);
    corpus_free(c);
    free(w);
}

struct tally {
    int comment, story, job, poll, pollopt, null, deleted, dead;
    int odd_true, odd_array, empty, no_type, no_time, future, unknown, nul, unicode, marker;
    size_t bytes;
};

static void tally_flags(struct tally *t, const json_t *j) {
    const json_t *deleted = json_object_get(j, "deleted"), *dead = json_object_get(j, "dead");
    t->deleted += deleted != NULL;
    t->dead += dead != NULL;
    t->odd_true += json_is_array(deleted) || json_is_array(dead);
    for (int i = 0; i < 2; i++) {
        const json_t *ids = json_object_get(j, i ? "parts" : "kids");
        t->odd_array += ids && !json_is_array(ids);
    }
    const char *key;
    json_t *v;
    bool empty = false;
    json_object_foreach((json_t *)j, key, v) empty |=
        json_is_string(v) && json_string_length(v) == 0;
    t->empty += empty;
    t->unknown += json_object_get(j, "unheard_of") != NULL;
}

static void tally_item(struct tally *t, const json_t *j) {
    if (json_is_null(j)) {
        t->null++;
        return;
    }
    const char *type = json_string_value(json_object_get(j, "type"));
    t->no_type += !type;
    int *const counts[] = {&t->comment, &t->story, &t->job, &t->poll, &t->pollopt};
    static const char *const NAMES[] = {"comment", "story", "job", "poll", "pollopt"};
    for (size_t i = 0; type && i < ARRAY_LEN(NAMES); i++)
        *counts[i] += strcmp(type, NAMES[i]) == 0;
    tally_flags(t, j);
    t->no_time += json_object_get(j, "time") == NULL;
    t->future += number(j, "time") > INT64_C(4000000000);
    const json_t *text = json_object_get(j, "text");
    const char *p = json_string_value(text);
    size_t n = json_string_length(text);
    t->nul += p && memchr(p, '\0', n) != NULL;
    t->marker += p && (strcmp(p, "[dead]") == 0 || strcmp(p, "[flagged]") == 0);
    for (size_t i = 0; p && i < n; i++)
        if ((unsigned char)p[i] >= 0xE0) {
            t->unicode++;
            break;
        }
}

static struct tally tally_of(const struct corpus *c) {
    struct tally t = {0};
    struct strbuf out;
    strbuf_init(&out, CORPUS_ITEM_MAX);
    for (int64_t id = 1; id <= N_IDS; id++) {
        json_t *j = item(c, id);
        tally_item(&t, j);
        json_decref(j);
        strbuf_clear(&out);
        corpus_item(c, id, &out);
        t.bytes += out.n;
    }
    strbuf_release(&out);
    return t;
}

static void the_mix_is_that_of_the_site(void **state) {
    (void)state;
    struct corpus *c = make(3, N_IDS, NULL);
    struct tally t = tally_of(c);
    assert_in_range(t.comment, N_IDS * 84 / 100, N_IDS * 90 / 100);
    assert_in_range(t.story, N_IDS * 8 / 100, N_IDS * 14 / 100);
    assert_in_range(t.deleted, N_IDS * 5 / 100, N_IDS * 7 / 100);
    assert_in_range(t.dead, N_IDS * 3 / 100, N_IDS * 6 / 100);
    assert_in_range(t.null, N_IDS / 1000, N_IDS * 4 / 1000);
    assert_in_range(t.bytes / N_IDS, 420, 520);
    assert_in_range(t.marker, 200, 1000);
    const int some[] = {t.job,     t.poll,    t.pollopt, t.odd_true, t.odd_array, t.empty,
                        t.no_type, t.no_time, t.future,  t.unknown,  t.nul,       t.unicode};
    for (size_t i = 0; i < ARRAY_LEN(some); i++)
        assert_true(some[i] > 0);
    corpus_free(c);
}

static void the_tame_rates_have_nothing_odd(void **state) {
    (void)state;
    struct corpus_rates tame = corpus_rates_tame();
    struct corpus *c = make(3, N_IDS, &tame);
    struct tally t = tally_of(c);
    assert_int_equal(t.null + t.odd_true + t.odd_array + t.empty + t.no_type + t.no_time +
                         t.future + t.unknown + t.nul,
                     0);
    assert_true(t.deleted > 0 && t.dead > 0 && t.poll > 0);
    corpus_free(c);
}

/* The cache of plans is per thread and shared by all corpora: neither the order of questions nor
 * another corpus in between may show. */
static void an_item_depends_on_seed_and_id_alone(void **state) {
    (void)state;
    struct corpus *a = make(1, N_IDS, NULL), *b = make(1, N_IDS, NULL),
                  *other = make(2, N_IDS, NULL);
    struct strbuf x, y, z;
    strbuf_init(&x, CORPUS_ITEM_MAX);
    strbuf_init(&y, CORPUS_ITEM_MAX);
    strbuf_init(&z, CORPUS_ITEM_MAX);
    int differ = 0;
    for (int64_t i = 1; i <= 2000; i++) {
        int64_t id = i * 7919 % N_IDS + 1;
        strbuf_clear(&x);
        strbuf_clear(&y);
        strbuf_clear(&z);
        corpus_item(a, id, &x);
        corpus_item(other, N_IDS + 1 - id, &z);
        strbuf_clear(&z);
        corpus_item(other, id, &z);
        corpus_item(b, id, &y);
        assert_true(str_eq(strbuf_str(&x), strbuf_str(&y)));
        differ += !str_eq(strbuf_str(&x), strbuf_str(&z));
    }
    assert_true(differ > 1980);
    strbuf_release(&x);
    strbuf_release(&y);
    strbuf_release(&z);
    corpus_free(a);
    corpus_free(b);
    corpus_free(other);
}

static void there_is_nothing_outside_of_1_to_maxitem(void **state) {
    (void)state;
    struct corpus *c = make(1, 100, NULL);
    const int64_t ids[] = {INT64_MIN, -1, 0, 101, 1000, CORPUS_MAX_ID, INT64_MAX};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        json_t *j = item(c, ids[i]);
        assert_true(json_is_null(j));
        json_decref(j);
        assert_int_equal(corpus_root(c, ids[i]), 0);
    }
    corpus_free(c);
}

static void wrong_options_are_refused(void **state) {
    (void)state;
    struct corpus_rates bad = corpus_rates_default(), crowded = corpus_rates_default();
    bad.nul = -0.1;
    crowded.story = 0.9;
    crowded.job = 0.2;
    const struct corpus_options cases[] = {
        {.maxitem = -1},
        {.maxitem = CORPUS_MAX_ID + 1},
        {.maxitem = 1, .rates = &bad},
        {.maxitem = 1, .rates = &crowded},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct corpus *c = NULL;
        struct err e;
        assert_int_equal(corpus_new(&cases[i], &c, &e), V_INVALID);
        assert_null(c);
    }
}

static void the_dump_has_one_line_per_id(void **state) {
    (void)state;
    struct corpus *c = make(1, 500, NULL);
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    corpus_dump(c, 490, 503, f);
    fclose(f);
    int64_t id = 490;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) && *line; id++) {
        json_t *j = json_loads(line, JSON_ALLOW_NUL, NULL);
        assert_int_equal(number(j, "id"), id);
        if (id > 500)
            assert_true(json_is_true(json_object_get(j, "missing")));
        json_decref(j);
    }
    assert_int_equal(id, 504);
    free(text);
    corpus_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kids_parts_and_descendants_are_exact),
        cmocka_unit_test(the_mix_is_that_of_the_site),
        cmocka_unit_test(the_tame_rates_have_nothing_odd),
        cmocka_unit_test(an_item_depends_on_seed_and_id_alone),
        cmocka_unit_test(there_is_nothing_outside_of_1_to_maxitem),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(the_dump_has_one_line_per_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
