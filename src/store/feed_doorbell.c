/* The doorbell: an empty message that says "look". Losing one costs time, never a change. */
#include "store/feed_int.h"

#include <stdio.h>

void feed_channel(const struct store *s, char out[FEED_CHANNEL_MAX]) {
    snprintf(out, FEED_CHANNEL_MAX, "tain_feed_%s", s->schema);
}

static enum verdict have_doorbell(struct store *s, struct err *e) {
    if (!store_is_shared(s))
        return err_set(e, V_INVALID, "feed", 0, "only PostgreSQL has a doorbell");
    bool waiting;
    return feed_look(s, &waiting, e);
}

enum verdict store_feed_listen(struct store *s, struct err *e) {
    char channel[FEED_CHANNEL_MAX];
    feed_channel(s, channel);
    enum verdict v = have_doorbell(s, e);
    return v == V_OK ? db_listen(s->db, channel, e) : v;
}

enum verdict store_feed_wait(struct store *s, int wake_fd, int timeout_ms, bool *ret_rung,
                             struct err *e) {
    return db_wait_notice(s->db, wake_fd, timeout_ms, ret_rung, e);
}

enum verdict store_feed_ring(struct store *s, struct err *e) {
    char channel[FEED_CHANNEL_MAX];
    feed_channel(s, channel);
    enum verdict v = have_doorbell(s, e);
    return v == V_OK ? db_run(s->db, SQL_FEED_RING, DB_VALS(DBC(channel)), NULL, NULL, e) : v;
}
