/* Opening a table source: what does not fit is named, whatever the names are; keys of every kind;
 * the indexes that the sweep relies on. */
#include "fixture_rows.h"

#include <string.h>

static void assert_refused(struct fix *f, const struct source_spec *spec, const char *words) {
    const char *said = rows_refusal(f, spec);
    if (!strstr(said, words))
        fail_msg("'%s' is not in: %s", words, said);
}

static void a_spec_that_does_not_fit(void **state) {
    struct fix *f = *state;
    struct source_spec good = flowsheet_spec(f), s = good;
    const struct str bad_outputs[] = {STR("artwork_url"), STR("nowhere")};
    const struct str twice[] = {STR("artwork_url"), STR("ARTWORK_URL")};
    const struct str ours[] = {STR("metadata_status")};
    assert_string_equal(rows_refusal(f, &good), "fine");
    s.table = STR("nowhere.nothing");
    assert_refused(f, &s, "table 0: there is no table");
    s.table = STR("a.b.c");
    assert_refused(f, &s, "table 0: ");
    s.table = str_of(fix_kind == DB_POSTGRES ? f->schema : "claims");
    if (fix_kind == DB_SQLITE)
        assert_refused(f, &s, "table 0: claims is one of the archive's own");
    s = good;
    s.key = STR("nokey");
    assert_refused(f, &s, "key 0: flowsheet has no column 'nokey'");
    s.key = STR("artist_name");
    assert_refused(f, &s, "key 0: column artist_name is not a key");
    s = good;
    s.status = STR("nostatus");
    assert_refused(f, &s, "status 0: flowsheet has no column 'nostatus'");
    s = good;
    s.since = STR("release_year");
    assert_refused(f, &s,
                   fix_kind == DB_POSTGRES ? "since 0: column release_year is smallint"
                                           : "outputs 8: ");
    s.since = STR("nosince");
    assert_refused(f, &s, "since 0: ");
    s = good;
    s.inputs = bad_outputs;
    s.n_inputs = 2;
    assert_refused(f, &s, "inputs 1: flowsheet has no column 'nowhere'");
    s = good;
    s.outputs = bad_outputs;
    s.n_outputs = 2;
    assert_refused(f, &s, "outputs 1: flowsheet has no column 'nowhere'");
    s.outputs = twice;
    assert_refused(f, &s, "outputs 1: column artwork_url is there twice");
    s.outputs = ours;
    s.n_outputs = 1;
    assert_refused(f, &s, "outputs 0: column metadata_status is not for results");
    s.n_outputs = SOURCE_COLUMNS_MAX + 1;
    assert_refused(f, &s, "outputs 0: more than");
    s = good;
    s.states[ROW_MATCH] = STR("enriching");
    assert_refused(f, &s, "states 2: two states are called 'enriching'");
    s.states[ROW_MATCH] = STR("");
    assert_refused(f, &s, "states 2: ");
    s = good;
    s.name = STR("");
    assert_refused(f, &s, "name 0: ");
}

static void a_filter_that_is_none(void **state) {
    struct fix *f = *state;
    static const struct {
        const char *filter, *pg, *sqlite;
    } cases[] = {
        {"entry_type = 'track'; DROP TABLE claims", "a semicolon", "a semicolon"},
        {"true) OR (true", "not opened", "not opened"},
        {"(entry_type = 'track'", "not closed", "not closed"},
        {"entry_type = 'track", "not closed", "not closed"},
        {"entry_type = \"track", "not closed", "not closed"},
        {"entry_type = 'track' -- all", "a comment", "a comment"},
        {"entry_type = 'track' /* all", "a comment", "a comment"},
        {"entry_type = $1", "dollar", "dollar"},
        {"entry_type = $$)$$", "dollar", "dollar"},
        {"entry_type = ?1", "filter 0: ", "a parameter"},
        {"entry_type = :x", "filter 0: ", "a parameter"},
        {"entry_type = E'\\') OR ('", "fine", "not opened"},
        {"   ", "nothing", "nothing"},
        {"", "nothing", "nothing"},
        {"no_such_column = 1", "no_such_column", "no_such_column"},
        {"entry_type =", "filter 0: ", "filter 0: "},
        {"COUNT(*) > 1", "filter 0: ", "filter 0: "},
        {"entry_type", "boolean", "fine"},
        {"entry_type = ');--'", "fine", "fine"},
        {"entry_type = 'it''s' OR (artist_name IS NULL AND \"album_title\" = ')')", "fine", "fine"},
        {"flowsheet.entry_type IN ('track', 'song') AND length(artist_name) - -1 > 0", "fine",
         "fine"},
        {"EXISTS (SELECT 1 FROM (SELECT 1 AS key) AS z WHERE z.key = 1)", "fine", "fine"},
    };
    struct source_spec s = flowsheet_spec(f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        s.filter = str_of(cases[i].filter);
        assert_refused(f, &s, fix_kind == DB_POSTGRES ? cases[i].pg : cases[i].sqlite);
    }
    assert_q("0", f, "SELECT COUNT(*) FROM claims");
}

