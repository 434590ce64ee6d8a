/* What the files of the change feed share. Private to the room. */
#ifndef TAIN_STORE_FEED_INT_H
#define TAIN_STORE_FEED_INT_H

#include "store/feed.h"
#include "store/store_int.h"

/* The name that listeners of this archive wait for; PostgreSQL takes no longer one. */
#define FEED_CHANNEL_MAX 64
void feed_channel(const struct store *s, char out[FEED_CHANNEL_MAX]);

/* Is there anything without a position? V_CONFLICT: this database is a standby. */
MUST_CHECK enum verdict feed_look(struct store *s, bool *ret_waiting, struct err *e);

#endif
