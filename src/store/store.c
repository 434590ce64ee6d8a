#include "store/store.h"

#include "base/str.h"
#include "store/store_int.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum verdict check_schema(struct store *s, enum schema_rule rule, struct err *e) {
    struct migrate_report report;
    int version;
    if (rule == SCHEMA_IGNORE)
        return V_OK;
    if (rule == SCHEMA_MIGRATE)
        return store_migrate(s, &report, e);
    enum verdict v = db_schema_version(s->db, &version, e);
    if (v != V_OK || version == (int)sql_n_migrations)
        return v;
    if (version == 0)
        return err_set(e, V_NOT_FOUND, "schema", 0, "there is no archive in this database");
    return err_set(e, V_FATAL, "schema", version,
                   "the database has schema version %d, this tain has %zu: %s", version,
                   sql_n_migrations,
                   version < (int)sql_n_migrations ? "run 'tain migrate'" : "use a newer tain");
}

enum verdict store_open(const struct store_options *o, struct store **ret, struct err *e) {
    if (o->must_exist && strncmp(o->uri, "sqlite:", 7) == 0 && access(o->uri + 7, F_OK) != 0)
        return err_set(e, V_NOT_FOUND, "config", 0, "there is no archive at %s", o->uri + 7);
    struct store *s = xcalloc(1, sizeof *s);
    s->revisions = o->revisions;
    s->log_history = o->log_history;
    s->clock = o->clock ? o->clock : &clock_machine;
    s->lease_ms = o->lease_ms ? o->lease_ms : LEASE_MS;
    s->search_ms = o->search_ms ? o->search_ms : SEARCH_MS;
    s->cover = (struct coverage){.log_place = -1};
    arena_init(&s->scratch);
    s->schema = xstrdup(o->schema ? o->schema : "tain");
    const struct db_options options = {
        .uri = o->uri,
        .schema = s->schema,
        .catalog = &sql_catalog,
        .clock = o->clock,
        .must_exist = o->must_exist,
    };
    enum verdict v = db_open(&options, &s->db, e);
    if (v == V_OK)
        v = check_schema(s, o->schema_rule, e);
    if (v != V_OK) {
        store_close(s);
        return v;
    }
    *ret = s;
    return V_OK;
}

void store_close(struct store *s) {
    if (!s)
        return;
    db_close(s->db);
    arena_release(&s->scratch);
    free(s->cover.places);
    free(s->links);
    free(s->made);
    free(s->schema);
    free(s);
}

enum verdict store_migrate(struct store *s, struct migrate_report *ret, struct err *e) {
    return db_migrate(s->db, s->schema, sql_migrations, sql_n_migrations, ret, e);
}

enum verdict store_recover(struct store *s, struct err *e) {
    return db_recover(s->db, e);
}

bool store_is_read_only(const struct err *e) {
    return db_is_read_only(e);
}

bool store_rolled_back(const struct err *e) {
    return e->code == DB_ROLLED_BACK && strcmp(e->domain, "postgres") == 0;
}

bool store_is_shared(const struct store *s) {
    return db_kind(s->db) == DB_POSTGRES;
}

enum verdict store_read_begin(struct store *s, struct err *e) {
    return store_is_shared(s) ? V_OK : db_begin_read(s->db, e);
}

void store_read_end(struct store *s) {
    db_rollback(s->db);
}

enum verdict store_end(struct store *s, enum verdict v, struct err *e) {
    if (v == V_OK)
        v = db_commit(s->db, e);
    if (v != V_OK)
        db_rollback(s->db);
    return v;
}

struct str store_ids_text(struct store *s, const int64_t *ids, size_t n) {
    bool pg = db_kind(s->db) == DB_POSTGRES;
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, n * 24 + 8); /* room for each number, whatever it is */
    strbuf_addc(&b, pg ? '{' : '[');
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&b, "%s%lld", i ? "," : "", (long long)ids[i]);
    strbuf_addc(&b, pg ? '}' : ']');
    return arena_str(&s->scratch, strbuf_str(&b));
}

struct str store_clean_text(struct store *s, struct str text) {
    struct str copy = arena_str(&s->scratch, text);
    char *p = (char *)copy.p;
    for (size_t i = 0, len; i < copy.n; i += len ? len : 1) {
        len = utf8_len((const unsigned char *)p + i, copy.n - i);
        if (len == 0 || p[i] == '\0')
            p[i] = '?';
    }
    return copy;
}

