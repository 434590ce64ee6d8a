/* A hub over a log in memory, and what a client of it gets. */
#ifndef TAIN_TESTS_HUB_SCENE_H
#define TAIN_TESTS_HUB_SCENE_H

#include "fake_log.h"

#define EPOCH 1000

void ring_the_bell(void *connection); /* counts in an int */
struct feed_hub *hub_at_head(int64_t head);
/* Behind a position of this life, -1: from now on; `bell` counts how often it was woken. */
struct feed_client *join(struct feed_hub *h, int64_t pos, int *bell);
struct feed_client *join_items(struct feed_hub *h, int64_t pos, int *bell);
/* Takes what comes, reading pages where they are needed. */
enum feed_next next(struct feed_client *c, struct feed_taken *ret);
void receives(struct feed_client *c, int64_t pos);
void gets_gap(struct feed_client *c, struct feed_id from, struct feed_id to);
void gets_nothing(struct feed_client *c);

#endif
