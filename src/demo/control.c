/* /demo/...: how a test looks in and steers. A request that a web page made (it carries an Origin)
 * is refused, so that no page on the internet plays with someone's demo. */
#include "demo/reply.h"
#include "demo/server_int.h"

#include <stdlib.h>
#include <string.h>

static const char *argument(struct request *r, const char *name) {
    return MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);
}

static enum MHD_Result refuse(struct request *r, enum verdict v, const struct err *e) {
    unsigned status = v == V_NOT_FOUND ? MHD_HTTP_NOT_FOUND
                      : v == V_LIMIT   ? MHD_HTTP_CONFLICT
                                       : MHD_HTTP_BAD_REQUEST;
    return reply_error(r->connection, status, e->msg);
}

static enum MHD_Result answer_numbers(struct request *r, const char *name, int64_t value,
                                      const char *name2, int64_t value2) {
    struct strbuf out;
    strbuf_init(&out, 256);
    strbuf_addf(&out, "{\"%s\":%lld", name, (long long)value);
    if (name2)
        strbuf_addf(&out, ",\"%s\":%lld", name2, (long long)value2);
    strbuf_addc(&out, '}');
    return reply_json(r->connection, MHD_HTTP_OK, &out);
}

static enum MHD_Result show_stats(struct request *r) {
    struct strbuf out;
    strbuf_init(&out, 8192);
    stats_render(&r->demo->stats, corpus_maxitem(r->demo->corpus), &out);
    return reply_json(r->connection, MHD_HTTP_OK, &out);
}

static enum MHD_Result set_maxitem(struct request *r) {
    int64_t value;
    if (!str_to_i64(str_of(argument(r, "value")), &value) || value < 0 || value > CORPUS_MAX_ID)
        return reply_error(r->connection, MHD_HTTP_BAD_REQUEST, "value is not a possible maxitem");
    demo_set_maxitem(r->demo, value);
    return answer_numbers(r, "maxitem", value, NULL, 0);
}

static bool change_named(const char *name, enum corpus_change *ret) {
    static const char *const NAMES[] = {"any", "edit", "score", "dead", "delete", "restore"};
    for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
        if (strcmp(name ? name : "any", NAMES[i]) == 0) {
            *ret = (enum corpus_change)i;
            return true;
        }
    return false;
}

static enum MHD_Result mutate(struct request *r) {
    struct corpus *c = r->demo->corpus;
    enum corpus_change how;
    int64_t ids[3];
    if (!str_to_i64(str_of(argument(r, "id")), &ids[0]))
        return reply_error(r->connection, MHD_HTTP_BAD_REQUEST, "id is not a number");
    if (!change_named(argument(r, "how"), &how))
        return reply_error(r->connection, MHD_HTTP_BAD_REQUEST, "how names no change");
    bool was_missing = corpus_root(c, ids[0]) == 0;
    struct err e;
    enum verdict v = corpus_mutate(c, ids[0], how, &e);
    if (v != V_OK)
        return refuse(r, v, &e);
    ids[1] = corpus_parent(c, ids[0]); /* these gained a kid when the item was missing before */
    ids[2] = corpus_root(c, ids[0]);
    hub_updates(&r->demo->hub, ids, !was_missing ? 1 : ids[1] == ids[2] ? 2 : 3);
    return answer_numbers(r, "id", ids[0], "version", corpus_version(c, ids[0]));
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
    return v == V_OK ? answer_numbers(r, "faults", (int64_t)n, NULL, 0) : refuse(r, v, &e);
}

static enum MHD_Result reset_stats(struct request *r) {
    stats_reset(&r->demo->stats);
    return answer_numbers(r, "reset", 1, NULL, 0);
}

enum MHD_Result control_answer(struct request *r, const char *path, bool post) {
    static const struct {
        const char *path;
        bool post;
        enum MHD_Result (*answer)(struct request *r);
    } ROUTES[] = {
        {"stats", false, show_stats}, {"maxitem", true, set_maxitem},     {"mutate", true, mutate},
        {"faults", true, set_faults}, {"reset-stats", true, reset_stats},
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
