/* Which URLs name a discussion: tables of forms that do and that only look like it, and what holds
 * for every URL, made up or recorded. */
#include "base/arena.h"
#include "base/rng.h"
#include "hn/discussion_url.h"
#include "hn/url_key.h"
#include "shared_data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define MADE_UP 20000
#define R(id) "https://www.reddit.com/comments/" id "/"
#define HN(id) "https://news.ycombinator.com/item?id=" id

struct url_case {
    const char *url;
    enum discussion_kind kind;
    const char *id, *comment, *canonical;
};

static const struct url_case reddit[] = {
    {"https://www.reddit.com/r/programming/comments/5cz1fz/some_title/", DISCUSSION_POST, "5cz1fz",
     "", R("5cz1fz")},
    {"https://reddit.com/r/programming/comments/5cz1fz", DISCUSSION_POST, "5cz1fz", "",
     R("5cz1fz")},
    {"reddit.com/r/a/comments/5cz1fz/", DISCUSSION_POST, "5cz1fz", "", R("5cz1fz")},
    {"http://old.reddit.com/r/a/comments/5cz1fz/t/", DISCUSSION_POST, "5cz1fz", "", R("5cz1fz")},
    {"https://np.reddit.com/r/a/comments/5cz1fz/t/", DISCUSSION_POST, "5cz1fz", "", R("5cz1fz")},
    {"https://m.reddit.com/r/a/comments/5cz1fz/t/", DISCUSSION_POST, "5cz1fz", "", R("5cz1fz")},
    {"https://new.reddit.com/r/a/comments/5cz1fz/t/", DISCUSSION_POST, "5cz1fz", "", R("5cz1fz")},
    {"https://i.reddit.com/r/a/comments/5cz1fz/t/", DISCUSSION_POST, "5cz1fz", "", R("5cz1fz")},
    {"https://WWW.Reddit.COM./r/a/comments/5CZ1FZ/t/", DISCUSSION_POST, "5cz1fz", "", R("5cz1fz")},
    {"https://www.reddit.com:443/comments/5cz1fz", DISCUSSION_POST, "5cz1fz", "", R("5cz1fz")},
    {"https://www.reddit.com/user/me/comments/5cz1fz/t", DISCUSSION_POST, "5cz1fz", "",
     R("5cz1fz")},
    {"https://www.reddit.com/u/me/comments/5cz1fz/t", DISCUSSION_POST, "5cz1fz", "", R("5cz1fz")},
    {"https://www.reddit.com/gallery/5cz1fz", DISCUSSION_POST, "5cz1fz", "", R("5cz1fz")},
    {"https://redd.it/5cz1fz", DISCUSSION_POST, "5cz1fz", "", R("5cz1fz")},
    {"https://www.redd.it/5cz1fz/", DISCUSSION_POST, "5cz1fz", "", R("5cz1fz")},
    {"https://www.reddit.com/r/a/comments/5cz1fz/t/?utm_source=share&sort=new#x", DISCUSSION_POST,
     "5cz1fz", "", R("5cz1fz")},
    {"https://www.reddit.com/r/a/comments/5cz1fz/caf%C3%A9_\xF0\x9F\x98\x80/", DISCUSSION_POST,
     "5cz1fz", "", R("5cz1fz")},
    {"https://www.reddit.com/r/a/../b/comments/5cz1fz/", DISCUSSION_POST, "5cz1fz", "",
     R("5cz1fz")},
    {"https://user:pw@www.reddit.com/comments/5cz1fz", DISCUSSION_POST, "5cz1fz", "", R("5cz1fz")},
    {"https://www.google.com/amp/s/www.reddit.com/r/a/comments/5cz1fz/t/", DISCUSSION_POST,
     "5cz1fz", "", R("5cz1fz")},
    {"https://www.reddit.com/r/a/comments/5cz1fz/some_title/egpmh9o/?context=3", DISCUSSION_COMMENT,
     "5cz1fz", "egpmh9o", R("5cz1fz")},
    {"https://www.reddit.com/r/a/comments/5cz1fz/comment/EGPMH9O/", DISCUSSION_COMMENT, "5cz1fz",
     "egpmh9o", R("5cz1fz")},
    {"https://old.reddit.com/r/a/comments/5cz1fz//egpmh9o", DISCUSSION_COMMENT, "5cz1fz", "egpmh9o",
     R("5cz1fz")},
    {"https://www.reddit.com/comments/5cz1fz/_/egpmh9o", DISCUSSION_COMMENT, "5cz1fz", "egpmh9o",
     R("5cz1fz")},
    {"https://www.reddit.com/r/a/s/nGnQE1QkLC", DISCUSSION_SHARE, "", "",
     "https://www.reddit.com/r/a/s/nGnQE1QkLC"},
    {"http://old.reddit.com/r/a/s/nGnQE1QkLC/?x=1#y", DISCUSSION_SHARE, "", "",
     "https://www.reddit.com/r/a/s/nGnQE1QkLC"},
    {"https://www.reddit.com/u/Some-One_1/s/nGnQE1QkLC", DISCUSSION_SHARE, "", "",
     "https://www.reddit.com/u/Some-One_1/s/nGnQE1QkLC"},
    {"https://www.reddit.com/user/me/s/x", DISCUSSION_SHARE, "", "",
     "https://www.reddit.com/user/me/s/x"},
};

