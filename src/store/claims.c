/* Claims, results and releases of a table source. PostgreSQL does each with one statement for the
 * batch; SQLite with a few per row, in one transaction. */
#include "store/claims.h"

#include "hn/json_read.h"
#include "store/claims_int.h"

#include <string.h>

#define ERROR_CHARS_MAX 500
#define MAP_MAX ((size_t)256 * 1024 * 1024)

static int64_t *ints_of(struct store *s, size_t n) {
    return arena_zalloc(&s->scratch, (n + 1) * sizeof(int64_t));
}

static struct str *texts_of(struct store *s, size_t n) {
    return arena_zalloc(&s->scratch, (n + 1) * sizeof(struct str));
}

static enum verdict too_many(size_t n, struct err *e) {
    return err_set(e, V_LIMIT, "source", 0, "%zu rows at once, more than %d", n, CLAIM_BATCH_MAX);
}

struct claiming {
    struct arena *a;
    struct row_claim *ret;
    struct source_keys keys; /* those that fit */
    const size_t *place;     /* of each of them in ret */
};

/* A row of the answer on PostgreSQL: a row that was won, its token, or a row that was lost. */
static enum verdict take_claim(void *ctx, const struct db_row *row) {
    struct claiming *c = ctx;
    size_t at;
    if (!source_keys_find(&c->keys, db_row_text(row, 1), &at))
        return V_FATAL;
    struct row_claim *to = &c->ret[c->place[at]];
    switch (db_row_int(row, 0)) {
    case 0:
        to->row = arena_str(c->a, db_row_text(row, 4));
        break;
    case 1:
        to->result = CLAIM_WON;
        to->key = arena_str(c->a, db_row_text(row, 1));
        to->token = db_row_int(row, 2);
        to->attempts = (int)db_row_int(row, 3);
        break;
    default:
        to->result = CLAIM_LOST;
    }
    return V_OK;
}

/* Whatever became of a key's first mention, its second has not won. */
static void settle_twins(struct claiming *c) {
    for (size_t i = 0; i < c->keys.n; i++) {
        size_t first = i;
        if (source_keys_find(&c->keys, c->keys.keys[i], &first) && first != i)
            c->ret[c->place[i]].result =
                c->ret[c->place[first]].result == CLAIM_IGNORED ? CLAIM_IGNORED : CLAIM_LOST;
    }
}

static enum verdict claim_pg(struct store *s, struct source *src, struct claiming *c,
                             struct str holder, int64_t lease_ms, struct err *e) {
    size_t n = c->keys.n;
    struct str *holders = texts_of(s, n);
    int64_t *leases = ints_of(s, n);
    holders[0] = holder;
    leases[0] = lease_ms;
    const struct db_col cols[] = {DB_TEXTS(c->keys.keys), DB_TEXTS(holders), DB_INTS(leases)};
    enum verdict v =
        db_each(s->db, src->stmts[SRC_CLAIM], cols, ARRAY_LEN(cols), n, take_claim, c, e);
    if (v == V_OK)
        settle_twins(c);
    return v;
}

static enum verdict claim_sqlite(struct store *s, struct source *src, struct claiming *c,
                                 struct str holder, int64_t lease_ms, struct err *e) {
    enum verdict v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    for (size_t i = 0; i < c->keys.n && v == V_OK; i++)
        v = source_lite_claim(s, src, c->keys.keys[i], holder, lease_ms, c->a, &c->ret[c->place[i]],
                              e);
    return store_end(s, v, e);
}

enum verdict store_claim_rows(struct store *s, struct source *src, const struct str *keys, size_t n,
                              struct str holder, int64_t lease_ms, struct arena *a,
                              struct row_claim *ret, struct err *e) {
    if (n > CLAIM_BATCH_MAX)
        return too_many(n, e);
    arena_reset(&s->scratch);
    struct str *fitting = texts_of(s, n);
    size_t *place = arena_zalloc(&s->scratch, (n + 1) * sizeof *place), n_fitting = 0;
    for (size_t i = 0; i < n; i++) {
        ret[i] = (struct row_claim){.key = keys[i], .result = CLAIM_IGNORED};
        if (!source_key_fits(src, keys[i]))
            continue;
        fitting[n_fitting] = source_key_text(src, keys[i], &s->scratch);
        place[n_fitting++] = i;
    }
    if (!n_fitting)
        return V_OK;
    struct claiming c = {.a = a, .ret = ret, .place = place};
    source_keys_sort(&c.keys, fitting, n_fitting, &s->scratch);
    enum verdict v = store_is_shared(s) ? claim_pg(s, src, &c, holder, lease_ms, e)
                                        : claim_sqlite(s, src, &c, holder, lease_ms, e);
    for (size_t i = 0; i < n && v != V_OK; i++)
        ret[i] = (struct row_claim){.key = keys[i], .result = CLAIM_IGNORED};
    return v;
}

