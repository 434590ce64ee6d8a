/* Profiles, the names that are still to be asked for, and the story lists. */
#include "store/live.h"
#include "store/store_int.h"

#include <stdlib.h>
#include <string.h>

enum fate { USER_INSERT, USER_UPDATE, USER_GONE, USER_TOUCH, USER_STALE, USER_UNKNOWN };

struct person {
    const struct user_answer *answer;
    enum fate fate;
};

struct putting {
    struct store *s;
    struct person *people; /* by name, ascending */
    size_t n;
    int64_t now_ms;
    struct err *e;
};

static int compare_names(struct str a, struct str b) {
    size_t n = a.n < b.n ? a.n : b.n;
    int d = n ? memcmp(a.p, b.p, n) : 0;
    return d ? d : a.n < b.n ? -1 : a.n > b.n;
}

/* Of one name the later fetch comes last. */
static int by_name(const void *x, const void *y) {
    const struct user_answer *a = ((const struct person *)x)->answer,
                             *b = ((const struct person *)y)->answer;
    int d = compare_names(a->name, b->name);
    if (d == 0 && a->fetched_at != b->fetched_at)
        return a->fetched_at < b->fetched_at ? -1 : 1;
    return d ? d : a < b ? -1 : a > b;
}

static void sort_people(struct putting *p, const struct user_answer *users, size_t n) {
    struct person *all = arena_alloc(&p->s->scratch, (n + 1) * sizeof *all);
    for (size_t i = 0; i < n; i++)
        all[i] = (struct person){&users[i], users[i].exists ? USER_INSERT : USER_UNKNOWN};
    qsort(all, n, sizeof *all, by_name);
    p->people = all;
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || compare_names(all[i].answer->name, all[i + 1].answer->name) != 0)
            all[p->n++] = all[i];
}

