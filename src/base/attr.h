/* Compiler attributes under readable names, and scope-bound cleanup.
 * CLEANUP(fn) runs fn(&variable) when the variable goes out of scope. */
#ifndef TAIN_BASE_ATTR_H
#define TAIN_BASE_ATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define CLEANUP(fn) __attribute__((cleanup(fn)))
#define UNUSED __attribute__((unused))
#define NORETURN __attribute__((noreturn))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* free() in the form CLEANUP wants: CLEANUP(free_ptr) char *s = ...; */
void free_ptr(void *pointer_to_pointer);

/* malloc family that aborts with a message: the program never runs on without memory. */
void *xmalloc(size_t n) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *p, size_t n) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));

#endif
