/* What is shown of links: every state of every task, places in line, discussions, and that nothing
 * hostile gets through. */
#include "web/link_parts.h"

#include "hostile_words.h"
#include "page_check.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define NOW INT64_C(1800000000000)

static struct strbuf b;

static int fresh(void **state UNUSED) {
    strbuf_init(&b, 16 * 1024 * 1024);
    return 0;
}

static int release(void **state UNUSED) {
    strbuf_release(&b);
    return 0;
}

static void says(const char *words) {
    if (!strstr(b.p, words))
        fail_msg("'%s' is not in\n%s", words, b.p);
}

static void says_not(const char *words) {
    if (strstr(b.p, words))
        fail_msg("'%s' is in\n%s", words, b.p);
}

/* It is sound; the next one begins. */
static void done(void) {
    struct page_check k;
    const char *wrong = page_check(&k, strbuf_str(&b));
    if (wrong)
        fail_msg("%s at: %.80s\n%s", k.why, wrong, b.p);
    strbuf_clear(&b);
}

static struct link_view view(enum link_status all) {
    struct link_view v = {.link = {.id = 7,
                                   .url = STR("https://example.com/a?b=c&d"),
                                   .url_key = STR("example.com/a?b=c&d"),
                                   .title = STR("A title"),
                                   .created_at = NOW - 7200000},
                          .domain = STR("example.com"),
                          .has_tasks = true,
                          .may_ask = true,
                          .now = NOW};
    for (int t = LINK_REDDIT; t < LINK_TASKS; t++)
        v.tasks.tasks[t].status = all;
    return v;
}

static const struct link_discussion talks[] = {
    {.site = LINK_SITE_REDDIT,
     .external_id = STR("abc"),
     .external_url = STR("https://www.reddit.com/r/c/comments/abc/"),
     .title = STR("On Reddit"),
     .subreddit = STR("c_programming"),
     .score = 1234,
     .num_comments = 56,
     .external_created_at = NOW - 3 * INT64_C(3600000)},
    {.site = LINK_SITE_HN,
     .external_id = STR("8863"),
     .external_url = STR("https://news.ycombinator.com/item?id=8863"),
     .title = STR("On HN"),
     .score = 1,
     .num_comments = 1},
    {.site = LINK_SITE_HN,
     .external_id = STR("9999"),
     .external_url = STR("https://news.ycombinator.com/item?id=9999"),
     .score = DB_NULL,
     .num_comments = DB_NULL},
};
static const bool here[] = {false, true, false};

static void pending(void **state UNUSED) {
    struct link_view v = view(LINK_PENDING);
    assert_true(link_is_pending(&v));
    link_article(&b, &v);
    says("data-link=\"7\" data-pending=\"yes\"");
    says("Checking Reddit…");
    says("Checking HN…");
    says("Reading the article…");
    says("data-say=\"Checking Reddit…\"");
    says("no worker has started yet");
    says_not("Finding the article");
    says_not("form");
    done();
    v.tasks.tasks[LINK_REVERSE].status = LINK_PENDING;
    link_article(&b, &v);
    says("Finding the article…");
    done();
}

static void ended(void **state UNUSED) {
    struct link_view v = view(LINK_NOT_FOUND);
    v.tasks.tasks[LINK_SUMMARY].status = LINK_SKIPPED;
    v.tasks.tasks[LINK_SUMMARY].error = STR("no key is configured");
    assert_false(link_is_pending(&v));
    link_article(&b, &v);
    says("No discussions found on Reddit");
    says("No discussions found on HN");
    says("No summary: no key is configured");
    says_not("data-pending");
    says_not("spinner");
    done();
    v.tasks.tasks[LINK_REVERSE].status = LINK_NOT_FOUND;
    link_article(&b, &v);
    says("There is no article behind this discussion.");
    done();
    v.has_tasks = false;
    link_article(&b, &v);
    says("A title");
    says_not("<section");
    done();
}

