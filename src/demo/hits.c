#include "demo/hits.h"

#include <stdlib.h>

struct hits *hits_new(void) {
    return xcalloc(1, sizeof(struct hits));
}

void hits_free(struct hits *h) {
    for (size_t i = 0; h && i < HITS_PAGES; i++)
        free((void *)h->pages[i]);
    free(h);
}

static _Atomic uint16_t *page_of(struct hits *h, size_t n) {
    _Atomic uint16_t *page = atomic_load_explicit(&h->pages[n], memory_order_acquire);
    if (page)
        return page;
    _Atomic uint16_t *fresh = xcalloc(HITS_PAGE, sizeof *fresh);
    if (atomic_compare_exchange_strong(&h->pages[n], &page, fresh))
        return fresh;
    free((void *)fresh); /* another thread was first */
    return page;
}

unsigned hits_add(struct hits *h, int64_t id) {
    if (id < 0 || id >= (int64_t)HITS_PAGE * HITS_PAGES)
        return 1;
    _Atomic uint16_t *slot = page_of(h, (size_t)(id / HITS_PAGE)) + id % HITS_PAGE;
    unsigned before = atomic_load_explicit(slot, memory_order_relaxed);
    if (before == UINT16_MAX)
        return before;
    return atomic_fetch_add_explicit(slot, 1, memory_order_relaxed) + 1U;
}

unsigned hits_get(const struct hits *h, int64_t id) {
    if (id < 0 || id >= (int64_t)HITS_PAGE * HITS_PAGES)
        return 0;
    const _Atomic uint16_t *page =
        atomic_load_explicit(&h->pages[id / HITS_PAGE], memory_order_acquire);
    return page ? atomic_load_explicit(&page[id % HITS_PAGE], memory_order_relaxed) : 0;
}

void hits_clear(struct hits *h) {
    for (size_t p = 0; p < HITS_PAGES; p++) {
        _Atomic uint16_t *page = atomic_load_explicit(&h->pages[p], memory_order_acquire);
        for (size_t i = 0; page && i < HITS_PAGE; i++)
            atomic_store_explicit(&page[i], 0, memory_order_relaxed);
    }
}
