/* Links as pages see them: one per key, its tasks, who discusses it. */
#include "fixture_links.h"

#include "hn/url_key.h"
#include "store/feed.h"

#include <pthread.h>
#include <string.h>

static void links_one_link_per_key(void **state) {
    struct fix *f = *state;
    int64_t id = add_link(f, "https://www.example.com/a/?utm_source=x", "ann", false);
    assert_int_equal(add_link(f, "http://example.com/a", "bob", false), id);
    assert_q("https://www.example.com/a/?utm_source=x|example.com/a|agent|ann", f,
             "SELECT url, url_key, source, submitted_by FROM links");
    assert_string_equal(states_of(f, id), "-|pending|pending|pending");
    assert_int_equal(qi(f, "SELECT key_version FROM links"), URL_KEY_VERSION);
    assert_int_equal(qi(f, "SELECT rescan_at - created_at FROM link_processing"), 3600000);
    assert_int_equal(qi(f, "SELECT created_at FROM link_processing"), T0);
}

static void links_what_is_no_url(void **state) {
    struct fix *f = *state;
    struct err e;
    struct link_added added;
    char longer[LINK_URL_MAX + 100];
    struct link_add add = {.url = STR("ftp://example.com/"), .source = STR("agent")};
    assert_int_equal(store_link_add(f->s, &add, &added, &e), V_INVALID);
    add.url = STR_NONE;
    assert_int_equal(store_link_add(f->s, &add, &added, &e), V_INVALID);
    memset(longer, 'a', sizeof longer);
    memcpy(longer, "https://example.com/", 20);
    add.url = (struct str){longer, sizeof longer};
    assert_int_equal(store_link_add(f->s, &add, &added, &e), V_LIMIT);
    add.url = STR("https://example.com/\xff\xfe?q=\xc3");
    add.title = STR("\xc3\x28 title");
    assert_ok(store_link_add(f->s, &add, &added, &e));
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM links"), 1);
}

static void links_which_keys_are_discussions(void **state) {
    static const struct {
        const char *url;
        enum link_site site;
    } cases[] = {
        {"https://old.reddit.com/r/c/comments/abc123/a_title/", LINK_SITE_REDDIT},
        {"https://www.reddit.com/r/c/comments/abc123/a_title/def456/?context=3", LINK_SITE_REDDIT},
        {"https://redd.it/abc123", LINK_SITE_REDDIT},
        {"https://np.reddit.com/comments/abc123", LINK_SITE_REDDIT},
        {"https://www.reddit.com/r/c/s/AbCdEf", LINK_SITE_REDDIT},
        {"https://news.ycombinator.com/item?id=8863", LINK_SITE_HN},
        {"https://news.ycombinator.com/item?id=8863#9224", LINK_SITE_HN},
        {"https://news.ycombinator.com/item?id=8863&p=2", LINK_SITE_HN},
        {"https://news.ycombinator.com/item?id=", LINK_SITE_NONE},
        {"https://news.ycombinator.com/item?id=88x", LINK_SITE_NONE},
        {"https://news.ycombinator.com/newest", LINK_SITE_NONE},
        {"https://www.reddit.com/r/c/", LINK_SITE_NONE},
        {"https://www.reddit.com/r/c/s/", LINK_SITE_NONE},
        {"https://example.com/comments/abc123", LINK_SITE_NONE},
    };
    struct fix *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str key, domain;
        assert_true(url_key(&f->arena, str_of(cases[i].url), &key, &domain));
        if (link_site_of_key(key) != cases[i].site)
            fail_msg("%s: %.*s", cases[i].url, STR_FMT(key));
    }
}

static void links_a_discussion_is_looked_up_backwards(void **state) {
    struct fix *f = *state;
    struct err e;
    struct link_added added;
    const struct link_add add = {.url = STR("https://news.ycombinator.com/item?id=8863"),
                                 .source = STR("discussion-submission"),
                                 .submitted_by = STR("ann")};
    assert_ok(store_link_add(f->s, &add, &added, &e));
    assert_true(added.created && added.site == LINK_SITE_HN);
    assert_string_equal(states_of(f, added.id), "pending|pending|pending|pending");
    assert_q("hackernews|ann|-", f,
             "SELECT reverse_lookup_site, submitter, waiting_since FROM link_processing");
}

