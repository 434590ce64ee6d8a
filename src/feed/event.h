/* A change as it goes out: encoded once, shared by all who hear it, counted. Immutable. Any
 * thread. */
#ifndef TAIN_FEED_EVENT_H
#define TAIN_FEED_EVENT_H

#include "store/cdc.h"
#include "store/feed.h"

#include <stdatomic.h>

struct feed_event {
    atomic_int refs;
    struct feed_id id;
    int table; /* its number */
    enum feed_action action;
    bool is_public;
    struct str schema, name; /* of the table */
    /* {"id","schema","table","action","key","data","timestamp"} in one line; behind `json` stands a
     * newline, in front of it there is room for the head of a WebSocket frame, which is filled in.
     */
    struct str json;
    struct str frame; /* the head and the JSON: a whole unmasked text frame (RFC 6455) */
};

/* NULL: out of memory is not an answer here; it aborts as everywhere. One reference, the caller's.
 */
struct feed_event *feed_event_new(int64_t epoch, const struct feed_change *c);
struct feed_event *feed_event_keep(struct feed_event *ev);
void feed_event_drop(struct feed_event *ev); /* NULL is fine */

/* Which events a client asked for. */
#define FEED_FILTER_TABLES 32
struct feed_filter {
    struct str tables[FEED_FILTER_TABLES]; /* "items" or "schema.table"; the owner's memory */
    size_t n_tables;                       /* 0: all */
    unsigned actions;                      /* bits by enum feed_action; 0: all */
    bool public_only;
};
/* Reads "items,wxyc_schema.flowsheet" and "insert,update"; absent texts ask for everything.
 * V_INVALID names what it is and what it may be. The texts must outlive the filter. */
MUST_CHECK enum verdict feed_filter_read(struct str tables, struct str actions,
                                         struct feed_filter *ret, struct err *e);
/* Is there every table that it names, for whoever asks? Those that are logged no more count as
 * well: what they said may still be read. V_INVALID names the first that is not there, and those
 * that are; `param` is what the list is called. */
bool feed_filter_is_known(const struct feed_filter *f, const struct cdc_known *all, size_t n);
MUST_CHECK enum verdict feed_filter_check(const struct feed_filter *f, const struct cdc_known *all,
                                          size_t n, const char *param, struct err *e);
bool feed_filter_takes(const struct feed_filter *f, const struct feed_event *ev);

#endif
