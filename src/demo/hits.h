/* How often each id was asked for: small counters in pages that come into being when touched, so a
 * million ids cost two megabytes and an untouched range costs nothing. Any thread, no lock. */
#ifndef TAIN_DEMO_HITS_H
#define TAIN_DEMO_HITS_H

#include "base/attr.h"

#include <stdatomic.h>

#define HITS_PAGE 65536
#define HITS_PAGES 4097 /* ids 0 .. CORPUS_MAX_ID */

struct hits {
    _Atomic(_Atomic uint16_t *) pages[HITS_PAGES];
};

struct hits *hits_new(void);
void hits_free(struct hits *h);
/* Counts one more and answers the new count; it stays at 65535. Ids out of range answer 1. */
unsigned hits_add(struct hits *h, int64_t id);
/* How many were counted; 0 for ids out of range. */
unsigned hits_get(const struct hits *h, int64_t id);
/* Back to zero; what other threads count meanwhile may or may not survive. */
void hits_clear(struct hits *h);

#endif
