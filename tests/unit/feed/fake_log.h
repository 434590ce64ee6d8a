/* A database in memory in place of the store's verbs: a log that clients read pages from, and for
 * readers also the connections to it. Its present life has `head` positions, of which those from
 * `oldest` on are kept; `waiting` more are committed and have none yet. What is done to it is
 * written down in `diary`, one letter each: o open, c close, r recover, l listen, s state, p
 * publish, n number (a publish that found some), a role, R read, b ring, x prune, w watch, h heal,
 * t topics.
 */
#ifndef TAIN_TESTS_FAKE_LOG_H
#define TAIN_TESTS_FAKE_LOG_H

#include "feed/hub.h"

struct fake_log {
    struct feed_state state;
    int64_t common;       /* what the life before had in common with this one */
    int64_t epoch_before; /* the name of that life; 0: there was none */
    bool users_hidden;    /* they are not public */
    enum verdict answer;  /* anything but V_OK: the database is ill */
    int reads;            /* pages so far */
    void (*before)(void); /* called by each read, before it; may be NULL */
    bool sqlite, standby, role_is_taken;
    bool deaf;        /* who listens hears nothing */
    bool bell_breaks; /* the next wait fails */
    int rings;        /* that a wait has yet to hear */
    int64_t waiting, waiting_age;
    int64_t to_prune, to_heal;
    int connections;
    struct feed_topic topic; /* the only one */
    int64_t topics;          /* version; 0: none */
    bool no_data;            /* changes come without */
    char diary[4096];
};
extern struct fake_log fake_log;

void fake_log_begin(int64_t epoch, int64_t head);
/* A change of this life, as the log has it: of items when pos is even, of users when it is odd. */
struct feed_change fake_change(int64_t pos);
/* Writes the next n changes, and hands them to the hub as the reader does. */
void fake_log_write(struct feed_hub *h, int64_t n);
/* What was done since the last time; valid until the next call. */
const char *fake_log_diary(void);

#endif
