/* db_open: which words name which database. */
#include "rows.h"

#include "db/db.h"

#include <string.h>

static const char *const names[] = {"one"};
static const char *const sql[] = {"SELECT 1"};
static const struct db_catalog catalog = {1, names, {sql, sql}};

static const struct row {
    const char *name; /* the URI */
    enum verdict v;
    const char *says;
} rows[] = {
    {"sqlite::memory:", V_OK, ""},
    {"sqlite:", V_INVALID, "sqlite:PATH"},
    {"sqlite", V_INVALID, "sqlite:PATH"},
    {"", V_INVALID, "sqlite:PATH"},
    {"tain.db", V_INVALID, "'tain.db'"},
    {"mysql://localhost/x", V_INVALID, "mysql"},
    {"SQLITE:x.db", V_INVALID, "SQLITE"},
    {"sqlite:/nonexistent/folder/x.db", V_FATAL, "/nonexistent/folder/x.db"},
    {"sqlite:/", V_FATAL, "cannot open /"},
    {"postgres://nobody@127.0.0.1:1/none", V_RETRY, "cannot connect to PostgreSQL"},
    {"postgres://nobody@127.0.0.1:1,127.0.0.1:2/none?target_session_attrs=read-write", V_RETRY,
     "port 2 failed"},
    {"postgresql://nobody@127.0.0.1:1/none", V_RETRY, "cannot connect to PostgreSQL"},
    {"postgres://127.0.0.1:1/none?target_session_attrs=readwrite", V_INVALID,
     "invalid target_session_attrs value"},
};

static void check(void **state) {
    const struct row *r = *state;
    struct db_options o = {.uri = r->name, .schema = "tain", .catalog = &catalog};
    struct db *db = NULL;
    struct err e = {0};
    enum verdict v = db_open(&o, &db, &e);
    assert_string_equal(verdict_name(v), verdict_name(r->v));
    if (!strstr(e.msg, r->says))
        fail_msg("'%s' does not say '%s'", e.msg, r->says);
    if (v == V_OK)
        db_close(db);
    else
        assert_null(db);
}

int main(void) {
    return RUN_ROWS("db_open", rows, check);
}
