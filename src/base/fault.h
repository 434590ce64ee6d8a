/* Fault points for tests. TAIN_FAULT="name:N:kill" ends the process with SIGKILL the N-th time the
 * point is passed; "name:N:fail" makes that passage answer true, and its caller fail; "name:N:call"
 * runs what a test within the process has set. Several are separated by commas. Without the
 * variable a point costs one load. */
#ifndef TAIN_BASE_FAULT_H
#define TAIN_BASE_FAULT_H

#include "base/attr.h"

extern bool fault_armed;
bool fault_hit_slow(const char *name);

static inline bool fault_hit(const char *name) {
    return UNLIKELY(fault_armed) && fault_hit_slow(name);
}

void fault_setup(const char *spec); /* NULL or "": none */
void fault_set_call(void (*fn)(void *arg), void *arg);

#endif
