/* Pages of many shapes: what they are called, and which of their text is the article. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "read_page.h"

#define FIRST                                                                                   \
    "The harbour was empty when the first ferry came in, and nobody had told the captain why, " \
    "so she tied it up herself and walked to the office."
#define SECOND                                                                                    \
    "In the office there was a clock, a chair and a telephone that rang; when she picked it up, " \
    "a voice read out a list of ships, none of which she knew."
#define THIRD                                                                                  \
    "By noon the list had reached its end, the voice had thanked her, and the harbour, which " \
    "had been empty, was full of ships that looked as if they had always been there."
#define NOISE                                                                                   \
    "Buy three, pay two: our offers of the week, hand-picked, with free delivery, are waiting " \
    "for you, but only until midnight, and only while there are any left."
#define WHOLE FIRST "\n\n" SECOND "\n\n" THIRD

static const struct shape {
    const char *name, *html, *text;
} shapes[] = {
    {"paragraphs in a body", "<p>" FIRST "<p>" SECOND "<p>" THIRD, WHOLE},
    {"an article among the usual",
     "<body><header><a href=/>Home</a> The daily harbour, since 1901, in print and online</header>"
     "<nav><ul><li><a href=1>One</a><li><a href=2>Two</a></ul></nav><main><article><p>" FIRST
     "</p><p>" SECOND "</p><aside>" NOISE "</aside><p>" THIRD "</p></article></main>"
     "<footer>" NOISE "</footer></body>",
     WHOLE},
    {"divs with classes",
     "<div id=wrap><div class='left sidebar'><p>" NOISE "</p><p>" NOISE
     "</p></div><div class=post-content><p>" FIRST "</p><p>" SECOND "</p><p>" THIRD
     "</p></div><div class='comments'><p>" NOISE "</p></div></div>",
     WHOLE},
    {"divs without any",
     "<div><div><a href=1>A first link of the menu</a> <a href=2>A second link of it</a></div><div>"
     "<div>" FIRST "</div><div>" SECOND "</div><div>" THIRD "</div></div><div>"
     "<a href=3>What others read, and what you should</a></div></div>",
     WHOLE},
    {"line breaks", "<body>" FIRST "<br><br>\n" SECOND "<br /> <br />" THIRD "</body>", WHOLE},
    {"one line break", "<body><p>" FIRST "<br>" SECOND "</p><p>" THIRD "</p></body>",
     FIRST "\n" SECOND "\n\n" THIRD},
    {"tables of old",
     "<table><tr><td bgcolor=blue><a href=1>One</a><br><a href=2>Two</a></td><td><font "
     "face=Arial><p>" FIRST "<p>" SECOND "<p>" THIRD "</font></td></tr></table>",
     WHOLE},
    {"a page in one form",
     "<form><div><p>" FIRST "</p><p>" SECOND "</p><p>" THIRD "</p></div>"
     "<select><option>one<option>two</select><button>Send it off, now and for ever</button></form>",
     WHOLE},
    {"an article in two pieces",
     "<div><section><p>" FIRST "</p><p>" SECOND "</p></section><section><p>" THIRD "</p><p>" FIRST
     "</p></section></div>",
     WHOLE "\n\n" FIRST},
    {"headings",
     "<article><h1>The harbour</h1><p>" FIRST "</p><h2>The <em>office</em></h2><p>" SECOND
     "</p><h2>Read on</h2></article>",
     "The harbour\n\n" FIRST "\n\nThe office\n\n" SECOND},
    {"a list",
     "<article><p>" FIRST "</p><ul><li>a clock</li><li>a chair</li></ul><p>" SECOND
     "</p></article>",
     FIRST "\n\n- a clock\n\n- a chair\n\n" SECOND},
    {"code",
     "<article><p>" FIRST "</p><pre><code>if (a &lt; b)\n    swap();\n</code></pre><p>" SECOND
     "</p></article>",
     FIRST "\n\nif (a < b)\n    swap();\n\n" SECOND},
    {"a list of links",
     "<article><p>" FIRST "</p><p>" SECOND "</p><ul><li><a href=1>Another thing of interest</a>"
     "<li><a href=2>And one more that is not</a></ul></article>",
     FIRST "\n\n" SECOND},
    {"labels",
     "<article><div>Share</div><div>3 min read</div><p>" FIRST "</p><p>" SECOND
     "</p><p>It was so.</p></article>",
     FIRST "\n\n" SECOND "\n\nIt was so."},
    {"what is hidden",
     "<article><p>" FIRST "</p><p hidden>" NOISE "</p><p style='DISPLAY: none'>" NOISE
     "</p><div aria-hidden=true>" NOISE "</div><p>" SECOND "</p></article>",
     FIRST "\n\n" SECOND},
    {"all of it is hidden",
     "<body style='display:none'><div hidden><p>" FIRST "</p><p>" SECOND "</p><p>" THIRD
     "</p></div></body>",
     WHOLE},
    {"a name that misleads",
     "<body class=sidebar><div class='has-sidebar page'><p>" FIRST "</p><p>" SECOND "</p><p>" THIRD
     "</p></div><div class=comments><p>" NOISE "</p></div></body>",
     WHOLE},
    {"a header of the article",
     "<header><p>" NOISE "</p></header><article><div><header><p>" FIRST
     "</p></header></div><p>" SECOND "</p><p>" THIRD "</p></article>",
     WHOLE},
    {"roles",
     "<div><p>" FIRST "</p><p>" SECOND "</p><p>" THIRD "</p><div role=Complementary><p>" NOISE
     "</p></div><div role=dialog>" NOISE "</div></div>",
     WHOLE},
    {"an article with less text than what is around it",
     "<div><p>" NOISE "</p><p>" NOISE "</p><p>" NOISE "</p></div><article><p>" FIRST
     "</p><p>" SECOND "</p></article>",
     FIRST "\n\n" SECOND},
    {"more links than text",
     "<div><p>" FIRST "</p><p>" SECOND "</p></div><div><p><a href=1>" NOISE
     "</a></p><p><a href=2>" NOISE "</a></p><p><a href=3>" NOISE "</a></p><p>" THIRD "</p></div>",
     FIRST "\n\n" SECOND "\n\n" THIRD},
    {"words in one",
     "<div><p>" FIRST "</p><p>" SECOND "</p><p>" THIRD "</p><div class=relatedPosts><p>" NOISE
     "</p></div></div>",
     WHOLE},
    {"only comments", "<div class=comments><p>" FIRST "</p><p>" SECOND "</p></div>",
     FIRST "\n\n" SECOND},
    {"scripts everywhere",
     "<script>var a = '<p>" NOISE "</p>';</script><style>p { color: red }</style><article><p>" FIRST
     "<script>if (1 < 2) document.write('</p>')</script></p><noscript>" NOISE
     "</noscript><template>" NOISE "</template><svg><text>" NOISE "</text></svg><p>" SECOND
     "</p><!-- " NOISE " --><iframe>" NOISE "</iframe><textarea>" NOISE "</textarea></article>",
     FIRST "\n\n" SECOND},
    {"blanks and entities",
     "<article><p>  &ldquo;A&nbsp;&nbsp;&amp;\n\n B&rdquo;  &#65;&#x42;&bogus; <b>bo</b>ld"
     "</p><p>" FIRST "</p></article>",
     "\xE2\x80\x9C"
     "A & B\xE2\x80\x9D AB&bogus; bold\n\n" FIRST},
    {"no end to anything", "<div><p><b>" FIRST "<p><i>" SECOND "<div><p>" THIRD, WHOLE},
    {"ends without beginnings",
     "</div></p></article><p>" FIRST "</b></span></p></body></html><p>" SECOND,
     FIRST "\n\n" SECOND},
    {"a body after the end",
     "<html><body></body></html><html><body><p>" FIRST "</p><p>" SECOND "</p>",
     FIRST "\n\n" SECOND},
    {"signs that are no tags", "<article><p>" FIRST " 1 < 2 <3 <- a<b> c</b> </ p>x</p></article>",
     FIRST " 1 < 2 <3 <- a c x"},
    {"comments that end early",
     "<!--><p>" FIRST "</p><!---><p>" SECOND "</p><!----><p>" THIRD "</p><!-- - -> <p>no", WHOLE},
    {"nothing", "", ""},
    {"no text", "<html><body><img src=a><script>1</script></body></html>", ""},
    {"a few words", "<p>Gone fishing.</p>", "Gone fishing."},
};

static void test_shapes(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        struct article got = read_html(shapes[i].html);
        if (!str_eqc(got.text, shapes[i].text))
            print_error("%s:\n%s\n", shapes[i].name, got.text.p);
        assert_true(str_eqc(got.text, shapes[i].text));
        assert_false(got.cut);
    }
}

static void assert_says(struct str got, const char *expected) {
    if (!expected) {
        assert_null(got.p);
        return;
    }
    assert_non_null(got.p);
    assert_string_equal(got.p, expected);
    assert_int_equal(got.n, strlen(expected));
}

static const struct {
    const char *html, *title, *description, *canonical, *language, *site;
} heads[] = {
    {"<html lang=en-GB><head><title> A\n title </title><meta name=description content='What it is'>"
     "<link rel=canonical href=https://example.com/a><p>x",
     "A title", "What it is", "https://example.com/a", "en-GB", NULL},
    {"<title>Long - Site</title><meta property=og:title content='Short'><meta "
     "property='og:description' "
     "content='By og'><meta name=description content='By name'><meta property=og:url "
     "content='http://example.com/og'><meta property=og:site_name content=Site>",
     "Short", "By og", "http://example.com/og", NULL, "Site"},
    {"<meta name=twitter:title content=Tw><meta name=twitter:description content='Tw d'>", "Tw",
     "Tw d", NULL, NULL, NULL},
    {"<h1>Only <b>this</b></h1><p>x<h1>Not this</h1>", "Only this", NULL, NULL, NULL, NULL},
    {"<title></title><h1>Heading</h1>", "Heading", NULL, NULL, NULL, NULL},
    {"<title>One</title><title>Two</title>", "One", NULL, NULL, NULL, NULL},
    {"<title>a < b && <b>c</b> &amp;amp; &eacute;</title>", "a < b && <b>c</b> &amp; \xC3\xA9",
     NULL, NULL, NULL, NULL},
    {"<svg><title>Icon</title></svg><p>x", NULL, NULL, NULL, NULL, NULL},
    {"<link rel=canonical href='/relative'><meta property=og:url content='javascript:alert(1)'>",
     NULL, NULL, NULL, NULL, NULL},
    {"<link rel=canonical href='https://a b'><html lang='e&lt;'>", NULL, NULL, NULL, NULL, NULL},
    {"<link rel=stylesheet href=https://example.com/s><html lang=x>", NULL, NULL, NULL, NULL, NULL},
    {"<META NAME=Description CONTENT=\"Q &quot;q&quot;\nline\">", NULL, "Q \"q\" line", NULL, NULL,
     NULL},
};

static void test_heads(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        struct article got = read_html(heads[i].html);
        assert_says(got.title, heads[i].title);
        assert_says(got.description, heads[i].description);
        assert_says(got.canonical, heads[i].canonical);
        assert_says(got.language, heads[i].language);
        assert_says(got.site, heads[i].site);
    }
}

#define E_ACUTE "\xC3\xA9"

static void test_charsets(void **state) {
    (void)state;
    static const struct {
        struct str bytes;
        const char *type, *charset, *title;
    } rows[] = {
        {STR("<title>\xC3\xA9</title>"), "text/html; charset=utf-8", "utf-8", E_ACUTE},
        {STR("<title>\xC3\xA9</title>"), "text/html", "utf-8", E_ACUTE},
        {STR("<title>\xE9</title>"), "text/html", "windows-1252", E_ACUTE},
        {STR("<title>\x93\xE9\x94</title>"), "text/html; charset=ISO-8859-1", "windows-1252",
         "\xE2\x80\x9C\xC3\xA9\xE2\x80\x9D"},
        {STR("<title>\xE9</title>"), "text/html;charset=\"Latin1\"; x", "windows-1252", E_ACUTE},
        {STR("<meta charset=windows-1251><title>\xCF\xF0</title>"), "text/html", "windows-1251",
         "\xD0\x9F\xD1\x80"},
        {STR("<meta http-equiv=Content-Type content='text/html; charset=Shift_JIS'><title>\x83\x65"
             "</title>"),
         NULL, "shift_jis", "\xE3\x83\x86"},
        {STR("<?xml version='1.0' "
             "encoding=\"EUC-KR\"?><html><head><title>\xB0\xA1</title></head></html>"),
         "application/xhtml+xml", "euc-kr", "\xEA\xB0\x80"},
        {STR("<title>\xC4\xE3</title>"), "text/html; charset=gb2312", "gb18030", "\xE4\xBD\xA0"},
        {STR("\xEF\xBB\xBF<title>\xC3\xA9</title>"), "text/html; charset=windows-1252", "utf-8",
         E_ACUTE},
        {STR("\xFF\xFE<\0t\0i\0t\0l\0e\0>\0\xE9\0"), "text/html", "utf-16le", E_ACUTE},
        {STR("\xFE\xFF\0<\0t\0i\0t\0l\0e\0>\0\xE9"), "text/html", "utf-16be", E_ACUTE},
        {STR("<\0t\0i\0t\0l\0e\0>\0\xE9\0"), "text/html; charset=utf-16", "utf-16le", E_ACUTE},
        {STR("<meta charset=utf-16><title>\xC3\xA9</title>"), "text/html", "utf-8", E_ACUTE},
        {STR("<meta charset=ISO-2022-CN-EXT><title>a</title>"), "text/html", "utf-8", "a"},
        {STR("<meta charset=><title>a</title>"), "text/html; charset=", "utf-8", "a"},
        {STR("<title>a\xC3(\xFF</title>\xC3\xA9"), "text/html; charset=utf-8", "utf-8",
         "a\xEF\xBF\xBD(\xEF\xBF\xBD"},
        {STR("<title>\xE9</title>"), "text/html; charset=utf-8", "windows-1252", E_ACUTE},
        {STR("<title>a\xC3(\xFF</title>\xC3\xA9"), "text/html", "windows-1252",
         "a\xC3\x83(\xC3\xBF"},
        {STR("<title>a\xFF\xC3\xA9</title>"), "text/html", "utf-8", "a\xEF\xBF\xBD" E_ACUTE},
        {STR("<title>a\0b</title>"), "text/html", "utf-8", "ab"},
        {STR("<title>a\x83</title>"), "text/html; charset=shift_jis", "shift_jis", "a\xEF\xBF\xBD"},
        {STR("<title>a\x01\x7F\xC2\x85"
             "b</title>"),
         "text/html; charset=utf-8", "utf-8", "ab"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct article got = read_page(rows[i].bytes, rows[i].type);
        if (!str_eqc(got.title, rows[i].title))
            print_error("row %zu: %s\n", i, got.title.p ? got.title.p : "no title");
        assert_string_equal(got.charset, rows[i].charset);
        assert_says(got.title, rows[i].title);
    }
}

static void test_plain_text(void **state) {
    (void)state;
    struct article got =
        read_page(STR("\n <b>One</b>\r\n\r\n\r\n\r\ntwo\x07 \rthree\n\n"), "text/plain");
    assert_says(got.text, "<b>One</b>\n\ntwo \nthree");
    assert_null(got.title.p);
    got = read_page(STR("caf\xE9"), "TEXT/PLAIN; charset=latin1");
    assert_says(got.text, "caf\xC3\xA9");
}

static void test_not_a_page(void **state) {
    (void)state;
    static const struct {
        struct str bytes;
        const char *type;
    } rows[] = {
        {STR("<p>x"), "application/pdf"},
        {STR("<p>x"), "text/htmlx"},
        {STR("<p>x"), "image/svg+xml; charset=utf-8"},
        {STR("%PDF-1.7 ..."), "text/html"},
        {STR("\x89PNG\r\n"), NULL},
        {STR("PK\x03\x04"), "text/plain"},
        {STR("\x1F\x8B\x08"), "text/html"},
        {STR("a\0<p>b"), "text/html"},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct article got;
        struct err e;
        assert_int_equal(article_read(rows[i].bytes, str_of(rows[i].type), &a, &got, &e),
                         V_INVALID);
        assert_memory_equal(e.msg, "not a page but ", 15);
    }
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),     cmocka_unit_test(test_heads),
        cmocka_unit_test(test_charsets),   cmocka_unit_test(test_plain_text),
        cmocka_unit_test(test_not_a_page),
    };
    arena_init(&page_arena);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&page_arena);
    return failed;
}