static const struct url_case hn[] = {
    {"https://news.ycombinator.com/item?id=8863", DISCUSSION_POST, "8863", "", HN("8863")},
    {"http://news.ycombinator.com/item?id=8863", DISCUSSION_POST, "8863", "", HN("8863")},
    {"news.ycombinator.com/item?id=8863", DISCUSSION_POST, "8863", "", HN("8863")},
    {"https://News.YCombinator.com:443/item?id=8863#9224", DISCUSSION_POST, "8863", "", HN("8863")},
    {"https://news.ycombinator.com/item?p=2&id=8863&utm_source=x", DISCUSSION_POST, "8863", "",
     HN("8863")},
    {"https://news.ycombinator.com/item?id=8863&id=8863", DISCUSSION_POST, "8863", "", HN("8863")},
    {"https://news.ycombinator.com/item?id=8863#/x", DISCUSSION_POST, "8863", "", HN("8863")},
    {" https://news.ycombinator.com/item?id=1 ", DISCUSSION_POST, "1", "", HN("1")},
};

static const char *const none[] = {
    "",
    " ",
    "reddit",
    "https://www.reddit.com/",
    "https://www.reddit.com/r/programming/",
    "https://www.reddit.com/r/programming/comments",
    "https://www.reddit.com/r/programming/comments/",
    "https://www.reddit.com/comments",
    "https://www.reddit.com/comments/",
    "https://www.reddit.com/user/me/comments/",
    "https://www.reddit.com/user/me",
    "https://www.reddit.com/r/a/wiki/comments/x",
    "https://www.reddit.com/x/a/comments/5cz1fz/",
    "https://www.reddit.com/r/a/comments/5cz1fz/t/egpmh9o/more/and/more",
    "https://www.reddit.com/r/a/comments/5cz%31fz%2Ft/",
    "https://www.reddit.com/r/a/comments/5cz1-fz/",
    "https://www.reddit.com/comments/12345678901234", /* more than 64 bits */
    "https://www.reddit.com/r/a/comments/5cz1fz/t/egpm%00h9o",
    "https://www.reddit.com/r/a/s/",
    "https://www.reddit.com/r/a/s",
    "https://www.reddit.com/r//s/nGnQE1QkLC",
    "https://www.reddit.com/r/a/s/nGnQE1QkLC/x",
    "https://www.reddit.com/r/a/s/nGn%51E1QkLC%2f",
    "https://www.reddit.com/r/a%0d%0ab/s/nGnQE1QkLC",
    "https://www.reddit.com/s/nGnQE1QkLC",
    "https://www.reddit.com/r/a/S/nGnQE1QkLC",
    "https://www.reddit.com/r/a/s/nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
    "https://www.reddit.com/r/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/s/x",
    "https://www.reddit.com:8080/r/a/comments/5cz1fz/",
    "https://www.reddit.com/gallery/",
    "https://redd.it/",
    "https://redd.it/a/b",
    "https://i.redd.it/5cz1fz",
    "https://i.redd.it/5cz1fz.png",
    "https://v.redd.it/5cz1fz",
    "https://preview.redd.it/5cz1fz",
    /* hosts that look alike */
    "https://reddit.com.example.com/r/a/comments/5cz1fz/",
    "https://www.reddit.com.evil/r/a/comments/5cz1fz/",
    "https://notreddit.com/r/a/comments/5cz1fz/",
    "https://xreddit.com/comments/5cz1fz",
    "https://www-reddit.com/comments/5cz1fz",
    "https://reddit.com@example.com/r/a/comments/5cz1fz/",
    "https://example.com/https://www.reddit.com/comments/5cz1fz",
    "https://example.com/?u=https://www.reddit.com/comments/5cz1fz",
    "https://example.com#/reddit.com/comments/5cz1fz",
    "https://reddit.co/comments/5cz1fz",
    "https://redd.it.example.com/5cz1fz",
    "https://xredd.it/5cz1fz",
    "https://r\u0435ddit.com/comments/5cz1fz", /* a Cyrillic letter */
    "https://reddit.com\\@example.com/comments/5cz1fz",
    "https://reddit.com%2eexample.com/comments/5cz1fz",
    "https://example.com\\.reddit.com/comments/5cz1fz",
    "https://reddit.com:443@example.com/comments/5cz1fz",
    "https://user.reddit.com/comments/5cz1fz",
    "https://oauth.reddit.com/comments/5cz1fz",
    "https://google.example.com/amp/s/www.reddit.com/comments/5cz1fz",
    "https://google.com.example.com/amp/s/www.reddit.com/comments/5cz1fz",
    "ftp://www.reddit.com/comments/5cz1fz",
    "javascript:reddit.com/comments/5cz1fz",
    "me@reddit.com/comments/5cz1fz",
    "https://www.reddit.com/comments/5cz1fz\r\nHost: x",
    "https://www.reddit.com/comments/5cz\x01",
    "https://news.ycombinator.com/",
    "https://news.ycombinator.com/item",
    "https://news.ycombinator.com/item?id=",
    "https://news.ycombinator.com/item?id=0",
    "https://news.ycombinator.com/item?id=007",
    "https://news.ycombinator.com/item?id=-1",
    "https://news.ycombinator.com/item?id=+1",
    "https://news.ycombinator.com/item?id=1e3",
    "https://news.ycombinator.com/item?id=88 63",
    "https://news.ycombinator.com/item?id=8863&id=8864",
    "https://news.ycombinator.com/item?id=1234567890123",
    "https://news.ycombinator.com/item?iid=8863",
    "https://news.ycombinator.com/item?ID=8863",
    "https://news.ycombinator.com/items?id=8863",
    "https://news.ycombinator.com/item/x?id=8863",
    "https://news.ycombinator.com/item#?id=8863",
    "https://news.ycombinator.com/user?id=8863",
    "https://news.ycombinator.com/reply?id=8863",
    "https://news.ycombinator.com:8443/item?id=8863",
    "https://ycombinator.com/item?id=8863",
    "https://www.ycombinator.com/item?id=8863",
    "https://new.ycombinator.com/item?id=8863",
    "https://news.ycombinator.com.example.com/item?id=8863",
    "https://news.ycombinator.com@example.com/item?id=8863",
    "https://xnews.ycombinator.com/item?id=8863",
    "https://news-ycombinator.com/item?id=8863",
    "https://hn.algolia.com/story/8863",
    "https://hn.algolia.com/?q=item?id=8863",
    "https://hacker-news.firebaseio.com/v0/item/8863.json",
};

