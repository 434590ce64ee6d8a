/* The hub's set of topics: read anew when the log says that there are others than it knows. */
#include "feed/hub_int.h"

static struct topic_set *current(struct feed_hub *h, int64_t version, bool *ret_right) {
    pthread_mutex_lock(&h->lock);
    struct topic_set *t = topic_set_keep(h->topics);
    pthread_mutex_unlock(&h->lock);
    *ret_right = t ? t->version == version : version == 0;
    return t;
}

/* What is in the ring was judged by the set before: who comes back to it reads the log instead, as
 * one that was away for longer does. */
static void replace(struct feed_hub *h, struct topic_set *t) {
    pthread_mutex_lock(&h->lock);
    struct topic_set *old = h->topics;
    bool other = !old || old->version != t->version;
    if (other) {
        h->topics = topic_set_keep(t);
        hub_empty_ring(h, h->end);
        hub_wake_all(h);
    }
    pthread_mutex_unlock(&h->lock);
    if (other)
        topic_set_drop(old);
}

enum verdict hub_topics(struct feed_hub *h, struct store *s, int64_t version,
                        struct topic_set **ret, struct err *e) {
    bool right;
    struct topic_set *t = current(h, version, &right);
    if (right) {
        *ret = t;
        return V_OK;
    }
    topic_set_drop(t);
    enum verdict v = topic_set_read(s, &t, e);
    if (v != V_OK)
        return v;
    replace(h, t);
    *ret = t;
    return V_OK;
}
