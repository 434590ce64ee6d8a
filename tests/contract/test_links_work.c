/* Tasks of links: whose turn it is, who has it, and what came of it. Each store is a process. */
#include "fixture_links.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR INT64_C(3600000)
#define DAY (24 * HOUR)

static void age(struct fix *f, int64_t id, int64_t created_at) {
    x(f, "UPDATE link_processing SET created_at = %lld WHERE link_id = %lld", (long long)created_at,
      (long long)id);
}

/* --- the order --- */

static void links_work_in_order(void **state) {
    struct fix *f = *state;
    int64_t old = add_page(f, "old", NULL, false), older = add_page(f, "older", NULL, false);
    int64_t recent = add_page(f, "recent", NULL, false), asked = add_page(f, "asked", "ann", false);
    int64_t waiting = add_page(f, "waiting", NULL, true);
    age(f, old, T0 - 5 * DAY);
    age(f, older, T0 - 6 * DAY);
    age(f, recent, T0 - HOUR);
    age(f, asked, T0 - 9 * DAY);
    assert_int_equal(next_link(f, LINK_LANE_REDDIT), waiting);
    assert_int_equal(next_link(f, LINK_LANE_REDDIT), asked);
    assert_int_equal(next_link(f, LINK_LANE_REDDIT), recent);
    assert_int_equal(next_link(f, LINK_LANE_REDDIT), older);
    assert_int_equal(next_link(f, LINK_LANE_REDDIT), old);
    assert_int_equal(next_link(f, LINK_LANE_REDDIT), 0);
    assert_int_equal(next_link(f, LINK_LANE_SUMMARY), waiting); /* lanes know nothing of another */
}

/* Who closed the page long ago, or says so from the future, waits no more. */
static void links_work_waiting_ends(void **state) {
    struct fix *f = *state;
    int64_t first = add_page(f, "first", "ann", true);
    fix_advance(f, LINK_WAITS_MS - 1000);
    int64_t second = add_page(f, "second", "ann", true);
    x(f, "UPDATE link_processing SET waiting_since = waiting_since + 60000 WHERE link_id = %lld",
      (long long)second);
    assert_int_equal(next_link(f, LINK_LANE_HN), first);
    fix_advance(f, 60000);
    assert_int_equal(next_link(f, LINK_LANE_HN), second); /* still: as someone's, and now waiting */
    struct link_job job = take_link(f, f->s, LINK_LANE_REDDIT);
    assert_int_equal(job.id, second);
}

/* Whoever submits a hundred does not keep another waiting. */
static void links_work_submitters_take_turns(void **state) {
    struct fix *f = *state;
    char name[20], order[100] = "";
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "bulk%d", i);
        add_page(f, name, "bulk", false);
    }
    fix_advance(f, 1000);
    add_page(f, "ann1", "ann", false);
    add_page(f, "ann2", "ann", false);
    add_page(f, "zoe", "zoe", false);
    for (int i = 0; i < 7; i++) {
        struct link_job job = take_link(f, f->s, LINK_LANE_HN);
        const char *last = strrchr(job.url.p, '/') + 1;
        strncat(order, last, 1);
    }
    assert_string_equal(order, "abzabbb"); /* ann, bulk, zoe; ann, bulk; then bulk alone */
    const int64_t w[] = {add_page(f, "w1", "bulk", true), add_page(f, "w2", "bulk", true),
                         add_page(f, "w3", "ann", true), add_page(f, "w4", "ann", true),
                         add_page(f, "w5", "zoe", true)};
    assert_int_equal(next_link(f, LINK_LANE_HN), w[4]); /* it was bulk's turn last */
    assert_int_equal(next_link(f, LINK_LANE_HN), w[2]);
    assert_int_equal(next_link(f, LINK_LANE_HN), w[0]);
    assert_int_equal(next_link(f, LINK_LANE_HN), w[3]);
    assert_int_equal(next_link(f, LINK_LANE_HN), w[1]);
}

