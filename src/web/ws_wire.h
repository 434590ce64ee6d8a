/* The WebSocket protocol of one client, by wslay: what comes in, and control frames out, which it
 * writes into the peer's ws_out. Private to ws_peer.c and its tests. */
#ifndef TAIN_WEB_WS_WIRE_H
#define TAIN_WEB_WS_WIRE_H

#include "base/str.h"

#include <stdint.h>

struct wslay_event_context;
struct ws_peer;

struct wslay_event_context *ws_wire_new(struct ws_peer *p);
void ws_wire_free(struct wslay_event_context *w);

/* Reads what has come, a bounded amount. False: the peer has hung up. */
bool ws_wire_read(struct ws_peer *p);
/* Still listens: neither side broke off. */
bool ws_wire_reads(struct wslay_event_context *w);
bool ws_wire_closed(struct wslay_event_context *w); /* the peer said goodbye */

void ws_wire_ping(struct wslay_event_context *w);
void ws_wire_close(struct wslay_event_context *w, uint16_t code, struct str reason);
/* Moves what is queued into ws_out, as far as there is room for whole frames. */
void ws_wire_control(struct wslay_event_context *w);
bool ws_wire_pending(struct wslay_event_context *w); /* something is still queued */
/* So many pongs wait that the peer has to take some before more is read. */
bool ws_wire_crowded(struct wslay_event_context *w);

#endif
