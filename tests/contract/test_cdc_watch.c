/* Changes that no trigger sees, on PostgreSQL: partitions that are truncated, come and go, triggers
 * that are switched off, tables and columns that are dropped. Readers are told to read again, and
 * the list says what is wrong and which command mends it. */
#include "fixture_cdc.h"

#include <string.h>

static const char *partitioned(struct fix *f) {
    const char *t = user_table(f, "parts");
    x(f, "CREATE TABLE %s (id INTEGER PRIMARY KEY, v TEXT) PARTITION BY RANGE (id)", t);
    x(f, "CREATE TABLE %s_u.p1 PARTITION OF %s FOR VALUES FROM (0) TO (10)", f->schema, t);
    x(f, "CREATE TABLE %s_u.p2 PARTITION OF %s FOR VALUES FROM (10) TO (20)", f->schema, t);
    x(f, "INSERT INTO %s VALUES (1, 'a'), (11, 'b')", t);
    return t;
}

static const char *numbered(struct fix *f) {
    const char *t = user_table(f, "t");
    x(f, "CREATE TABLE %s (id INTEGER PRIMARY KEY, v TEXT)", t);
    return t;
}

/* What readers hear of it when the feed has looked. */
static const char *noticed(struct fix *f) {
    struct err e;
    int64_t n;
    assert_ok(store_cdc_watch(f->s, &e));
    assert_ok(store_feed_heal(f->s, &n, &e));
    return logged(f);
}

static void one_partition_is_truncated(void **state) {
    struct fix *f = *state;
    const char *t = partitioned(f);
    install(f, t, NULL);
    assert_string_equal(noticed(f), "-");
    x(f, "TRUNCATE %s_u.p1", f->schema);
    assert_string_equal(noticed(f), "resync");
    assert_string_equal(noticed(f), "-");
    x(f, "INSERT INTO %s VALUES (2, 'c')", t);
    x(f, "VACUUM ANALYZE %s", t);
    assert_string_equal(noticed(f), "insert {\"id\":2} {\"id\":2,\"v\":\"c\"}");
    assert_true(listed(f, "parts").present);
}

static void what_is_rolled_back_is_not_told(void **state) {
    struct fix *f = *state;
    install(f, partitioned(f), NULL);
    x(f, "BEGIN");
    x(f, "TRUNCATE %s_u.p1", f->schema);
    x(f, "ROLLBACK");
    assert_string_equal(noticed(f), "-");
}

static void partitions_come_and_go(void **state) {
    struct fix *f = *state;
    const char *t = partitioned(f);
    install(f, t, NULL);
    /* one that is made in its place, or attached without a row: nothing can have been missed */
    x(f, "CREATE TABLE %s_u.p3 PARTITION OF %s FOR VALUES FROM (20) TO (30)", f->schema, t);
    x(f, "CREATE TABLE %s_u.p4 (id INTEGER PRIMARY KEY, v TEXT)", f->schema);
    x(f, "ALTER TABLE %s ATTACH PARTITION %s_u.p4 FOR VALUES FROM (30) TO (40)", t, f->schema);
    assert_string_equal(noticed(f), "-");
    x(f, "CREATE TABLE %s_u.p5 (id INTEGER PRIMARY KEY, v TEXT)", f->schema);
    x(f, "INSERT INTO %s_u.p5 VALUES (41, 'x')", f->schema);
    x(f, "ALTER TABLE %s ATTACH PARTITION %s_u.p5 FOR VALUES FROM (40) TO (50)", t, f->schema);
    assert_string_equal(noticed(f), "resync");
    /* away, changed and back before anyone has looked */
    x(f, "ALTER TABLE %s DETACH PARTITION %s_u.p1", t, f->schema);
    x(f, "UPDATE %s_u.p1 SET v = 'unseen'", f->schema);
    x(f, "ALTER TABLE %s ATTACH PARTITION %s_u.p1 FOR VALUES FROM (0) TO (10)", t, f->schema);
    assert_string_equal(noticed(f), "resync");
    x(f, "ALTER TABLE %s DETACH PARTITION %s_u.p1", t, f->schema);
    assert_string_equal(noticed(f), "resync");
    x(f, "DROP TABLE %s_u.p2", f->schema);
    assert_string_equal(noticed(f), "resync");
    assert_true(listed(f, "parts").present);
}

/* Between the installing and the first look too. */
static void nothing_is_missed_from_the_start(void **state) {
    struct fix *f = *state;
    install(f, partitioned(f), NULL);
    x(f, "TRUNCATE %s_u.p2", f->schema);
    assert_string_equal(noticed(f), "resync");
}

static void switched_off_and_on(void **state) {
    struct fix *f = *state;
    const char *t = numbered(f);
    install(f, t, "v");
    x(f, "ALTER TABLE %s DISABLE TRIGGER USER", t);
    x(f, "INSERT INTO %s VALUES (1, 'unseen')", t);
    x(f, "ALTER TABLE %s ENABLE TRIGGER USER", t); /* as a bulk load does */
    assert_string_equal(noticed(f), "resync");
    x(f, "ALTER TABLE %s DISABLE TRIGGER USER", t);
    assert_string_equal(noticed(f), "resync");
    struct cdc_table l = listed(f, "t");
    assert_false(l.present);
    assert_non_null(strstr(l.trouble.p, "switched off"));
    assert_string_equal(l.mend.p, q(f, "SELECT 'tain cdc install --table %s --columns v'", t));
    x(f, "INSERT INTO %s VALUES (2, 'unseen too')", t);
    assert_string_equal(noticed(f), "-");
    install(f, t, "v"); /* what the list says */
    assert_true(listed(f, "t").present);
    assert_null(listed(f, "t").mend.p);
    assert_string_equal(noticed(f), "resync");
    assert_string_equal(noticed(f), "-");
}

