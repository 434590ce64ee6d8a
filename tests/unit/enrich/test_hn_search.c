/* What is asked of the HN Search API, and how its answers are read. */
#include "enrich/hn_search.h"
#include "hn/url_key.h"
#include "recorded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define KEY "example.com/a"

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

/* ---- asks */

static void base_has_the_path_of_the_api(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {NULL, "https://hn.algolia.com/api/v1"},
        {"", "https://hn.algolia.com/api/v1"},
        {"https://hn.algolia.com/", "https://hn.algolia.com/api/v1"},
        {"http://127.0.0.1:99", "http://127.0.0.1:99/api/v1"},
        {"http://127.0.0.1:99/api/v1/", "http://127.0.0.1:99/api/v1"},
        {"http://127.0.0.1:99/proxy", "http://127.0.0.1:99/proxy"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct hn_search_conf c;
        hn_search_conf_init(&c, str_of(rows[i][0]), STR("tain"), &arena);
        if (!str_eqc(c.url, rows[i][1]))
            fail_msg("%s: %.*s", rows[i][0], STR_FMT(c.url));
    }
}

static void url_is_asked_for(void **state) {
    (void)state;
    struct hn_search_conf c;
    struct ask q;
    hn_search_conf_init(&c, STR("http://x/api/v1"), STR("tain/1"), &arena);
    assert_int_equal(hn_ask_url(&c, STR("example.com/a?b=c&d"), &arena, &q, &err), V_OK);
    assert_true(str_eqc(q.method, "GET") && str_eqc(q.base, "http://x/api/v1") && !q.body.p);
    assert_string_equal(q.path.p, "/search?query=https%3A%2F%2Fexample.com%2Fa%3Fb%3Dc%26d"
                                  "&restrictSearchableAttributes=url&tags=story&hitsPerPage=100");
    assert_int_equal(q.n_headers, 1);
    assert_string_equal(q.headers[0].p, "User-Agent: tain/1");
    assert_int_equal(hn_ask_url(&c, STR(""), &arena, &q, &err), V_INVALID);
    static char text[4096];
    memset(text, '/', sizeof text);
    assert_int_equal(hn_ask_url(&c, (struct str){text, sizeof text}, &arena, &q, &err), V_OK);
    assert_true(q.path.n < 2000);
    hn_search_conf_init(&c, STR_NONE, STR("a\nb"), &arena);
    assert_int_equal(hn_ask_url(&c, STR("a.com"), &arena, &q, &err), V_INVALID);
}

static void items_are_asked_for(void **state) {
    (void)state;
    static const char *const bad[] = {"", "0", "x", "1/2", "-1", "12345678901234567890", "1?a"};
    struct hn_search_conf c;
    struct ask q;
    hn_search_conf_init(&c, STR_NONE, STR_NONE, &arena);
    assert_int_equal(hn_ask_item(&c, STR("8863"), &arena, &q, &err), V_OK);
    assert_string_equal(q.path.p, "/items/8863");
    assert_int_equal(q.n_headers, 0);
    assert_int_equal(hn_ask_story(&c, STR("8863"), &arena, &q, &err), V_OK);
    assert_string_equal(q.path.p, "/search?hitsPerPage=100&tags=(story,poll,job),story_8863");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(hn_ask_item(&c, str_of(bad[i]), &arena, &q, &err), V_INVALID);
        assert_int_equal(hn_ask_story(&c, str_of(bad[i]), &arena, &q, &err), V_INVALID);
    }
}

/* ---- stories with a URL */

static struct found_list read_hits(const char *body) {
    struct heard h = heard(200, body);
    struct found_list f;
    hn_read_url(&h, STR(KEY), &arena, &f);
    return f;
}

