/* The worker of links, as several processes in one virtual time: how each task ends, what waits for
 * what, what is given back, and that limits hold for all of them together. */
#include "fixture_link_engine.h"

#include <string.h>

static const char *error_of(struct fix *f, int64_t id, const char *task) {
    return q(f, "SELECT %s_error FROM link_processing WHERE link_id = %lld", task, (long long)id);
}

static void worker_each_lane_completes(void **state) {
    struct web *w = web_new(*state, NULL, NULL);
    int64_t r = add_page(w->f, "r1", "ann", true), h = add_page(w->f, "h1", "ann", true);
    web_engine(w);
    web_drain(w, 60000, 50);
    assert_string_equal(states_of(w->f, r), "-|completed|not_found|completed");
    assert_string_equal(states_of(w->f, h), "-|not_found|completed|completed");
    assert_q("reddit|abc|On Reddit|5|2|x", w->f,
             "SELECT platform, external_id, title, score, num_comments, subreddit FROM "
             "external_discussions WHERE link_id = %lld",
             (long long)r);
    assert_q("hackernews|7|A story|9|4|-", w->f,
             "SELECT platform, external_id, title, score, num_comments, subreddit FROM "
             "external_discussions WHERE link_id = %lld",
             (long long)h);
    assert_q("The page|In short.", w->f, "SELECT title, summary FROM links WHERE id = %lld",
             (long long)r);
    assert_int_equal(w->n[WEB_REDDIT], 2);
    assert_int_equal(w->n[WEB_HN], 2);
    assert_int_equal(w->n[WEB_ANTHROPIC], 2);
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM claims WHERE state = 'held'"), 0);
    web_free(w);
}

static void check_reverse(struct fix *f, const char *url, const char *states, const char *article,
                          size_t calls) {
    struct web *w = web_new(f, NULL, NULL);
    int64_t id = add_link(f, url, "ann", true);
    web_engine(w);
    web_run(w, 4000, 50); /* four seconds, and a share link needs two calls */
    if (calls > 1)
        web_run(w, 8000, 50);
    assert_string_equal(states_of(f, id), states);
    assert_q(article, f,
             "SELECT a.url FROM link_processing p JOIN links a ON a.id = "
             "p.reverse_lookup_target_id WHERE p.link_id = %lld",
             (long long)id);
    assert_q("discussion-ref", f, "SELECT source FROM links WHERE id = %lld", (long long)id);
    web_drain(w, 120000, 100);
    web_free(w);
}

static void worker_reverse_of_reddit(void **state) {
    check_reverse(*state, "https://www.reddit.com/r/x/comments/abc/on_reddit/",
                  "completed|skipped|skipped|skipped", "https://example.com/r-abc", 1);
}

static void worker_reverse_of_a_share_link(void **state) {
    check_reverse(*state, "https://www.reddit.com/r/x/s/Go1", "completed|skipped|skipped|skipped",
                  "https://example.com/r-abc", 2);
}

static void worker_reverse_of_hn(void **state) {
    check_reverse(*state, "https://news.ycombinator.com/item?id=7",
                  "completed|skipped|skipped|skipped", "https://example.com/h7", 1);
}

static void worker_reverse_of_a_comment(void **state) {
    check_reverse(*state, "https://news.ycombinator.com/item?id=9",
                  "completed|skipped|skipped|skipped", "https://example.com/h7", 2);
}

static void worker_reverse_without_an_article(void **state) {
    struct web *w = web_new(*state, NULL, NULL);
    int64_t self = add_link(w->f, "https://redd.it/self", "ann", true);
    int64_t hn = add_link(w->f, "https://news.ycombinator.com/item?id=8", "ann", true);
    web_engine(w);
    web_drain(w, 30000, 50);
    assert_string_equal(states_of(w->f, self), "not_found|skipped|skipped|skipped");
    assert_string_equal(states_of(w->f, hn), "not_found|skipped|skipped|skipped");
    assert_q("discussion-ref discussion-ref", w->f, "SELECT source FROM links ORDER BY id");
    web_free(w);
}

struct moods {
    struct {
        long status;
        const char *body;
        int64_t retry_after_ms;
        enum visit_class visit;
    } of[WEB_WHOS];
};

static void in_moods(void *ctx, const struct web_call *c, struct web_answer *ret) {
    const struct moods *m = ctx;
    web_kind(NULL, c, ret);
    if (m->of[c->who].status == 0 && !m->of[c->who].visit)
        return;
    ret->status = m->of[c->who].status < 0 ? 0 : m->of[c->who].status;
    ret->body = m->of[c->who].body;
    ret->retry_after_ms = m->of[c->who].retry_after_ms;
    ret->visit = m->of[c->who].visit;
}

