/* /demo/...: how a test looks in and steers. A request that a web page made (it carries an Origin)
 * is refused, so that no page on the internet plays with someone's demo. */
#include "demo/control_int.h"
#include "demo/reply.h"

#include <stdlib.h>
#include <string.h>

const char *control_argument(struct request *r, const char *name) {
    return MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);
}

bool control_number(struct request *r, const char *name, int64_t lo, int64_t hi, int64_t otherwise,
                    int64_t *ret) {
    const char *text = control_argument(r, name);
    *ret = otherwise;
    return !text || (str_to_i64(str_of(text), ret) && *ret >= lo && *ret <= hi);
}

bool control_flag(struct request *r, const char *name, bool *ret) {
    int64_t n;
    bool ok = control_number(r, name, 0, 1, 0, &n);
    *ret = n == 1;
    return ok;
}

enum MHD_Result control_refuse(struct request *r, enum verdict v, const struct err *e) {
    unsigned status = v == V_NOT_FOUND ? MHD_HTTP_NOT_FOUND
                      : v == V_LIMIT   ? MHD_HTTP_CONFLICT
                                       : MHD_HTTP_BAD_REQUEST;
    return reply_error(r->connection, status, e->msg);
}

enum MHD_Result control_bad(struct request *r, const char *message) {
    return reply_error(r->connection, MHD_HTTP_BAD_REQUEST, message);
}

enum MHD_Result control_figures(struct request *r, const struct control_figure *f, size_t n) {
    struct strbuf out;
    strbuf_init(&out, 1024);
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&out, "%c\"%s\":%lld", i ? ',' : '{', f[i].name, (long long)f[i].value);
    strbuf_addc(&out, '}');
    return reply_json(r->connection, MHD_HTTP_OK, &out);
}

static enum MHD_Result show_stats(struct request *r) {
    struct strbuf out;
    strbuf_init(&out, 8192);
    stats_render(&r->demo->stats, corpus_maxitem(r->demo->corpus), &out);
    return reply_json(r->connection, MHD_HTTP_OK, &out);
}

static enum MHD_Result show_hits(struct request *r) {
    int64_t id;
    if (!control_number(r, "id", 0, CORPUS_MAX_ID, -1, &id) || id < 0)
        return control_bad(r, "id is not a possible one");
    return CONTROL_FIGURES(r, {"id", id}, {"hits", hits_get(r->demo->stats.hits, id)});
}

static enum MHD_Result show_truth(struct request *r) {
    int64_t lo, hi, max = corpus_maxitem(r->demo->corpus);
    if (!control_number(r, "lo", 1, CORPUS_MAX_ID, 1, &lo) ||
        !control_number(r, "hi", 0, CORPUS_MAX_ID, max, &hi))
        return control_bad(r, "lo and hi are not possible ids");
    return reply_truth(r->connection, r->demo->corpus, lo, hi);
}

/* One spec per line; blank lines and # comments are skipped. */
static enum MHD_Result set_faults(struct request *r) {
    const char *specs[FAULTS_MAX_RULES + 1];
    size_t n = 0;
    char *rest = r->body.p ? r->body.p : NULL, *line;
    while (n < ARRAY_LEN(specs) && (line = strsep(&rest, "\r\n")))
        if (*line && *line != '#')
            specs[n++] = line;
    struct err e;
    enum verdict v = demo_set_faults(r->demo, specs, n, &e);
    return v == V_OK ? CONTROL_FIGURES(r, {"faults", (int64_t)n}) : control_refuse(r, v, &e);
}

static enum MHD_Result reset_stats(struct request *r) {
    stats_reset(&r->demo->stats);
    return CONTROL_FIGURES(r, {"reset", 1});
}

enum MHD_Result control_answer(struct request *r, const char *path, bool post) {
    static const struct {
        const char *path;
        bool post;
        enum MHD_Result (*answer)(struct request *r);
    } ROUTES[] = {
        {"stats", false, show_stats},
        {"hits", false, show_hits},
        {"truth", false, show_truth},
        {"maxitem", true, control_maxitem},
        {"mutate", true, control_mutate},
        {"mutate-range", true, control_mutate_range},
        {"mutate-user", true, control_mutate_user},
        {"mention", true, control_mention},
        {"stream", true, control_stream},
        {"down", true, control_down},
        {"faults", true, set_faults},
        {"reset-stats", true, reset_stats},
    };
    if (MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ORIGIN))
        return reply_error(r->connection, MHD_HTTP_FORBIDDEN, "not for web pages");
    for (size_t i = 0; i < ARRAY_LEN(ROUTES); i++) {
        if (strcmp(path, ROUTES[i].path) != 0)
            continue;
        if (ROUTES[i].post != post)
            return reply_error(r->connection, MHD_HTTP_METHOD_NOT_ALLOWED,
                               post ? "GET it" : "POST it");
        return ROUTES[i].answer(r);
    }
    return reply_error(r->connection, MHD_HTTP_NOT_FOUND, "there is no such control");
}