static void only_our_key_counts(void **state) {
    (void)state;
    struct found_list f = read_hits(
        "{\"hits\":["
        "{\"objectID\":\"8863\",\"title\":\"A \\u201ctitle\\u201d\",\"url\":"
        "\"http://www.example.com/a/?utm_source=hn#x\",\"points\":111,\"num_comments\":71,"
        "\"created_at_i\":1175714200,\"author\":\"dhouston\"},"
        "{\"objectID\":\"8864\",\"url\":\"https://example.com/ab\"},"
        "{\"objectID\":\"8865\",\"url\":\"https://example.com.evil.com/a\"},"
        "{\"objectID\":\"8866\",\"url\":null},"
        "{\"objectID\":\"x\",\"url\":\"https://example.com/a\"},"
        "{\"objectID\":8867,\"title\":null,\"url\":\"https://example.com/a\",\"points\":null}"
        "],\"nbHits\":6,\"exhaustiveNbHits\":true}");
    assert_int_equal(f.why.told, TOLD_FOUND);
    assert_int_equal(f.n, 2);
    assert_int_equal(f.dropped, 4);
    assert_string_equal(f.at[0].id.p, "8863");
    assert_string_equal(f.at[0].permalink.p, "https://news.ycombinator.com/item?id=8863");
    assert_string_equal(f.at[0].title.p, "A \u201ctitle\u201d");
    assert_int_equal(f.at[0].score, 111);
    assert_int_equal(f.at[0].num_comments, 71);
    assert_int_equal(f.at[0].created_at_ms, 1175714200000);
    assert_null(f.at[0].subreddit.p);
    assert_string_equal(f.at[1].id.p, "8867");
    assert_string_equal(f.at[1].title.p, "");
}

static void no_stories(void **state) {
    (void)state;
    static const char *const none[] = {
        "{\"hits\":[],\"nbHits\":0,\"nbPages\":0,\"exhaustiveNbHits\":true}",
        "{\"hits\":[]}",
        "{\"hits\":[{\"objectID\":\"1\",\"url\":\"https://b.com\"}],\"nbHits\":1}",
        /* counts of very many hits are estimates */
        "{\"hits\":[{\"objectID\":\"1\"}],\"nbHits\":500,\"nbPages\":5,\"exhaustiveNbHits\":false}",
    };
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        if (read_hits(none[i]).why.told != TOLD_NONE)
            fail_msg("%s", none[i]);
}

static void degraded_is_not_none(void **state) {
    (void)state;
    static const char *const unsure[] = {
        "{\"hits\":[],\"nbHits\":0,\"exhaustiveNbHits\":false}",
        "{\"hits\":[],\"nbHits\":2}",
        "{\"hits\":[],\"timeoutHits\":true}",
        "{\"hits\":[{\"objectID\":\"1\",\"url\":\"https://b.com\"}],\"timeoutCounts\":true}",
    };
    for (size_t i = 0; i < ARRAY_LEN(unsure); i++) {
        struct found_list f = read_hits(unsure[i]);
        if (f.why.told != TOLD_TRANSIENT || strcmp(f.why.err_class, "unsure") != 0)
            fail_msg("%s: %s", unsure[i], told_name(f.why.told));
    }
    assert_int_equal(read_hits("{\"hits\":[{\"objectID\":\"1\",\"url\":\"https://example.com/a\"}],"
                               "\"exhaustiveNbHits\":false}")
                         .why.told,
                     TOLD_FOUND);
}

