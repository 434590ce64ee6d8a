/* Compares the shape of an answer with one that was recorded: the same keys with the same types.
 * What may be null may be null on either side. */
#ifndef TAIN_TESTS_WEB_SHAPES_H
#define TAIN_TESTS_WEB_SHAPES_H

#include "base/attr.h"

#include <string.h>

#include <cmocka.h>
#include <jansson.h>

/* "a b c" holds the word. */
static inline bool shapes_listed(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *p = list; (p = strstr(p, word)); p += n)
        if ((p == list || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0'))
            return true;
    return false;
}

static inline bool shapes_same_type(const json_t *a, const json_t *b) {
    if (json_is_null(a) || json_is_null(b))
        return true;
    if (json_is_boolean(a) && json_is_boolean(b))
        return true;
    return json_typeof(a) == json_typeof(b);
}

/* Every key of `theirs` but those of `missing` is in `ours`, with its type; and `ours` has no
 * others than those of `extra`. */
static inline void shapes_check(const json_t *ours, const json_t *theirs, const char *missing,
                                const char *extra) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)theirs, key, value) {
        const json_t *mine = json_object_get(ours, key);
        if (!mine && !shapes_listed(missing, key))
            fail_msg("%s is not in our answer", key);
        if (mine && !shapes_same_type(mine, value))
            fail_msg("%s has another type", key);
    }
    json_object_foreach((json_t *)ours, key,
                        value) if (!json_object_get(theirs, key) && !shapes_listed(extra, key))
        fail_msg("%s is not in the recorded answer", key);
}

#endif