/* Each provider in turn is away for an hour: nothing of its own is lost or believed to be absent,
 * and the others do not notice. */
static void check_outage(struct fix *f, enum web_who who, long status) {
    struct moods m = {0};
    struct web *w = web_new(f, in_moods, &m);
    m.of[who].status = status;
    m.of[who].retry_after_ms = -1;
    for (int i = 0; i < 8; i++) {
        char name[16];
        snprintf(name, sizeof name, "r%d", i);
        add_page(f, name, "ann", false);
    }
    web_engine(w);
    web_run(w, 1800000, 2000);
    static const char *const columns[] = {"reddit_status", "hn_status", "summary_status"};
    for (int i = 0; i < 3; i++) {
        int64_t open =
            qi(f, "SELECT COUNT(*) FROM link_processing WHERE %s = 'pending'", columns[i]);
        assert_int_equal(open, i == (int)who ? 8 : 0);
    }
    assert_in_range(w->n[who], 1, 120); /* it was left alone */
    m.of[who].status = 0;
    web_drain(w, 3 * 3600000, 2000);
    assert_q("completed|not_found|completed", f,
             "SELECT DISTINCT reddit_status, hn_status, summary_status FROM link_processing");
    web_free(w);
}

static void worker_reddit_is_away(void **state) {
    check_outage(*state, WEB_REDDIT, -1);
}

static void worker_hn_is_ill(void **state) {
    check_outage(*state, WEB_HN, 500);
}

static void worker_anthropic_is_overloaded(void **state) {
    check_outage(*state, WEB_ANTHROPIC, 529);
}

static void worker_a_limit_reached_blocks_no_other(void **state) {
    struct moods m = {0};
    struct web *w = web_new(*state, in_moods, &m);
    m.of[WEB_REDDIT].status = 429;
    m.of[WEB_REDDIT].retry_after_ms = 600000;
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "h%d", i);
        add_page(w->f, name, "ann", true);
    }
    web_engine(w);
    web_run(w, 590000, 1000);
    assert_int_equal(w->n[WEB_REDDIT], 1); /* Retry-After is the lane's */
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM link_processing WHERE reddit_status = "
                              "'pending' AND hn_status = 'completed' AND summary_status = "
                              "'completed'"),
                     5);
    assert_int_equal(qi(w->f, "SELECT MAX(attempts) FROM claims WHERE source = 'links:reddit'"), 0);
    m.of[WEB_REDDIT].status = 0;
    web_drain(w, 120000, 200);
    web_free(w);
}

static void worker_a_refusal_pauses_and_burns_nothing(void **state) {
    struct moods m = {0};
    struct web *w = web_new(*state, in_moods, &m);
    struct err e;
    m.of[WEB_ANTHROPIC].status = 401;
    m.of[WEB_ANTHROPIC].body = "{\"type\":\"error\",\"error\":{\"type\":\"authentication_error\","
                               "\"message\":\"invalid x-api-key\"}}";
    int64_t id = add_page(w->f, "r1", "ann", true);
    size_t a = web_engine(w);
    web_run(w, 600000, 1000);
    assert_int_equal(w->n[WEB_ANTHROPIC], 1);
    assert_in_range(w->n[WEB_PAGE], 1, 2); /* no pages are fetched for a lane that is paused */
    assert_string_equal(states_of(w->f, id), "-|completed|not_found|pending");
    assert_int_equal(qi(w->f, "SELECT MAX(attempts) FROM claims WHERE source = 'links:summary'"),
                     0);
    assert_string_equal(link_engine_refused(w->engines[a]), "anthropic");
    m.of[WEB_ANTHROPIC].status = 0;
    assert_ok(store_lane_resume(w->f->s, STR("anthropic"), &e));
    web_drain(w, 60000, 100);
    assert_string_equal(states_of(w->f, id), "-|completed|not_found|completed");
    web_free(w);
}

/* Trouble of one task while others do well ends in a failure with its message. */
static void one_is_bad(void *ctx UNUSED, const struct web_call *c, struct web_answer *ret) {
    web_kind(NULL, c, ret);
    if (c->who == WEB_REDDIT && memmem(c->path.p, c->path.n, "rbad", 4))
        ret->status = 500;
}

