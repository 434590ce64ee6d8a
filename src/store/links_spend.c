/* What a provider costs in a month. The month is the database's, in UTC. */
#include "store/links_int.h"

#include <string.h>
#include <time.h>

struct month {
    int64_t from, to; /* unix milliseconds */
};

static struct month month_of(int64_t now_ms) {
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    struct tm first = {.tm_year = tm.tm_year, .tm_mon = tm.tm_mon, .tm_mday = 1};
    struct tm next = {.tm_year = tm.tm_year, .tm_mon = tm.tm_mon + 1, .tm_mday = 1};
    return (struct month){(int64_t)timegm(&first) * 1000, (int64_t)timegm(&next) * 1000};
}

static enum verdict this_month(struct store *s, struct month *ret, struct err *e) {
    int64_t now;
    enum verdict v = store_now(s, &now, e);
    if (v == V_OK)
        *ret = month_of(now);
    return v;
}

static enum verdict get(struct store *s, struct str provider, const struct month *m,
                        struct link_spend *ret, struct err *e) {
    *ret = (struct link_spend){.month = m->from, .renews_at = m->to};
    enum verdict v =
        db_run_int(s->db, SQL_SPEND_GET, DB_VALS(DBT(provider), DBI(m->from)), &ret->spent, e);
    return v == V_NOT_FOUND ? V_OK : v;
}

enum verdict store_spend_get(struct store *s, struct str provider, struct link_spend *ret,
                             struct err *e) {
    struct month m;
    enum verdict v = this_month(s, &m, e);
    return v == V_OK ? get(s, provider, &m, ret, e) : v;
}

enum verdict store_spend_reserve(struct store *s, struct str provider, int64_t amount,
                                 int64_t budget, struct link_spend *ret, struct err *e) {
    struct month m;
    *ret = (struct link_spend){0};
    enum verdict v = this_month(s, &m, e);
    if (v == V_OK)
        v = db_run(s->db, SQL_SPEND_MAKE, DB_VALS(DBT(provider)), NULL, NULL, e);
    if (v != V_OK)
        return v;
    *ret = (struct link_spend){.month = m.from, .renews_at = m.to};
    v = db_run_int(s->db, SQL_SPEND_RESERVE,
                   DB_VALS(DBT(provider), DBI(m.from), DBI(amount), DBI(budget)), &ret->spent, e);
    if (v != V_NOT_FOUND)
        return v;
    v = get(s, provider, &m, ret, e);
    return v == V_OK ? err_set(e, V_LIMIT, "links", 0, "the monthly budget of %.*s is spent",
                               STR_FMT(provider))
                     : v;
}

enum verdict store_spend_settle(struct store *s, struct str provider, const struct link_spend *r,
                                int64_t reserved, int64_t cost, struct err *e) {
    return db_run(s->db, SQL_SPEND_SETTLE,
                  DB_VALS(DBT(provider), DBI(r->month), DBI(cost - reserved)), NULL, NULL, e);
}

enum verdict store_link_keyed(struct store *s, struct str provider, struct err *e) {
    return db_run(s->db, SQL_PROVIDER_KEYED, DB_VALS(DBT(provider)), NULL, NULL, e);
}

enum verdict store_link_keyed_ms(struct store *s, struct str provider, int64_t *ret_ms,
                                 struct err *e) {
    enum verdict v = db_run_int(s->db, SQL_PROVIDER_KEYED_MS,
                                DB_VALS(DBT(provider), DBI(CLOCK_SLACK_MS)), ret_ms, e);
    if (v != V_NOT_FOUND)
        return v;
    *ret_ms = DB_NULL;
    return V_OK;
}