const char *const source_outcomes[ROW_STATES] = {
    [ROW_MATCH] = "match", [ROW_NO_MATCH] = "no_match", [ROW_FAILED] = "failed"};

struct str source_error(struct store *s, struct str text) {
    if (!text.p)
        return text;
    struct str t = store_clean_text(s, text);
    size_t at = 0;
    for (int chars = 0; at < t.n && chars < ERROR_CHARS_MAX; chars++) {
        size_t len = utf8_len((const unsigned char *)t.p + at, t.n - at);
        at += len ? len : 1;
    }
    return (struct str){t.p, at};
}

/* A value that a type cannot hold is the table's refusal, like a constraint. */
static enum verdict judged(const struct source *src, enum verdict v, struct str key, size_t n,
                           struct err *e) {
    if (v != V_CONFLICT && v != V_INVALID && v != V_LIMIT)
        return v;
    return n == 1 ? err_wrap(e, V_CONFLICT, "row %.*s of %.*s", (int)(key.n < 80 ? key.n : 80),
                             key.p, STR_FMT(src->shape.name))
                  : err_wrap(e, V_CONFLICT, "one of %zu rows of %.*s", n, STR_FMT(src->shape.name));
}

/* What is said of the rows, as the statements of PostgreSQL want it. */
struct said {
    struct source_keys keys;
    const int64_t *tokens;
    const struct str *classes, *errors;
    bool *done;
};

static enum verdict take_done(void *ctx, const struct db_row *row) {
    const struct said *m = ctx;
    size_t at;
    if (!source_keys_find(&m->keys, db_row_text(row, 0), &at))
        return V_FATAL;
    m->done[at] = true;
    return V_OK;
}

static enum verdict run_said(struct store *s, const struct source *src, enum source_stmt stmt,
                             struct said *m, struct db_col fifth, struct db_col sixth,
                             struct err *e) {
    const struct db_col cols[] = {DB_TEXTS(m->keys.keys),
                                  DB_INTS(m->tokens),
                                  DB_TEXTS(m->classes),
                                  DB_TEXTS(m->errors),
                                  fifth,
                                  sixth};
    return db_each(s->db, src->stmts[stmt], cols, ARRAY_LEN(cols), m->keys.n, take_done, m, e);
}

static enum verdict finalize_pg(struct store *s, struct source *src,
                                const struct verdict_on_row *rows, const struct source_keys *keys,
                                bool *ret_done, struct err *e) {
    size_t n = keys->n;
    struct str *classes = texts_of(s, n), *errors = texts_of(s, n), *outcomes = texts_of(s, n),
               *maps = texts_of(s, n);
    int64_t *tokens = ints_of(s, n);
    struct said m = {*keys, tokens, classes, errors, ret_done};
    CLEANUP(strbuf_release) struct strbuf map;
    strbuf_init(&map, MAP_MAX);
    for (size_t i = 0; i < n; i++) {
        const struct verdict_on_row *r = &rows[i];
        tokens[i] = r->token;
        classes[i] = source_error(s, r->error_class);
        errors[i] = source_error(s, r->error);
        outcomes[i] = str_of(source_outcomes[r->state]);
        strbuf_addc(&map, i ? ',' : '{');
        strbuf_add_json(&map, r->key);
        strbuf_addf(&map, ":{\"s\":\"%s\",\"v\":", source_outcomes[r->state]);
        strbuf_add_str(&map, r->values.p ? r->values : STR("{}"));
        strbuf_addc(&map, '}');
    }
    strbuf_addc(&map, '}');
    if (map.overflow)
        return err_set(e, V_LIMIT, "source", 0, "more than %zu bytes at once", MAP_MAX);
    maps[0] = strbuf_str(&map);
    return run_said(s, src, SRC_FINALIZE, &m, DB_TEXTS(outcomes), DB_TEXTS(maps), e);
}

static enum verdict release_pg(struct store *s, struct source *src, const struct release *rows,
                               const struct source_keys *keys, bool *ret_done, struct err *e) {
    size_t n = keys->n;
    struct str *classes = texts_of(s, n), *errors = texts_of(s, n);
    int64_t *tokens = ints_of(s, n), *spent = ints_of(s, n), *waits = ints_of(s, n);
    struct said m = {*keys, tokens, classes, errors, ret_done};
    for (size_t i = 0; i < n; i++) {
        const struct release *r = &rows[i];
        tokens[i] = r->token;
        classes[i] = source_error(s, r->error_class);
        errors[i] = source_error(s, r->error);
        spent[i] = r->spent ? 1 : 0;
        waits[i] = r->wait_ms;
    }
    return run_said(s, src, SRC_RELEASE, &m, DB_INTS(spent), DB_INTS(waits), e);
}

