/* What goes out to one WebSocket client: frames of events, which all clients share, short texts of
 * our own, and control frames. A control frame goes between two others, never into one. One owner,
 * one thread; the socket is not its own. */
#ifndef TAIN_WEB_WS_OUT_H
#define TAIN_WEB_WS_OUT_H

#include "feed/event.h"

#define WS_AHEAD_FRAMES 256                 /* that may wait for the socket, */
#define WS_AHEAD_BYTES ((size_t)256 * 1024) /* and their bytes; a larger one waits alone */
#define WS_CONTROL_MAX 512                  /* bytes of control frames that wait */
#define WS_TEXT_MAX 65535                   /* of a text of our own */

struct ws_item {
    struct feed_event *event; /* NULL: a text of our own */
    char *own;
    struct str frame;
    struct feed_id after; /* where its client stands when it has this */
};

struct ws_out {
    struct ws_item *items; /* a ring */
    size_t cap, first, n;
    size_t sent;  /* of the first of them */
    size_t bytes; /* of all of them */
    char control[WS_CONTROL_MAX];
    size_t control_n, control_sent;
    struct feed_id cursor; /* behind what was sent whole */
    uint64_t frames;       /* that were sent whole */
};

void ws_out_init(struct ws_out *o, struct feed_id cursor);
void ws_out_release(struct ws_out *o);
/* Is there room for one more? */
bool ws_out_room(const struct ws_out *o);
bool ws_out_empty(const struct ws_out *o); /* control frames too */
/* Takes over the reference. */
void ws_out_event(struct ws_out *o, struct feed_event *ev);
void ws_out_text(struct ws_out *o, struct str text, struct feed_id after);
/* Room for control frames; what is added must be a whole number of them when something is sent. */
size_t ws_out_control_room(const struct ws_out *o);
void ws_out_control(struct ws_out *o, const void *bytes, size_t n);

enum ws_flush {
    WS_SENT,    /* all of it */
    WS_BLOCKED, /* the socket takes no more now */
    WS_BROKEN,  /* the peer is gone */
};
/* Writes to a socket that does not block; *ret_n bytes. */
enum ws_flush ws_out_flush(struct ws_out *o, int fd, size_t *ret_n);

/* Drops what has not begun to be sent, but for control frames. Answers where the client will stand
 * when it has got the rest. */
struct feed_id ws_out_cut(struct ws_out *o);

#endif