static struct person *person_named(const struct putting *p, struct str name) {
    size_t lo = 0, hi = p->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (compare_names(p->people[mid].answer->name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    bool found = lo < p->n && compare_names(p->people[lo].answer->name, name) == 0;
    return found ? &p->people[lo] : NULL;
}

static enum verdict compare_user(void *ctx, const struct db_row *row) {
    const struct putting *p = ctx;
    struct person *who = person_named(p, db_row_text(row, 0));
    if (!who)
        return V_OK;
    const struct user_answer *a = who->answer;
    bool gone = db_row_int(row, 2) == 1;
    int64_t fetched_at = db_row_int(row, 3);
    if (fetched_at > a->fetched_at && fetched_at <= p->now_ms + CLOCK_SLACK_MS)
        who->fate = USER_STALE;
    else if (!a->exists)
        who->fate = gone ? USER_TOUCH : USER_GONE;
    else
        who->fate = gone || db_row_int(row, 1) != a->user.content_hash ? USER_UPDATE : USER_TOUCH;
    return V_OK;
}

static struct str *texts(struct putting *p, size_t n) {
    return arena_alloc(&p->s->scratch, (n + 1) * sizeof(struct str));
}

static int64_t *ints(struct putting *p, size_t n) {
    return arena_alloc(&p->s->scratch, (n + 1) * sizeof(int64_t));
}

/* Names, and the instants their fetches started, of those with this fate. */
static size_t pick(struct putting *p, enum fate fate, const struct user_answer **out) {
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++)
        if (p->people[i].fate == fate)
            out[n++] = p->people[i].answer;
    return n;
}

static enum verdict write_users(struct putting *p, int stmt, const struct user_answer *const *who,
                                size_t n) {
    struct str *names = texts(p, n), *abouts = texts(p, n), *submitted = texts(p, n);
    int64_t *created = ints(p, n), *karmas = ints(p, n), *hashes = ints(p, n), *stamps = ints(p, n);
    for (size_t i = 0; i < n; i++) {
        const struct user *u = &who[i]->user;
        names[i] = who[i]->name;
        created[i] = u->created;
        karmas[i] = u->karma;
        abouts[i] = u->about;
        submitted[i] =
            u->n_submitted ? store_ids_text(p->s, u->submitted, u->n_submitted) : STR_NONE;
        hashes[i] = u->content_hash;
        stamps[i] = who[i]->fetched_at;
    }
    const struct db_col cols[] = {DB_TEXTS(names),  DB_INTS(created),    DB_INTS(karmas),
                                  DB_TEXTS(abouts), DB_TEXTS(submitted), DB_INTS(hashes),
                                  DB_INTS(stamps)};
    return db_each(p->s->db, stmt, cols, ARRAY_LEN(cols), n, NULL, NULL, p->e);
}

static enum verdict stamp_users(struct putting *p, int stmt, const struct user_answer *const *who,
                                size_t n) {
    struct str *names = texts(p, n);
    int64_t *stamps = ints(p, n);
    for (size_t i = 0; i < n; i++) {
        names[i] = who[i]->name;
        stamps[i] = who[i]->fetched_at;
    }
    const struct db_col cols[] = {DB_TEXTS(names), DB_INTS(stamps)};
    return db_each(p->s->db, stmt, cols, 2, n, NULL, NULL, p->e);
}

static enum verdict put_users(struct putting *p, int64_t *ret_changed) {
    struct str *names = texts(p, p->n);
    for (size_t i = 0; i < p->n; i++)
        names[i] = p->people[i].answer->name;
    const struct db_col cols[] = {DB_TEXTS(names)};
    enum verdict v = store_now(p->s, &p->now_ms, p->e);
    if (v == V_OK)
        v = db_each(p->s->db, SQL_USERS_EXISTING, cols, 1, p->n, compare_user, p, p->e);
    const struct user_answer **who =
        arena_alloc(&p->s->scratch, (p->n + 1) * sizeof(struct user_answer *));
    size_t n = pick(p, USER_INSERT, who);
    if (v == V_OK)
        v = write_users(p, SQL_USERS_INSERT, who, n);
    /* PostgreSQL: another process stored one of them since we looked. Look again. */
    if (v == V_OK && db_changes(p->s->db) != (int64_t)n)
        v = err_set(p->e, V_RETRY, "store", 0, "a profile was stored by another process meanwhile");
    *ret_changed = (int64_t)n;
    n = pick(p, USER_UPDATE, who);
    if (v == V_OK)
        v = write_users(p, SQL_USERS_UPDATE, who, n);
    *ret_changed += (int64_t)n;
    n = pick(p, USER_GONE, who);
    if (v == V_OK)
        v = stamp_users(p, SQL_USERS_GONE, who, n);
    *ret_changed += (int64_t)n;
    n = pick(p, USER_TOUCH, who);
    if (v == V_OK)
        v = stamp_users(p, SQL_USERS_TOUCH, who, n);
    if (v == V_OK)
        v = db_each(p->s->db, SQL_USER_WORK_FORGET, cols, 1, p->n, NULL, NULL, p->e);
    return v;
}

enum verdict store_put_users(struct store *s, const struct user_answer *users, size_t n,
                             int64_t *ret_changed, struct err *e) {
    struct putting p = {.s = s, .e = e};
    int64_t changed = 0;
    *ret_changed = 0;
    if (n == 0)
        return V_OK;
    arena_reset(&s->scratch);
    sort_people(&p, users, n);
    enum verdict v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    v = store_end(s, put_users(&p, &changed), e);
    if (v == V_OK)
        *ret_changed = changed;
    return v;
}

/* Is the same name given again behind this place? */
static bool comes_again(const struct user_todo *todo, size_t n, size_t i) {
    for (size_t k = i + 1; k < n; k++)
        if (str_eq(todo[k].name, todo[i].name))
            return true;
    return false;
}

enum verdict store_users_later(struct store *s, const struct user_todo *todo, size_t n,
                               struct err *e) {
    struct putting p = {.s = s};
    arena_reset(&s->scratch);
    struct str *names = texts(&p, n), *errors = texts(&p, n);
    int64_t *attempts = ints(&p, n), *waits = ints(&p, n);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (comes_again(todo, n, i))
            continue;
        names[kept] = todo[i].name;
        attempts[kept] = todo[i].attempts;
        waits[kept] = todo[i].wait_ms;
        errors[kept++] = todo[i].error.n ? store_clean_text(s, todo[i].error) : STR_NONE;
    }
    if (kept == 0)
        return V_OK;
    enum verdict v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    const struct db_col cols[] = {DB_TEXTS(names), DB_INTS(attempts), DB_INTS(waits),
                                  DB_TEXTS(errors)};
    return store_end(s, db_each(s->db, SQL_USER_WORK_PUT, cols, 4, kept, NULL, NULL, e), e);
}