static void off_on_one_partition(void **state) {
    struct fix *f = *state;
    const char *t = partitioned(f);
    install(f, t, NULL);
    x(f, "ALTER TABLE %s_u.p2 DISABLE TRIGGER USER", f->schema);
    struct cdc_table l = listed(f, "parts");
    assert_non_null(strstr(l.trouble.p, "switched off on "));
    assert_non_null(strstr(l.trouble.p, "p2"));
    x(f, "UPDATE %s SET v = 'unseen' WHERE id = 11", t);
    assert_string_equal(noticed(f), "resync");
    install(f, t, NULL);
    assert_true(listed(f, "parts").present);
    assert_string_equal(noticed(f), "resync");
}

/* Installing what is well already is not a reason to read everything again. */
static void installed_again(void **state) {
    struct fix *f = *state;
    const char *t = numbered(f);
    install(f, t, NULL);
    install(f, t, NULL);
    assert_string_equal(noticed(f), "-");
    install(f, t, "v"); /* another number */
    assert_string_equal(noticed(f), "-");
    x(f, "DROP TRIGGER \"!%s_cdc_update\" ON %s", f->schema, t);
    install(f, t, NULL); /* and yet another: what was missed under the other is told under this */
    assert_string_equal(noticed(f), "resync");
    x(f, "INSERT INTO %s VALUES (1, 'a')", t);
    assert_string_equal(noticed(f), "insert {\"id\":1} {\"id\":1,\"v\":\"a\"}");
}

static void dropped(void **state) {
    struct fix *f = *state;
    const char *t = numbered(f);
    install(f, t, NULL);
    x(f, "DROP TABLE %s", t);
    assert_string_equal(noticed(f), "resync");
    struct cdc_table l = listed(f, "t");
    assert_string_equal(l.mend.p, q(f, "SELECT 'tain cdc remove --table %s'", t));
    numbered(f); /* another one of that name is not logged until it is installed */
    x(f, "INSERT INTO %s VALUES (1, 'a')", t);
    l = listed(f, "t");
    assert_string_equal(l.mend.p, q(f, "SELECT 'tain cdc install --table %s'", t));
    install(f, t, NULL);
    assert_string_equal(noticed(f), "resync");
    x(f, "INSERT INTO %s VALUES (2, 'b')", t);
    assert_string_equal(noticed(f), "insert {\"id\":2} {\"id\":2,\"v\":\"b\"}");
}

static void a_key_column_is_dropped(void **state) {
    struct fix *f = *state;
    const char *t = user_table(f, "t");
    x(f, "CREATE TABLE %s (a INTEGER, b INTEGER, v TEXT, PRIMARY KEY (a, b))", t);
    install(f, t, "v,b");
    x(f, "ALTER TABLE %s DROP COLUMN b", t);
    x(f, "INSERT INTO %s VALUES (1, 'x')", t); /* goes in, whatever becomes of the log */
    assert_string_equal(noticed(f), "resync");
    struct cdc_table l = listed(f, "t");
    assert_non_null(strstr(l.trouble.p, "column b is gone"));
    assert_string_equal(l.mend.p, q(f, "SELECT 'tain cdc install --table %s --columns v'", t));
    install(f, t, "v");
    x(f, "INSERT INTO %s VALUES (2, 'y')", t);
    assert_string_equal(noticed(f), "insert {\"v\":\"y\"}");
}

static void one_of_ours(void **state) {
    struct fix *f = *state;
    x(f, "ALTER TABLE items DISABLE TRIGGER feed_items_update");
    struct cdc_table l = listed(f, "items");
    assert_false(l.present);
    assert_string_equal(
        l.mend.p, q(f, "SELECT 'ALTER TABLE \"%s\".\"items\" ENABLE TRIGGER USER'", f->schema));
    x(f, "%s", l.mend.p);
    assert_true(listed(f, "items").present);
    x(f, "DROP TRIGGER feed_items_update ON items");
    assert_non_null(strstr(listed(f, "items").trouble.p, "gone"));
}

static void names_that_a_shell_would_misread(void **state) {
    struct fix *f = *state;
    const char *t = user_table(f, "\"It's \"\"it\"\"\"");
    x(f, "CREATE TABLE %s (id INTEGER PRIMARY KEY, \"a b\" TEXT)", t);
    install(f, t, "a b");
    x(f, "ALTER TABLE %s DISABLE TRIGGER USER", t);
    struct cdc_table l = listed(f, "It's \"it\"");
    assert_string_equal(l.mend.p, q(f,
                                    "SELECT 'tain cdc install --table ''\"%s_u\".\"It''\\''''s "
                                    "\"\"it\"\"\"'' --columns ''a b'''",
                                    f->schema));
}

int cdc_watch_tests(void) {
    const struct CMUnitTest tests[] = {
        CDC_CASE(one_partition_is_truncated),
        CDC_CASE(what_is_rolled_back_is_not_told),
        CDC_CASE(partitions_come_and_go),
        CDC_CASE(nothing_is_missed_from_the_start),
        CDC_CASE(switched_off_and_on),
        CDC_CASE(off_on_one_partition),
        CDC_CASE(installed_again),
        CDC_CASE(dropped),
        CDC_CASE(a_key_column_is_dropped),
        CDC_CASE(one_of_ours),
        CDC_CASE(names_that_a_shell_would_misread),
    };
    return fix_kind == DB_POSTGRES
               ? cmocka_run_group_tests_name("changes that no trigger sees", tests, NULL, NULL)
               : 0;
}