/* Of a link that is there nothing changes, but that someone asks for it or waits. */
static void links_added_again(void **state) {
    struct fix *f = *state;
    int64_t id = add_page(f, "a", NULL, false);
    assert_q("-|-", f, "SELECT submitter, waiting_since FROM link_processing");
    fix_advance(f, 1000);
    assert_int_equal(add_page(f, "a", "ann", true), id);
    assert_q("gathered|auto", f, "SELECT source, submitted_by FROM links");
    assert_q("ann|1700000001000", f, "SELECT submitter, waiting_since FROM link_processing");
    fix_advance(f, 1000); /* who waits does not wait anew, nor does anybody else's */
    add_page(f, "a", "bob", true);
    assert_q("ann|1700000001000", f, "SELECT submitter, waiting_since FROM link_processing");
    fix_advance(f, LINK_WAITS_MS);
    add_page(f, "a", "bob", true);
    assert_int_equal(qi(f, "SELECT waiting_since FROM link_processing"), T0 + 2000 + LINK_WAITS_MS);
    x(f, "UPDATE link_processing SET reddit_status = 'completed', hn_status = 'completed',"
         " summary_status = 'failed', waiting_since = NULL");
    add_page(f, "a", "bob", true);
    assert_q("-", f, "SELECT waiting_since FROM link_processing"); /* for what? */
}

static void links_a_parent_becomes_a_link(void **state) {
    struct fix *f = *state;
    x(f, "INSERT INTO links (url, url_key, source, submitted_by, created_at)"
         " VALUES ('https://example.com/p', 'example.com/p', 'auto-parent', 'auto', 5)");
    int64_t id = add_page(f, "p", "ann", false);
    assert_q("agent|ann", f, "SELECT source, submitted_by FROM links");
    assert_string_equal(states_of(f, id), "-|pending|pending|pending");
    x(f, "INSERT INTO links (url, url_key, source, created_at)"
         " VALUES ('https://example.com/r', 'example.com/r', 'discussion-ref', 5)");
    int64_t ref = add_page(f, "r", "ann", false);
    assert_string_equal(source_of(f, ref), "discussion-ref|-");
    assert_string_equal(states_of(f, ref), "");
}

/* --- many at once --- */

#define ADDERS 8
struct adder {
    struct store *s;
    struct link_added added;
    enum verdict v;
    struct err e;
};

static void *add_same(void *ctx) {
    struct adder *a = ctx;
    const struct link_add add = {.url = STR("https://example.com/same"), .source = STR("agent")};
    for (int i = 0; i < 20; i++) {
        a->v = store_link_add(a->s, &add, &a->added, &a->e);
        if (a->v != V_RETRY)
            break;
        if (store_recover(a->s, &a->e) != V_OK)
            continue;
    }
    return NULL;
}

static void links_two_adders_one_link(void **state) {
    struct fix *f = *state;
    struct adder adders[ADDERS];
    pthread_t threads[ADDERS];
    int created = 0;
    for (int i = 0; i < ADDERS; i++)
        adders[i] = (struct adder){.s = fix_open(f)};
    for (int i = 0; i < ADDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_same, &adders[i]), 0);
    for (int i = 0; i < ADDERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < ADDERS; i++) {
        struct err e = adders[i].e;
        assert_ok(adders[i].v);
        assert_int_equal(adders[i].added.id, adders[0].added.id);
        created += adders[i].added.created;
    }
    assert_int_equal(created, 1);
    assert_q("1|1", f,
             "SELECT (SELECT COUNT(*) FROM links), (SELECT COUNT(*) FROM link_processing)");
}

/* --- reading --- */