static void worker_a_bad_task_fails_alone_and_is_retried(void **state) {
    struct web *w = web_new(*state, one_is_bad, NULL);
    struct err e;
    size_t n;
    int64_t bad = add_page(w->f, "rbad", "ann", false);
    web_engine(w);
    for (int i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "r%d", i);
        add_page(w->f, name, "bob", false);
        web_run(w, 30000, 1500);
    }
    assert_string_equal(states_of(w->f, bad), "-|failed|not_found|completed");
    assert_non_null(strstr(error_of(w->f, bad, "reddit"), "500"));
    assert_int_equal(
        qi(w->f, "SELECT COUNT(*) FROM link_processing WHERE reddit_status = 'failed'"), 1);
    w->script = web_kind;
    assert_ok(store_link_retry(w->f->s, bad, &n, &e));
    assert_int_equal(n, 1);
    web_run(w, 10000, 100);
    assert_string_equal(states_of(w->f, bad), "-|completed|not_found|completed");
    web_free(w);
}

/* --- articles and money --- */

static void check_page(struct fix *f, struct moods *m, const char *status, const char *why) {
    struct web *w = web_new(f, in_moods, m);
    int64_t id = add_page(f, "r1", "ann", true);
    web_engine(w);
    web_drain(w, 3600000, 500);
    assert_q(status, f, "SELECT summary_status FROM link_processing WHERE link_id = %lld",
             (long long)id);
    assert_non_null(strstr(error_of(f, id, "summary"), why));
    assert_int_equal(w->n[WEB_ANTHROPIC], 0);
    web_free(w);
}

static void worker_an_article_that_is_gone(void **state) {
    struct moods m = {.of[WEB_PAGE] = {404, "", -1, VISIT_GONE}};
    check_page(*state, &m, "failed", "cannot be read");
}

static void worker_an_article_without_text(void **state) {
    struct moods m = {.of[WEB_PAGE] = {200, "<html><body></body></html>", -1, VISIT_OK}};
    check_page(*state, &m, "skipped", "no text");
}

static void worker_an_article_that_is_none(void **state) {
    struct moods m = {.of[WEB_PAGE] = {200, "", -1, VISIT_NOT_HTML}};
    check_page(*state, &m, "skipped", "no page");
}

static void worker_an_article_that_cannot_be_had_now(void **state) {
    struct moods m = {.of[WEB_PAGE] = {503, "", -1, VISIT_LATER}};
    check_page(*state, &m, "failed", "cannot be read now");
}

static void worker_a_page_the_guard_refuses(void **state) {
    struct web *w = web_new(*state, NULL, NULL);
    int64_t id = add_link(w->f, "http://127.0.0.1/x", "ann", true);
    web_engine(w);
    web_drain(w, 60000, 100);
    assert_non_null(strstr(error_of(w->f, id, "summary"), "loopback"));
    assert_q("failed", w->f, "SELECT summary_status FROM link_processing");
    assert_int_equal(w->n[WEB_PAGE], 0);
    web_free(w);
}

static void worker_without_a_key_summaries_are_skipped(void **state) {
    struct web *w = web_new(*state, NULL, NULL);
    w->no_key = true;
    int64_t id = add_page(w->f, "r1", "ann", true);
    size_t a = web_engine(w);
    web_drain(w, 30000, 100);
    assert_string_equal(states_of(w->f, id), "-|completed|not_found|skipped");
    assert_string_equal(error_of(w->f, id, "summary"), LINK_WHY_NO_KEY);
    assert_int_equal(w->n[WEB_PAGE] + w->n[WEB_ANTHROPIC], 0);
    web_kill(w, a);
    w->no_key = false; /* then one is configured */
    web_engine(w);
    web_run(w, 5000, 100);
    assert_string_equal(states_of(w->f, id), "-|completed|not_found|completed");
    web_free(w);
}

/* A summary costs 200 (100 and 20 tokens), and at most 3,000 and something is set aside. */
static void worker_a_spent_budget(void **state) {
    struct web *w = web_new(*state, NULL, NULL);
    w->budget.monthly = 7200;
    for (int i = 0; i < 12; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        add_page(w->f, name, "ann", false);
    }
    web_engine(w);
    web_drain(w, 120000, 100);
    int64_t done = qi(w->f, "SELECT COUNT(*) FROM link_processing WHERE summary_status = "
                            "'completed'"),
            skipped = qi(w->f,
                         "SELECT COUNT(*) FROM link_processing WHERE summary_status = 'skipped' "
                         "AND summary_error = '%s'",
                         LINK_WHY_BUDGET);
    assert_in_range(done, 1, 11);
    assert_int_equal(done + skipped, 12);
    assert_int_equal(w->n[WEB_ANTHROPIC], done);
    assert_int_equal(qi(w->f, "SELECT spent FROM providers WHERE name = 'anthropic'"), 200 * done);
    for (int day = 0; day < 32; day++) { /* and then it renews */
        fix_advance(w->f, 86400000);
        web_run(w, 1000, 500);
    }
    web_run(w, 60000, 100);
    assert_true(qi(w->f, "SELECT COUNT(*) FROM link_processing WHERE summary_status = "
                         "'completed'") > done);
    web_free(w);
}

