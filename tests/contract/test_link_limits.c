/* The worker of links under load and in trouble: an hour of several processes keeps the pace and
 * uses it, an outage costs nobody anything, and whom it is the turn of is fair. */
#include "fixture_link_engine.h"

#include <stdlib.h>
#include <string.h>

#define HOUR INT64_C(3600000)

static void many_links(struct fix *f, int n) {
    long long from = T0 - 40000000;
    x(f,
      "INSERT INTO links (url, url_key, source, submitted_by, created_at) "
      "WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < %d) "
      "SELECT 'https://example.com/b' || i, 'example.com/b' || i, 'hn-story', 'auto', "
      "%lld + i FROM s",
      n, from);
    x(f, "INSERT INTO link_processing (link_id, created_at) SELECT id, created_at FROM links");
}

/* --- the pace --- */

static const struct {
    enum web_who who;
    size_t per_minute;
} limits[] = {{WEB_REDDIT, 30}, {WEB_HN, 30}, {WEB_ANTHROPIC, 50}};

/* The most that any two calls are closer than an even pace, in milliseconds. */
static int64_t worst_gap(const struct web *w, enum web_who who, size_t per_minute) {
    int64_t even = 60000 / (int64_t)per_minute;
    return even - web_least_between(w, who);
}

static void slow_and_varied(void *ctx, const struct web_call *c, struct web_answer *ret) {
    struct rng *rng = ctx;
    web_kind(NULL, c, ret);
    ret->takes_ms = 50 + (int64_t)rng_below(rng, c->who == WEB_ANTHROPIC ? 9000 : 3000);
}

/* Three processes, one of which dies and one comes late. A PostgreSQL needs minutes for an hour: it
 * has one in `make crash`. */
static void worker_three_use_an_hour(void **state) {
    struct rng rng = {.state = 7};
    struct web *w = web_new(*state, slow_and_varied, &rng);
    int64_t minutes = fix_kind == DB_SQLITE || getenv("CRASH_ROUNDS") ? 60 : 6;
    w->oauth = true;
    many_links(w->f, 4000);
    size_t first = web_engine(w);
    web_engine(w);
    web_leap(w, minutes * 20000);
    web_engine(w);
    web_leap(w, minutes * 20000);
    web_kill(w, first);
    web_leap(w, minutes * 20000);
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        size_t n = limits[i].per_minute, most = n * (size_t)minutes;
        assert_true(web_most_in(w, limits[i].who, 60000) <= n);
        assert_in_range(w->n[limits[i].who], most * 95 / 100, most);
        /* a turn is good for less than a second from its time on */
        assert_true(worst_gap(w, limits[i].who, n) <= 1000);
        assert_true(web_least_between(w, limits[i].who) >= 200);
    }
    web_free(w);
}

/* --- trouble --- */

struct trouble {
    enum web_who who;
    bool on;
    long status;
    const char *body, *only; /* only: calls with this in their path */
};

static void in_trouble(void *ctx, const struct web_call *c, struct web_answer *ret) {
    const struct trouble *t = ctx;
    web_kind(NULL, c, ret);
    if (!t->on || c->who != t->who ||
        (t->only && !memmem(c->path.p, c->path.n, t->only, strlen(t->only))))
        return;
    ret->status = t->status;
    ret->body = t->body;
}

static void add_pages(struct fix *f, const char *prefix, int n, const char *by) {
    for (int i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s%d", prefix, i);
        add_page(f, name, by, false);
    }
}

/* An hour of it: nothing is found to be absent, nothing fails, and but for the one call that was
 * the first to meet it no attempt is spent. */
