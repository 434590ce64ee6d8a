/* Claims on rows of a table source: won once, written by whoever holds them, given back. */
#include "fixture_rows.h"

#include <string.h>

static void a_claim_is_won_once(void **state) {
    struct fix *f = *state;
    struct store *other = fix_open(f);
    struct source *a = flowsheet(f, f->s), *b = flowsheet(f, other);
    add_rows(f, 3);
    struct row_claim c = claim_row(f, f->s, a, "1");
    assert_int_equal(c.result, CLAIM_WON);
    assert_int_equal(c.token, 1);
    assert_int_equal(c.attempts, 1);
    assert_string_equal(c.row.p, "{\"artist_name\":\"artist 1\",\"album_title\":\"album\","
                                 "\"track_title\":\"song 1\"}");
    assert_string_equal(row_of(f, 1), "enriching|1");
    assert_string_equal(claim_state(f, 1), "1|held|1");
    assert_q("me|1700000030000|1700000000000|-", f,
             "SELECT holder, lease_until, updated_at, next_try_at FROM claims");
    assert_string_equal(claimed(f, other, b, "1"), "lost");
    assert_string_equal(claimed(f, other, b, "2"), "won 1 1");
    assert_string_equal(claimed(f, f->s, a, "4"), "ignored");
    assert_string_equal(row_of(f, 3), "pending|0");
    assert_true(finalize_row(f->s, a, "1", 1, ROW_MATCH, NULL));
    assert_string_equal(claimed(f, other, b, "1"), "ignored");
    store_source_close(a);
    store_source_close(b);
}

static void a_result_is_written_by_its_holder(void **state) {
    struct fix *f = *state;
    struct source *src = flowsheet(f, f->s);
    add_rows(f, 3);
    x(f, "UPDATE %s SET discogs_url = 'kept', artist_bio = 'old'", user_table(f, "flowsheet"));
    claim_row(f, f->s, src, "1");
    assert_true(finalize_row(f->s, src, "1", 1, ROW_MATCH,
                             "{\"artwork_url\":\"https://a/\",\"release_year\":1997,"
                             "\"artist_bio\":null}"));
    assert_q("enriched_match|-|https://a/|kept|1997|-", f,
             "SELECT metadata_status, enriching_since, artwork_url, discogs_url, release_year,"
             " artist_bio FROM %s WHERE id = 1",
             user_table(f, "flowsheet"));
    assert_q("1|done|1|match|-|-", f,
             "SELECT token, state, attempts, outcome, holder, lease_until FROM claims");
    assert_false(finalize_row(f->s, src, "1", 1, ROW_FAILED, NULL));
    assert_string_equal(row_of(f, 1), "enriched_match|0");
    claim_row(f, f->s, src, "2");
    assert_true(finalize_row(f->s, src, "2", 1, ROW_NO_MATCH, NULL));
    assert_string_equal(row_of(f, 2), "enriched_no_match|0");
    claim_row(f, f->s, src, "3");
    assert_true(finalize_row(f->s, src, "3", 1, ROW_FAILED, "{}"));
    assert_string_equal(row_of(f, 3), "failed_no_retry|0");
    store_source_close(src);
}

static void what_is_given_back_waits(void **state) {
    struct fix *f = *state;
    struct source *src = flowsheet(f, f->s);
    add_rows(f, 1);
    assert_string_equal(claimed(f, f->s, src, "1"), "won 1 1");
    assert_true(release_row(f->s, src, "1", 1, true, 5000));
    assert_string_equal(row_of(f, 1), "pending|0");
    assert_string_equal(claim_state(f, 1), "1|free|1");
    assert_string_equal(claimed(f, f->s, src, "1"), "ignored");
    fix_advance(f, 4999);
    assert_string_equal(claimed(f, f->s, src, "1"), "ignored");
    fix_advance(f, 1);
    assert_string_equal(claimed(f, f->s, src, "1"), "won 2 2");
    assert_false(release_row(f->s, src, "1", 1, true, 0)); /* that token is gone */
    assert_true(release_row(f->s, src, "1", 2, false, 0)); /* nobody's fault */
    assert_string_equal(claim_state(f, 1), "2|free|1");
    assert_string_equal(claimed(f, f->s, src, "1"), "won 3 2");
    store_source_close(src);
}

static const char *peeked(struct fix *f, struct source *src, size_t max) {
    struct row_peek rows[9];
    struct strbuf b;
    struct err e;
    size_t n;
    assert_ok(store_peek_rows(f->s, src, max, &f->arena, rows, &n, &e));
    strbuf_init(&b, 4096);
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&b, "%s%s %s", i ? "; " : "", rows[i].key.p, rows[i].row.p);
    const char *text = arena_str(&f->arena, strbuf_str(&b)).p;
    strbuf_release(&b);
    return text;
}

#define INPUTS(n) \
    "{\"artist_name\":\"artist " n "\",\"album_title\":\"album\",\"track_title\":\"song " n "\"}"

static void a_look_claims_nothing(void **state) {
    struct fix *f = *state;
    struct source *src = flowsheet(f, f->s);
    assert_string_equal(peeked(f, src, 9), "");
    add_rows(f, 4);
    assert_string_equal(peeked(f, src, 2), "1 " INPUTS("1") "; 2 " INPUTS("2"));
    assert_q("4", f, "SELECT COUNT(*) FROM %s WHERE metadata_status = 'pending'",
             user_table(f, "flowsheet"));
    assert_q("0", f, "SELECT COUNT(*) FROM claims");
    assert_string_equal(claimed(f, f->s, src, "1"), "won 1 1"); /* busy: no more to be seen */
    assert_string_equal(claimed(f, f->s, src, "2"), "won 1 1");
    assert_true(release_row(f->s, src, "2", 1, true, 5000)); /* nor is what has to wait */
    x(f, "UPDATE %s SET entry_type = 'talkset' WHERE id = 3", user_table(f, "flowsheet"));
    assert_string_equal(peeked(f, src, 9), "4 " INPUTS("4"));
    fix_advance(f, 5000);
    assert_string_equal(peeked(f, src, 9), "2 " INPUTS("2") "; 4 " INPUTS("4"));
    store_source_close(src);
}

int row_tests(void) {
    static const struct CMUnitTest tests[] = {
        ROWS_CASE(a_claim_is_won_once),
        ROWS_CASE(a_result_is_written_by_its_holder),
        ROWS_CASE(what_is_given_back_waits),
        ROWS_CASE(a_look_claims_nothing),
    };
    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}
