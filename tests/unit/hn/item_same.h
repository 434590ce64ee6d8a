/* Are two items the same, as far as the upstream sends them? Names the first field that is not.
 * Used by the unit tests and the fuzz targets of the room. */
#ifndef TAIN_TESTS_HN_ITEM_SAME_H
#define TAIN_TESTS_HN_ITEM_SAME_H

#include "hn/item.h"

#include <string.h>

static inline bool same_ids(const int64_t *a, size_t n_a, const int64_t *b, size_t n_b) {
    return n_a == n_b && (n_a == 0 || memcmp(a, b, n_a * sizeof *a) == 0);
}

/* NULL when they are the same. */
static inline const char *item_difference(const struct item *a, const struct item *b) {
    const struct {
        const char *name;
        bool same;
    } fields[] = {
        {"id", a->id == b->id},
        {"deleted", a->deleted == b->deleted},
        {"dead", a->dead == b->dead},
        {"type", str_eq(a->type, b->type)},
        {"by", str_eq(a->by, b->by)},
        {"text", str_eq(a->text, b->text)},
        {"url", str_eq(a->url, b->url)},
        {"title", str_eq(a->title, b->title)},
        {"time", a->time == b->time},
        {"parent", a->parent == b->parent},
        {"poll", a->poll == b->poll},
        {"score", a->score == b->score},
        {"descendants", a->descendants == b->descendants},
        {"kids", same_ids(a->kids, a->n_kids, b->kids, b->n_kids)},
        {"parts", same_ids(a->parts, a->n_parts, b->parts, b->n_parts)},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (!fields[i].same)
            return fields[i].name;
    return NULL;
}

#endif