static void money_is_spent(void *ctx UNUSED, const struct web_call *c, struct web_answer *ret) {
    web_kind(NULL, c, ret);
    if (c->who != WEB_ANTHROPIC)
        return;
    ret->status = 429;
    ret->body = "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":"
                "\"enforced_spend_limit_reached\"}}";
}

static void worker_the_provider_says_it_is_spent(void **state) {
    struct web *w = web_new(*state, money_is_spent, NULL);
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "p%d", i);
        add_page(w->f, name, "ann", false);
    }
    web_engine(w);
    web_drain(w, 120000, 100);
    assert_int_equal(w->n[WEB_ANTHROPIC], 1);
    assert_q("skipped|" LINK_WHY_BUDGET, w->f,
             "SELECT DISTINCT summary_status, summary_error FROM link_processing");
    web_free(w);
}

/* --- Reddit's token --- */

struct tokens {
    size_t asked, with_token, old;
};

static void count_tokens(void *ctx, const struct web_call *c, struct web_answer *ret) {
    struct tokens *t = ctx;
    web_kind(NULL, c, ret);
    if (c->who != WEB_REDDIT)
        return;
    bool is_ask = memmem(c->path.p, c->path.n, "access_token", 12) != NULL;
    t->asked += is_ask;
    t->with_token += !is_ask && memmem(c->auth.p, c->auth.n, "t0ken", 5) != NULL;
    if (!is_ask && t->old) {
        t->old--;
        ret->status = 401;
        ret->body = "{\"message\":\"Unauthorized\",\"error\":401}";
    }
}

static void worker_a_token_is_kept_until_it_expires(void **state) {
    struct tokens t = {0};
    struct web *w = web_new(*state, count_tokens, &t);
    w->oauth = true;
    for (int i = 0; i < 6; i++) {
        char name[16];
        snprintf(name, sizeof name, "r%d", i);
        add_page(w->f, name, "ann", false);
    }
    web_engine(w);
    web_drain(w, 60000, 100);
    assert_int_equal(t.asked, 1);
    assert_int_equal(t.with_token, 6);
    fix_advance(w->f, 3600000);
    t.old = 1; /* the new one is withdrawn at once */
    int64_t id = add_page(w->f, "rlate", "ann", true);
    web_run(w, 20000, 100);
    assert_int_equal(t.asked, 3);
    assert_string_equal(states_of(w->f, id), "-|completed|not_found|completed");
    assert_q("-", w->f, "SELECT paused FROM providers WHERE name = 'reddit'");
    web_free(w);
}

/* --- the mirror --- */

static void worker_a_complete_mirror_answers_without_a_turn(void **state) {
    struct web *w = web_new(*state, NULL, NULL);
    store_item(w->f, T0,
               "{'id':11,'type':'story','title':'Here','url':'https://example.com/h1',"
               "'time':9,'score':5,'descendants':2}");
    x(w->f, "UPDATE updater_state SET floor_id = 1, frontier_excluding_waiting = 40000,"
            " maxitem = 40010");
    int64_t id = add_page(w->f, "h1", "ann", true);
    for (int i = 0; i < 60; i++) {
        char name[16];
        snprintf(name, sizeof name, "h-other%d", i);
        add_page(w->f, name, "ann", false);
    }
    web_engine(w);
    web_run(w, 4000, 100); /* far more than there are turns for */
    assert_int_equal(w->n[WEB_HN], 0);
    assert_q("completed not_found", w->f,
             "SELECT DISTINCT hn_status FROM link_processing ORDER BY hn_status");
    assert_q("11|Here|5|2", w->f,
             "SELECT external_id, title, score, num_comments FROM external_discussions WHERE "
             "platform = 'hackernews' AND link_id = %lld",
             (long long)id);
    web_free(w);
}

/* --- processes --- */