struct todo_reading {
    struct arena *a;
    struct user_todo *out;
    size_t n, max;
};

static enum verdict read_todo(void *ctx, const struct db_row *row) {
    struct todo_reading *r = ctx;
    if (r->n < r->max)
        r->out[r->n++] = (struct user_todo){
            .name = arena_str(r->a, db_row_text(row, 0)),
            .attempts = (int)db_row_int(row, 1),
            .error = arena_str(r->a, db_row_text(row, 2)),
        };
    return V_OK;
}

static enum verdict hand_out(struct store *s, int64_t hold_ms, struct todo_reading *r,
                             struct err *e) {
    r->n = 0;
    enum verdict v =
        db_run(s->db, SQL_USER_WORK_DUE, DB_VALS(DBI((int64_t)r->max)), read_todo, r, e);
    if (v != V_OK)
        return v;
    struct putting p = {.s = s};
    arena_reset(&s->scratch);
    struct str *names = texts(&p, r->n);
    int64_t *holds = ints(&p, r->n);
    for (size_t i = 0; i < r->n; i++) {
        names[i] = r->out[i].name;
        holds[i] = hold_ms;
    }
    const struct db_col cols[] = {DB_TEXTS(names), DB_INTS(holds)};
    return db_each(s->db, SQL_USER_WORK_HOLD, cols, 2, r->n, NULL, NULL, e);
}

static enum verdict any(void *ctx, const struct db_row *row UNUSED) {
    *(bool *)ctx = true;
    return V_OK;
}

enum verdict store_users_due(struct store *s, int64_t hold_ms, struct arena *a,
                             struct user_todo *out, size_t max, size_t *ret_n, struct err *e) {
    struct todo_reading r = {.a = a, .out = out, .max = max};
    bool found = false;
    *ret_n = 0;
    /* no write transaction for nothing, as with items */
    enum verdict v = db_run(s->db, SQL_USER_WORK_DUE, DB_VALS(DBI(1)), any, &found, e);
    if (v == V_OK && found)
        v = db_begin(s->db, e);
    if (v != V_OK || !found)
        return v;
    v = store_end(s, hand_out(s, hold_ms, &r, e), e);
    if (v == V_OK)
        *ret_n = r.n;
    return v;
}

struct list_reading {
    struct str ids; /* as they are to be */
    bool there, same;
    int64_t seen_at, now_ms;
};

static enum verdict read_list(void *ctx, const struct db_row *row) {
    struct list_reading *r = ctx;
    r->there = true;
    r->same = str_eq(db_row_text(row, 0), r->ids);
    r->seen_at = db_row_int(row, 1);
    r->now_ms = db_row_int(row, 2);
    return V_OK;
}

static enum verdict put_list(struct store *s, const char *name, struct str ids, int64_t seen_at,
                             bool *ret_changed, struct err *e) {
    struct list_reading r = {.ids = ids};
    enum verdict v = db_run(s->db, SQL_LIST_GET, DB_VALS(DBC(name)), read_list, &r, e);
    if (v != V_OK)
        return v;
    if (r.there && r.seen_at > seen_at && r.seen_at <= r.now_ms + CLOCK_SLACK_MS)
        return V_OK;
    if (r.there && r.same)
        return db_run(s->db, SQL_LIST_TOUCH, DB_VALS(DBC(name), DBI(seen_at)), NULL, NULL, e);
    *ret_changed = true;
    v = db_run(s->db, r.there ? SQL_LIST_UPDATE : SQL_LIST_INSERT,
               DB_VALS(DBC(name), DBT(ids), DBI(seen_at)), NULL, NULL, e);
    if (v == V_OK && db_changes(s->db) != 1)
        return err_set(e, V_RETRY, "store", 0, "the list was stored by another process meanwhile");
    return v;
}

enum verdict store_put_list(struct store *s, const char *name, const int64_t *ids, size_t n,
                            int64_t seen_at, bool *ret_changed, struct err *e) {
    bool changed = false;
    *ret_changed = false;
    arena_reset(&s->scratch);
    struct str text = store_ids_text(s, ids, n);
    enum verdict v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    v = store_end(s, put_list(s, name, text, seen_at, &changed, e), e);
    if (v == V_OK)
        *ret_changed = changed;
    return v;
}
