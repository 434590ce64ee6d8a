/* What moves: maxitem, versions, [delayed]; and what looks back over many ids. */
#include "demo/corpus.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define N_IDS 3000

static struct corpus *make(int64_t maxitem, const struct corpus_rates *rates) {
    struct corpus_options o = {.seed = 11, .maxitem = maxitem, .rates = rates};
    struct corpus *c = NULL;
    struct err e;
    assert_int_equal(corpus_new(&o, &c, &e), V_OK);
    return c;
}

static json_t *item(const struct corpus *c, int64_t id) {
    struct strbuf out;
    strbuf_init(&out, CORPUS_ITEM_MAX);
    corpus_item(c, id, &out);
    json_t *j = json_loadb(out.p, out.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    assert_non_null(j);
    strbuf_release(&out);
    return j;
}

/* The text of a field, "" when it is not there. */
static void field(const struct corpus *c, int64_t id, const char *key, char *out, size_t size) {
    json_t *j = item(c, id);
    const char *s = json_string_value(json_object_get(j, key));
    snprintf(out, size, "%s", s ? s : "");
    json_decref(j);
}

static size_t count_kids(const struct corpus *c, int64_t id) {
    json_t *j = item(c, id);
    size_t n = json_array_size(json_object_get(j, "kids"));
    json_decref(j);
    return n;
}

/* The first live item of a type (and, for a story, with a url) at or after `from`. */
static int64_t find(const struct corpus *c, const char *type, int64_t from) {
    for (int64_t id = from; id <= corpus_maxitem(c); id++) {
        json_t *j = item(c, id);
        const char *t = json_string_value(json_object_get(j, "type"));
        bool ok = t && strcmp(t, type) == 0 && !json_object_get(j, "dead") &&
                  !json_object_get(j, "deleted") &&
                  (strcmp(type, "story") != 0 || !json_object_get(j, "text"));
        json_decref(j);
        if (ok)
            return id;
    }
    fail_msg("no %s", type);
    return 0;
}

static void mutate(struct corpus *c, int64_t id, enum corpus_change how) {
    struct err e;
    uint32_t before = corpus_version(c, id);
    assert_int_equal(corpus_mutate(c, id, how, &e), V_OK);
    assert_int_equal(corpus_version(c, id), before + 1);
}

static void kids_arrive_as_maxitem_grows(void **state) {
    (void)state;
    struct corpus_rates tame = corpus_rates_tame();
    struct corpus *c = make(N_IDS, &tame);
    int grew = 0;
    for (int64_t id = 200; id <= 260; id++) {
        int64_t parent = corpus_parent(c, id);
        if (!parent)
            continue;
        corpus_set_maxitem(c, id - 1);
        size_t before = count_kids(c, parent);
        corpus_set_maxitem(c, id);
        assert_int_equal(count_kids(c, parent), before + 1);
        grew++;
        corpus_set_maxitem(c, N_IDS);
    }
    assert_true(grew > 40);
    corpus_free(c);
}

static void each_change_shows_where_it_should(void **state) {
    (void)state;
    static const struct {
        const char *type;
        enum corpus_change how;
        const char *field; /* that reads differently afterwards */
    } CASES[] = {
        {"comment", CORPUS_EDIT, "text"},  {"comment", CORPUS_SCORE, "text"},
        {"story", CORPUS_EDIT, "title"},   {"poll", CORPUS_DELETE, NULL},
        {"pollopt", CORPUS_EDIT, "text"},  {"comment", CORPUS_DELETE, "text"},
        {"story", CORPUS_DELETE, "title"}, {"job", CORPUS_EDIT, NULL},
    };
    struct corpus_rates tame = corpus_rates_tame();
    struct corpus *c = make(N_IDS, &tame);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        int64_t id = find(c, CASES[i].type, 1 + (int64_t)i * 100);
        static char before[CORPUS_ITEM_MAX], after[CORPUS_ITEM_MAX];
        json_t *was = item(c, id);
        field(c, id, CASES[i].field ? CASES[i].field : "id", before, sizeof before);
        mutate(c, id, CASES[i].how);
        field(c, id, CASES[i].field ? CASES[i].field : "id", after, sizeof after);
        json_t *is = item(c, id);
        assert_false(json_equal(was, is));
        if (CASES[i].field)
            assert_string_not_equal(before, after);
        json_decref(was);
        json_decref(is);
    }
    corpus_free(c);
}

static void a_score_rises_and_the_dead_come_back(void **state) {
    (void)state;
    struct corpus *c = make(N_IDS, NULL);
    int64_t id = find(c, "story", 100);
    json_t *a = item(c, id);
    mutate(c, id, CORPUS_SCORE);
    json_t *b = item(c, id);
    assert_true(json_integer_value(json_object_get(b, "score")) >
                json_integer_value(json_object_get(a, "score")));
    mutate(c, id, CORPUS_DEAD);
    json_t *dead = item(c, id);
    assert_non_null(json_object_get(dead, "dead"));
    assert_null(json_object_get(dead, "descendants"));
    mutate(c, id, CORPUS_RESTORE);
    json_t *back = item(c, id);
    assert_true(json_equal(back, b));
    json_decref(a);
    json_decref(b);
    json_decref(dead);
    json_decref(back);
    corpus_free(c);
}

static void any_change_can_be_seen(void **state) {
    (void)state;
    struct corpus *c = make(N_IDS, NULL);
    struct err e;
    for (int64_t id = 1; id <= 600; id++)
        for (int round = 0; round < 3; round++) {
            json_t *was = item(c, id);
            if (json_is_null(was))
                assert_int_equal(corpus_mutate(c, id, CORPUS_ANY, &e), V_NOT_FOUND);
            else
                mutate(c, id, CORPUS_ANY);
            json_t *is = item(c, id);
            assert_int_equal(json_equal(was, is), json_is_null(was));
            json_decref(was);
            json_decref(is);
        }
    corpus_free(c);
}