static void trouble_is_never_none(void **state) {
    (void)state;
    struct found_list f;
    struct found_article r;
    for (size_t i = 0; i < ARRAY_LEN(garbage); i++) {
        struct heard h = heard(200, garbage[i]);
        hn_read_url(&h, STR(KEY), &arena, &f);
        if (f.why.told != TOLD_TRANSIENT || !f.why.err_class)
            fail_msg("%s: %s", garbage[i], told_name(f.why.told));
        hn_read_item(&h, STR("8863"), &arena, &r);
        assert_true(r.why.told == TOLD_TRANSIENT && !r.has_origin);
        hn_read_story(&h, STR("8863"), &arena, &r);
        assert_true(r.why.told == TOLD_TRANSIENT && !r.has_origin);
    }
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        struct heard h = heard_cls(failures[i]);
        h.body = STR("{\"hits\":[],\"nbHits\":0}");
        hn_read_url(&h, STR(KEY), &arena, &f);
        assert_int_equal(f.why.told, TOLD_TRANSIENT);
        hn_read_story(&h, STR("8863"), &arena, &r);
        assert_int_equal(r.why.told, TOLD_TRANSIENT);
        hn_read_item(&h, STR("8863"), &arena, &r);
        assert_int_equal(r.why.told, failures[i] == NET_TOO_LARGE ? TOLD_NEXT : TOLD_TRANSIENT);
    }
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        long status;
        const char *body;
        enum told url, item;
    } rows[] = {
        {400, "{\"message\":\"bad\",\"status\":400}", TOLD_ROW, TOLD_ROW},
        {401, "", TOLD_REFUSED, TOLD_REFUSED},
        {403, "{\"message\":\"blocked\"}", TOLD_REFUSED, TOLD_REFUSED},
        {404, "{\"status\":404,\"error\":\"Not Found\"}", TOLD_TRANSIENT, TOLD_NONE},
        {404, "{\"message\":\"ObjectID does not exist\",\"status\":404}", TOLD_TRANSIENT,
         TOLD_NONE},
        {404, "<html>", TOLD_TRANSIENT, TOLD_TRANSIENT},
        {404, "", TOLD_TRANSIENT, TOLD_TRANSIENT},
        {404, "{}", TOLD_TRANSIENT, TOLD_TRANSIENT},
        {429, "", TOLD_WAIT, TOLD_WAIT},
        {500, "{\"error\":\"Internal Server Error\",\"status\":500}", TOLD_TRANSIENT,
         TOLD_TRANSIENT},
        {502, "<html>", TOLD_TRANSIENT, TOLD_TRANSIENT},
        {301, "", TOLD_TRANSIENT, TOLD_TRANSIENT},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct heard h = heard(rows[i].status, rows[i].body);
        struct found_list f;
        struct found_article r, s;
        hn_read_url(&h, STR(KEY), &arena, &f);
        hn_read_item(&h, STR("8863"), &arena, &r);
        hn_read_story(&h, STR("8863"), &arena, &s);
        if (f.why.told != rows[i].url || r.why.told != rows[i].item || s.why.told != rows[i].url)
            fail_msg("%ld %s: %s, %s, %s", rows[i].status, rows[i].body, told_name(f.why.told),
                     told_name(r.why.told), told_name(s.why.told));
    }
    struct heard h = heard(429, "");
    struct found_list f;
    h.retry_after_ms = 3000;
    hn_read_url(&h, STR(KEY), &arena, &f);
    assert_int_equal(f.why.wait_ms, 3000);
}

/* ---- the article behind an item */

static struct found_article read_item(const char *body) {
    struct heard h = heard(200, body);
    struct found_article r;
    hn_read_item(&h, STR("8863"), &arena, &r);
    return r;
}

