#include "mirror/live_int.h"

#include "base/log.h"
#include "mirror/metrics.h"
#include "store/live.h"

enum verdict live_measured(struct live *l, int64_t maxitem, struct err *e) {
    int64_t hi = maxitem > l->mark ? maxitem : l->mark, n = hi - l->mark;
    l->gap = (struct gap){.next = l->mark + 1, .hi = hi, .by_segments = n > l->o.gap_queue_max};
    if (n > 0)
        log_info("filling the gap before the event stream", LI("first", l->gap.next),
                 LI("last", hi), LS("by", l->gap.by_segments ? "segments" : "queue"));
    return live_go(l, LIVE_FILLING, e);
}

static enum verdict filled(struct live *l, struct err *e) {
    l->mark = l->known = l->gap.hi;
    return live_consume(l, e);
}

static enum verdict fill_by_queue(struct live *l, struct err *e) {
    struct gap *g = &l->gap;
    for (; g->next <= g->hi; g->next++) {
        enum key_offer answer =
            keyqueue_offer(l->o.ids, (struct key_ticket){.key = g->next}, false);
        l->stuck |= answer == KEY_FULL;
        if (answer == KEY_FULL || answer == KEY_CLOSED)
            return V_OK; /* goes on when there is room */
        metric_add(&m_gap_ids, GAP_QUEUE, 1);
    }
    return filled(l, e);
}

/* On the write thread, while this one waits for the answer. */
static enum verdict plan_gap(struct store *s, void *live, struct err *e) {
    const struct live *l = live;
    int64_t made;
    return store_plan_range(s, PURPOSE_GAP, l->gap.next, l->gap.hi, l->o.segment_width, &made, e);
}

enum verdict live_fill(struct live *l, struct err *e) {
    if (!l->gap.by_segments)
        return fill_by_queue(l, e);
    if (l->job_out)
        return V_OK;
    l->job = (struct job){
        .letter = LETTER_JOB, .kind = JOB_RUN, .reply = &l->mailbox, .run = plan_gap, .arg = l};
    l->job_out = queue_try_push(l->o.to_writer, &l->job);
    return V_OK;
}

enum verdict live_planned(struct live *l, struct err *e) {
    l->job_out = false;
    if (l->job.verdict == V_FATAL) {
        *e = l->job.err;
        return err_wrap(e, V_FATAL, "segments for the gap before the event stream");
    }
    if (l->stopping)
        return V_OK;
    if (l->job.verdict != V_OK)
        return live_lose(l, l->job.err.msg, -1, e);
    metric_add(&m_gap_ids, GAP_SEGMENTS, l->gap.hi - l->gap.next + 1);
    return filled(l, e);
}
