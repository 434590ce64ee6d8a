/* The whole feed with a role that has nothing but a schema of its own, on PostgreSQL: no superuser,
 * no right to create anything in the database. */
#include "fixture_cdc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plain {
    char role[100], uri[600];
};

/* "postgres://postgres@host/db" with another user. */
static void as_role(struct fix *f, struct plain *p) {
    const char *at = strchr(f->uri, '@');
    assert_non_null(at);
    snprintf(p->role, sizeof p->role, "%s_plain", f->schema);
    snprintf(p->uri, sizeof p->uri, "postgres://%s%s", p->role, at);
    x(f, "CREATE ROLE %s LOGIN", p->role);
    x(f, "CREATE SCHEMA \"%s\" AUTHORIZATION %s", f->schema, p->role);
    x(f, "CREATE SCHEMA %s_u", f->schema);
    x(f, "CREATE SCHEMA %s_own AUTHORIZATION %s", f->schema, p->role);
}

static struct store *open_as(struct fix *f, const struct plain *p) {
    struct store_options o = fix_options(f);
    struct store *s;
    struct err e = {0};
    o.uri = p->uri;
    if (store_open(&o, &s, &e) != V_OK)
        fail_msg("%s", e.msg);
    return f->all[f->n_stores++] = s;
}

static void forget_role(struct fix *f, const struct plain *p) {
    while (f->n_stores)
        store_close(f->all[--f->n_stores]);
    x(f, "DROP SCHEMA %s_u CASCADE", f->schema);
    x(f, "DROP OWNED BY %s CASCADE", p->role);
    x(f, "DROP ROLE %s", p->role);
}

static void number_all(struct store *s) {
    struct err e = {0};
    size_t n;
    if (store_feed_publish(s, 1000, &n, &e) != V_OK)
        fail_msg("%s", e.msg);
}

static const struct feed_change *read_all(struct fix *f, struct store *s, int64_t pos,
                                          size_t wanted) {
    const struct feed_change *all;
    struct err e = {0};
    size_t n;
    number_all(s);
    assert_ok(store_feed_read(s, &f->arena, pos, 100, 1 << 20, &all, &n, &e));
    assert_int_equal(n, wanted);
    return all;
}

static enum verdict install_as(struct fix *f, struct store *s, const char *table, struct err *e) {
    struct cdc_table out;
    return store_cdc_install(s, &(struct cdc_install){.table = str_of(table)}, &f->arena, &out, e);
}

static void migrates_numbers_and_listens(void **state) {
    struct fix *f = *state;
    struct plain p;
    struct feed_state st;
    struct err e = {0};
    bool ours, rung = false;
    int64_t n, age;
    as_role(f, &p);
    struct store *s = open_as(f, &p), *bell = open_as(f, &p);
    assert_ok(store_feed_role(s, &ours, &e));
    assert_true(ours);
    assert_ok(store_feed_listen(bell, &e));
    assert_ok(store_feed_state(s, &st, &e));
    x(f, "SET search_path TO \"%s\"", f->schema);
    x(f, "INSERT INTO users (id, created, karma, content_hash, first_seen_at, last_fetched_at, "
         "last_changed_at) VALUES ('someone', 1, 2, 3, 4, 5, 6)");
    assert_ok(store_feed_waiting(s, &age, &e));
    const struct feed_change *c = read_all(f, s, st.head, 1);
    assert_true(str_eqc(c->name, "users"));
    assert_ok(store_feed_wait(bell, -1, 60000, &rung, &e));
    assert_true(rung);
    assert_ok(store_feed_heal(s, &n, &e));
    assert_ok(store_cdc_watch(s, &e));
    assert_ok(store_feed_prune(s, 0, 1, &n, &e));
    assert_ok(store_feed_new_epoch(s, &n, &e));
    forget_role(f, &p);
}

static void installs_tables_of_its_own(void **state) {
    struct fix *f = *state;
    struct plain p;
    struct feed_state st;
    struct err e = {0};
    char table[100];
    as_role(f, &p);
    struct store *s = open_as(f, &p);
    snprintf(table, sizeof table, "%s_own.t", f->schema);
    x(f, "CREATE TABLE %s (id INTEGER PRIMARY KEY)", table);
    x(f, "ALTER TABLE %s OWNER TO %s", table, p.role);
    assert_ok(store_feed_state(s, &st, &e));
    if (install_as(f, s, table, &e) != V_OK)
        fail_msg("%s", e.msg);
    x(f, "INSERT INTO %s VALUES (7)", table);
    const struct feed_change *c = read_all(f, s, st.head, 1);
    assert_true(str_eqc(c->key, "{\"id\":7}"));
    assert_ok(store_cdc_remove(s, str_of(table), &e));
    forget_role(f, &p);
}

/* What is somebody else's is refused with the words that help. */
static void a_table_of_somebody_else(void **state) {
    struct fix *f = *state;
    struct plain p;
    struct err e = {0};
    as_role(f, &p);
    struct store *s = open_as(f, &p);
    const char *t = user_table(f, "t");
    x(f, "CREATE TABLE %s (id INTEGER PRIMARY KEY)", t);
    assert_int_equal(install_as(f, s, t, &e), V_INVALID);
    assert_non_null(strstr(e.msg, p.role));
    assert_non_null(strstr(e.msg, "GRANT USAGE ON SCHEMA"));
    x(f, "GRANT USAGE ON SCHEMA %s_u TO %s", f->schema, p.role);
    assert_int_equal(install_as(f, s, t, &e), V_INVALID);
    assert_non_null(strstr(e.msg, "GRANT SELECT, TRIGGER ON"));
    x(f, "GRANT SELECT, TRIGGER ON %s TO %s", t, p.role);
    assert_ok(install_as(f, s, t, &e));
    forget_role(f, &p);
}

/* Without a schema, and without the right to create one, it is told so. */
static void without_a_schema(void **state) {
    struct fix *f = *state;
    struct plain p;
    struct err e = {0};
    struct store *s;
    struct store_options o = fix_options(f);
    as_role(f, &p);
    o.uri = p.uri;
    o.schema = "tain_of_nobody";
    assert_true(store_open(&o, &s, &e) != V_OK);
    assert_non_null(strstr(e.msg, "permission denied"));
    forget_role(f, &p);
}

int plain_role_tests(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(migrates_numbers_and_listens, fix_setup_bare, fix_teardown),
        cmocka_unit_test_setup_teardown(installs_tables_of_its_own, fix_setup_bare, fix_teardown),
        cmocka_unit_test_setup_teardown(a_table_of_somebody_else, fix_setup_bare, fix_teardown),
        cmocka_unit_test_setup_teardown(without_a_schema, fix_setup_bare, fix_teardown),
    };
    return fix_kind == DB_POSTGRES
               ? cmocka_run_group_tests_name("a role without rights", tests, NULL, NULL)
               : 0;
}
