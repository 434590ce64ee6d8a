#include "feed/topic_set.h"

#include "feed/link_topic.h"
#include "hn/json_read.h"

#include <stdlib.h>

enum verdict topic_set_read(struct store *s, struct topic_set **ret, struct err *e) {
    struct topic_set *t = xcalloc(1, sizeof *t);
    t->refs = 1;
    arena_init(&t->arena);
    enum verdict v = store_feed_topics(s, &t->arena, &t->all, &t->n, &t->version, e);
    if (v == V_OK)
        *ret = t;
    else
        topic_set_drop(t);
    return v;
}

struct topic_set *topic_set_keep(struct topic_set *t) {
    if (t)
        atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

void topic_set_drop(struct topic_set *t) {
    if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
        return;
    arena_release(&t->arena);
    free(t);
}

/* The text of a column; a number as it is written. Absent: the row does not say. */
static struct str value_of(struct arena *a, struct str data, struct str column) {
    struct json_read r;
    struct str key, value = STR_NONE;
    bool first = true;
    json_read_init(&r, a, data);
    if (json_peek(&r) != JSON_OBJECT)
        return STR_NONE;
    json_enter(&r);
    while (json_next_member(&r, &first, &key)) {
        enum json_kind kind = json_peek(&r);
        if (!str_eq(key, column)) {
            json_skip(&r);
            continue;
        }
        bool got = kind == JSON_STRING   ? json_text(&r, &value)
                   : kind == JSON_NUMBER ? json_raw_number(&r, &value)
                                         : false;
        return got ? value : STR_NONE;
    }
    return STR_NONE;
}

/* A column of type char(n) has blanks behind its text. */
static bool is_state(struct str value, struct str state) {
    while (value.n > state.n && value.p[value.n - 1] == ' ')
        value.n--;
    return str_eq(value, state);
}

static bool is_of(const struct feed_topic *t, const struct feed_change *c) {
    if (c->action == FEED_RESYNC)
        return true;
    if (c->action != FEED_INSERT && c->action != FEED_UPDATE)
        return false;
    if (!c->data.p)
        return true;
    CLEANUP(arena_release) struct arena a;
    arena_init(&a);
    struct str value = value_of(&a, c->data, t->column);
    for (size_t i = 0; value.p && i < t->n_states; i++)
        if (is_state(value, t->states[i]))
            return true;
    return false;
}

void topic_set_mark(const struct topic_set *t, const struct feed_change *c,
                    struct feed_marks *ret) {
    struct str link = link_topic_of(c, ret->link);
    ret->n = 0;
    if (link.p)
        ret->names[ret->n++] = link;
    for (size_t i = 0; t && i < t->n && ret->n < FEED_MARKS_MAX; i++) {
        const struct feed_topic *topic = &t->all[i];
        if (str_eq(topic->table, c->name) && str_eq(topic->schema, c->schema) &&
            !feed_marks_have(ret->names, ret->n, topic->topic) && is_of(topic, c))
            ret->names[ret->n++] = topic->topic;
    }
}
