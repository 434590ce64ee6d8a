#include "mirror/ingest_int.h"

#include <stdlib.h>

static bool before(const struct fetch *a, const struct fetch *b) {
    return a->due_mono < b->due_mono || (a->due_mono == b->due_mono && a->id < b->id);
}

static void swap(struct fetch_heap *h, size_t a, size_t b) {
    struct fetch *f = h->at[a];
    h->at[a] = h->at[b];
    h->at[b] = f;
}

void heap_push(struct fetch_heap *h, struct fetch *f) {
    if (h->n == h->cap) {
        h->cap = h->cap ? 2 * h->cap : 64;
        h->at = xrealloc(h->at, h->cap * sizeof(struct fetch *));
    }
    size_t i = h->n++;
    h->at[i] = f;
    for (; i && before(h->at[i], h->at[(i - 1) / 2]); i = (i - 1) / 2)
        swap(h, i, (i - 1) / 2);
}

struct fetch *heap_top(const struct fetch_heap *h) {
    return h->n ? h->at[0] : NULL;
}

struct fetch *heap_pop(struct fetch_heap *h) {
    if (!h->n)
        return NULL;
    struct fetch *top = h->at[0];
    h->at[0] = h->at[--h->n];
    for (size_t i = 0;;) {
        size_t least = i, left = 2 * i + 1, right = left + 1;
        if (left < h->n && before(h->at[left], h->at[least]))
            least = left;
        if (right < h->n && before(h->at[right], h->at[least]))
            least = right;
        if (least == i)
            return top;
        swap(h, i, least);
        i = least;
    }
}

void heap_take_if(struct fetch_heap *h, bool (*pick)(const struct fetch *f, const void *arg),
                  const void *arg, void (*sink)(struct ingest *g, struct fetch *f),
                  struct ingest *g) {
    struct fetch_heap kept = {0}, taken = {0};
    struct fetch *f;
    while ((f = heap_pop(h)))
        heap_push(pick(f, arg) ? &taken : &kept, f);
    free(h->at);
    *h = kept;
    for (size_t i = 0; i < taken.n; i++)
        sink(g, taken.at[i]);
    free(taken.at);
}
