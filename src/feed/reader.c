#include "feed/reader.h"

#include "feed/feed_metrics.h"
#include "feed/hub_int.h"
#include "feed/reader_int.h"
#include "store/cdc.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define NUMBER_MAX 5000  /* statements in one transaction */
#define NUMBER_ROUNDS 10 /* in a row, then the rest of the work */
#define READ_EVENTS 1000 /* of one statement */
#define READ_BYTES ((size_t)4 * 1024 * 1024)
#define READ_ROUNDS 32
#define ROLE_MS 1000    /* how often to ask for the role of the publisher */
#define WATCH_MS 1000   /* how often to look whether someone numbers, and at the figures */
#define NEGLECT_MS 1000 /* a change that has waited for so long is numbered by anyone */
#define HEAL_MS 5000

struct feed_reader *feed_reader_new(const struct feed_options *o) {
    struct feed_reader *r = xcalloc(1, sizeof *r);
    int64_t now = clock_mono(o->clock);
    r->o = *o;
    r->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r->look_at = r->number_at = r->role_at = r->watch_at = r->heal_at = r->bell.open_at = now;
    r->came_at = now - FEED_BUSY_MS;
    r->prune_at = o->keep_rows > 0 && !o->read_only ? now : NO_DEADLINE;
    r->bell.probed_at = -1;
    r->down_since = -1;
    r->beat = now;
    arena_init(&r->arena);
    return r;
}

void feed_reader_free(struct feed_reader *r) {
    if (!r)
        return;
    bell_close(&r->bell);
    store_close(r->store);
    arena_release(&r->arena);
    if (r->wake_fd >= 0)
        close(r->wake_fd);
    free(r);
}

/* What comes now is a question to the database, or work of our own. */
static void beat(struct feed_reader *r, bool asks) {
    atomic_store(&r->asks, asks);
    atomic_store(&r->beat, clock_mono(r->o.clock));
}

/* What only the publisher knows, others must not claim. */
static void drop_role(struct feed_reader *r) {
    r->role = false;
    metric_set(&m_feed_failures, 0, METRIC_NONE);
}

/* Who was away has lost its role, and perhaps its place: the other connection is made anew as well,
 * so that LISTEN comes before the first look. */
static enum verdict have_store(struct feed_reader *r, struct err *e) {
    if (r->store && !r->broken)
        return V_OK;
    enum verdict v = r->store ? store_recover(r->store, e) : store_open(r->o.store, &r->store, e);
    if (v != V_OK)
        return v;
    int64_t now = clock_mono(r->o.clock);
    r->shared = store_is_shared(r->store);
    r->broken = r->standby = false;
    drop_role(r);
    r->bell.open_at = r->role_at = r->look_at = r->number_at = now;
    return V_OK;
}

/* Numbers what is there, and lets everything behind the cursor be read if there was any. */
static enum verdict number(struct feed_reader *r, int64_t now, struct err *e) {
    size_t n = NUMBER_MAX;
    for (int round = 0; round < NUMBER_ROUNDS && n >= NUMBER_MAX && !r->stopping; round++) {
        beat(r, true);
        enum verdict v = store_feed_publish(r->store, NUMBER_MAX, &n, e);
        if (v != V_OK)
            return v;
        metric_add(&m_feed_numbered, 0, (int64_t)n);
        if (n)
            r->look_at = now;
    }
    r->number_at = now + (n >= NUMBER_MAX ? 0 : FEED_PUBLISH_MS);
    return V_OK;
}

/* The publisher may be gone, or stopped in its tracks while its connection holds the role. */
static enum verdict watch_publisher(struct feed_reader *r, int64_t now, struct err *e) {
    int64_t age;
    enum verdict v = store_feed_waiting(r->store, &age, e);
    if (v != V_OK)
        return v;
    metric_set(&m_feed_lag, 0, age < 0 ? 0 : age);
    return !r->role && age > NEGLECT_MS && !r->o.read_only ? number(r, now, e) : V_OK;
}

static enum verdict tend_numbers(struct feed_reader *r, int64_t now, struct err *e) {
    enum verdict v = V_OK;
    bool may = !r->o.read_only;
    if (may && !r->role && now >= r->role_at) {
        r->role_at = now + ROLE_MS;
        v = store_feed_role(r->store, &r->role, e);
    }
    /* Rung from within, or the first time: whoever has the role, nobody needs to wait for it. */
    if (v == V_OK && may && now >= r->number_at && (r->role || r->rung || !r->numbered))
        v = number(r, now, e);
    r->numbered |= v == V_OK;
    return v;
}

/* How far the present life of the database agrees with the one that the reader knew. */
static enum verdict find_common(struct feed_reader *r, const struct feed_state *st,
                                int64_t *ret_common, struct err *e) {
    const struct feed_id last = {r->at.epoch, INT64_MAX};
    bool gap;
    enum verdict v = store_feed_resolve(r->store, last, ret_common, &gap, e);
    /* Before the oldest that is kept it says that only: then nothing is known to be common. */
    if (v == V_OK && *ret_common < st->oldest)
        *ret_common = 0;
    return v;
}

