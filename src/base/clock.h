/* Time is passed in. A `struct clock` is either the machine's or a manual one that a test moves.
 * mono: milliseconds that never go back, for waits. real: unix milliseconds, for what is stored. */
#ifndef TAIN_BASE_CLOCK_H
#define TAIN_BASE_CLOCK_H

#include "base/attr.h"

#include <stdatomic.h>

struct clock {
    bool manual;
    _Atomic int64_t mono_ms, real_ms; /* manual only */
};

extern struct clock clock_machine; /* the real one; shared, read-only */

int64_t clock_mono(const struct clock *c);
int64_t clock_real(const struct clock *c);

void clock_manual_init(struct clock *c, int64_t mono_ms, int64_t real_ms);
void clock_advance(struct clock *c, int64_t ms); /* manual only: both hands move */

#define NO_DEADLINE INT64_MAX

/* Milliseconds from now until `deadline_mono`, for poll(): 0 when past, at most `cap`. */
int clock_wait_ms(const struct clock *c, int64_t deadline_mono, int cap);

#endif
