#include "hn/html.h"
#include "hn/item.h"
#include "html_check.h"
#include "shared_data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define REL " rel=\"nofollow noopener noreferrer\""
#define FFFD "\xEF\xBF\xBD"

static const struct {
    const char *html, *safe, *text;
} cases[] = {
    {"", "", ""},
    {"plain", "plain", "plain"},
    {"one<p>two<p>three", "one<p>two</p><p>three</p>", "one\n\ntwo\n\nthree"},
    {"<p>one</p>\n", "<p>one</p>\n", "one\n\n\n"},
    {"a<p></p>b<p>", "ab", "ab"},
    {"a<p><p><p>b", "a<p>b</p>", "a\n\nb"},
    {"It&#x27;s &quot;x &lt; y &amp;&amp; z&quot; &gt; &#x2F;&#47;",
     "It&#x27;s &quot;x &lt; y &amp;&amp; z&quot; &gt; //", "It's \"x < y && z\" > //"},
    {"it's \"raw\" > & fine", "it&#x27;s &quot;raw&quot; &gt; &amp; fine", "it's \"raw\" > & fine"},
    {"<i>a</i> <b>b</b> <I>c</I>", "<i>a</i> <b>b</b> <i>c</i>", "a b c"},
    {"<p>so:<p><pre><code>  if (a &lt; b)\n    c();\n</code></pre>\nend",
     "<p>so:</p><pre><code>  if (a &lt; b)\n    c();\n</code></pre>\nend",
     "so:\n\n  if (a < b)\n    c();\n\n\n\nend"},
    /* links */
    {"see <a href=\"https:&#x2F;&#x2F;example.com&#x2F;?a=1&amp;b=2\" rel=\"nofollow\">"
     "https:&#x2F;&#x2F;example.com&#x2F;?a=1&amp;b=2</a>.",
     "see <a href=\"https://example.com/?a=1&amp;b=2\"" REL
     ">https://example.com/?a=1&amp;b=2</a>.",
     "see https://example.com/?a=1&b=2."},
    {"<a href=\"http://example.com/a/long/way\">http://example.com/a/lo...</a>",
     "<a href=\"http://example.com/a/long/way\"" REL ">http://example.com/a/lo...</a>",
     "http://example.com/a/long/way"},
    {"<a href='http://e.com/'>here</a>", "<a href=\"http://e.com/\"" REL ">here</a>",
     "here (http://e.com/)"},
    {"<a href=\"mailto:a@b.c\">a@b.c</a>", "<a href=\"mailto:a@b.c\"" REL ">a@b.c</a>", "a@b.c"},
    {"<a class=x href = http://e.com title=\"t\" onclick=\"x()\">e</a>",
     "<a href=\"http://e.com\"" REL ">e</a>", "e (http://e.com)"},
    {"<a href=\"http://e.com\"></a>", "<a href=\"http://e.com\"" REL "></a>", "http://e.com"},
    {"<a href=\"http://e.com/a b\">x</a>", "<a href=\"http://e.com/a%20b\"" REL ">x</a>",
     "x (http://e.com/a%20b)"},
    {"<a href=\"http://a.com\">x<a href=\"http://b.com\">y</a></a>",
     "<a href=\"http://a.com\"" REL ">x</a><a href=\"http://b.com\"" REL ">y</a>",
     "x (http://a.com)y (http://b.com)"},
    {"<a href=\"http://e.com\">x<p>y</a>z", "<a href=\"http://e.com\"" REL ">x</a><p>yz</p>",
     "x (http://e.com)\n\nyz"},
    {"<a href=\"item?id=1\">x</a>", "x", "x"},
    {"<a href=\"http://\">x</a>", "x", "x"},
    {"<a name=x>x</a>", "x", "x"},
    {"<a>x</a>", "x", "x"},
    /* out of order */
    {"<i>a<b>b</i>c</b>d", "<i>a<b>b</b></i>cd", "abcd"},
    {"</i></p>a</pre></code></a>", "a", "a"},
    {"<i>a", "<i>a</i>", "a"},
    {"<i>a<p>b</i>", "<i>a</i><p>b</p>", "a\n\nb"},
    {"<pre><code>a<p>b", "<pre><code>a</code></pre><p>b</p>", "a\n\nb"},
    {"<p>a<pre>b</pre>c</p>d", "<p>a</p><pre>b</pre>cd", "a\n\nb\n\ncd"},
    /* not tags */
    {"a < b, a <b, 1<2", "a &lt; b, a &lt;b, 1&lt;2", "a < b, a <b, 1<2"},
    {"<", "&lt;", "<"},
    {"<i", "&lt;i", "<i"},
    {"</", "&lt;/", "</"},
    {"<>", "&lt;&gt;", "<>"},
    {"</>", "&lt;/&gt;", "</>"},
    {"<img>", "&lt;img&gt;", "<img>"},
    {"< i>x", "&lt; i&gt;x", "< i>x"},
    {"<br/>", "&lt;br/&gt;", "<br/>"},
    {"<pi>", "&lt;pi&gt;", "<pi>"},
    {"<vector<i>>", "&lt;vector<i>&gt;</i>", "<vector>"},
    /* entities */
    {"&copy;&hellip;&nbsp;&euro;", "\u00a9\u2026\u00a0\u20ac", "\u00a9\u2026\u00a0\u20ac"},
    {"&unknown; &; &#; &#x; &#xg; &amp &#38",
     "&amp;unknown; &amp;; &amp;#; &amp;#x; &amp;#xg; "
     "&amp;amp &amp;#38",
     "&unknown; &; &#; &#x; &#xg; &amp &#38"},
    {"&amp;lt;i&amp;gt;", "&amp;lt;i&amp;gt;", "&lt;i&gt;"},
    {"&#0;&#x0;&#xD800;&#x110000;&#4294967361;&#27;", FFFD FFFD FFFD FFFD FFFD FFFD,
     FFFD FFFD FFFD FFFD FFFD FFFD},
    {"&#x1F600;", "\U0001F600", "\U0001F600"},
    {"a\r\nb\rc&#13;d\te", "a\nb\nc\nd\te", "a\nb\nc\nd\te"},
    {"\x01 \x7F \xC2\x80 \xFF \xC3", FFFD " " FFFD " " FFFD " " FFFD " " FFFD,
     FFFD " " FFFD " " FFFD " " FFFD " " FFFD},
    {"caf\u00e9 \U0001F600", "caf\u00e9 \U0001F600", "caf\u00e9 \U0001F600"},
};