static enum verdict take_state(struct feed_reader *r, const struct feed_state *st, struct err *e) {
    int64_t common = 0;
    if (!r->stands) {
        r->at = (struct feed_id){st->epoch, st->head};
        r->stands = true;
    } else if (st->epoch != r->at.epoch) {
        enum verdict v = find_common(r, st, &common, e);
        if (v != V_OK)
            return v;
        r->at = (struct feed_id){st->epoch, common < r->at.pos ? common : r->at.pos};
    }
    if (r->at.pos < st->oldest - 1)
        r->at.pos = st->oldest - 1;
    beat(r, false);
    feed_hub_state(r->o.hub, st, common);
    beat(r, true);
    metric_set(&m_feed_head, 0, st->head);
    metric_set(&m_feed_oldest, 0, st->oldest);
    metric_set(&m_feed_epoch, 0, st->epoch);
    return V_OK;
}

static enum verdict add_events(struct feed_reader *r, const struct feed_change *changes, size_t n,
                               struct err *e) {
    struct topic_set *topics;
    struct feed_marks marks;
    enum verdict v = hub_topics(r->o.hub, r->store, changes[n - 1].topics, &topics, e);
    if (v != V_OK)
        return v;
    beat(r, false);
    for (size_t i = 0; i < n; i++) {
        topic_set_mark(topics, &changes[i], &marks);
        struct feed_event *ev = feed_event_of(changes[i].epoch, &changes[i], &marks);
        feed_hub_add(r->o.hub, ev);
        feed_event_drop(ev);
        r->at.pos = changes[i].pos;
    }
    topic_set_drop(topics);
    feed_hub_flush(r->o.hub);
    beat(r, true);
    return V_OK;
}

/* Relied on is what was heard a moment ago. */
static int look_interval(const struct feed_reader *r, int64_t now) {
    if (r->standby)
        return FEED_STANDBY_MS;
    if (bell_hears(&r->bell, now))
        return FEED_BACKSTOP_MS;
    return now - r->came_at < FEED_BUSY_MS ? FEED_BUSY_POLL_MS : FEED_POLL_MS;
}

/* What belongs to an epoch that the hub does not know yet waits for the next round, which begins
 * with the state. */
static enum verdict read_some(struct feed_reader *r, int64_t now, struct err *e) {
    const struct feed_change *changes;
    size_t n;
    enum verdict v =
        store_feed_read(r->store, &r->arena, r->at.pos, READ_EVENTS, READ_BYTES, &changes, &n, e);
    if (v != V_OK)
        return v;
    if (n && changes[n - 1].epoch <= r->at.epoch) {
        v = add_events(r, changes, n, e);
        r->came_at = now;
    }
    arena_reset(&r->arena);
    return v;
}

/* Reads up to the head as it is now; what comes later rings, or is there at the next look. */
static enum verdict look(struct feed_reader *r, int64_t now, struct err *e) {
    for (int round = 0; round < READ_ROUNDS && !r->stopping; round++) {
        struct feed_state st;
        enum verdict v = store_feed_state(r->store, &st, e);
        if (v == V_OK)
            v = take_state(r, &st, e);
        if (v == V_OK && st.head > r->at.pos)
            v = read_some(r, now, e);
        if (v != V_OK)
            return v;
        if (st.head <= r->at.pos) {
            r->look_at = now + look_interval(r, now);
            return V_OK;
        }
    }
    r->look_at = now; /* there is more; first the rest of the work */
    return V_OK;
}

static void count(struct feed_reader *r) {
    struct feed_counts c;
    beat(r, false);
    feed_hub_count(r->o.hub, &c);
    beat(r, true);
    metric_set(&m_feed_clients, 0, (int64_t)c.clients);
    metric_set(&m_feed_ring_bytes, 0, (int64_t)c.ring_bytes);
    metric_set(&m_feed_events, 0, (int64_t)c.added);
    metric_set(&m_feed_taken, 0, (int64_t)c.taken);
    metric_set(&m_feed_refused, 0, (int64_t)c.refused);
    metric_set(&m_feed_gaps, 0, (int64_t)c.gaps);
    metric_set(&m_feed_pages, 0, (int64_t)c.pages);
}

/* A short step; where more is to be dropped, the next one comes behind what has become due since:
 * nobody's change waits for a day's worth of old ones. */
static enum verdict prune(struct feed_reader *r, int64_t now, struct err *e) {
    int64_t n;
    beat(r, true);
    enum verdict v = store_feed_prune(r->store, r->o.keep_ms, r->o.keep_rows, &n, e);
    if (v != V_OK)
        return v;
    metric_add(&m_feed_pruned, 0, n);
    r->prune_at = now + (n > 0 ? 0 : FEED_PRUNE_MS);
    return V_OK;
}

