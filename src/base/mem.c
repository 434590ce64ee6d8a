#include "base/attr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static NORETURN void out_of_memory(size_t n) {
    fprintf(stderr, "tain: out of memory (asked for %zu bytes)\n", n);
    abort();
}

void free_ptr(void *pointer_to_pointer) {
    free(*(void **)pointer_to_pointer);
}

void *xmalloc(size_t n) {
    void *p = malloc(n ? n : 1);
    if (!p)
        out_of_memory(n);
    return p;
}

void *xcalloc(size_t count, size_t size) {
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p)
        out_of_memory(count * size);
    return p;
}

void *xrealloc(void *old, size_t n) {
    void *p = realloc(old, n ? n : 1);
    if (!p)
        out_of_memory(n);
    return p;
}

char *xstrdup(const char *s) {
    size_t n = strlen(s) + 1;
    return memcpy(xmalloc(n), s, n);
}