/* Names and states with whatever may be in them. */
static void hostile_names(void **state) {
    struct fix *f = *state;
    bool pg = fix_kind == DB_POSTGRES;
    const char *t = pg ? user_table(f, "\"ta\"\"ble; DROP '\"") : "\"ta\"\"ble; DROP '\"";
    x(f,
      "CREATE TABLE %s (\"k'ey; \"\"--\" TEXT PRIMARY KEY, \"st {at} us\" TEXT,"
      " \"select\" BIGINT, \"claims\" TEXT, \"out }{ 'put\" TEXT)",
      t);
    x(f,
      "INSERT INTO %s VALUES ('a''b\"c\\d', 'p''\\\" {key}', NULL, 'x', NULL),"
      " ('other', 'p''\\\" {key}', NULL, 'y', NULL)",
      t);
    const struct str in[] = {STR("claims"), STR("k'ey; \"--")}, out[] = {STR("out }{ 'put")};
    struct source_spec s = {
        .name = STR("so'ur\\ce {x}"),
        .table = str_of(t),
        .key = STR("k'ey; \"--"),
        .status = STR("st {at} us"),
        .since = STR("select"),
        .filter = STR("\"claims\" IN ('x', 'y{z')"),
        .states = {STR("p'\\\" {key}"), STR("b;usy--"), STR("m{atch}"), STR("n'o"), STR("f\\ail")},
        .inputs = in,
        .n_inputs = 2,
        .outputs = out,
        .n_outputs = 1,
    };
    struct source *src = rows_open(f->s, &s);
    assert_string_equal(pending(f, f->s, src, NULL, 9), "a'b\"c\\d");
    struct row_claim c = claim_row(f, f->s, src, "a'b\"c\\d");
    assert_int_equal(c.result, CLAIM_WON);
    assert_string_equal(c.row.p, "{\"claims\":\"x\",\"k'ey; \\\"--\":\"a'b\\\"c\\\\d\"}");
    assert_string_equal(claimed(f, f->s, src, "other"), "ignored");
    assert_q("b;usy--|1700000000000", f,
             "SELECT \"st {at} us\", \"select\" FROM %s WHERE \"claims\" = 'x'", t);
    assert_true(finalize_row(f->s, src, "a'b\"c\\d", 1, ROW_MATCH, "{\"out }{ 'put\":\"yes\"}"));
    assert_q("m{atch}|-|yes", f,
             "SELECT \"st {at} us\", \"select\", \"out }{ 'put\" FROM %s WHERE \"claims\" = 'x'",
             t);
    assert_q("so'ur\\ce {x}|a'b\"c\\d|done", f, "SELECT source, key, state FROM claims");
    assert_string_equal(swept(f, f->s, src, 9), "");
    store_source_close(src);
}

static void keys_of_text_and_uuid(void **state) {
    struct fix *f = *state;
    bool pg = fix_kind == DB_POSTGRES;
    x(f, "CREATE TABLE %s (k %s UNIQUE, status TEXT DEFAULT 'pending')", user_table(f, "keyed"),
      pg ? "UUID" : "TEXT");
    x(f,
      "INSERT INTO %s (k) VALUES ('aaaaaaaa-0000-4000-8000-00000000000a'),"
      " ('bbbbbbbb-0000-4000-8000-00000000000b'), (NULL)",
      user_table(f, "keyed"));
    struct source_spec s = flowsheet_spec(f);
    s.table = str_of(user_table(f, "keyed"));
    s.key = STR("k");
    s.status = STR("status");
    s.since = s.filter = STR_NONE;
    s.n_inputs = s.n_outputs = 0;
    struct source *src = rows_open(f->s, &s);
    const char *first = "aaaaaaaa-0000-4000-8000-00000000000a";
    assert_string_equal(pending(f, f->s, src, NULL, 1), first);
    assert_string_equal(pending(f, f->s, src, first, 9), "bbbbbbbb-0000-4000-8000-00000000000b");
    assert_string_equal(claimed(f, f->s, src, "not a uuid"), "ignored");
    struct row_claim c =
        claim_row(f, f->s, src, pg ? "AAAAAAAA-0000-4000-8000-00000000000A" : first);
    assert_int_equal(c.result, CLAIM_WON);
    assert_string_equal(c.key.p, first);
    assert_string_equal(claimed(f, f->s, src, first), "lost");
    fix_advance(f, LEASE + SWEEP_GRACE_MS + 1);
    assert_string_equal(swept(f, f->s, src, 9), first);
    assert_string_equal(claimed(f, f->s, src, first), "won 3 2");
    assert_true(release_row(f->s, src, first, 3, true, 0));
    /* claims of a time when the source was another table hurt nobody */
    x(f, "INSERT INTO claims (source, key, token, state, lease_until, updated_at)"
         " VALUES ('flowsheet', 'from elsewhere', 1, 'held', 1, 1)");
    assert_string_equal(swept(f, f->s, src, 9), "");
    /* without a column that says since when, a busy row without a claim is freed at once */
    x(f, "UPDATE %s SET status = 'enriching' WHERE k IS NOT NULL AND k <> '%s'",
      user_table(f, "keyed"), first);
    assert_string_equal(swept(f, f->s, src, 9), "bbbbbbbb-0000-4000-8000-00000000000b");
    store_source_close(src);
    s.key = STR("status");
    assert_refused(f, &s, "key 0: ");
}

