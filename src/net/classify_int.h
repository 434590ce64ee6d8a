/* The words around the classes; private to the room. No state. */
#ifndef TAIN_NET_CLASSIFY_INT_H
#define TAIN_NET_CLASSIFY_INT_H

#include "net/classify.h"

/* 301, 302, 303, 307 and 308: worth following when there is a place to go. */
bool net_status_redirects(long status);
/* "Service Unavailable"; "" for a status without a well-known name. HTTP/2 sends no reason, so the
 * words are ours. */
const char *net_status_reason(long status);
/* Details end up in logs and in a database: one printable line, whatever the server sent. */
void net_make_printable(char *s);

#endif
