/* The parts of pages: numbers, times, links, and that nothing hostile gets through any of them. */
#include "web/page.h"

#include "hostile_words.h"
#include "page_check.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define NOW INT64_C(1800000000)
#define DAY INT64_C(86400)

static struct strbuf b;

static int fresh(void **state UNUSED) {
    strbuf_init(&b, 16 * 1024 * 1024);
    return 0;
}

static int release(void **state UNUSED) {
    strbuf_release(&b);
    return 0;
}

static void said(const char *wanted) {
    assert_string_equal(b.p, wanted);
    strbuf_clear(&b);
}

static void numbers(void **state UNUSED) {
    static const struct {
        int64_t n;
        const char *plain, *grouped;
    } cases[] = {
        {0, "0", "0"},
        {7, "7", "7"},
        {999, "999", "999"},
        {1000, "1000", "1,000"},
        {-1, "-1", "-1"},
        {-1234567, "-1234567", "-1,234,567"},
        {INT64_MAX, "9223372036854775807", "9,223,372,036,854,775,807"},
        {INT64_MIN, "-9223372036854775808", "-9,223,372,036,854,775,808"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        page_int(&b, cases[i].n);
        said(cases[i].plain);
        page_number(&b, cases[i].n);
        said(cases[i].grouped);
    }
    page_count(&b, 1, "point");
    said("1 point");
    page_count(&b, 0, "point");
    said("0 points");
    page_count(&b, 1200, "comment");
    said("1,200 comments");
}

static void ages(void **state UNUSED) {
    static const struct {
        int64_t age;
        const char *words;
    } cases[] = {
        {-200, "just now"},
        {0, "just now"},
        {59, "just now"},
        {60, "1 minute ago"},
        {3599, "59 minutes ago"},
        {3600, "1 hour ago"},
        {DAY - 1, "23 hours ago"},
        {DAY, "1 day ago"},
        {59 * DAY, "59 days ago"},
        {60 * DAY, "2 months ago"},
        {729 * DAY, "24 months ago"},
        {731 * DAY, "2 years ago"},
        {18 * 366 * DAY, "18 years ago"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        page_ago(&b, NOW - cases[i].age, NOW);
        said(cases[i].words);
    }
}

static void times(void **state UNUSED) {
    page_time(&b, 1160418111, 1160418111 + 120);
    said("<time datetime=\"2006-10-09T18:21:51Z\" title=\"2006-10-09 18:21:51 UTC\">"
         "2 minutes ago</time>");
    page_time(&b, 0, 61);
    said("<time datetime=\"1970-01-01T00:00:00Z\" title=\"1970-01-01 00:00:00 UTC\">"
         "1 minute ago</time>");
    page_time(&b, 4102444800, NOW); /* years ahead: no age is made of it */
    said("<time datetime=\"2100-01-01T00:00:00Z\" title=\"2100-01-01 00:00:00 UTC\">"
         "on 2100-01-01</time>");
    page_time(&b, 253402300799, NOW);
    said("<time datetime=\"9999-12-31T23:59:59Z\" title=\"9999-12-31 23:59:59 UTC\">"
         "on 9999-12-31</time>");
    static const int64_t unknown[] = {I64_NONE, -1, 253402300800, INT64_MAX};
    for (size_t i = 0; i < ARRAY_LEN(unknown); i++) {
        page_time(&b, unknown[i], NOW);
        said("<span class=\"when\">at an unknown time</span>");
    }
}

static void addresses(void **state UNUSED) {
    static const struct {
        const char *url;
        bool may;
    } cases[] = {
        {"http://e.com", true},
        {"https://e.com/?a=\"b\"", true},
        {"HTTPS://E.COM", true},
        {"http://", false},
        {"https://", false},
        {"javascript:alert(1)", false},
        {"JaVaScRiPt:alert(1)//http://", false},
        {" javascript:alert(1)", false},
        {"data:text/html,<script>", false},
        {"vbscript:x", false},
        {"//e.com", false},
        {"/item?id=1", false},
        {"item?id=1", false},
        {"ftp://e.com", false},
        {"http://e.com/a b", false},
        {"http://e.com/\n\"><script>", false},
        {"", false},
        {NULL, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(page_may_link(str_of(cases[i].url)), cases[i].may);
    page_outside_href(&b, STR("https://e.com/?a=\"><script>&b"));
    said("href=\"https://e.com/?a=&quot;&gt;&lt;script&gt;&amp;b\" "
         "rel=\"nofollow noopener noreferrer ugc\"");
}

static void people(void **state UNUSED) {
    page_person(&b, STR("a b&c"));
    said("<a class=\"by\" href=\"/user?id=a%20b%26c\">a b&amp;c</a>");
    page_person(&b, STR("a\x1b"));
    assert_null(strstr(b.p, "href"));
    strbuf_clear(&b);
    page_person(&b, STR_NONE);
    assert_int_equal(b.n, 0);
}

static struct read_item story(void) {
    return (struct read_item){.stored = true,
                              .item = {.id = 8863,
                                       .type = STR("story"),
                                       .by = STR("dhouston"),
                                       .title = STR("My YC app: Dropbox"),
                                       .url = STR("http://www.getdropbox.com/u/2/screencast.html"),
                                       .domain = STR("getdropbox.com"),
                                       .score = 104,
                                       .descendants = 71,
                                       .time = NOW - 7200}};
}

static void a_story_of_a_list(void **state UNUSED) {
    struct read_item it = story();
    page_story(&b, &it, 31, NOW);
    said("<li class=\"story\"><span class=\"rank\">31</span><article><h2><a class=\"title\" "
         "href=\"http://www.getdropbox.com/u/2/screencast.html\" "
         "rel=\"nofollow noopener noreferrer ugc\">My YC app: Dropbox</a> "
         "<span class=\"site\">getdropbox.com</span></h2>"
         "<p class=\"meta\"><span class=\"points\">104 points</span> "
         "<a class=\"by\" href=\"/user?id=dhouston\">dhouston</a> "
         "<a class=\"when\" href=\"/item?id=8863\"><time datetime=\"2027-01-15T06:00:00Z\" "
         "title=\"2027-01-15 06:00:00 UTC\">2 hours ago</time></a> </p></article>"
         "<a class=\"replies\" href=\"/item?id=8863\"><span class=\"n\">71</span> "
         "<span class=\"w\">comments</span></a></li>\n");
}

static void what_a_story_may_lack(void **state UNUSED) {
    struct read_item it = story();
    it.item.dead = true;
    it.item.title = it.item.url = it.item.domain = it.item.by = STR_NONE;
    it.item.score = it.item.descendants = it.item.time = I64_NONE;
    page_story(&b, &it, 1, NOW);
    assert_non_null(strstr(b.p, "<li class=\"story gone\">"));
    assert_non_null(strstr(b.p, "<a class=\"title\" href=\"/item?id=8863\">[dead]</a></h2>"));
    assert_non_null(strstr(b.p, "<span class=\"tag\">dead</span>"));
    assert_null(strstr(b.p, "point"));
    assert_non_null(strstr(b.p, "<span class=\"n\">0</span>"));
    assert_null(page_check(&(struct page_check){0}, strbuf_str(&b)));
    strbuf_clear(&b);
}

static void a_job_has_neither_points_nor_comments(void **state UNUSED) {
    struct read_item it = story();
    it.item.type = STR("job");
    page_story(&b, &it, 1, NOW);
    assert_null(strstr(b.p, "point"));
    assert_null(strstr(b.p, "replies"));
    strbuf_clear(&b);
}

static void sound(struct str vector) {
    struct page_check k;
    const char *wrong = page_check(&k, strbuf_str(&b));
    if (wrong)
        fail_msg("%s at: %.80s\nfor the vector %.*s", k.why, wrong, STR_FMT(vector));
    strbuf_clear(&b);
}

static void nothing_hostile_gets_through(void **state UNUSED) {
    for (size_t i = 0; i < ARRAY_LEN(hostile_words); i++) {
        struct str v = hostile_words[i];
        struct read_item it = story();
        it.item.title = it.item.by = it.item.url = it.item.domain = it.item.type = v;
        page_story(&b, &it, 1, NOW);
        sound(v);
        page_headline(&b, &it);
        page_byline(&b, &it, NOW);
        page_person(&b, v);
        sound(v);
        page_text(&b, v);
        sound(v);
        page_begin(&b, &(struct page_head){.title = v, .query = v});
        page_end(&b, NULL, NOW * 1000);
        sound(v);
        page_error(&b, 404, "Not here", v);
        sound(v);
        strbuf_adds(&b, "<p>");
        page_more(&b, v, "More");
        strbuf_clear(&b); /* its address is ours; that it is escaped shows below */
    }
    page_more(&b, STR("/newest?next=5&n=31"), "More");
    said("<p class=\"more\"><a rel=\"next\" href=\"/newest?next=5&amp;n=31\">More</a></p>\n");
}

/* A link that may not be followed leaves the title on our own page. */
static void a_story_with_a_bad_address_leads_to_its_own_page(void **state UNUSED) {
    struct read_item it = story();
    it.item.url = STR("javascript:alert(document.domain)");
    page_headline(&b, &it);
    said("<a class=\"title\" href=\"/item?id=8863\">My YC app: Dropbox</a>");
}

static void a_page_says_where_one_is_and_how_fresh_it_is(void **state UNUSED) {
    struct archive_state s = {.present = true,
                              .frontier_id = 100,
                              .frontier_excluding_waiting = 39990,
                              .maxitem = 40000,
                              .maxitem_at = (NOW - 61) * 1000};
    page_begin(&b, &(struct page_head){.here = "/ask", .query = STR("a b")});
    page_end(&b, &s, NOW * 1000);
    assert_non_null(strstr(b.p, "<a href=\"/ask\" aria-current=\"page\">ask</a>"));
    assert_non_null(strstr(b.p, "<a href=\"/\">top</a>"));
    assert_non_null(strstr(b.p, "value=\"a b\""));
    assert_non_null(strstr(b.p, "<p class=\"fresh\">"));
    assert_non_null(strstr(b.p, "complete up to item 39,990 of 40,000"));
    assert_non_null(strstr(b.p, "1 minute ago</time>"));
    sound(STR("a page"));
    s.maxitem_at -= 600 * 1000;
    page_end(&b, &s, NOW * 1000);
    assert_non_null(strstr(b.p, "<p class=\"fresh stale\">"));
    strbuf_clear(&b);
    page_end(&b, NULL, NOW * 1000);
    assert_non_null(strstr(b.p, "has not looked at the upstream yet"));
    strbuf_clear(&b);
}

static void a_text_that_does_not_fit_is_a_limit(void **state UNUSED) {
    CLEANUP(strbuf_release) struct strbuf small;
    strbuf_init(&small, 64);
    page_text(&small,
              STR("a text that is longer than the sixty-four characters there are room for"));
    assert_true(small.overflow);
}

/* The check itself can fail. */
static void the_check_sees(void **state UNUSED) {
    static const char *const bad[] = {
        "<script>alert(1)</script>",
        "<p onclick=\"x\">x</p>",
        "<p style=\"x\">x</p>",
        "<a href=\"javascript:x\">x</a>",
        "<p>x",
        "x</p>",
        "<p><a href=\"/\">x</p></a>",
        "<img src=\"/x\">",
        "a & b",
        "<p class=x>x</p>",
        "<a href=\"//e\">x</a>",
        "a > b",
    };
    struct page_check k;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_non_null(page_check(&k, str_of(bad[i])));
    assert_null(page_check(&k, STR("<p class=\"x\">a &amp; b</p>")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(ages),
        cmocka_unit_test(times),
        cmocka_unit_test(addresses),
        cmocka_unit_test(people),
        cmocka_unit_test(a_story_of_a_list),
        cmocka_unit_test(what_a_story_may_lack),
        cmocka_unit_test(a_job_has_neither_points_nor_comments),
        cmocka_unit_test(nothing_hostile_gets_through),
        cmocka_unit_test(a_story_with_a_bad_address_leads_to_its_own_page),
        cmocka_unit_test(a_page_says_where_one_is_and_how_fresh_it_is),
        cmocka_unit_test(a_text_that_does_not_fit_is_a_limit),
        cmocka_unit_test(the_check_sees),
    };
    return cmocka_run_group_tests(tests, fresh, release);
}
