/* Addresses to listen on, as the user writes them. */
#ifndef TAIN_WEB_ADDRESS_H
#define TAIN_WEB_ADDRESS_H

#include "base/err.h"
#include "base/str.h"

#include <sys/socket.h>

/* "127.0.0.1:8080", "[::1]:8080", "localhost:8080". V_INVALID: it is none. */
MUST_CHECK enum verdict address_parse(const char *text, struct sockaddr_storage *ret,
                                      struct err *e);
/* A socket that listens there. V_FATAL: it cannot be had; the code is errno. */
MUST_CHECK enum verdict address_listen(const char *text, int backlog, int *ret_fd, int *ret_port,
                                       struct err *e);
/* 127.0.0.0/8 or ::1, the latter also as IPv4 in IPv6. */
bool address_is_loopback(const struct sockaddr *address);
/* What stands for whoever is there, where they are counted: IPv4 as it is written in IPv6; of an
 * IPv6 address the network of one house. Of a text that is no address: all zero. */
void address_key(const struct sockaddr *address, unsigned char ret[16]);
void address_key_of_text(struct str text, unsigned char ret[16]);
/* The host without its port, in `out`. */
void address_print(const struct sockaddr *address, char *out, size_t size);

/* Whom a request may be addressed to: localhost, a loopback address, or one of these names,
 * whatever the port. Keeps foreign sites from talking to a server on loopback by way of a name
 * that leads there. */
struct host_rule {
    const char *const *names; /* without a port; a letter's case does not matter */
    size_t n;
};
bool host_allowed(const struct host_rule *rule, struct str host);

#endif
