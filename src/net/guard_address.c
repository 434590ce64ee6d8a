#include "net/guard_int.h"

#include <arpa/inet.h>
#include <string.h>

/* What IANA's registries of special addresses say, with what can be told of it by its number. The
 * first row that fits decides. */
static const struct row4 {
    uint8_t net[4], bits, rule;
} rows4[] = {
    {{0}, 8, GUARD_THIS_NETWORK},
    {{10}, 8, GUARD_PRIVATE},
    {{100, 64}, 10, GUARD_SHARED},
    {{127}, 8, GUARD_LOOPBACK},
    {{168, 63, 129, 16}, 32, GUARD_CLOUD},
    {{169, 254}, 16, GUARD_LINK_LOCAL},
    {{172, 16}, 12, GUARD_PRIVATE},
    {{192, 0, 0}, 24, GUARD_RESERVED},
    {{192, 0, 2}, 24, GUARD_DOCUMENTATION},
    {{192, 88, 99}, 24, GUARD_TUNNEL}, /* relays of 6to4 */
    {{192, 168}, 16, GUARD_PRIVATE},
    {{198, 18}, 15, GUARD_DOCUMENTATION}, /* benchmarks */
    {{198, 51, 100}, 24, GUARD_DOCUMENTATION},
    {{203, 0, 113}, 24, GUARD_DOCUMENTATION},
    {{224}, 4, GUARD_MULTICAST},
    {{255, 255, 255, 255}, 32, GUARD_BROADCAST},
    {{240}, 4, GUARD_RESERVED},
};

static const struct row6 {
    uint8_t net[16], bits, rule;
} rows6[] = {
    {{0}, 128, GUARD_THIS_NETWORK},
    {{[15] = 1}, 128, GUARD_LOOPBACK},
    {{0}, 96, GUARD_MAPPED},                                 /* compatible */
    {{[10] = 0xFF, 0xFF}, 96, GUARD_MAPPED},                 /* ::ffff:0:0 */
    {{[8] = 0xFF, 0xFF}, 96, GUARD_MAPPED},                  /* ::ffff:0:0:0, translated */
    {{0x00, 0x64, 0xFF, 0x9B}, 96, GUARD_NAT64},             /* 64:ff9b:: */
    {{0x00, 0x64, 0xFF, 0x9B, 0x00, 0x01}, 48, GUARD_NAT64}, /* 64:ff9b:1::, a site's own */
    {{0xFC}, 7, GUARD_UNIQUE_LOCAL},                         /* fc00:: */
    {{0xFE, 0x80}, 10, GUARD_LINK_LOCAL},                    /* fe80:: */
    {{0xFE, 0xC0}, 10, GUARD_LINK_LOCAL},                    /* fec0::, site-local */
    {{0xFF}, 8, GUARD_MULTICAST},                            /* ff00:: */
    {{0x20, 0x01, 0x00, 0x00}, 32, GUARD_TUNNEL},            /* 2001::, Teredo */
    {{0x20, 0x01, 0x00, 0x02}, 48, GUARD_DOCUMENTATION},     /* 2001:2::, benchmarks */
    {{0x20, 0x01}, 23, GUARD_RESERVED},                      /* protocol assignments */
    {{0x20, 0x01, 0x0D, 0xB8}, 32, GUARD_DOCUMENTATION},     /* 2001:db8:: */
    {{0x20, 0x02}, 16, GUARD_TUNNEL},                        /* 2002::, 6to4 */
    {{0x3F, 0xFE}, 16, GUARD_RESERVED},                      /* 3ffe::, given back */
    {{0x3F, 0xFF}, 20, GUARD_DOCUMENTATION},                 /* 3fff:: */
    {{0x20}, 3, GUARD_FINE},                                 /* what is given out */
    {{0}, 0, GUARD_RESERVED},
};

static bool within(const uint8_t *address, const uint8_t *net, unsigned bits) {
    unsigned whole = bits / 8, rest = bits % 8;
    if (memcmp(address, net, whole) != 0)
        return false;
    return rest == 0 || ((address[whole] ^ net[whole]) >> (8 - rest)) == 0;
}

