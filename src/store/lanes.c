#include "store/lanes.h"

#include "store/store_int.h"

#include <string.h>

/* An end of a slot further ahead than this was written by a wrong clock. */
#define FAR_MS (LANE_HOLD_MAX_MS + 60000)
#define UPSTREAM "hn-upstream" /* what the mirror's own rate is kept under */

static const char *const breaker_names[] = {
    [BREAKER_CLOSED] = "closed",
    [BREAKER_OPEN] = "open",
    [BREAKER_HALF_OPEN] = "half_open",
};
static const char *const pause_names[] = {
    [LANE_RUNS] = NULL,
    [LANE_PAUSED_BY_HAND] = "by_hand",
    [LANE_PAUSED_AUTH] = "auth",
};

static size_t find_name(const char *const *names, size_t n, struct str name) {
    for (size_t i = 0; i < n; i++)
        if (names[i] && str_eqc(name, names[i]))
            return i;
    return 0;
}

static enum verdict no_lane(struct str name, struct err *e) {
    return err_set(e, V_NOT_FOUND, "lanes", 0, "there is no lane '%.*s'", STR_FMT(name));
}

/* --- the row of a lane --- */

struct row {
    bool found;
    int64_t now_ms;
    struct lane_limits l;
    struct lane_state st;
};

static void read_columns(const struct db_row *row, struct row *ret) {
    ret->found = true;
    ret->now_ms = db_row_int(row, 0);
    ret->l = (struct lane_limits){.per_window = (int)db_row_int(row, 1),
                                  .window_ms = db_row_int(row, 2),
                                  .slots = (int)db_row_int(row, 3)};
    ret->st = (struct lane_state){
        .tat_us = db_row_int(row, 4),
        .not_before_ms = db_row_int(row, 5),
        .breaker = (enum lane_breaker)find_name(breaker_names, ARRAY_LEN(breaker_names),
                                                db_row_text(row, 6)),
        .breaker_until_ms = db_row_int(row, 7),
        .failures = (int)db_row_int(row, 8),
        .trips = (int)db_row_int(row, 9),
        .pause =
            (enum lane_pause)find_name(pause_names, ARRAY_LEN(pause_names), db_row_text(row, 10)),
    };
}

static enum verdict read_row(void *ctx, const struct db_row *row) {
    read_columns(row, ctx);
    return V_OK;
}

static enum verdict get_row(struct store *s, int stmt, struct str name, struct row *ret,
                            struct err *e) {
    ret->found = false;
    enum verdict v = db_run(s->db, stmt, DB_VALS(DBT(name)), read_row, ret, e);
    return v == V_OK && !ret->found ? no_lane(name, e) : v;
}

static bool same_state(const struct lane_state *a, const struct lane_state *b) {
    return a->tat_us == b->tat_us && a->not_before_ms == b->not_before_ms &&
           a->breaker == b->breaker && a->breaker_until_ms == b->breaker_until_ms &&
           a->failures == b->failures && a->trips == b->trips;
}

static enum verdict put_state(struct store *s, struct str name, const struct lane_state *was,
                              const struct lane_state *st, struct err *e) {
    if (same_state(was, st))
        return V_OK;
    return db_run(s->db, SQL_LANE_WRITE,
                  DB_VALS(DBT(name), DBI(st->tat_us), DBI(st->not_before_ms),
                          DBC(breaker_names[st->breaker]), DBI(st->breaker_until_ms),
                          DBI(st->failures), DBI(st->trips)),
                  NULL, NULL, e);
}

static bool is_well(const struct lane_state *st) {
    return st->breaker == BREAKER_CLOSED && st->failures == 0;
}

static enum verdict check_limits(struct str name, const struct lane_limits *l, struct err *e) {
    if (name.n == 0 || name.n > LANE_NAME_MAX || memchr(name.p, '\0', name.n))
        return err_set(e, V_INVALID, "lanes", 0, "the name of a lane has 1 to %d bytes",
                       LANE_NAME_MAX);
    if (str_eqc(name, UPSTREAM))
        return err_set(e, V_INVALID, "lanes", 0, "a lane cannot be named %s", UPSTREAM);
    if (l->per_window < 0)
        return err_set(e, V_INVALID, "lanes", 0, "%d calls is less than none", l->per_window);
    if (l->window_ms < LANE_WINDOW_MIN_MS || l->window_ms > LANE_WINDOW_MAX_MS)
        return err_set(e, V_INVALID, "lanes", 0, "a window has 1 second to a year");
    if (l->slots < 0 || l->slots > LANE_SLOTS_MAX)
        return err_set(e, V_INVALID, "lanes", 0, "%d at once; 0 to %d can be", l->slots,
                       LANE_SLOTS_MAX);
    return V_OK;
}

