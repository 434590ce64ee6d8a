#include "store/health.h"

#include "store/store_int.h"

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
