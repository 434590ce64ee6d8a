/* What is asked of Reddit, and how its answers are read: forms written by hand for every kind of
 * trouble, and answers that were recorded, where they are at hand. */
#include "enrich/reddit.h"
#include "recorded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define KEY "example.com/a?x=1&y=2"

static struct arena arena;
static struct err err;

static int set_up(void **state) {
    (void)state;
    arena_init(&arena);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    arena_release(&arena);
    return 0;
}

static struct discussion named(const char *url) {
    struct discussion d;
    assert_true(discussion_of_url(str_of(url), &d));
    return d;
}

/* ---- asks */

static bool has_header(const struct ask *q, const char *line) {
    for (size_t i = 0; i < q->n_headers; i++)
        if (str_eqc(q->headers[i], line))
            return true;
    return false;
}

static void bases_of_both_hosts(void **state) {
    (void)state;
    struct reddit_conf c;
    reddit_conf_init(&c, STR_NONE, STR_NONE, STR_NONE, STR("tain"));
    assert_true(str_eqc(c.site, REDDIT_SITE) && str_eqc(c.api, REDDIT_SITE));
    assert_false(reddit_has_oauth(&c));
    reddit_conf_init(&c, STR("https://www.reddit.com/"), STR("id"), STR("s"), STR("tain"));
    assert_true(str_eqc(c.site, REDDIT_SITE) && str_eqc(c.api, REDDIT_API));
    assert_true(reddit_has_oauth(&c));
    reddit_conf_init(&c, STR("http://127.0.0.1:99/x/"), STR("id"), STR("s"), STR("tain"));
    assert_true(str_eqc(c.site, "http://127.0.0.1:99/x") && str_eq(c.api, c.site));
    reddit_conf_init(&c, STR_NONE, STR("id"), STR(""), STR("tain"));
    assert_false(reddit_has_oauth(&c));
}

