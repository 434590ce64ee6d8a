#include "web/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum verdict address_parse(const char *text, struct sockaddr_storage *ret, struct err *e) {
    char host[64];
    const char *colon = strrchr(text, ':');
    char *end;
    long port = colon ? strtol(colon + 1, &end, 10) : -1;
    size_t n = colon ? (size_t)(colon - text) : sizeof host;
    if (n >= sizeof host || colon[1] == '\0' || *end || port < 0 || port > 65535)
        return err_set(e, V_INVALID, "config", 0, "'%s' is not ADDR:PORT", text);
    bool brackets = n > 2 && text[0] == '[' && text[n - 1] == ']';
    snprintf(host, sizeof host, "%.*s", (int)(brackets ? n - 2 : n), text + brackets);
    struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
    memset(ret, 0, sizeof *ret);
    if (inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &v4->sin_addr)) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)port);
    } else if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)port);
    } else {
        return err_set(e, V_INVALID, "config", 0, "'%s' is not an address", host);
    }
    return V_OK;
}

static bool bind_and_listen(int fd, const struct sockaddr_storage *a, int backlog) {
    int on = 1;
    socklen_t n =
        a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
           bind(fd, (const struct sockaddr *)a, n) == 0 && listen(fd, backlog) == 0;
}

static int port_of(int fd) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } a = {.v6 = {0}};
    socklen_t n = sizeof a;
    if (getsockname(fd, &a.any, &n) != 0)
        return 0;
    return ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
}

enum verdict address_listen(const char *text, int backlog, int *ret_fd, int *ret_port,
                            struct err *e) {
    struct sockaddr_storage a = {0};
    enum verdict v = address_parse(text, &a, e);
    if (v != V_OK)
        return v;
    int fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || !bind_and_listen(fd, &a, backlog)) {
        int code = errno;
        if (fd >= 0)
            close(fd);
        return err_set(e, V_FATAL, "http", code, "cannot listen on %s: %s", text, strerror(code));
    }
    *ret_fd = fd;
    *ret_port = port_of(fd);
    return V_OK;
}

bool address_is_loopback(const struct sockaddr *address) {
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
    if (address->sa_family != AF_INET6)
        return address->sa_family == AF_UNIX;
    const struct in6_addr *a = &((const struct sockaddr_in6 *)address)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(a) || (IN6_IS_ADDR_V4MAPPED(a) && a->s6_addr[12] == 127);
}

void address_print(const struct sockaddr *address, char *out, size_t size) {
    const void *from = address->sa_family == AF_INET6
                           ? (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr
                           : (const void *)&((const struct sockaddr_in *)address)->sin_addr;
    if (!inet_ntop(address->sa_family, from, out, (socklen_t)size))
        snprintf(out, size, "unknown");
}

/* Nothing, or a colon and digits. */
static bool is_port(const char *p, const char *end) {
    if (p < end && *p++ != ':')
        return false;
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p == end;
}

/* Without ":PORT" behind it, and without the brackets of an IPv6 address. False: it is not one. */
static bool bare_host(struct str host, char out[256], bool *ret_v6) {
    const char *end = host.p + host.n, *p = host.p, *stop;
    *ret_v6 = host.n && *p == '[';
    if (*ret_v6) {
        stop = memchr(++p, ']', host.n - 1);
        if (!stop || !is_port(stop + 1, end))
            return false;
        end = stop;
    } else if ((stop = memchr(p, ':', host.n))) {
        if (!is_port(stop, end))
            return false;
        end = stop;
    }
    size_t n = (size_t)(end - p);
    if (n == 0 || n > 255)
        return false;
    memcpy(out, p, n);
    out[n] = '\0';
    return true;
}

static bool is_loopback_text(const char *host, bool v6) {
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    if (v6)
        return inet_pton(AF_INET6, host, &six.sin6_addr) == 1 &&
               address_is_loopback((const struct sockaddr *)&six);
    return inet_pton(AF_INET, host, &v4.sin_addr) == 1 &&
           address_is_loopback((const struct sockaddr *)&v4);
}

bool host_allowed(const struct host_rule *rule, struct str host) {
    char name[256];
    bool v6;
    if (!host.p || !bare_host(host, name, &v6))
        return false;
    if ((!v6 && strcasecmp(name, "localhost") == 0) || is_loopback_text(name, v6))
        return true;
    for (size_t i = 0; i < rule->n; i++)
        if (strcasecmp(rule->names[i], name) == 0)
            return true;
    return false;
}

void address_key(const struct sockaddr *a, unsigned char ret[16]) {
    memset(ret, 0, 16);
    if (a->sa_family == AF_INET6) {
        const struct in6_addr *six = &((const struct sockaddr_in6 *)a)->sin6_addr;
        memcpy(ret, six, IN6_IS_ADDR_V4MAPPED(six) ? 16 : 8);
    } else if (a->sa_family == AF_INET) {
        ret[10] = ret[11] = 0xff;
        memcpy(ret + 12, &((const struct sockaddr_in *)a)->sin_addr, 4);
    }
}

void address_key_of_text(struct str text, unsigned char ret[16]) {
    char copy[INET6_ADDRSTRLEN];
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    memset(ret, 0, 16);
    if (text.n >= sizeof copy)
        return;
    snprintf(copy, sizeof copy, "%.*s", STR_FMT(text));
    if (inet_pton(AF_INET, copy, &v4.sin_addr) == 1)
        address_key((const struct sockaddr *)&v4, ret);
    else if (inet_pton(AF_INET6, copy, &v6.sin6_addr) == 1)
        address_key((const struct sockaddr *)&v6, ret);
}
