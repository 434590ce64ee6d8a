#include "base/log_repeat.h"

#define KEPT_MAX ((size_t)17 * 1024) /* of a line: more than the longest has */

static void forget(struct log_kind *k, log_emit *emit, void *arg) {
    if (k->held)
        emit(arg, &k->last, k->held);
    if (k->last.cap)
        strbuf_release(&k->last);
    *k = (struct log_kind){0};
}

void log_repeat_flush(struct log_repeat *r, int64_t now, bool all, log_emit *emit, void *arg) {
    for (size_t i = 0; i < LOG_KINDS; i++) {
        struct log_kind *k = &r->kinds[i];
        if (k->key && (all || now - k->began >= LOG_INTERVAL_MS))
            forget(k, emit, arg);
    }
}

/* The first to go is a kind that owes nothing; of those, and of the others, the oldest. */
static bool goes_before(const struct log_kind *a, const struct log_kind *b) {
    if (!a->key || !b->key)
        return !a->key && b->key;
    if (!a->held != !b->held)
        return !a->held;
    return a->began < b->began;
}

static struct log_kind *place_for(struct log_repeat *r, uint64_t key, log_emit *emit, void *arg) {
    struct log_kind *best = &r->kinds[0];
    for (size_t i = 0; i < LOG_KINDS; i++) {
        struct log_kind *k = &r->kinds[i];
        if (k->key == key)
            return k;
        if (goes_before(k, best))
            best = k;
    }
    forget(best, emit, arg);
    return best;
}

bool log_repeat_take(struct log_repeat *r, uint64_t key, const struct strbuf *line, int64_t now,
                     log_emit *emit, void *arg) {
    log_repeat_flush(r, now, false, emit, arg);
    struct log_kind *k = place_for(r, key, emit, arg);
    if (!k->key) {
        k->key = key;
        k->began = now;
    }
    if (k->written < LOG_BURST) {
        k->written++;
        return true;
    }
    if (!k->held++)
        strbuf_init(&k->last, KEPT_MAX);
    strbuf_clear(&k->last);
    strbuf_add_str(&k->last, strbuf_str(line));
    return false;
}
