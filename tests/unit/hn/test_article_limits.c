/* Pages that want to be too much: deep, wide, long. Each is read in a moment, or a suite that takes
 * minutes says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hn/article_int.h"
#include "read_page.h"

#define FLOOD ((size_t)1 << 19)

static char *repeat(const char *head, const char *piece, size_t max) {
    size_t head_n = strlen(head), n = strlen(piece);
    char *p = xmalloc(max + 1);
    memcpy(p, head, head_n);
    size_t at = head_n;
    for (; at + n <= max; at += n)
        memcpy(p + at, piece, n);
    p[at] = '\0';
    return p;
}

static void test_floods(void **state) {
    (void)state;
    static const struct {
        const char *head, *piece;
    } rows[] = {
        {"<p>begin", "<div>"},
        {"<p>begin", "<b>"},
        {"<p>begin", "</a>"},
        {"<div><div><div>", "</p>"},
        {"<p>begin<x ", "a=b "},
        {"<p>begin<x", " class=a"},
        {"<p>begin", "<a href=1><table><a>"},
        {"<p>begin", "<script>"},
        {"<p>begin", "<!--"},
        {"<p>begin", "<!"},
        {"<p>begin", "<"},
        {"<p>begin", "&"},
        {"<p>begin", "&#"},
        {"<p>begin", "&#x41;"},
        {"<p>begin", "<x y='"},
        {"<title>", "<title>"},
        {"<p>begin", "<table>"},
        {"<p>begin", "<p>a"},
        {"<p>begin", "<br>"},
        {"<p>begin", "<li>one "},
        {"<p>begin", "<font size=1>x"},
        {"<p>begin", "<meta property=og:title content=a>"},
        {"", "\""},
        {"<a class=", "a-b_cD "},
        {"<p class='", "comment "},
        {"<!DOCTYPE a [<!ENTITY a \"b\"><!ENTITY b \"", "&a;"},
        {"<pre>", " \n"},
        {"<svg>", "<g>"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *page = repeat(rows[i].head, rows[i].piece, FLOOD);
        struct article got = read_html(page);
        assert_non_null(got.text.p);
        assert_true(got.text.n <= ARTICLE_TEXT_MAX);
        free(page);
    }
}

/* Each end is looked for in all that is open. */
static void test_ends_of_nothing_far_down(void **state) {
    (void)state;
    static const char *const pieces[] = {"</a>", "</p>", "</nosuch>", "<p></div>"};
    char *head = repeat("<p>It begins.", "<div>", (size_t)5 * 500);
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        char *page = repeat(head, pieces[i], FLOOD);
        assert_string_equal(read_html(page).text.p, "It begins.");
        free(page);
    }
    free(head);
}

static void test_depth(void **state) {
    (void)state;
    char page[200000] = "<title>t</title>";
    size_t at = strlen(page);
    for (int i = 0; i < 20000; i++, at += 5)
        memcpy(page + at, "<div>", 6);
    strcpy(page + at, "<p>This is far down, but can be read all the same.</p>");
    assert_string_equal(read_html(page).text.p, "This is far down, but can be read all the same.");
}

/* Cut in the middle of a character of three bytes. */
static void test_a_long_text(void **state) {
    (void)state;
    char *page = repeat("<p>x", "\xE2\x82\xAC", ARTICLE_TEXT_MAX * 2);
    struct article got = read_html(page);
    assert_true(got.cut);
    assert_true(got.text.n <= ARTICLE_TEXT_MAX && got.text.n > ARTICLE_TEXT_MAX - 3);
    for (size_t i = 0, n; i < got.text.n; i += n) {
        n = utf8_len((const unsigned char *)got.text.p + i, got.text.n - i);
        assert_true(n > 0);
    }
    free(page);
}

static void test_long_fields(void **state) {
    (void)state;
    char *page = repeat("<title>x", "\xC3\xA9", 9000);
    struct article got = read_html(page);
    assert_true(got.title.n == ARTICLE_TITLE_MAX - 1);
    free(page);
    page = repeat("<link rel=canonical href=http://example.com/", "x", 3000);
    assert_null(read_html(page).canonical.p);
    free(page);
    page = repeat("<meta name=description content='", "\xC3\xA9", 6000);
    memcpy(page + strlen(page) - 2, "'>", 2);
    got = read_html(page);
    assert_true(got.description.n == ARTICLE_DESCRIPTION_MAX);
    free(page);
}

/* What follows the maximum is not read; a character that it cuts does not make the page Latin. */
static void test_a_long_page(void **state) {
    (void)state;
    char *page = repeat("<title>t</title><p>x", "\xE2\x82\xAC", ARTICLE_BYTES_MAX + 100);
    struct article got = read_page(str_of(page), "text/html");
    assert_string_equal(got.charset, "utf-8");
    assert_true(got.cut);
    free(page);
}

static void test_tamed(void **state) {
    (void)state;
    static const struct {
        const char *html, *tame;
    } rows[] = {
        {"a<B Class=x onclick='1' ID = \"y<\">b</B >", "a<b class=\"x\" id=\"y&lt;\">b</b>"},
        {"<p/><br / >", "<p><br>"},
        {"<a href='a\"b>c' href=d>", "<a href=\"a&quot;b&gt;c\" href=\"d\">"},
        {"<script>a<b</script >c<STYLE>x</style>d", "cd"},
        {"<script>a</scriptb></script>c", "c"},
        {"<title>a<b>c</title>d", "<title>a&lt;b&gt;c</title>d"},
        {"<!doctype html><?php 1 ?></>a<!-- <p> -->b<![CDATA[c]]>", "ab"},
        {"1<2 <é>", "1&lt;2 &lt;é>"},
        {"<x:y>a</x:y>", "a"},
        {"<aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd>a", "a"},
        {"<p =a ==b>c", "<p>c"},
        {"<p class", "<p class=\"\">"},
        {"<p class='x", "<p class=\"x\">"},
        {"a<", "a&lt;"},
        {"a</", "a"},
        {"a</b>c", "ac"},
        {"a</p>c", "a</p>c"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct strbuf out;
        strbuf_init(&out, 1000);
        article_tame(str_of(rows[i].html), &out);
        assert_string_equal(out.p ? out.p : "", rows[i].tame);
        strbuf_release(&out);
    }
}

static size_t tamed_length(char *html) {
    struct strbuf out;
    strbuf_init(&out, FLOOD);
    article_tame(str_of(html), &out);
    size_t n = out.n;
    strbuf_release(&out);
    free(html);
    return n;
}

/* Twelve attributes stay of any number, and 4 KiB of any value: of a character, all or nothing. */
static void test_attributes(void **state) {
    (void)state;
    assert_int_equal(tamed_length(repeat("<p", " id=a", 5000)),
                     strlen("<p>") + 12 * strlen(" id=\"a\""));
    assert_int_equal(tamed_length(repeat("<p id=", "x", 9000)), strlen("<p id=\"\">") + 4096);
    assert_int_equal(tamed_length(repeat("<p id=x", "\xC3\xA9", 9000)),
                     strlen("<p id=\"\">") + 4095);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floods),      cmocka_unit_test(test_ends_of_nothing_far_down),
        cmocka_unit_test(test_depth),       cmocka_unit_test(test_a_long_text),
        cmocka_unit_test(test_long_fields), cmocka_unit_test(test_a_long_page),
        cmocka_unit_test(test_tamed),       cmocka_unit_test(test_attributes),
    };
    arena_init(&page_arena);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&page_arena);
    return failed;
}
