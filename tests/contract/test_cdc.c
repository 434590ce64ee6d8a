/* Tables of the user's own: what is logged of them is the same on both databases. */
#include "fixture_cdc.h"

#include <string.h>

static const char *orders(struct fix *f) {
    const char *t = user_table(f, "orders");
    x(f, "CREATE TABLE %s (id INTEGER PRIMARY KEY, v TEXT, n INTEGER)", t);
    return t;
}

static void rows_come_and_go(void **state) {
    struct fix *f = *state;
    const char *t = orders(f);
    x(f, "INSERT INTO %s VALUES (7, 'before', 0)", t);
    assert_int_equal(install(f, t, NULL), 100);
    x(f, "INSERT INTO %s VALUES (1, 'a\"\\', 1), (2, NULL, 2)", t);
    assert_string_equal(logged(f), "insert {\"id\":1} {\"id\":1,\"v\":\"a\\\"\\\\\",\"n\":1}; "
                                   "insert {\"id\":2} {\"id\":2,\"v\":null,\"n\":2}");
    x(f, "UPDATE %s SET v = 'b' WHERE id < 3", t);
    assert_string_equal(logged(f), "update {\"id\":1} {\"id\":1,\"v\":\"b\",\"n\":1}; "
                                   "update {\"id\":2} {\"id\":2,\"v\":\"b\",\"n\":2}");
    x(f, "UPDATE %s SET id = 3 WHERE id = 2", t);
    assert_string_equal(logged(f), "delete {\"id\":2} {\"id\":2,\"v\":\"b\",\"n\":2}; "
                                   "insert {\"id\":3} {\"id\":3,\"v\":\"b\",\"n\":2}");
    x(f, "DELETE FROM %s WHERE id = 7", t);
    x(f, "DELETE FROM %s WHERE id = 1", t);
    assert_string_equal(logged(f), "delete {\"id\":7} {\"id\":7,\"v\":\"before\",\"n\":0}; "
                                   "delete {\"id\":1} {\"id\":1,\"v\":\"b\",\"n\":1}");
    x(f, "DELETE FROM %s WHERE id = 99", t);
    x(f, "UPDATE %s SET v = 'x' WHERE id = 99", t);
    assert_string_equal(logged(f), "-");
}

static void what_is_rolled_back_is_not_logged(void **state) {
    struct fix *f = *state;
    const char *t = orders(f);
    install(f, t, NULL);
    x(f, "BEGIN");
    x(f, "INSERT INTO %s VALUES (1, 'a', 1)", t);
    x(f, "SAVEPOINT a");
    x(f, "INSERT INTO %s VALUES (2, 'b', 2)", t);
    x(f, "ROLLBACK TO SAVEPOINT a");
    x(f, "INSERT INTO %s VALUES (3, 'c', 3)", t);
    x(f, "COMMIT");
    x(f, "BEGIN");
    x(f, "DELETE FROM %s", t);
    x(f, "ROLLBACK");
    assert_string_equal(logged(f), "insert {\"id\":1} {\"id\":1,\"v\":\"a\",\"n\":1}; "
                                   "insert {\"id\":3} {\"id\":3,\"v\":\"c\",\"n\":3}");
}

static void upserts(void **state) {
    struct fix *f = *state;
    const char *t = orders(f);
    install(f, t, NULL);
    for (int i = 0; i < 2; i++)
        x(f, "INSERT INTO %s VALUES (1, 'a', %d) ON CONFLICT (id) DO UPDATE SET n = excluded.n", t,
          i);
    x(f, "INSERT INTO %s VALUES (1, 'a', 9) ON CONFLICT (id) DO NOTHING", t);
    assert_string_equal(logged(f), "insert {\"id\":1} {\"id\":1,\"v\":\"a\",\"n\":0}; "
                                   "update {\"id\":1} {\"id\":1,\"v\":\"a\",\"n\":1}");
}

