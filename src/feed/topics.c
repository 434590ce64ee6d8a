/* Which names there are to listen to: tables that are logged, and topics. */
#include "feed/event.h"
#include "feed/feed_int.h"
#include "feed/link_topic.h"

#define LIST_MAX 300 /* characters of what there is */

enum verdict feed_names_read(struct store *s, struct arena *a, struct feed_names *ret,
                             struct err *e) {
    struct feed_names all;
    int64_t version;
    enum verdict v = store_cdc_known(s, a, &all.tables, &all.n_tables, e);
    if (v == V_OK)
        v = store_feed_topics(s, a, &all.topics, &all.n_topics, &version, e);
    if (v == V_OK)
        *ret = all;
    return v;
}

static bool is_open_to(const struct cdc_known *k, const struct feed_filter *f) {
    return k->is_public || !f->public_only;
}

/* Whoever may hear of its table may hear of it. With the key also where the table is not logged
 * yet. */
static bool topic_is_open_to(const struct feed_topic *t, const struct feed_names *names,
                             const struct feed_filter *f) {
    if (!f->public_only)
        return true;
    for (size_t i = 0; i < names->n_tables; i++) {
        const struct cdc_known *k = &names->tables[i];
        if (k->is_public && str_eq(k->schema, t->schema) && str_eq(k->name, t->table))
            return true;
    }
    return false;
}

static bool is_there(struct str asked, const struct feed_filter *f,
                     const struct feed_names *names) {
    if (link_topic_is(asked))
        return true;
    for (size_t i = 0; i < names->n_tables; i++) {
        const struct cdc_known *k = &names->tables[i];
        if (is_open_to(k, f) && feed_table_is(asked, k->schema, k->name))
            return true;
    }
    for (size_t i = 0; i < names->n_topics; i++) {
        const struct feed_topic *t = &names->topics[i];
        if (str_eq(asked, t->topic) && topic_is_open_to(t, names, f))
            return true;
    }
    return false;
}

static const struct str *find_unknown(const struct feed_filter *f, const struct feed_names *names) {
    for (size_t i = 0; i < f->n_tables; i++)
        if (!is_there(f->tables[i], f, names))
            return &f->tables[i];
    return NULL;
}

bool feed_filter_is_known(const struct feed_filter *f, const struct feed_names *names) {
    return find_unknown(f, names) == NULL;
}

/* With other columns it is there once more. */
static bool came_before(const struct cdc_known *all, size_t i) {
    for (size_t k = 0; k < i; k++)
        if (!all[k].removed && all[k].is_public == all[i].is_public &&
            str_eq(all[k].schema, all[i].schema) && str_eq(all[k].name, all[i].name))
            return true;
    return false;
}

struct listing {
    struct strbuf text;
    size_t left_out;
};

static void add(struct listing *l, struct str schema, struct str name) {
    if (l->text.n + schema.n + name.n + 3 > LIST_MAX) {
        l->left_out++;
        return;
    }
    strbuf_adds(&l->text, l->text.n ? ", " : "");
    if (schema.n)
        strbuf_addf(&l->text, "%.*s.", STR_FMT(schema));
    strbuf_add_str(&l->text, name);
}

static bool topic_came_before(const struct feed_names *names, size_t i,
                              const struct feed_filter *f) {
    for (size_t k = 0; k < i; k++)
        if (str_eq(names->topics[k].topic, names->topics[i].topic) &&
            topic_is_open_to(&names->topics[k], names, f))
            return true;
    return false;
}

/* As they are asked for: tables of ours by name, others with their schema, then topics. */
static void list(const struct feed_filter *f, const struct feed_names *names, struct listing *l) {
    const struct cdc_known *all = names->tables;
    for (size_t i = 0; i < names->n_tables; i++)
        if (!all[i].removed && is_open_to(&all[i], f) && !came_before(all, i))
            add(l, all[i].built_in ? STR_NONE : all[i].schema, all[i].name);
    for (size_t i = 0; i < names->n_topics; i++)
        if (topic_is_open_to(&names->topics[i], names, f) && !topic_came_before(names, i, f))
            add(l, STR_NONE, names->topics[i].topic);
    if (l->left_out)
        strbuf_addf(&l->text, " and %zu more", l->left_out);
}

enum verdict feed_filter_check(const struct feed_filter *f, const struct feed_names *names,
                               const char *param, struct err *e) {
    const struct str *unknown = find_unknown(f, names);
    if (!unknown)
        return V_OK;
    struct listing l = {0};
    strbuf_init(&l.text, LIST_MAX + 64);
    if (str_starts(*unknown, "link:"))
        add(&l, STR_NONE, STR("link:ID"));
    list(f, names, &l);
    enum verdict v =
        err_set(e, V_INVALID, "feed", 0, "%s: there is no %s\"%.*s\"; there are %s", param,
                f->public_only ? "public " : "", unknown->n > 80 ? 80 : (int)unknown->n, unknown->p,
                l.text.n ? l.text.p : "none");
    strbuf_release(&l.text);
    return v;
}
