/* Fault points for tests. TAIN_FAULT="name:N:kill" ends the process with SIGKILL the N-th time the
 * point is passed; "name:N:fail" makes that passage answer true, and its caller fail; "name:N:call"
 * runs what a test within the process has set. Several are separated by commas. Without the
 * variable a point costs one load. Each point of the program is in a section of its own, so that
 * `tain help --fault-points` lists them and no test has to keep a list. Any thread. */
#ifndef TAIN_BASE_FAULT_H
#define TAIN_BASE_FAULT_H

#include "base/attr.h"

extern bool fault_armed;
bool fault_hit_slow(const char *name);

/* A point with that name (a literal): false, or true where the passage is to fail. */
#define fault_hit(name)                                                                       \
    ({                                                                                        \
        static const char fault_point[] __attribute__((used, section("tain_faults"))) = name; \
        UNLIKELY(fault_armed) && fault_hit_slow(fault_point);                                 \
    })

void fault_setup(const char *spec); /* NULL or "": none */
void fault_set_call(void (*fn)(void *arg), void *arg);
/* The names of all points of this program, one after the other: NULL gives the first, and comes
 * behind the last. A name comes as often as it is in the code. */
const char *fault_next(const char *previous);

#endif
