/* Tables of the user's own on SQLite: whatever a column may hold, rows that REPLACE takes away,
 * triggers beside ours. On PostgreSQL there is nothing of it to test. */
#include "fixture_cdc.h"

#include <string.h>

static void every_value(void **state) {
    struct fix *f = *state;
    x(f, "CREATE TABLE t (id INTEGER PRIMARY KEY, v)");
    install(f, "t", NULL);
    static const struct {
        const char *value, *json;
    } cases[] = {
        {"x'00ff'", "\"\\\\x00ff\""},
        {"x''", "\"\\\\x\""},
        {"9e999", "\"Infinity\""},
        {"-9e999", "\"-Infinity\""},
        {"0.1 + 0.2", "0.30000000000000004"},
        {"0.1", "0.1"},
        {"5.0", "5.0"},
        {"1e300", "1.0e+300"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"NULL", "null"},
        {"''", "\"\""},
        {"char(10, 34, 92, 31, 252)", "\"\\n\\\"\\\\\\u001f\u00fc\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char expected[200];
        x(f, "INSERT INTO t VALUES (1, %s)", cases[i].value);
        x(f, "DELETE FROM t");
        snprintf(expected, sizeof expected,
                 "insert {\"id\":1} {\"id\":1,\"v\":%s}; delete {\"id\":1} {\"id\":1,\"v\":%s}",
                 cases[i].json, cases[i].json);
        assert_string_equal(logged(f), expected);
    }
}

static void keys_of_any_kind(void **state) {
    struct fix *f = *state;
    x(f, "CREATE TABLE w (a, b TEXT COLLATE NOCASE, v, PRIMARY KEY (b, a)) WITHOUT ROWID");
    install(f, "W", NULL);
    x(f, "INSERT INTO w VALUES (x'01', 'k', 1)");
    x(f, "UPDATE w SET b = 'K'"); /* equal, and yet another */
    x(f, "UPDATE w SET v = 2");
    x(f, "DELETE FROM w");
    assert_string_equal(
        logged(f),
        "insert {\"b\":\"k\",\"a\":\"\\\\x01\"} {\"a\":\"\\\\x01\",\"b\":\"k\",\"v\":1}; "
        "delete {\"b\":\"k\",\"a\":\"\\\\x01\"} {\"a\":\"\\\\x01\",\"b\":\"k\",\"v\":1}; "
        "insert {\"b\":\"K\",\"a\":\"\\\\x01\"} {\"a\":\"\\\\x01\",\"b\":\"K\",\"v\":1}; "
        "update {\"b\":\"K\",\"a\":\"\\\\x01\"} {\"a\":\"\\\\x01\",\"b\":\"K\",\"v\":2}; "
        "delete {\"b\":\"K\",\"a\":\"\\\\x01\"} {\"a\":\"\\\\x01\",\"b\":\"K\",\"v\":2}");
    x(f, "CREATE TABLE g (rowid TEXT, a INTEGER, b AS (a + 1), c AS (a + 2) STORED)");
    install(f, "g", NULL);
    x(f, "INSERT INTO g (rowid, a) VALUES ('r', 1)");
    assert_string_equal(logged(f), "insert {\"rowid\":\"r\",\"a\":1,\"b\":2,\"c\":3}");
}

static void rows_that_are_replaced(void **state) {
    struct fix *f = *state;
    x(f, "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT UNIQUE, p INTEGER)");
    x(f, "CREATE UNIQUE INDEX some ON t (p) WHERE p > 10");
    install(f, "t", "u");
    x(f, "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 20), (3, 'c', 30)");
    logged(f);
    x(f, "INSERT OR REPLACE INTO t VALUES (9, 'a', 20)"); /* takes 1 and 2 away */
    assert_string_equal(logged(f),
                        "delete {\"id\":1}; delete {\"id\":2}; insert {\"id\":9} {\"u\":\"a\"}");
    x(f, "UPDATE OR REPLACE t SET u = 'c' WHERE id = 9");
    assert_string_equal(logged(f), "delete {\"id\":3}; update {\"id\":9} {\"u\":\"c\"}");
    x(f, "INSERT OR IGNORE INTO t VALUES (10, 'c', 1)"); /* takes nothing */
    x(f, "INSERT INTO t VALUES (11, 'c', 1) ON CONFLICT (u) DO UPDATE SET p = 2");
    x(f, "INSERT INTO t VALUES (12, 'd', 1)"); /* the same p, but not in the index */
    x(f, "INSERT INTO t VALUES (13, 'e', 1)");
    assert_string_equal(logged(f), "update {\"id\":9} {\"u\":\"c\"}; insert {\"id\":12} "
                                   "{\"u\":\"d\"}; insert {\"id\":13} {\"u\":\"e\"}");
    x(f, "INSERT OR REPLACE INTO t VALUES (12, 'd', 5)"); /* itself */
    assert_string_equal(logged(f), "insert {\"id\":12} {\"u\":\"d\"}");
    x(f, "INSERT OR IGNORE INTO t VALUES (10, 'c', 1)");
    heal(f);
    assert_q("0", f, "SELECT COUNT(*) FROM cdc_failures");
    assert_string_equal(logged(f), "-");
    x(f, "CREATE TABLE w (id TEXT PRIMARY KEY, u TEXT UNIQUE) WITHOUT ROWID");
    install(f, "w", NULL);
    x(f, "INSERT INTO w VALUES ('x', 'a')");
    logged(f);
    x(f, "REPLACE INTO w VALUES ('y', 'a')");
    assert_string_equal(logged(f),
                        "delete {\"id\":\"x\"}; insert {\"id\":\"y\"} {\"id\":\"y\",\"u\":\"a\"}");
}

/* The index may take for equal what the column, or a key to the letter, does not. */
static void rows_that_are_replaced_whatever_the_case(void **state) {
    struct fix *f = *state;
    x(f, "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)");
    x(f, "CREATE UNIQUE INDEX people_name ON people (name COLLATE NOCASE)");
    install(f, "people", NULL);
    x(f, "INSERT INTO people VALUES (1, 'Bob')");
    x(f, "REPLACE INTO people VALUES (2, 'BOB')");
    assert_string_equal(logged(f),
                        "insert {\"id\":1} {\"id\":1,\"name\":\"Bob\"}; delete {\"id\":1}; "
                        "insert {\"id\":2} {\"id\":2,\"name\":\"BOB\"}");
    x(f, "INSERT INTO people VALUES (3, 'Al')");
    x(f, "UPDATE OR REPLACE people SET name = 'bob' WHERE id = 3");
    assert_string_equal(logged(f),
                        "insert {\"id\":3} {\"id\":3,\"name\":\"Al\"}; delete {\"id\":2}; "
                        "update {\"id\":3} {\"id\":3,\"name\":\"bob\"}");
    const char *const kinds[] = {"", " WITHOUT ROWID"};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        x(f, "CREATE TABLE names%zu (name TEXT COLLATE NOCASE PRIMARY KEY, v)%s", i, kinds[i]);
        char name[16];
        snprintf(name, sizeof name, "names%zu", i);
        install(f, name, "v");
        x(f, "INSERT INTO %s VALUES ('Bob', 1)", name);
        x(f, "REPLACE INTO %s VALUES ('Bob', 2)", name);
        x(f, "REPLACE INTO %s VALUES ('bob', 3)", name);
        x(f, "INSERT INTO %s VALUES ('BOB', 4) ON CONFLICT (name) DO UPDATE SET v = 5", name);
        assert_string_equal(
            logged(f), "insert {\"name\":\"Bob\"} {\"v\":1}; insert {\"name\":\"Bob\"} {\"v\":2}; "
                       "delete {\"name\":\"Bob\"}; insert {\"name\":\"bob\"} {\"v\":3}; "
                       "update {\"name\":\"bob\"} {\"v\":5}");
        assert_true(listed(f, name).present);
    }
}