/* However much is asked for, the oldest of all comes too. */
static void links_work_ages(void **state) {
    struct fix *f = *state;
    char name[20];
    int64_t oldest = add_page(f, "oldest", NULL, false);
    age(f, oldest, T0 - 30 * DAY);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "p%d", i);
        add_page(f, name, "ann", false);
    }
    int turn = 1;
    while (next_link(f, LINK_LANE_SUMMARY) != oldest)
        turn++;
    assert_int_equal(turn, LINK_OLDEST_EVERY);
}

/* Reverse lookups go in the lane of their site, before the others; the rest of a discussion waits
 * for what its reverse lookup says. */
static void links_work_lanes_of_sites(void **state) {
    struct fix *f = *state;
    int64_t page = add_page(f, "a", "ann", true);
    int64_t hn = add_link(f, "https://news.ycombinator.com/item?id=1", "ann", true);
    int64_t reddit = add_link(f, "https://redd.it/abc123", "ann", true);
    struct link_job job = take_link(f, f->s, LINK_LANE_REDDIT);
    assert_true(job.id == reddit && job.task == LINK_REVERSE && job.site == LINK_SITE_REDDIT);
    assert_string_equal(job.url_key.p, "reddit.com/comments/abc123");
    job = take_link(f, f->s, LINK_LANE_REDDIT);
    assert_true(job.id == page && job.task == LINK_REDDIT);
    assert_int_equal(next_link(f, LINK_LANE_REDDIT), 0);
    job = take_link(f, f->s, LINK_LANE_HN);
    assert_true(job.id == hn && job.task == LINK_REVERSE && job.site == LINK_SITE_HN);
    assert_int_equal(save_link(f->s, &job, LINK_FAILED), V_OK);
    assert_int_equal(next_link(f, LINK_LANE_HN), page);
    assert_int_equal(next_link(f, LINK_LANE_HN), hn); /* it is a page, at least */
    assert_int_equal(next_link(f, LINK_LANE_SUMMARY), page);
    x(f, "UPDATE links SET source = 'auto-parent' WHERE id = %lld", (long long)hn); /* by hand */
    assert_int_equal(next_link(f, LINK_LANE_SUMMARY), 0);
}

static void links_work_10000_behind_one_who_waits(void **state) {
    struct fix *f = *state;
    struct err e;
    struct link_place place;
    x(f,
      "INSERT INTO links (url, url_key, source, submitted_by, created_at)"
      " SELECT 'https://example.com/' || i, 'example.com/' || i, 'gathered', 'auto', i FROM (%s)"
      " AS t",
      fix_kind == DB_SQLITE ? "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                              " WHERE i < 10000) SELECT i FROM n"
                            : "SELECT generate_series(1, 10000) AS i");
    x(f, "INSERT INTO link_processing (link_id, created_at) SELECT id, created_at FROM links");
    int64_t asked = add_page(f, "asked", "aaron", false); /* before, and nobody waits for it */
    int64_t mine = add_page(f, "mine", "ann", true);
    for (int lane = 0; lane < LINK_LANES; lane++)
        assert_int_equal(take_link(f, f->s, (enum link_lane)lane).id, mine);
    x(f, "DELETE FROM link_processing WHERE link_id = %lld", (long long)asked);
    int64_t later = add_page(f, "later", NULL, false);
    assert_ok(store_link_place(f->s, later, LINK_REDDIT, &place, &e));
    assert_int_equal(place.ahead, 1); /* it is of the last 24 hours; who waits, too */
    x(f, "UPDATE link_processing SET created_at = 5001, waiting_since = NULL WHERE link_id = %lld",
      (long long)later);
    assert_ok(store_link_place(f->s, later, LINK_REDDIT, &place, &e));
    assert_int_equal(place.ahead, 5001); /* 5000 and the one who waits */
}

