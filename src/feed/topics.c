#include "feed/event.h"
#include "feed/feed_int.h"

#define LIST_MAX 300 /* characters of what there is */

static bool is_open_to(const struct cdc_known *k, const struct feed_filter *f) {
    return k->is_public || !f->public_only;
}

static const struct str *find_unknown(const struct feed_filter *f, const struct cdc_known *all,
                                      size_t n) {
    for (size_t i = 0; i < f->n_tables; i++) {
        size_t k = 0;
        while (k < n &&
               !(is_open_to(&all[k], f) && feed_table_is(f->tables[i], all[k].schema, all[k].name)))
            k++;
        if (k == n)
            return &f->tables[i];
    }
    return NULL;
}

bool feed_filter_is_known(const struct feed_filter *f, const struct cdc_known *all, size_t n) {
    return find_unknown(f, all, n) == NULL;
}

/* With other columns it is there once more. */
static bool came_before(const struct cdc_known *all, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (!all[k].removed && all[k].is_public == all[i].is_public &&
            str_eq(all[k].schema, all[i].schema) && str_eq(all[k].name, all[i].name))
            return true;
    return false;
}

/* As they are asked for: ours by name, others with their schema. */
static void list(const struct feed_filter *f, const struct cdc_known *all, size_t n,
                 struct strbuf *out) {
    size_t left_out = 0;
    for (size_t i = 0; i < n; i++) {
        if (all[i].removed || !is_open_to(&all[i], f) || came_before(all, i))
            continue;
        if (out->n + all[i].schema.n + all[i].name.n + 3 > LIST_MAX) {
            left_out++;
            continue;
        }
        strbuf_adds(out, out->n ? ", " : "");
        if (!all[i].built_in)
            strbuf_addf(out, "%.*s.", STR_FMT(all[i].schema));
        strbuf_add_str(out, all[i].name);
    }
    if (left_out)
        strbuf_addf(out, " and %zu more", left_out);
}

enum verdict feed_filter_check(const struct feed_filter *f, const struct cdc_known *all, size_t n,
                               const char *param, struct err *e) {
    const struct str *unknown = find_unknown(f, all, n);
    if (!unknown)
        return V_OK;
    CLEANUP(strbuf_release) struct strbuf names;
    strbuf_init(&names, LIST_MAX + 64);
    list(f, all, n, &names);
    return err_set(e, V_INVALID, "feed", 0, "%s: there is no %s\"%.*s\"; there are %s", param,
                   f->public_only ? "public " : "", unknown->n > 80 ? 80 : (int)unknown->n,
                   unknown->p, names.n ? names.p : "none");
}
