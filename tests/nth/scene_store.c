/* The archive's verbs on both databases: an empty place becomes an archive; a segment is planned,
 * claimed and filled. */
#include "fixture.h"
#include "scenarios.h"

#include <string.h>

static const char *const tables_sql[] = {
    [DB_SQLITE] = "SELECT COUNT(*) FROM sqlite_master WHERE name = 'items'",
    [DB_POSTGRES] = "SELECT COUNT(*) FROM pg_tables WHERE tablename = 'items' AND "
                    "schemaname = current_schema()",
};

static void migrate(enum db_kind kind) {
    struct fix *f = NULL;
    struct store *s = NULL;
    struct err e = {0};
    fix_kind = kind;
    fix_setup_bare((void **)&f);
    const struct store_options o = fix_options(f);
    nth_on();
    enum verdict v = store_open(&o, &s, &e);
    nth_off();
    nth_judge("store_open", v, &e, qi(f, "%s", tables_sql[kind]) == 1);
    store_close(v == V_OK ? s : NULL);
    s = NULL;
    nth_check(store_open(&o, &s, &e) == V_OK, "the next one: %s", e.msg);
    int64_t now;
    nth_check(store_now(s, &now, &e) == V_OK, "%s", e.msg);
    store_close(s);
    fix_teardown((void **)&f);
}

void migrate_sqlite(void) {
    migrate(DB_SQLITE);
}

void migrate_postgres(void) {
    migrate(DB_POSTGRES);
}

#define LAST 6

static struct batch *make_batch(const struct claim *c) {
    struct batch *b = batch_for(c, LAST, true);
    put_item(b, T0,
             "{'id':1,'type':'story','by':'a','time':1,'title':'One','kids':[2],"
             "'url':'https://example.org/1','score':3,'descendants':1}");
    put_item(b, T0, "{'id':2,'type':'comment','by':'b','time':2,'parent':1,'text':'Two'}");
    put_item(b, T0, "{'id':3,'type':'job','by':'c','time':3,'title':'Three'}");
    put_item(b, T0, "{'id':4,'type':'comment','by':'d','time':4,'parent':3,'text':'Four'}");
    put_exception(b, 5, EXC_TERMINAL_MISSING, "missing");
    put_exception(b, 6, EXC_RETRY_WAIT, "timeout")->attempts = 1;
    return b;
}

static bool is_written(struct fix *f) {
    int64_t items = qi(f, "SELECT COUNT(*) FROM items");
    int64_t exceptions = qi(f, "SELECT COUNT(*) FROM ingest_exceptions");
    int64_t cursor = qi(f, "SELECT COALESCE(MAX(scan_cursor_id), 0) FROM ingest_segments");
    nth_check((items == 4 && exceptions == 2 && cursor == LAST) ||
                  (items == 0 && exceptions == 0 && cursor < LAST),
              "half of it is written: %d items, %d exceptions, cursor %d", (int)items,
              (int)exceptions, (int)cursor);
    return items == 4;
}

static enum verdict plan(struct fix *f, struct err *e) {
    const int64_t lo = 1, hi = LAST;
    int64_t added = 0;
    enum verdict v = store_plan_begin(f->s, e);
    if (v != V_OK)
        return v;
    v = store_add_segments(f->s, PURPOSE_MIRROR, &lo, &hi, 1, &added, e);
    return store_plan_end(f->s, v, e);
}

/* Plan, claim, write: each is judged by what is in the database then. */
static enum verdict work(struct fix *f, struct err *e) {
    struct claim c = {0};
    struct apply_stats stats;
    nth_on();
    enum verdict v = plan(f, e);
    nth_off();
    int64_t planned = qi(f, "SELECT COUNT(*) FROM ingest_segments");
    if (!nth_judge("planning", v, e, planned == 1))
        return v;
    nth_on();
    v = store_claim(f->s, "me", &(struct claim_ask){.lo = 1, .hi = LAST, .last = PURPOSE_MIRROR},
                    &f->arena, &c, e);
    nth_off();
    if (v == V_NOT_FOUND)
        return v;
    if (!nth_judge("store_claim", v, e,
                   qi(f, "SELECT COUNT(*) FROM ingest_segments WHERE holder = 'me'") == 1))
        return v;
    struct batch *b = make_batch(&c);
    nth_on();
    v = store_apply(f->s, b, &stats, e);
    nth_off();
    nth_judge("store_apply", v, e, is_written(f));
    bool lost = v != V_OK && is_written(f); /* written, and the answer was lost */
    struct err later = {0};
    if (v != V_OK)
        nth_check(store_recover(f->s, &later) == V_OK, "store_recover: %s", later.msg);
    if (v != V_OK) {
        enum verdict again = store_apply(f->s, b, &stats, &later);
        nth_check(again == (lost ? V_CONFLICT : V_OK), "the second time: %s", later.msg);
        v = V_OK;
    }
    batch_free(b);
    return v;
}

static enum verdict read_back(struct fix *f, struct err *e) {
    struct segment_list list = {0};
    int64_t id = 0;
    nth_on();
    enum verdict v = store_any_item(f->s, &id, e);
    nth_off();
    if (!nth_judge("store_any_item", v, e, id >= 1 && id <= 4))
        return v;
    nth_on();
    v = store_segments(f->s, PURPOSE_MIRROR, &list, e);
    nth_off();
    nth_judge("store_segments", v, e, list.n == 1);
    segment_list_release(&list);
    return v;
}

static void play(enum db_kind kind) {
    struct fix *f = NULL;
    struct err e = {0};
    fix_kind = kind;
    fix_setup((void **)&f);
    enum verdict v = V_RETRY;
    bool done = false;
    for (int tries = 0; tries < 3 && !done; tries++) {
        if (tries) {
            nth_check(store_recover(f->s, &e) == V_OK, "store_recover: %s", e.msg);
            fix_advance(f, 600000); /* a claim whose answer was lost ends with its lease */
            reclaim(f);
        }
        v = is_written(f) ? V_OK : work(f, &e);
        if (v == V_OK)
            v = read_back(f, &e);
        done = v == V_OK;
    }
    nth_check(done, "it does not heal: %s", e.msg);
    nth_check(is_written(f), "not written");
    fix_teardown((void **)&f);
}

void store_sqlite(void) {
    play(DB_SQLITE);
}

void store_postgres(void) {
    play(DB_POSTGRES);
}