static void token_is_asked_for(void **state) {
    (void)state;
    struct reddit_conf c;
    struct ask q;
    reddit_conf_init(&c, STR_NONE, STR("Aladdin"), STR("open sesame"), STR("tain/1 (test)"));
    assert_int_equal(reddit_ask_token(&c, &arena, &q, &err), V_OK);
    assert_true(str_eqc(q.method, "POST") && str_eqc(q.base, REDDIT_SITE));
    assert_string_equal(q.path.p, "/api/v1/access_token");
    assert_string_equal(q.body.p, "grant_type=client_credentials");
    assert_true(has_header(&q, "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
    assert_true(has_header(&q, "Content-Type: application/x-www-form-urlencoded"));
    assert_true(has_header(&q, "User-Agent: tain/1 (test)"));
    reddit_conf_init(&c, STR_NONE, STR("a"), STR("b"), STR("tain"));
    assert_int_equal(reddit_ask_token(&c, &arena, &q, &err), V_OK);
    assert_true(has_header(&q, "Authorization: Basic YTpi"));
    reddit_conf_init(&c, STR_NONE, STR("a"), STR("bc"), STR("tain"));
    assert_int_equal(reddit_ask_token(&c, &arena, &q, &err), V_OK);
    assert_true(has_header(&q, "Authorization: Basic YTpiYw=="));
    reddit_conf_init(&c, STR_NONE, STR_NONE, STR_NONE, STR("tain"));
    assert_int_equal(reddit_ask_token(&c, &arena, &q, &err), V_INVALID);
    reddit_conf_init(&c, STR_NONE, STR("a"), STR("b"), STR("tain\r\nX: y"));
    assert_int_equal(reddit_ask_token(&c, &arena, &q, &err), V_INVALID);
}

static void url_is_asked_for(void **state) {
    (void)state;
    struct reddit_conf c;
    struct ask q;
    reddit_conf_init(&c, STR_NONE, STR("id"), STR("s"), STR("tain"));
    assert_int_equal(
        reddit_ask_url(&c, STR("tok.en"), STR("https://a.com/b c?d=1&e#f"), &arena, &q, &err),
        V_OK);
    assert_true(str_eqc(q.method, "GET") && str_eqc(q.base, REDDIT_API) && !q.body.p);
    assert_string_equal(
        q.path.p,
        "/api/info.json?url=https%3A%2F%2Fa.com%2Fb%20c%3Fd%3D1%26e%23f&limit=100&raw_json=1");
    assert_true(has_header(&q, "Authorization: Bearer tok.en"));
    assert_int_equal(reddit_ask_url(&c, STR_NONE, STR("https://a.com"), &arena, &q, &err), V_OK);
    assert_true(str_eqc(q.base, REDDIT_SITE));
    assert_int_equal(q.n_headers, 1);
    assert_int_equal(reddit_ask_url(&c, STR_NONE, STR(""), &arena, &q, &err), V_INVALID);
    assert_int_equal(reddit_ask_url(&c, STR("a\nb"), STR("https://a.com"), &arena, &q, &err),
                     V_INVALID);
    static char text[14000];
    memset(text, ' ', sizeof text);
    assert_int_equal(reddit_ask_url(&c, STR_NONE, (struct str){text, 4096}, &arena, &q, &err),
                     V_OK); /* as long as the URL of a link can be */
    assert_true(q.path.n > 3 * 4096);
    memset(text, 'a', sizeof text);
    assert_int_equal(
        reddit_ask_url(&c, STR_NONE, (struct str){text, sizeof text}, &arena, &q, &err), V_LIMIT);
    assert_int_equal(
        reddit_ask_url(&c, (struct str){text, sizeof text}, STR("https://a.com"), &arena, &q, &err),
        V_INVALID);
}

static void posts_and_shares_are_asked_for(void **state) {
    (void)state;
    struct reddit_conf c;
    struct ask q;
    struct discussion post = named("https://old.reddit.com/r/a/comments/5CZ1FZ/t/egpmh9o");
    struct discussion share = named("https://www.reddit.com/u/me/s/nGnQE1QkLC");
    struct discussion hn = named("https://news.ycombinator.com/item?id=1");
    reddit_conf_init(&c, STR_NONE, STR("id"), STR("s"), STR("tain"));
    assert_int_equal(reddit_ask_post(&c, STR("t"), &post, &arena, &q, &err), V_OK);
    assert_string_equal(q.path.p, "/comments/5cz1fz.json?limit=1&depth=1&raw_json=1");
    assert_true(str_eqc(q.base, REDDIT_API));
    assert_int_equal(reddit_ask_post(&c, STR("t"), &share, &arena, &q, &err), V_INVALID);
    assert_int_equal(reddit_ask_post(&c, STR("t"), &hn, &arena, &q, &err), V_INVALID);
    assert_int_equal(reddit_ask_share(&c, &share, &arena, &q, &err), V_OK);
    assert_string_equal(q.path.p, "/u/me/s/nGnQE1QkLC");
    assert_true(str_eqc(q.base, REDDIT_SITE));
    assert_int_equal(reddit_ask_share(&c, &post, &arena, &q, &err), V_INVALID);
}

/* ---- the token and the allowance */

static void tokens(void **state) {
    (void)state;
    static const struct {
        long status;
        const char *body;
        enum told told;
    } rows[] = {
        {200, "{\"access_token\":\"a.b-c\",\"token_type\":\"bearer\",\"expires_in\":86400}",
         TOLD_FOUND},
        {200, "{\"access_token\":\"a.b-c\",\"expires_in\":86400,\"scope\":\"*\"}", TOLD_FOUND},
        {200, "{\"error\":\"invalid_grant\"}", TOLD_REFUSED},
        {200, "{\"error\":\"unsupported_grant_type\"}", TOLD_REFUSED},
        {401, "{\"message\":\"Unauthorized\",\"error\":401}", TOLD_REFUSED},
        {403, "<html>", TOLD_REFUSED},
        {400, "{\"message\":\"Bad Request\",\"error\":400}", TOLD_REFUSED},
        {429, "{\"message\":\"Too Many Requests\",\"error\":429}", TOLD_WAIT},
        {500, "", TOLD_TRANSIENT},
        {404, "", TOLD_TRANSIENT},
        {200, "{\"access_token\":\"\",\"token_type\":\"bearer\",\"expires_in\":1}", TOLD_TRANSIENT},
        {200, "{\"access_token\":\"a\\r\\nX: y\",\"expires_in\":1}", TOLD_TRANSIENT},
        {200, "{\"access_token\":\"a b\",\"expires_in\":1}", TOLD_TRANSIENT},
        {200, "{\"access_token\":\"a\",\"token_type\":\"mac\",\"expires_in\":1}", TOLD_TRANSIENT},
        {200, "{\"access_token\":\"a\",\"expires_in\":0}", TOLD_TRANSIENT},
        {200, "{\"access_token\":\"a\",\"expires_in\":-5}", TOLD_TRANSIENT},
        {200, "{\"access_token\":7,\"expires_in\":1}", TOLD_TRANSIENT},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct heard h = heard(rows[i].status, rows[i].body);
        struct reddit_token t;
        reddit_read_token(&h, &arena, &t);
        if (t.why.told != rows[i].told)
            fail_msg("%s: %s", rows[i].body, told_name(t.why.told));
        assert_true(!t.token.p == (t.why.told != TOLD_FOUND));
        if (t.token.p) {
            assert_true(str_eqc(t.token, "a.b-c"));
            assert_int_equal(t.expires_in_ms, 86400000);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(garbage); i++) {
        struct heard h = heard(200, garbage[i]);
        struct reddit_token t;
        reddit_read_token(&h, &arena, &t);
        assert_int_equal(t.why.told, TOLD_TRANSIENT);
    }
    struct heard h = heard(200, "{\"access_token\":\"a\",\"expires_in\":1e15}");
    struct reddit_token t;
    reddit_read_token(&h, &arena, &t);
    assert_int_equal(t.expires_in_ms, INT64_C(30) * 86400000);
}

static void allowance(void **state) {
    (void)state;
    static const struct {
        const char *headers;
        int64_t used, remaining, reset_ms, wait_ms;
    } rows[] = {
        {"x-ratelimit-remaining: 595.0\r\nx-ratelimit-reset: 359\r\nx-ratelimit-used: 5\r\n", 5,
         595, 359000, 0},
        {"X-Ratelimit-Remaining: 0.0\nX-Ratelimit-Reset: 12\nX-Ratelimit-Used: 100\n", 100, 0,
         12000, 12000},
        {"X-Ratelimit-Remaining: 0.9\nX-Ratelimit-Reset: 12\n", -1, 0, 12000, 12000},
        {"X-Ratelimit-Remaining: 0\n", -1, 0, -1, 0},
        {"X-Ratelimit-Remaining: 0\nX-Ratelimit-Reset: 99999999999\n", -1, 0, 3600000, 3600000},
        {"X-Ratelimit-Remaining: x\nX-Ratelimit-Reset: -1\nX-Ratelimit-Used: \n", -1, -1, -1, 0},
        {"", -1, -1, -1, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct heard h = {.headers = str_of(rows[i].headers)};
        struct reddit_rate r = reddit_read_rate(&h);
        if (r.used != rows[i].used || r.remaining != rows[i].remaining ||
            r.reset_ms != rows[i].reset_ms || reddit_rate_wait_ms(&r) != rows[i].wait_ms)
            fail_msg("%s: %lld %lld %lld", rows[i].headers, (long long)r.used,
                     (long long)r.remaining, (long long)r.reset_ms);
    }
}

/* ---- submissions of a URL */

#define LISTING(children) \
    "{\"kind\":\"Listing\",\"data\":{\"after\":null,\"children\":[" children "],\"dist\":1}}"
#define CHILD(members) "{\"kind\":\"t3\",\"data\":{" members "}}"
#define OURS "\"url\":\"http://www.example.com/a/?y=2&x=1&utm_source=b\""

static struct found_list read_list(const char *body) {
    struct heard h = heard(200, body);
    struct found_list f;
    reddit_read_url(&h, STR(KEY), &arena, &f);
    return f;
}

static void submissions(void **state) {
    (void)state;
    struct found_list f = read_list(LISTING(CHILD(
        "\"id\":\"5CZ1fz\",\"title\":\"A \\u00e9 & b\",\"permalink\":"
        "\"/r/C_Programming/comments/5cz1fz/a_b/\"," OURS
        ",\"score\":-3,\"num_comments\":42,\"subreddit\":\"C_"
        "Programming\","
        "\"created_utc\":1496410109.0,\"is_self\":false,\"over_18\":"
        "true") "," CHILD("\"id\":\"other\",\"url\":\"https://"
                          "example.com/b\"") "," CHILD("\"id\":"
                                                       "\"nothing\"") ","
                                                                      "{\"kind\":\"t5\",\"data\":{"
                                                                      "\"id\":\"x\"}}," CHILD(
                                                                          "\"id\":\"5cz1g0\","
                                                                          "\"title\":null,"
                                                                          "\"permalink\":7," OURS
                                                                          ",\"score\":\"many\","
                                                                          "\"subreddit\":null,"
                                                                          "\"created_utc\":"
                                                                          "1496410109.75")));
    assert_int_equal(f.why.told, TOLD_FOUND);
    assert_int_equal(f.n, 2);
    assert_int_equal(f.dropped, 2);
    assert_string_equal(f.at[0].id.p, "5cz1fz");
    assert_string_equal(f.at[0].title.p, "A \u00e9 & b");
    assert_string_equal(f.at[0].permalink.p,
                        "https://www.reddit.com/r/C_Programming/comments/5cz1fz/a_b/");
    assert_string_equal(f.at[0].subreddit.p, "C_Programming");
    assert_int_equal(f.at[0].score, -3);
    assert_int_equal(f.at[0].num_comments, 42);
    assert_int_equal(f.at[0].created_at_ms, 1496410109000);
    assert_true(f.at[0].over_18 && !f.at[0].is_self);
    assert_string_equal(f.at[1].permalink.p, "https://www.reddit.com/comments/5cz1g0/");
    assert_string_equal(f.at[1].title.p, "");
    assert_null(f.at[1].subreddit.p);
    assert_int_equal(f.at[1].score, 0);
    assert_int_equal(f.at[1].created_at_ms, 1496410109000);
}

static void permalinks_lead_to_their_post(void **state) {
    (void)state;
    static const char *const links[] = {
        "/r/a/comments/other/t/",
        "https://evil.example/r/a/comments/abc/t/",
        "//evil.example/",
        "javascript:alert(1)",
        "/r/a/comments/abc/a b/",
        "",
        "/r/a",
        "http://x",
    };
    for (size_t i = 0; i < ARRAY_LEN(links); i++) {
        char body[512];
        snprintf(body, sizeof body, LISTING(CHILD("\"id\":\"abc\",\"permalink\":\"%s\"," OURS)),
                 links[i]);
        struct found_list f = read_list(body);
        assert_int_equal(f.n, 1);
        assert_string_equal(f.at[0].permalink.p, "https://www.reddit.com/comments/abc/");
    }
}

static void no_submissions(void **state) {
    (void)state;
    assert_int_equal(read_list(LISTING("")).why.told, TOLD_NONE);
    struct found_list f = read_list(LISTING(CHILD("\"id\":\"abc\",\"url\":\"https://b.com\"")));
    assert_int_equal(f.why.told, TOLD_NONE);
    assert_int_equal(f.dropped, 1);
    assert_null(f.why.err_class);
}

static void more_than_we_take(void **state) {
    (void)state;
    struct strbuf b;
    strbuf_init(&b, 1 << 20);
    strbuf_adds(&b, "{\"kind\":\"Listing\",\"data\":{\"children\":[");
    for (int i = 0; i < 150; i++)
        strbuf_addf(&b, "%s" CHILD("\"id\":\"a%d\"," OURS), i ? "," : "", i);
    strbuf_adds(&b, "]}}");
    struct found_list f = read_list(b.p);
    assert_int_equal(f.n, ASK_DISCUSSIONS_MAX);
    assert_int_equal(f.dropped, 50);
    strbuf_release(&b);
}

static void trouble_is_never_none(void **state) {
    (void)state;
    struct discussion post = named("https://redd.it/abc");
    struct found_list f;
    struct found_article r;
    struct reddit_share s;
    for (size_t i = 0; i < ARRAY_LEN(garbage); i++) {
        struct heard h = heard(200, garbage[i]);
        reddit_read_url(&h, STR(KEY), &arena, &f);
        if (f.why.told != TOLD_TRANSIENT || !f.why.err_class)
            fail_msg("%s: %s", garbage[i], told_name(f.why.told));
        reddit_read_post(&h, &post, &arena, &r);
        assert_true(r.why.told == TOLD_TRANSIENT && !r.has_origin);
        reddit_read_share(&h, &arena, &s);
        assert_int_equal(s.why.told, TOLD_TRANSIENT);
    }
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        struct heard h = heard_cls(failures[i]);
        h.body = STR(LISTING(""));
        reddit_read_url(&h, STR(KEY), &arena, &f);
        assert_int_equal(f.why.told, TOLD_TRANSIENT);
        reddit_read_post(&h, &post, &arena, &r);
        assert_int_equal(r.why.told, TOLD_TRANSIENT);
        reddit_read_share(&h, &arena, &s);
        assert_int_equal(s.why.told, TOLD_TRANSIENT);
    }
}

/* Statuses, by what was asked for: a submission's, a post's, a share's. */
static void refusals(void **state) {
    (void)state;
    static const char page[] = "<html>whoa there</html>";
    static const struct {
        long status;
        const char *body;
        enum told url, post, share;
    } rows[] = {
        {400, "{\"message\":\"Bad Request\",\"error\":400}", TOLD_ROW, TOLD_ROW, TOLD_ROW},
        {401, "{\"message\":\"Unauthorized\",\"error\":401}", TOLD_REFUSED, TOLD_REFUSED,
         TOLD_TRANSIENT},
        {403, page, TOLD_REFUSED, TOLD_REFUSED, TOLD_TRANSIENT},
        {403, "{\"message\":\"Forbidden\",\"error\":403}", TOLD_REFUSED, TOLD_TRANSIENT,
         TOLD_TRANSIENT},
        {403, "{\"reason\":\"private\",\"message\":\"Forbidden\",\"error\":403}", TOLD_REFUSED,
         TOLD_ROW, TOLD_TRANSIENT},
        {404, "{\"message\":\"Not Found\",\"error\":404}", TOLD_TRANSIENT, TOLD_NONE, TOLD_NONE},
        {404, "{\"reason\":\"banned\",\"message\":\"Not Found\",\"error\":404}", TOLD_TRANSIENT,
         TOLD_NONE, TOLD_NONE},
        {404, page, TOLD_TRANSIENT, TOLD_TRANSIENT, TOLD_NONE},
        {410, page, TOLD_TRANSIENT, TOLD_TRANSIENT, TOLD_NONE},
        {414, page, TOLD_ROW, TOLD_ROW, TOLD_ROW},
        {429, page, TOLD_WAIT, TOLD_WAIT, TOLD_WAIT},
        {500, page, TOLD_TRANSIENT, TOLD_TRANSIENT, TOLD_TRANSIENT},
        {503, page, TOLD_TRANSIENT, TOLD_TRANSIENT, TOLD_TRANSIENT},
        {302, "", TOLD_TRANSIENT, TOLD_TRANSIENT, TOLD_TRANSIENT},
    };
    struct discussion d = named("https://redd.it/abc");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct heard h = heard(rows[i].status, rows[i].body);
        struct found_list f;
        struct found_article r;
        struct reddit_share s;
        reddit_read_url(&h, STR(KEY), &arena, &f);
        reddit_read_post(&h, &d, &arena, &r);
        reddit_read_share(&h, &arena, &s);
        if (f.why.told != rows[i].url || r.why.told != rows[i].post || s.why.told != rows[i].share)
            fail_msg("%ld %s: %s, %s, %s", rows[i].status, rows[i].body, told_name(f.why.told),
                     told_name(r.why.told), told_name(s.why.told));
        assert_true(reddit_token_is_old(&h) == (rows[i].status == 401));
    }
}

static void waits(void **state) {
    (void)state;
    struct heard h = heard(429, "");
    struct found_list f;
    reddit_read_url(&h, STR(KEY), &arena, &f);
    assert_true(f.why.told == TOLD_WAIT && f.why.wait_ms == -1);
    h.headers = STR("X-Ratelimit-Remaining: 0.0\r\nX-Ratelimit-Reset: 42\r\n");
    reddit_read_url(&h, STR(KEY), &arena, &f);
    assert_true(f.why.told == TOLD_WAIT && f.why.wait_ms == 42000);
    h.retry_after_ms = 7000;
    reddit_read_url(&h, STR(KEY), &arena, &f);
    assert_true(f.why.told == TOLD_WAIT && f.why.wait_ms == 7000);
}

/* ---- the article behind a post */

static struct found_article read_article(const char *members) {
    struct discussion d = named("https://www.reddit.com/r/a/comments/abc/t/def");
    struct strbuf b;
    struct found_article r;
    strbuf_init(&b, 4096);
    strbuf_addf(&b, "[" LISTING(CHILD("%s")) "," LISTING("") "]", members);
    struct heard h = heard(200, NULL);
    h.body = arena_str(&arena, strbuf_str(&b));
    strbuf_release(&b);
    reddit_read_post(&h, &d, &arena, &r);
    return r;
}

static void articles(void **state) {
    (void)state;
    struct found_article r = read_article(
        "\"id\":\"abc\",\"title\":\"T\",\"url\":\"https://www.example.com/a?b&utm_x=1\","
        "\"permalink\":\"/r/a/comments/abc/t/\",\"score\":5,\"subreddit\":\"a\"");
    assert_true(r.why.told == TOLD_FOUND && r.has_origin && !r.is_discussion);
    assert_string_equal(r.url.p, "https://www.example.com/a?b&utm_x=1");
    assert_string_equal(r.url_key.p, "example.com/a?b");
    assert_string_equal(r.origin.permalink.p, "https://www.reddit.com/r/a/comments/abc/t/");
    assert_int_equal(r.origin.score, 5);
    r = read_article("\"id\":\"abc\",\"url\":\"https://i.redd.it/x.png\"");
    assert_int_equal(r.why.told, TOLD_FOUND);
    /* another discussion: of HN, of Reddit by a path alone */
    r = read_article("\"id\":\"abc\",\"url\":\"https://news.ycombinator.com/item?id=8863\"");
    assert_true(r.why.told == TOLD_FOUND && r.is_discussion);
    r = read_article("\"id\":\"abc\",\"url\":\"/r/b/comments/xyz/t/\",\"is_self\":false");
    assert_true(r.why.told == TOLD_FOUND && r.is_discussion);
    assert_string_equal(r.url.p, "https://www.reddit.com/r/b/comments/xyz/t/");
}

static void no_articles(void **state) {
    (void)state;
    static const char *const posts[] = {
        "\"id\":\"abc\",\"is_self\":true,\"url\":\"https://www.reddit.com/r/a/comments/abc/t/\"",
        "\"id\":\"abc\",\"is_self\":true,\"url\":\"https://example.com/\"",
        "\"id\":\"abc\",\"url\":\"https://www.reddit.com/gallery/abc\",\"is_gallery\":true",
        "\"id\":\"abc\",\"url\":\"https://www.reddit.com/r/a/comments/ABC/\"",
        "\"id\":\"abc\",\"url\":\"ftp://example.com/\"",
        "\"id\":\"abc\",\"url\":\"nothing\"",
    };
    for (size_t i = 0; i < ARRAY_LEN(posts); i++) {
        struct found_article r = read_article(posts[i]);
        if (r.why.told != TOLD_NONE || !r.has_origin || r.url.p || r.url_key.p || r.is_discussion)
            fail_msg("%s: %s", posts[i], told_name(r.why.told));
    }
}

static void other_posts_are_not_believed(void **state) {
    (void)state;
    static const char *const posts[] = {
        "\"id\":\"abd\",\"url\":\"https://example.com/\"",
        "\"url\":\"https://example.com/\"",
        "\"id\":\"abc\"",
        "\"id\":\"abc\",\"url\":null",
        "\"id\":\"abc\",\"url\":\"\"",
    };
    for (size_t i = 0; i < ARRAY_LEN(posts); i++) {
        struct found_article r = read_article(posts[i]);
        if (r.why.told != TOLD_TRANSIENT)
            fail_msg("%s: %s", posts[i], told_name(r.why.told));
    }
}

/* ---- share links */

static void shares(void **state) {
    (void)state;
    static const struct {
        const char *headers, *id;
    } rows[] = {
        {"Location: https://www.reddit.com/r/a/comments/2gmzqe/t/cklhv0f/?context=3&share_id=v\r\n",
         "2gmzqe"},
        {"location: /r/a/comments/2gmzqe/t/\r\n", "2gmzqe"},
        {"Location: https://www.reddit.com/user/x/comments/2gmzqe\r\n", "2gmzqe"},
        {"Location: https://www.reddit.com/login/?dest=%2Fr%2Fa%2Fcomments%2F2gmzqe\r\n", NULL},
        {"Location: https://www.reddit.com/r/a/\r\n", NULL},
        {"Location: https://www.reddit.com/r/a/s/nGnQE1QkLC\r\n", NULL},
        {"Location: https://reddit.com.example.com/comments/2gmzqe\r\n", NULL},
        {"Location: //example.com/r/a/comments/2gmzqe\r\n", NULL},
        {"Location: https://news.ycombinator.com/item?id=1\r\n", NULL},
        {"Location:\r\n", NULL},
        {"", NULL},
    };
    static const long statuses[] = {301, 302, 303, 307, 308};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (size_t k = 0; k < ARRAY_LEN(statuses); k++) {
            struct heard h = heard(statuses[k], "<a href=\"x\">Moved</a>");
            struct reddit_share s;
            h.headers = str_of(rows[i].headers);
            h.cls = k % 2 ? NET_REDIRECT : h.cls; /* the client may call it so */
            reddit_read_share(&h, &arena, &s);
            if (s.why.told != (rows[i].id ? TOLD_NEXT : TOLD_TRANSIENT))
                fail_msg("%s: %s", rows[i].headers, told_name(s.why.told));
            if (rows[i].id)
                assert_string_equal(s.leads_to.id, rows[i].id);
        }
}

/* ---- recorded */

static void recorded_listings(void **state) {
    (void)state;
    json_t *found = recorded("reddit/praw_info_by_url_youtube.json");
    json_t *none = recorded("reddit/praw_info_empty_listing.json");
    struct found_list f;
    if (!found || !none)
        return;
    struct heard h = heard_recorded(json_array_get(found, 0), &arena);
    reddit_read_url(&h, STR("youtube.com"), &arena, &f);
    print_message("%zu of youtube.com, %zu dropped\n", f.n, f.dropped);
    assert_true(f.why.told == TOLD_FOUND && f.n > 5);
    assert_string_equal(f.at[0].id.p, "6eudcy");
    assert_string_equal(f.at[0].permalink.p,
                        "https://www.reddit.com/r/locksport/comments/6eudcy/leons_lockpad/");
    reddit_read_url(&h, STR("example.com"), &arena, &f);
    assert_int_equal(f.why.told, TOLD_NONE);
    h = heard_recorded(json_array_get(none, 0), &arena);
    reddit_read_url(&h, STR("youtube.com"), &arena, &f);
    assert_int_equal(f.why.told, TOLD_NONE);
    json_decref(found);
    json_decref(none);
}

static void recorded_post(void **state) {
    (void)state;
    json_t *post = recorded("reddit/goreddit_post_and_comments.json");
    struct found_article r;
    struct discussion d;
    if (!post)
        return;
    char *text = json_dumps(post, 0);
    struct heard h = heard(200, text);
    assert_true(discussion_of_id(DISCUSSION_REDDIT, STR("testpost"), &d));
    reddit_read_post(&h, &d, &arena, &r);
    assert_true(r.why.told == TOLD_NONE && r.has_origin && r.origin.is_self);
    assert_string_equal(r.origin.title.p, "Test");
    free(text);
    json_decref(post);
}

/* None of them is a success, and none says that something is not there but a 404. */
static void recorded_refusals(void **state) {
    (void)state;
    json_t *all = recorded("reddit/praw_non200_responses.json"), *entry;
    struct discussion d = named("https://redd.it/abc");
    size_t i, redirects = 0;
    if (!all)
        return;
    json_array_foreach(all, i, entry) {
        struct heard h = heard_recorded(entry, &arena);
        struct found_list f;
        struct found_article r;
        struct reddit_share s;
        reddit_read_url(&h, STR(KEY), &arena, &f);
        reddit_read_post(&h, &d, &arena, &r);
        reddit_read_share(&h, &arena, &s);
        assert_true(f.why.told >= TOLD_ROW && f.why.error.n > 0);
        assert_true(r.why.told >= TOLD_ROW || h.status == 404);
        redirects += s.why.told == TOLD_NEXT;
    }
    assert_true(redirects >= 1);
    struct heard h = heard_recorded(json_array_get(all, 0), &arena);
    struct reddit_share s;
    reddit_read_share(&h, &arena, &s);
    assert_int_equal(s.leads_to.kind, DISCUSSION_COMMENT);
    assert_string_equal(s.leads_to.id, "2gmzqe");
    assert_string_equal(s.leads_to.comment, "cklhv0f");
    json_decref(all);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(bases_of_both_hosts),
        TEST(token_is_asked_for),
        TEST(url_is_asked_for),
        TEST(posts_and_shares_are_asked_for),
        TEST(tokens),
        TEST(allowance),
        TEST(submissions),
        TEST(permalinks_lead_to_their_post),
        TEST(no_submissions),
        TEST(more_than_we_take),
        TEST(trouble_is_never_none),
        TEST(refusals),
        TEST(waits),
        TEST(articles),
        TEST(no_articles),
        TEST(other_posts_are_not_believed),
        TEST(shares),
        TEST(recorded_listings),
        TEST(recorded_post),
        TEST(recorded_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
