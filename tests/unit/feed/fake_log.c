#include "fake_log.h"

#include "store/cdc.h"

#include <pthread.h>
#include <string.h>

struct fake_log fake_log;

void fake_log_begin(int64_t epoch, int64_t head) {
    fake_log =
        (struct fake_log){.state = {.epoch = epoch, .head = head, .oldest = 1}, .waiting_age = -1};
}

struct feed_change fake_change(int64_t pos) {
    bool before = fake_log.epoch_before && pos <= fake_log.common;
    return (struct feed_change){
        .epoch = before ? fake_log.epoch_before : fake_log.state.epoch,
        .pos = pos,
        .at = pos,
        .table = pos % 2 ? 2 : 1,
        .schema = STR("tain"),
        .name = pos % 2 ? STR("users") : STR("items"),
        .action = FEED_UPDATE,
        .key = STR("{}"),
        .data = fake_log.no_data ? STR_NONE : STR("{}"),
        .is_public = !(fake_log.users_hidden && pos % 2),
        .topics = fake_log.topics,
    };
}

void fake_log_write(struct feed_hub *h, int64_t n) {
    for (; n > 0; n--) {
        struct feed_change c = fake_change(++fake_log.state.head);
        struct feed_event *ev = feed_event_new(c.epoch, &c);
        feed_hub_add(h, ev);
        feed_event_drop(ev);
    }
    feed_hub_flush(h);
}

const char *fake_log_diary(void) {
    static char said[sizeof fake_log.diary];
    memcpy(said, fake_log.diary, sizeof said);
    fake_log.diary[0] = '\0';
    return said;
}

