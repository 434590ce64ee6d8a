#include "web/origin.h"

#include <string.h>
#include <strings.h>

static bool same(struct str a, struct str b) {
    return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

static struct str behind_scheme(struct str origin) {
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
        size_t n = strlen(schemes[i]);
        if (origin.n > n && strncasecmp(origin.p, schemes[i], n) == 0)
            return (struct str){origin.p + n, origin.n - n};
    }
    return STR_NONE;
}

/* Without ":8080"; the colons of an IPv6 address stand in brackets. */
static struct str without_port(struct str host) {
    size_t n = host.n;
    while (n && host.p[n - 1] >= '0' && host.p[n - 1] <= '9')
        n--;
    return n && host.p[n - 1] == ':' ? (struct str){host.p, n - 1} : host;
}

bool origin_is_ours(struct str fetch_site, struct str origin, struct str host) {
    if (fetch_site.p)
        return str_eqc(fetch_site, "same-origin") || str_eqc(fetch_site, "none");
    if (!origin.p)
        return true;
    struct str from = behind_scheme(origin);
    if (!from.p || !host.p)
        return false;
    /* A proxy in front may drop the port of the address that it was asked by. */
    bool bare = without_port(host).n == host.n;
    return same(from, host) || (bare && same(without_port(from), host));
}