static void a_missing_id_can_appear_and_its_parent_lists_it(void **state) {
    (void)state;
    struct corpus *c = make(N_IDS, NULL);
    int64_t id = 1;
    for (;; id++) {
        json_t *j = item(c, id);
        bool missing = json_is_null(j);
        json_decref(j);
        if (missing)
            break;
    }
    assert_in_range(id, 1, N_IDS);
    mutate(c, id, CORPUS_RESTORE);
    int64_t parent = corpus_parent(c, id);
    assert_in_range(parent, 1, id - 1);
    json_t *j = item(c, parent), *kids = json_object_get(j, "kids"), *kid;
    size_t i;
    bool listed = json_integer_value(kids) == id;
    json_array_foreach(kids, i, kid) listed |= json_integer_value(kid) == id;
    assert_true(listed);
    json_decref(j);
    corpus_free(c);
}

static void beyond_maxitem_nothing_can_change(void **state) {
    (void)state;
    struct corpus *c = make(10, NULL);
    struct err e;
    assert_int_equal(corpus_mutate(c, 11, CORPUS_RESTORE, &e), V_NOT_FOUND);
    assert_int_equal(corpus_mutate(c, 0, CORPUS_EDIT, &e), V_NOT_FOUND);
    assert_int_equal(corpus_version(c, 11), 0);
    corpus_free(c);
}

static int count_delayed(const struct corpus *c, int64_t lo, int64_t hi) {
    char text[64];
    int n = 0;
    for (int64_t id = lo; id <= hi; id++) {
        field(c, id, "text", text, sizeof text);
        n += strcmp(text, "[delayed]") == 0;
    }
    return n;
}

static void young_comments_are_delayed_until_maxitem_moves_on(void **state) {
    (void)state;
    struct corpus_rates rates = corpus_rates_tame();
    rates.delayed_window = 200;
    struct corpus *c = make(N_IDS, &rates);
    assert_int_equal(count_delayed(c, 1, N_IDS - 200), 0);
    assert_in_range(count_delayed(c, N_IDS - 199, N_IDS), 20, 120);
    corpus_set_maxitem(c, N_IDS + 200);
    assert_int_equal(count_delayed(c, N_IDS - 199, N_IDS), 0);
    corpus_free(c);
}

static void authors_have_profiles_that_name_their_items(void **state) {
    (void)state;
    struct corpus *c = make(N_IDS, NULL);
    struct strbuf out;
    strbuf_init(&out, 1 << 20);
    for (int64_t id = 1; id <= 300; id++) {
        char name[CORPUS_NAME_MAX];
        if (!corpus_author(c, id, name))
            continue;
        strbuf_clear(&out);
        corpus_user(c, str_of(name), &out);
        json_t *j = json_loads(out.p, 0, NULL), *one;
        assert_string_equal(json_string_value(json_object_get(j, "id")), name);
        size_t i;
        bool found = false;
        json_array_foreach(json_object_get(j, "submitted"), i, one) found |=
            json_integer_value(one) == id;
        assert_true(found);
        json_decref(j);
    }
    static const char *const NOBODY[] = {"", "nobody", "Amberbadge", "a/b", "\xff\xff\xff\xff"};
    for (size_t i = 0; i < ARRAY_LEN(NOBODY); i++) {
        strbuf_clear(&out);
        corpus_user(c, str_of(NOBODY[i]), &out);
        assert_string_equal(out.p, "null");
    }
    strbuf_release(&out);
    corpus_free(c);
}

static void lists_hold_live_stories_of_their_kind(void **state) {
    (void)state;
    static const struct {
        enum corpus_list list;
        const char *type, *prefix;
        size_t max;
    } CASES[] = {
        {CORPUS_NEW, "story", "", 500},
        {CORPUS_ASK, "story", "", 200},
        {CORPUS_SHOW, "story", "Show HN", 200},
        {CORPUS_JOBS, "job", "", 200},
    };
    struct corpus_rates tame = corpus_rates_tame();
    tame.poll = 0;
    struct corpus *c = make(30000, &tame);
    struct strbuf out;
    strbuf_init(&out, 1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
        strbuf_clear(&out);
        corpus_list(c, CASES[i].list, &out);
        json_t *ids = json_loads(out.p, 0, NULL), *one;
        size_t k;
        assert_in_range(json_array_size(ids), 50, CASES[i].max);
        int64_t last = INT64_MAX;
        json_array_foreach(ids, k, one) {
            char type[32], title[256];
            int64_t id = json_integer_value(one);
            assert_true(id < last);
            last = id;
            field(c, id, "type", type, sizeof type);
            field(c, id, "title", title, sizeof title);
            assert_string_equal(type, CASES[i].type);
            assert_memory_equal(title, CASES[i].prefix, strlen(CASES[i].prefix));
        }
        json_decref(ids);
    }
    strbuf_release(&out);
    corpus_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kids_arrive_as_maxitem_grows),
        cmocka_unit_test(each_change_shows_where_it_should),
        cmocka_unit_test(a_score_rises_and_the_dead_come_back),
        cmocka_unit_test(any_change_can_be_seen),
        cmocka_unit_test(a_missing_id_can_appear_and_its_parent_lists_it),
        cmocka_unit_test(beyond_maxitem_nothing_can_change),
        cmocka_unit_test(young_comments_are_delayed_until_maxitem_moves_on),
        cmocka_unit_test(authors_have_profiles_that_name_their_items),
        cmocka_unit_test(lists_hold_live_stories_of_their_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
