#include "store/feed.h"

#include <stdio.h>

const char *feed_action_name(enum feed_action a) {
    static const char *const names[FEED_ACTIONS] = {
        [FEED_INSERT] = "insert",     [FEED_UPDATE] = "update", [FEED_DELETE] = "delete",
        [FEED_TRUNCATE] = "truncate", [FEED_RESYNC] = "resync",
    };
    return names[a];
}

void feed_id_format(struct feed_id id, char out[FEED_ID_MAX]) {
    snprintf(out, FEED_ID_MAX, "%lld-%lld", (long long)id.epoch, (long long)id.pos);
}

/* Digits only: "+1", "-0" and " 1" are numbers elsewhere, but two ids must not mean one place. */
static bool read_part(struct str s, int64_t *ret) {
    if (s.n == 0 || s.p[0] < '0' || s.p[0] > '9' || (s.p[0] == '0' && s.n > 1))
        return false;
    return str_to_i64(s, ret);
}

bool feed_id_parse(struct str text, struct feed_id *ret) {
    struct feed_id id;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] != '-')
            continue;
        if (!read_part((struct str){text.p, i}, &id.epoch) ||
            !read_part((struct str){text.p + i + 1, text.n - i - 1}, &id.pos))
            return false;
        *ret = id;
        return true;
    }
    return false;
}