static void stories(void **state) {
    (void)state;
    struct found_article r = read_item(
        "{\"id\":8863,\"created_at_i\":1175714200,\"type\":\"story\",\"title\":\"My YC app\","
        "\"url\":\"http://www.getdropbox.com/u/2/screencast.html\",\"points\":104,"
        "\"parent_id\":null,\"story_id\":null,\"children\":[{\"id\":8952,\"type\":\"comment\","
        "\"url\":\"https://wrong.example\"}]}");
    assert_true(r.why.told == TOLD_FOUND && r.has_origin && !r.is_discussion);
    assert_string_equal(r.url.p, "http://www.getdropbox.com/u/2/screencast.html");
    assert_string_equal(r.url_key.p, "getdropbox.com/u/2/screencast.html");
    assert_string_equal(r.origin.title.p, "My YC app");
    assert_string_equal(r.origin.permalink.p, "https://news.ycombinator.com/item?id=8863");
    assert_int_equal(r.origin.score, 104);
    assert_true(r.origin.num_comments == I64_NONE); /* and not 0: an item does not say */
    r = read_item("{\"id\":\"8863\",\"type\":\"job\",\"url\":\"https://a.com/jobs\"}");
    assert_int_equal(r.why.told, TOLD_FOUND);
    r = read_item("{\"id\":8863,\"type\":\"story\",\"url\":\"https://redd.it/abc\"}");
    assert_true(r.why.told == TOLD_FOUND && r.is_discussion);
}

static void stories_without_an_article(void **state) {
    (void)state;
    static const char *const bodies[] = {
        "{\"id\":8863,\"type\":\"story\",\"title\":\"Ask HN\",\"url\":null,\"text\":\"x\"}",
        "{\"id\":8863,\"type\":\"story\",\"title\":\"Ask HN\",\"url\":\"\"}",
        "{\"id\":8863,\"type\":\"poll\",\"title\":\"Poll\"}",
        "{\"id\":8863,\"type\":\"story\",\"url\":\"https://news.ycombinator.com/item?id=8863\"}",
        "{\"id\":8863,\"type\":\"story\",\"url\":\"mailto:me@example.com\"}",
    };
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        struct found_article r = read_item(bodies[i]);
        if (r.why.told != TOLD_NONE || !r.has_origin || r.url.p || r.is_discussion)
            fail_msg("%s: %s", bodies[i], told_name(r.why.told));
    }
}

