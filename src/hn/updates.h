/* What the upstream says has changed: the events of the `updates` stream, and the body of
 * updates.json. Lists live in the caller's arena, in the order given; repeats are left to the
 * queue they go to. No I/O, no threads.
 *
 * The reading is lenient as with items: lists as arrays, as objects whose values are the entries
 * ({"0": 1}), or as a single entry; numbers as strings; unknown keys and paths are skipped. */
#ifndef TAIN_HN_UPDATES_H
#define TAIN_HN_UPDATES_H

#include "base/arena.h"
#include "base/str.h"

enum updates_kind {
    UPDATES_CHANGES,      /* put or patch; the lists may be empty */
    UPDATES_KEEP_ALIVE,   /* the stream lives */
    UPDATES_CANCEL,       /* the stream is over: connect again */
    UPDATES_AUTH_REVOKED, /* likewise */
    UPDATES_UNKNOWN,      /* an event of another name */
    UPDATES_GARBAGE,      /* put or patch with data that cannot be read */
};

#define PROFILE_NAME_MAX 128 /* bytes; a longer name is skipped */

struct updates {
    const int64_t *items;
    const struct str *profiles; /* any text: escape it before it becomes part of a URL */
    size_t n_items, n_profiles;
};

/* One event of the stream. A put or patch at "/", "/items", "/items/N", "/profiles" or
 * "/profiles/N" fills the lists; in all other cases they are empty. */
enum updates_kind updates_read_event(struct arena *a, struct str type, struct str data,
                                     struct updates *ret);

/* The body of updates.json. False when it cannot be read. */
bool updates_read_body(struct arena *a, struct str body, struct updates *ret);

const char *updates_kind_name(enum updates_kind kind);

#endif
