/* From a discussion to the article behind it. */
#include "fixture_links.h"

#include <string.h>

static struct link_job discussion(struct fix *f, const char *url, const char *by) {
    int64_t id = add_link(f, url, by, true);
    struct link_job job =
        take_link(f, f->s, strstr(url, "redd.it") ? LINK_LANE_REDDIT : LINK_LANE_HN);
    assert_true(job.id == id && job.task == LINK_REVERSE);
    return job;
}

#define HN(n) "https://news.ycombinator.com/item?id=" #n

static void links_land_on_a_new_article(void **state) {
    struct fix *f = *state;
    int64_t article;
    struct link_job job = discussion(f, HN(1), "ann");
    fix_advance(f, 700);
    assert_int_equal(land_link(f->s, &job, "https://example.com/article", &article), V_OK);
    assert_true(article > job.id);
    assert_string_equal(states_of(f, job.id), "completed|skipped|skipped|skipped");
    assert_q("it is a discussion|-|-", f,
             "SELECT summary_error, waiting_since, rescan_at FROM link_processing"
             " WHERE link_id = %lld",
             (long long)job.id);
    assert_int_equal(qi(f,
                        "SELECT reverse_lookup_target_id FROM link_processing WHERE link_id ="
                        " %lld",
                        (long long)job.id),
                     article);
    assert_string_equal(source_of(f, job.id), "discussion-ref|2");
    assert_string_equal(source_of(f, article), "reverse-lookup|-");
    assert_string_equal(states_of(f, article), "-|pending|pending|pending");
    assert_q("ann|1700000000700", f,
             "SELECT submitter, waiting_since FROM link_processing WHERE link_id = %lld",
             (long long)article);
    assert_q("2|hackernews|t1", f,
             "SELECT link_id, platform, external_id FROM external_discussions");
    assert_q("An article|A thread", f,
             "SELECT a.title, d.title FROM links a, links d WHERE a.id = 2 AND d.id = 1");
    assert_int_equal(next_link(f, LINK_LANE_SUMMARY), article);
    assert_int_equal(next_link(f, LINK_LANE_SUMMARY), 0); /* not of the discussion */
}

static void links_land_on_one_that_is_there(void **state) {
    struct fix *f = *state;
    int64_t article, there = add_page(f, "article", NULL, false);
    struct link_job job = discussion(f, HN(1), "ann");
    assert_int_equal(
        land_link(f->s, &job, "http://www.example.com/article?utm_source=hn", &article), V_OK);
    assert_int_equal(article, there);
    assert_q("gathered", f, "SELECT source FROM links WHERE id = %lld", (long long)there);
    assert_q("ann|1700000000000", f,
             "SELECT submitter, waiting_since FROM link_processing WHERE link_id = %lld",
             (long long)there);
    /* another discussion of it */
    job = discussion(f, "https://redd.it/abc", "bob");
    assert_int_equal(land_link(f->s, &job, "https://example.com/article", &article), V_OK);
    assert_int_equal(article, there);
    assert_q("hackernews reddit", f,
             "SELECT platform FROM external_discussions WHERE link_id = %lld ORDER BY 1",
             (long long)there);
}

static void links_land_nowhere(void **state) {
    struct fix *f = *state;
    struct link_job job = discussion(f, HN(1), "ann");
    assert_int_equal(save_link(f->s, &job, LINK_NOT_FOUND), V_OK); /* Ask HN */
    assert_string_equal(states_of(f, job.id), "not_found|skipped|skipped|skipped");
    assert_string_equal(source_of(f, job.id), "discussion-ref|-");
    for (int lane = 0; lane < LINK_LANES; lane++)
        assert_int_equal(next_link(f, (enum link_lane)lane), 0);
    assert_int_equal(add_link(f, HN(1), "bob", true), job.id);
    assert_string_equal(states_of(f, job.id), "not_found|skipped|skipped|skipped");
}