static void links_work_places(void **state) {
    struct fix *f = *state;
    struct err e;
    struct link_place place;
    int64_t w1 = add_page(f, "w1", "ann", true);
    fix_advance(f, 10);
    int64_t w2 = add_page(f, "w2", "ann", true), asked = add_page(f, "q", "bob", false);
    fix_advance(f, 10);
    int64_t other = add_page(f, "o", NULL, false);
    assert_ok(store_link_place(f->s, w1, LINK_REDDIT, &place, &e));
    assert_int_equal(place.ahead, 0);
    assert_ok(store_link_place(f->s, w2, LINK_REDDIT, &place, &e));
    assert_int_equal(place.ahead, 1);
    assert_ok(store_link_place(f->s, asked, LINK_REDDIT, &place, &e));
    assert_int_equal(place.ahead, 2);
    assert_ok(store_link_place(f->s, other, LINK_REDDIT, &place, &e));
    assert_int_equal(place.ahead, 3);
    struct link_job job = take_link(f, f->s, LINK_LANE_REDDIT);
    assert_int_equal(job.id, w1);
    assert_ok(store_link_place(f->s, w1, LINK_REDDIT, &place, &e));
    assert_true(place.held && place.ahead == 0);
    const struct link_release r = {
        .id = w1, .token = job.token, .task = LINK_REDDIT, .wait_ms = 5000};
    assert_ok(store_link_release(f->s, &r, &e));
    assert_ok(store_link_place(f->s, w1, LINK_REDDIT, &place, &e));
    assert_true(!place.held && place.not_before == T0 + 20 + 5000);
    assert_int_equal(store_link_place(f->s, w1, LINK_REVERSE, &place, &e), V_NOT_FOUND);
    assert_int_equal(store_link_place(f->s, 999, LINK_HN, &place, &e), V_NOT_FOUND);
}

/* --- claims --- */

static void links_work_one_winner(void **state) {
    struct fix *f = *state;
    struct store *other = fix_open(f);
    int64_t id = add_page(f, "a", "ann", true);
    struct link_job job = take_link(f, f->s, LINK_LANE_REDDIT);
    assert_true(job.id == id && job.token == 1 && job.attempts == 1 && !job.rescan);
    assert_int_equal(take_link(f, other, LINK_LANE_REDDIT).id, 0);
    assert_q("links:reddit|1|held|me|1700000060000", f,
             "SELECT source, key, state, holder, lease_until FROM claims");
}

#define TAKERS 6
#define TAKEN 120
struct taker {
    struct store *s;
    struct arena arena;
    int64_t ids[TAKEN + 1];
    int n;
    enum verdict v;
    struct err e;
};

static void *take_all(void *ctx) {
    struct taker *t = ctx;
    while (t->n < TAKEN) {
        struct link_job job;
        t->v =
            store_link_take(t->s, LINK_LANE_HN, STR("me"), LEASE_OF_LINKS, &t->arena, &job, &t->e);
        if (t->v == V_RETRY && store_recover(t->s, &t->e) == V_OK)
            continue;
        if (t->v != V_OK)
            return NULL;
        t->ids[t->n++] = job.id;
    }
    return NULL;
}

static int by_id(const void *a, const void *b) {
    int64_t l = *(const int64_t *)a, r = *(const int64_t *)b;
    return (l > r) - (l < r);
}

static void links_work_many_takers(void **state) {
    struct fix *f = *state;
    static struct taker takers[TAKERS];
    pthread_t threads[TAKERS];
    int64_t all[TAKERS * TAKEN];
    char name[20];
    int n = 0;
    for (int i = 0; i < TAKEN; i++) {
        snprintf(name, sizeof name, "p%d", i);
        add_page(f, name, i % 3 ? "ann" : NULL, i % 5 == 0);
    }
    for (int i = 0; i < TAKERS; i++) {
        memset(&takers[i], 0, sizeof takers[i]);
        takers[i].s = fix_open(f);
        arena_init(&takers[i].arena);
    }
    for (int i = 0; i < TAKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_all, &takers[i]), 0);
    for (int i = 0; i < TAKERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < TAKERS; i++) {
        if (takers[i].v != V_NOT_FOUND)
            fail_msg("%s: %s", verdict_name(takers[i].v), takers[i].e.msg);
        memcpy(all + n, takers[i].ids, (size_t)takers[i].n * sizeof *all);
        n += takers[i].n;
        arena_release(&takers[i].arena);
    }
    assert_int_equal(n, TAKEN);
    qsort(all, (size_t)n, sizeof *all, by_id);
    for (int i = 1; i < n; i++)
        assert_true(all[i] != all[i - 1]);
}

