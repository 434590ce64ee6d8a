#include "hn/url_int.h"

#include <arpa/inet.h>
#include <idn2.h>
#include <string.h>

#define RAW_HOST_MAX 1024 /* UTF-8, before it becomes ASCII */
#define LABEL_MAX 63

/* Labels in front of a host that say nothing about the page. They go only while a name of two
 * labels remains: www.com is a site of its own. */
static const char *const idle_labels[] = {"www.", "www2.", "amp."};

bool url_set_host(struct url *u, struct str host) {
    if (host.n > URL_HOST_MAX)
        return false;
    memmove(u->host, host.p, host.n);
    u->host_n = host.n;
    return true;
}

static bool read_port(struct str s, unsigned *ret) {
    unsigned port = 0;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9' || port > 65535)
            return false;
        port = port * 10 + (unsigned)(s.p[i] - '0');
    }
    if (port > 65535 || (s.n && port == 0))
        return false;
    /* The key knows no scheme, so both usual ports are no news. */
    *ret = port == 80 || port == 443 ? 0 : port;
    return true;
}

/* "[address]", in the one way inet_ntop() writes it. */
static bool read_ipv6(struct str literal, struct url *u) {
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;
    if (literal.n < 4 || literal.n - 2 >= sizeof text)
        return false;
    memcpy(text, literal.p + 1, literal.n - 2);
    text[literal.n - 2] = '\0';
    if (inet_pton(AF_INET6, text, &address) != 1 ||
        !inet_ntop(AF_INET6, &address, u->host + 1, INET6_ADDRSTRLEN))
        return false;
    size_t n = strlen(u->host + 1);
    u->host[0] = '[';
    u->host[n + 1] = ']';
    u->host_n = n + 2;
    return true;
}

static bool idn_to_ascii(struct str host, struct url *u) {
    char raw[RAW_HOST_MAX + 1], *ascii = NULL;
    if (host.n > RAW_HOST_MAX)
        return false;
    memcpy(raw, host.p, host.n);
    raw[host.n] = '\0';
    if (idn2_to_ascii_8z(raw, &ascii, IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT) != IDN2_OK)
        return false;
    bool fits = url_set_host(u, str_of(ascii));
    idn2_free(ascii);
    return fits;
}

/* Lower-case; false when a byte is not ASCII. */
static bool copy_ascii(struct str host, struct url *u) {
    if (host.n > URL_HOST_MAX)
        return false;
    for (size_t i = 0; i < host.n; i++) {
        unsigned char c = (unsigned char)host.p[i];
        if (c >= 0x80)
            return false;
        u->host[i] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    u->host_n = host.n;
    return true;
}

/* What came out of IDN mapping is checked as well: it can yield a slash from a letter-like sign.
 * A name without a dot is somebody's word, not a host in public; localhost is for trying out. */
static bool name_is_sound(struct str host) {
    size_t label = 0, dots = 0;
    for (size_t i = 0; i < host.n; i++) {
        char c = host.p[i];
        if (c == '.') {
            if (label == 0)
                return false;
            label = 0;
            dots++;
            continue;
        }
        bool known = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
        if (!known || ++label > LABEL_MAX)
            return false;
    }
    return label > 0 && (dots > 0 || str_eqc(host, "localhost"));
}

static void drop_idle_labels(struct url *u) {
    for (size_t i = 0; i < sizeof idle_labels / sizeof idle_labels[0]; i++) {
        struct str host = url_host(u);
        size_t n = strlen(idle_labels[i]);
        if (str_starts(host, idle_labels[i]) && memchr(host.p + n, '.', host.n - n)) {
            url_set_host(u, (struct str){host.p + n, host.n - n});
            i = (size_t)-1; /* from the start: www.amp.example.com */
        }
    }
}

static bool read_name(struct str name, struct url *u) {
    if (!copy_ascii(name, u) && !idn_to_ascii(name, u))
        return false;
    while (u->host_n > 0 && u->host[u->host_n - 1] == '.')
        u->host_n--;
    if (!name_is_sound(url_host(u)))
        return false;
    drop_idle_labels(u);
    return true;
}

bool url_read_host(struct str authority, struct url *u) {
    struct str host = authority, port = {authority.p + authority.n, 0};
    for (size_t i = authority.n; i > 0 && authority.p[i - 1] != ']'; i--) {
        if (authority.p[i - 1] != ':')
            continue;
        host.n = i - 1;
        port = (struct str){authority.p + i, authority.n - i};
        break;
    }
    if (host.n == 0 || !read_port(port, &u->port))
        return false;
    if (host.p[0] == '[')
        return host.p[host.n - 1] == ']' && read_ipv6(host, u);
    return read_name(host, u);
}
