/* An event stream as a client sees it: the body without its chunks, and how it ended. Waits at most
 * 10 s for anything; a test that waits longer fails. */
#ifndef TAIN_TESTS_DEMO_EVENTS_H
#define TAIN_TESTS_DEMO_EVENTS_H

#include "base/str.h"
#include "demo/server.h"

enum events_end { EVENTS_OPEN, EVENTS_DONE, EVENTS_CLOSED, EVENTS_RESET };

struct events {
    int fd;
    int status;
    struct strbuf raw;   /* head, and what is not decoded yet */
    struct strbuf body;  /* all that came */
    size_t seen;         /* of the body, by events_wait() */
    size_t pieces;       /* chunks */
    enum events_end end; /* DONE: in good order; CLOSED: without the last chunk */
};

/* Asks for the stream and reads the head of the answer (and maybe more). */
void events_open(struct events *ev, struct demo *d, const char *path);
void events_close(struct events *ev);
/* Reads until the needle has come behind what was seen before. False: the end came first. */
bool events_wait(struct events *ev, const char *needle);
/* Reads to the end. */
enum events_end events_finish(struct events *ev);
/* Reads once, if there is anything within the time. */
void events_peek(struct events *ev, int wait_ms);

/* Controls: the status, and a number out of a JSON object ("a.b" for one inside). */
int control_post(struct demo *d, const char *path, const char *body);
int64_t control_get(struct demo *d, const char *path, const char *key);
/* Asks for the figure until it is there. */
void control_await(struct demo *d, const char *key, int64_t want);

#endif
