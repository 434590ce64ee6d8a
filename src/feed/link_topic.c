#include "feed/link_topic.h"

#include "hn/json_read.h"

#include <stdio.h>

#define PREFIX "link:"

/* By the numbers that these tables have in every archive. */
static const char *id_column(int table) {
    switch (table) {
    case 3: /* links */
        return "id";
    case 4: /* link_processing */
    case 5: /* external_discussions */
        return "link_id";
    default:
        return NULL;
    }
}

static bool id_in(struct str object, const char *column, int64_t *ret) {
    CLEANUP(arena_release) struct arena a;
    struct json_read r;
    struct str key, number;
    bool first = true, found = false;
    arena_init(&a);
    json_read_init(&r, &a, object);
    if (!object.p || json_peek(&r) != JSON_OBJECT)
        return false;
    json_enter(&r);
    while (!found && json_next_member(&r, &first, &key)) {
        if (!str_eqc(key, column)) {
            json_skip(&r);
            continue;
        }
        if (!json_raw_number(&r, &number) || !json_integer_of(number, ret))
            return false;
        found = true;
    }
    return found;
}

struct str link_topic_of(const struct feed_change *c, char out[LINK_TOPIC_MAX]) {
    const char *column = id_column(c->table);
    int64_t id;
    if (!column)
        return STR_NONE;
    int n = id_in(c->key, column, &id) ? snprintf(out, LINK_TOPIC_MAX, PREFIX "%lld", (long long)id)
                                       : snprintf(out, LINK_TOPIC_MAX, PREFIX);
    return (struct str){out, (size_t)n};
}

static struct str id_part(struct str name) {
    size_t n = sizeof PREFIX - 1;
    return str_starts(name, PREFIX) ? (struct str){name.p + n, name.n - n} : STR_NONE;
}

bool link_topic_is(struct str name) {
    struct str text = id_part(name);
    int64_t id;
    return text.n && text.p[0] != '0' && text.p[0] != '+' && str_to_i64(text, &id) && id > 0;
}

bool link_topic_fits(struct str asked, struct str topic) {
    return str_eq(asked, topic) || (str_eqc(topic, PREFIX) && link_topic_is(asked));
}
