/* A WebSocket client of the feed, step by step: over a pair of sockets, a hub with a log in memory,
 * and a clock that the test moves. One scene at a time. */
#ifndef TAIN_TESTS_WS_SCENE_H
#define TAIN_TESTS_WS_SCENE_H

#include "fake_log.h"
#include "ws_client.h"

#include "web/ws_peer.h"

#define EPOCH 1000

extern struct clock now;
extern int rings;         /* how often the peer asked to be looked at */
extern bool hold_errands; /* the query threads are busy */

struct scene {
    struct feed_hub *hub;
    struct ws_house house;
    struct ws_peer *peer;
    struct ws_client client;
};

/* The feed with `head` events; ready: the reader stands. */
void open_hub(struct scene *s, int64_t head, bool ready);
/* A client of it; NULL asks for everything, `buffer` 0 is what the system gives a socket. */
void connect_peer(struct scene *s, const char *since, const char *tables, int buffer,
                  struct str early);
void open_scene(struct scene *s, int64_t head, const char *since); /* both */
void close_scene(struct scene *s);
void run_errand(struct errand *x);

/* What the client hears next; a text by its beginning. */
struct ws_frame next_frame(struct scene *s);
void no_frame(struct scene *s);
void hears(struct scene *s, const char *text);
void hears_event(struct scene *s, int pos);
void hears_hello(struct scene *s);
void hears_close(struct scene *s, int code, const char *reason);
/* Answers a close frame, and sees the connection end. */
void reply_close(struct scene *s, int code);

#endif