static void chosen_columns(void **state) {
    struct fix *f = *state;
    struct err e;
    struct cdc_table t;
    const char *name = orders(f);
    assert_int_equal(install(f, name, NULL), 100);
    assert_int_equal(install(f, name, NULL), 100); /* nothing else is asked for */
    x(f, "INSERT INTO %s VALUES (1, 'secret', 1)", name);
    assert_int_equal(try_install(f, name, NULL, true, &t, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "list of columns"));
    assert_int_equal(try_install(f, name, "n,nope", false, &t, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "no column nope"));
    /* the key is in every event, so whoever publishes it has to say so */
    assert_int_equal(try_install(f, name, "n", true, &t, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "id is of the key of orders"));
    assert_ok(try_install(f, name, "n,N,n,id", true, &t, &e));
    /* what was logged by another rule is not shown by this one */
    assert_int_equal(t.number, 101);
    assert_true(t.is_public);
    assert_true(str_eqc(t.columns, "n,id"));
    x(f, "INSERT INTO %s VALUES (2, 'secret', 2)", name);
    assert_q("100|0 101|1", f,
             "SELECT l.table_id, c.is_public FROM changes l JOIN cdc_tables c ON c.table_id = "
             "l.table_id ORDER BY 1");
    assert_string_equal(logged(f), "insert {\"id\":1} {\"id\":1,\"v\":\"secret\",\"n\":1}; "
                                   "insert {\"id\":2} {\"n\":2,\"id\":2}");
    t = listed(f, "orders");
    assert_true(t.present && t.is_public && t.number == 101 && str_eqc(t.key, "id") &&
                str_eqc(t.columns, "n,id"));
    assert_ok(store_cdc_remove(f->s, str_of(name), &e));
    assert_int_equal(store_cdc_remove(f->s, str_of(name), &e), V_NOT_FOUND);
    struct feed_state st;
    assert_ok(store_feed_state(f->s, &st, &e));
    assert_int_equal(st.retired, 2); /* readers look again at what they hold */
    x(f, "INSERT INTO %s VALUES (3, 'secret', 3)", name);
    assert_string_equal(logged(f), "-");
    assert_int_equal(listed(f, "orders").number, 0);
}

static void odd_names(void **state) {
    struct fix *f = *state;
    char name[64] = "\"", quoted[200];
    for (int i = 0; i < 8; i++)
        strcat(name, "ü. $q$"); /* 63 bytes with what follows */
    strcat(name, "'\\\"\"%\"");
    snprintf(quoted, sizeof quoted, "%s", user_table(f, name));
    CLEANUP(strbuf_release) struct strbuf sql;
    strbuf_init(&sql, 10000);
    strbuf_addf(&sql,
                "CREATE TABLE %s (\"a \"\"b\" TEXT, \"c.'d\\\" INTEGER, \"tain_at\" TEXT, \"r\" "
                "TEXT, \"d\" TEXT, \"t\" TEXT, PRIMARY KEY (\"c.'d\\\", \"a \"\"b\"))",
                quoted);
    x(f, "%s", sql.p);
    install(f, quoted, NULL);
    strbuf_clear(&sql);
    strbuf_addf(&sql, "INSERT INTO %s VALUES ('x', 1, 'at', 'r', 'd', 't')", quoted);
    x(f, "%s", sql.p);
    strbuf_clear(&sql);
    strbuf_addf(&sql, "UPDATE %s SET \"a \"\"b\" = 'y'", quoted);
    x(f, "%s", sql.p);
    const char *rest = "\"c.'d\\\\\":1,\"tain_at\":\"at\",\"r\":\"r\",\"d\":\"d\",\"t\":\"t\"}";
    char expected[1000];
    snprintf(expected, sizeof expected,
             "insert {\"c.'d\\\\\":1,\"a \\\"b\":\"x\"} {\"a \\\"b\":\"x\",%s; "
             "delete {\"c.'d\\\\\":1,\"a \\\"b\":\"x\"} {\"a \\\"b\":\"x\",%s; "
             "insert {\"c.'d\\\\\":1,\"a \\\"b\":\"y\"} {\"a \\\"b\":\"y\",%s",
             rest, rest, rest);
    assert_string_equal(logged(f), expected);
    assert_int_equal(install(f, quoted, "c.'d\\,r"), 101);
    strbuf_clear(&sql);
    strbuf_addf(&sql, "DELETE FROM %s", quoted);
    x(f, "%s", sql.p);
    assert_string_equal(logged(f), "delete {\"c.'d\\\\\":1,\"a \\\"b\":\"y\"} "
                                   "{\"c.'d\\\\\":1,\"r\":\"r\"}");
    assert_q("0", f, "SELECT COUNT(*) FROM cdc_failures");
}

static void other_keys(void **state) {
    struct fix *f = *state;
    const char *none = user_table(f, "keyless"), *unique = user_table(f, "by_unique");
    x(f, "CREATE TABLE %s (a TEXT, b INTEGER)", none);
    x(f, "CREATE TABLE %s (a TEXT UNIQUE, b INTEGER NOT NULL UNIQUE)", unique);
    install(f, none, NULL);
    install(f, unique, NULL);
    x(f, "INSERT INTO %s VALUES ('x', 1)", none);
    x(f, "UPDATE %s SET b = 2", none);
    x(f, "DELETE FROM %s", none);
    assert_string_equal(logged(f), "insert {\"a\":\"x\",\"b\":1}; update {\"a\":\"x\",\"b\":2}; "
                                   "delete {\"a\":\"x\",\"b\":2}");
    x(f, "INSERT INTO %s VALUES ('x', 1)", unique);
    x(f, "UPDATE %s SET b = 2", unique);
    assert_string_equal(logged(f), "insert {\"b\":1} {\"a\":\"x\",\"b\":1}; delete {\"b\":1} "
                                   "{\"a\":\"x\",\"b\":1}; insert {\"b\":2} {\"a\":\"x\",\"b\":2}");
    assert_true(str_eqc(listed(f, "keyless").key, ""));
    assert_true(str_eqc(listed(f, "by_unique").key, "b"));
}

