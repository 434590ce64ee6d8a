/* Dead letters as a person chooses and decides about them. */
#include "fixture.h"

#include "store/letters.h"

#include <string.h>

/* Ids 2 and 4 of class http_5xx, 3 of class garbage, in one mirror segment; 5 waits, 6 is missing.
 */
static void make_letters(struct fix *f) {
    struct claim c = claim_new(f, PURPOSE_MIRROR, 1, 10);
    struct batch *b = batch_for(&c, 10, true);
    put_exception(b, 2, EXC_DEAD_LETTER, "http_5xx")->attempts = 8;
    put_exception(b, 3, EXC_DEAD_LETTER, "garbage")->attempts = 8;
    put_exception(b, 4, EXC_DEAD_LETTER, "http_5xx")->rung = 7;
    put_exception(b, 5, EXC_RETRY_WAIT, "timeout")->next_retry_at = T0 + 5000;
    put_exception(b, 6, EXC_TERMINAL_MISSING, "null_old");
    apply_ok(f->s, b);
}

struct seen {
    char text[400];
};

static void note(void *ctx, const struct letter *l) {
    struct seen *s = ctx;
    size_t n = strlen(s->text);
    snprintf(s->text + n, sizeof s->text - n, "%s%lld:%s:%s:%lld", n ? " " : "", (long long)l->id,
             l->origin, l->cls, (long long)l->attempts);
}

static void assert_listed(struct fix *f, struct letter_choice c, const char *expected) {
    struct err e;
    struct seen s = {""};
    int64_t n;
    assert_ok(store_letters(f->s, &c, 100, note, &s, &e));
    assert_string_equal(s.text, expected);
    assert_ok(store_count_letters(f->s, &c, &n, &e));
    int words = *s.text != '\0';
    for (const char *p = s.text; *p; p++)
        words += *p == ' ';
    assert_int_equal(n, words);
}

static const struct letter_choice all = {1, INT64_MAX, NULL};

static void choices(void **state) {
    struct fix *f = *state;
    assert_listed(f, all, "");
    make_letters(f);
    assert_listed(f, all, "2:mirror:http_5xx:8 3:mirror:garbage:8 4:mirror:http_5xx:0");
    assert_listed(f, (struct letter_choice){3, 4, NULL}, "3:mirror:garbage:8 4:mirror:http_5xx:0");
    assert_listed(f, (struct letter_choice){1, 10, "http_5xx"},
                  "2:mirror:http_5xx:8 4:mirror:http_5xx:0");
    assert_listed(f, (struct letter_choice){5, 6, NULL}, "");
    x(f, "INSERT INTO ingest_dlq_items (source, item_id, state, failure_class, attempts, first_at, "
         "last_at) VALUES ('realtime', 99, 'dead_letter', 'timeout', 3, 0, 0)");
    assert_listed(f, (struct letter_choice){50, 100, NULL}, "99:realtime:timeout:3");
    struct err e;
    struct seen s = {""};
    assert_ok(store_letters(f->s, &all, 1, note, &s, &e));
    assert_string_equal(s.text, "2:mirror:http_5xx:8");
}

static void replayed_with_fresh_attempts(void **state) {
    struct fix *f = *state;
    make_letters(f);
    struct err e;
    int64_t n, lo, hi;
    const struct letter_choice c = {1, 10, "http_5xx"};
    fix_advance(f, 100);
    assert_ok(store_replay_letters(f->s, &c, &n, &lo, &hi, &e));
    assert_int_equal(n, 2);
    assert_int_equal(lo, 0);
    assert_q("2|pending|0|0|- 3|dead_letter|8|0|- 4|pending|0|0|-", f,
             "SELECT item_id, state, attempts, rung, next_retry_at FROM ingest_exceptions "
             "WHERE item_id < 5 ORDER BY item_id");
    assert_q("pending", f, "SELECT status FROM ingest_segments");
    assert_q("2|retry_wait 3|dead_letter 4|retry_wait", f,
             "SELECT item_id, state FROM ingest_dlq_items ORDER BY item_id");
    assert_listed(f, all, "3:mirror:garbage:8");
    struct claim claim = claim_one(f, 1, 10);
    for (size_t i = 0; i < claim.n_exceptions; i++)
        assert_int_equal(claim.exceptions[i].state == EXC_PENDING,
                         claim.exceptions[i].id == 2 || claim.exceptions[i].id == 4);
    assert_ok(store_replay_letters(f->s, &c, &n, &lo, &hi, &e));
    assert_int_equal(n, 0);
}

/* A replay segment is claimed by a window that reaches it, so the caller is told where. */
static void replayed_in_a_replay(void **state) {
    struct fix *f = *state;
    struct claim c = claim_new(f, PURPOSE_REPLAY, 100, 120);
    struct batch *b = batch_for(&c, 120, true);
    put_exception(b, 105, EXC_DEAD_LETTER, "http_5xx");
    put_exception(b, 118, EXC_DEAD_LETTER, "http_5xx");
    apply_ok(f->s, b);
    struct err e;
    int64_t n, lo, hi;
    assert_ok(store_replay_letters(f->s, &all, &n, &lo, &hi, &e));
    assert_int_equal(n, 2);
    assert_int_equal(lo, 105);
    assert_int_equal(hi, 118);
}