/* A stalls, is swept, B takes it; what A says then changes nothing. */
static void links_work_zombie(void **state) {
    struct fix *f = *state;
    struct err e;
    struct store *b = fix_open(f);
    size_t n;
    int64_t id = add_page(f, "a", "ann", true);
    struct link_job a_job = take_link(f, f->s, LINK_LANE_REDDIT);
    fix_advance(f, LEASE_OF_LINKS + 1);
    assert_ok(store_link_sweep(f->s, 100, &n, &e));
    assert_int_equal(n, 0); /* not yet */
    fix_advance(f, SWEEP_GRACE_MS);
    assert_ok(store_link_sweep(f->s, 100, &n, &e));
    assert_int_equal(n, 1);
    assert_int_equal(save_found(f->s, &a_job, "zombie"), V_CONFLICT);
    struct link_job b_job = take_link(f, b, LINK_LANE_REDDIT);
    assert_true(b_job.id == id && b_job.token > a_job.token && b_job.attempts == 2);
    assert_int_equal(save_found(f->s, &a_job, "zombie"), V_CONFLICT);
    const struct link_release r = {.id = id, .token = a_job.token, .task = LINK_REDDIT};
    assert_int_equal(store_link_release(f->s, &r, &e), V_CONFLICT);
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM external_discussions"), 0);
    assert_string_equal(states_of(f, id), "-|pending|pending|pending");
    assert_int_equal(save_found(b, &b_job, "x1"), V_OK);
    assert_int_equal(save_found(b, &b_job, "x2"), V_CONFLICT); /* it is done */
    assert_q("x1", f, "SELECT external_id FROM external_discussions");
}

static void links_work_release(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t id = add_page(f, "a", "ann", true);
    struct link_job job = take_link(f, f->s, LINK_LANE_REDDIT);
    struct link_release r = {.id = id,
                             .token = job.token,
                             .task = LINK_REDDIT,
                             .spent = true,
                             .wait_ms = 30000,
                             .error_class = STR("http_503"),
                             .error = STR("over there something is wrong")};
    assert_ok(store_link_release(f->s, &r, &e));
    assert_q("free|1|http_503", f, "SELECT state, attempts, error_class FROM claims");
    assert_int_equal(next_link(f, LINK_LANE_REDDIT), 0);
    fix_advance(f, 30000);
    job = take_link(f, f->s, LINK_LANE_REDDIT);
    assert_int_equal(job.attempts, 2);
    r.token = job.token;
    r.spent = false;
    r.wait_ms = 0;
    assert_ok(store_link_release(f->s, &r, &e));
    assert_int_equal(take_link(f, f->s, LINK_LANE_REDDIT).attempts, 2);
}

/* --- results --- */

static void links_work_results(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t id = add_page(f, "a", "ann", true);
    struct link_job job = take_link(f, f->s, LINK_LANE_SUMMARY);
    const struct link_result r = {.id = id,
                                  .token = job.token,
                                  .task = LINK_SUMMARY,
                                  .status = LINK_COMPLETED,
                                  .title = STR("A title"),
                                  .value = STR("What it says.")};
    assert_ok(store_link_save(f->s, &r, &e));
    assert_q("A title|-|What it says.", f, "SELECT title, description, summary FROM links");
    assert_q("completed|1700000000000|-|1700000000000", f,
             "SELECT summary_status, summary_generated_at, summary_error, waiting_since"
             " FROM link_processing");
    job = take_link(f, f->s, LINK_LANE_REDDIT);
    assert_string_equal(job.title.p, "A title");
    assert_int_equal(save_found(f->s, &job, "x1"), V_OK);
    job = take_link(f, f->s, LINK_LANE_HN);
    assert_int_equal(save_link(f->s, &job, LINK_NOT_FOUND), V_OK);
    assert_string_equal(states_of(f, id), "-|completed|not_found|completed");
    assert_q("-", f, "SELECT waiting_since FROM link_processing"); /* there is nothing left */
    assert_q("reddit|x1|A thread|10|3|c|1699999999000", f,
             "SELECT platform, external_id, title, score, num_comments, subreddit,"
             " external_created_at FROM external_discussions");
    assert_q("links:hn|done|no_match links:reddit|done|match links:summary|done|match", f,
             "SELECT source, state, outcome FROM claims ORDER BY source");
}