static enum verdict heal(struct feed_reader *r, int64_t now, struct err *e) {
    const struct cdc_table *tables;
    size_t n_tables;
    int64_t n = 0, waiting = 0;
    enum verdict v = store_cdc_watch(r->store, e);
    if (v == V_OK)
        v = store_feed_heal(r->store, &n, e);
    if (v == V_OK)
        v = store_cdc_list(r->store, &r->arena, &tables, &n_tables, e);
    if (v != V_OK)
        return v;
    for (size_t i = 0; i < n_tables; i++)
        waiting += tables[i].failures;
    arena_reset(&r->arena);
    metric_add(&m_feed_healed, 0, n);
    metric_set(&m_feed_failures, 0, waiting);
    if (n > 0)
        r->number_at = r->look_at = now;
    r->heal_at = now + HEAL_MS;
    return V_OK;
}

/* What can wait until the news are out. Only who numbers heals: one at a time is enough. */
static enum verdict chores(struct feed_reader *r, int64_t now, struct err *e) {
    enum verdict v = V_OK;
    if (now >= r->watch_at) {
        count(r);
        r->watch_at = now + WATCH_MS;
        if (r->shared && !r->standby)
            v = watch_publisher(r, now, e);
    }
    if (v != V_OK || r->standby || r->o.read_only)
        return v;
    if (now >= r->prune_at)
        v = prune(r, now, e);
    if (v == V_OK && r->role && now >= r->heal_at)
        v = heal(r, now, e);
    return v;
}

/* A standby is asked now and then whether it still is one. */
static enum verdict ask_standby(struct feed_reader *r, int64_t now, struct err *e) {
    bool fresh;
    size_t n;
    if (now < r->role_at)
        return V_CONFLICT;
    r->role_at = now + ROLE_MS;
    if (!r->o.read_only)
        return store_feed_publish(r->store, NUMBER_MAX, &n, e);
    enum verdict v = bell_tend(r, now, &fresh, e);
    return v == V_OK && !r->bell.store ? V_CONFLICT : v;
}

/* What only the primary of a PostgreSQL can do: hear and number. */
static enum verdict lead(struct feed_reader *r, int64_t now, struct err *e) {
    bool fresh = false;
    if (!r->shared)
        return V_OK;
    enum verdict v = r->standby ? ask_standby(r, now, e) : V_OK;
    if (v == V_OK)
        v = bell_tend(r, now, &fresh, e);
    if (v == V_OK)
        v = tend_numbers(r, now, e);
    if (fresh || (r->standby && v == V_OK))
        r->look_at = now;
    if (v != V_CONFLICT) {
        r->standby = r->standby && v != V_OK;
        return v;
    }
    if (!r->standby)
        r->role_at = now + ROLE_MS;
    bell_close(&r->bell);
    r->standby = true;
    drop_role(r);
    metric_set(&m_feed_listening, 0, METRIC_NONE);
    metric_set(&m_feed_lag, 0, METRIC_NONE);
    return V_OK;
}

static int64_t soonest(const struct feed_reader *r) {
    int64_t at = r->look_at < r->prune_at ? r->look_at : r->prune_at;
#define SOONER(other) at = (other) < at ? (other) : at
    SOONER(r->watch_at);
    if (!r->shared)
        return at;
    SOONER(r->role ? r->number_at : r->role_at);
    if (!r->standby)
        SOONER(bell_due(&r->bell));
#undef SOONER
    return at;
}

static void note_health(struct feed_reader *r, enum verdict v, int64_t now) {
    if (v == V_OK) {
        r->down_since = -1;
    } else if (r->down_since < 0) {
        r->down_since = now;
        metric_add(&m_feed_down, 0, 1);
    }
}

enum verdict feed_reader_step(struct feed_reader *r, int *ret_wait_ms, struct err *e) {
    int64_t now = clock_mono(r->o.clock);
    if (atomic_load(&r->rung))
        r->look_at = r->number_at = now;
    beat(r, true);
    enum verdict v = have_store(r, e);
    if (v == V_OK)
        v = lead(r, now, e);
    atomic_store(&r->rung, false);
    if (v == V_OK && now >= r->look_at)
        v = look(r, now, e);
    note_health(r, v, now);
    if (v == V_OK)
        v = chores(r, now, e);
    beat(r, false);
    *ret_wait_ms = clock_wait_ms(r->o.clock, soonest(r), FEED_TROUBLE_MS);
    if (v == V_OK)
        return V_OK;
    bell_close(&r->bell);
    r->broken = true;
    metric_set(&m_feed_lag, 0, METRIC_NONE);
    *ret_wait_ms = FEED_TROUBLE_MS;
    return v;
}
