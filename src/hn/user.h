/* A profile of the upstream, and how it is read from and written as JSON. As lenient as items: only
 * what can be read counts. Texts and lists live in the arena. No I/O, no threads. */
#ifndef TAIN_HN_USER_H
#define TAIN_HN_USER_H

#include "base/arena.h"
#include "base/str.h"
#include "hn/item.h"

struct user {
    struct str id;            /* case matters */
    int64_t created;          /* unix seconds; I64_NONE when absent */
    int64_t karma;            /* I64_NONE when absent */
    struct str about;         /* HTML; p NULL when absent */
    const int64_t *submitted; /* as given */
    size_t n_submitted;
    int64_t content_hash; /* over all of the above; set by user_parse() */
};

/* The same answers as for an item: ITEM_OK, ITEM_NULL, ITEM_GARBAGE, and the one for another id
 * when the name in the answer is not the one asked for. An absent name takes any. */
enum item_shape user_parse(struct arena *a, struct str body, struct str name, struct user *ret);
/* One JSON document, in the upstream's shape. */
void user_write_json(const struct user *u, struct strbuf *out);
/* A name as a part of a path: everything but letters, digits, - and _ is percent-encoded. False: it
 * does not fit. */
bool user_path(struct str name, char *out, size_t size);

/* A list of ids: the body of topstories.json and its like, as an array or as an object with numbers
 * for keys. Entries that are no ids are left out. False when it is no list. */
bool id_list_parse(struct arena *a, struct str body, const int64_t **ret, size_t *ret_n);

#endif
