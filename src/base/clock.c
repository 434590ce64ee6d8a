#include "base/clock.h"

#include <assert.h>
#include <time.h>

struct clock clock_machine;

static int64_t read_clock(clockid_t id) {
    struct timespec ts;
    clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t clock_mono(const struct clock *c) {
    return c->manual ? c->mono_ms : read_clock(CLOCK_MONOTONIC);
}

int64_t clock_real(const struct clock *c) {
    return c->manual ? c->real_ms : read_clock(CLOCK_REALTIME);
}

void clock_manual_init(struct clock *c, int64_t mono_ms, int64_t real_ms) {
    c->manual = true;
    c->mono_ms = mono_ms;
    c->real_ms = real_ms;
}

void clock_advance(struct clock *c, int64_t ms) {
    assert(c->manual);
    c->mono_ms += ms;
    c->real_ms += ms;
}

int clock_wait_ms(const struct clock *c, int64_t deadline_mono, int cap) {
    if (deadline_mono == NO_DEADLINE)
        return cap;
    int64_t left = deadline_mono - clock_mono(c);
    if (left <= 0)
        return 0;
    return left > cap ? cap : (int)left;
}
