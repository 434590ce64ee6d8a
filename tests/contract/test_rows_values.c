/* What a finalize writes: values of every type, what a table refuses, large rows; what becomes of
 * rows without a match; counts. */
#include "fixture_rows.h"

#include <string.h>

#define NAMES(...) (const struct str[]){__VA_ARGS__}, ARRAY_LEN(((const struct str[]){__VA_ARGS__}))

static void give_names(struct source_spec *spec, const struct str *in, size_t n_in,
                       const struct str *out, size_t n_out) {
    spec->inputs = in;
    spec->n_inputs = n_in;
    spec->outputs = out;
    spec->n_outputs = n_out;
}

static struct source_spec plain_spec(struct fix *f, const char *table) {
    struct source_spec spec = flowsheet_spec(f);
    spec.name = str_of(table);
    spec.table = str_of(user_table(f, table));
    spec.status = STR("status");
    spec.since = spec.filter = STR_NONE;
    spec.n_inputs = spec.n_outputs = 0;
    return spec;
}

static void values_of_every_type(void **state) {
    struct fix *f = *state;
    bool pg = fix_kind == DB_POSTGRES;
    x(f,
      "CREATE TABLE %s (id INTEGER PRIMARY KEY, status VARCHAR(20) DEFAULT 'pending', t TEXT,"
      " v VARCHAR(10), c CHAR(3), i SMALLINT, j INTEGER, k BIGINT, r DOUBLE PRECISION, n NUMERIC,"
      " b BOOLEAN, o %s, w %s)",
      user_table(f, "kinds"), pg ? "JSONB" : "JSON", pg ? "TIMESTAMPTZ" : "TIMESTAMP");
    x(f, "INSERT INTO %s (id, t, b, o) VALUES (1, 'in', true, '{\"a\":[1]}')",
      user_table(f, "kinds"));
    x(f, "INSERT INTO %s (id) VALUES (2)", user_table(f, "kinds"));
    static const struct str all[] = {STR("t"), STR("v"), STR("c"), STR("i"), STR("j"), STR("k"),
                                     STR("r"), STR("n"), STR("b"), STR("o"), STR("w")};
    struct source_spec spec = plain_spec(f, "kinds");
    give_names(&spec, all, ARRAY_LEN(all), all, ARRAY_LEN(all));
    struct source *src = rows_open(f->s, &spec);
    struct row_claim c = claim_row(f, f->s, src, "1");
    assert_non_null(strstr(c.row.p, "\"t\":\"in\""));
    assert_non_null(strstr(c.row.p, "\"b\":true"));
    assert_non_null(strstr(c.row.p, pg ? "\"o\":{\"a\": [1]}" : "\"o\":{\"a\":[1]}"));
    assert_non_null(strstr(c.row.p, "\"k\":null"));
    assert_true(finalize_row(f->s, src, "1", 1, ROW_MATCH,
                             "{\"t\":\"\\u00e4'\\\"\\\\\",\"v\":\"0123456789\",\"c\":\"abc\","
                             "\"i\":-32768,\"j\":2147483647,\"k\":9007199254740993,\"r\":0.5,"
                             "\"n\":12.25,\"b\":false,\"o\":{\"x\":[true,null]},"
                             "\"w\":\"2026-01-02T03:04:05Z\"}"));
    assert_q("ä'\"\\|0123456789|abc|-32768|2147483647|9007199254740993|0.5|12.25|0", f,
             "SELECT t, v, c, i, j, k, r, n, b FROM %s WHERE id = 1", user_table(f, "kinds"));
    assert_q(pg ? "{\"x\": [true, null]}|1767323045" : "{\"x\":[true,null]}|1767323045", f,
             pg ? "SELECT o, extract(epoch FROM w)::bigint FROM %s WHERE id = 1"
                : "SELECT o, strftime('%%s', w) FROM %s WHERE id = 1",
             user_table(f, "kinds"));
    claim_row(f, f->s, src, "2");
    assert_true(finalize_row(f->s, src, "2", 1, ROW_MATCH,
                             "{\"t\":true,\"v\":12,\"b\":null,\"i\":null,\"o\":\"s\"}"));
    assert_q("true|12|-|-|\"s\"", f, "SELECT t, v, b, i, o FROM %s WHERE id = 2",
             user_table(f, "kinds"));
    static const int types[] = {COLUMN_TEXT, COLUMN_TEXT, COLUMN_TEXT, COLUMN_INT,
                                COLUMN_INT,  COLUMN_INT,  COLUMN_REAL, COLUMN_REAL,
                                COLUMN_BOOL, COLUMN_JSON, COLUMN_OTHER};
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        assert_int_equal(source_output(src, i)->type, types[i]);
    assert_int_equal(source_output(src, 0)->max_chars, 0);
    assert_int_equal(source_output(src, 1)->max_chars, 10);
    assert_int_equal(source_output(src, 2)->max_chars, 3);
    assert_true(source_output(src, 5)->max == INT64_MAX);
    if (pg) {
        assert_int_equal(source_output(src, 3)->max, 32767);
        assert_string_equal(source_output(src, 1)->type_name.p, "character varying(10)");
    }
    store_source_close(src);
}

