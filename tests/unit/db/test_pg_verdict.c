#include "rows.h"

#include "db/db_int.h"

#include <string.h>

static const struct row {
    const char *name, *state;
    enum verdict v;
} rows[] = {
    {"no answer at all", NULL, V_RETRY},
    {"an empty state", "", V_RETRY},
    {"08000 connection exception", "08000", V_RETRY},
    {"08006 connection failure", "08006", V_RETRY},
    {"08P01 protocol violation", "08P01", V_RETRY},
    {"40001 serialization failure", "40001", V_RETRY},
    {"40P01 deadlock", "40P01", V_RETRY},
    {"55P03 lock not available", "55P03", V_RETRY},
    {"53300 too many connections", "53300", V_RETRY},
    {"53200 out of memory", "53200", V_RETRY},
    {"57014 cancelled", "57014", V_RETRY},
    {"57P01 admin shutdown", "57P01", V_RETRY},
    {"57P02 crash shutdown", "57P02", V_RETRY},
    {"57P03 cannot connect now", "57P03", V_RETRY},
    {"57P05 idle session", "57P05", V_RETRY},
    {"25006 read only", "25006", V_RETRY},
    {"22P02 invalid text representation", "22P02", V_INVALID},
    {"23505 unique violation", "23505", V_CONFLICT},
    {"23514 check violation", "23514", V_CONFLICT},
    {"23P01 exclusion violation", "23P01", V_CONFLICT},
    {"53100 disk full", "53100", V_FATAL},
    {"53400 configuration limit", "53400", V_FATAL},
    {"54000 program limit", "54000", V_LIMIT},
    {"P0001 a trigger said no", "P0001", V_CONFLICT},
    {"42601 syntax error", "42601", V_FATAL},
    {"26000 no such prepared statement", "26000", V_FATAL},
    {"42P01 undefined table", "42P01", V_FATAL},
    {"42501 insufficient privilege", "42501", V_FATAL},
    {"28P01 wrong password", "28P01", V_FATAL},
    {"3D000 no such database", "3D000", V_FATAL},
    {"57P04 database dropped", "57P04", V_FATAL},
    {"22021 not UTF-8", "22021", V_INVALID},
    {"21000 cardinality", "21000", V_FATAL},
    {"25P02 transaction aborted", "25P02", V_FATAL},
    {"55006 object in use", "55006", V_FATAL},
    {"XX000 internal error", "XX000", V_FATAL},
    {"XX001 data corrupted", "XX001", V_FATAL},
    {"5 is not a class", "5", V_FATAL},
};

static void check(void **state) {
    const struct row *r = *state;
    assert_string_equal(verdict_name(pg_verdict(r->state)), verdict_name(r->v));
    const struct err e = {.domain = "postgres", .code = pg_code(r->state)};
    assert_int_equal(db_is_read_only(&e), r->state && strcmp(r->state, "25006") == 0);
}

/* Without a pooler only a statement that was prepared, and is not, tells of another session. */
static const struct other {
    const char *name, *state;
    bool alone, pooled;
} others[] = {
    {"26000 what we prepared is not there", "26000", true, true},
    {"42P01 undefined table", "42P01", false, true},
    {"42883 undefined function", "42883", false, true},
    {"3F000 no such schema", "3F000", false, true},
    {"42501 insufficient privilege", "42501", false, false},
    {"40001 serialization failure", "40001", false, false},
};

static void check_other(void **state) {
    const struct other *r = *state;
    assert_int_equal(pg_is_other_session(r->state, false), r->alone);
    assert_int_equal(pg_is_other_session(r->state, true), r->pooled);
}

#define DOWN                                                                           \
    "connection to server at \"a\" (10.0.0.1), port 5432 failed: Connection refused\n" \
    "\tIs the server running on that host and accepting TCP/IP connections?\n"
