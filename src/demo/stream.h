/* Event streams: what changed is published once and every open stream of its channel sends it on.
 * A stream with nothing to say is suspended; publishing resumes it. A stream that falls behind the
 * ring starts over with a full put. The hub also keeps the sliding list behind updates.json. */
#ifndef TAIN_DEMO_STREAM_H
#define TAIN_DEMO_STREAM_H

#include "base/attr.h"
#include "base/str.h"
#include "demo/corpus.h"

#include <microhttpd.h>
#include <pthread.h>

enum channel { CHANNEL_UPDATES, CHANNEL_MAXITEM, N_CHANNELS };

#define HUB_RING 64     /* frames a slow stream may lag behind */
#define HUB_RECENT 100  /* ids in updates.json */
#define HUB_PROFILES 20 /* names in it */

struct stream;

struct hub {
    pthread_mutex_t lock;
    const struct corpus *corpus;
    bool stopping;
    struct stream *streams;
    uint64_t published[N_CHANNELS];
    char *ring[N_CHANNELS][HUB_RING];
    int64_t recent[HUB_RECENT];
    size_t n_recent;
    char profiles[HUB_PROFILES][CORPUS_NAME_MAX];
    size_t n_profiles;
};

/* The list starts with the newest ids of the corpus. */
void hub_init(struct hub *h, const struct corpus *c);
void hub_stop(struct hub *h); /* ends every stream; none is suspended from here on */
void hub_release(struct hub *h);

/* These ids changed or appeared: lists them, with their authors, and tells the streams. */
void hub_updates(struct hub *h, const int64_t *ids, size_t n);
void hub_maxitem(struct hub *h, int64_t maxitem);
void hub_keep_alive(struct hub *h);

/* The body of updates.json. */
void hub_render(struct hub *h, struct strbuf *out);
/* Answers the request with an endless stream. */
enum MHD_Result hub_open(struct hub *h, struct MHD_Connection *connection, enum channel channel);

#endif
