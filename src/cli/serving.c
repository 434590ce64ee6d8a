#include "cli/serving.h"

#include "base/log.h"
#include "cli/archive.h"
#include "cli/cli.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define FILES_BESIDE 256 /* databases, logs, pipes: what is no connection of a client */

/* A connection is a descriptor: as many as are needed, if the system lets us. */
static void allow_files(int64_t connections) {
    struct rlimit limit;
    rlim_t wanted = (rlim_t)connections + FILES_BESIDE;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < wanted)
        log_warn("fewer files may be open than there may be connections",
                 LI("files", limit.rlim_cur), LI("connections", connections));
}

static struct web_options options_of(const struct settings *s, const struct monitor *m) {
    const char *uri = s->read_db ? s->read_db : s->db;
    struct web_options o = {
        .listen = s->listen,
        .hosts = {(const char *const *)s->public_host.items, s->public_host.n},
        .store = {.uri = uri,
                  .schema = s->schema,
                  .clock = &clock_machine,
                  .search_ms = s->search_time_ms,
                  .schema_rule = SCHEMA_REQUIRE,
                  .must_exist = true},
        .shared = strncmp(uri, "sqlite:", 7) != 0,
        .query_threads = (int)s->query_threads,
        .max_connections = (int)s->max_connections,
        .keep_alive_ms = (int)s->stream_keep_alive_ms,
        .feed_clients = (int)s->feed_clients,
        .ws_slow_ms = s->feed_slow_ms,
        .ws_ping_ms = s->feed_ping_ms,
        .access_log = (enum access_log)s->access_log,
        .read_only = s->read_db != NULL,
        .feed_keep_ms = s->feed_keep_ms,
        /* up has a write thread that does it */
        .feed_keep_rows = s->command == CMD_SERVE ? s->feed_keep_rows : 0,
        .clock = &clock_machine,
        .vitals = &m->vitals,
        .families = m->families,
        .n_families = m->n,
    };
    if (!s->read_db)
        o.write_store = o.store;
    return o;
}

/* Whether others than this machine can ask: by the address, or by a name that only a proxy in front
 * has use for. */
static bool is_exposed(const struct settings *s) {
    struct sockaddr_storage address;
    struct err e;
    return s->public_host.n > 0 || address_parse(s->listen, &address, &e) != V_OK ||
           !address_is_loopback((const struct sockaddr *)&address);
}

static const char *from_environment(const char *name) {
    return getenv(name);
}

int serving_start(struct serving *v, const struct settings *s, const struct monitor *m,
                  struct notify *n) {
    struct err e;
    *v = (struct serving){.options = options_of(s, m)};
    enum verdict verdict = secret_load(SECRET_CDC_KEY, s, from_environment, v->feed_key, &e);
    if (verdict == V_OK)
        verdict = secret_load(SECRET_LINKS_TOKEN, s, from_environment, v->links_token, &e);
    v->options.feed_key = v->feed_key[0] ? v->feed_key : NULL;
    v->options.exposed = is_exposed(s);
    v->options.links_token = v->links_token[0] ? v->links_token : NULL;
    allow_files(s->max_connections + (v->options.feed_key ? s->feed_clients : 0));
    if (verdict == V_OK)
        verdict = web_start(&v->options, &v->web, &e);
    if (verdict != V_OK) {
        complain(s, e.msg);
        notify_stopping(n, e.msg);
        return verdict == V_INVALID ? EXIT_USAGE : EXIT_FAILED;
    }
    log_info("serving", LS("listen", s->listen), LI("port", web_port(v->web)));
    return 0;
}

/* An address that stands for all of them is none to go to. */
static bool is_any(const struct sockaddr_storage *a) {
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)a;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)a;
    if (a->ss_family == AF_INET6)
        return memcmp(&v6->sin6_addr, &in6addr_any, sizeof in6addr_any) == 0;
    return v4->sin_addr.s_addr == INADDR_ANY;
}

void serving_url(const struct serving *v, struct strbuf *out) {
    struct sockaddr_storage address;
    struct err e;
    char host[100] = "127.0.0.1";
    bool known = address_parse(v->options.listen, &address, &e) == V_OK;
    if (known && !is_any(&address))
        address_print((const struct sockaddr *)&address, host, sizeof host);
    bool brackets = strchr(host, ':') && host[0] != '[';
    strbuf_addf(out, "http://%s%s%s:%d/", brackets ? "[" : "", host, brackets ? "]" : "",
                web_port(v->web));
}
