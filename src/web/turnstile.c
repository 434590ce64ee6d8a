#include "web/turnstile.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define PLACES 4096 /* twice as many as clients are remembered */

/* `full_at`: when all of its turns are there again. 0: nobody is here. */
struct place {
    unsigned char client[16];
    int64_t full_at;
};

struct turnstile {
    int64_t each_ms, slack_ms;
    size_t used;
    struct place places[PLACES];
};

struct turnstile *turnstile_new(int burst, int64_t period_ms) {
    struct turnstile *t = xcalloc(1, sizeof *t);
    t->each_ms = period_ms / burst;
    t->slack_ms = t->each_ms * (burst - 1);
    return t;
}

void turnstile_free(struct turnstile *t) {
    free(t);
}

static struct place *find(struct place *places, const unsigned char client[16]) {
    size_t i = XXH3_64bits(client, 16) % PLACES;
    while (places[i].full_at && memcmp(places[i].client, client, 16) != 0)
        i = (i + 1) % PLACES;
    return &places[i];
}

/* Whoever has all turns again goes, and of too many others some: better than to turn away
 * who did nothing. */
static void forget(struct turnstile *t, int64_t now_ms) {
    struct place *old = xmalloc(sizeof t->places);
    size_t kept = 0;
    memcpy(old, t->places, sizeof t->places);
    memset(t->places, 0, sizeof t->places);
    for (size_t i = 0; i < PLACES; i++)
        if (old[i].full_at > now_ms && kept < PLACES / 4) {
            *find(t->places, old[i].client) = old[i];
            kept++;
        }
    t->used = kept;
    free(old);
}

int64_t turnstile_pass(struct turnstile *t, const unsigned char client[16], int64_t now_ms) {
    struct place *p = find(t->places, client);
    if (!p->full_at && t->used >= PLACES / 2) {
        forget(t, now_ms);
        p = find(t->places, client);
    }
    int64_t from = p->full_at > now_ms ? p->full_at : now_ms;
    if (from - now_ms > t->slack_ms)
        return from - now_ms - t->slack_ms;
    if (!p->full_at) {
        memcpy(p->client, client, 16);
        t->used++;
    }
    p->full_at = from + t->each_ms;
    return 0;
}
