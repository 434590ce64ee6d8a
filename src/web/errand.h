/* Something that a query thread does with its store besides answering requests: the pages of a
 * client of the feed that reads what is older than the ring. Errands wait in a line of their own
 * and take turns with requests, so that neither holds up the other. An errand belongs to the pool
 * from web_errand() until its done(), which runs once and always. */
#ifndef TAIN_WEB_ERRAND_H
#define TAIN_WEB_ERRAND_H

#include "store/store.h"

struct web;

struct errand {
    /* On a query thread; a second time when it answers V_RETRY and the archive can be reached
     * again. */
    enum verdict (*run)(struct errand *x, struct store *s, struct err *e);
    /* On the same thread: the errand is its owner's again. V_STOPPED: the server stops, run() may
     * not have been called. */
    void (*done)(struct errand *x, enum verdict v, const struct err *e);
    struct errand *next; /* the pool's */
};

/* Any thread. As many may wait as there are clients: who has one waiting sends no second. False:
 * the server stops; the errand stays with its owner. */
MUST_CHECK bool web_errand(struct web *w, struct errand *x);

#endif
