/* How texts and queries are read into words. */
#include "store/search_words_int.h"

#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The words with a bar between. */
static const char *words_of(const char *text) {
    static char out[500];
    struct word_reader r = {.text = str_of(text)};
    struct word w;
    size_t n = 0;
    while (word_next(&r, &w)) {
        assert_true(w.at + w.n <= r.text.n && w.n > 0);
        if (n)
            out[n++] = '|';
        memcpy(out + n, w.folded, w.len);
        n += w.len;
    }
    out[n] = '\0';
    return out;
}

static void plain_words(void **state UNUSED) {
    assert_string_equal(words_of(""), "");
    assert_string_equal(words_of("  ... "), "");
    assert_string_equal(words_of("Hello, World!"), "hello|world");
    assert_string_equal(words_of("a_b-c.d/e"), "a|b|c|d|e");
    assert_string_equal(words_of("3.14 and 1,000"), "3|14|and|1|000");
    assert_string_equal(words_of("x86_64"), "x86|64");
}

static void apostrophes(void **state UNUSED) {
    assert_string_equal(words_of("don't"), "dont");
    assert_string_equal(words_of("don\u2019t"), "dont");
    assert_string_equal(words_of("'quoted' dogs' rock'n'roll"), "quoted|dogs|rocknroll");
}

static void signs_of_languages(void **state UNUSED) {
    assert_string_equal(words_of("C++ c++11 (C++)"), "c++|c++|11|c++");
    assert_string_equal(words_of("C# F#, issue#12 #tag abc#"), "c#|f#|issue|12|tag|abc");
    assert_string_equal(words_of("1+1 a+b ++i"), "1|1|a|b|i");
}

static void other_scripts(void **state UNUSED) {
    assert_string_equal(words_of("Caf\u00e9 CAFE\u0301 \u00d8re stra\u00dfe"),
                        "cafe|cafe|ore|strasse");
    assert_string_equal(words_of("\u041f\u0440\u0438\u0432\u0435\u0442"),
                        "\u043f\u0440\u0438\u0432\u0435\u0442");
    assert_string_equal(words_of("\u65e5\u672c ok"), "\u65e5|\u672c|ok");
    assert_string_equal(words_of("x\u65e5y"), "x|\u65e5|y");
    assert_string_equal(words_of("\uff21\uff22 \u201cquoted\u201d \u2014 dash"), "ab|quoted|dash");
    assert_string_equal(words_of("\U0001f680 launch"), "\U0001f680|launch");
}

static void hostile_bytes(void **state UNUSED) {
    assert_string_equal(words_of("a\xff"
                                 "b \xe2\x82"),
                        "a|b");
    assert_string_equal(words_of("\u0301"), ""); /* an accent without a letter */
    char line[400];
    memset(line, 'z', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    assert_int_equal(strlen(words_of(line)), WORD_BYTES);
}

static const char *terms_of(const char *text) {
    static char out[1000];
    struct arena a;
    struct search_terms t;
    arena_init(&a);
    search_terms_of(&a, str_of(text), &t);
    size_t n = 0, wanted = 0;
    out[0] = '\0';
    for (size_t i = 0; i < t.n; i++) {
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%s%.*s", i ? "|" : "",
                              t.terms[i].without ? "-" : "", STR_FMT(t.terms[i].words));
        wanted += !t.terms[i].without;
    }
    assert_int_equal(wanted, t.n_wanted);
    arena_release(&a);
    return out;
}

static void queries(void **state UNUSED) {
    assert_string_equal(terms_of("Rust async"), "rust|async");
    assert_string_equal(terms_of("\"Machine  Learning\" x"), "machine learning|x");
    assert_string_equal(terms_of("-a b-c -\"d e\" - f"), "-a|b c|-d e|f");
    assert_string_equal(terms_of("node.js \"open"), "node js|open");
    assert_string_equal(terms_of("a\"b c\"d"), "a|b c|d");
    assert_string_equal(terms_of("\"\" -\"\" ++ --"), "");
    char many[400] = "";
    for (int i = 0; i < 50; i++)
        strcat(many, "w ");
    assert_int_equal(strlen(terms_of(many)), 2 * SEARCH_WORDS_MAX - 1);
}

static void public_words(void **state UNUSED) {
    struct arena a;
    struct search_words w;
    arena_init(&a);
    search_words_of(&a, STR("x -y \"p q\""), &w);
    assert_int_equal(w.n, 2);
    assert_true(str_eqc(w.words[0], "x") && str_eqc(w.words[1], "p q"));
    arena_release(&a);
}

static void addresses(void **state UNUSED) {
    assert_true(str_eqc(search_url_part(STR("https://www.a.org/x")), "a.org/x"));
    assert_true(str_eqc(search_url_part(STR("http://a.org")), "a.org"));
    assert_true(str_eqc(search_url_part(STR("ftp://a")), "ftp://a"));
    assert_null(search_url_part(STR_NONE).p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_words),   cmocka_unit_test(apostrophes),
        cmocka_unit_test(other_scripts), cmocka_unit_test(signs_of_languages),
        cmocka_unit_test(hostile_bytes), cmocka_unit_test(queries),
        cmocka_unit_test(public_words),  cmocka_unit_test(addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
