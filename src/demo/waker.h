/* The server's only timer: a thread that resumes suspended connections when their time has come,
 * and calls a tick function. HTTP threads never sleep, so one slow answer delays no other. */
#ifndef TAIN_DEMO_WAKER_H
#define TAIN_DEMO_WAKER_H

#include "base/attr.h"
#include "base/err.h"

#include <microhttpd.h>
#include <pthread.h>

struct waker_entry {
    int64_t due_ms;
    struct MHD_Connection *connection;
};

struct waker {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    struct waker_entry *heap; /* the earliest first; as many as there are connections at most */
    size_t n, cap;
    bool stopping;
    int tick_ms;
    void (*tick)(void *arg);
    void *arg;
};

/* Calls tick(arg) every tick_ms, on its own thread. */
MUST_CHECK enum verdict waker_start(struct waker *w, int tick_ms, void (*tick)(void *arg),
                                    void *arg, struct err *e);
/* Suspends the connection (call it on its own HTTP thread) for delay_ms. False: the server is
 * stopping and the connection was left alone. */
bool waker_suspend(struct waker *w, struct MHD_Connection *connection, int delay_ms);
/* Ends the thread and resumes everyone; no connection is suspended from here on. */
void waker_stop(struct waker *w);
void waker_release(struct waker *w);

#endif
