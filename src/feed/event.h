/* A change as it goes out: encoded once, shared by all who hear it, counted. Immutable. Any
 * thread. */
#ifndef TAIN_FEED_EVENT_H
#define TAIN_FEED_EVENT_H

#include "store/cdc.h"
#include "store/feed.h"
#include "store/feed_topics.h"

#include <stdatomic.h>

struct feed_event {
    atomic_int refs;
    struct feed_id id;
    int table; /* its number */
    enum feed_action action;
    bool is_public;
    struct str schema, name;  /* of the table */
    const struct str *topics; /* that it is of: names from feed_topics */
    size_t n_topics;
    /* {"id","schema","table","action","key","data","timestamp"} in one line; behind `json` stands a
     * newline, in front of it there is room for the head of a WebSocket frame, which is filled in.
     */
    struct str json;
    struct str frame; /* the head and the JSON: a whole unmasked text frame (RFC 6455) */
};

/* NULL: out of memory is not an answer here; it aborts as everywhere. One reference, the caller's.
 */
struct feed_event *feed_event_new(int64_t epoch, const struct feed_change *c);
/* The topics that a change is of; names of whoever made it. */
#define FEED_MARKS_MAX 16
struct feed_marks {
    struct str names[FEED_MARKS_MAX];
    size_t n;
    char link[32]; /* of the topic of a link; stays where it is */
};
/* The same for a change that is of topics; they are copied. */
struct feed_event *feed_event_of(int64_t epoch, const struct feed_change *c,
                                 const struct feed_marks *marks);
struct feed_event *feed_event_keep(struct feed_event *ev);
void feed_event_drop(struct feed_event *ev); /* NULL is fine */

/* Which events a client asked for. */
#define FEED_FILTER_TABLES 32
struct feed_filter {
    /* "items" or "schema.table", or the name of a topic; the owner's memory */
    struct str tables[FEED_FILTER_TABLES];
    size_t n_tables;  /* 0: all */
    unsigned actions; /* bits by enum feed_action; 0: all */
    bool public_only;
    bool no_links; /* nothing of what somebody put aside to read */
};
/* Reads "items,wxyc_schema.flowsheet" and "insert,update"; absent texts ask for everything.
 * V_INVALID names what it is and what it may be. The texts must outlive the filter. */
MUST_CHECK enum verdict feed_filter_read(struct str tables, struct str actions,
                                         struct feed_filter *ret, struct err *e);
bool feed_filter_takes(const struct feed_filter *f, const struct feed_event *ev);
/* Of an event that it takes: the first topic it asked for that the event is of. Absent: it asked
 * for the table, or for everything. */
struct str feed_filter_topic(const struct feed_filter *f, const struct feed_event *ev);

/* What there is to listen to. */
struct feed_names {
    const struct cdc_known *tables;
    size_t n_tables;
    const struct feed_topic *topics;
    size_t n_topics;
};
MUST_CHECK enum verdict feed_names_read(struct store *s, struct arena *a, struct feed_names *ret,
                                        struct err *e);
/* Is there every table and topic that it names, for whoever asks? Those that are logged no more
 * count as well: what they said may still be read. A topic is as public as its table. V_INVALID
 * names the first that is not there, and those that are; `param` is what the list is called. */
bool feed_filter_is_known(const struct feed_filter *f, const struct feed_names *names);
MUST_CHECK enum verdict feed_filter_check(const struct feed_filter *f,
                                          const struct feed_names *names, const char *param,
                                          struct err *e);

#endif