static void writes_what_is_wanted(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf safe, text;
        strbuf_init(&safe, 4096);
        strbuf_init(&text, 4096);
        assert_true(html_safe(str_of(cases[i].html), &safe));
        assert_true(html_text(str_of(cases[i].html), &text));
        if (strcmp(strbuf_str(&safe).p, cases[i].safe) != 0)
            fail_msg("%s\n  gave   %s\n  wanted %s", cases[i].html, safe.p, cases[i].safe);
        if (strcmp(strbuf_str(&text).p, cases[i].text) != 0)
            fail_msg("%s\n  gave   %s\n  wanted %s", cases[i].html, text.p, cases[i].text);
        strbuf_release(&safe);
        strbuf_release(&text);
    }
}

static void pages_link_to_their_like(void **state) {
    (void)state;
    struct strbuf out;
    strbuf_init(&out, 4096);
    assert_true(
        html_page(STR("<i>a</i> <a href=\"https:&#x2F;&#x2F;news.ycombinator.com&#x2F;item?id="
                      "7#8\">x</a> <a href=\"http://news.ycombinator.com/user?id=pg\">pg</a> "
                      "<a href=\"https://news.ycombinator.com/item?id=7&amp;p=2\">y</a>"),
                  &out));
    assert_string_equal(out.p,
                        "<i>a</i> <a href=\"/item?id=7#8\">x</a> <a href=\"/user?id=pg\">pg</a> "
                        "<a href=\"https://news.ycombinator.com/item?id=7&amp;p=2\"" REL ">y</a>");
    strbuf_release(&out);
}

/* What holds for every text; answers its safe form. */
static struct strbuf require_safe(struct str html) {
    struct strbuf safe, again, text, text_again;
    strbuf_init(&safe, HTML_GROWTH * html.n);
    strbuf_init(&text, HTML_TEXT_GROWTH * html.n);
    if (!html_safe(html, &safe) || !html_text(html, &text))
        fail_msg("grew too long: %.*s", STR_FMT(html));
    const char *wrong = html_check(strbuf_str(&safe));
    if (wrong)
        fail_msg("%.*s\n  gave  %s\n  wrong %s", STR_FMT(html), safe.p, wrong);
    strbuf_init(&again, safe.max);
    strbuf_init(&text_again, text.max);
    assert_true(html_safe(strbuf_str(&safe), &again));
    assert_string_equal(strbuf_str(&again).p, strbuf_str(&safe).p);
    assert_true(html_text(strbuf_str(&safe), &text_again));
    assert_string_equal(strbuf_str(&text_again).p, strbuf_str(&text).p);
    strbuf_release(&again);
    strbuf_release(&text);
    strbuf_release(&text_again);
    return safe;
}