static void small_integers_and_no_number(void **state) {
    struct fix *f = *state;
    x(f, "CREATE TABLE %s (k SMALLINT PRIMARY KEY, status TEXT DEFAULT 'pending', r REAL UNIQUE)",
      user_table(f, "small"));
    x(f, "INSERT INTO %s (k) VALUES (-5), (32767)", user_table(f, "small"));
    struct source_spec s = flowsheet_spec(f);
    s.table = str_of(user_table(f, "small"));
    s.key = STR("r");
    s.status = STR("status");
    s.since = s.filter = STR_NONE;
    s.n_inputs = s.n_outputs = 0;
    assert_refused(f, &s, "key 0: column r is");
    s.key = STR("K");
    struct source *src = rows_open(f->s, &s);
    assert_string_equal(pending(f, f->s, src, NULL, 9), "-5 32767");
    assert_string_equal(claimed(f, f->s, src, "-5"), "won 1 1");
    assert_string_equal(claimed(f, f->s, src, "32768"), "ignored");
    assert_string_equal(claimed(f, f->s, src, "32767"), "won 1 1");
    store_source_close(src);
}

static void enums_views_and_rights(void **state) {
    struct fix *f = *state;
    if (fix_kind != DB_POSTGRES)
        skip();
    x(f, "CREATE TYPE %s AS ENUM ('pending', 'enriching', 'm', 'n', 'f')", user_table(f, "st"));
    x(f,
      "CREATE TABLE %s (id INT PRIMARY KEY, status %s DEFAULT 'pending', s VARCHAR(8),"
      " g INT GENERATED ALWAYS AS (1) STORED)",
      user_table(f, "en"), user_table(f, "st"));
    x(f, "INSERT INTO %s (id) VALUES (1)", user_table(f, "en"));
    struct source_spec s = flowsheet_spec(f);
    s.table = str_of(user_table(f, "en"));
    s.status = STR("status");
    s.since = s.filter = STR_NONE;
    s.n_inputs = s.n_outputs = 0;
    assert_refused(f, &s, "states 2: ");
    s.states[ROW_MATCH] = STR("m");
    s.states[ROW_NO_MATCH] = STR("n");
    s.states[ROW_FAILED] = STR("f");
    struct source *src = rows_open(f->s, &s);
    struct source_counts n;
    struct err e;
    assert_string_equal(claimed(f, f->s, src, "1"), "won 1 1");
    assert_true(finalize_row(f->s, src, "1", 1, ROW_NO_MATCH, NULL));
    assert_ok(store_source_count(f->s, src, &n, &e));
    assert_int_equal(n.rows[ROW_NO_MATCH], 1);
    store_source_close(src);
    const struct str generated[] = {STR("g")};
    s.outputs = generated;
    s.n_outputs = 1;
    assert_refused(f, &s, "outputs 0: column g cannot be written");
    s.n_outputs = 0;
    s.status = STR("s");
    assert_refused(f, &s, "states 1: 'enriching' is too long");
    x(f, "ALTER TABLE %s ADD CHECK (s IN ('pending', 'busy', 'm', 'n')), ADD CHECK (length(s) > 0)",
      user_table(f, "en"));
    s.states[ROW_BUSY] = STR("busy");
    assert_refused(f, &s, "states 4: column s does not take 'f': CHECK (");
    x(f, "CREATE VIEW %s AS SELECT * FROM %s", user_table(f, "vw"), user_table(f, "en"));
    s.table = str_of(user_table(f, "vw"));
    assert_refused(f, &s, "table 0: ");
}

