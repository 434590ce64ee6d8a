#include "store/health.h"

#include "store/store_int.h"

#include <stdio.h>
#include <string.h>

struct first_text {
    char *out;
    bool taken;
};

static enum verdict take_text(void *ctx, const struct db_row *row) {
    struct first_text *t = ctx;
    if (t->taken)
        return V_OK;
    struct str s = db_row_text(row, 0);
    size_t n = s.n < HEALTH_TEXT_MAX ? s.n : HEALTH_TEXT_MAX - 1;
    if (n)
        memcpy(t->out, s.p, n);
    t->out[n] = '\0';
    t->taken = true;
    return V_OK;
}

static enum verdict ask_text(struct store *s, int stmt, char *out, struct err *e) {
    struct first_text t = {.out = out};
    out[0] = '\0';
    return db_run(s->db, stmt, DB_NO_VALS, take_text, &t, e);
}

enum verdict store_health(struct store *s, struct store_health *ret, struct err *e) {
    *ret = (struct store_health){.schema_wanted = (int)sql_n_migrations};
    enum verdict v = ask_text(s, SQL_HEALTH_VERSION, ret->version, e);
    return v == V_OK ? db_schema_version(s->db, &ret->schema, e) : v;
}

static void note_damage(struct schema_damage *d, const char *what) {
    for (size_t i = 0; i < d->n && i < DAMAGES_MAX; i++)
        if (strncmp(d->what[i], what, HEALTH_TEXT_MAX - 1) == 0)
            return;
    if (d->n < DAMAGES_MAX)
        snprintf(d->what[d->n], HEALTH_TEXT_MAX, "%.*s", HEALTH_TEXT_MAX - 1, what);
    d->n++;
}

static enum verdict check_statements(struct store *s, struct schema_damage *d, struct err *e) {
    for (int i = 0; i < SQL_N; i++) {
        enum verdict v = db_check(s->db, i, e);
        if (v == V_RETRY)
            return v; /* the connection, not the statement */
        if (v == V_OK)
            continue;
        d->n_broken++;
        note_damage(d, e->msg);
    }
    return V_OK;
}

#define INDEXES_MAX 200
struct index_search {
    const char *const *names;
    bool seen[INDEXES_MAX];
};

static enum verdict tick_off(void *ctx, const struct db_row *row) {
    struct index_search *search = ctx;
    for (size_t i = 0; i < INDEXES_MAX && search->names[i]; i++)
        if (str_eqc(db_row_text(row, 0), search->names[i]))
            search->seen[i] = true;
    return V_OK;
}

static enum verdict check_indexes(struct store *s, struct schema_damage *d, struct err *e) {
    struct index_search search = {.names = sql_indexes[db_kind(s->db)]};
    enum verdict v = db_run(s->db, SQL_HEALTH_INDEXES, DB_NO_VALS, tick_off, &search, e);
    for (size_t i = 0; v == V_OK && i < INDEXES_MAX && search.names[i]; i++) {
        char what[HEALTH_TEXT_MAX];
        snprintf(what, sizeof what, "no such index: %s", search.names[i]);
        if (!search.seen[i])
            note_damage(d, what);
    }
    return v;
}

enum verdict store_check_schema(struct store *s, struct schema_damage *ret, struct err *e) {
    *ret = (struct schema_damage){0};
    enum verdict v = check_statements(s, ret, e);
    return v == V_OK ? check_indexes(s, ret, e) : v;
}

enum verdict store_try_write(struct store *s, struct err *e) {
    enum verdict v = db_begin(s->db, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_HEALTH_WRITE, DB_NO_VALS, NULL, NULL, e);
    db_rollback(s->db);
    return v;
}

enum verdict store_quick_check(struct store *s, bool deep, char ret[HEALTH_TEXT_MAX],
                               struct err *e) {
    return ask_text(s, deep ? SQL_HEALTH_CHECK_DEEP : SQL_HEALTH_CHECK, ret, e);
}
