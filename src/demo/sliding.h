/* What changed lately, as updates.json tells it: a bounded list of ids and one of names, the newest
 * first, each entry once. No lock: the owner has one. */
#ifndef TAIN_DEMO_SLIDING_H
#define TAIN_DEMO_SLIDING_H

#include "base/attr.h"
#include "demo/corpus.h"

#define SLIDING_IDS 100
#define SLIDING_NAMES 20

struct sliding {
    int64_t ids[SLIDING_IDS];
    size_t n_ids;
    char names[SLIDING_NAMES][CORPUS_NAME_MAX];
    size_t n_names;
};

/* Puts it in front; the last one falls off. */
void sliding_id(struct sliding *s, int64_t id);
void sliding_name(struct sliding *s, const char *name);

#endif