/* Ways that have got script past one whitelist or another. None may leave a tag of its own, or a
 * link. */
static const struct str attacks[] = {
    STR("<script>alert(1)</script>"),
    STR("<SCRIPT SRC=//evil.example/x.js></SCRIPT>"),
    STR("<scr<script>ipt>alert(1)</scr</script>ipt>"),
    STR("<img src=x onerror=alert(1)>"),
    STR("<img src=\"x\" onerror=\"alert(1)\"//"),
    STR("<svg/onload=alert(1)>"),
    STR("<svg><script>alert&#40;1)</script>"),
    STR("<math><mi//xlink:href=\"data:x,<script>alert(4)</script>\">"),
    STR("<iframe srcdoc=\"<script>alert(1)</script>\">"),
    STR("<body onload=alert(1)>"),
    STR("<style>@import'http://evil.example/x.css';</style>"),
    STR("<!--<img src=\"--><img src=x onerror=alert(1)//\">"),
    STR("<![CDATA[<script>alert(1)</script>]]>"),
    STR("<?xml version=\"1.0\"?><script>alert(1)</script>"),
    STR("<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">"),
    STR("<textarea><img title=\"</textarea><img src onerror=alert(1)>\"></textarea>"),
    STR("<i onclick=alert(1)>x</i>"),
    STR("<p style=\"background:url(javascript:alert(1))\">x"),
    STR("<b/onmouseover=alert(1)>x"),
    STR("<i\nonclick\n=\nalert(1)\n>x"),
    STR("<i x=\">\" onclick=alert(1)>x"),
    STR("<a href=\"javascript:alert(1)\">x</a>"),
    STR("<a href=\"JaVaScRiPt:alert(1)\">x</a>"),
    STR("<a href=\" &#14; javascript:alert(1)\">x</a>"),
    STR("<a href=\"java\tscript:alert(1)\">x</a>"),
    STR("<a href=\"java&#x0A;script:alert(1)\">x</a>"),
    STR("<a href=\"&#106;&#97;&#118;&#97;script:alert(1)\">x</a>"),
    STR("<a href=\"javascript&colon;alert(1)\">x</a>"),
    STR("<a href=\"\x01javascript:alert(1)\">x</a>"),
    STR("<a href=javascript:alert(1)//http://>x</a>"),
    STR("<a href=\"vbscript:msgbox(1)\">x</a>"),
    STR("<a href=\"data:text/html;base64,PHNjcmlwdD4=\">x</a>"),
    STR("<a href=\"//evil.example\">x</a>"),
    STR("<a href=\"/\\evil.example\">x</a>"),
    STR("<a href=\"file:///etc/passwd\">x</a>"),
    STR("<a href=\"blob:http://e.com/x\">x</a>"),
    STR("<a href=\"view-source:http://e.com\">x</a>"),
    STR("<a href=\"http:javascript:alert(1)\">x</a>"),
    STR("<a xlink:href=\"javascript:alert(1)\" data-href=http://e.com>x</a>"),
    STR("<a href=\"javascript:alert(1)\" href=\"http://e.com\">x</a>"),
    STR("<a href=\"http://e\0.com\">x</a>"),
    STR("<\0script>alert(1)</script>"),
    STR("\xC0\xBCscript\xC0\xBE"
        "alert(1)"),
    STR("<a <script>alert(1)</script> href=\"http://e.com\">x</a>"),
    STR("&lt;script&gt;alert(1)&lt;/script&gt;"),
    STR("&#60;script&#62;alert(1)&#x3C;/script&#x3e;"),
    STR("<base href=\"http://evil.example/\">"),
    STR("<form action=\"http://evil.example\"><button>x</button></form>"),
    STR("<meta http-equiv=refresh content=\"0;url=javascript:alert(1)\">"),
};

static void stops_attacks(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(attacks); i++) {
        struct strbuf safe = require_safe(attacks[i]);
        if (strstr(strbuf_str(&safe).p, "<a "))
            fail_msg("%s\n  became a link: %s", attacks[i].p, safe.p);
        strbuf_release(&safe);
    }
}