static void check(enum discussion_site site, const struct url_case *c, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct discussion d;
        if (!discussion_of_url(str_of(c[i].url), &d))
            fail_msg("%s: none", c[i].url);
        if (d.site != site || d.kind != c[i].kind || strcmp(d.id, c[i].id) != 0 ||
            strcmp(d.comment, c[i].comment) != 0 || strcmp(d.url, c[i].canonical) != 0)
            fail_msg("%s: kind %d, id %s, comment %s, %s", c[i].url, (int)d.kind, d.id, d.comment,
                     d.url);
        if ((d.kind == DISCUSSION_SHARE) != (d.share[0] == '/'))
            fail_msg("%s: share %s", c[i].url, d.share);
    }
}

static void forms_of_reddit(void **state) {
    (void)state;
    check(DISCUSSION_REDDIT, reddit, ARRAY_LEN(reddit));
}

static void forms_of_hn(void **state) {
    (void)state;
    check(DISCUSSION_HN, hn, ARRAY_LEN(hn));
}

static void others_are_none(void **state) {
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        struct discussion d;
        if (discussion_of_url(str_of(none[i]), &d))
            fail_msg("%s: %s", none[i], d.url);
    }
    struct discussion d;
    assert_false(discussion_of_url(STR_NONE, &d));
    assert_false(discussion_of_key(STR_NONE, &d));
    assert_false(discussion_of_url(STR("https://redd.it/5c\0z"), &d));
}

static void by_id(void **state) {
    (void)state;
    struct discussion d;
    assert_true(discussion_of_id(DISCUSSION_REDDIT, STR("5CZ1fz"), &d));
    assert_string_equal(d.id, "5cz1fz");
    assert_string_equal(d.url, R("5cz1fz"));
    assert_true(discussion_of_id(DISCUSSION_HN, STR("8863"), &d));
    assert_string_equal(d.url, HN("8863"));
    assert_false(discussion_of_id(DISCUSSION_HN, STR("5cz1fz"), &d));
    assert_false(discussion_of_id(DISCUSSION_HN, STR(""), &d));
    assert_false(discussion_of_id(DISCUSSION_REDDIT, STR_NONE, &d));
    assert_false(discussion_of_id(DISCUSSION_REDDIT, STR("a/b"), &d));
    assert_string_equal(discussion_platform(DISCUSSION_REDDIT), "reddit");
    assert_string_equal(discussion_platform(DISCUSSION_HN), "hackernews");
}