enum verdict store_now(struct store *s, int64_t *ret, struct err *e) {
    return db_run_int(s->db, SQL_NOW_MS, DB_NO_VALS, ret, e);
}

static int64_t or_zero(int64_t v) {
    return v == DB_NULL ? 0 : v;
}

static enum verdict read_state(void *ctx, const struct db_row *row) {
    *(struct archive_state *)ctx = (struct archive_state){
        .floor_id = or_zero(db_row_int(row, 0)),
        .frontier_id = or_zero(db_row_int(row, 1)),
        .frontier_excluding_waiting = or_zero(db_row_int(row, 2)),
        .maxitem = or_zero(db_row_int(row, 3)),
        .maxitem_at = or_zero(db_row_int(row, 4)),
        .present = true,
    };
    return V_OK;
}

enum verdict store_state(struct store *s, struct archive_state *ret, struct err *e) {
    *ret = (struct archive_state){0};
    return db_run(s->db, SQL_STATE_GET, DB_NO_VALS, read_state, ret, e);
}

enum verdict store_note_maxitem(struct store *s, int64_t maxitem, struct err *e) {
    enum verdict v = db_run(s->db, SQL_STATE_SET_MAXITEM, DB_VALS(DBI(maxitem)), NULL, NULL, e);
    /* the first one ever: what is below was there before us */
    return v == V_OK ? db_run(s->db, SQL_FEED_SET_HISTORY, DB_VALS(DBI(maxitem)), NULL, NULL, e)
                     : v;
}

enum verdict store_lower_floor(struct store *s, int64_t floor_id, struct err *e) {
    return db_run(s->db, SQL_STATE_LOWER_FLOOR, DB_VALS(DBI(floor_id)), NULL, NULL, e);
}

enum verdict store_set_frontier(struct store *s, int64_t frontier, int64_t excluding_waiting,
                                struct err *e) {
    return db_run(s->db, SQL_STATE_SET_FRONTIER, DB_VALS(DBI(frontier), DBI(excluding_waiting)),
                  NULL, NULL, e);
}

static enum verdict read_two(void *ctx, const struct db_row *row) {
    int64_t *two = ctx;
    two[0] = db_row_int(row, 0);
    two[1] = db_row_int(row, 1);
    return V_OK;
}

enum verdict store_reserve_turns(struct store *s, const char *provider, double per_second, int n,
                                 int64_t *ret_wait_us, struct err *e) {
    int64_t interval_us = (int64_t)(1e6 / per_second);
    if (interval_us < 1)
        interval_us = 1;
    int64_t tat_and_now[2] = {0, 0};
    for (int round = 0; round < 2 && tat_and_now[1] == 0; round++) {
        enum verdict v =
            db_run(s->db, SQL_PROVIDER_RESERVE, DB_VALS(DBC(provider), DBI(n), DBI(interval_us)),
                   read_two, tat_and_now, e);
        if (v == V_OK && tat_and_now[1] == 0) /* the first process to ask makes the row */
            v = db_run(s->db, SQL_PROVIDER_ENSURE, DB_VALS(DBC(provider)), NULL, NULL, e);
        if (v != V_OK)
            return v;
    }
    *ret_wait_us = tat_and_now[0] - n * interval_us - tat_and_now[1] * 1000;
    return V_OK;
}

enum verdict store_adopt_range(struct store *s, int64_t lo, int64_t hi, int64_t *ret,
                               struct err *e) {
    enum verdict v = db_run(s->db, SQL_STORY_ADOPT, DB_VALS(DBI(lo), DBI(hi)), NULL, NULL, e);
    *ret = db_changes(s->db);
    return v;
}

enum verdict store_adopt_orphans(struct store *s, int64_t *ret, struct err *e) {
    return store_adopt_range(s, 0, INT64_MAX, ret, e);
}

enum verdict store_any_item(struct store *s, int64_t *ret, struct err *e) {
    enum verdict v = db_run_int(s->db, SQL_ANY_ITEM, DB_NO_VALS, ret, e);
    if (v != V_NOT_FOUND)
        return v;
    *ret = 0;
    return V_OK;
}
