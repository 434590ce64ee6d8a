/* Upkeep of links: rows that are missing, lookups that are due again, keys of older rules, two that
 * are one. */
#include "fixture_links.h"

#include "db/db_int.h"
#include "hn/url_key.h"
#include "store/links_int.h"

#include <stdio.h>
#include <string.h>

#define HOUR INT64_C(3600000)
#define DAY (24 * HOUR)

static void link_row(struct fix *f, int id, const char *key, const char *source, const char *by,
                     const char *summary) {
    x(f,
      "INSERT INTO links (id, url, url_key, source, submitted_by, summary, created_at,"
      " key_version) VALUES (%d, 'https://%s', '%s', '%s', %s, %s, %lld, %d)",
      id, key, key, source, by, summary, (long long)(T0 - 2 * DAY), URL_KEY_VERSION);
}

static size_t backfill(struct fix *f, size_t max) {
    struct err e;
    int64_t after = 0;
    size_t all = 0, n;
    enum verdict v;
    while ((v = store_link_backfill(f->s, &after, max, &n, &e)) == V_OK)
        all += n;
    assert_int_equal(v, V_NOT_FOUND);
    return all;
}

/* --- backfill --- */

static void links_upkeep_backfill(void **state) {
    struct fix *f = *state;
    link_row(f, 1, "example.com/1", "agent", "'ann'", "NULL");
    link_row(f, 2, "example.com/2", "gathered", "'auto'", "'What it says.'");
    link_row(f, 3, "example.com/3", "gathered", "''", "''");
    link_row(f, 4, "example.com/4", "auto-parent", "'auto'", "NULL");
    link_row(f, 5, "example.com/5", "discussion-ref", "'ann'", "NULL");
    link_row(f, 6, "example.com/6", "gathered", "'gatherer'", "NULL");
    link_row(f, 7, "news.ycombinator.com/item?id=7", "agent", "NULL", "NULL");
    link_row(f, 8, "example.com/8", "gathered", "'bob'", "NULL");
    x(f, "INSERT INTO link_processing (link_id, reddit_status, hn_status, created_at, updated_at)"
         " VALUES (8, 'failed', 'not_found', 1, 2)");
    x(f, "INSERT INTO external_discussions (link_id, platform, external_id, external_url) VALUES"
         " (1, 'reddit', 'a', 'u'), (2, 'hackernews', '9', 'u'), (6, 'reddit', 'b', 'u'),"
         " (6, 'hackernews', '8', 'u'), (8, 'reddit', 'c', 'u')");
    assert_int_equal(backfill(f, 3), 5);
    assert_q("1|-|completed|pending|pending|ann 2|-|pending|completed|completed|- "
             "3|-|pending|pending|pending|- 6|-|completed|completed|pending|- "
             "7|pending|pending|pending|pending|agent 8|-|failed|not_found|pending|-",
             f,
             "SELECT link_id, reverse_lookup_status, reddit_status, hn_status, summary_status,"
             " submitter FROM link_processing ORDER BY link_id");
    assert_q("1|1700000000000|-|- 2|-|1700000000000|1700000000000 8|-|-|-", f,
             "SELECT link_id, reddit_checked_at, hn_checked_at, summary_generated_at"
             " FROM link_processing WHERE link_id IN (1, 2, 8) ORDER BY link_id");
    assert_q("1|2", f, "SELECT created_at, updated_at FROM link_processing WHERE link_id = 8");
    assert_int_equal(qi(f, "SELECT created_at FROM link_processing WHERE link_id = 1"),
                     T0 - 2 * DAY); /* it is no newer by that */
    assert_int_equal(qi(f, "SELECT rescan_at FROM link_processing WHERE link_id = 1"),
                     T0 + 5 * DAY);
    const char *before = dump(f);
    fix_advance(f, 1000);
    assert_int_equal(backfill(f, 100), 0);
    assert_string_equal(dump(f), before);
}

