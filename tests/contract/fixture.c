#include "fixture.h"

#include "fixture_copy.h"
#include "fixture_raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum db_kind fix_kind;
bool fix_partitioned;

#define FEW_IDS 50 /* of a partition; a tenth of it in positions */
#define MORE_IDS 10000
#define MANY_IDS 1000000

/* A database with an archive whose partitions are so wide, or (bare) a schema with nothing. */
static void place(struct fix *f, bool bare, int64_t width) {
    static int count;
    count++;
    if (fix_kind == DB_SQLITE) {
        strcpy(f->dir, "/tmp/tain-contract-XXXXXX");
        assert_non_null(mkdtemp(f->dir));
        snprintf(f->uri, sizeof f->uri, "sqlite:%s/t.db", f->dir);
        strcpy(f->schema, "tain");
        return;
    }
    snprintf(f->uri, sizeof f->uri, "%s", getenv("TAIN_TEST_PG"));
    snprintf(f->schema, sizeof f->schema, "contract_%d_%d", (int)getpid(), count);
    if (!bare)
        copy_make(f, fix_partitioned ? width : 0);
}

static struct fix *make(bool bare, int64_t width) {
    struct fix *f = xcalloc(1, sizeof *f);
    clock_manual_init(&f->clock, 1000, T0);
    f->revisions = REVISIONS_CONTENT;
    arena_init(&f->arena);
    place(f, bare, width);
    f->raw = raw_open(fix_kind, f->uri, f->schema);
    return f;
}

int fix_setup_bare(void **state) {
    *state = make(true, 0);
    return 0;
}

static int set_up(void **state, int64_t width) {
    struct fix *f = *state = make(false, width);
    f->s = fix_open(f);
    return 0;
}

int fix_setup(void **state) {
    return set_up(state, FEW_IDS);
}

int fix_setup_wide(void **state) {
    return set_up(state, MORE_IDS);
}

int fix_setup_widest(void **state) {
    return set_up(state, MANY_IDS);
}

int fix_teardown(void **state) {
    struct fix *f = *state;
    fault_setup(NULL);
    for (int i = 0; i < f->n_stores; i++)
        store_close(f->all[i]);
    if (fix_kind == DB_POSTGRES && !f->copy[0])
        x(f, "DROP SCHEMA IF EXISTS \"%s\" CASCADE", f->schema);
    raw_close(f->raw);
    copy_drop(f);
    static const char *const files[] = {"t.db", "t.db-wal", "t.db-shm"};
    for (size_t i = 0; i < ARRAY_LEN(files) && f->dir[0]; i++) {
        char path[200];
        snprintf(path, sizeof path, "%s/%s", f->dir, files[i]);
        unlink(path);
    }
    if (f->dir[0])
        rmdir(f->dir);
    arena_release(&f->arena);
    free(f);
    return 0;
}

struct store_options fix_options(struct fix *f) {
    return (struct store_options){.uri = f->uri,
                                  .schema = f->schema,
                                  .clock = &f->clock,
                                  .revisions = f->revisions,
                                  .schema_rule = SCHEMA_MIGRATE};
}

static void tell_now(struct fix *f, struct store *s) {
    struct err e;
    char sql[80];
    snprintf(sql, sizeof sql, "SET tain.now_ms = '%lld'", (long long)clock_real(&f->clock));
    if (fix_kind == DB_POSTGRES)
        assert_ok(db_script(s->db, sql, &e));
}

struct store *fix_open(struct fix *f) {
    struct store_options o = fix_options(f);
    struct store *s;
    struct err e;
    assert_in_range(f->n_stores, 0, MAX_STORES - 1);
    assert_ok(store_open(&o, &s, &e));
    tell_now(f, s);
    return f->all[f->n_stores++] = s;
}

void fix_advance(struct fix *f, int64_t ms) {
    clock_advance(&f->clock, ms);
    for (int i = 0; i < f->n_stores; i++)
        tell_now(f, f->all[i]);
}

void fix_set_now(struct fix *f, int64_t now_ms) {
    fix_advance(f, now_ms - clock_real(&f->clock));
}

void fix_real_time(struct fix *f UNUSED, struct store *s) {
    struct err e;
    if (fix_kind == DB_POSTGRES)
        assert_ok(db_script(s->db, "SET tain.now_ms = ''", &e));
}

PRINTF_LIKE(3, 0)
static const char *ask(struct fix *f, bool rows, const char *fmt, va_list ap) {
    char sql[4096];
    CLEANUP(strbuf_release) struct strbuf out;
    strbuf_init(&out, (size_t)64 << 20);
    vsnprintf(sql, sizeof sql, fmt, ap);
    if (!raw_run(f->raw, sql, rows ? &out : NULL))
        fail_msg("%s: %s", sql, raw_error(f->raw));
    return arena_strdup(&f->arena, out.p ? out.p : "");
}

const char *q(struct fix *f, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *text = ask(f, true, fmt, ap);
    va_end(ap);
    return text;
}

int64_t qi(struct fix *f, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *text = ask(f, true, fmt, ap);
    va_end(ap);
    int64_t v;
    if (!str_to_i64(str_of(text), &v))
        fail_msg("%s gave '%s', not a number", fmt, text);
    return v;
}

void x(struct fix *f, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    ask(f, false, fmt, ap);
    va_end(ap);
}

void log_changes(struct fix *f, int table, int n, int64_t at) {
    char from[200];
    snprintf(from, sizeof from,
             "FROM (WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < %d)"
             " SELECT i FROM t) AS t",
             n);
    if (fix_kind == DB_SQLITE)
        x(f,
          "INSERT INTO change_log (table_id, action, key, data, at)"
          " SELECT %d, 'insert', '{\"id\":' || i || '}', '{}', %lld %s",
          table, (long long)at, from);
    else
        x(f,
          "WITH b AS (SELECT nextval('change_log_batch_seq') AS batch)"
          " INSERT INTO change_log (batch, at, part, n, bytes, table_id, action, keys, data)"
          " SELECT (SELECT batch FROM b), %lld, (i - 1) / 1000, COUNT(*), 2 * COUNT(*), %d,"
          " 'insert', array_agg('{\"id\":' || i || '}' ORDER BY i), array_agg('{}'::text)"
          " %s GROUP BY (i - 1) / 1000",
          (long long)at, table, from);
}

const char *dump(struct fix *f) {
    static const char *const tables[] = {"items",
                                         "kids",
                                         "item_revisions",
                                         "ingest_segments",
                                         "ingest_exceptions",
                                         "ingest_dlq_items",
                                         "updater_state",
                                         "providers",
                                         "provider_slots",
                                         "imports",
                                         "users",
                                         "user_work",
                                         "lists",
                                         "update_ages",
                                         "links",
                                         "link_processing",
                                         "external_discussions",
                                         "link_aliases",
                                         "link_turns",
                                         "feed_state",
                                         "feed_topics",
                                         "feed_epochs",
                                         "cdc_tables",
                                         "cdc_failures"};
    CLEANUP(strbuf_release) struct strbuf all;
    strbuf_init(&all, (size_t)64 << 20);
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        strbuf_addf(&all, "%s: %s\n", tables[i], q(f, "SELECT * FROM %s ORDER BY 1, 2", tables[i]));
    strbuf_addf(&all, "changes: %s\n",
                q(f, "SELECT table_id, action, key, data FROM changes ORDER BY %s",
                  fix_kind == DB_SQLITE ? "pos" : "batch, part, idx"));
    return arena_strdup(&f->arena, all.p);
}
