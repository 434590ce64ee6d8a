/* One client of /events, for the two files that make it: events.c (who listens) and events_send.c
 * (what is said to whom). Private to this room. */
#ifndef TAIN_WEB_EVENTS_INT_H
#define TAIN_WEB_EVENTS_INT_H

#include "feed/hub.h"
#include "web/errand.h"
#include "web/events.h"

#include <pthread.h>

struct events {
    struct web *web;
    pthread_mutex_t lock;
    struct listener *first;
    size_t n;
    uint64_t beat;
};

struct listener {
    struct errand errand;
    struct events *events;
    struct call *call;
    struct feed_client *feed;
    char *topics, *actions; /* the texts of its filter */
    /* under the lock of the list */
    bool paging; /* a query thread has its place in the feed */
    bool closed; /* the connection is gone; who pages ends it */
    bool broken; /* its page could not be read: not before the next sweep */
    bool over;   /* it ends: the peer hung up, or its page cannot be read at all */
    uint64_t beat;
    struct listener *before, *after;
    /* of the loop thread: what is being sent, first the head and then the event */
    bool greeted, from_now;
    struct strbuf head;
    struct feed_event *event;
    size_t sent;
};

/* Wakes it unless its connection is gone. Under the lock of the list. */
static inline void listener_wake(struct listener *l) {
    if (!l->closed)
        call_wake(l->call);
}
/* When nobody calls it any more. */
void listener_free(struct listener *l);

/* events_send.c: what its connection reads; see struct call_stream. */
ssize_t listener_read(void *arg, char *buf, size_t max);
/* Its errand: the next page of the feed. */
enum verdict listener_read_page(struct errand *x, struct store *s, struct err *e);
void listener_page_done(struct errand *x, enum verdict v, const struct err *e);

#endif
