/* Named threads, the stop token they all watch, and who this process is to other processes. */
#ifndef TAIN_BASE_THREAD_H
#define TAIN_BASE_THREAD_H

#include "base/attr.h"
#include "base/err.h"

#include <pthread.h>
#include <stdatomic.h>

/* Raised once, by a signal or a fatal failure; never lowered. `fd` becomes readable with it. */
struct stop_token {
    atomic_bool raised;
    int fd;
};

MUST_CHECK enum verdict stop_init(struct stop_token *s, struct err *e);
void stop_release(struct stop_token *s);
void stop_raise(struct stop_token *s); /* async-signal-safe */
static inline bool stop_raised(const struct stop_token *s) {
    return atomic_load_explicit(&s->raised, memory_order_relaxed);
}

/* Signals are blocked in the new thread: only main sees them. */
MUST_CHECK enum verdict thread_start(pthread_t *ret, const char *name, void *(*fn)(void *),
                                     void *arg, struct err *e);

/* "host:pid:start:boot:pidns": two processes that live at different times, or on different hosts,
 * never share it. */
void process_identity(char *out, size_t size);
/* True only when the identity names a process of this very host that no longer exists. */
bool process_identity_is_dead(const char *identity);

#endif