static void links_work_wrong_results(void **state) {
    static const struct {
        enum link_task task;
        enum link_status status;
    } wrong[] = {
        {LINK_REDDIT, LINK_PENDING},    {LINK_REDDIT, LINK_NONE},
        {LINK_SUMMARY, LINK_NOT_FOUND}, {LINK_REVERSE, LINK_COMPLETED},
        {LINK_REVERSE, LINK_SKIPPED},
    };
    struct fix *f = *state;
    struct err e;
    add_page(f, "a", "ann", true);
    struct link_job job = take_link(f, f->s, LINK_LANE_REDDIT);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        job.task = wrong[i].task;
        assert_int_equal(save_link(f->s, &job, wrong[i].status), V_INVALID);
    }
    const struct link_discussion bare = {.site = LINK_SITE_REDDIT};
    const struct link_result r = {.id = job.id,
                                  .token = job.token,
                                  .task = LINK_REDDIT,
                                  .status = LINK_COMPLETED,
                                  .discussions = &bare,
                                  .n_discussions = 1};
    assert_int_equal(store_link_save(f->s, &r, &e), V_INVALID);
}

/* Long words are cut at a character; 500 of them are kept. */
static void links_work_long_errors(void **state) {
    struct fix *f = *state;
    struct err e;
    char text[2001];
    for (size_t i = 0; i < 1000; i++)
        memcpy(text + 2 * i, "\xc3\xa4", 2);
    add_page(f, "a", "ann", true);
    struct link_job job = take_link(f, f->s, LINK_LANE_REDDIT);
    const struct link_result r = {.id = job.id,
                                  .token = job.token,
                                  .task = LINK_REDDIT,
                                  .status = LINK_FAILED,
                                  .error = {text, 2000}};
    assert_ok(store_link_save(f->s, &r, &e));
    assert_int_equal(qi(f, "SELECT length(reddit_error) FROM link_processing"), 500);
}

static void links_work_retry(void **state) {
    struct fix *f = *state;
    struct err e;
    size_t n;
    int64_t id = add_page(f, "a", NULL, false);
    struct link_job job = take_link(f, f->s, LINK_LANE_REDDIT);
    assert_int_equal(save_link(f->s, &job, LINK_FAILED), V_OK);
    assert_int_equal(next_link(f, LINK_LANE_REDDIT), 0);
    assert_ok(store_link_retry(f->s, id, &n, &e));
    assert_int_equal(n, 1);
    assert_string_equal(states_of(f, id), "-|pending|pending|pending");
    assert_q("-|1700000000000", f, "SELECT reddit_error, waiting_since FROM link_processing");
    job = take_link(f, f->s, LINK_LANE_REDDIT);
    assert_true(job.id == id && job.attempts == 1);
    assert_ok(store_link_retry(f->s, id, &n, &e));
    assert_int_equal(n, 0);
    assert_int_equal(store_link_retry(f->s, 999, &n, &e), V_NOT_FOUND);
}

static void links_work_skip(void **state) {
    struct fix *f = *state;
    struct err e;
    size_t n;
    int64_t a = add_page(f, "a", NULL, false), b = add_page(f, "b", NULL, false);
    int64_t c = add_page(f, "c", NULL, true);
    struct link_job held = take_link(f, f->s, LINK_LANE_SUMMARY);
    assert_int_equal(held.id, c);
    assert_ok(store_link_skip(f->s, LINK_SUMMARY, LINK_WHY_BUDGET, 1, &n, &e));
    assert_int_equal(n, 1);
    assert_ok(store_link_skip(f->s, LINK_SUMMARY, LINK_WHY_BUDGET, 10, &n, &e));
    assert_int_equal(n, 1);
    assert_string_equal(states_of(f, a), "-|pending|pending|skipped");
    assert_string_equal(states_of(f, c), "-|pending|pending|pending");
    x(f, "UPDATE link_processing SET summary_error = '" LINK_WHY_NO_KEY "' WHERE link_id = %lld",
      (long long)b);
    assert_ok(store_link_unskip(f->s, LINK_SUMMARY, LINK_WHY_BUDGET, 10, &n, &e));
    assert_int_equal(n, 1);
    assert_string_equal(states_of(f, a), "-|pending|pending|pending");
    assert_string_equal(states_of(f, b), "-|pending|pending|skipped");
    assert_int_equal(next_link(f, LINK_LANE_SUMMARY), a);
    assert_int_equal(store_link_skip(f->s, LINK_REVERSE, LINK_WHY_BUDGET, 1, &n, &e), V_INVALID);
}

