#include "web/status.h"

#include "store/read.h"
#include "store/search.h"

#include <string.h>

/* How far the ids of a segment have an outcome: its first id minus one when none has. */
static int64_t reached(const struct segment_row *row) {
    return row->status == SEG_DONE ? row->end_id : row->cursor;
}

/* Ranges that lie closer together than one that could be drawn become one. */
static void join_ranges(struct status *s, const struct segment_list *list) {
    int64_t width = s->state.maxitem > s->state.floor_id ? s->state.maxitem - s->state.floor_id : 1;
    int64_t near = width / STATUS_RANGES + 1;
    for (size_t i = 0; i < list->n; i++) {
        const struct segment_row *row = &list->rows[i];
        struct range *last = s->n_ranges ? &s->ranges[s->n_ranges - 1] : NULL;
        if (reached(row) < row->start_id)
            continue;
        if (last && (row->start_id - last->hi <= near || s->n_ranges == STATUS_RANGES))
            last->hi = reached(row);
        else
            s->ranges[s->n_ranges++] = (struct range){row->start_id, reached(row)};
    }
}

static enum verdict read_ranges(struct store *store, struct status *s, struct err *e) {
    CLEANUP(segment_list_release) struct segment_list list = {0};
    enum verdict v = store_segments(store, PURPOSE_MIRROR, &list, e);
    if (v == V_OK)
        join_ranges(s, &list);
    return v;
}

enum verdict status_read(struct store *store, struct status *ret, struct err *e) {
    *ret = (struct status){.queue = METRIC_NONE};
    enum verdict v = store_now(store, &ret->now, e);
    if (v == V_OK)
        v = store_state(store, &ret->state, e);
    if (v == V_OK)
        v = store_counts(store, &ret->counts, e);
    if (v == V_OK)
        v = store_updater_row(store, &ret->updater, e);
    if (v == V_OK)
        v = store_ages(store, ret->ages.n, AGES_N, e);
    if (v == V_OK)
        v = store_live_backlog(store, &ret->failed, &ret->rechecks, e);
    if (v == V_OK)
        v = store_index_lag(store, &ret->index_waits, &ret->index_since, e);
    if (v == V_OK)
        v = store_recent_rate(store, ret->changes, STATUS_MINUTES, e);
    if (v == V_OK)
        v = store_feed_state(store, &ret->feed, e);
    if (v == V_OK)
        v = store_feed_waiting(store, &ret->feed_waits_ms, e);
    return v == V_OK ? read_ranges(store, ret, e) : v;
}

void status_of_process(struct status *s, struct metric *const *families, size_t n) {
    int64_t connected = 0, age = METRIC_NONE;
    for (size_t i = 0; i < n; i++) {
        const struct metric *m = families[i];
        if (!metric_known(m, 0))
            continue;
        if (strcmp(m->name, "tain_realtime_queue_depth") == 0)
            s->queue = metric_get(m, 0);
        else if (strcmp(m->name, "tain_realtime_listener_connected") == 0)
            connected = metric_get(m, 0);
        else if (strcmp(m->name, "tain_realtime_last_event_age_seconds") == 0)
            age = metric_get(m, 0); /* milliseconds, as the metrics keep them */
    }
    if (connected > 0 && age != METRIC_NONE) /* the archive is told now and then only */
        s->updater.last_sse_event_at = s->now - age;
}