static void what_the_table_refuses(void **state) {
    struct fix *f = *state;
    struct err e;
    struct row_claim c[3];
    bool done[3] = {true, true, true};
    x(f,
      "CREATE TABLE %s (id INTEGER PRIMARY KEY, status TEXT DEFAULT 'pending',"
      " v VARCHAR(5) CHECK (length(v) < 6), n INTEGER CHECK (n > 0))",
      user_table(f, "strict"));
    x(f, "INSERT INTO %s (id) VALUES (1), (2), (3)", user_table(f, "strict"));
    struct source_spec spec = plain_spec(f, "strict");
    give_names(&spec, NULL, 0, NAMES(STR("v"), STR("n")));
    struct source *src = rows_open(f->s, &spec);
    assert_ok(store_claim_rows(f->s, src, keys_of(f, 1, 3), 3, STR("me"), LEASE, &f->arena, c, &e));
    assert_string_equal(c[0].row.p, "{}");
    struct verdict_on_row rows[3];
    for (int i = 0; i < 3; i++)
        rows[i] = (struct verdict_on_row){.key = c[i].key,
                                          .token = c[i].token,
                                          .state = ROW_MATCH,
                                          .values = STR("{\"v\":\"good\",\"n\":1}")};
    rows[1].values = STR("{\"n\":0}");
    assert_int_equal(store_finalize(f->s, src, rows, 3, done, &e), V_CONFLICT);
    assert_non_null(strstr(e.msg, "one of 3 rows of strict"));
    assert_false(done[0] || done[1] || done[2]);
    assert_q("3|3", f,
             "SELECT (SELECT COUNT(*) FROM claims WHERE state = 'held'), COUNT(*) FROM %s"
             " WHERE status = 'enriching'",
             user_table(f, "strict"));
    assert_int_equal(store_finalize(f->s, src, &rows[1], 1, done, &e), V_CONFLICT);
    assert_non_null(strstr(e.msg, "row 2 of strict"));
    rows[1].values = STR("{\"v\":\"much too long\"}");
    assert_int_equal(store_finalize(f->s, src, &rows[1], 1, done, &e), V_CONFLICT);
    assert_non_null(strstr(e.msg, "row 2 of strict"));
    rows[1].values = STR("[1]");
    assert_int_equal(store_finalize(f->s, src, &rows[1], 1, done, &e), V_CONFLICT);
    rows[1].values = STR("{\"v\":");
    assert_int_equal(store_finalize(f->s, src, rows, 3, done, &e), V_CONFLICT);
    assert_non_null(strstr(e.msg, "row 2"));
    rows[1].state = ROW_PENDING;
    rows[1].values = STR_NONE;
    assert_int_equal(store_finalize(f->s, src, rows, 3, done, &e), V_INVALID);
    rows[1].state = ROW_FAILED;
    rows[1].error_class = STR("refused");
    rows[1].error = STR("n\xff is\0 0");
    assert_ok(store_finalize(f->s, src, rows, 3, done, &e));
    assert_true(done[0] && done[1] && done[2]);
    assert_q("enriched_match failed_no_retry enriched_match", f,
             "SELECT status FROM %s ORDER BY id", user_table(f, "strict"));
    assert_q("refused|n? is? 0|failed", f,
             "SELECT error_class, error, outcome FROM claims WHERE key = '2'");
    store_source_close(src);
}