#define REFUSED                                                                     \
    "connection to server at \"b\" (10.0.0.2), port 5432 failed: FATAL:  password " \
    "authentication failed for user \"me\"\n"
#define STANDBY "connection to server at \"b\" (10.0.0.2), port 5432 failed: session is read-only\n"
#define NO_RULE                                                                           \
    "connection to server at \"a\" (10.0.0.1), port 5432 failed: FATAL:  no pg_hba.conf " \
    "entry for host \"10.0.0.9\", user \"me\", database \"hn\", no encryption\n"

static const struct said {
    const char *name, *text;
    bool hopeless;
} said[] = {
    {"nothing", "", false},
    {"the only host is down", DOWN, false},
    {"the only host refuses", REFUSED, true},
    {"one is down, one refuses", DOWN REFUSED, false},
    {"one refuses, one is down", REFUSED DOWN, false},
    {"both refuse", REFUSED NO_RULE, true},
    {"a standby only", STANDBY, false},
    {"one is down, the other a standby", DOWN STANDBY, false},
    {"no line of a host", "database \"hn\" does not exist", true},
};

static void check_said(void **state) {
    const struct said *r = *state;
    assert_int_equal(pg_is_hopeless(r->text), r->hopeless);
}

static const struct taken {
    const char *name, *said;
    bool is;
} taken[] = {
    {"the table's own", "violates unique constraint \"items_pkey\" SQLSTATE 23505", true},
    {"that of a partition", "violates unique constraint \"items_200_pkey\"", true},
    {"in other words", "verletzt Unique-Constraint »items_pkey«", true},
    {"an index of others on it", "violates unique constraint \"items_by_idx\"", false},
    {"one that begins so", "violates unique constraint \"items_pkey_too\"", false},
    {"that of another table", "violates unique constraint \"audit_items_pkey\"", false},
    {"of one with a longer name", "violates unique constraint \"itemses_pkey\"", false},
    {"none", "", false},
};

static void check_taken(void **state) {
    const struct taken *r = *state;
    struct err e;
    err_set(&e, V_CONFLICT, "postgres", 23505, "%s", r->said);
    assert_int_equal(db_is_duplicate(&e, "items"), r->is);
    err_set(&e, V_CONFLICT, "postgres", 23514, "%s", r->said);
    assert_false(db_is_duplicate(&e, "items"));
    err_set(&e, V_CONFLICT, "sqlite", 23505, "%s", r->said);
    assert_false(db_is_duplicate(&e, "items"));
}

static const struct taken refused[] = {
    {"by that CHECK", "relation \"items\" violates check constraint \"items_before_edge\"", true},
    {"in other words", "verletzt Check-Constraint »items_before_edge«", true},
    {"by what begins so", "violates check constraint \"items_before_edge_too\"", false},
    {"by what ends so", "violates check constraint \"my_items_before_edge\"", false},
    {"at the second place", "\"items_before_edge2\", \"items_before_edge\"", true},
    {"none", "", false},
};

static void check_refused(void **state) {
    const struct taken *r = *state;
    struct err e;
    err_set(&e, V_CONFLICT, "postgres", 23514, "%s", r->said);
    assert_int_equal(db_is_refused(&e, "items_before_edge"), r->is);
    err_set(&e, V_CONFLICT, "postgres", 23505, "%s", r->said);
    assert_false(db_is_refused(&e, "items_before_edge"));
    err_set(&e, V_CONFLICT, "sqlite", 23514, "%s", r->said);
    assert_false(db_is_refused(&e, "items_before_edge"));
}

int main(void) {
    int failed = RUN_ROWS("pg_verdict", rows, check);
    failed += RUN_ROWS("pg_is_other_session", others, check_other);
    failed += RUN_ROWS("db_is_duplicate", taken, check_taken);
    failed += RUN_ROWS("db_is_refused", refused, check_refused);
    return failed + RUN_ROWS("pg_is_hopeless", said, check_said);
}
