#include "store/batch.h"

#include <stdlib.h>
#include <string.h>

struct batch *batch_new(void) {
    struct batch *b = xcalloc(1, sizeof *b);
    arena_init(&b->arena);
    return b;
}

void batch_free(struct batch *b) {
    if (!b)
        return;
    arena_release(&b->arena);
    free(b->items);
    free(b->exceptions);
    free(b);
}

void batch_reset(struct batch *b) {
    arena_reset(&b->arena);
    b->n_items = b->n_exceptions = 0;
    b->release = false;
    memset(b->ages, 0, sizeof b->ages);
    b->owner = NULL;
}

struct batch_item *batch_add_item(struct batch *b) {
    if (b->n_items == b->cap_items) {
        b->cap_items = b->cap_items ? 2 * b->cap_items : 128;
        b->items = xrealloc(b->items, b->cap_items * sizeof *b->items);
    }
    b->items[b->n_items] = (struct batch_item){0};
    return &b->items[b->n_items++];
}

struct batch_exception *batch_add_exception(struct batch *b) {
    if (b->n_exceptions == b->cap_exceptions) {
        b->cap_exceptions = b->cap_exceptions ? 2 * b->cap_exceptions : 16;
        b->exceptions = xrealloc(b->exceptions, b->cap_exceptions * sizeof *b->exceptions);
    }
    b->exceptions[b->n_exceptions] = (struct batch_exception){.next_retry_at = DB_NULL};
    return &b->exceptions[b->n_exceptions++];
}
