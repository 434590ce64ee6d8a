/* A thread of comments as HTML: nested, in the order of the upstream, each comment collapsible
 * without script and with anchors to its root, parent and neighbours. Written in parts, so that a
 * long thread goes out while it is being made; the work grows with the number of comments. Pure:
 * no I/O, no threads. */
#ifndef TAIN_WEB_PAGE_THREAD_H
#define TAIN_WEB_PAGE_THREAD_H

#include "store/read.h"

/* Comments inside comments beyond this are written side by side: browsers give up at some depth. */
#define PAGE_NEST_MAX 120

struct page_thread {
    /* set by the caller */
    const struct thread *thread;
    int64_t root;           /* the item above all of it */
    struct str op;          /* who wrote the story: marked in the thread */
    const int64_t *revised; /* ids with earlier versions, ascending */
    size_t n_revised;
    int64_t now; /* unix seconds */
    /* its own */
    size_t at;     /* next node */
    int open;      /* articles that are open */
    int last;      /* depth of the node before */
    int64_t *path; /* by depth: the newest node there */
};

/* Makes it ready; `path` is taken from the arena. */
void page_thread_init(struct page_thread *t, struct arena *a);
/* Appends comments until `b` holds `enough` bytes or all is written, tags closed. False: it is
 * complete. */
bool page_thread_part(struct page_thread *t, struct strbuf *b, size_t enough);

/* Whether an id is among ids that ascend. */
bool page_among(int64_t id, const int64_t *ids, size_t n);

#endif
