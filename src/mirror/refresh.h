/* A new comment changes what is above it: its parent and its story are fetched again. */
#ifndef TAIN_MIRROR_REFRESH_H
#define TAIN_MIRROR_REFRESH_H

#include "base/keyqueue.h"
#include "store/batch.h"

/* Puts what stands above the comments that this batch brought into the queue, where their ids are
 * larger than `above`. The batch was written just now. What finds no room is counted, and left to
 * the stream or the next rescan. */
void refresh_above(struct keyqueue *ids, const struct batch *b, int64_t above);

#endif