enum verdict store_lane_declare(struct store *s, struct str name, const struct lane_limits *l,
                                struct err *e) {
    enum verdict v = check_limits(name, l, e);
    return v != V_OK
               ? v
               : db_run(s->db, SQL_LANE_DECLARE,
                        DB_VALS(DBT(name), DBI(l->per_window), DBI(l->window_ms), DBI(l->slots)),
                        NULL, NULL, e);
}

/* --- slots --- */

enum slot { SLOT_FREE, SLOT_TAKEN, SLOT_MINE };

struct slots {
    int64_t now_ms;
    int taken; /* also beyond what is allowed now */
    unsigned char is[LANE_SLOTS_MAX];
};

static enum verdict read_slot(void *ctx, const struct db_row *row) {
    struct slots *t = ctx;
    int64_t slot = db_row_int(row, 1);
    t->now_ms = db_row_int(row, 0);
    if (slot < 0 || slot >= LANE_SLOTS_MAX) /* NULL, too */
        return V_OK;
    t->is[slot] = db_row_int(row, 2) ? SLOT_MINE : SLOT_TAKEN;
    t->taken++;
    return V_OK;
}

/* Puts those that are given back in front: they are free from here on, and the first to be taken
 * again, which saves giving them back. Answers how many there are. */
static size_t returned(struct slots *t, const struct lane_ask *ask, int64_t *ret) {
    size_t n = 0;
    for (size_t i = 0; i < ask->n_give_back; i++) {
        int slot = ask->give_back[i];
        if (slot < 0 || slot >= LANE_SLOTS_MAX || t->is[slot] != SLOT_MINE)
            continue;
        t->is[slot] = SLOT_FREE;
        t->taken--;
        ret[n++] = slot;
    }
    return n;
}

static void choose(struct slots *t, const struct lane_limits *l, const int64_t *back, size_t n_back,
                   int n, int *ret) {
    int got = 0;
    for (size_t i = 0; i < n_back && got < n; i++)
        if (back[i] < l->slots) {
            ret[got++] = (int)back[i];
            t->is[back[i]] = SLOT_MINE;
        }
    for (int slot = 0; slot < l->slots && got < n; slot++)
        if (t->is[slot] == SLOT_FREE) {
            ret[got++] = slot;
            t->is[slot] = SLOT_MINE;
        }
}

static enum verdict hold(struct store *s, const struct lane_ask *ask,
                         const struct lane_turns *turns, struct err *e) {
    const struct lane_grant *g = &turns->grant;
    int64_t slots[LANE_SLOTS_MAX];
    for (int i = 0; i < g->n; i++)
        slots[i] = turns->slots[i];
    int64_t hold_ms = ask->hold_ms > LANE_HOLD_MAX_MS ? LANE_HOLD_MAX_MS : ask->hold_ms;
    int64_t until = (g->until_us + (g->n - 1) * g->interval_us) / 1000 + 1 + hold_ms;
    struct str text = store_ids_text(s, slots, (size_t)g->n);
    return db_run(s->db, SQL_LANE_HOLD,
                  DB_VALS(DBT(ask->name), DBT(text), DBT(ask->holder), DBI(until)), NULL, NULL, e);
}

static enum verdict let_go(struct store *s, const struct lane_ask *ask, const struct slots *t,
                           const int64_t *back, size_t n_back, struct err *e) {
    int64_t rest[LANE_SLOTS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < n_back; i++)
        if (t->is[back[i]] == SLOT_FREE)
            rest[n++] = back[i];
    if (n == 0)
        return V_OK;
    struct str text = store_ids_text(s, rest, n);
    return db_run(s->db, SQL_LANE_FREE, DB_VALS(DBT(ask->name), DBT(text), DBT(ask->holder)), NULL,
                  NULL, e);
}

/* --- turns --- */