static void comments_lead_up(void **state) {
    (void)state;
    static const struct {
        const char *body, *next; /* NULL: garbage */
    } rows[] = {
        {"{\"id\":8863,\"type\":\"comment\",\"parent_id\":8800,\"story_id\":8700}", "8700"},
        {"{\"id\":8863,\"type\":\"comment\",\"parent_id\":8800,\"story_id\":null}", "8800"},
        {"{\"id\":8863,\"type\":\"comment\",\"parent_id\":\"980\"}", "980"},
        {"{\"id\":8863,\"type\":\"pollopt\",\"parent_id\":8800}", "8800"},
        {"{\"id\":8863,\"type\":\"comment\",\"parent_id\":8863}", NULL},
        {"{\"id\":8863,\"type\":\"comment\",\"parent_id\":10000}", NULL},
        {"{\"id\":8863,\"type\":\"comment\",\"parent_id\":9000}", NULL},
        {"{\"id\":8863,\"type\":\"comment\",\"parent_id\":-1}", NULL},
        {"{\"id\":8863,\"type\":\"comment\",\"parent_id\":null}", NULL},
        {"{\"id\":8863,\"type\":\"comment\"}", NULL},
        {"{\"id\":8863,\"type\":\"user\"}", NULL},
        {"{\"id\":8863}", NULL},
        {"{\"id\":8864,\"type\":\"story\",\"url\":\"https://a.com\"}", NULL},
        {"{\"type\":\"story\",\"url\":\"https://a.com\"}", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct found_article r = read_item(rows[i].body);
        if (r.why.told != (rows[i].next ? TOLD_NEXT : TOLD_TRANSIENT) || r.next_as_story ||
            strcmp(r.next_id, rows[i].next ? rows[i].next : "") != 0)
            fail_msg("%s: %s, %s", rows[i].body, told_name(r.why.told), r.next_id);
    }
}

/* Threads can be longer and deeper than we read: then the story alone is asked for. */
static void large_threads(void **state) {
    (void)state;
    struct strbuf b;
    struct found_article r;
    struct heard h = heard_cls(NET_TOO_LARGE);
    hn_read_item(&h, STR("8863"), &arena, &r);
    assert_true(r.why.told == TOLD_NEXT && r.next_as_story);
    assert_string_equal(r.next_id, "8863");
    strbuf_init(&b, 1 << 20);
    strbuf_adds(&b, "{\"id\":8863,\"type\":\"story\",\"text\":\"}}\\\"]]\",\"children\":[");
    for (int i = 0; i < 40; i++)
        strbuf_adds(&b, "{\"children\":[");
    for (int i = 0; i < 40; i++)
        strbuf_adds(&b, "]}");
    strbuf_adds(&b, "]}");
    r = read_item(b.p);
    assert_true(r.why.told == TOLD_NEXT && r.next_as_story);
    strbuf_release(&b);
    h = heard(200, "{\"hits\":[{\"objectID\":\"9000\",\"url\":\"https://b.com\"},"
                   "{\"objectID\":\"8863\",\"url\":\"https://example.com/a\",\"points\":3}]}");
    hn_read_story(&h, STR("8863"), &arena, &r);
    assert_true(r.why.told == TOLD_FOUND && r.has_origin && r.origin.score == 3);
    assert_string_equal(r.url_key.p, KEY);
    hn_read_story(&h, STR("8864"), &arena, &r);
    assert_int_equal(r.why.told, TOLD_TRANSIENT);
    h = heard(200, "{\"hits\":[{\"objectID\":\"8863\",\"title\":\"Ask HN\"}]}");
    hn_read_story(&h, STR("8863"), &arena, &r);
    assert_true(r.why.told == TOLD_NONE && r.has_origin);
}

/* ---- recorded */

static struct heard heard_file(const char *name) {
    json_t *all = recorded(name);
    struct heard h = heard(200, NULL);
    if (!all)
        return h;
    char *text = json_dumps(all, 0);
    h.body = arena_str(&arena, str_of(text));
    free(text);
    json_decref(all);
    return h;
}

static void recorded_search(void **state) {
    (void)state;
    static const char url[] = "https://medium.com/@shazow/ssh-how-does-it-even-9e43586e4ffc";
    struct heard h = heard_file("algolia/search_by_url_shazow.json");
    struct found_list f;
    struct str key, domain;
    if (!h.body.p)
        return;
    assert_true(url_key(&arena, STR(url), &key, &domain));
    hn_read_url(&h, key, &arena, &f);
    assert_int_equal(f.why.told, TOLD_FOUND);
    assert_true(f.n >= 3);
    assert_string_equal(f.at[0].id.p, "8828543");
    assert_int_equal(f.at[0].score, 270);
    hn_read_url(&h, STR("medium.com/@shazow"), &arena, &f);
    assert_int_equal(f.why.told, TOLD_NONE);
}

static void recorded_items(void **state) {
    (void)state;
    struct heard h = heard_file("algolia/items_tree_shazow.json");
    struct heard ask = heard_file("algolia/santiagobasulto_item.json");
    struct found_article r;
    if (!h.body.p || !ask.body.p)
        return;
    hn_read_item(&h, STR("8828543"), &arena, &r);
    assert_true(r.why.told == TOLD_FOUND && r.origin.score == 270);
    hn_read_item(&h, STR("8828544"), &arena, &r);
    assert_int_equal(r.why.told, TOLD_TRANSIENT);
    hn_read_item(&ask, STR("18562744"), &arena, &r);
    assert_true(r.why.told == TOLD_NONE && r.has_origin);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(base_has_the_path_of_the_api),
        TEST(url_is_asked_for),
        TEST(items_are_asked_for),
        TEST(only_our_key_counts),
        TEST(no_stories),
        TEST(degraded_is_not_none),
        TEST(trouble_is_never_none),
        TEST(refusals),
        TEST(stories),
        TEST(stories_without_an_article),
        TEST(comments_lead_up),
        TEST(large_threads),
        TEST(recorded_search),
        TEST(recorded_items),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
