/* Pages of rows that are pending and due. A filter that cannot be evaluated for some row spoils the
 * statement that comes to it: then the rows of the page are listed without it, and asked for in
 * ever smaller groups, until those that spoil it stand alone. */
#include "store/claims_int.h"

struct paging {
    struct store *s;
    struct source *src;
    struct arena *a;
    struct source_key_list raw; /* whatever the filter says of them */
    struct source_key_list found;
    struct row_page *ret;
};

static enum verdict between(struct paging *p, size_t lo, size_t hi, struct err *e) {
    size_t had = p->found.n;
    const struct str *raw = p->raw.keys;
    enum verdict v = db_run(p->s->db, p->src->stmts[SRC_PENDING_BETWEEN],
                            DB_VALS(DBI((int64_t)(hi - lo + 1)), DBT(raw[lo]), DBT(raw[hi])),
                            source_take_key, &p->found, e);
    if (source_refused(v))
        p->found.n = had;
    return v;
}

static enum verdict refuse(struct paging *p, size_t at, const struct err *e) {
    p->ret->refused[p->ret->n_refused++] =
        (struct row_refusal){p->raw.keys[at], arena_str(p->a, str_of(e->msg))};
    return V_OK;
}

/* Halves that are spoilt are put off, the first one on top. */
static enum verdict each_group(struct paging *p, struct err *e) {
    struct {
        size_t lo, hi;
    } todo[2 * 64];
    size_t n = 0;
    enum verdict v = V_OK;
    if (p->raw.n) {
        todo[n].lo = 0;
        todo[n++].hi = p->raw.n - 1;
    }
    while (v == V_OK && n > 0) {
        size_t lo = todo[--n].lo, hi = todo[n].hi, mid = lo + (hi - lo) / 2;
        v = between(p, lo, hi, e);
        if (!source_refused(v))
            continue;
        v = V_OK;
        if (lo == hi) {
            v = refuse(p, lo, e);
            continue;
        }
        todo[n].lo = mid + 1;
        todo[n++].hi = hi;
        todo[n].lo = lo;
        todo[n++].hi = mid;
    }
    return v;
}

static struct str last_of(const struct source_key_list *k) {
    return k->n && k->n == k->max ? k->keys[k->n - 1] : STR_NONE;
}

static enum verdict spoilt_page(struct paging *p, struct str after, struct err *e) {
    struct err own = {0};
    e = e ? e : &own;
    p->raw = source_key_list(p->a, p->found.max);
    enum verdict v =
        db_run(p->s->db, p->src->stmts[SRC_UNFILTERED],
               DB_VALS(DBI((int64_t)p->raw.max), DBT(after)), source_take_key, &p->raw, e);
    p->found.n = 0;
    p->ret->refused = arena_alloc(p->a, (p->raw.n + 1) * sizeof *p->ret->refused);
    if (v == V_OK)
        v = each_group(p, e);
    p->ret->last = last_of(&p->raw);
    return v;
}

enum verdict store_pending(struct store *s, struct source *src, struct str after, size_t max,
                           struct arena *a, struct row_page *ret, struct err *e) {
    struct paging p = {.s = s, .src = src, .a = a, .found = source_key_list(a, max), .ret = ret};
    const struct db_val vals[] = {DBI((int64_t)max), DBT(after)};
    *ret = (struct row_page){0};
    enum verdict v = db_run(s->db, src->stmts[after.p ? SRC_PENDING_AFTER : SRC_PENDING], vals,
                            after.p ? 2 : 1, source_take_key, &p.found, e);
    ret->last = last_of(&p.found);
    if (source_refused(v))
        v = spoilt_page(&p, after, e);
    ret->keys = p.found.keys;
    ret->n = p.found.n;
    return v;
}