static enum verdict take_with_slots(struct store *s, const struct lane_ask *ask, struct row *r,
                                    struct lane_turns *ret, struct err *e) {
    struct slots t = {0};
    int64_t back[LANE_SLOTS_MAX];
    enum verdict v =
        db_run(s->db, SQL_LANE_SLOTS, DB_VALS(DBT(ask->name), DBT(ask->holder), DBI(FAR_MS)),
               read_slot, &t, e);
    if (v != V_OK)
        return v;
    r->now_ms = t.now_ms; /* a wait for the lock is over by now */
    size_t n_back = returned(&t, ask, back);
    lane_take(&r->st, &r->l, r->now_ms * 1000, ask->want, r->l.slots - t.taken, &ret->grant);
    choose(&t, &r->l, back, n_back, ret->grant.n, ret->slots);
    ret->n_slots = (size_t)ret->grant.n;
    if (ret->grant.n > 0)
        v = hold(s, ask, ret, e);
    return v == V_OK ? let_go(s, ask, &t, back, n_back, e) : v;
}

static void count_from_now(const struct row *r, struct lane_grant *g) {
    g->start_us -= r->now_ms * 1000;
    g->until_us -= r->now_ms * 1000;
}

static enum verdict take_locked(struct store *s, const struct lane_ask *ask, struct lane_turns *ret,
                                struct err *e) {
    struct row r;
    enum verdict v = get_row(s, SQL_LANE_LOCK, ask->name, &r, e);
    if (v != V_OK)
        return v;
    const struct lane_state was = r.st;
    ret->troubled = !is_well(&was);
    if (ask->probe_back)
        lane_return_probe(&r.st, r.now_ms);
    if (r.l.slots > 0)
        v = take_with_slots(s, ask, &r, ret, e);
    else
        lane_take(&r.st, &r.l, r.now_ms * 1000, ask->want, 0, &ret->grant);
    if (v == V_OK)
        v = put_state(s, ask->name, &was, &r.st, e);
    count_from_now(&r, &ret->grant);
    return v;
}

/* Where nothing is to be written nobody waits for a lock: a process that asks in vain asks again
 * soon, and there may be many; and a lane that is well and has no limits keeps no count of its
 * turns. *ret_done: that is all there is to it. */
static enum verdict look(struct store *s, const struct lane_ask *ask, struct lane_turns *ret,
                         bool *ret_done, struct err *e) {
    struct row r;
    *ret_done = false;
    if (ask->n_give_back || ask->probe_back)
        return V_OK;
    enum verdict v = get_row(s, SQL_LANE_READ, ask->name, &r, e);
    if (v != V_OK)
        return v;
    const struct lane_state was = r.st;
    bool slots = r.l.slots > 0;
    ret->troubled = !is_well(&was);
    lane_take(&r.st, &r.l, r.now_ms * 1000, slots ? 0 : ask->want, 1, &ret->grant);
    *ret_done = ret->grant.why != LANE_GO || (!slots && same_state(&was, &r.st));
    count_from_now(&r, &ret->grant);
    return V_OK;
}

/* The database's now lay somewhere between the call and its answer. Counted from the call, a turn
 * that starts later by all of that is not early, and one that ends as if it were at the call is not
 * late. */
enum verdict store_lane_take(struct store *s, const struct lane_ask *ask, struct lane_turns *ret,
                             struct err *e) {
    int64_t called_ms = clock_mono(s->clock);
    ret->grant = (struct lane_grant){0};
    ret->n_slots = 0;
    bool done;
    arena_reset(&s->scratch);
    enum verdict v = look(s, ask, ret, &done, e);
    if (v == V_OK && !done) {
        v = db_begin(s->db, e);
        if (v == V_OK)
            v = store_end(s, take_locked(s, ask, ret, e), e);
    }
    if (v == V_OK)
        ret->grant.start_us += (clock_mono(s->clock) - called_ms) * 1000;
    return v;
}

enum verdict store_lane_give_back(struct store *s, struct str name, struct str holder,
                                  const int *slots, size_t n, struct err *e) {
    int64_t ids[LANE_SLOTS_MAX];
    if (n > LANE_SLOTS_MAX)
        return err_set(e, V_LIMIT, "lanes", 0, "%zu slots; there are %d at most", n,
                       LANE_SLOTS_MAX);
    if (n == 0)
        return V_OK;
    for (size_t i = 0; i < n; i++)
        ids[i] = slots[i];
    arena_reset(&s->scratch);
    struct str text = store_ids_text(s, ids, n);
    return db_run(s->db, SQL_LANE_FREE, DB_VALS(DBT(name), DBT(text), DBT(holder)), NULL, NULL, e);
}

/* --- results --- */

