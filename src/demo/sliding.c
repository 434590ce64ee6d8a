#include "demo/sliding.h"

#include <string.h>

void sliding_id(struct sliding *s, int64_t id) {
    size_t at = 0;
    while (at < s->n_ids && s->ids[at] != id)
        at++;
    if (at == SLIDING_IDS)
        at--;
    if (at == s->n_ids)
        s->n_ids++;
    memmove(s->ids + 1, s->ids, at * sizeof s->ids[0]);
    s->ids[0] = id;
}

void sliding_name(struct sliding *s, const char *name) {
    char kept[CORPUS_NAME_MAX] = ""; /* `name` may point into the list */
    memcpy(kept, name, strnlen(name, sizeof kept - 1));
    size_t at = 0;
    while (at < s->n_names && strcmp(s->names[at], kept) != 0)
        at++;
    if (at == SLIDING_NAMES)
        at--;
    if (at == s->n_names)
        s->n_names++;
    memmove(s->names + 1, s->names, at * sizeof s->names[0]);
    memcpy(s->names[0], kept, sizeof kept);
}