static void links_processing(void **state) {
    struct fix *f = *state;
    struct err e;
    struct link_processing p;
    int64_t id = add_page(f, "a", "ann", true);
    struct link_job held = take_link(f, f->s, LINK_LANE_REDDIT);
    assert_int_equal(held.id, id);
    assert_ok(store_link_processing(f->s, &f->arena, id, &p, &e));
    assert_int_equal(p.tasks[LINK_REDDIT].status, LINK_PENDING); /* though it is held */
    assert_int_equal(p.tasks[LINK_REVERSE].status, LINK_NONE);
    assert_int_equal(p.tasks[LINK_REDDIT].at, 0);
    fix_advance(f, 500);
    assert_int_equal(save_link(f->s, &held, LINK_NOT_FOUND), V_OK);
    struct link_job hn = take_link(f, f->s, LINK_LANE_HN);
    const struct link_result failed = {.id = id,
                                       .token = hn.token,
                                       .task = LINK_HN,
                                       .status = LINK_FAILED,
                                       .error = STR("no \xc3\x28 answer")};
    assert_ok(store_link_save(f->s, &failed, &e));
    assert_ok(store_link_processing(f->s, &f->arena, id, &p, &e));
    assert_int_equal(p.tasks[LINK_REDDIT].status, LINK_NOT_FOUND);
    assert_int_equal(p.tasks[LINK_REDDIT].at, T0 + 500);
    assert_int_equal(p.tasks[LINK_HN].status, LINK_FAILED);
    assert_int_equal(p.tasks[LINK_HN].at, 0);
    assert_string_equal(p.tasks[LINK_HN].error.p, "no ?( answer");
    assert_int_equal(p.link_id, id);
    assert_int_equal(store_link_processing(f->s, &f->arena, 999, &p, &e), V_NOT_FOUND);
}

static struct link_entry entry(struct fix *f, const char *words, int64_t before, size_t max,
                               size_t *ret_n, size_t i) {
    struct err e;
    const struct link_entry *rows;
    const struct link_query query = {str_of(words), before, max};
    assert_ok(store_link_list(f->s, &f->arena, &query, &rows, ret_n, &e));
    return i < *ret_n ? rows[i] : (struct link_entry){0};
}

/* Whatever sites say of their threads, they can be added up. */
static void links_absurd_numbers(void **state) {
    struct fix *f = *state;
    struct err e;
    struct link_discussion d[3];
    size_t n;
    int64_t id = add_page(f, "a", "ann", false);
    struct link_job job = take_link(f, f->s, LINK_LANE_REDDIT);
    for (size_t i = 0; i < 3; i++)
        d[i] = a_thread(LINK_SITE_REDDIT, (const char *[]){"x", "y", "z"}[i]);
    d[0].score = d[0].num_comments = d[1].score = d[1].num_comments = INT64_MAX;
    d[2].score = -INT64_MAX;
    d[2].num_comments = DB_NULL;
    const struct link_result r = {.id = id,
                                  .token = job.token,
                                  .task = job.task,
                                  .status = LINK_COMPLETED,
                                  .discussions = d,
                                  .n_discussions = 3};
    assert_ok(store_link_save(f->s, &r, &e));
    struct link_entry first = entry(f, NULL, 0, 10, &n, 0);
    assert_true(n == 1 && first.discussions[LINK_SITE_REDDIT] == 3);
    assert_true(first.comments[LINK_SITE_REDDIT] > INT64_C(1000000000));
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM external_discussions WHERE num_comments IS NULL"),
                     1);
}

static void links_lists(void **state) {
    struct fix *f = *state;
    size_t n;
    int64_t a = add_page(f, "Alpha-One", "ann", false);
    int64_t b = add_page(f, "beta", NULL, false), c = add_page(f, "gamma", NULL, false);
    x(f, "UPDATE links SET title = 'The Beta of %%ages' WHERE id = %lld", (long long)b);
    x(f, "UPDATE links SET source = 'discussion-ref' WHERE id = %lld", (long long)c);
    struct link_job job = take_link(f, f->s, LINK_LANE_REDDIT);
    assert_int_equal(job.id, a);
    assert_int_equal(save_found(f->s, &job, "x1"), V_OK);
    assert_int_equal(entry(f, NULL, 0, 10, &n, 0).link.id, b);
    assert_int_equal(n, 2);
    struct link_entry first = entry(f, NULL, 0, 10, &n, 1);
    assert_int_equal(first.link.id, a);
    assert_int_equal(first.discussions[LINK_SITE_REDDIT], 1);
    assert_int_equal(first.comments[LINK_SITE_REDDIT], 3);
    assert_int_equal(first.discussions[LINK_SITE_HN], 0);
    assert_true(first.pending);
    assert_int_equal(entry(f, NULL, b, 10, &n, 0).link.id, a);
    assert_int_equal(entry(f, NULL, 0, 1, &n, 0).link.id, b);
    assert_int_equal(n, 1);
    assert_int_equal(entry(f, "alpha one", 0, 10, &n, 0).link.id, a);
    assert_int_equal(entry(f, " BETA  example.com ", 0, 10, &n, 0).link.id, b);
    assert_int_equal(entry(f, "%ages", 0, 10, &n, 0).link.id, b);
    assert_int_equal(n, 1);
    entry(f, "alpha beta", 0, 10, &n, 0);
    assert_int_equal(n, 0);
    entry(f, "gamma", 0, 10, &n, 0);
    assert_int_equal(n, 0);
}