static void assert_refused(struct fix *f, const char *table, const char *words) {
    struct err e = {0};
    struct cdc_table t;
    enum verdict v = try_install(f, table, NULL, false, &t, &e);
    if (v != V_INVALID || !strstr(e.msg, words))
        fail_msg("%s: %s: %s", table, verdict_name(v), e.msg);
    assert_q("5", f, "SELECT COUNT(*) FROM cdc_tables");
}

static void what_cannot_be_logged(void **state) {
    struct fix *f = *state;
    const char *view = user_table(f, "v"), *t = orders(f);
    x(f, "CREATE VIEW %s AS SELECT * FROM %s", view, t);
    assert_refused(f, view, "view");
    assert_refused(f, user_table(f, "nope"), "there is no table");
    assert_refused(f, "a.b.c", "does not name a table");
    assert_refused(f, "a..b", "does not name a table");
    assert_refused(f, "\"a", "does not name a table");
    assert_refused(f, "\"a\"b", "does not name a table");
    assert_refused(f, "", "does not name a table");
    char own[100];
    snprintf(own, sizeof own, "%s%sitems", fix_kind == DB_POSTGRES ? f->schema : "main", ".");
    assert_refused(f, own, "own");
    struct err e;
    assert_int_equal(store_cdc_remove(f->s, str_of(own), &e), V_INVALID);
}

static void what_is_wrong_is_said(void **state) {
    struct fix *f = *state;
    struct err e;
    const char *t = orders(f);
    install(f, t, NULL);
    assert_true(listed(f, "items").present && listed(f, "items").built_in);
    assert_true(listed(f, "orders").present);
    x(f, "ALTER TABLE %s ADD COLUMN extra TEXT", t);
    if (fix_kind == DB_SQLITE) {
        assert_non_null(strstr(listed(f, "orders").trouble.p, "install it again"));
        install(f, t, NULL);
    }
    assert_true(listed(f, "orders").present);
    x(f, "INSERT INTO %s VALUES (1, 'a', 1, 'more')", t);
    assert_string_equal(logged(f),
                        "insert {\"id\":1} {\"id\":1,\"v\":\"a\",\"n\":1,\"extra\":\"more\"}");
    x(f, "DROP TABLE %s", t);
    assert_non_null(strstr(listed(f, "orders").trouble.p, "gone: remove it"));
    assert_ok(store_cdc_remove(f->s, str_of(t), &e));
    assert_int_equal(listed(f, "orders").number, 0);
}

static void a_renamed_table(void **state) {
    struct fix *f = *state;
    const char *t = orders(f), *now = user_table(f, "sales");
    install(f, t, NULL);
    x(f, "ALTER TABLE %s RENAME TO sales", t);
    assert_non_null(strstr(listed(f, "orders").trouble.p, "sales"));
    assert_int_equal(install(f, now, NULL), 101);
    x(f, "INSERT INTO %s VALUES (1, 'a', 1)", now);
    assert_string_equal(logged(f), "insert {\"id\":1} {\"id\":1,\"v\":\"a\",\"n\":1}");
    assert_int_equal(listed(f, "orders").number, 0);
    assert_true(listed(f, "sales").present);
}

/* A row of more than may be logged: its key goes out alone. */
static void a_row_too_long(void **state) {
    struct fix *f = *state;
    const char *t = orders(f);
    install(f, t, NULL);
    char value[100];
    if (fix_kind == DB_POSTGRES)
        snprintf(value, sizeof value, "repeat('x', %zu)", FEED_DATA_MAX);
    else
        snprintf(value, sizeof value, "replace(hex(zeroblob(%zu)), '0', 'x')", FEED_DATA_MAX / 2);
    x(f, "INSERT INTO %s VALUES (1, %s, 1)", t, value);
    assert_string_equal(logged(f), "insert {\"id\":1}");
    assert_q("0", f, "SELECT COUNT(*) FROM cdc_failures");
    x(f, "UPDATE %s SET v = substr(v, 1, 1048576)", t);
    assert_int_equal(qi(f, "SELECT length(data) FROM changes"), 1048576 + 21);
}

int cdc_tests(void) {
    const struct CMUnitTest tests[] = {
        CDC_CASE(rows_come_and_go),
        CDC_CASE(what_is_rolled_back_is_not_logged),
        CDC_CASE(upserts),
        CDC_CASE(chosen_columns),
        CDC_CASE(odd_names),
        CDC_CASE(other_keys),
        CDC_CASE(what_cannot_be_logged),
        CDC_CASE(what_is_wrong_is_said),
        CDC_CASE(a_renamed_table),
        CDC_CASE(a_row_too_long),
    };
    return cmocka_run_group_tests_name("cdc", tests, NULL, NULL);
}