/* The table changes under a source that is open. */
static void a_column_is_lost(void **state) {
    struct fix *f = *state;
    struct source *src = flowsheet(f, f->s);
    struct err e;
    struct row_claim c;
    struct str key = STR("2");
    add_rows(f, 3);
    assert_string_equal(claimed(f, f->s, src, "1"), "won 1 1");
    x(f, "ALTER TABLE %s ADD COLUMN more TEXT", user_table(f, "flowsheet"));
    assert_true(finalize_row(f->s, src, "1", 1, ROW_MATCH, "{\"artist_bio\":\"x\"}"));
    x(f, "ALTER TABLE %s DROP COLUMN album_title", user_table(f, "flowsheet"));
    assert_int_equal(store_claim_rows(f->s, src, &key, 1, STR("me"), LEASE, &f->arena, &c, &e),
                     V_FATAL);
    assert_non_null(strstr(e.msg, "source flowsheet: claim: "));
    assert_non_null(strstr(e.msg, "album_title"));
    assert_string_equal(row_of(f, 2), "pending|0");
    x(f, "DROP TABLE %s", user_table(f, "flowsheet"));
    struct row_page page;
    assert_int_equal(store_pending(f->s, src, STR_NONE, 2, &f->arena, &page, &e), V_FATAL);
    assert_non_null(strstr(e.msg, "flowsheet"));
    store_source_close(src);
}

static const char *missing(struct fix *f, struct source *src) {
    struct err e;
    struct str list[2];
    size_t n;
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 10000);
    assert_ok(store_source_missing_indexes(f->s, src, &f->arena, list, &n, &e));
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&b, "%s%.*s", i ? "; " : "", STR_FMT(list[i]));
    return arena_strdup(&f->arena, n ? b.p : "");
}

static void indexes_that_are_missing(void **state) {
    struct fix *f = *state;
    bool pg = fix_kind == DB_POSTGRES;
    struct source *src = flowsheet(f, f->s);
    const char *t = user_table(f, "flowsheet");
    const char *both = missing(f, src);
    assert_non_null(strstr(both, "(\"enriching_since\") WHERE \"metadata_status\" = 'enriching'"));
    assert_non_null(strstr(both, "(\"id\") WHERE \"metadata_status\" = 'pending' AND "
                                 "(entry_type='track')"));
    assert_int_equal(strncmp(both, "CREATE INDEX ", 13), 0);
    x(f, "CREATE INDEX whatever ON %s (enriching_since) WHERE metadata_status = 'enriching'", t);
    assert_null(strstr(missing(f, src), "enriching_since"));
    x(f, "CREATE INDEX other ON %s (id) WHERE metadata_status = 'enriched_match'", t);
    x(f, "CREATE INDEX wrong ON %s (artist_name) WHERE metadata_status = 'pending'", t);
    assert_non_null(strstr(missing(f, src), "'pending'"));
    x(f,
      "CREATE INDEX right_one ON %s (id) WHERE entry_type = 'track' AND "
      "metadata_status = 'pending'",
      t);
    assert_string_equal(missing(f, src), "");
    /* what it said can be done, and helps */
    x(f, pg ? "DROP INDEX %s_u.whatever, %s_u.right_one" : "DROP INDEX whatever", f->schema,
      f->schema);
    if (!pg)
        x(f, "DROP INDEX right_one");
    struct err e;
    struct str list[2];
    size_t n;
    assert_ok(store_source_missing_indexes(f->s, src, &f->arena, list, &n, &e));
    assert_int_equal(n, 2);
    for (size_t i = 0; i < n; i++)
        x(f, "%s", list[i].p);
    assert_string_equal(missing(f, src), "");
    store_source_close(src);
}

int row_open_tests(void) {
    static const struct CMUnitTest tests[] = {
        ROWS_CASE(a_spec_that_does_not_fit),
        ROWS_CASE(a_filter_that_is_none),
        ROWS_CASE(hostile_names),
        ROWS_CASE(keys_of_text_and_uuid),
        ROWS_CASE(small_integers_and_no_number),
        ROWS_CASE(enums_views_and_rights),
        ROWS_CASE(a_column_is_lost),
        ROWS_CASE(indexes_that_are_missing),
    };
    return cmocka_run_group_tests_name("rows, sources", tests, NULL, NULL);
}