/* T0 is the 14th of November 2023. */
static void links_work_budget(void **state) {
    struct fix *f = *state;
    struct err e;
    struct link_spend first, spend;
    assert_ok(store_spend_get(f->s, STR("anthropic"), &spend, &e));
    assert_true(spend.spent == 0 && spend.renews_at == INT64_C(1701388800000));
    assert_ok(store_spend_reserve(f->s, STR("anthropic"), 600, 1000, &first, &e));
    assert_int_equal(first.spent, 600);
    assert_int_equal(store_spend_reserve(f->s, STR("anthropic"), 600, 1000, &spend, &e), V_LIMIT);
    assert_int_equal(spend.spent, 600);
    assert_ok(store_spend_settle(f->s, STR("anthropic"), &first, 600, 250, &e));
    assert_ok(store_spend_reserve(f->s, STR("anthropic"), 750, 1000, &spend, &e));
    assert_int_equal(spend.spent, 1000);
    fix_set_now(f, INT64_C(1701388800000));
    assert_ok(store_spend_get(f->s, STR("anthropic"), &spend, &e));
    assert_true(spend.spent == 0 && spend.renews_at == INT64_C(1704067200000));
    assert_ok(store_spend_reserve(f->s, STR("anthropic"), 10, 1000, &spend, &e));
    assert_ok(store_spend_settle(f->s, STR("anthropic"), &first, 600, 0, &e)); /* of last month */
    assert_ok(store_spend_get(f->s, STR("anthropic"), &spend, &e));
    assert_int_equal(spend.spent, 10);
}

static void links_work_counts(void **state) {
    struct fix *f = *state;
    struct err e;
    struct link_counts c;
    add_page(f, "a", "ann", true);
    fix_advance(f, 5000);
    add_page(f, "b", NULL, false);
    struct link_job job = take_link(f, f->s, LINK_LANE_REDDIT);
    assert_int_equal(save_link(f->s, &job, LINK_NOT_FOUND), V_OK);
    assert_ok(store_link_count(f->s, &c, &e));
    assert_int_equal(c.tasks[LINK_REDDIT][LINK_PENDING], 1);
    assert_int_equal(c.tasks[LINK_REDDIT][LINK_NOT_FOUND], 1);
    assert_int_equal(c.tasks[LINK_HN][LINK_PENDING], 2);
    assert_int_equal(c.tasks[LINK_REVERSE][LINK_NONE], 2);
    assert_int_equal(c.oldest_pending_ms[LINK_HN], 5000);
    assert_int_equal(c.oldest_pending_ms[LINK_REDDIT], 0);
    assert_int_equal(c.waiting, 1);
}

int link_work_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(links_work_in_order),
        CASE(links_work_waiting_ends),
        CASE(links_work_submitters_take_turns),
        CASE(links_work_ages),
        CASE(links_work_lanes_of_sites),
        CASE(links_work_10000_behind_one_who_waits),
        CASE(links_work_places),
        CASE(links_work_one_winner),
        CASE(links_work_many_takers),
        CASE(links_work_zombie),
        CASE(links_work_release),
        CASE(links_work_results),
        CASE(links_work_wrong_results),
        CASE(links_work_long_errors),
        CASE(links_work_retry),
        CASE(links_work_skip),
        CASE(links_work_budget),
        CASE(links_work_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
