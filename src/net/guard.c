#include "net/guard_int.h"
#include "net/must_int.h"
#include "net/url_int.h"

#include <arpa/inet.h>
#include <idn2.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BODY_MAX ((size_t)2 * 1024 * 1024)
#define TIMEOUT_MS 20000
#define IDLE_SECONDS 10
#define REDIRECTS 5
#define ACCEPT "Accept: text/html,application/xhtml+xml,text/plain;q=0.8,*/*;q=0.1"

static void part_cleanup(char **part) {
    curl_free(*part);
}

#define URL_PART CLEANUP(part_cleanup) char *

static bool read_port(const char *s, size_t n, unsigned short *ret) {
    unsigned port = 0;
    if (n == 0 || n > 5)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9')
            return false;
        port = port * 10 + (unsigned)(s[i] - '0');
    }
    *ret = (unsigned short)port;
    return port > 0 && port <= 65535;
}

static enum verdict add_port(struct guard *g, const char *s, size_t n, struct err *e) {
    if (g->n_ports == GUARD_PORTS_MAX)
        return err_set(e, V_INVALID, "guard", 0, "more than %d ports", GUARD_PORTS_MAX);
    if (!read_port(s, n, &g->ports[g->n_ports++]))
        return err_set(e, V_INVALID, "guard", 0, "not a port: '%.*s'", (int)(n < 40 ? n : 40), s);
    return V_OK;
}

static enum verdict add_allow(struct guard *g, const char *s, size_t n, struct err *e) {
    if (g->n_allow == GUARD_ALLOW_MAX)
        return err_set(e, V_INVALID, "guard", 0, "more than %d exceptions", GUARD_ALLOW_MAX);
    struct guard_allow *a = &g->allow[g->n_allow++];
    const char *colon = memrchr(s, ':', n);
    size_t host = colon ? (size_t)(colon - s) : 0;
    if (host == 0 || host >= sizeof a->host || !read_port(colon + 1, n - host - 1, &a->port))
        return err_set(e, V_INVALID, "guard", 0, "not of the form HOST:PORT: '%.*s'",
                       (int)(n < 80 ? n : 80), s);
    memcpy(a->host, s, host);
    a->host[host] = '\0';
    return V_OK;
}

typedef enum verdict add_fn(struct guard *g, const char *s, size_t n, struct err *e);

static enum verdict each(struct guard *g, const char *list, add_fn *add, struct err *e) {
    enum verdict v = V_OK;
    while (list && *list && v == V_OK) {
        size_t n = strcspn(list, ",");
        v = add(g, list, n, e);
        list += n + (list[n] == ',');
    }
    return v;
}

enum verdict guard_new(const struct guard_options *o, struct guard **ret, struct err *e) {
    struct guard *g = xcalloc(1, sizeof *g);
    enum verdict v = each(g, o->ports ? o->ports : "80,443,8080,8443", add_port, e);
    if (v == V_OK)
        v = each(g, o->allow, add_allow, e);
    if (v != V_OK) {
        guard_free(g);
        return v;
    }
    g->max_body = o->max_body ? o->max_body : BODY_MAX;
    g->timeout_ms = o->timeout_ms > 0 ? o->timeout_ms : TIMEOUT_MS;
    g->idle_seconds = o->idle_seconds > 0 ? o->idle_seconds : IDLE_SECONDS;
    g->max_redirects = o->max_redirects == 0  ? REDIRECTS
                       : o->max_redirects < 0 ? 0
                                              : o->max_redirects;
    g->headers = must_have(curl_slist_append(NULL, ACCEPT));
    *ret = g;
    return V_OK;
}

void guard_free(struct guard *g) {
    if (!g)
        return;
    curl_slist_free_all(g->headers);
    free(g);
}

static bool all_of(const char *s, const char *set) {
    return *s && s[strspn(s, set)] == '\0';
}

/* Whether the C library would take it as an IPv4 address and not look it up: the last of its
 * parts is a number. */
static bool ends_in_number(const char *host) {
    const char *dot = strrchr(host, '.');
    const char *last = dot ? dot + 1 : host;
    if (last[0] == '0' && (last[1] == 'x' || last[1] == 'X'))
        return last[2] == '\0' || all_of(last + 2, "0123456789abcdefABCDEF");
    return all_of(last, "0123456789");
}

