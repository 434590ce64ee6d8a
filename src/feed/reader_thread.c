#include "base/log.h"
#include "base/thread.h"
#include "feed/reader_int.h"

#include <unistd.h>

void feed_ring(struct feed_reader *r) {
    const uint64_t one = 1;
    atomic_store(&r->rung, true);
    if (write(r->wake_fd, &one, sizeof one) < 0)
        return; /* it is full: it has been rung often enough */
}

int64_t feed_down_ms(const struct feed_reader *r) {
    int64_t since = atomic_load(&r->down_since);
    if (since < 0 && atomic_load(&r->asks))
        since = atomic_load(&r->beat);
    return since < 0 ? 0 : clock_mono(r->o.clock) - since;
}

int64_t feed_silence_ms(const struct feed_reader *r) {
    return atomic_load(&r->asks) ? 0 : clock_mono(r->o.clock) - atomic_load(&r->beat);
}

static void *run(void *arg) {
    struct feed_reader *r = arg;
    struct err e;
    int wait_ms;
    bool ill = false;
    while (!atomic_load(&r->stopping)) {
        enum verdict v = feed_reader_step(r, &wait_ms, &e);
        if (v != V_OK && !ill)
            log_warn("the change feed cannot reach its log", LE(&e));
        if (v == V_OK && ill)
            log_info("the change feed goes on");
        ill = v != V_OK;
        reader_wait(r, wait_ms);
    }
    return NULL;
}

enum verdict feed_start(const struct feed_options *o, struct feed_reader **ret, struct err *e) {
    struct feed_reader *r = feed_reader_new(o);
    enum verdict v = thread_start(&r->thread, "feed", run, r, e);
    if (v != V_OK) {
        feed_reader_free(r);
        return v;
    }
    *ret = r;
    return V_OK;
}

void feed_stop(struct feed_reader *r) {
    if (!r)
        return;
    atomic_store(&r->stopping, true);
    feed_ring(r);
    pthread_join(r->thread, NULL);
    feed_reader_free(r);
}
