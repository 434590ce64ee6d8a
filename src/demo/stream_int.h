/* Private to the streams: one of them. Everything here is guarded by the hub's lock. */
#ifndef TAIN_DEMO_STREAM_INT_H
#define TAIN_DEMO_STREAM_INT_H

#include "demo/frames.h"
#include "demo/stream.h"

struct stream {
    struct hub *hub;
    struct MHD_Connection *connection;
    enum channel channel;
    uint64_t next;         /* the frame that comes next */
    struct strbuf pending; /* of which `sent` bytes are out and `stop` may go */
    size_t sent, stop;
    uint64_t frames; /* taken so far */
    bool suspended;
    bool silent;          /* takes no frame */
    bool cut, cut_closes; /* the next frame, in the middle; then closed or silent */
    bool ending;          /* closed in good order once `stop` is reached */
    bool broken;          /* the connection is gone */
    bool stalled;         /* no burst waits for it until it moves */
    struct stream_fault fault;
    int64_t due_ms; /* when the deed of the fault is done, by the hub's clock */
    struct stream *before, *after;
};

/* Appends a frame to what the stream sends next, in its forms. */
void stream_say(struct stream *s, struct str frame);
/* The same in place of what was sent already, and only the first half of it goes. */
void stream_say_half(struct stream *s, struct str frame);
/* So that it comes to read again. */
void stream_resume(struct stream *s);
/* The deed, now. */
void stream_do(struct stream *s, enum stream_deed deed);
/* The deed of its rule, if it is due. */
void stream_do_due(struct stream *s);
/* The peer has hung up, which the HTTP library does not see while a connection is suspended. */
bool stream_peer_gone(const struct stream *s);

#endif
