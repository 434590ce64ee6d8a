/* What the server saw, for tests to judge a client by. Counters are atomics: any thread. */
#ifndef TAIN_DEMO_STATS_H
#define TAIN_DEMO_STATS_H

#include "base/attr.h"
#include "base/str.h"
#include "demo/corpus.h"
#include "demo/faults.h"
#include "demo/hits.h"

enum endpoint {
    EP_ITEM,
    EP_MAXITEM,
    EP_UPDATES,
    EP_USER,
    EP_LIST,
    EP_STREAM,
    EP_CONTROL,
    EP_SERVICE, /* of those behind links */
    EP_OTHER,   /* unknown paths, wrong methods, item paths without .json */
    EP_COUNT
};

struct stats {
    _Atomic int64_t requests[EP_COUNT];
    _Atomic int64_t lists[CORPUS_N_LISTS]; /* requests for each */
    _Atomic int64_t faults[FAULT_N_KINDS];
    _Atomic int64_t delays;
    _Atomic int64_t in_flight, peak_in_flight; /* of item requests */
    _Atomic uint64_t window;                   /* second << 32 | item requests within it */
    _Atomic int64_t peak_per_second;
    _Atomic int64_t distinct_ids, repeated_ids, max_per_id;
    _Atomic int64_t foreign_redirects; /* redirects to another host that were followed */
    _Atomic int64_t streams_open, streams_opened, frames_sent;
    _Atomic int64_t streams_overrun; /* how often one fell behind and started over */
    _Atomic int64_t mentions;        /* ids named by bursts */
    _Atomic int64_t bursts;          /* waiting or running */
    struct hits *hits;
};

void stats_init(struct stats *s);
void stats_release(struct stats *s);
/* An item request begins (now_ms: monotonic) and ends. */
void stats_item_begin(struct stats *s, int64_t id, int64_t now_ms);
void stats_item_end(struct stats *s);
void stats_reset(struct stats *s); /* all but what is in flight, open or running */
void stats_render(const struct stats *s, int64_t maxitem, struct strbuf *out);

static inline void stats_count(_Atomic int64_t *counter) {
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

#endif