static void check_hour_of(struct fix *f, enum web_who who, long status, const char *body, int n) {
    static const char *const columns[] = {"reddit", "hn", "summary"};
    static const char *const stamps[] = {"reddit_checked_at", "hn_checked_at",
                                         "summary_generated_at"};
    struct trouble t = {.who = who, .on = true, .status = status, .body = body};
    struct web *w = web_new(f, in_trouble, &t);
    web_engine(w);
    web_engine(w);
    add_pages(f, "r", n, "ann");
    web_run(w, HOUR, 5000);
    assert_int_equal(
        qi(f, "SELECT COUNT(*) FROM link_processing WHERE %s_status = 'pending'", columns[who]), n);
    assert_true(qi(f, "SELECT COALESCE(SUM(attempts), 0) FROM claims WHERE source = 'links:%s'",
                   columns[who]) <= 1);
    assert_int_equal(
        qi(f, "SELECT COUNT(*) FROM link_processing WHERE %s_error IS NOT NULL", columns[who]), 0);
    /* nor was anything final in between, which a later look would have made pending again */
    assert_int_equal(
        qi(f, "SELECT COUNT(*) FROM link_processing WHERE %s IS NOT NULL", stamps[who]), 0);
    t.on = false;
    web_drain(w, 2 * HOUR, 2000);
    assert_q("completed|not_found|completed", f,
             "SELECT DISTINCT reddit_status, hn_status, summary_status FROM link_processing");
    web_free(w);
}

static void worker_an_outage_costs_no_attempt(void **state) {
    check_hour_of(*state, WEB_REDDIT, 502, "<html>", 12);
}

static void worker_an_outage_costs_a_single_link_nothing(void **state) {
    check_hour_of(*state, WEB_HN, 0, "", 1);
}

/* All posts are refused in JSON, as if each were closed, and it is us who are not let in. */
static void worker_a_ban_burns_no_row(void **state) {
    struct trouble t = {.who = WEB_REDDIT,
                        .on = true,
                        .status = 403,
                        .body = "{\"message\":\"Forbidden\",\"error\":403}",
                        .only = "/comments/"};
    struct web *w = web_new(*state, in_trouble, &t);
    int64_t id = add_link(w->f, "https://www.reddit.com/r/x/comments/abc/on_reddit/", "ann", true);
    web_engine(w);
    web_run(w, HOUR, 2000);
    assert_string_equal(states_of(w->f, id), "pending|pending|pending|pending");
    assert_q("-", w->f, "SELECT paused FROM providers WHERE name = 'reddit'");
    t.on = false;
    web_drain(w, HOUR, 2000);
    assert_string_equal(states_of(w->f, id), "completed|skipped|skipped|skipped");
    web_free(w);
}

/* One that the provider cannot bear is first in the order, and alone for a while. Who comes then is
 * served all the same, and the bad one fails among many. */
static void worker_one_bad_link_closes_no_lane(void **state) {
    struct trouble t = {.who = WEB_REDDIT, .on = true, .status = 500, .only = "rbad"};
    struct web *w = web_new(*state, in_trouble, &t);
    int64_t bad = add_page(w->f, "rbad", "ann", true);
    web_engine(w);
    web_run(w, 150000, 500);
    assert_true(qi(w->f, "SELECT COUNT(*) FROM providers WHERE breaker <> 'closed'") == 1);
    int64_t good = add_page(w->f, "rgood", "ann", true);
    web_run(w, 120000, 500);
    assert_string_equal(states_of(w->f, good), "-|completed|not_found|completed");
    for (int i = 0; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof name, "rx%d", i);
        add_page(w->f, name, "bob", false);
        web_run(w, 120000, 2000);
    }
    assert_string_equal(states_of(w->f, bad), "-|failed|not_found|completed");
    web_free(w);
}

/* --- money --- */

static enum verdict refuse_to_ask(struct caller *c UNUSED, const struct ask *q UNUSED,
                                  int64_t timeout_ms UNUSED, void *tag UNUSED, struct err *e) {
    return err_set(e, V_LIMIT, "http", 0, "too much is under way");
}

static void worker_money_of_no_call_comes_back(void **state) {
    struct web *w = web_new(*state, NULL, NULL);
    w->budget.monthly = 1000000;
    add_page(w->f, "r1", "ann", true);
    size_t a = web_engine(w);
    __typeof__(w->callers[a].head.ask) ask = w->callers[a].head.ask;
    w->callers[a].head.ask = refuse_to_ask;
    web_run(w, 30000, 200);
    assert_int_equal(qi(w->f, "SELECT spent FROM providers WHERE name = 'anthropic'"), 0);
    assert_int_equal(qi(w->f, "SELECT MAX(attempts) FROM claims"), 0);
    w->callers[a].head.ask = ask;
    web_drain(w, 60000, 200);
    assert_int_equal(qi(w->f, "SELECT spent FROM providers WHERE name = 'anthropic'"), 200);
    web_free(w);
}