static bool is_object(struct store *s, struct str json) {
    struct json_read r;
    json_read_init(&r, &s->scratch, json);
    if (json_peek(&r) != JSON_OBJECT)
        return false;
    json_skip(&r);
    return json_at_end(&r);
}

static enum verdict check_results(struct store *s, const struct source *src,
                                  const struct verdict_on_row *rows, size_t n, struct err *e) {
    for (size_t i = 0; i < n; i++) {
        const struct verdict_on_row *r = &rows[i];
        if (r->values.p && !is_object(s, r->values))
            return err_set(e, V_CONFLICT, "source", 0, "row %.*s of %.*s: its values are no JSON",
                           STR_FMT(r->key), STR_FMT(src->shape.name));
        if (r->state >= ROW_STATES || !source_outcomes[r->state])
            return err_set(e, V_INVALID, "source", 0, "row %.*s: %d is no final state",
                           STR_FMT(r->key), (int)r->state);
    }
    return V_OK;
}

/* A key is said something of once. Twice, which is a zombie beside its successor, they go one after
 * the other. */
static bool has_twins(const struct source_keys *k) {
    for (size_t i = 1; i < k->n; i++)
        if (str_eq(k->keys[k->order[i - 1]], k->keys[k->order[i]]))
            return true;
    return false;
}

static enum verdict finalize_one(struct store *s, struct source *src,
                                 const struct verdict_on_row *row, bool *ret_done, struct err *e) {
    if (!store_is_shared(s))
        return source_lite_finalize(s, src, row, ret_done, e);
    struct source_keys key;
    source_keys_sort(&key, &row->key, 1, &s->scratch);
    return finalize_pg(s, src, row, &key, ret_done, e);
}

static enum verdict finalize_each(struct store *s, struct source *src,
                                  const struct verdict_on_row *rows, size_t n, bool *ret_done,
                                  struct err *e) {
    enum verdict v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    for (size_t i = 0; i < n && v == V_OK; i++)
        v = finalize_one(s, src, &rows[i], &ret_done[i], e);
    return store_end(s, v, e);
}

enum verdict store_finalize(struct store *s, struct source *src, const struct verdict_on_row *rows,
                            size_t n, bool *ret_done, struct err *e) {
    if (n > CLAIM_BATCH_MAX)
        return too_many(n, e);
    arena_reset(&s->scratch);
    memset(ret_done, 0, n * sizeof *ret_done);
    enum verdict v = check_results(s, src, rows, n, e);
    if (v != V_OK || !n)
        return v;
    struct str *keys = texts_of(s, n);
    struct source_keys sorted;
    for (size_t i = 0; i < n; i++)
        keys[i] = rows[i].key;
    source_keys_sort(&sorted, keys, n, &s->scratch);
    v = store_is_shared(s) && !has_twins(&sorted) ? finalize_pg(s, src, rows, &sorted, ret_done, e)
                                                  : finalize_each(s, src, rows, n, ret_done, e);
    if (v != V_OK)
        memset(ret_done, 0, n * sizeof *ret_done);
    return judged(src, v, rows[0].key, n, e);
}

static enum verdict release_one(struct store *s, struct source *src, const struct release *row,
                                bool *ret_done, struct err *e) {
    if (!store_is_shared(s))
        return source_lite_release(s, src, row, ret_done, e);
    struct source_keys key;
    source_keys_sort(&key, &row->key, 1, &s->scratch);
    return release_pg(s, src, row, &key, ret_done, e);
}

static enum verdict release_each(struct store *s, struct source *src, const struct release *rows,
                                 size_t n, bool *ret_done, struct err *e) {
    enum verdict v = db_begin(s->db, e);
    if (v != V_OK)
        return v;
    for (size_t i = 0; i < n && v == V_OK; i++)
        v = release_one(s, src, &rows[i], &ret_done[i], e);
    return store_end(s, v, e);
}

enum verdict store_release(struct store *s, struct source *src, const struct release *rows,
                           size_t n, bool *ret_done, struct err *e) {
    if (n > CLAIM_BATCH_MAX)
        return too_many(n, e);
    arena_reset(&s->scratch);
    memset(ret_done, 0, n * sizeof *ret_done);
    if (!n)
        return V_OK;
    struct str *keys = texts_of(s, n);
    struct source_keys sorted;
    for (size_t i = 0; i < n; i++)
        keys[i] = rows[i].key;
    source_keys_sort(&sorted, keys, n, &s->scratch);
    enum verdict v = store_is_shared(s) && !has_twins(&sorted)
                         ? release_pg(s, src, rows, &sorted, ret_done, e)
                         : release_each(s, src, rows, n, ret_done, e);
    if (v != V_OK)
        memset(ret_done, 0, n * sizeof *ret_done);
    return judged(src, v, rows[0].key, n, e);
}
