/* Answers of a search: fields, tags, pages, and the shapes of recorded answers. */
#include "web/search_api_hits.h"

#include "../hn/shared_data.h"

#include <setjmp.h>
#include <stdarg.h>

#include "shapes.h"

static struct arena arena;
static struct search_hit hits[3];
static const int64_t front[] = {8863, 77};

static void set(struct search_hit *h, int64_t id, const char *type) {
    *h = (struct search_hit){
        .it = {.item = {.id = id,
                        .type = str_of(type),
                        .by = STR("dang"),
                        .time = 1420232746,
                        .parent = I64_NONE,
                        .poll = I64_NONE,
                        .score = I64_NONE,
                        .descendants = I64_NONE},
               .story_id = I64_NONE,
               .last_fetched_at = INT64_C(1800000000999),
               .stored = true},
        .story_points = I64_NONE,
        .story_comments = I64_NONE,
    };
}

static int begin(void **state UNUSED) {
    arena_init(&arena);
    set(&hits[0], 8863, "story");
    hits[0].it.item.title = STR("Show HN: Apple & me");
    hits[0].it.item.url = STR("https://example.com/apple");
    hits[0].it.item.score = 104;
    hits[0].it.item.descendants = 71;
    hits[0].it.item.text = STR("an <i>apple</i>");
    set(&hits[1], 9224, "comment");
    hits[1].it.item.text = STR("pears<p>and apples");
    hits[1].it.item.parent = 8952;
    hits[1].it.last_fetched_at = 0; /* from a dump */
    hits[1].it.story_id = 8863;
    hits[1].story_title = hits[0].it.item.title;
    hits[1].story_url = hits[0].it.item.url;
    set(&hits[2], 160705, "pollopt");
    hits[2].it.item.by = STR_NONE;
    hits[2].it.item.time = I64_NONE;
    hits[2].it.item.text = STR("Yes");
    hits[2].it.item.score = 335;
    hits[2].it.item.poll = 160704;
    return 0;
}

static int end(void **state UNUSED) {
    arena_release(&arena);
    return 0;
}

static json_t *answer(const char *query, size_t n, int64_t total, int64_t per_page) {
    CLEANUP(strbuf_release) struct strbuf b;
    static struct search_api_query asked;
    struct search_words words;
    struct search_answer found = {hits, n, total, total < 20000};
    search_query_init(&asked.q);
    asked.typed = asked.q.text = str_of(query);
    asked.page = 2;
    asked.per_page = per_page;
    asked.fields = API_FIELDS;
    search_words_of(&arena, asked.q.text, &words);
    strbuf_init(&b, 1 << 20);
    search_api_hits(&b, &(struct search_api_answer){.asked = &asked,
                                                    .found = &found,
                                                    .words = &words,
                                                    .front = front,
                                                    .n_front = ARRAY_LEN(front),
                                                    .params = STR("query=apple"),
                                                    .took_ms = 3});
    json_t *j = json_loads(b.p, 0, NULL);
    assert_non_null(j);
    return j;
}

static json_t *hit(json_t *answer, size_t i) {
    return json_array_get(json_object_get(answer, "hits"), i);
}

static void expect(json_t *object, const char *key, const char *wanted) {
    char *got = json_dumps(json_object_get(object, key), JSON_COMPACT | JSON_ENCODE_ANY);
    if (!got || strcmp(got, wanted) != 0)
        fail_msg("%s is %s, not %s", key, got ? got : "not there", wanted);
    free(got);
}

static void fields_of_each_kind(void **state UNUSED) {
    json_t *j = answer("apple", 3, 3, 20), *story = hit(j, 0), *comment = hit(j, 1);
    expect(story, "objectID", "\"8863\"");
    expect(story, "created_at", "\"2015-01-02T21:05:46Z\"");
    expect(story, "created_at_i", "1420232746");
    expect(story, "fetched_at", "\"2027-01-15T08:00:00Z\"");
    expect(story, "fetched_at_i", "1800000000");
    expect(story, "points", "104");
    expect(story, "num_comments", "71");
    expect(story, "story_id", "null");
    expect(story, "story_text", "\"an <i>apple</i>\"");
    expect(story, "comment_text", "null");
    expect(story, "_tags", "[\"story\",\"author_dang\",\"story_8863\",\"show_hn\",\"front_page\"]");
    expect(comment, "_tags", "[\"comment\",\"author_dang\",\"story_8863\"]");
    expect(comment, "fetched_at", "null");
    expect(comment, "fetched_at_i", "null");
    expect(comment, "story_id", "8863");
    expect(comment, "story_title", "\"Show HN: Apple & me\"");
    expect(comment, "parent_id", "8952");
    expect(comment, "points", "null");
    expect(comment, "num_comments", "null");
    expect(comment, "title", "null");
    expect(hit(j, 2), "_tags", "[\"pollopt\"]");
    expect(hit(j, 2), "author", "null");
    expect(hit(j, 2), "created_at", "null");
    expect(hit(j, 2), "parent_id", "160704");
    json_decref(j);
}