static void links_a_search_goes_through_pages(void **state) {
    struct fix *f = *state;
    size_t n;
    x(f,
      "INSERT INTO links (url, url_key, source, created_at) SELECT 'https://example.com/' || i,"
      " 'example.com/' || i, 'agent', i FROM (%s) AS t",
      fix_kind == DB_SQLITE ? "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                              " WHERE i < 1500) SELECT i FROM n"
                            : "SELECT generate_series(1, 1500) AS i");
    assert_string_equal(entry(f, "com/7", 0, 3, &n, 2).link.url.p, "https://example.com/797");
    assert_int_equal(n, 3);
    struct link_entry last = entry(f, "com/7", 0, 200, &n, 110);
    assert_int_equal(n, 111);
    assert_string_equal(last.link.url.p, "https://example.com/7");
}

static void links_discussions(void **state) {
    struct fix *f = *state;
    struct err e;
    const struct link_discussion *d;
    size_t n;
    int64_t id = add_page(f, "a", "ann", false);
    x(f,
      "INSERT INTO external_discussions (link_id, platform, external_id, external_url, score,"
      " num_comments) VALUES (%lld, 'reddit', 'a', 'u', 1, 2), (%lld, 'hackernews', '7', 'u', 5,"
      " 9), (%lld, 'reddit', 'c', 'u', NULL, NULL)",
      (long long)id, (long long)id, (long long)id);
    assert_ok(store_link_discussions(f->s, &f->arena, id, &d, &n, &e));
    assert_int_equal(n, 3);
    assert_int_equal(d[0].site, LINK_SITE_HN);
    assert_string_equal(d[0].external_id.p, "7");
    assert_true(d[2].score == DB_NULL && d[2].num_comments == DB_NULL && !d[2].title.p);
    x(f, "DELETE FROM links");
    if (fix_kind == DB_POSTGRES) /* this connection of SQLite's minds no keys */
        assert_q("0|0", f,
                 "SELECT (SELECT COUNT(*) FROM link_processing),"
                 " (SELECT COUNT(*) FROM external_discussions)");
}

/* --- the feed --- */

static void links_changes_are_told(void **state) {
    struct fix *f = *state;
    int64_t id = add_page(f, "a", "ann", true);
    struct link_job job = take_link(f, f->s, LINK_LANE_REDDIT);
    assert_int_equal(save_found(f->s, &job, "x1"), V_OK);
    const char *in_order = fix_kind == DB_SQLITE ? "pos" : "batch, part, idx";
    assert_string_equal(q(f,
                          "SELECT table_id, action, key FROM changes WHERE table_id IN (3, 4, 5)"
                          " ORDER BY %s",
                          in_order),
                        "3|insert|{\"id\":1} 4|insert|{\"link_id\":1} 4|update|{\"link_id\":1} "
                        "5|insert|{\"link_id\":1,\"platform\":\"reddit\",\"external_id\":\"x1\"}");
    assert_string_equal(
        q(f, "SELECT data FROM changes WHERE table_id = 3"),
        "{\"id\":1,\"url\":\"https://example.com/a\",\"url_key\":\"example.com/a\",\"title\":null,"
        "\"description\":null,\"summary\":null,\"source\":\"agent\",\"parent_link_id\":null,"
        "\"created_at\":1700000000000}");
    assert_string_equal(
        q(f, "SELECT data FROM changes WHERE table_id = 4 AND action = 'update'"),
        "{\"link_id\":1,\"reddit_status\":\"completed\",\"reddit_checked_at\":1700000000000,"
        "\"reddit_error\":null,\"hn_status\":\"pending\",\"hn_checked_at\":null,\"hn_error\":null,"
        "\"summary_status\":\"pending\",\"summary_generated_at\":null,\"summary_error\":null,"
        "\"reverse_lookup_status\":null,\"reverse_lookup_error\":null,"
        "\"reverse_lookup_target_id\":null,\"created_at\":1700000000000,"
        "\"updated_at\":1700000000000}");
    assert_int_equal(id, 1);
    int64_t before = qi(f, "SELECT COUNT(*) FROM changes");
    add_page(f, "a", "bob", true); /* nothing that anybody is told of */
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM changes"), before);
}

