#include "cli/enrich_look.h"

#include "store/cdc.h"

#include <string.h>

/* In single quotes where a shell would take it for something else. */
static struct str install_command(struct str table, struct arena *a) {
    CLEANUP(strbuf_release) struct strbuf b;
    bool plain = true;
    for (size_t i = 0; i < table.n; i++)
        plain = plain && (table.p[i] == '_' || table.p[i] == '.' ||
                          (table.p[i] >= '0' && table.p[i] <= '9') ||
                          ((table.p[i] | 32) >= 'a' && (table.p[i] | 32) <= 'z'));
    strbuf_init(&b, 4096);
    strbuf_adds(&b, plain ? "tain cdc install --table " : "tain cdc install --table '");
    for (size_t i = 0; i < table.n; i++)
        if (table.p[i] == '\'')
            strbuf_adds(&b, "'\\''");
        else
            strbuf_addc(&b, table.p[i]);
    strbuf_adds(&b, plain ? "" : "'");
    return arena_str(a, strbuf_str(&b));
}

static bool is_logged(const struct cdc_table *tables, size_t n, const struct source *src) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(tables[i].name, source_table(src)) &&
            str_eq(tables[i].schema, source_schema(src)))
            return tables[i].present;
    return false;
}

static enum verdict look_at(const struct plan_source *p, struct source *src, struct store *store,
                            struct arena *a, struct source_look *ret, struct err *e) {
    const struct cdc_table *tables;
    size_t n;
    enum verdict v = store_source_count(store, src, &ret->counts, e);
    if (v == V_OK)
        v = store_source_missing_indexes(store, src, a, ret->indexes, &ret->n_indexes, e);
    if (v == V_OK)
        v = store_peek_rows(store, src, LOOK_ROWS, a, ret->rows, &ret->n_rows, e);
    if (v == V_OK)
        v = store_cdc_list(store, a, &tables, &n, e);
    if (v != V_OK)
        return v;
    ret->logged = is_logged(tables, n, src);
    if (!ret->logged)
        ret->install = install_command(p->spec.table, a);
    return V_OK;
}

static enum verdict look_at_lanes(struct store *store, struct arena *a, struct plan_look *ret,
                                  struct err *e) {
    const struct lane_row *rows;
    size_t n;
    enum verdict v = store_lane_list(store, a, &rows, &n, e);
    for (size_t i = 0; v == V_OK && i < ret->plan.n_providers; i++)
        for (size_t k = 0; k < n; k++)
            if (str_eq(rows[k].name, ret->plan.providers[i].name))
                ret->lanes[i] = &rows[k];
    return v;
}

enum verdict plan_look(const char *path, struct store *store, struct arena *a,
                       struct plan_look *ret, struct err *e) {
    struct source *sources[PLAN_SOURCES_MAX] = {NULL};
    memset(ret, 0, sizeof *ret);
    enum verdict v = plan_read(path, NULL, a, &ret->plan, e);
    if (v != V_OK)
        return v;
    v = plan_open_sources(&ret->plan, store, sources, e);
    for (size_t i = 0; i < ret->plan.n_sources && v == V_OK; i++)
        v = look_at(&ret->plan.sources[i], sources[i], store, a, &ret->sources[i], e);
    for (size_t i = 0; i < ret->plan.n_sources; i++)
        store_source_close(sources[i]);
    if (v == V_OK)
        v = look_at_lanes(store, a, ret, e);
    if (v != V_OK)
        plan_redact(&ret->plan, e);
    return v;
}

struct str provider_origin(const struct provider *p, struct arena *a) {
    struct str url = p->url;
    const char *host = memmem(url.p, url.n, "://", 3);
    size_t from = host ? (size_t)(host - url.p) + 3 : 0, to = from, at = from;
    while (to < url.n && url.p[to] != '/' && url.p[to] != '?')
        to++;
    for (size_t i = from; i < to; i++)
        at = url.p[i] == '@' ? i + 1 : at;
    char *text = arena_zalloc(a, url.n + 1);
    memcpy(text, url.p, from);
    memcpy(text + from, url.p + at, to - at);
    return str_of(text);
}

void look_request(const struct enrich_plan *p, const struct plan_source *src, struct str row,
                  struct arena *a, struct look_request *ret) {
    CLEANUP(strbuf_release) struct strbuf url;
    struct str path = STR_NONE, body = STR_NONE;
    struct err e = {0};
    *ret = (struct look_request){0};
    if (request_fill(&src->request, row, a, &path, &body, &e) != V_OK) {
        plan_redact(p, &e);
        ret->why = arena_str(a, str_of(e.msg));
        return;
    }
    strbuf_init(&url, src->provider->url.n + REQUEST_PATH_MAX + 1);
    strbuf_add_str(&url, src->provider->url);
    strbuf_add_str(&url, path);
    ret->url = plan_redacted(p, strbuf_str(&url), a);
    if (body.p)
        ret->body = plan_redacted(p, body, a);
}
