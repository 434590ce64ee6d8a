/* One Hacker News item as tain knows it, and what is derived from it. Strings and arrays live in
 * the arena of the batch the item belongs to. No I/O, no threads.
 *
 * Absent is I64_NONE for numbers and p == NULL for strings. Empty strings ("" in items of 2014)
 * are read as absent; NUL characters and broken UTF-8 become U+FFFD, so that both databases can
 * hold every text and agree on it. */
#ifndef TAIN_HN_ITEM_H
#define TAIN_HN_ITEM_H

#include "base/arena.h"
#include "base/str.h"

#define I64_NONE INT64_MIN

/* The content_hash of a stored row that is not believed: no item gives it. */
#define ITEM_UNCONFIRMED 0

struct item {
    int64_t id;
    bool deleted, dead;
    struct str type, by, text, url, title;
    int64_t time, parent, poll, score, descendants;
    const int64_t *kids, *parts; /* in the order the upstream gave them, without repeats */
    size_t n_kids, n_parts;
    /* derived by item_derive() */
    struct str url_key, domain;
    int64_t content_hash; /* everything but score, descendants and kids; never 0 */
    int64_t kids_hash;    /* kids and their order; 0 when there are none */
};

enum item_shape {
    ITEM_OK,
    ITEM_NULL,     /* the body is `null`: no such item, or not yet */
    ITEM_GARBAGE,  /* not JSON, not an object, or without a usable id */
    ITEM_WRONG_ID, /* a fine item, but not the one that was asked for */
};

/* Reads one item in Firebase form. want_id 0 takes any id (import does). Fields it does not know
 * are skipped; a field of a strange shape is read leniently (facts: `[true]`, scalars or objects
 * where arrays belong, numbers as strings) or taken as absent, never as a reason to fail. */
enum item_shape item_parse(struct arena *a, struct str body, int64_t want_id, struct item *ret);

/* Fills url_key, domain and the hashes. */
void item_derive(struct arena *a, struct item *it);

/* The kids_hash of these kids in this order: 0 for none, never 0 for some. */
int64_t item_kids_hash(struct arena *a, const int64_t *ids, size_t n);

/* Appends the item in Firebase form: keys in alphabetical order, absent ones left out. */
void item_render(const struct item *it, struct strbuf *out);

/* True for the placeholder text that comments carry for their first minutes. */
bool item_is_delayed(const struct item *it);

/* True for story, job and poll: such an item is the root of its own thread. */
bool item_is_root(const struct item *it);

#endif