/* One key, one answer; and the URL in the answer is the discussion in the answer. True when the URL
 * names one. */
static bool holds(struct arena *a, struct str url) {
    struct discussion d, of_key, again;
    struct str key, domain;
    memset(&d, 0x55, sizeof d);
    memset(&of_key, 0x55, sizeof of_key);
    arena_reset(a);
    bool named = discussion_of_url(url, &d);
    bool keyed = url_key(a, url, &key, &domain);
    if (named != (keyed && discussion_of_key(key, &of_key)) || memcmp(&d, &of_key, sizeof d) != 0)
        fail_msg("%.*s: not as its key %s", STR_FMT(url), keyed ? key.p : "(none)");
    if (!named)
        return false;
    if (!str_eqc(domain, "reddit.com") && !str_eqc(domain, "news.ycombinator.com"))
        fail_msg("%.*s: a discussion of %s", STR_FMT(url), domain.p);
    if (!discussion_of_url(str_of(d.url), &again) || strcmp(again.url, d.url) != 0 ||
        strcmp(again.id, d.id) != 0 || strcmp(again.share, d.share) != 0)
        fail_msg("%.*s: %s is another discussion", STR_FMT(url), d.url);
    return true;
}

static const char *const hosts[] = {
    "https://www.reddit.com",
    "old.reddit.com",
    "http://redd.it",
    "https://news.ycombinator.com",
    "https://google.com/amp/s/np.reddit.com",
    "https://x@reddit.com:443",
    "reddit.com.example.com",
};
static const char *const pieces[] = {
    "/r/a",
    "/u/me",
    "/user/x",
    "/comments",
    "/comments/5cz1fz",
    "/abc",
    "/comment",
    "/title_x",
    "/s/nGn",
    "/s",
    "/gallery",
    "/item?id=8863",
    "/item",
    "?id=",
    "8863",
    "&id=1",
    "&p=2",
    "#",
    "#!",
    "@",
    ".",
    "/",
    "//",
    ":1",
    "%2f",
    "%41",
    " ",
    "\\",
    "?",
    "/..",
    "\u00e9",
};

static void holds_for_made_up_urls(void **state) {
    (void)state;
    struct arena a;
    struct strbuf b;
    struct rng r = {.state = 9};
    size_t named = 0;
    arena_init(&a);
    strbuf_init(&b, 4096);
    for (int i = 0; i < MADE_UP; i++) {
        strbuf_clear(&b);
        strbuf_adds(&b, hosts[rng_below(&r, ARRAY_LEN(hosts))]);
        for (uint64_t n = rng_below(&r, 5); n; n--)
            strbuf_adds(&b, pieces[rng_below(&r, ARRAY_LEN(pieces))]);
        named += holds(&a, strbuf_str(&b));
    }
    assert_true(named > MADE_UP / 100); /* or the test tests nothing */
    strbuf_release(&b);
    arena_release(&a);
}

static void holds_for_changed_urls(void **state) {
    (void)state;
    struct arena a;
    char text[256];
    struct rng r = {.state = 3};
    arena_init(&a);
    for (int i = 0; i < MADE_UP; i++) {
        const struct url_case *c =
            i % 2 ? &reddit[rng_below(&r, ARRAY_LEN(reddit))] : &hn[rng_below(&r, ARRAY_LEN(hn))];
        size_t n = strlen(c->url);
        memcpy(text, c->url, n);
        text[rng_below(&r, n)] =
            (char)(rng_below(&r, 4) ? 0x20 + rng_below(&r, 0x60) : rng_next(&r));
        holds(&a, (struct str){text, n});
    }
    arena_release(&a);
}

static void holds_for_recorded_urls(void **state) {
    (void)state;
    FILE *f = shared_data_open("gzip -dc", "urls.txt.gz");
    struct arena a;
    char *line = NULL;
    size_t cap = 0, count = 0, named = 0;
    if (!f)
        return;
    arena_init(&a);
    for (ssize_t n; (n = getline(&line, &cap, f)) > 0; count++)
        named += holds(&a, (struct str){line, (size_t)n - (line[n - 1] == '\n')});
    print_message("%zu recorded URLs, %zu discussions\n", count, named);
    assert_true(named > 0);
    free(line);
    pclose(f);
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_of_reddit),         cmocka_unit_test(forms_of_hn),
        cmocka_unit_test(others_are_none),         cmocka_unit_test(by_id),
        cmocka_unit_test(holds_for_made_up_urls),  cmocka_unit_test(holds_for_changed_urls),
        cmocka_unit_test(holds_for_recorded_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