/* A trigger of the owner's that says no is a refusal like a constraint. */
static void a_trigger_that_refuses(void **state) {
    struct fix *f = *state;
    struct err e;
    struct source *src = flowsheet(f, f->s);
    add_rows(f, 1);
    assert_string_equal(claimed(f, f->s, src, "1"), "won 1 1");
    if (fix_kind == DB_POSTGRES)
        x(f,
          "CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql AS"
          " $$ BEGIN RAISE EXCEPTION 'not today'; END $$;"
          "CREATE TRIGGER no BEFORE UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION %s()",
          user_table(f, "refuse"), user_table(f, "flowsheet"), user_table(f, "refuse"));
    else
        x(f, "CREATE TRIGGER no BEFORE UPDATE ON flowsheet BEGIN SELECT RAISE(ABORT, 'not today');"
             " END");
    assert_int_equal(try_finalize(f->s, src, "1", 1, ROW_MATCH, NULL, &e), V_CONFLICT);
    assert_non_null(strstr(e.msg, "not today"));
    assert_string_equal(claim_state(f, 1), "1|held|1");
    store_source_close(src);
}

static void rows_of_any_size(void **state) {
    struct fix *f = *state;
    struct source *src = flowsheet(f, f->s);
    static const int sizes[] = {8000, 9000, 1 << 20};
    add_rows(f, 3);
    for (int i = 0; i < 3; i++) {
        char key[2] = {(char)('1' + i), 0};
        x(f,
          fix_kind == DB_POSTGRES
              ? "UPDATE %s SET artist_name = repeat('ab', %d / 2) WHERE id = %s"
              : "UPDATE %s SET artist_name = replace(hex(zeroblob(%d / 2)), '00', 'ab')"
                " WHERE id = %s",
          user_table(f, "flowsheet"), sizes[i], key);
        struct row_claim c = claim_row(f, f->s, src, key);
        assert_int_equal(c.result, CLAIM_WON);
        assert_in_range(c.row.n, sizes[i], sizes[i] + 200);
        CLEANUP(strbuf_release) struct strbuf values;
        strbuf_init(&values, (size_t)4 << 20);
        strbuf_adds(&values, "{\"artist_bio\":\"");
        for (int k = 0; k < sizes[i]; k++)
            strbuf_addc(&values, (char)('a' + k % 26));
        strbuf_adds(&values, "\"}");
        assert_true(finalize_row(f->s, src, key, c.token, ROW_MATCH, values.p));
        assert_int_equal(qi(f, "SELECT length(artist_bio) FROM %s WHERE id = %s",
                            user_table(f, "flowsheet"), key),
                         sizes[i]);
    }
    store_source_close(src);
}

static void errors_are_cut(void **state) {
    struct fix *f = *state;
    struct source *src = flowsheet(f, f->s);
    struct err e;
    char text[2001];
    bool done;
    for (int i = 0; i < 2000; i += 2)
        memcpy(text + i, "\xc3\xa4", 2);
    text[2000] = '\0';
    add_rows(f, 1);
    claim_row(f, f->s, src, "1");
    struct release r = {.key = STR("1"),
                        .token = 1,
                        .spent = true,
                        .error_class = STR("http_5xx"),
                        .error = str_of(text)};
    assert_ok(store_release(f->s, src, &r, 1, &done, &e));
    assert_q("http_5xx|500", f, "SELECT error_class, length(error) FROM claims");
    store_source_close(src);
}

static void rows_without_a_match_are_asked_again(void **state) {
    struct fix *f = *state;
    struct source *src = flowsheet(f, f->s);
    struct rechecked got;
    struct err e;
    add_rows(f, 4);
    for (int i = 1; i <= 3; i++) {
        char key[2] = {(char)('0' + i), 0};
        assert_string_equal(claimed(f, f->s, src, key), "won 1 1");
        assert_true(finalize_row(f->s, src, key, 1, i == 3 ? ROW_MATCH : ROW_NO_MATCH, NULL));
        fix_advance(f, 1000);
    }
    x(f, "UPDATE %s SET metadata_status = 'enriched_no_match' WHERE id = 4",
      user_table(f, "flowsheet"));
    assert_ok(store_recheck(f->s, src, 10000, 100, &f->arena, &got, &e));
    assert_int_equal(got.n, 0);
    fix_set_now(f, T0 + 10001);
    assert_ok(store_recheck(f->s, src, 10000, 100, &f->arena, &got, &e));
    assert_int_equal(got.n, 1);
    assert_q("pending enriched_no_match enriched_match enriched_no_match", f,
             "SELECT metadata_status FROM %s ORDER BY id", user_table(f, "flowsheet"));
    assert_string_equal(claim_state(f, 1), "2|free|0");
    assert_string_equal(claimed(f, f->s, src, "1"), "won 3 1");
    assert_true(finalize_row(f->s, src, "1", 3, ROW_NO_MATCH, NULL));
    fix_advance(f, 20000);
    assert_ok(store_recheck(f->s, src, 10000, 1, &f->arena, &got, &e));
    assert_int_equal(got.n, 1);
    assert_string_equal(row_of(f, 2), "pending|0"); /* the oldest first */
    assert_ok(store_recheck(f->s, src, 10000, 100, &f->arena, &got, &e));
    assert_int_equal(got.n, 1);
    assert_ok(store_recheck(f->s, src, 10000, 100, &f->arena, &got, &e));
    assert_int_equal(got.n, 0);
    store_source_close(src);
}

