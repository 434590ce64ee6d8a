/* Where a text holds what is looked for, and the piece of it that is shown. */
#include "store/search_words_int.h"

#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct arena arena;

static struct search_words looking_for(const char *query) {
    struct search_words w;
    search_words_of(&arena, str_of(query), &w);
    return w;
}

/* The text with its marks in brackets. */
static const char *marked(const char *query, const char *text) {
    static char out[500];
    struct search_mark marks[20];
    struct search_words w = looking_for(query);
    size_t n = search_marks(&w, str_of(text), marks, 20), at = 0, len = 0;
    for (size_t i = 0; i < n; i++) {
        assert_true(marks[i].at >= at && marks[i].word < w.n);
        len += (size_t)snprintf(out + len, sizeof out - len, "%.*s[%.*s]", (int)(marks[i].at - at),
                                text + at, (int)marks[i].n, text + marks[i].at);
        at = marks[i].at + marks[i].n;
    }
    snprintf(out + len, sizeof out - len, "%s", text + at);
    return out;
}

static void marks(void **state UNUSED) {
    assert_string_equal(marked("rust", "Rust and rusty RUST"), "[Rust] and rusty [RUST]");
    assert_string_equal(marked("cafe", "un Caf\u00e9!"), "un [Caf\u00e9]!");
    assert_string_equal(marked("c++", "in C++, not c"), "in [C++], not c");
    assert_string_equal(marked("\"a b\" b", "a b, b a-b"), "[a b], [b] [a-b]");
    assert_string_equal(marked("\"a b c\" a", "a b d a b c"), "[a] b d [a b c]");
    assert_string_equal(marked("-x y", "x y"), "x [y]");
    assert_string_equal(marked("", "x y"), "x y");
    assert_string_equal(marked("x", ""), "");
    assert_string_equal(marked("don't", "I don\u2019t dont"), "I [don\u2019t] [dont]");
}

static void there_are_only_so_many(void **state UNUSED) {
    struct search_words w = looking_for("a");
    struct search_mark out[2];
    assert_int_equal(search_marks(&w, STR("a a a a"), out, 2), 2);
    assert_int_equal(out[1].at, 2);
}

static void holding(void **state UNUSED) {
    assert_true(search_holds(STR("one two three"), STR("two three")));
    assert_false(search_holds(STR("one two three"), STR("two one")));
    assert_false(search_holds(STR("one two"), STR("two three")));
    assert_false(search_holds(STR_NONE, STR("two")));
}

static void snippets(void **state UNUSED) {
    struct search_words w = looking_for("needle thread");
    assert_true(str_eqc(search_snippet(&w, STR("short"), 40), "short"));
    char text[3000] = "";
    for (int i = 0; i < 100; i++)
        strcat(text, i == 20 ? "needle " : i == 70 ? "needle and thread " : "filler words ");
    struct str s = search_snippet(&w, str_of(text), 100);
    assert_true(s.n <= 100 && s.n > 60);
    assert_true(search_holds(s, STR("needle and thread")));
    assert_true(str_starts(s, "filler") || str_starts(s, "words"));
    struct search_words none = looking_for("absent");
    s = search_snippet(&none, str_of(text), 100);
    assert_true(s.p == text && s.n <= 100 && (str_ends(s, "words") || str_ends(s, "filler")));
}

static void snippets_of_one_long_word(void **state UNUSED) {
    struct search_words w = looking_for("x");
    char text[1001];
    for (size_t i = 0; i < 500; i++)
        memcpy(text + 2 * i, "\u00e9", 2);
    text[1000] = '\0';
    struct str s = search_snippet(&w, str_of(text), 99);
    assert_true(s.n <= 99 && s.n % 2 == 0); /* no half of a letter */
}

/* Whatever the text, a snippet is a piece of it, of valid UTF-8 where the text is. */
static void any_text(void **state UNUSED) {
    static const char *const bits[] = {"a",      " ",  "\n", "\u00e9", "\u65e5",
                                       "needle", "++", "'",  "  "};
    struct search_words w = looking_for("needle a");
    srand(5);
    for (int round = 0; round < 3000; round++) {
        char text[700] = "";
        for (int i = 0; i < rand() % 90; i++)
            strcat(text, bits[(size_t)rand() % ARRAY_LEN(bits)]);
        struct str s = search_snippet(&w, str_of(text), 1 + (size_t)rand() % 120);
        assert_true(s.p >= text && s.p + s.n <= text + strlen(text));
        for (size_t i = 0, len; i < s.n; i += len)
            assert_true((len = utf8_len((const unsigned char *)s.p + i, s.n - i)) > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks),    cmocka_unit_test(there_are_only_so_many),
        cmocka_unit_test(holding),  cmocka_unit_test(snippets),
        cmocka_unit_test(any_text), cmocka_unit_test(snippets_of_one_long_word),
    };
    arena_init(&arena);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&arena);
    return failed;
}
