/* Event streams: what changed is published once and every open stream of its channel sends it on.
 * A stream with nothing to say is suspended; publishing resumes it. A stream that falls behind the
 * ring starts over with a full put, which is counted; bursts wait for the slowest stream instead.
 * The hub also keeps the sliding list behind updates.json. Any thread, unless said otherwise. */
#ifndef TAIN_DEMO_STREAM_H
#define TAIN_DEMO_STREAM_H

#include "base/attr.h"
#include "base/clock.h"
#include "base/str.h"
#include "demo/corpus.h"
#include "demo/sliding.h"
#include "demo/stats.h"
#include "demo/stream_faults.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

enum channel { CHANNEL_UPDATES, CHANNEL_MAXITEM, N_CHANNELS };

#define HUB_RING 4096                     /* frames a slow stream may lag behind */
#define HUB_RING_BYTES (32 * 1024 * 1024) /* and bytes */
#define HUB_BURST_LAG 64                  /* frames it may lag behind before a burst waits for it */

struct stream;

struct ring {
    struct {
        char *p;
        size_t n;
    } slots[HUB_RING];
    uint64_t published,
        oldest; /* frames oldest .. published - 1 are kept, at their number % RING */
    size_t bytes;
};

struct hub {
    pthread_mutex_t lock;
    pthread_cond_t progress; /* a stream took a frame, or the hub stops */
    const struct corpus *corpus;
    const struct clock *clock; /* of the rules; bursts run in real time */
    struct stats *stats;
    bool stopping;
    atomic_bool down; /* set under the lock */
    struct stream *streams;
    struct ring rings[N_CHANNELS];
    uint64_t turn; /* which form the next change takes */
    struct sliding recent;
    int64_t next_look_ms; /* when to see whether a peer has gone */
};

/* The list starts with the newest ids of the corpus. All three must outlive the hub. */
void hub_init(struct hub *h, const struct corpus *c, const struct clock *clock, struct stats *s);
void hub_stop(struct hub *h); /* ends every stream; none is suspended from here on */
void hub_release(struct hub *h);

/* These ids changed or appeared: lists them, with their authors, and tells the streams. */
void hub_updates(struct hub *h, const int64_t *ids, size_t n);
void hub_profile(struct hub *h, const char *name); /* a profile changed */
void hub_maxitem(struct hub *h, int64_t maxitem);
void hub_keep_alive(struct hub *h);
/* Names ids (at most FRAME_IDS) and nothing else in one frame, for a burst: first waits, at most
 * wait_ms, until no stream lags far behind; who then still does is not waited for again until it
 * moves. False: the hub stops. Blocks, so never on an HTTP thread. */
bool hub_mention(struct hub *h, const int64_t *ids, size_t n, int wait_ms);
/* Waits until that instant of clock_machine. False: the hub stops. */
bool hub_pause(struct hub *h, int64_t until_mono_ms);

/* Does it to every open stream of updates, now. */
void hub_do(struct hub *h, enum stream_deed deed);
/* While down every stream (also one about to be opened) ends with RST. */
void hub_set_down(struct hub *h, bool down);
static inline bool hub_is_down(const struct hub *h) {
    return atomic_load_explicit(&h->down, memory_order_acquire);
}
/* What rules have in store and is due; streams whose peer has gone. To be called often. */
void hub_tick(struct hub *h);

/* The body of updates.json. */
void hub_render(struct hub *h, struct strbuf *out);
/* Answers the request with an endless stream, of which `fault` may have the better. */
enum MHD_Result hub_open(struct hub *h, struct MHD_Connection *connection, enum channel channel,
                         const struct stream_fault *fault);

#endif
