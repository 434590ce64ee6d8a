/* The inside of a guard, and the part of a transfer that is a visit. Private to the room. A visit
 * belongs to its transfer, which serves this one request and is thrown away: nothing that was
 * set on its handle can be seen in another. */
#ifndef TAIN_NET_GUARD_INT_H
#define TAIN_NET_GUARD_INT_H

#include "net/guard.h"

#include <curl/curl.h>

struct guard {
    unsigned short ports[GUARD_PORTS_MAX];
    size_t n_ports;
    struct guard_allow {
        char host[GUARD_HOST_MAX]; /* as libcurl writes it: an IPv6 address in brackets */
        unsigned short port;
    } allow[GUARD_ALLOW_MAX];
    size_t n_allow;
    size_t max_body;
    long timeout_ms, idle_seconds;
    int max_redirects;
    struct curl_slist *headers; /* that each visit sends */
};

struct visiting {
    const struct guard *guard;
    bool allowed;         /* this hop is one of the guard's allowances */
    enum guard_rule rule; /* the last that refused something, in this hop */
    bool refused;         /* and that was the end of it */
    int opened;           /* sockets of this hop */
    size_t head;          /* bytes of this hop */
    bool enough;          /* we ended it: the status says all there is to say */
    bool not_html, too_large;
    char *url; /* libcurl's */
    struct visit result;
};

/* What guard_url() tells, of a URL that libcurl has taken apart: the one that it will fetch. The
 * host is made ASCII in it. */
enum guard_rule guard_parts(const struct guard *g, CURLU *u, bool *ret_allowed);
/* Of the address of a socket, before it is connected. */
enum guard_rule guard_socket(bool allowed, const struct sockaddr *a);
/* Of both ends of a connection, as text, before anything is said on it. */
enum guard_rule guard_connection(bool allowed, const char *peer, const char *local);

#endif