static void links_land_in_no_circle(void **state) {
    struct fix *f = *state;
    int64_t article;
    struct link_job a = discussion(f, HN(1), "ann");
    assert_int_equal(land_link(f->s, &a, "http://news.ycombinator.com/item?id=1", &article), V_OK);
    assert_int_equal(article, 0); /* it is its own article */
    assert_string_equal(states_of(f, a.id), "not_found|skipped|skipped|skipped");
    assert_string_equal(source_of(f, a.id), "discussion-ref|-");
    struct link_job b = discussion(f, HN(2), "ann");
    assert_int_equal(land_link(f->s, &b, HN(3), &article), V_OK);
    assert_string_equal(states_of(f, article), "pending|pending|pending|pending");
    struct link_job c = take_link(f, f->s, LINK_LANE_HN);
    assert_true(c.id == article && c.task == LINK_REVERSE);
    assert_int_equal(land_link(f->s, &c, HN(4), &article), V_OK);
    struct link_job d = take_link(f, f->s, LINK_LANE_HN);
    assert_int_equal(d.id, article);
    assert_int_equal(land_link(f->s, &d, HN(2), &article), V_OK); /* 2, 3, 4, and 2 again */
    assert_int_equal(article, 0);
    assert_string_equal(states_of(f, d.id), "not_found|skipped|skipped|skipped");
}

static void links_land_too_late(void **state) {
    struct fix *f = *state;
    struct err e;
    size_t n;
    int64_t article;
    struct link_job job = discussion(f, HN(1), "ann");
    fix_advance(f, LEASE_OF_LINKS + SWEEP_GRACE_MS + 1);
    assert_ok(store_link_sweep(f->s, 10, &n, &e));
    assert_int_equal(land_link(f->s, &job, "https://example.com/a", &article), V_CONFLICT);
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM links"), 1);
    assert_string_equal(states_of(f, job.id), "pending|pending|pending|pending");
    job = take_link(f, f->s, LINK_LANE_HN);
    assert_int_equal(land_link(f->s, &job, "mailto:a@example.com", &article), V_INVALID);
    assert_int_equal(land_link(f->s, &job, "https://example.com/a", &article), V_OK);
    assert_int_equal(land_link(f->s, &job, "https://example.com/a", &article), V_CONFLICT);
}

/* A task of the discussion that someone works on ends in vain. */
static void links_land_while_others_work(void **state) {
    struct fix *f = *state;
    int64_t article;
    struct store *other = fix_open(f);
    struct link_job reverse = discussion(f, HN(1), "ann");
    assert_int_equal(save_link(f->s, &reverse, LINK_FAILED), V_OK);
    struct link_job reddit = take_link(f, other, LINK_LANE_REDDIT);
    assert_true(reddit.id == reverse.id && reddit.task == LINK_REDDIT);
    x(f, "UPDATE link_processing SET reverse_lookup_status = 'pending'");
    reverse = take_link(f, f->s, LINK_LANE_HN);
    assert_int_equal(land_link(f->s, &reverse, "https://example.com/a", &article), V_OK);
    assert_int_equal(save_found(other, &reddit, "late"), V_CONFLICT);
    assert_string_equal(states_of(f, reverse.id), "completed|skipped|skipped|skipped");
    assert_q("t1", f, "SELECT external_id FROM external_discussions");
}

/* Whatever fails in between, nothing of it is there. */
static void links_land_wholly_or_not(void **state) {
    struct fix *f = *state;
    int64_t article;
    struct link_job job = discussion(f, HN(1), "ann");
    const char *before = dump(f);
    fault_setup("db_before_commit:1:fail");
    assert_int_equal(land_link(f->s, &job, "https://example.com/a", &article), V_RETRY);
    assert_string_equal(dump(f), before);
    assert_int_equal(land_link(f->s, &job, "https://example.com/a", &article), V_OK);
}

int link_land_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(links_land_on_a_new_article), CASE(links_land_on_one_that_is_there),
        CASE(links_land_nowhere),          CASE(links_land_in_no_circle),
        CASE(links_land_too_late),         CASE(links_land_while_others_work),
        CASE(links_land_wholly_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