static void pending_rows_by_pages(void **state) {
    struct fix *f = *state;
    struct source *src = flowsheet(f, f->s);
    add_rows(f, 12);
    x(f, "UPDATE %s SET entry_type = 'talk' WHERE id = 2", user_table(f, "flowsheet"));
    claimed(f, f->s, src, "3");
    claimed(f, f->s, src, "4");
    assert_true(release_row(f->s, src, "4", 1, true, 1000));
    assert_string_equal(pending(f, f->s, src, NULL, 4), "1 5 6 7");
    assert_string_equal(pending(f, f->s, src, "7", 4), "8 9 10 11");
    assert_string_equal(pending(f, f->s, src, "11", 4), "12");
    assert_string_equal(pending(f, f->s, src, "12", 4), "");
    fix_advance(f, 1000);
    assert_string_equal(pending(f, f->s, src, "1", 2), "4 5");
    store_source_close(src);
}

static void rows_are_counted(void **state) {
    struct fix *f = *state;
    struct source *src = flowsheet(f, f->s);
    struct source_counts n;
    struct err e;
    add_rows(f, 9);
    x(f, "UPDATE %s SET entry_type = 'talk' WHERE id = 9", user_table(f, "flowsheet"));
    for (int i = 1; i <= 7; i++) {
        char key[2] = {(char)('0' + i), 0};
        assert_string_equal(claimed(f, f->s, src, key), "won 1 1");
    }
    assert_true(finalize_row(f->s, src, "1", 1, ROW_MATCH, NULL));
    assert_true(finalize_row(f->s, src, "2", 1, ROW_NO_MATCH, NULL));
    assert_true(finalize_row(f->s, src, "3", 1, ROW_FAILED, NULL));
    assert_true(release_row(f->s, src, "4", 1, true, 1000));
    assert_true(release_row(f->s, src, "5", 1, true, 9000));
    assert_true(release_row(f->s, src, "6", 1, true, 0));
    fix_advance(f, 5000);
    assert_ok(store_source_count(f->s, src, &n, &e));
    assert_int_equal(n.rows[ROW_PENDING], 4);
    assert_int_equal(n.rows[ROW_BUSY], 1);
    assert_int_equal(n.rows[ROW_MATCH], 1);
    assert_int_equal(n.rows[ROW_NO_MATCH], 1);
    assert_int_equal(n.rows[ROW_FAILED], 1);
    assert_int_equal(n.waiting, 1);
    assert_int_equal(n.oldest_pending_ms, 4000);
    store_source_close(src);
}

/* A table may be so large that counting it would keep everybody waiting. */
static void a_count_has_a_limit(void **state) {
    struct fix *f = *state;
    struct source_spec spec = flowsheet_spec(f);
    struct source_counts n;
    struct err e;
    add_rows(f, 3);
    if (fix_kind == DB_POSTGRES)
        spec.filter = STR("pg_sleep(0.5) IS NOT NULL");
    struct source *src = rows_open(f->s, &spec);
    assert_int_equal(store_source_count_within(f->s, src, 100, &n, &e),
                     fix_kind == DB_POSTGRES ? V_LIMIT : V_OK);
    assert_ok(store_source_count(f->s, src, &n, &e)); /* the limit was of that one only */
    assert_int_equal(n.rows[ROW_PENDING], 3);
    store_source_close(src);
}

int row_value_tests(void) {
    static const struct CMUnitTest tests[] = {
        ROWS_CASE(values_of_every_type),   ROWS_CASE(what_the_table_refuses),
        ROWS_CASE(a_trigger_that_refuses), ROWS_CASE(rows_of_any_size),
        ROWS_CASE(errors_are_cut),         ROWS_CASE(rows_without_a_match_are_asked_again),
        ROWS_CASE(pending_rows_by_pages),  ROWS_CASE(rows_are_counted),
        ROWS_CASE(a_count_has_a_limit),
    };
    return cmocka_run_group_tests_name("rows, what is written", tests, NULL, NULL);
}