/* --- stories --- */

static void links_stories_become_links(void **state) {
    struct fix *f = *state;
    struct err e;
    size_t n;
    store_item(f, T0,
               "{'id':1,'type':'story','title':'One','url':'https://example.com/1','time':9}");
    store_item(f, T0, "{'id':2,'type':'story','title':'Ask','text':'?','time':9}");
    store_item(f, T0, "{'id':3,'type':'comment','text':'x','parent':1,'time':9}");
    store_item(f, T0,
               "{'id':4,'type':'story','title':'D','url':'https://example.com/4','dead':true}");
    store_item(f, T0, "{'id':5,'type':'story','title':'Again','url':'http://www.example.com/1/'}");
    store_item(f, T0, "{'id':6,'type':'story','title':'R','url':'https://redd.it/abc123'}");
    const int64_t ids[] = {1, 2, 3, 4, 5, 6, 7};
    assert_ok(store_link_stories(f->s, ids, ARRAY_LEN(ids), &n, &e));
    assert_int_equal(n, 2);
    assert_q("https://example.com/1|One|hn-story|auto https://redd.it/abc123|R|hn-story|auto", f,
             "SELECT url, title, source, submitted_by FROM links ORDER BY id");
    assert_q("-|-|- pending|reddit|-", f,
             "SELECT reverse_lookup_status, reverse_lookup_site, submitter FROM link_processing"
             " ORDER BY link_id");
    assert_ok(store_link_stories(f->s, ids, ARRAY_LEN(ids), &n, &e));
    assert_int_equal(n, 0);
    assert_ok(store_link_stories(f->s, ids, 0, &n, &e));
}

static void links_who_discussed_it_here(void **state) {
    struct fix *f = *state;
    struct err e;
    const struct link_discussion *d;
    size_t n;
    bool complete;
    store_item(f, T0,
               "{'id':11,'type':'story','title':'One','url':'https://example.com/1',"
               "'time':9,'score':5,'descendants':2}");
    store_item(f, T0,
               "{'id':12,'type':'story','title':'Two','url':'https://example.com/1?utm_x=1',"
               "'time':10,'score':7,'descendants':8}");
    store_item(f, T0,
               "{'id':13,'type':'story','title':'T','url':'https://example.com/1',"
               "'dead':true}");
    assert_ok(store_link_hn_local(f->s, &f->arena, STR("example.com/1"), &d, &n, &complete, &e));
    assert_int_equal(n, 2);
    assert_false(complete);
    assert_string_equal(d[0].external_id.p, "12");
    assert_string_equal(d[0].external_url.p, "https://news.ycombinator.com/item?id=12");
    assert_int_equal(d[0].num_comments, 8);
    assert_int_equal(d[0].external_created_at, 10000);
    x(f, "UPDATE updater_state SET floor_id = 1, frontier_excluding_waiting = 40000,"
         " maxitem = 40010");
    assert_ok(store_link_hn_local(f->s, &f->arena, STR("example.com/2"), &d, &n, &complete, &e));
    assert_true(n == 0 && complete);
    x(f, "UPDATE updater_state SET floor_id = 20000");
    assert_ok(store_link_hn_local(f->s, &f->arena, STR("example.com/2"), &d, &n, &complete, &e));
    assert_false(complete);
}

int link_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(links_one_link_per_key),
        CASE(links_what_is_no_url),
        CASE(links_which_keys_are_discussions),
        CASE(links_a_discussion_is_looked_up_backwards),
        CASE(links_added_again),
        CASE(links_a_parent_becomes_a_link),
        CASE(links_two_adders_one_link),
        CASE(links_processing),
        CASE(links_absurd_numbers),
        CASE(links_lists),
        CASE(links_a_search_goes_through_pages),
        CASE(links_discussions),
        CASE(links_changes_are_told),
        CASE(links_stories_become_links),
        CASE(links_who_discussed_it_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