static bool is_localhost(const char *host) {
    size_t n = strlen(host);
    return (n >= 9 && strcasecmp(host + n - 9, "localhost") == 0) &&
           (n == 9 || host[n - 10] == '.');
}

static enum guard_rule check_host6(bool allowed, char *host) {
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    host[strlen(host) - 1] = '\0'; /* the bracket */
    if (inet_pton(AF_INET6, host + 1, &in6.sin6_addr) != 1)
        return GUARD_URL;
    return guard_socket(allowed, (const struct sockaddr *)&in6);
}

static enum guard_rule check_host(bool allowed, char *host) {
    struct sockaddr_in in = {.sin_family = AF_INET};
    size_t n = strlen(host);
    if (host[0] == '[')
        return check_host6(allowed, host);
    if (n > 1 && host[n - 1] == '.')
        host[n - 1] = '\0';
    if (is_localhost(host))
        return allowed ? GUARD_FINE : GUARD_LOOPBACK;
    if (!ends_in_number(host))
        return GUARD_FINE; /* a name: what it means is seen when the socket is opened */
    if (inet_aton(host, &in.sin_addr) == 0)
        return GUARD_URL;
    return guard_socket(allowed, (const struct sockaddr *)&in);
}

static bool has_part(CURLU *u, CURLUPart what) {
    URL_PART part = NULL;
    return must_url_get(u, what, &part, 0) == CURLUE_OK;
}

static bool is_allowed(const struct guard *g, const char *host, unsigned short port) {
    for (size_t i = 0; i < g->n_allow; i++)
        if (g->allow[i].port == port && strcasecmp(g->allow[i].host, host) == 0)
            return true;
    return false;
}

static bool is_open_port(const struct guard *g, unsigned short port) {
    for (size_t i = 0; i < g->n_ports; i++)
        if (g->ports[i] == port)
            return true;
    return false;
}

/* As the socket is opened for it: other scripts' digits and dots become plain ones. libcurl would
 * do so itself, but by the locale. */
static bool make_ascii(CURLU *u) {
    URL_PART host = NULL;
    char *ascii = NULL;
    if (must_url_get(u, CURLUPART_HOST, &host, 0) != CURLUE_OK)
        return false;
    const char *p = host;
    while (*p && (unsigned char)*p < 0x80)
        p++;
    if (!*p)
        return true;
    bool done = idn2_to_ascii_8z(host, &ascii, IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT) == IDN2_OK &&
                must_url_set(u, CURLUPART_HOST, ascii, 0) == CURLUE_OK;
    idn2_free(ascii);
    return done;
}

enum guard_rule guard_parts(const struct guard *g, CURLU *u, bool *ret_allowed) {
    URL_PART scheme = NULL;
    URL_PART host = NULL;
    URL_PART port = NULL;
    unsigned short number;
    *ret_allowed = false;
    if (must_url_get(u, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
        (strcasecmp(scheme, "http") != 0 && strcasecmp(scheme, "https") != 0))
        return GUARD_SCHEME;
    if (has_part(u, CURLUPART_USER) || has_part(u, CURLUPART_PASSWORD))
        return GUARD_CREDENTIALS;
    if (!make_ascii(u) || must_url_get(u, CURLUPART_HOST, &host, 0) != CURLUE_OK || !host[0] ||
        has_part(u, CURLUPART_ZONEID) ||
        must_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK ||
        !read_port(port, strlen(port), &number))
        return GUARD_URL;
    *ret_allowed = is_allowed(g, host, number);
    if (!*ret_allowed && !is_open_port(g, number))
        return GUARD_PORT;
    return check_host(*ret_allowed, host);
}

enum guard_rule guard_url(const struct guard *g, const char *url) {
    struct url_cache fresh = {0};
    struct url_view view;
    bool allowed;
    if (strncasecmp(url, "http://", 7) != 0 && strncasecmp(url, "https://", 8) != 0)
        return GUARD_SCHEME;
    if (url_check(&fresh, url, &view, NULL) != V_OK)
        return GUARD_URL;
    CURLU *u = must_have(curl_url());
    enum guard_rule rule = must_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK
                               ? guard_parts(g, u, &allowed)
                               : GUARD_URL;
    curl_url_cleanup(u);
    return rule;
}