/* A link that may be followed cannot be broken out of. */
static void quotes_addresses(void **state) {
    (void)state;
    static const char *const links[][2] = {
        {"<a href='http://e.com/\"onclick=\"alert(1)'>x</a>",
         "<a href=\"http://e.com/&quot;onclick=&quot;alert(1)\"" REL ">x</a>"},
        {"<a href=\"http://e.com/&quot;&gt;&lt;script&gt;\">x</a>",
         "<a href=\"http://e.com/&quot;&gt;&lt;script&gt;\"" REL ">x</a>"},
        {"<a href=http://e.com/'onclick='x' onclick=y>x</a>",
         "<a href=\"http://e.com/&#x27;onclick=&#x27;x&#x27;\"" REL ">x</a>"},
        {"<a href=\"http://e.com/?a&amp;lt;b\">x</a>",
         "<a href=\"http://e.com/?a&amp;lt;b\"" REL ">x</a>"},
        {"<a href=\"http://e.com/unclosed>x</a>", "<a href=\"http://e.com/unclosed\"" REL ">x</a>"},
        {"<a href=\"HTTPS://e.com\" href=\"javascript:x\">x</a>",
         "<a href=\"HTTPS://e.com\"" REL ">x</a>"},
        {"<a\fhref\r=\n\"\thttp://e.com \">x</a>", "<a href=\"http://e.com\"" REL ">x</a>"},
    };
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        struct strbuf safe = require_safe(str_of(links[i][0]));
        assert_string_equal(strbuf_str(&safe).p, links[i][1]);
        strbuf_release(&safe);
    }
}

static void is_not_deep(void **state) {
    (void)state;
    struct strbuf html;
    strbuf_init(&html, 1 << 20);
    for (int i = 0; i < 1000; i++)
        strbuf_adds(&html, i % 3 ? "<i>" : "<b>");
    strbuf_adds(&html, "x");
    for (int i = 0; i < 1000; i++)
        strbuf_adds(&html, "</i></b>");
    struct strbuf safe = require_safe(strbuf_str(&html));
    assert_true(safe.n < 16 * 7 + 2);
    strbuf_release(&safe);
    strbuf_release(&html);
}

/* Texts that cost a careless reader the square of their length. */
static void stays_linear(void **state) {
    (void)state;
    static const char *const pieces[] = {
        "<",   "<a ", "<a href=\"", "<a href='http://",  "&",  "&#x",
        "<i>", "<p>", "</",         "<a href=http://e>", "\"", "\r"};
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        struct strbuf html;
        strbuf_init(&html, 1 << 18);
        while (html.n + 20 < html.max)
            strbuf_adds(&html, pieces[i]);
        struct strbuf safe = require_safe(strbuf_str(&html));
        strbuf_release(&safe);
        strbuf_release(&html);
    }
}

static void takes_back_what_does_not_fit(void **state) {
    (void)state;
    static const char html[] = "a<p><i>b</i> <a href=\"http://e.com/\">c</a>";
    struct strbuf whole;
    strbuf_init(&whole, 4096);
    assert_true(html_safe(str_of(html), &whole));
    for (size_t max = 4; max < whole.n + 4; max++) {
        struct strbuf out;
        strbuf_init(&out, max);
        strbuf_adds(&out, "was:");
        assert_false(html_safe(str_of(html), &out));
        assert_string_equal(out.p, "was:");
        assert_false(html_text(STR("x"), &out));
        strbuf_release(&out);
    }
    strbuf_release(&whole);
}

/* The texts of real items keep their words and need no escaping of tags. */
static void reads_real_texts(void **state) {
    (void)state;
    FILE *f = shared_data_open("gzip -dc", "items_run_*.ndjson.gz");
    char *line = NULL;
    size_t cap = 0, texts = 0;
    ssize_t n;
    if (!f)
        skip();
    while ((n = getline(&line, &cap, f)) > 0) {
        struct arena a;
        struct item it;
        arena_init(&a);
        if (item_parse(&a, (struct str){line, (size_t)n}, 0, &it) == ITEM_OK && it.text.p) {
            struct strbuf safe = require_safe(it.text);
            if (strstr(strbuf_str(&safe).p, "&lt;p&gt;") && !strstr(it.text.p, "&lt;p"))
                fail_msg("a tag became text: %s", it.text.p);
            strbuf_release(&safe);
            texts++;
        }
        arena_release(&a);
    }
    free(line);
    pclose(f);
    assert_true(texts > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_what_is_wanted),
        cmocka_unit_test(pages_link_to_their_like),
        cmocka_unit_test(stops_attacks),
        cmocka_unit_test(quotes_addresses),
        cmocka_unit_test(is_not_deep),
        cmocka_unit_test(stays_linear),
        cmocka_unit_test(takes_back_what_does_not_fit),
        cmocka_unit_test(reads_real_texts),
    };
    return cmocka_run_group_tests_name("hn/html", tests, NULL, NULL);
}