static void accepted_with_a_reason(void **state) {
    struct fix *f = *state;
    make_letters(f);
    struct err e;
    int64_t n, stored;
    const struct letter_choice one = {3, 3, NULL};
    assert_ok(store_accept_letters(f->s, &one, "not worth it", &n, &stored, &e));
    assert_int_equal(n, 1);
    assert_q("terminal_missing|garbage|accepted by operator: not worth it", f,
             "SELECT state, failure_class, last_error FROM ingest_exceptions WHERE item_id = 3");
    assert_q("2|dead_letter 3|resolved 4|dead_letter", f,
             "SELECT item_id, state FROM ingest_dlq_items ORDER BY item_id");
    assert_q("retry_wait|3", f, "SELECT status, unresolved_count FROM ingest_segments");
    x(f, "DELETE FROM ingest_exceptions WHERE item_id = 5");
    assert_ok(store_accept_letters(f->s, &all, NULL, &n, &stored, &e));
    assert_int_equal(n, 2);
    assert_int_equal(stored, 0);
    assert_q("done|0", f, "SELECT status, unresolved_count FROM ingest_segments");
    assert_q("accepted by operator: no reason given", f,
             "SELECT last_error FROM ingest_exceptions WHERE item_id = 2");
    assert_ok(store_accept_letters(f->s, &all, NULL, &n, &stored, &e));
    assert_int_equal(n, 0);
}

/* A stored item is not missing because its rescan failed. */
static void a_stored_one_is_kept(void **state) {
    struct fix *f = *state;
    store_item(f, T0, "{'id':5,'type':'story'}");
    struct claim c = claim_new(f, PURPOSE_RESCAN, 5, 6);
    struct batch *b = batch_for(&c, 6, true);
    put_exception(b, 5, EXC_DEAD_LETTER, "http_5xx");
    put_exception(b, 6, EXC_DEAD_LETTER, "http_5xx");
    apply_ok(f->s, b);
    struct err e;
    int64_t n, stored;
    assert_ok(store_accept_letters(f->s, &all, "so be it", &n, &stored, &e));
    assert_int_equal(n, 2);
    assert_int_equal(stored, 1);
    assert_q("6|terminal_missing", f, "SELECT item_id, state FROM ingest_exceptions");
    assert_q("5|resolved 6|resolved", f, "SELECT item_id, state FROM ingest_dlq_items ORDER BY 1");
}

/* What is not a dead letter is nobody's to accept. */
static void others_stay_as_they_are(void **state) {
    struct fix *f = *state;
    make_letters(f);
    struct err e;
    int64_t n, stored, lo, hi;
    char *before = xstrdup(dump(f));
    const struct letter_choice others = {5, 10, NULL};
    assert_ok(store_accept_letters(f->s, &others, "x", &n, &stored, &e));
    assert_int_equal(n, 0);
    assert_ok(store_replay_letters(f->s, &others, &n, &lo, &hi, &e));
    assert_int_equal(n, 0);
    assert_string_equal(dump(f), before);
    free_ptr(&before);
}

static void take_known(void *ctx, const char *table, const struct known_field *fields, size_t n) {
    struct seen *s = ctx;
    size_t at = strlen(s->text);
    snprintf(s->text + at, sizeof s->text - at, "%s:%zu:%s ", table, n, fields[0].name);
}

static void everything_known(void **state) {
    struct fix *f = *state;
    make_letters(f);
    struct err e;
    struct seen s = {""};
    assert_ok(store_known(f->s, 2, take_known, &s, &e));
    assert_string_equal(s.text, "exception:12:segment_id dead_letter:9:source "
                                "mirror_segment:6:segment_id ");
    s.text[0] = '\0';
    assert_ok(store_known(f->s, 10, take_known, &s, &e));
    assert_string_equal(s.text, "mirror_segment:6:segment_id ");
    struct claim c = claim_new(f, PURPOSE_GAP, 11, 11);
    struct batch *b = batch_for(&c, 11, true);
    put_item(b, T0, "{'id':11,'type':'story'}");
    apply_ok(f->s, b);
    s.text[0] = '\0';
    assert_ok(store_known(f->s, 11, take_known, &s, &e));
    assert_non_null(strstr(s.text, "item:4:type "));
    assert_int_equal(store_known(f->s, 1000000, take_known, &s, &e), V_NOT_FOUND);
}

int letter_tests(void) {
    const struct CMUnitTest tests[] = {
        CASE(choices),
        CASE(replayed_with_fresh_attempts),
        CASE(replayed_in_a_replay),
        CASE(accepted_with_a_reason),
        CASE(a_stored_one_is_kept),
        CASE(others_stay_as_they_are),
        CASE(everything_known),
    };
    return cmocka_run_group_tests_name("letters", tests, NULL, NULL);
}
