/* A bump allocator: everything in it is freed at once. A batch owns one and moves with it from
 * thread to thread; nothing here locks. arena_used() lets the owner bound what input may take. */
#ifndef TAIN_BASE_ARENA_H
#define TAIN_BASE_ARENA_H

#include "base/attr.h"
#include "base/str.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *first, *current;
    size_t used;
};

void arena_init(struct arena *a);
void arena_release(struct arena *a);
/* Forgets the contents and keeps the first chunk, so that a reused batch allocates nothing. */
void arena_reset(struct arena *a);
void *arena_alloc(struct arena *a, size_t n) __attribute__((returns_nonnull)); /* 8-aligned */
void *arena_zalloc(struct arena *a, size_t n) __attribute__((returns_nonnull));
/* Gives back the tail of the newest allocation: `kept` of its bytes stay. */
void arena_trim(struct arena *a, void *newest, size_t kept);
char *arena_strdup(struct arena *a, const char *s);
struct str arena_str(struct arena *a, struct str s); /* a copy, NUL-terminated; absent stays so */
static inline size_t arena_used(const struct arena *a) {
    return a->used;
}

#endif
