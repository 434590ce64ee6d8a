/* What a session asks of a PostgreSQL server that must not wait for hosts that are gone. */
#include "fixture.h"

#include <stdio.h>

/* As the server's end of the connection has it. */
static void assert_setting(struct store *s, const char *name, const char *value) {
    struct err e = {0};
    char sql[300];
    snprintf(sql, sizeof sql,
             "DO $$ BEGIN IF current_setting('%s') <> '%s' THEN"
             " RAISE 'it is %%', current_setting('%s'); END IF; END $$",
             name, value, name);
    if (db_script(s->db, sql, &e) != V_OK)
        fail_msg("%s should be %s: %s", name, value, e.msg);
}

static struct store *open_at(struct fix *f, const char *options) {
    struct store_options o = fix_options(f);
    struct store *s;
    struct err e = {0};
    char uri[700];
    snprintf(uri, sizeof uri, "%s%s", f->uri, options);
    o.uri = uri;
    if (store_open(&o, &s, &e) != V_OK)
        fail_msg("%s", e.msg);
    return f->all[f->n_stores++] = s;
}

static void the_server_looks_after_us(void **state) {
    struct fix *f = *state;
    struct store *s = fix_open(f);
    assert_setting(s, "tcp_keepalives_idle", "10");
    assert_setting(s, "tcp_keepalives_interval", "5");
    assert_setting(s, "tcp_keepalives_count", "3");
    assert_setting(s, "tcp_user_timeout", "30000");
}

static void by_the_figures_of_the_address(void **state) {
    struct fix *f = *state;
    struct store *s = open_at(f, "?keepalives_idle=7&tcp_user_timeout=9000");
    assert_setting(s, "tcp_keepalives_idle", "7");
    assert_setting(s, "tcp_keepalives_count", "3");
    assert_setting(s, "tcp_user_timeout", "9000");
}

int session_tests(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_server_looks_after_us, fix_setup, fix_teardown),
        cmocka_unit_test_setup_teardown(by_the_figures_of_the_address, fix_setup, fix_teardown),
    };
    return fix_kind == DB_POSTGRES ? cmocka_run_group_tests_name("sessions", tests, NULL, NULL) : 0;
}