static void failed(void **state UNUSED) {
    struct link_view v = view(LINK_FAILED);
    v.tasks.tasks[LINK_REDDIT].error = STR("HTTP 500 & more");
    link_article(&b, &v);
    says("Error checking Reddit: HTTP 500 &amp; more</p>");
    says("Error checking HN</p>");
    says("<form class=\"retry\" action=\"/api/link/7/retry\" method=\"post\">");
    says("aria-label=\"Try again: Hacker News\"");
    done();
    v.may_ask = false; /* a copy that cannot be written */
    link_article(&b, &v);
    says("Error checking Reddit");
    says_not("<form");
    done();
}

static void discussed(void **state UNUSED) {
    struct link_view v = view(LINK_COMPLETED);
    v.talks = talks;
    v.here = here;
    v.n_talks = ARRAY_LEN(talks);
    v.link.summary = STR("One.\nStill one.\n\n\nTwo.\n");
    link_article(&b, &v);
    says("<div class=\"text\"><p>One.\nStill one.</p><p>Two.</p></div>");
    says("<h2 id=\"reddit-h\">Reddit <span class=\"n\">1</span></h2>");
    says("data-say=\"Hacker News: 2 discussions\"");
    says("r/c_programming</span> <span class=\"points\">1,234 points</span>");
    says("3 hours ago</time>");
    says("<span class=\"n\">56</span> <span class=\"w\">comments</span>");
    says("<a class=\"title\" href=\"/item?id=8863\">On HN</a>"); /* the mirror has it */
    says("1 point<");
    says("<span class=\"w\">comment</span>");
    says("href=\"https://news.ycombinator.com/item?id=9999\" rel=\"nofollow");
    says(">A discussion</a>");
    done();
    link_beside(&b, &v, 8863);
    says("Discussed elsewhere");
    says("On Reddit");
    says("Hacker News</span>");
    says("<a href=\"/link/7\">more about this link</a>");
    says_not("On HN");
    done();
    v.n_talks = 0;
    v.link.summary = STR_NONE;
    link_beside(&b, &v, 8863);
    says_not("elsewhere");
    says("/link/7");
    done();
}

/* What was found before stays on the page while, or although, the next look fails. */
static void what_was_found_stays(void **state UNUSED) {
    static const enum link_status all[] = {LINK_PENDING, LINK_FAILED, LINK_NOT_FOUND};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct link_view v = view(all[i]);
        v.talks = talks;
        v.here = here;
        v.n_talks = ARRAY_LEN(talks);
        link_article(&b, &v);
        says("On Reddit");
        says("On HN");
        says_not("No discussions found");
        done();
    }
}

static void places(void **state UNUSED) {
    const struct lane_row lane = {.limits = {.per_window = 30, .window_ms = 60000}};
    struct lane_row sick = lane, paused = lane;
    struct link_view v = view(LINK_PENDING);
    sick.why = LANE_BREAKER;
    sick.wait_ms = 20000;
    paused.why = LANE_PAUSED;
    v.lanes[LINK_REDDIT] = v.lanes[LINK_HN] = v.lanes[LINK_SUMMARY] = &lane;
    v.places[LINK_REDDIT].ahead = 12;
    v.places[LINK_HN].held = true;
    link_article(&b, &v);
    says("12 before it, about 25 seconds");
    says("under way");
    says("next in line, a few seconds");
    done();
    v.places[LINK_REDDIT].ahead = LINK_AHEAD_MAX;
    v.places[LINK_HN] = (struct link_place){.not_before = NOW + 240000};
    v.lanes[LINK_SUMMARY] = &sick;
    link_article(&b, &v);
    says("10,000 or more before it, about 6 hours");
    says("it is tried again in about 4 minutes");
    says("the summariser does not answer; the next attempt is in about 20 seconds");
    done();
    v.lanes[LINK_REDDIT] = &paused;
    link_article(&b, &v);
    says("Reddit is not asked at the moment");
    done();
}

/* Nothing of a discussion is next before its article is known. */
static void places_of_a_discussion(void **state UNUSED) {
    const struct lane_row lane = {.limits = {.per_window = 30, .window_ms = 60000}};
    struct link_view v = view(LINK_PENDING);
    for (int t = 0; t < LINK_TASKS; t++)
        v.lanes[t] = &lane;
    v.tasks.tasks[LINK_REVERSE].status = LINK_PENDING;
    v.places[LINK_REVERSE].ahead = 12;
    link_article(&b, &v);
    says("12 before it");
    says("Checking Reddit…</span> <span class=\"place\">when the article is found<");
    says_not("next in line");
    done();
}