/* --- chains --- */

/* HN's 30 is of a Reddit post, `deep`, which is of an article; 31 of a post, `back`, which is of 31
 * again; and the post `self2` is of itself. */
static void chained(void *ctx UNUSED, const struct web_call *c, struct web_answer *ret) {
#define ITEM(id, url)                                                                           \
    "{\"id\":" id ",\"type\":\"story\",\"title\":\"A story\",\"points\":3,\"url\":\"" url "\"," \
    "\"children\":[]}"
#define ONE(id, url)                                                                         \
    "[{\"kind\":\"Listing\",\"data\":{\"children\":[{\"kind\":\"t3\",\"data\":{\"id\":\"" id \
    "\",\"title\":\"A post\",\"permalink\":\"/r/x/comments/" id "/p/\",\"url\":\"" url       \
    "\",\"is_self\":false}}]}}]"
    static const struct {
        const char *path, *body;
    } rows[] = {
        {"/items/30", ITEM("30", "https://www.reddit.com/r/x/comments/deep/p/")},
        {"/items/31", ITEM("31", "https://old.reddit.com/r/x/comments/back/")},
        {"/comments/deep", ONE("deep", "https://example.com/far")},
        {"/comments/back", ONE("back", "https://news.ycombinator.com/item?id=31#32")},
        {"/comments/self2", ONE("self2", "https://redd.it/self2")},
    };
    web_kind(NULL, c, ret);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (memmem(c->path.p, c->path.n, rows[i].path, strlen(rows[i].path)))
            ret->body = rows[i].body;
}

static void worker_chains_and_circles_end(void **state) {
    struct web *w = web_new(*state, chained, NULL);
    int64_t chain = add_link(w->f, "https://news.ycombinator.com/item?id=30", "ann", true);
    int64_t circle = add_link(w->f, "https://news.ycombinator.com/item?id=31", "ann", true);
    int64_t itself = add_link(w->f, "https://redd.it/self2", "ann", true);
    web_engine(w);
    web_drain(w, 10 * 60000, 100);
    assert_string_equal(states_of(w->f, chain), "completed|skipped|skipped|skipped");
    assert_q("completed|skipped|skipped|skipped", w->f,
             "SELECT p.reverse_lookup_status, p.reddit_status, p.hn_status, p.summary_status FROM "
             "link_processing p JOIN links l ON l.id = p.link_id WHERE l.url_key LIKE '%%deep%%'");
    assert_q("https://example.com/far", w->f,
             "SELECT c.url FROM links a JOIN links b ON b.id = a.parent_link_id JOIN links c ON "
             "c.id = b.parent_link_id WHERE a.id = %lld",
             (long long)chain);
    assert_string_equal(states_of(w->f, circle), "completed|skipped|skipped|skipped");
    assert_q("not_found|-", w->f,
             "SELECT p.reverse_lookup_status, l.parent_link_id FROM link_processing p JOIN links l "
             "ON l.id = p.link_id WHERE l.url_key LIKE '%%back%%'");
    assert_string_equal(states_of(w->f, itself), "not_found|skipped|skipped|skipped");
    assert_true(w->n[WEB_REDDIT] + w->n[WEB_HN] <= 8); /* nobody goes round and round */
    web_free(w);
}

/* Four seconds from being added, whatever else there is to do; on a site whose lane is busy. */
static void check_within(struct fix *f, const char *url, int64_t ms) {
    struct web *w = web_new(f, NULL, NULL);
    w->oauth = true;
    many_links(f, 300);
    web_engine(w);
    web_engine(w);
    web_leap(w, 30000);
    int64_t id = add_link(f, url, "ann", true);
    web_leap(w, ms);
    assert_string_equal(states_of(f, id), "completed|skipped|skipped|skipped");
    web_free(w);
}