static void marks_are_per_field(void **state UNUSED) {
    json_t *j = answer("apple", 2, 2, 20);
    json_t *story = json_object_get(hit(j, 0), "_highlightResult");
    json_t *comment = json_object_get(hit(j, 1), "_highlightResult");
    expect(json_object_get(story, "title"), "value", "\"Show HN: <em>Apple</em> &amp; me\"");
    expect(json_object_get(story, "url"), "matchLevel", "\"full\"");
    expect(json_object_get(story, "story_text"), "value", "\"an <i><em>apple</em></i>\"");
    expect(json_object_get(story, "author"), "matchLevel", "\"none\"");
    expect(json_object_get(comment, "story_title"), "matchedWords", "[\"apple\"]");
    assert_null(json_object_get(comment, "title"));
    assert_null(json_object_get(story, "comment_text"));
    json_decref(j);
}

static void pages_are_counted_without_a_cap(void **state UNUSED) {
    static const struct {
        int64_t total, per_page;
        const char *pages, *exhaustive;
    } cases[] = {
        {0, 20, "0", "true"},         {1, 20, "1", "true"},        {20, 20, "1", "true"},
        {21, 20, "2", "true"},        {19999, 1, "19999", "true"}, {20000, 1000, "20", "false"},
        {20001, 1000, "21", "false"}, {5, 0, "0", "true"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *j = answer("", cases[i].per_page ? 0 : 1, cases[i].total, cases[i].per_page);
        expect(j, "nbPages", cases[i].pages);
        expect(j, "exhaustiveNbHits", cases[i].exhaustive);
        expect(j, "hits", "[]");
        expect(j, "page", "2");
        expect(j, "query", "\"\"");
        json_decref(j);
    }
}

static void beyond_what_was_counted_there_is_a_page(void **state UNUSED) {
    json_t *j = answer("", 3, 20000, 1000); /* page 2 of 20, and of more */
    expect(j, "nbPages", "20");
    json_decref(j);
    j = answer("", 3, 20001, 10000);
    expect(j, "nbPages", "4");
    json_decref(j);
    j = answer("", 0, 20001, 10000); /* there is nothing on this one */
    expect(j, "nbPages", "3");
    json_decref(j);
}

/* Recorded answers ------------------------------------------------------------------------------
 */

#define EXTRA "fetched_at fetched_at_i"

static const char *kind_of(json_t *one) {
    return json_string_value(json_array_get(json_object_get(one, "_tags"), 0));
}

static void compare_marks(json_t *ours, json_t *theirs) {
    json_t *mine = json_object_get(ours, "_highlightResult"), *value;
    const char *key;
    json_object_foreach(json_object_get(theirs, "_highlightResult"), key,
                        value) if (json_object_get(mine, key))
        shapes_check(json_object_get(mine, key), value, "fullyHighlighted", "fullyHighlighted");
}

static void compare(json_t *ours, json_t *theirs) {
    size_t i, k;
    json_t *one, *mine;
    shapes_check(ours, theirs, "", "exhaustiveNbHits");
    json_array_foreach(json_object_get(theirs, "hits"), i, one) {
        json_array_foreach(json_object_get(ours, "hits"), k, mine) {
            if (strcmp(kind_of(one), kind_of(mine)) != 0)
                continue;
            shapes_check(mine, one, "relevancy_score", EXTRA);
            compare_marks(mine, one);
        }
    }
}

static void the_shape_is_the_recorded_one(void **state UNUSED) {
    static const char *const files[] = {"algolia/santiagobasulto_1.1.json",
                                        "algolia/search_by_url_shazow.json"};
    json_t *ours = answer("apple", 3, 3, 20), *pair;
    size_t n;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        FILE *f = shared_data_open("cat", files[i]);
        if (!f)
            continue;
        json_t *theirs = json_loadf(f, 0, NULL);
        pclose(f);
        assert_non_null(theirs);
        compare(ours, theirs);
        json_decref(theirs);
    }
    FILE *f = shared_data_open("cat", "algolia/npm_hacker-news-api_fixtures.json");
    if (f) {
        json_t *all = json_loadf(f, 0, NULL);
        pclose(f);
        json_array_foreach(all, n,
                           pair) if (json_object_get(json_object_get(pair, "reply"), "hits"))
            compare(ours, json_object_get(pair, "reply"));
        json_decref(all);
    }
    json_decref(ours);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_each_kind),
        cmocka_unit_test(marks_are_per_field),
        cmocka_unit_test(pages_are_counted_without_a_cap),
        cmocka_unit_test(beyond_what_was_counted_there_is_a_page),
        cmocka_unit_test(the_shape_is_the_recorded_one),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
