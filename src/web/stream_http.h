/* Event streams over the HTTP library: answers a request with one that has no end. A stream with
 * nothing to say is suspended and costs its connection's memory, no thread. */
#ifndef TAIN_WEB_STREAM_HTTP_H
#define TAIN_WEB_STREAM_HTTP_H

#include "web/stream.h"

#include <microhttpd.h>

/* The hub for connections of this library. Stop it before the daemon (which waits for nobody that
 * is suspended), free it after. */
struct stream_hub *stream_http_hub(size_t max_clients);

/* True when the request says that it takes an event stream. */
bool stream_http_wanted(struct MHD_Connection *connection);

/* Queues the endless answer; to be called on the connection's own thread, from its handler. 503
 * with Retry-After when there are too many. */
enum MHD_Result stream_http_open(struct stream_hub *h, struct MHD_Connection *connection,
                                 enum stream_topic topic);

#endif
