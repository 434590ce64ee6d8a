/* A push parser of text/event-stream, by the rules of the HTML standard: bytes go in as they come
 * from the network, cut anywhere; whole events come out through a callback. An event that the end
 * of the stream cuts off is dropped, as the standard says. No I/O, no threads; one owner.
 *
 * Bytes are handed on as they are: whoever reads the data as JSON deals with broken UTF-8. */
#ifndef TAIN_HN_EVENT_STREAM_H
#define TAIN_HN_EVENT_STREAM_H

#include "base/err.h"
#include "base/str.h"

/* Views into the parser, valid during the call only. */
struct stream_event {
    struct str type; /* "message" when the stream named none */
    struct str data; /* the data lines joined by LF */
    struct str id;   /* the last id the stream gave, "" when it gave none */
};

typedef void stream_event_fn(void *context, const struct stream_event *event);

struct event_stream {
    stream_event_fn *on_event;
    void *context;
    size_t max;
    struct strbuf line; /* of a line that is not complete, what there is */
    struct strbuf data, type, id;
    int64_t retry_ms; /* the last wait the stream asked for before a reconnect; -1: none */
    bool any_line;    /* the first line may begin with a byte order mark */
    bool after_cr;    /* an LF that comes now belongs to the CR before it */
    bool over;        /* the limit was passed */
};

/* `max` bounds a line, and the data of an event; the parser keeps at most four times as much. */
void event_stream_init(struct event_stream *s, size_t max, stream_event_fn *on_event,
                       void *context);
void event_stream_release(struct event_stream *s);

/* For a new connection: forgets what is half read, keeps the last id and the wait. */
void event_stream_restart(struct event_stream *s);

/* Calls on_event for each event that these bytes complete, in order. LIMIT: a line or an event is
 * larger than `max`; what came before it was handed out, and every later push answers the same
 * until a restart. */
MUST_CHECK enum verdict event_stream_push(struct event_stream *s, struct str bytes, struct err *e);

#endif
