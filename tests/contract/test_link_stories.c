/* The worker of links and the archive: stories that become links, discussions that the archive
 * knows, keys of older rules; and workers of which only some have a key. */
#include "fixture_link_engine.h"

#include "store/live.h"

#include <string.h>

static void put_story(struct fix *f, int64_t id, const char *page) {
    char json[300];
    snprintf(json, sizeof json,
             "{'id':%lld,'type':'story','time':%lld,'title':'T','score':60,"
             "'url':'https://example.com/%s'}",
             (long long)id, (long long)(clock_real(&f->clock) / 1000), page);
    struct batch *b = live_batch(f);
    put_item(b, clock_real(&f->clock), json);
    apply_live_ok(f, b);
}

static void worker_makes_links_of_stories(void **state) {
    struct web *w = web_new(*state, NULL, NULL);
    be_updater(w->f);
    put_story(w->f, 100, "r-before");
    w->stories = LINK_FOLLOW_ALL;
    size_t a = web_engine(w);
    web_engine(w);
    web_run(w, 3000, 100);
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM links"), 0);
    for (int i = 1; i <= 6; i++) {
        char page[20];
        snprintf(page, sizeof page, "r-%d", i);
        put_story(w->f, 100 + i, page);
    }
    web_run(w, 3000, 100);
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM links"), 6);
    web_kill(w, a);
    put_story(w->f, 107, "r-7");
    web_run(w, 3000, 100);
    web_drain(w, 300000, 250);
    assert_q("hn-story|7", w->f,
             "SELECT l.source, COUNT(*) FROM links l JOIN link_processing p ON p.link_id = l.id "
             "WHERE p.reddit_status = 'completed' AND p.summary_status = 'completed' "
             "GROUP BY l.source");
    web_free(w);
}

static void away(void *ctx UNUSED, const struct web_call *c, struct web_answer *ret) {
    web_kind(NULL, c, ret);
    if (c->who == WEB_HN)
        *ret = (struct web_answer){.status = 503, .body = "", .retry_after_ms = 3600000};
}

/* However ill HN's search is, and whoever stands before: what the archive knows needs no call. */
static void worker_knows_discussions_by_the_archive(void **state) {
    struct web *w = web_new(*state, away, NULL);
    struct fix *f = w->f;
    char url[80];
    store_item(f, T0,
               "{'id':70,'type':'story','time':1,'title':'A','url':'https://example.com/"
               "known','score':7,'descendants':2}");
    store_item(f, T0, "{'id':71,'type':'comment','time':2,'parent':70}");
    store_item(f, T0, "{'id':72,'type':'story','time':2,'title':'Ask HN: what?','text':'x'}");
    for (int i = 0; i < 20; i++) {
        snprintf(url, sizeof url, "https://news.ycombinator.com/item?id=%d", 1000 + i);
        add_link(f, url, "ann", true);
    }
    web_engine(w);
    web_run(w, 10000, 100);
    size_t asked = w->n[WEB_HN];
    assert_in_range(asked, 1, 2);
    int64_t comment = add_link(f, "https://news.ycombinator.com/item?id=71", "bob", true);
    int64_t question = add_link(f, "https://news.ycombinator.com/item?id=72", "bob", true);
    web_run(w, 1000, 100);
    assert_string_equal(states_of(f, comment), "completed|skipped|skipped|skipped");
    assert_string_equal(states_of(f, question), "not_found|skipped|skipped|skipped");
    assert_q("https://example.com/known|A|hackernews|70|7|2", f,
             "SELECT a.url, a.title, x.platform, x.external_id, x.score, x.num_comments FROM "
             "link_processing p JOIN links a ON a.id = p.reverse_lookup_target_id JOIN "
             "external_discussions x ON x.link_id = a.id WHERE p.link_id = %lld",
             (long long)comment);
    assert_int_equal(w->n[WEB_HN], asked);
    web_free(w);
}

/* Keys of older rules are not found; until they are new the mirror is not believed to know all. */
static void worker_makes_keys_anew(void **state) {
    struct web *w = web_new(*state, NULL, NULL);
    struct fix *f = w->f;
    struct err e = {0};
    store_item(f, T0,
               "{'id':7,'type':'story','time':1,'title':'A','url':'https://example.com/h1',"
               "'score':7,'descendants':2}");
    assert_ok(store_note_maxitem(f->s, 7, &e));
    assert_ok(store_lower_floor(f->s, 1, &e));
    assert_ok(store_set_frontier(f->s, 7, 7, &e));
    x(f, "UPDATE items SET url_key = 'old'");
    x(f, "UPDATE item_keys SET version = 1, walking = 1");
    int64_t first = add_page(f, "h1", "ann", true);
    web_engine(w);
    web_run(w, 10000, 50);
    assert_string_equal(states_of(f, first), "-|not_found|completed|completed");
    size_t asked = w->n[WEB_HN];
    assert_q("example.com/h1", f, "SELECT url_key FROM items");
    int64_t later = add_page(f, "h2", "ann", true);
    web_run(w, 10000, 50);
    assert_string_equal(states_of(f, later), "-|not_found|not_found|completed");
    assert_int_equal(w->n[WEB_HN], asked);
    web_free(w);
}

static int64_t skipped(struct fix *f) {
    return qi(f, "SELECT COUNT(*) FROM link_processing WHERE summary_status = 'skipped'");
}

/* Runs so long; answers whether any summary was ever skipped. */
static bool run_and_look(struct web *w, int64_t ms) {
    bool any = false;
    for (int64_t i = 0; i < ms; i += 1000) {
        web_run(w, 1000, 500);
        any = any || skipped(w->f) > 0;
    }
    return any;
}

static void worker_with_a_key_among_others(void **state) {
    struct web *w = web_new(*state, NULL, NULL);
    size_t keyed = web_engine(w);
    w->no_key = true;
    web_engine(w);
    web_engine(w);
    add_page(w->f, "r1", "ann", false);
    web_run(w, 1000, 100);
    for (int i = 2; i < 12; i++) {
        char name[16];
        snprintf(name, sizeof name, "r%d", i);
        add_page(w->f, name, "ann", false);
        assert_false(run_and_look(w, 60000));
    }
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM link_processing WHERE summary_status = "
                              "'completed'"),
                     11);
    web_kill(w, keyed);
    add_page(w->f, "r12", "ann", false);
    assert_false(run_and_look(w, LINK_KEYED_MS - 60000)); /* it may come back */
    assert_true(run_and_look(w, 120000));
    w->no_key = false; /* it does */
    web_engine(w);
    web_run(w, 10000, 100);
    assert_int_equal(skipped(w->f), 0);
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM link_processing WHERE summary_status = "
                              "'completed'"),
                     12);
    web_free(w);
}

int link_story_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(worker_makes_links_of_stories),
        CASE(worker_knows_discussions_by_the_archive),
        CASE(worker_makes_keys_anew),
        CASE(worker_with_a_key_among_others),
    };
    return cmocka_run_group_tests_name("the worker of links and the archive", tests, NULL, NULL);
}