static void links_upkeep_repair(void **state) {
    struct fix *f = *state;
    struct err e;
    size_t n;
    int64_t article;
    int64_t id = add_link(f, "https://redd.it/abc", "ann", true);
    struct link_job job = take_link(f, f->s, LINK_LANE_REDDIT);
    assert_int_equal(land_link(f->s, &job, "https://example.com/a", &article), V_OK);
    struct link_job of_article = take_link(f, f->s, LINK_LANE_HN);
    assert_int_equal(of_article.id, article);
    assert_ok(store_link_repair(f->s, 100, &n, &e));
    assert_int_equal(n, 0);
    x(f, "%s DELETE FROM links WHERE id = %lld",
      fix_kind == DB_SQLITE ? "PRAGMA foreign_keys = ON;" : "", (long long)article);
    add_page(f, "b", NULL, false);
    x(f, "UPDATE link_processing SET reverse_lookup_status = 'pending' WHERE link_id <> %lld",
      (long long)id); /* by hand, and wrongly */
    assert_ok(store_link_repair(f->s, 100, &n, &e));
    assert_int_equal(n, 3); /* the lookup, the claim of what is gone, and what is no discussion */
    assert_string_equal(states_of(f, id), "pending|skipped|skipped|skipped");
    assert_string_equal(states_of(f, 3), "-|pending|pending|pending");
    assert_int_equal(save_found(f->s, &of_article, "x"), V_CONFLICT);
    assert_ok(store_link_repair(f->s, 100, &n, &e));
    assert_int_equal(n, 0);
    assert_int_equal(take_link(f, f->s, LINK_LANE_REDDIT).id, id);
}

/* --- again --- */

static size_t rescan(struct fix *f) {
    struct err e;
    size_t n;
    assert_ok(store_link_rescan(f->s, 100, &n, &e));
    return n;
}

static void look_up(struct fix *f, bool found) {
    struct link_job r = take_link(f, f->s, LINK_LANE_REDDIT), h = take_link(f, f->s, LINK_LANE_HN);
    assert_true(r.id && h.id);
    assert_int_equal(found ? save_found(f->s, &r, "x1") : save_link(f->s, &r, LINK_NOT_FOUND),
                     V_OK);
    assert_int_equal(save_link(f->s, &h, LINK_NOT_FOUND), V_OK);
}

static void links_upkeep_rescan(void **state) {
    static const int64_t after[] = {HOUR, DAY, 7 * DAY, 30 * DAY};
    struct fix *f = *state;
    int64_t id = add_page(f, "a", "ann", false);
    look_up(f, true);
    struct link_job s = take_link(f, f->s, LINK_LANE_SUMMARY);
    assert_int_equal(save_link(f->s, &s, LINK_COMPLETED), V_OK);
    for (size_t i = 0; i < ARRAY_LEN(after); i++) {
        fix_set_now(f, T0 + after[i] - 1);
        assert_int_equal(rescan(f), 0);
        fix_advance(f, 1);
        assert_int_equal(rescan(f), 1);
        assert_string_equal(states_of(f, id), "-|pending|pending|completed");
        assert_int_equal(qi(f, "SELECT rescans FROM link_processing"), (int64_t)i + 1);
        look_up(f, false); /* nothing this time: what was found before is still there */
        assert_string_equal(states_of(f, id), "-|completed|not_found|completed");
        assert_int_equal(qi(f, "SELECT reddit_checked_at FROM link_processing"), T0 + after[i]);
    }
    assert_q("-", f, "SELECT rescan_at FROM link_processing");
    fix_advance(f, 400 * DAY);
    assert_int_equal(rescan(f), 0);
}

/* What waits for its first look keeps its place; what failed is tried again; what slept through
 * some of it is not looked up for each. */
static void links_upkeep_rescan_of_others(void **state) {
    struct fix *f = *state;
    int64_t fresh = add_page(f, "fresh", "ann", false);
    fix_advance(f, HOUR);
    assert_int_equal(rescan(f), 1);
    assert_q("0", f, "SELECT rescans FROM link_processing");
    int64_t failed = add_page(f, "failed", "bob", false);
    x(f,
      "UPDATE link_processing SET reddit_status = 'failed', reddit_error = 'x',"
      " hn_status = 'skipped', summary_status = 'failed' WHERE link_id = %lld",
      (long long)failed);
    fix_advance(f, 8 * DAY);
    assert_int_equal(rescan(f), 2);
    assert_string_equal(states_of(f, failed), "-|pending|skipped|pending");
    assert_int_equal(
        qi(f, "SELECT rescan_at FROM link_processing WHERE link_id = %lld", (long long)failed),
        T0 + HOUR + 30 * DAY);
    assert_int_equal(rescan(f), 0);
    struct link_job job = take_link(f, f->s, LINK_LANE_REDDIT);
    assert_int_equal(job.id, fresh); /* first looks come first */
    job = take_link(f, f->s, LINK_LANE_REDDIT);
    assert_true(job.id == failed && job.rescan);
}

