/* Items out of the archive, in the order of their ids, a page at a time. Each page is one short
 * read of one instant, so that a long export neither holds up a writer nor keeps the write-ahead
 * log from being reset. Runs on the thread that owns the store. */
#ifndef TAIN_STORE_EXPORT_H
#define TAIN_STORE_EXPORT_H

#include "hn/item.h"
#include "store/store.h"

/* A page owns its arena and moves by queue to whoever writes it out. */
struct item_page {
    struct arena arena;
    struct item *items; /* by id, ascending; nothing derived is filled in */
    size_t n, cap;
};

void item_page_init(struct item_page *p);
void item_page_release(struct item_page *p);

/* The lowest and the highest id of items from lo to hi. V_NOT_FOUND: there are none. */
MUST_CHECK enum verdict store_item_bounds(struct store *s, int64_t lo, int64_t hi, int64_t *ret_lo,
                                          int64_t *ret_hi, struct err *e);

/* Fills the page with the next items whose ids are above `after` and at most `last`: as many as
 * `max`. An empty page: there are no more. */
MUST_CHECK enum verdict store_read_page(struct store *s, int64_t after, int64_t last, size_t max,
                                        struct item_page *p, struct err *e);

#endif
