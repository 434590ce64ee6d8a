#include "enrich/plan.h"

#include "net/reach.h"

#include <stdio.h>
#include <string.h>

struct place {
    int line;
    const char *label; /* what the file calls it */
};

/* Where in the file stands the member of the spec that the store found at fault. */
static struct place place_of(const struct plan_source *src, const char *field, size_t i) {
    const struct plan_lines *l = &src->lines;
    const struct {
        const char *field;
        int line;
    } lines[] = {
        {"table", l->table}, {"key", l->key},       {"status", l->status},
        {"since", l->since}, {"filter", l->filter},
    };
    for (size_t k = 0; field && k < ARRAY_LEN(lines); k++)
        if (strcmp(field, lines[k].field) == 0)
            return (struct place){lines[k].line, lines[k].field};
    if (field && strcmp(field, "states") == 0)
        return (struct place){i < ROW_STATES ? l->states[i] : l->source, "states"};
    if (field && strcmp(field, "inputs") == 0)
        return (struct place){i < src->spec.n_inputs ? l->inputs[i] : l->request, "request"};
    if (field && strcmp(field, "outputs") == 0)
        return (struct place){i < src->answer.n_map ? src->answer.map[i].line : l->source, "map"};
    return (struct place){l->source, "source"};
}

static enum verdict open_one(const struct enrich_plan *p, const struct plan_source *src,
                             struct store *s, struct source **ret, struct err *e) {
    const char *field = NULL;
    size_t index = 0;
    enum verdict v = store_source_open(s, &src->spec, ret, &field, &index, e);
    if (v == V_OK)
        return V_OK;
    *ret = NULL;
    plan_redact(p, e);
    if (v == V_INVALID || v == V_NOT_FOUND) {
        struct place at = place_of(src, field, index);
        return err_wrap(e, V_INVALID, "%.200s:%d: %s", p->path.p, at.line, at.label);
    }
    return err_wrap(e, v, "source %s", src->spec.name.p);
}

/* COLUMN_OTHER takes what the database makes of it: an enum, a date, an address. */
static bool goes_into(enum map_type type, const struct source_column *c) {
    if (c->type == COLUMN_OTHER)
        return true;
    switch (type) {
    case MAP_TEXT:
    case MAP_URL:
        return c->type == COLUMN_TEXT;
    case MAP_INT:
        return c->type == COLUMN_INT || c->type == COLUMN_REAL;
    case MAP_REAL:
        return c->type == COLUMN_REAL;
    case MAP_BOOL:
        return c->type == COLUMN_BOOL || c->type == COLUMN_INT;
    case MAP_JSON:
        return c->type == COLUMN_JSON || c->type == COLUMN_TEXT;
    }
    return false;
}

static const char *type_for(const struct source_column *c) {
    switch (c->type) {
    case COLUMN_TEXT:
        return "text, url or json";
    case COLUMN_INT:
        return "int";
    case COLUMN_REAL:
        return "real or int";
    case COLUMN_BOOL:
        return "bool";
    case COLUMN_JSON:
        return "json";
    default:
        return "text";
    }
}

static enum verdict check_types(const struct enrich_plan *p, const struct plan_source *src,
                                const struct source *source, struct err *e) {
    static const char *const names[] = {"text", "url", "int", "real", "bool", "json"};
    for (size_t i = 0; i < src->answer.n_map; i++) {
        const struct map_rule *m = &src->answer.map[i];
        const struct source_column *c = source_output(source, i);
        if (!goes_into(m->type, c))
            return err_set(e, V_INVALID, "config", 0,
                           "%.200s:%d: map %.60s: type = %s does not go into a column of type "
                           "%.*s; write type = %s",
                           p->path.p, m->line, m->column.p, names[m->type], STR_FMT(c->type_name),
                           type_for(c));
    }
    return V_OK;
}

enum verdict plan_open_sources(const struct enrich_plan *p, struct store *s,
                               struct source **ret_sources, struct err *e) {
    enum verdict v = V_OK;
    for (size_t i = 0; i < p->n_sources; i++)
        ret_sources[i] = NULL;
    for (size_t i = 0; v == V_OK && i < p->n_sources; i++) {
        v = open_one(p, &p->sources[i], s, &ret_sources[i], e);
        if (v == V_OK)
            v = check_types(p, &p->sources[i], ret_sources[i], e);
    }
    for (size_t i = 0; v != V_OK && i < p->n_sources; i++) {
        store_source_close(ret_sources[i]);
        ret_sources[i] = NULL;
    }
    return v;
}

enum verdict plan_reach(const struct enrich_plan *p, const struct provider *provider,
                        struct err *e) {
    enum verdict v = reach_url(provider->url.p, PLAN_REACH_MS, e);
    if (v == V_OK)
        return V_OK;
    return err_wrap(e, v, "%.200s:%d: provider %s cannot be reached", p->path.p, provider->url_line,
                    provider->name.p);
}
