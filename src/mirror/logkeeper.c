#include "mirror/logkeeper.h"

#include "base/log.h"
#include "store/feed.h"

#define NEWS_MS 25 /* no more often, however many batches there are */
#define LATER_MS 1000
#define LOOK_MS 60000 /* when nothing is known to wait */
#define PRUNE_MS 60000
#define PRUNE_AGAIN_MS 1000
#define PRUNE_STEPS 10
#define PUBLISH_MAX 10000
#define FAILED_MS 1000
#define FAILED_MAX_MS 60000

void logkeeper_init(struct logkeeper *k, const struct clock *clock, struct store *store,
                    int64_t keep_ms, int64_t keep_rows) {
    int64_t now = clock_mono(clock);
    *k = (struct logkeeper){.clock = clock,
                            .store = store,
                            .keep_ms = keep_ms,
                            .keep_rows = keep_rows,
                            .publish_at = now,
                            .prune_at = now};
}

void logkeeper_wrote(struct logkeeper *k, bool news) {
    int64_t at = news ? k->published_at + NEWS_MS : clock_mono(k->clock) + LATER_MS;
    if (!k->failures && at < k->publish_at && store_is_shared(k->store))
        k->publish_at = at;
}

static enum verdict publish(struct logkeeper *k, struct err *e) {
    size_t n;
    enum verdict v = store_feed_publish(k->store, PUBLISH_MAX, &n, e);
    if (v != V_OK)
        return v;
    k->published_at = clock_mono(k->clock);
    k->publish_at = n >= PUBLISH_MAX ? k->published_at : k->published_at + LOOK_MS;
    return V_OK;
}

/* Some steps at a time: whoever waits for the writer does not wait for long. */
static enum verdict prune(struct logkeeper *k, struct err *e) {
    int64_t n = k->keep_rows > 0;
    enum verdict v = V_OK;
    for (int i = 0; i < PRUNE_STEPS && n > 0 && v == V_OK; i++)
        v = store_feed_prune(k->store, k->keep_ms, k->keep_rows, &n, e);
    k->prune_at = clock_mono(k->clock) + (n > 0 ? PRUNE_AGAIN_MS : PRUNE_MS);
    return v;
}

static void fail(struct logkeeper *k, enum verdict v, const struct err *why) {
    struct err e;
    int64_t wait = FAILED_MS;
    for (int i = 0; i < k->failures && wait < FAILED_MAX_MS; i++)
        wait *= 2;
    k->failures++;
    k->publish_at = clock_mono(k->clock) + (wait < FAILED_MAX_MS ? wait : FAILED_MAX_MS);
    log_warn("the change log could not be tended; it will be tried again",
             LS("class", verdict_name(v)), LE(why));
    if (store_recover(k->store, &e) != V_OK) {
        /* the next job will wait for the database */
    }
}

void logkeeper_turn(struct logkeeper *k) {
    struct err e;
    enum verdict v = V_OK;
    int64_t now = clock_mono(k->clock);
    bool due = now >= k->publish_at;
    if (due)
        v = publish(k, &e);
    if (v == V_OK && now >= k->prune_at && (due || !k->failures))
        v = prune(k, &e);
    if (v != V_OK)
        fail(k, v, &e);
    else if (due)
        k->failures = 0;
}

int logkeeper_wait_ms(const struct logkeeper *k, int wait_ms) {
    int64_t due = k->publish_at - clock_mono(k->clock);
    return due < 0 ? 0 : due < wait_ms ? (int)due : wait_ms;
}

void logkeeper_finish(struct logkeeper *k) {
    if (k->failures)
        return; /* another process will, or the next one */
    k->publish_at = clock_mono(k->clock);
    logkeeper_turn(k);
}