/* --- one of two --- */

static int64_t merge(struct fix *f, int64_t one, int64_t other) {
    struct err e;
    int64_t kept;
    assert_ok(store_link_merge(f->s, one, other, &kept, &e));
    return kept;
}

static void links_upkeep_merge(void **state) {
    struct fix *f = *state;
    struct err e;
    struct link link;
    struct link_processing p;
    int64_t a = add_page(f, "a", NULL, false), b = add_page(f, "b", "ann", false);
    x(f, "UPDATE links SET summary = 'What it says.' WHERE id = %lld", (long long)b);
    x(f,
      "UPDATE link_processing SET summary_status = 'completed', summary_generated_at = 5,"
      " reddit_status = 'completed', hn_status = 'failed' WHERE link_id = %lld",
      (long long)b);
    x(f, "UPDATE link_processing SET hn_status = 'not_found' WHERE link_id = %lld", (long long)a);
    x(f, "INSERT INTO external_discussions (link_id, platform, external_id, external_url, score)"
         " VALUES (1, 'reddit', 'x', 'u', 1), (2, 'reddit', 'x', 'u', 2), (2, 'hackernews', '9',"
         " 'u', 3)");
    x(f, "INSERT INTO links (url, url_key, source, parent_link_id) VALUES"
         " ('https://redd.it/q', 'reddit.com/comments/q', 'discussion-ref', 2)");
    x(f, "INSERT INTO link_processing (link_id, reverse_lookup_status, reverse_lookup_target_id)"
         " VALUES (3, 'completed', 2)");
    assert_int_equal(merge(f, b, a), a);
    assert_q("1|example.com/a|What it says.|agent|ann", f,
             "SELECT id, url_key, summary, source, submitted_by FROM links WHERE id <> 3");
    assert_string_equal(states_of(f, a), "-|completed|not_found|completed");
    assert_q("ann|5", f,
             "SELECT submitter, summary_generated_at FROM link_processing WHERE link_id = 1");
    assert_q("reddit|x|1 hackernews|9|3", f,
             "SELECT platform, external_id, score FROM external_discussions ORDER BY score");
    assert_q("1|1", f,
             "SELECT l.parent_link_id, p.reverse_lookup_target_id FROM links l"
             " JOIN link_processing p ON p.link_id = l.id WHERE l.id = 3");
    assert_ok(store_link_get(f->s, &f->arena, b, &link, &e));
    assert_int_equal(link.id, a);
    assert_ok(store_link_processing(f->s, &f->arena, b, &p, &e));
    assert_int_equal(p.link_id, a);
    int64_t kept;
    assert_int_equal(store_link_merge(f->s, a, b, &kept, &e), V_INVALID); /* they are one */
    assert_int_equal(store_link_merge(f->s, a, 99, &kept, &e), V_NOT_FOUND);
}

/* An alias of an alias leads to what stayed. */
static void links_upkeep_merge_of_merged(void **state) {
    struct fix *f = *state;
    struct err e;
    struct link link;
    int64_t a = add_page(f, "a", NULL, false), b = add_page(f, "b", NULL, false);
    int64_t c = add_page(f, "c", NULL, false);
    assert_int_equal(merge(f, b, c), b);
    assert_int_equal(merge(f, c, a), a); /* c is b by now */
    assert_ok(store_link_get(f->s, &f->arena, c, &link, &e));
    assert_int_equal(link.id, a);
    assert_q("2|1 3|1", f, "SELECT alias_id, link_id FROM link_aliases ORDER BY alias_id");
}

