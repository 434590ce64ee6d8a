/* A worker of enrichment in the time of its fixture: whatever fails, each row ends once, as its
 * provider says, if not by this worker then by the next. */
#include "fixture_enrich.h"
#include "scenarios.h"

#include <stdlib.h>

#define ROWS 6
#define TICK 50

static bool all_final(struct world *w) {
    return world_count(w, "matched") == ROWS / 2 && world_count(w, "unmatched") == ROWS / 2;
}

/* As fix_advance(), where a connection may be gone; a new one is told the next time. */
static void advance(struct fix *f, int64_t ms) {
    char sql[80];
    clock_advance(&f->clock, ms);
    snprintf(sql, sizeof sql, "SET tain.now_ms = '%lld'", (long long)clock_real(&f->clock));
    for (int i = 0; i < f->n_stores && fix_kind == DB_POSTGRES; i++)
        if (db_script(f->all[i]->db, sql, NULL) != V_OK)
            continue;
}

/* Until it is told, a new connection is at the beginning of time. */
static void begin_at_t0(void) {
    char uri[300];
    snprintf(uri, sizeof uri, "%s?options=-ctain.now_ms%%3D%lld", getenv("TAIN_TEST_PG"),
             (long long)T0);
    setenv("TAIN_TEST_PG", uri, 1);
}

/* Steps of one engine until all is done, it fails, or its time is over. */
static enum verdict run(struct world *w, size_t i, struct err *e) {
    for (int64_t spent = 0; spent < 300000 && !all_final(w); spent += TICK) {
        nth_on();
        enum verdict v = engine_step(w->engines[i], clock_mono(&w->f->clock), e);
        nth_off();
        if (v != V_OK)
            return v;
        advance(w->f, TICK);
    }
    return V_OK;
}

static void play(enum db_kind kind) {
    struct fix *f = NULL;
    struct err e = {0};
    fix_kind = kind;
    if (kind == DB_POSTGRES)
        begin_at_t0();
    fix_setup((void **)&f);
    struct world *w = world_new(f, script_parity, NULL);
    world_rows(w, 1, ROWS);
    size_t first = world_engine(w);
    enum verdict v = run(w, first, &e);
    nth_judge("engine_step", v, &e, all_final(w));
    world_kill(w, first);
    if (!all_final(w)) {
        advance(f, 600000); /* the claims of the dead end */
        v = run(w, world_engine(w), &e);
        nth_check(v == V_OK && all_final(w), "the next worker: %s", e.msg);
    }
    nth_check(qi(f, "SELECT COUNT(*) FROM tracks WHERE url = 'https://example.org/a'") == ROWS / 2,
              "not the values of the provider");
    nth_check(w->n_calls <= ROWS + ROWS, "%zu calls for %d rows", w->n_calls, ROWS);
    world_free(w);
    fix_teardown((void **)&f);
}

void enrich_sqlite(void) {
    play(DB_SQLITE);
}

void enrich_postgres(void) {
    play(DB_POSTGRES);
}