static void durations(void **state UNUSED) {
    static const struct {
        int64_t ms;
        const char *words;
    } cases[] = {
        {-5, "a few seconds"},         {0, "a few seconds"},        {7000, "a few seconds"},
        {7001, "about 10 seconds"},    {60000, "about 60 seconds"}, {95000, "about 2 minutes"},
        {3600000, "about 60 minutes"}, {7200000, "about 2 hours"},  {86400000 * 3, "about 3 days"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        link_duration(&b, cases[i].ms);
        assert_string_equal(b.p, cases[i].words);
        strbuf_clear(&b);
    }
}

static void names(void **state UNUSED) {
    struct link l = {.url = STR("HTTPS://Example.com/x")};
    assert_true(str_eqc(link_name(&l), "Example.com/x"));
    l.url = STR("http://e.example");
    assert_true(str_eqc(link_name(&l), "e.example"));
    l.title = STR("T");
    assert_true(str_eqc(link_name(&l), "T"));
}

static void in_a_list(void **state UNUSED) {
    char long_text[1000];
    struct link_entry l = {.link = view(LINK_NONE).link,
                           .discussions = {[LINK_SITE_REDDIT] = 2, [LINK_SITE_HN] = 1},
                           .comments = {[LINK_SITE_REDDIT] = 1000, [LINK_SITE_HN] = 234},
                           .pending = true};
    link_item(&b, &l, STR("example.com"), NOW);
    says("<a class=\"title\" href=\"/link/7\">A title</a>");
    says("<a class=\"site\" href=\"https://example.com/a?b=c&amp;d\"");
    says("2 on Reddit</span> <span>1 on HN");
    says("1,234</span>");
    says("checking…");
    says_not("snippet");
    done();
    /* A summary is cut between its words, and never within a letter. */
    for (size_t i = 0; i + 1 < sizeof long_text; i += 2)
        memcpy(long_text + i, "\xC3\xA4", 2);
    l.pending = false;
    l.link.summary = (struct str){long_text, 998};
    link_item(&b, &l, STR_NONE, NOW);
    says("ä …</p>");
    says_not("checking");
    says_not("class=\"site\"");
    done();
    memset(long_text, 'x', sizeof long_text);
    for (size_t i = 5; i < sizeof long_text; i += 6)
        long_text[i] = ' ';
    link_item(&b, &l, STR_NONE, NOW);
    says("xxxxx …</p>");
    done();
}

static void nothing_hostile_gets_through(void **state UNUSED) {
    for (size_t i = 0; i < ARRAY_LEN(hostile_words); i++) {
        struct str w = hostile_words[i];
        for (int s = LINK_NONE; s < LINK_STATUSES; s++) {
            struct link_view v = view((enum link_status)s);
            struct link_discussion bad[] = {talks[0], talks[1]};
            struct link_entry entry = {.pending = true};
            for (size_t k = 0; k < ARRAY_LEN(bad); k++)
                bad[k].title = bad[k].external_url = bad[k].subreddit = bad[k].external_id = w;
            for (int t = 0; t < LINK_TASKS; t++)
                v.tasks.tasks[t].error = w;
            v.link.title = v.link.url = v.link.summary = v.link.description = v.domain = w;
            v.talks = bad;
            v.here = i % 2 ? here : NULL;
            v.n_talks = ARRAY_LEN(bad);
            link_article(&b, &v);
            done();
            link_beside(&b, &v, 1);
            done();
            v.link.title = STR_NONE;
            v.link.summary = STR_NONE;
            link_article(&b, &v);
            done();
            entry.link = v.link;
            link_item(&b, &entry, w, NOW);
            done();
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pending),
        cmocka_unit_test(ended),
        cmocka_unit_test(failed),
        cmocka_unit_test(discussed),
        cmocka_unit_test(what_was_found_stays),
        cmocka_unit_test(places),
        cmocka_unit_test(places_of_a_discussion),
        cmocka_unit_test(durations),
        cmocka_unit_test(names),
        cmocka_unit_test(in_a_list),
        cmocka_unit_test(nothing_hostile_gets_through),
    };
    return cmocka_run_group_tests(tests, fresh, release);
}
