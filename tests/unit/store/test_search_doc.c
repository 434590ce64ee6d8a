/* An item as the index takes it. */
#include "store/search_doc_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct arena arena;

static struct item story(void) {
    return (struct item){.id = 70000,
                         .type = STR("story"),
                         .by = STR("Pg"),
                         .title = STR("Show HN: C++"),
                         .url = STR("https://www.a.org/x"),
                         .text = STR("it&#x27;s <i>it</i>")};
}

static void columns(void **state UNUSED) {
    struct search_doc d;
    struct item it = story();
    search_doc_of(&arena, &it, DB_SQLITE, &d);
    assert_true(d.id == 70000 && !d.comment);
    assert_true(str_eqc(d.title, "show hn c++") && str_eqc(d.url, "a org x"));
    assert_true(str_eqc(d.text, "its it") && str_eqc(d.author, "pg"));
    assert_true(str_eqc(d.tags, "_story _show _u5067 "));
}

static void vectors(void **state UNUSED) {
    struct search_doc d;
    struct item it = story();
    search_doc_of(&arena, &it, DB_POSTGRES, &d);
    assert_true(str_eqc(d.words,
                        "'_story' '_show' '_u5067' '_r12x11' '_r16x1' '_r20x0' 'show':1A 'hn':2A "
                        "'c++':3A 'a':12B 'org':13B 'x':14B 'pg':23C 'its':32D 'it':33D "));
}

static void the_dead_have_other_tags(void **state UNUSED) {
    struct search_doc d;
    struct item it = {.id = 1, .type = STR("comment"), .dead = true};
    search_doc_of(&arena, &it, DB_SQLITE, &d);
    assert_true(d.comment && str_eqc(d.tags, "_dcomment "));
    it = (struct item){.id = 1, .deleted = true};
    search_doc_of(&arena, &it, DB_SQLITE, &d);
    assert_true(!d.comment && str_eqc(d.tags, "_dnone "));
}

static void long_texts_are_cut_between_words(void **state UNUSED) {
    struct search_doc d;
    size_t n = 250000;
    char *text = arena_alloc(&arena, n);
    for (size_t i = 0; i < n; i++)
        text[i] = i % 2 ? ' ' : (char)('a' + i % 26);
    struct item it = {.id = 1, .type = STR("comment"), .text = {text, n}};
    search_doc_of(&arena, &it, DB_POSTGRES, &d);
    assert_true(d.words.n > 400000 && d.words.n < DOC_BYTES && str_ends(d.words, ":16383D "));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns),
        cmocka_unit_test(vectors),
        cmocka_unit_test(the_dead_have_other_tags),
        cmocka_unit_test(long_texts_are_cut_between_words),
    };
    arena_init(&arena);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&arena);
    return failed;
}