static void triggers_beside_ours(void **state) {
    struct fix *f = *state;
    x(f, "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)");
    x(f, "CREATE TRIGGER before AFTER INSERT ON t WHEN NEW.v = 'a' BEGIN UPDATE t SET v = 'z' "
         "WHERE id = NEW.id; END");
    install(f, "t", NULL);
    x(f, "CREATE TRIGGER behind AFTER INSERT ON t WHEN NEW.v = 'b' BEGIN DELETE FROM t WHERE id = "
         "NEW.id; END");
    x(f, "CREATE TRIGGER back AFTER DELETE ON t WHEN OLD.v = 'z' BEGIN INSERT INTO t VALUES "
         "(OLD.id, 'back'); END");
    x(f, "INSERT INTO t VALUES (1, 'a')");
    const char *text = logged(f); /* in whatever order they fired, the last word is true */
    assert_non_null(strstr(text, "update {\"id\":1} {\"id\":1,\"v\":\"z\"}"));
    assert_non_null(strstr(text, "insert {\"id\":1} {\"id\":1,\"v\":\""));
    const char *tail = "{\"id\":1,\"v\":\"z\"}";
    assert_string_equal(text + strlen(text) - strlen(tail), tail);
    x(f, "INSERT INTO t VALUES (2, 'b')");
    text = logged(f);
    tail = "delete {\"id\":2} {\"id\":2,\"v\":\"b\"}";
    assert_string_equal(text + strlen(text) - strlen(tail), tail);
    x(f, "DELETE FROM t WHERE id = 1");
    text = logged(f);
    tail = "insert {\"id\":1} {\"id\":1,\"v\":\"back\"}";
    assert_string_equal(text + strlen(text) - strlen(tail), tail);
}

