/* Marks around the words that were looked for: where they are, and what they never break. */
#include "web/search_api_mark.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

static struct arena arena;

static int begin(void **state UNUSED) {
    arena_init(&arena);
    return 0;
}

static int end(void **state UNUSED) {
    arena_release(&arena);
    return 0;
}

/* The object for this field; decref it. */
static json_t *marked(const char *query, const char *field, enum mark_form form, bool searched) {
    CLEANUP(strbuf_release) struct strbuf b;
    struct search_words words;
    struct marker m;
    strbuf_init(&b, 64 * 1024 * 1024);
    search_words_of(&arena, str_of(query), &words);
    marker_init(&m, &words);
    marker_add(&m, &b, STR("what stood here before <b>"), MARK_PLAIN, true); /* room used again */
    strbuf_clear(&b);
    marker_add(&m, &b, str_of(field), form, searched);
    marker_release(&m);
    json_t *j = json_loads(b.p, 0, NULL);
    assert_non_null(j);
    return j;
}

static void expect(const char *query, const char *field, enum mark_form form, const char *value,
                   const char *level, const char *words) {
    json_t *j = marked(query, field, form, true);
    char *got = json_dumps(json_object_get(j, "matchedWords"), JSON_COMPACT);
    assert_string_equal(json_string_value(json_object_get(j, "value")), value);
    assert_string_equal(json_string_value(json_object_get(j, "matchLevel")), level);
    assert_string_equal(got, words);
    assert_int_equal(json_object_get(j, "fullyHighlighted") != NULL, strcmp(level, "none") != 0);
    free(got);
    json_decref(j);
}

static void plain_text(void **state UNUSED) {
    expect("apple", "Seriously Apple?", MARK_PLAIN, "Seriously <em>Apple</em>?", "full",
           "[\"apple\"]");
    expect("apple pie", "Apple, apple", MARK_PLAIN, "<em>Apple</em>, <em>apple</em>", "partial",
           "[\"apple\"]");
    expect("apple", "pears", MARK_PLAIN, "pears", "none", "[]");
    expect("", "pears", MARK_PLAIN, "pears", "none", "[]");
    expect("-pears", "pears", MARK_PLAIN, "pears", "none", "[]");
    expect("\"big apple\"", "The Big Apple", MARK_PLAIN, "The <em>Big Apple</em>", "full",
           "[\"big apple\"]");
    expect("apple", "", MARK_PLAIN, "", "none", "[]");
}

static void plain_text_is_escaped(void **state UNUSED) {
    expect("script", "<script>alert(\"1 & 2\")</script>", MARK_PLAIN,
           "&lt;<em>script</em>&gt;alert(&quot;1 &amp; 2&quot;)&lt;/<em>script</em>&gt;", "full",
           "[\"script\"]");
    expect("amp lt", "a & b < c", MARK_PLAIN, "a &amp; b &lt; c", "none", "[]");
    expect("gt", "it's > &gt;", MARK_PLAIN, "it&#39;s &gt; &amp;<em>gt</em>;", "full", "[\"gt\"]");
}

static void html_keeps_its_tags(void **state UNUSED) {
    expect("example href", "see <a href=\"https:&#x2F;&#x2F;example.com&#x2F;\">example.com</a>",
           MARK_HTML,
           "see <a href=\"https://example.com/\" rel=\"nofollow noopener noreferrer\">"
           "<em>example</em>.com</a>",
           "partial", "[\"example\"]");
    expect("one", "one<p>two<p>one", MARK_HTML, "<em>one</em><p>two</p><p><em>one</em></p>", "full",
           "[\"one\"]");
    expect("x27", "don&#x27;t", MARK_HTML, "don&#x27;t", "none", "[]");
    expect("alert", "<script>alert(1)</script>", MARK_HTML,
           "&lt;script&gt;<em>alert</em>(1)&lt;/script&gt;", "full", "[\"alert\"]");
    expect("fast", "<i>fa</i>st and <i>fast</i>", MARK_HTML,
           "<i><em>fa</em></i><em>st</em> and <i><em>fast</em></i>", "full", "[\"fast\"]");
}

static void a_phrase_over_tags_is_marked_in_pieces(void **state UNUSED) {
    expect("\"very fast code\"", "<i>very</i> fast <b>code</b>!", MARK_HTML,
           "<i><em>very</em></i><em> fast </em><b><em>code</em></b>!", "full",
           "[\"very fast code\"]");
}

static void what_is_highlighted_fully(void **state UNUSED) {
    static const struct {
        const char *query, *field;
        bool fully;
    } cases[] = {
        {"big apple", "Big, big Apple!", true},
        {"big apple", "The big apple", false},
        {"big", "big \xC3\xA9", false},
        {"big", "(big)", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *j = marked(cases[i].query, cases[i].field, MARK_PLAIN, true);
        assert_string_equal(json_string_value(json_object_get(j, "matchLevel")), "full");
        assert_int_equal(json_is_true(json_object_get(j, "fullyHighlighted")), cases[i].fully);
        json_decref(j);
    }
}

static void a_field_that_is_not_searched_has_no_marks(void **state UNUSED) {
    json_t *j = marked("apple", "apple", MARK_PLAIN, false);
    assert_string_equal(json_string_value(json_object_get(j, "value")), "apple");
    assert_string_equal(json_string_value(json_object_get(j, "matchLevel")), "none");
    json_decref(j);
}

/* Without its marks it is the same text, however many there are. */
static void many_marks(void **state UNUSED) {
    enum { N = 3 * MARKS_MAX };
    char *field = malloc(N * 5 + 1);
    for (int i = 0; i < N; i++)
        memcpy(field + 5 * i, i % 3 ? "word " : "&amp;", 5);
    field[N * 5] = '\0';
    json_t *j = marked("word", field, MARK_HTML, true);
    const char *value = json_string_value(json_object_get(j, "value"));
    char *without = malloc(strlen(value) + 1), *to = without;
    size_t marks = 0;
    for (const char *p = value; *p;)
        if (strncmp(p, "<em>", 4) == 0)
            p += 4, marks++;
        else if (strncmp(p, "</em>", 5) == 0)
            p += 5;
        else
            *to++ = *p++;
    *to = '\0';
    assert_string_equal(without, field);
    assert_int_equal(marks, MARKS_MAX);
    free(without);
    free(field);
    json_decref(j);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_text),
        cmocka_unit_test(plain_text_is_escaped),
        cmocka_unit_test(html_keeps_its_tags),
        cmocka_unit_test(a_phrase_over_tags_is_marked_in_pieces),
        cmocka_unit_test(what_is_highlighted_fully),
        cmocka_unit_test(a_field_that_is_not_searched_has_no_marks),
        cmocka_unit_test(many_marks),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