/* Threads may read it together. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static enum verdict note(char what, struct err *e) {
    pthread_mutex_lock(&lock);
    fake_log.reads += what == 'R';
    size_t n = strlen(fake_log.diary);
    if (n + 1 < sizeof fake_log.diary) {
        fake_log.diary[n] = what;
        fake_log.diary[n + 1] = '\0';
    }
    pthread_mutex_unlock(&lock);
    if (fake_log.answer != V_OK)
        return err_set(e, fake_log.answer, "test", 0, "ill");
    return V_OK;
}

enum verdict store_feed_state(struct store *s UNUSED, struct feed_state *ret, struct err *e) {
    *ret = fake_log.state;
    return note('s', e);
}

enum verdict store_feed_resolve(struct store *s UNUSED, struct feed_id since, int64_t *ret_pos,
                                bool *ret_gap, struct err *e) {
    const struct feed_state *st = &fake_log.state;
    int64_t limit = since.epoch == st->epoch ? st->head : fake_log.common;
    *ret_gap = since.pos > limit || since.pos < st->oldest - 1;
    *ret_pos = since.pos > limit ? limit : since.pos;
    if (*ret_pos < st->oldest - 1)
        *ret_pos = st->oldest - 1;
    return note('?', e);
}

enum verdict store_feed_read(struct store *s UNUSED, struct arena *a, int64_t pos, size_t max,
                             size_t max_bytes UNUSED, const struct feed_change **ret, size_t *ret_n,
                             struct err *e) {
    if (fake_log.before)
        fake_log.before();
    const struct feed_state *st = &fake_log.state;
    int64_t from = pos + 1 < st->oldest ? st->oldest : pos + 1, to = st->head;
    if (to - from >= (int64_t)max)
        to = from + (int64_t)max - 1;
    *ret_n = to < from ? 0 : (size_t)(to - from + 1);
    struct feed_change *changes = arena_alloc(a, *ret_n * sizeof *changes);
    for (size_t i = 0; i < *ret_n; i++)
        changes[i] = fake_change(from + (int64_t)i);
    *ret = changes;
    return note('R', e);
}

enum verdict store_feed_topics(struct store *s UNUSED, struct arena *a UNUSED,
                               const struct feed_topic **ret, size_t *ret_n, int64_t *ret_version,
                               struct err *e) {
    *ret = &fake_log.topic;
    *ret_n = fake_log.topics ? 1 : 0;
    *ret_version = fake_log.topics;
    return note('t', e);
}

enum verdict store_open(const struct store_options *o UNUSED, struct store **ret, struct err *e) {
    enum verdict v = note('o', e);
    if (v == V_OK) {
        *ret = xcalloc(1, 1);
        fake_log.connections++;
    }
    return v;
}

void store_close(struct store *s) {
    if (!s)
        return;
    free_ptr(&s);
    fake_log.connections--;
    struct err e;
    (void)!note('c', &e);
}

enum verdict store_recover(struct store *s UNUSED, struct err *e) {
    return note('r', e);
}

bool store_is_shared(const struct store *s UNUSED) {
    return !fake_log.sqlite;
}

static enum verdict only_primary(enum verdict v, struct err *e) {
    return v == V_OK && fake_log.standby ? err_set(e, V_CONFLICT, "test", 0, "a standby") : v;
}

enum verdict store_feed_publish(struct store *s UNUSED, size_t max, size_t *ret_n, struct err *e) {
    enum verdict v = only_primary(note('p', e), e);
    if (v != V_OK)
        return v;
    int64_t n = fake_log.waiting < (int64_t)max ? fake_log.waiting : (int64_t)max;
    fake_log.waiting -= n;
    fake_log.state.head += n;
    fake_log.rings += n > 0;
    *ret_n = (size_t)n;
    return n ? note('n', e) : V_OK;
}

enum verdict store_feed_waiting(struct store *s UNUSED, int64_t *ret_age_ms, struct err *e) {
    *ret_age_ms = fake_log.waiting ? fake_log.waiting_age : -1;
    return note('w', e);
}

enum verdict store_feed_role(struct store *s UNUSED, bool *ret, struct err *e) {
    *ret = !fake_log.role_is_taken;
    return note('a', e);
}

enum verdict store_feed_listen(struct store *s UNUSED, struct err *e) {
    return only_primary(note('l', e), e);
}

enum verdict store_feed_ring(struct store *s UNUSED, struct err *e) {
    fake_log.rings++;
    return note('b', e);
}

enum verdict store_feed_wait(struct store *s UNUSED, int wake_fd UNUSED, int timeout_ms UNUSED,
                             bool *ret_rung, struct err *e) {
    if (fake_log.bell_breaks) {
        fake_log.bell_breaks = false;
        return err_set(e, V_RETRY, "test", 0, "the connection is gone");
    }
    *ret_rung = fake_log.rings > 0 && !fake_log.deaf;
    fake_log.rings = 0;
    return V_OK;
}

enum verdict store_feed_prune(struct store *s UNUSED, int64_t max_age_ms UNUSED,
                              int64_t max_rows UNUSED, int64_t *ret_n, struct err *e) {
    *ret_n = fake_log.to_prune > 10 ? 10 : fake_log.to_prune;
    fake_log.to_prune -= *ret_n;
    fake_log.state.oldest += *ret_n;
    return note('x', e);
}

enum verdict store_cdc_watch(struct store *s UNUSED, struct err *e) {
    return note('w', e);
}

enum verdict store_feed_heal(struct store *s UNUSED, int64_t *ret_n, struct err *e) {
    *ret_n = fake_log.to_heal;
    fake_log.waiting += fake_log.to_heal;
    fake_log.to_heal = 0;
    return note('h', e);
}

enum verdict store_cdc_list(struct store *s UNUSED, struct arena *a UNUSED,
                            const struct cdc_table **ret, size_t *ret_n, struct err *e UNUSED) {
    *ret = NULL;
    *ret_n = 0;
    return V_OK;
}

enum verdict store_cdc_known(struct store *s UNUSED, struct arena *a UNUSED,
                             const struct cdc_known **ret, size_t *ret_n, struct err *e UNUSED) {
    *ret = NULL;
    *ret_n = 0;
    return V_OK;
}
