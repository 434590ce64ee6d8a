/* /cdc on the side of HTTP: who asks for a WebSocket of the change feed, whether the key is right
 * and what it asks for make sense, and the upgrade itself. All on loop threads. */
#ifndef TAIN_WEB_WS_DOOR_H
#define TAIN_WEB_WS_DOOR_H

#include "web/server_int.h"

/* Is there such a thing on this server? Without a key there is not. */
bool ws_door_exists(const struct web *w);
/* Makes a response: 101 and what follows from it, or a refusal. */
void ws_door_answer(struct request *r);
/* The request has ended; a place that was not taken goes back. */
void ws_door_forget(struct request *r);

#define WS_ACCEPT_MAX 32
/* The answer to a Sec-WebSocket-Key; false: it is none. */
bool ws_accept_of(struct str key, char out[WS_ACCEPT_MAX]);

#endif