static enum verdict pause_row(struct store *s, struct str name, enum lane_pause p, const char *why,
                              struct err *e) {
    int64_t one;
    enum verdict v = db_run_int(s->db, SQL_LANE_PAUSE,
                                DB_VALS(DBT(name), DBC(pause_names[p]), DBC(why)), &one, e);
    return v == V_NOT_FOUND ? no_lane(name, e) : v;
}

static enum verdict report_locked(struct store *s, struct str name, enum lane_result result,
                                  int64_t retry_after_ms, struct lane_told *ret, struct err *e) {
    struct row r;
    enum verdict v = get_row(s, SQL_LANE_LOCK, name, &r, e);
    if (v != V_OK)
        return v;
    const struct lane_state was = r.st;
    ret->changed = lane_report(&r.st, result, retry_after_ms, r.now_ms);
    ret->open = r.st.breaker != BREAKER_CLOSED;
    ret->open_ms = ret->open ? r.st.breaker_until_ms - r.now_ms : 0;
    ret->failures = r.st.failures;
    v = put_state(s, name, &was, &r.st, e);
    return v == V_OK && r.st.pause != was.pause
               ? pause_row(s, name, r.st.pause, "the provider refuses us (401 or 403)", e)
               : v;
}

enum verdict store_lane_report(struct store *s, struct str name, enum lane_result r,
                               int64_t retry_after_ms, struct lane_told *ret, struct err *e) {
    struct row row;
    *ret = (struct lane_told){0};
    enum verdict v = r == LANE_OK ? get_row(s, SQL_LANE_READ, name, &row, e) : V_OK;
    if (v != V_OK || (r == LANE_OK && is_well(&row.st)))
        return v;
    v = db_begin(s->db, e);
    return v == V_OK ? store_end(s, report_locked(s, name, r, retry_after_ms, ret, e), e) : v;
}

enum verdict store_lane_pause(struct store *s, struct str name, const char *why, struct err *e) {
    arena_reset(&s->scratch);
    struct str clean = store_clean_text(s, str_of(why));
    return pause_row(s, name, LANE_PAUSED_BY_HAND, clean.p, e);
}

enum verdict store_lane_resume(struct store *s, struct str name, struct err *e) {
    int64_t one;
    enum verdict v = db_run_int(s->db, SQL_LANE_RESUME, DB_VALS(DBT(name)), &one, e);
    return v == V_NOT_FOUND ? no_lane(name, e) : v;
}

/* --- the list --- */

struct lane_node {
    struct lane_row row;
    struct lane_node *next;
};

struct list {
    struct arena *a;
    struct lane_node *first, **end;
    size_t n;
};

static enum verdict add_lane(void *ctx, const struct db_row *row) {
    struct list *list = ctx;
    struct lane_node *node = arena_zalloc(list->a, sizeof *node);
    struct row r;
    struct lane_grant g;
    read_columns(row, &r);
    int64_t paused_at = db_row_int(row, 13);
    node->row = (struct lane_row){.name = arena_str(list->a, db_row_text(row, 11)),
                                  .limits = r.l,
                                  .state = r.st,
                                  .slots_taken = (int)db_row_int(row, 14),
                                  .paused_why = arena_str(list->a, db_row_text(row, 12)),
                                  .paused_at = paused_at == DB_NULL ? 0 : paused_at};
    node->row.budget_left = lane_budget_left(&r.st, &r.l, r.now_ms * 1000);
    lane_take(&r.st, &r.l, r.now_ms * 1000, 0, r.l.slots - node->row.slots_taken, &g);
    node->row.why = g.why;
    node->row.wait_ms = g.why == LANE_GO ? (g.start_us / 1000 - r.now_ms) : g.wait_ms;
    *list->end = node;
    list->end = &node->next;
    list->n++;
    return V_OK;
}

enum verdict store_lane_list(struct store *s, struct arena *a, const struct lane_row **ret,
                             size_t *ret_n, struct err *e) {
    struct list list = {.a = a};
    list.end = &list.first;
    enum verdict v = db_run(s->db, SQL_LANE_LIST, DB_VALS(DBI(FAR_MS)), add_lane, &list, e);
    if (v != V_OK)
        return v;
    struct lane_row *rows = arena_zalloc(a, (list.n ? list.n : 1) * sizeof *rows);
    size_t n = 0;
    for (const struct lane_node *node = list.first; node; node = node->next)
        rows[n++] = node->row;
    *ret = rows;
    *ret_n = n;
    return V_OK;
}
