/* A log in memory in place of the store's verbs: what clients of a hub read pages from. The last
 * life of the database has `head` positions, of which those from `oldest` on are kept. */
#ifndef TAIN_TESTS_FAKE_LOG_H
#define TAIN_TESTS_FAKE_LOG_H

#include "feed/hub.h"

struct fake_log {
    struct feed_state state;
    int64_t common;       /* what the life before had in common with this one */
    enum verdict answer;  /* anything but V_OK: the database is ill */
    int reads;            /* pages so far */
    void (*before)(void); /* called by each read, before it; may be NULL */
};
extern struct fake_log fake_log;

void fake_log_begin(int64_t epoch, int64_t head);
/* A change of this life, as the log has it: of items when pos is even, of users when it is odd. */
struct feed_change fake_change(int64_t pos);
/* Writes the next n changes, and hands them to the hub as the reader does. */
void fake_log_write(struct feed_hub *h, int64_t n);

#endif
