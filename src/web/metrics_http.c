#include "web/metrics_http.h"

#include "web/address.h"
#include "web/process_metrics.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PAGE ((size_t)1024 * 1024)
#define MAX_VITALS ((size_t)8 * 1024)

struct metrics_http {
    struct MHD_Daemon *daemon;
    struct metrics_http_options o;
};

static const char plain[] = "text/plain; charset=utf-8";

static enum MHD_Result reply(struct MHD_Connection *c, unsigned status, const char *type,
                             const char *text, size_t n) {
    struct MHD_Response *r =
        MHD_create_response_from_buffer(n, (void *)text, MHD_RESPMEM_MUST_COPY);
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result sent = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return sent;
}

static enum MHD_Result reply_line(struct MHD_Connection *c, unsigned status, const char *line) {
    return reply(c, status, plain, line, strlen(line));
}

static enum MHD_Result reply_metrics(struct metrics_http *m, struct MHD_Connection *c) {
    CLEANUP(strbuf_release) struct strbuf page;
    strbuf_init(&page, MAX_PAGE);
    process_metrics_render(&page);
    metrics_render(m->o.families, m->o.n, &page);
    if (page.overflow)
        return reply_line(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "the page is too large\n");
    return reply(c, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", page.p, page.n);
}

static bool wants_json(struct MHD_Connection *c) {
    const char *format = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "format");
    const char *accept = MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
    if (format)
        return strcmp(format, "json") == 0;
    return accept && strstr(accept, "application/json");
}

static enum MHD_Result reply_vitals(struct metrics_http *m, struct MHD_Connection *c,
                                    bool (*ask)(const struct vitals *v, bool json,
                                                struct strbuf *out)) {
    CLEANUP(strbuf_release) struct strbuf text;
    strbuf_init(&text, MAX_VITALS);
    bool json = wants_json(c), well = ask(m->o.vitals, json, &text);
    return reply(c, well ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
                 json ? "application/json" : plain, text.p, text.n);
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version UNUSED,
                              const char *body UNUSED, size_t *n_body, void **state) {
    static int seen;
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return reply_line(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    if (!*state || *n_body) { /* the answer is asked for when everything is in */
        *state = &seen;
        *n_body = 0;
        return MHD_YES;
    }
    if (strcmp(url, "/metrics") == 0)
        return reply_metrics(arg, c);
    if (strcmp(url, "/healthz") == 0)
        return reply_vitals(arg, c, vitals_alive);
    if (strcmp(url, "/readyz") == 0)
        return reply_vitals(arg, c, vitals_ready);
    return reply_line(c, MHD_HTTP_NOT_FOUND, "try /metrics, /healthz or /readyz\n");
}

enum verdict metrics_http_start(const struct metrics_http_options *o, struct metrics_http **ret,
                                struct err *e) {
    struct sockaddr_storage address = {0};
    enum verdict v = address_parse(o->bind, &address, e);
    if (v != V_OK)
        return v;
    struct metrics_http *m = xcalloc(1, sizeof *m);
    m->o = *o;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD |
                     (address.ss_family == AF_INET6 ? (unsigned)MHD_USE_IPv6 : 0u);
    m->daemon = MHD_start_daemon(flags, 0, NULL, NULL, handle, m, MHD_OPTION_SOCK_ADDR, &address,
                                 MHD_OPTION_CONNECTION_LIMIT, (unsigned)METRICS_HTTP_CONNECTIONS,
                                 MHD_OPTION_CONNECTION_TIMEOUT, 10u, MHD_OPTION_END);
    if (!m->daemon) {
        int code = errno;
        free(m);
        return err_set(e, V_FATAL, "http", code, "cannot listen on %s: %s", o->bind,
                       strerror(code));
    }
    *ret = m;
    return V_OK;
}

int metrics_http_port(const struct metrics_http *m) {
    return MHD_get_daemon_info(m->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

void metrics_http_stop(struct metrics_http *m) {
    if (!m)
        return;
    MHD_stop_daemon(m->daemon);
    free(m);
}

const char *metrics_http_library(void) {
    return MHD_get_version();
}
