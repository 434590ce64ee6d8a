#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)64 * 1024)

struct arena_chunk {
    struct arena_chunk *next;
    size_t cap, n;
    _Alignas(16) char bytes[];
};

void arena_init(struct arena *a) {
    *a = (struct arena){0};
}

static void free_chunks(struct arena_chunk *c) {
    while (c) {
        struct arena_chunk *next = c->next;
        free(c);
        c = next;
    }
}

void arena_release(struct arena *a) {
    free_chunks(a->first);
    arena_init(a);
}

void arena_reset(struct arena *a) {
    if (a->first) {
        free_chunks(a->first->next);
        a->first->next = NULL;
        a->first->n = 0;
    }
    a->current = a->first;
    a->used = 0;
}

static void add_chunk(struct arena *a, size_t n) {
    size_t cap = n > CHUNK_BYTES ? n : CHUNK_BYTES;
    struct arena_chunk *c = xmalloc(sizeof *c + cap);
    *c = (struct arena_chunk){.cap = cap};
    if (a->current)
        a->current->next = c;
    else
        a->first = c;
    a->current = c;
}

void *arena_alloc(struct arena *a, size_t n) {
    n = (n + 7) & ~(size_t)7;
    if (!a->current || a->current->cap - a->current->n < n)
        add_chunk(a, n);
    void *p = a->current->bytes + a->current->n;
    a->current->n += n;
    a->used += n;
    return p;
}

void *arena_zalloc(struct arena *a, size_t n) {
    return memset(arena_alloc(a, n), 0, n);
}

void arena_trim(struct arena *a, void *newest, size_t kept) {
    size_t at = (size_t)((char *)newest - a->current->bytes);
    size_t end = (at + kept + 7) & ~(size_t)7;
    a->used -= a->current->n - end;
    a->current->n = end;
}

char *arena_strdup(struct arena *a, const char *s) {
    size_t n = strlen(s) + 1;
    return memcpy(arena_alloc(a, n), s, n);
}

struct str arena_str(struct arena *a, struct str s) {
    if (!s.p)
        return STR_NONE;
    char *p = arena_alloc(a, s.n + 1);
    memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return (struct str){p, s.n};
}
