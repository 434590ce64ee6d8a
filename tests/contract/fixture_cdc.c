#include "fixture_cdc.h"

#include <string.h>

int cdc_setup(void **state) {
    fix_setup(state);
    struct fix *f = *state;
    if (fix_kind == DB_POSTGRES)
        x(f, "CREATE SCHEMA %s_u", f->schema);
    return 0;
}

int cdc_teardown(void **state) {
    struct fix *f = *state;
    if (fix_kind == DB_POSTGRES)
        x(f, "DROP SCHEMA IF EXISTS %s_u CASCADE", f->schema);
    return fix_teardown(state);
}

const char *user_table(struct fix *f, const char *name) {
    char *out = arena_alloc(&f->arena, strlen(f->schema) + strlen(name) + 8);
    if (fix_kind == DB_SQLITE)
        strcpy(out, name);
    else
        sprintf(out, "%s_u.%s", f->schema, name);
    return out;
}

enum verdict try_install(struct fix *f, const char *table, const char *columns, bool is_public,
                         struct cdc_table *ret, struct err *e) {
    struct str names[16];
    struct cdc_install ask = {.table = str_of(table), .columns = names, .is_public = is_public};
    for (const char *p = columns; p && *p; ask.n_columns++) {
        names[ask.n_columns] = (struct str){p, strcspn(p, ",")};
        p += strcspn(p, ",");
        p += *p == ',';
    }
    return store_cdc_install(f->s, &ask, &f->arena, ret, e);
}

int install(struct fix *f, const char *table, const char *columns) {
    struct err e;
    struct cdc_table t;
    assert_ok(try_install(f, table, columns, false, &t, &e));
    return t.number;
}

const char *logged(struct fix *f) {
    const char *text =
        q(f, fix_kind == DB_POSTGRES
                 ? "SELECT string_agg(action || COALESCE(' ' || key, '') || COALESCE(' ' || data, "
                   "''), '; ' ORDER BY batch, part, idx) FROM changes"
                 : "SELECT group_concat(action || COALESCE(' ' || key, '') || COALESCE(' ' || "
                   "data, ''), '; ') FROM (SELECT * FROM change_log ORDER BY seq)");
    x(f, "DELETE FROM change_log");
    return text;
}

struct cdc_table listed(struct fix *f, const char *name) {
    struct err e;
    const struct cdc_table *t;
    size_t n;
    assert_ok(store_cdc_list(f->s, &f->arena, &t, &n, &e));
    for (size_t i = 0; i < n; i++)
        if (str_eqc(t[i].name, name))
            return t[i];
    return (struct cdc_table){0};
}

int64_t heal(struct fix *f) {
    struct err e;
    int64_t n;
    assert_ok(store_feed_heal(f->s, &n, &e));
    return n;
}
