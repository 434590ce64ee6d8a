/* The guard around fetching an address that a stranger gave us. A request with one
 * (http_request.guard) goes over a connection of its own, without proxy, cookies or headers of the
 * caller, to public addresses only; that is looked at on the address of each socket that is opened,
 * for every hop, because a name may resolve to another address than it did a moment ago. A guard is
 * made once and only read then: any thread; it outlives the client. */
#ifndef TAIN_NET_GUARD_H
#define TAIN_NET_GUARD_H

#include "base/err.h"

struct sockaddr; /* <sys/socket.h> would bring its send() to everyone */

/* Why something is refused. GUARD_FINE is not. */
enum guard_rule {
    GUARD_FINE,
    GUARD_SCHEME,      /* neither http nor https */
    GUARD_URL,         /* not a URL, or a host that only looks like an address */
    GUARD_CREDENTIALS, /* user or password in the URL */
    GUARD_PORT,        /* not one of the guard's */
    GUARD_REDIRECTS,   /* too many of them */
    GUARD_FAMILY,      /* a socket that is neither IPv4 nor IPv6 */
    GUARD_OWN,         /* the machine itself, by a public address of its own */
    /* Of the address: */
    GUARD_THIS_NETWORK, /* 0/8, :: */
    GUARD_PRIVATE,      /* 10/8, 172.16/12, 192.168/16 */
    GUARD_SHARED,       /* 100.64/10 */
    GUARD_LOOPBACK,
    GUARD_LINK_LOCAL, /* the metadata services of clouds live there; site-local, too */
    GUARD_MULTICAST,
    GUARD_BROADCAST,
    GUARD_DOCUMENTATION, /* and benchmarks */
    GUARD_RESERVED,      /* protocol assignments, and what nobody was given yet */
    GUARD_CLOUD,         /* a public number that a cloud's host answers itself */
    GUARD_MAPPED,        /* IPv4 within IPv6: mapped, compatible or translated */
    GUARD_NAT64,
    GUARD_TUNNEL,       /* 6to4, Teredo */
    GUARD_UNIQUE_LOCAL, /* fc00::/7 */
    GUARD_N_RULES
};

#define GUARD_PORTS_MAX 16
#define GUARD_ALLOW_MAX 8
#define GUARD_HOST_MAX 256

struct guard_options {
    const char *ports; /* "80,443"; NULL: 80, 443, 8080 and 8443 */
    /* For tests and the demo, whose sites live on loopback: "HOST:PORT,..."; NULL: none. The very
     * host as a URL writes it, at that port, may have a loopback address; nothing else changes. */
    const char *allow;
    size_t max_body;   /* decoded bytes; 0: 2 MiB */
    long timeout_ms;   /* the whole visit, redirects included; 0: 20 s */
    long idle_seconds; /* hardly a byte for so long ends it; 0: 10 s */
    int max_redirects; /* 0: 5; negative: none */
};

struct guard;

/* V_INVALID: what is wrong with the options. */
MUST_CHECK enum verdict guard_new(const struct guard_options *o, struct guard **ret, struct err *e);
void guard_free(struct guard *g); /* NULL is fine */

/* What can be told from the URL alone: of its host only where it is an address, in whatever way of
 * writing one (0x7f.1, 2130706433, full-width digits). */
enum guard_rule guard_url(const struct guard *g, const char *url);
/* Of an address without any allowance; the port does not matter. */
enum guard_rule guard_address(const struct sockaddr *a);
const char *guard_rule_name(enum guard_rule r); /* "loopback", ...: stored and shown */
/* "a loopback address": for a sentence. */
const char *guard_rule_text(enum guard_rule r);

/* What became of a visit. */
enum visit_class {
    VISIT_OK,
    VISIT_NOT_HTML,  /* the content type is neither HTML nor plain text */
    VISIT_TOO_LARGE, /* head or body, or its compressed form */
    VISIT_REFUSED,   /* by the guard: `rule` */
    VISIT_GONE,      /* 404, 410 */
    VISIT_DENIED,    /* any other answer that is not a page: 401, 403, 451, 204, ... */
    VISIT_LATER,     /* 408, 425, 429, 5xx, time-out, network */
    VISIT_N_CLASSES
};

struct visit {
    enum visit_class cls;
    enum guard_rule rule;     /* of VISIT_REFUSED */
    const char *url;          /* where it ended, after the redirects; of a refused one as far as
                                 it came */
    const char *content_type; /* as the server wrote it; "" when it did not */
    int redirects;
};

const char *visit_class_name(enum visit_class c); /* "ok", "not_html", ... */

#endif