static void worker_reddit_is_resolved_in_4_s(void **state) {
    check_within(*state, "https://www.reddit.com/r/x/comments/abc/on_reddit/", 4000);
}

static void worker_hn_is_resolved_in_4_s(void **state) {
    check_within(*state, "https://news.ycombinator.com/item?id=7", 4000);
}

static void worker_a_share_link_is_resolved_in_two_turns(void **state) {
    check_within(*state, "https://www.reddit.com/r/x/s/Go1", 8000);
}

/* --- whose turn it is --- */

/* Whoever waits is first within one step, wherever the lane stands in its round of turns. */
static void worker_any_time_is_the_turn_of_who_waits(void **state) {
    struct fix *f = *state;
    many_links(f, 10000);
    for (int i = 0; i < 2 * LINK_OLDEST_EVERY + 1; i++) {
        char name[16];
        snprintf(name, sizeof name, "wait%d", i);
        int64_t id = add_page(f, name, i % 3 ? "ann" : "bob", true);
        for (int lane = 0; lane < LINK_LANES; lane++)
            assert_int_equal(next_link(f, (enum link_lane)lane), id);
        assert_true(next_link(f, LINK_LANE_REDDIT) != id); /* a turn in between */
    }
}

/* At random: so many submitters with so many links each. Of those who have something left, nobody
 * gets a second turn before all others had one; and the oldest of all never waits for more than
 * LINK_OLDEST_EVERY turns. */
static void worker_turns_are_fair(void **state) {
    struct fix *f = *state;
    struct rng rng = {.state = 20261116};
    int left[6], since[6] = {0}, oldest = 0, people = 0, all = 0;
    x(f, "DELETE FROM link_processing");
    for (int p = 0; p < 6; p++) {
        left[p] = 1 + (int)rng_below(&rng, 40);
        all += left[p];
        for (int i = 0; i < left[p]; i++) {
            char name[32], by[8];
            snprintf(name, sizeof name, "f%d-%d", p, i);
            snprintf(by, sizeof by, "p%d", p);
            add_page(f, name, by, false);
            fix_advance(f, 1000);
        }
        people++;
    }
    for (int turn = 0; turn < all; turn++) {
        int64_t first = qi(f, "SELECT MIN(link_id) FROM link_processing p WHERE NOT EXISTS (SELECT "
                              "1 FROM claims c WHERE c.source = 'links:reddit' AND c.key = "
                              "CAST(p.link_id AS TEXT))");
        int64_t id = next_link(f, LINK_LANE_REDDIT);
        assert_true(id > 0);
        int whose = (int)qi(f,
                            "SELECT CAST(substr(submitter, 2) AS INTEGER) FROM link_processing "
                            "WHERE link_id = %lld",
                            (long long)id);
        oldest = id == first ? 0 : oldest + 1;
        assert_true(oldest < 2 * LINK_OLDEST_EVERY);
        left[whose]--;
        since[whose] = 0;
        for (int p = 0; p < people; p++)
            if (left[p] > 0 && p != whose && ++since[p] > 2 * people)
                fail_msg("p%d waited for %d turns", p, since[p]);
    }
    assert_int_equal(next_link(f, LINK_LANE_REDDIT), 0);
}

int link_limit_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(worker_three_use_an_hour),
        CASE(worker_an_outage_costs_no_attempt),
        CASE(worker_an_outage_costs_a_single_link_nothing),
        CASE(worker_a_ban_burns_no_row),
        CASE(worker_one_bad_link_closes_no_lane),
        CASE(worker_money_of_no_call_comes_back),
        CASE(worker_chains_and_circles_end),
        CASE(worker_reddit_is_resolved_in_4_s),
        CASE(worker_hn_is_resolved_in_4_s),
        CASE(worker_a_share_link_is_resolved_in_two_turns),
        CASE(worker_any_time_is_the_turn_of_who_waits),
        CASE(worker_turns_are_fair),
    };
    return cmocka_run_group_tests_name("limits of the worker of links", tests, NULL, NULL);
}
