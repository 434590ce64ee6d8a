#include "mirror/live_int.h"

#include "mirror/metrics.h"

#include <stdlib.h>
#include <string.h>

#define KEEP_ENTRIES 4096 /* a longer list goes back once it is empty */

void live_on_bytes(void *live, struct str bytes) {
    struct live *l = live;
    struct err e;
    l->byte_at = live_now(l);
    if (!l->over && event_stream_push(&l->parser, bytes, &e) != V_OK)
        l->over = "a frame is too large";
}

/* The mark lags a frame behind what is known: the stream names a new id about when maxitem moves,
 * and the frame that does may still be on its way when another thread hears of the new maxitem. */
static void move_mark(struct live *l) {
    if (l->known > l->mark)
        l->mark = l->known;
    l->known = atomic_load(&l->o.tidings->maxitem);
}

void live_on_event(void *live, const struct stream_event *event) {
    struct live *l = live;
    struct updates u;
    if (l->over)
        return; /* behind a cancel nothing counts */
    arena_reset(&l->arena);
    enum updates_kind kind = updates_read_event(&l->arena, event->type, event->data, &u);
    metric_add(&m_frames, (int)kind, 1);
    l->seen_at = live_now(l);
    atomic_store(&l->o.tidings->last_event_at,
                 l->seen_at + atomic_load(&l->o.tidings->db_offset_ms));
    move_mark(l);
    if (kind == UPDATES_CHANGES) {
        l->losses = 0;
        live_name(l, &u);
    } else if (kind == UPDATES_CANCEL || kind == UPDATES_AUTH_REVOKED) {
        l->over = updates_kind_name(kind);
    }
}

static void *grown(void *at, size_t n, size_t *cap, size_t size) {
    if (n <= *cap)
        return at;
    while (*cap < n)
        *cap = *cap ? 2 * *cap : 64;
    return xrealloc(at, *cap * size);
}

static char *as_cstring(struct str s) {
    char *copy = xmalloc(s.n + 1);
    memcpy(copy, s.p, s.n);
    copy[s.n] = '\0';
    return copy;
}

void live_name(struct live *l, const struct updates *u) {
    struct named *m = &l->named;
    if (u->n_items) {
        m->ids = grown(m->ids, m->n_ids + u->n_items, &m->cap_ids, sizeof *m->ids);
        memcpy(m->ids + m->n_ids, u->items, u->n_items * sizeof *m->ids);
        m->n_ids += u->n_items;
    }
    m->names = grown(m->names, m->n_names + u->n_profiles, &m->cap_names, sizeof *m->names);
    for (size_t i = 0; i < u->n_profiles; i++)
        m->names[m->n_names++] = as_cstring(u->profiles[i]);
}

bool live_has_named(const struct live *l) {
    return l->named.ids_gone < l->named.n_ids || l->named.names_gone < l->named.n_names;
}

static void flush_ids(struct live *l, bool extra) {
    struct named *m = &l->named;
    for (; m->ids_gone < m->n_ids; m->ids_gone++) {
        struct key_ticket t = {.key = m->ids[m->ids_gone], .flags = TICKET_NAMED};
        enum key_offer answer = keyqueue_offer(l->o.ids, t, extra);
        l->stuck |= answer == KEY_FULL;
        if (answer == KEY_FULL || answer == KEY_CLOSED)
            return;
    }
    m->n_ids = m->ids_gone = 0;
    if (m->cap_ids > KEEP_ENTRIES) {
        free(m->ids);
        m->ids = NULL;
        m->cap_ids = 0;
    }
}

static void flush_names(struct live *l) {
    struct named *m = &l->named;
    for (; m->names_gone < m->n_names; m->names_gone++)
        if (!queue_try_push(l->o.names, m->names[m->names_gone])) {
            l->stuck = true;
            return;
        }
    m->n_names = m->names_gone = 0;
    if (m->cap_names > KEEP_ENTRIES) {
        free(m->names);
        m->names = NULL;
        m->cap_names = 0;
    }
}

void live_flush(struct live *l, bool extra) {
    flush_ids(l, extra);
    flush_names(l);
}

void live_named_release(struct live *l) {
    struct named *m = &l->named;
    for (size_t i = m->names_gone; i < m->n_names; i++)
        free(m->names[i]);
    free(m->names);
    free(m->ids);
    *m = (struct named){0};
}