static void a_wide_table(void **state) {
    struct fix *f = *state;
    CLEANUP(strbuf_release) struct strbuf sql;
    strbuf_init(&sql, 1 << 20);
    strbuf_adds(&sql, "CREATE TABLE wide (id INTEGER PRIMARY KEY");
    for (int i = 0; i < 300; i++)
        strbuf_addf(&sql, ", c%d", i);
    x(f, "%s)", sql.p);
    install(f, "wide", NULL);
    x(f, "INSERT INTO wide (id, c0, c299) VALUES (1, 'a', 'z')");
    assert_q("301|a|z", f,
             "SELECT (SELECT COUNT(*) FROM json_each(data)), json_extract(data, '$.c0'), "
             "json_extract(data, '$.c299') FROM change_log");
    assert_true(listed(f, "wide").present);
}

static void what_sqlite_cannot_log(void **state) {
    struct fix *f = *state;
    struct err e;
    struct cdc_table t;
    x(f, "CREATE VIRTUAL TABLE words USING fts5(a)");
    x(f, "CREATE TABLE t (a)");
    assert_int_equal(try_install(f, "words", NULL, false, &t, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "virtual"));
    assert_int_equal(try_install(f, "words_data", NULL, false, &t, &e), V_INVALID);
    assert_int_equal(try_install(f, "sqlite_schema", NULL, false, &t, &e), V_INVALID);
    assert_int_equal(try_install(f, "change_log", NULL, false, &t, &e), V_INVALID);
    assert_int_equal(try_install(f, "schema_migrations", NULL, false, &t, &e), V_INVALID);
    assert_int_equal(try_install(f, "other.t", NULL, false, &t, &e), V_INVALID);
    assert_ok(try_install(f, "main.t", NULL, false, &t, &e));
}

int cdc_lite_tests(void) {
    const struct CMUnitTest tests[] = {
        CDC_CASE(every_value),
        CDC_CASE(keys_of_any_kind),
        CDC_CASE(rows_that_are_replaced),
        CDC_CASE(rows_that_are_replaced_whatever_the_case),
        CDC_CASE(triggers_beside_ours),
        CDC_CASE(a_wide_table),
        CDC_CASE(what_sqlite_cannot_log),
    };
    return fix_kind == DB_SQLITE ? cmocka_run_group_tests_name("cdc on SQLite", tests, NULL, NULL)
                                 : 0;
}
