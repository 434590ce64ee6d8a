/* How PostgreSQL goes about the statements of a source over 200,000 rows: by the indexes, with
 * plans made for the values and with those that are kept. */
#include "fixture_rows.h"

#include "db/db_int.h"
#include "store/claims_int.h"

#include <string.h>

#define TWO "ARRAY['1','2'], ARRAY[1,2], ARRAY[NULL,NULL], ARRAY[NULL,NULL], "
#define FINALIZE_TWO "(" TWO "ARRAY['match','match'], ARRAY['{}',NULL])"
#define RELEASE_TWO "(" TWO "ARRAY[1,1], ARRAY[0,0])"

static const char *const modes[] = {"force_custom_plan", "force_generic_plan"};

static enum verdict take_line(void *ctx, const struct db_row *row) {
    struct strbuf *out = ctx;
    strbuf_add_str(out, db_row_text(row, 0));
    strbuf_addc(out, '\n');
    return V_OK;
}

static const char *plan_of(struct fix *f, struct source *src, enum source_stmt which,
                           const char *mode, const char *args) {
    struct err e;
    int stmt;
    CLEANUP(strbuf_release) struct strbuf b, out;
    strbuf_init(&b, SOURCE_SQL_MAX);
    strbuf_init(&out, SOURCE_SQL_MAX);
    strbuf_addf(&b, "SET plan_cache_mode TO %s; PREPARE asked AS %s", mode,
                db_text(f->s->db, src->stmts[which]));
    assert_ok(db_script(f->s->db, b.p, &e));
    strbuf_clear(&b);
    strbuf_addf(&b, "EXPLAIN (COSTS OFF) EXECUTE asked %s", args);
    assert_ok(db_add(f->s->db, "plan", b.p, &stmt, &e));
    assert_ok(db_run(f->s->db, stmt, DB_NO_VALS, take_line, &out, &e));
    db_drop(f->s->db, stmt);
    assert_ok(db_script(f->s->db, "DEALLOCATE asked", &e));
    return arena_strdup(&f->arena, out.p);
}

static void fill(struct fix *f, const char *t) {
    x(f,
      "INSERT INTO %s (artist_name, entry_type, metadata_status, enriching_since)"
      " SELECT 'artist ' || i, CASE WHEN i %% 10 = 0 THEN 'talk' ELSE 'track' END,"
      " CASE WHEN i %% 400 = 1 THEN 'pending' WHEN i %% 4000 = 2 THEN 'enriching'"
      "      ELSE 'enriched_match' END,"
      " CASE WHEN i %% 4000 = 2 THEN now() - interval '1 hour' END"
      " FROM generate_series(1, 200000) AS i",
      t);
    x(f, "INSERT INTO claims (source, key, token, state, outcome, updated_at)"
         " SELECT 'flowsheet', i::text, 1, 'done', CASE WHEN i %% 50 = 0 THEN 'no_match'"
         " ELSE 'match' END, i FROM generate_series(1, 200000) AS i");
    x(f, "CREATE INDEX busy_ones ON %s (enriching_since) WHERE metadata_status='enriching'", t);
    x(f,
      "CREATE INDEX pending_ones ON %s (id)"
      " WHERE metadata_status='pending' AND entry_type='track'",
      t);
    x(f, "ANALYZE %s", t);
    x(f, "ANALYZE claims");
}

static void plans_go_by_the_indexes(void **state) {
    struct fix *f = *state;
    if (fix_kind != DB_POSTGRES)
        skip();
    struct source *src = flowsheet(f, f->s);
    fill(f, user_table(f, "flowsheet"));
    static const struct {
        enum source_stmt stmt;
        const char *args, *table, *claims; /* indexes */
    } cases[] = {
        {SRC_CLAIM, "(ARRAY['1','2'], ARRAY['me',NULL], ARRAY[1,NULL])", "flowsheet_pkey",
         "claims_pkey"},
        {SRC_FINALIZE, FINALIZE_TWO, "flowsheet_pkey", "claims_pkey"},
        {SRC_RELEASE, RELEASE_TWO, "flowsheet_pkey", "claims_pkey"},
        {SRC_SWEEP, "(100, 5, 1000)", "_", "claims_held"},
        {SRC_SWEEP_ONE, "(100, 5, 1000, '7')", "_", "claims_"},
        {SRC_STALE, "(100)", "_", "claims_held"},
        {SRC_ORPHANS_ONE, "(100, '7')", "_", "claims_"},
        {SRC_BUSY, "(100, '7')", "_", "claims_"},
        {SRC_PENDING_BETWEEN, "(100, '7', '900')", "_", "claims_"},
        {SRC_ORPHANS, "(100)", "busy_ones", "claims_"},
        {SRC_PENDING, "(100)", "pending_ones", "claims_"},
        {SRC_PENDING_AFTER, "(100, '7')", "pending_ones", "claims_"},
        {SRC_RECHECK, "(1000, 100)", "flowsheet_pkey", "claims_no_match"},
        {SRC_RECHECK_ONE, "(1000, 1, '7')", "flowsheet_pkey", "claims_"},
        {SRC_OLD, "(1000, 100)", "_", "claims_no_match"},
        {SRC_WAITING, "", "_", "claims_waiting"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
            const char *plan = plan_of(f, src, cases[i].stmt, modes[m], cases[i].args);
            if (strstr(plan, "Seq Scan") || !strstr(plan, cases[i].table) ||
                (cases[i].claims && !strstr(plan, cases[i].claims)))
                fail_msg("statement %d, %s: %s", cases[i].stmt, modes[m], plan);
        }
    }
    store_source_close(src);
}

/* A plan is kept for as long as nobody counts the claims, and meanwhile there may be many. */
static void claims_are_asked_for_by_their_whole_key(void **state) {
    struct fix *f = *state;
    if (fix_kind != DB_POSTGRES)
        skip();
    struct source *src = flowsheet(f, f->s);
    static const char *const steps[] = {
        "SELECT 1", /* there are none yet */
        ("INSERT INTO claims (source, key, token, state) SELECT 'another', i::text, 1, 'held'"
         " FROM generate_series(1, 20000) AS i"),
        "ANALYZE claims", /* none of ours, that is, but many */
        "DELETE FROM claims WHERE key::int > 2",
        "VACUUM ANALYZE claims",
    };
    static const struct {
        enum source_stmt stmt;
        const char *args;
    } cases[] = {{SRC_FINALIZE, FINALIZE_TWO}, {SRC_RELEASE, RELEASE_TWO}};
    for (size_t i = 0; i < ARRAY_LEN(steps) * ARRAY_LEN(cases) * ARRAY_LEN(modes); i++) {
        size_t step = i / 4, c = i / 2 % 2, m = i % 2;
        if (i % 4 == 0)
            x(f, "%s", steps[step]);
        const char *plan = plan_of(f, src, cases[c].stmt, modes[m], cases[c].args);
        if (!strstr(plan, "Index Cond: ((source = tain_u.source) AND (key = tain_u.key))"))
            fail_msg("after '%s', statement %d, %s: %s", steps[step], cases[c].stmt, modes[m],
                     plan);
    }
    store_source_close(src);
}

int row_plan_tests(void) {
    static const struct CMUnitTest tests[] = {ROWS_CASE(plans_go_by_the_indexes),
                                              ROWS_CASE(claims_are_asked_for_by_their_whole_key)};
    return cmocka_run_group_tests_name("rows, plans", tests, NULL, NULL);
}