/* Whichever of them stays: of a discussion nothing else is looked for. */
static void links_upkeep_merge_of_discussions(void **state) {
    struct fix *f = *state;
    struct err e;
    int64_t article;
    size_t n;
    int64_t a = add_link(f, "https://redd.it/a1", "ann", false);
    struct link_job job = take_link(f, f->s, LINK_LANE_REDDIT);
    assert_int_equal(land_link(f->s, &job, "https://example.com/a", &article), V_OK);
    int64_t b = add_link(f, "https://redd.it/b1", "bob", false);
    assert_int_equal(merge(f, a, b), a);
    assert_string_equal(states_of(f, a), "completed|skipped|skipped|skipped");
    int64_t c = add_link(f, "https://redd.it/c1", NULL, false);
    int64_t d = add_link(f, "https://redd.it/d1", "bob", true);
    x(f, "UPDATE link_processing SET reddit_status = 'completed' WHERE link_id = %lld",
      (long long)article);
    job = take_link(f, f->s, LINK_LANE_REDDIT);
    assert_int_equal(job.id, d);
    assert_int_equal(save_link(f->s, &job, LINK_NOT_FOUND), V_OK);
    x(f, "UPDATE link_processing SET reddit_status = 'completed' WHERE link_id = %lld",
      (long long)c);
    assert_int_equal(merge(f, d, c), c);
    assert_string_equal(states_of(f, c), "pending|completed|skipped|skipped");
    char ref[64];
    snprintf(ref, sizeof ref, "discussion-ref|%lld", (long long)article);
    assert_string_equal(source_of(f, a), ref);
    assert_string_equal(source_of(f, c), "discussion-ref|-");
    x(f, "UPDATE link_processing SET rescan_at = 1 WHERE rescan_at IS NOT NULL");
    assert_ok(store_link_rescan(f->s, 100, &n, &e));
    assert_string_equal(states_of(f, a), "completed|skipped|skipped|skipped");
    assert_string_equal(states_of(f, c), "pending|completed|skipped|skipped");
}

static void links_upkeep_merge_while_held(void **state) {
    struct fix *f = *state;
    struct store *other = fix_open(f);
    int64_t a = add_page(f, "a", NULL, false), b = add_page(f, "b", NULL, false);
    struct link_job of_a = take_link(f, f->s, LINK_LANE_REDDIT);
    struct link_job of_b = take_link(f, other, LINK_LANE_REDDIT);
    assert_true(of_a.id == a && of_b.id == b);
    assert_int_equal(merge(f, a, b), a);
    assert_int_equal(save_found(f->s, &of_a, "x"), V_CONFLICT);
    assert_int_equal(save_found(other, &of_b, "y"), V_CONFLICT);
    assert_int_equal(qi(f, "SELECT COUNT(*) FROM external_discussions"), 0);
    assert_string_equal(states_of(f, a), "-|pending|pending|pending");
    struct link_job again = take_link(f, other, LINK_LANE_REDDIT);
    assert_true(again.id == a && again.token > of_a.token);
    assert_int_equal(save_found(other, &again, "z"), V_OK);
}

static void links_upkeep_rekey(void **state) {
    struct fix *f = *state;
    struct err e;
    struct link_rekeyed r;
    link_row(f, 1, "example.com/1?utm_source=x", "agent", "'ann'", "NULL");
    link_row(f, 2, "example.com/2", "agent", "'ann'", "NULL");
    link_row(f, 3, "example.com/2?utm_source=x", "agent", "'ann'", "NULL");
    link_row(f, 4, "example.com/5?utm_source=x", "agent", "'ann'", "NULL");
    link_row(f, 5, "example.com/5", "agent", "'ann'", "NULL");
    link_row(f, 6, "example.com/6", "agent", "'ann'", "NULL");
    x(f, "UPDATE links SET key_version = 0 WHERE id IN (1, 3, 4, 6)");
    assert_int_equal(backfill(f, 100), 6);
    assert_ok(store_link_rekey(f->s, 2, &r, &e));
    assert_true(r.looked_at == 2 && r.changed == 2 && r.merged == 1);
    assert_ok(store_link_rekey(f->s, 100, &r, &e));
    assert_true(r.looked_at == 2 && r.changed == 1 && r.merged == 1);
    assert_q("1|example.com/1 2|example.com/2 4|example.com/5 6|example.com/6", f,
             "SELECT id, url_key FROM links ORDER BY id");
    assert_q("3|2 5|4", f, "SELECT alias_id, link_id FROM link_aliases ORDER BY alias_id");
    assert_ok(store_link_rekey(f->s, 100, &r, &e));
    assert_int_equal(r.looked_at, 0);
}

/* --- the ways by which they are found --- */

