/* How often one client may do something: so many in a row, and then at an even pace. It remembers a
 * bounded number of clients; a client that has been quiet for long enough is as good as new and
 * forgotten first. No lock: one thread asks. The time is passed in. */
#ifndef TAIN_WEB_TURNSTILE_H
#define TAIN_WEB_TURNSTILE_H

#include "base/attr.h"

struct turnstile;

/* At most `burst` at once, and `burst` in each period. */
struct turnstile *turnstile_new(int burst, int64_t period_ms);
void turnstile_free(struct turnstile *t); /* NULL is fine */
/* 0: it may, and has; else the milliseconds until it may. `now_ms` never goes back. */
int64_t turnstile_pass(struct turnstile *t, const unsigned char client[16], int64_t now_ms);

#endif