static void many_links(struct fix *f, int n) {
    long long from = T0 - 40000000;
    if (fix_kind == DB_POSTGRES)
        x(f,
          "INSERT INTO links (url, url_key, source, submitted_by, created_at) SELECT "
          "'https://example.com/b' || i, 'example.com/b' || i, 'hn-story', 'auto', %lld + i "
          "FROM generate_series(1, %d) AS i",
          from, n);
    else
        x(f,
          "INSERT INTO links (url, url_key, source, submitted_by, created_at) "
          "WITH RECURSIVE s(i, t) AS (SELECT 1, %lld UNION ALL SELECT i + 1, t + 1 FROM s WHERE "
          "i < %d) SELECT 'https://example.com/b' || i, 'example.com/b' || i, 'hn-story', 'auto', "
          "t FROM s",
          from, n);
    x(f, "INSERT INTO link_processing (link_id, created_at) SELECT id, created_at FROM links");
}

static void worker_who_waits_is_first_among_ten_thousand(void **state) {
    struct web *w = web_new(*state, NULL, NULL);
    many_links(w->f, 10000);
    web_engine(w);
    web_run(w, 30000, 200);
    size_t before[WEB_WHOS];
    memcpy(before, w->n, sizeof before);
    int64_t id = add_page(w->f, "rwait", "ann", true);
    for (int i = 0;
         i < 100 && (w->n[WEB_REDDIT] == before[WEB_REDDIT] || w->n[WEB_HN] == before[WEB_HN]); i++)
        web_run(w, 100, 100);
    assert_non_null(strstr(w->last[WEB_REDDIT], "rwait")); /* the very next call of each */
    assert_non_null(strstr(w->last[WEB_HN], "rwait"));
    web_run(w, 10000, 100);
    assert_string_equal(states_of(w->f, id), "-|completed|not_found|completed");
    web_free(w);
}

static void worker_a_restart_goes_on(void **state) {
    struct web *w = web_new(*state, NULL, NULL);
    many_links(w->f, 12);
    size_t a = web_engine(w);
    web_run(w, 5000, 100);
    int64_t left = web_pending(w);
    assert_in_range(left, 1, 12);
    web_kill(w, a); /* whatever it held is held by nobody */
    web_engine(w);
    web_drain(w, 900000, 500);
    assert_q("not_found|not_found|completed", w->f,
             "SELECT DISTINCT reddit_status, hn_status, summary_status FROM link_processing");
    web_free(w);
}

static void slow(void *ctx UNUSED, const struct web_call *c, struct web_answer *ret) {
    web_kind(NULL, c, ret);
    ret->takes_ms = 15000;
}

static void worker_a_stop_gives_back_without_spending(void **state) {
    struct web *w = web_new(*state, slow, NULL);
    struct err e;
    many_links(w->f, 12);
    size_t a = web_engine(w);
    web_run(w, 10000, 100);
    assert_true(qi(w->f, "SELECT COUNT(*) FROM claims WHERE state = 'held'") >= 6);
    assert_ok(link_engine_stop(w->engines[a], &e));
    assert_int_equal(qi(w->f, "SELECT COUNT(*) FROM claims WHERE attempts > 0 OR state = 'held'"),
                     0);
    web_free(w);
}

int link_engine_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(worker_each_lane_completes),
        CASE(worker_reverse_of_reddit),
        CASE(worker_reverse_of_a_share_link),
        CASE(worker_reverse_of_hn),
        CASE(worker_reverse_of_a_comment),
        CASE(worker_reverse_without_an_article),
        CASE(worker_reddit_is_away),
        CASE(worker_hn_is_ill),
        CASE(worker_anthropic_is_overloaded),
        CASE(worker_a_limit_reached_blocks_no_other),
        CASE(worker_a_refusal_pauses_and_burns_nothing),
        CASE(worker_a_bad_task_fails_alone_and_is_retried),
        CASE(worker_an_article_that_is_gone),
        CASE(worker_an_article_without_text),
        CASE(worker_an_article_that_is_none),
        CASE(worker_an_article_that_cannot_be_had_now),
        CASE(worker_a_page_the_guard_refuses),
        CASE(worker_without_a_key_summaries_are_skipped),
        CASE(worker_a_spent_budget),
        CASE(worker_the_provider_says_it_is_spent),
        CASE(worker_a_token_is_kept_until_it_expires),
        CASE(worker_a_complete_mirror_answers_without_a_turn),
        CASE(worker_who_waits_is_first_among_ten_thousand),
        CASE(worker_a_restart_goes_on),
        CASE(worker_a_stop_gives_back_without_spending),
    };
    return cmocka_run_group_tests_name("the worker of links", tests, NULL, NULL);
}