static enum verdict collect(void *ctx, const struct db_row *row) {
    struct strbuf *b = ctx;
    strbuf_add_str(b, db_row_text(row, fix_kind == DB_SQLITE ? 3 : 0));
    strbuf_addc(b, '\n');
    return V_OK;
}

static void assert_plan(struct fix *f, const char *sql, const char *index) {
    struct err e;
    int stmt;
    CLEANUP(strbuf_release) struct strbuf text, plan;
    strbuf_init(&text, 20000);
    strbuf_init(&plan, 100000);
    strbuf_addf(&text, "%s %s", fix_kind == DB_SQLITE ? "EXPLAIN QUERY PLAN" : "EXPLAIN", sql);
    assert_ok(db_add(f->s->db, "plan", text.p, &stmt, &e));
    assert_ok(db_run(f->s->db, stmt, DB_NO_VALS, collect, &plan, &e));
    if (!strstr(plan.p, index) || strstr(plan.p, "Sort") || strstr(plan.p, "TEMP B-TREE") ||
        strstr(plan.p, "Seq Scan") || strstr(plan.p, "SCAN link_processing\n"))
        fail_msg("%s is not the way:\n%s", index, plan.p);
    db_drop(f->s->db, stmt);
}

/* The text of a statement with values in place of its parameters. */
static const char *with_values(struct fix *f, enum link_task t, enum link_stmt stmt,
                               const char *second) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 20000);
    for (const char *p = db_text(f->s->db, f->s->links->task[t][stmt]); *p; p++)
        if ((*p == '$' || *p == '?') && p[1] == '1') {
            strbuf_adds(&b, "'reddit'");
            p++;
        } else if ((*p == '$' || *p == '?') && p[1] == '2') {
            strbuf_adds(&b, second);
            p++;
        } else
            strbuf_addc(&b, *p);
    return arena_strdup(&f->arena, b.p);
}

static void links_upkeep_plans(void **state) {
    static const struct {
        enum link_task task;
        const char *oldest, *asked;
    } tasks[] = {
        {LINK_REDDIT, "idx_link_processing_reddit_pending", "link_processing_reddit_asked"},
        {LINK_HN, "idx_link_processing_hn_pending", "link_processing_hn_asked"},
        {LINK_SUMMARY, "idx_link_processing_summary_pending", "link_processing_summary_asked"},
        {LINK_REVERSE, "link_processing_reverse_site", "link_processing_reverse_asked"},
    };
    struct fix *f = *state;
    struct err e;
    x(f,
      "INSERT INTO links (url, url_key, source, submitted_by, created_at)"
      " SELECT 'https://example.com/' || i, 'example.com/' || i, 'gathered', 'auto', i FROM (%s)"
      " AS t",
      fix_kind == DB_SQLITE ? "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                              " WHERE i < 20000) SELECT i FROM n"
                            : "SELECT generate_series(1, 20000) AS i");
    x(f, "INSERT INTO link_processing (link_id, created_at, submitter, reverse_lookup_status,"
         " reverse_lookup_site) SELECT id, created_at, CASE WHEN id %% 7 = 0 THEN 'ann' END,"
         " CASE WHEN id %% 9 = 0 THEN 'pending' END, CASE WHEN id %% 9 = 0 THEN 'reddit' END"
         " FROM links");
    assert_ok(links_prepare(f->s, &e));
    for (int analyzed = 0; analyzed < 2; analyzed++) {
        for (size_t i = 0; i < ARRAY_LEN(tasks); i++) {
            assert_ok(links_begin_pick(f->s, &e));
            assert_plan(f, with_values(f, tasks[i].task, LINK_PICK_OLDEST, "100"), tasks[i].oldest);
            assert_plan(f, with_values(f, tasks[i].task, LINK_PICK_ASKED, "'a'"), tasks[i].asked);
            db_rollback(f->s->db);
        }
        x(f, "ANALYZE");
    }
}

int link_upkeep_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(links_upkeep_backfill),
        CASE(links_upkeep_repair),
        CASE(links_upkeep_rescan),
        CASE(links_upkeep_rescan_of_others),
        CASE(links_upkeep_merge),
        CASE(links_upkeep_merge_of_merged),
        CASE(links_upkeep_merge_of_discussions),
        CASE(links_upkeep_merge_while_held),
        CASE(links_upkeep_rekey),
        CASE(links_upkeep_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