static enum guard_rule address4(const uint8_t a[4]) {
    for (size_t i = 0; i < ARRAY_LEN(rows4); i++)
        if (within(a, rows4[i].net, rows4[i].bits))
            return rows4[i].rule;
    return GUARD_FINE;
}

static enum guard_rule address6(const uint8_t a[16]) {
    for (size_t i = 0; i < ARRAY_LEN(rows6); i++)
        if (within(a, rows6[i].net, rows6[i].bits))
            return rows6[i].rule;
    return GUARD_RESERVED;
}

enum guard_rule guard_address(const struct sockaddr *a) {
    if (a->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, a, sizeof in); /* it may stand anywhere */
        return address4((const uint8_t *)&in.sin_addr);
    }
    if (a->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, a, sizeof in6);
        return address6(in6.sin6_addr.s6_addr);
    }
    return GUARD_FAMILY;
}

enum guard_rule guard_socket(bool allowed, const struct sockaddr *a) {
    enum guard_rule rule = guard_address(a);
    return allowed && rule == GUARD_LOOPBACK ? GUARD_FINE : rule;
}

enum guard_rule guard_connection(bool allowed, const char *peer, const char *local) {
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    const struct sockaddr *a;
    if (inet_pton(AF_INET, peer, &in.sin_addr) == 1)
        a = (const struct sockaddr *)&in;
    else if (inet_pton(AF_INET6, peer, &in6.sin6_addr) == 1)
        a = (const struct sockaddr *)&in6;
    else
        return GUARD_FAMILY;
    enum guard_rule rule = guard_socket(allowed, a);
    /* Who calls a number of his own has it at both ends. */
    return rule == GUARD_FINE && !allowed && strcmp(peer, local) == 0 ? GUARD_OWN : rule;
}

static const struct {
    const char *name, *text;
} rules[GUARD_N_RULES] = {
    [GUARD_FINE] = {"fine", "nothing"},
    [GUARD_SCHEME] = {"scheme", "neither http nor https"},
    [GUARD_URL] = {"url", "not a URL"},
    [GUARD_CREDENTIALS] = {"credentials", "a URL with a user or a password in it"},
    [GUARD_PORT] = {"port", "a port that web sites do not use"},
    [GUARD_REDIRECTS] = {"redirects", "too many redirects"},
    [GUARD_FAMILY] = {"family", "not an internet address"},
    [GUARD_OWN] = {"own", "an address of this machine"},
    [GUARD_THIS_NETWORK] = {"this_network", "the unspecified address"},
    [GUARD_PRIVATE] = {"private", "a private address"},
    [GUARD_SHARED] = {"shared", "an address of a provider's own network"},
    [GUARD_LOOPBACK] = {"loopback", "a loopback address"},
    [GUARD_LINK_LOCAL] = {"link_local", "a link-local address"},
    [GUARD_MULTICAST] = {"multicast", "a multicast address"},
    [GUARD_BROADCAST] = {"broadcast", "the broadcast address"},
    [GUARD_DOCUMENTATION] = {"documentation", "an address for documentation or benchmarks"},
    [GUARD_RESERVED] = {"reserved", "a reserved address"},
    [GUARD_CLOUD] = {"cloud", "an address that a cloud answers itself"},
    [GUARD_MAPPED] = {"mapped", "an IPv4 address within IPv6"},
    [GUARD_NAT64] = {"nat64", "a NAT64 address"},
    [GUARD_TUNNEL] = {"tunnel", "an address of a tunnel"},
    [GUARD_UNIQUE_LOCAL] = {"unique_local", "a unique local address"},
};

const char *guard_rule_name(enum guard_rule r) {
    return (size_t)r < ARRAY_LEN(rules) ? rules[r].name : "?";
}

const char *guard_rule_text(enum guard_rule r) {
    return (size_t)r < ARRAY_LEN(rules) ? rules[r].text : "?";
}
