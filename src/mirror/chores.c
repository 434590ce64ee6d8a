#include "mirror/chores.h"

#include "base/log.h"
#include "mirror/chores_int.h"
#include "mirror/metrics.h"
#include "mirror/realtime.h"

#include <stdlib.h>

#define RETRIES_EVERY_MS 1000
#define RETRIES_HOLD_MS 60000
#define BACKLOG_EVERY_MS 5000
#define MAILBOX_SLOTS (ERRAND_N + 1 + LISTS_N + PEOPLE_CALLS)
#define FREE_WAIT_MS 10000

/* The lease ---------------------------------------------------------------------------------- */

static bool renew_prepare(struct chores *c, int64_t now) {
    chores_due(c, ERRAND_RENEW, now + c->o.lease_ms / 4);
    c->renew = (struct renew_arg){atomic_load(c->o.token), c->o.lease_ms, now};
    return true;
}

static enum verdict renew_run(struct store *s, void *arg, struct err *e) {
    const struct renew_arg *a = arg;
    return store_updater_renew(s, a->token, a->lease_ms, e);
}

static void renew_done(struct chores *c, bool ok) {
    if (ok)
        c->leased_until = c->renew.sent_at + c->o.lease_ms;
}

/* Someone who was asleep may have been replaced meanwhile, and must ask before anything else: what
 * demands no token would be written all the same. A stop has no time for that. */
static bool has_to_ask(const struct chores *c, int64_t now) {
    return now >= c->leased_until && !c->stopping;
}

/* The anchor --------------------------------------------------------------------------------- */

/* The stored anchor says from where the next start replays. It must not move before the replay of
 * this start is planned, or a long blind time would be forgotten by a short life. */
static bool persist_prepare(struct chores *c, int64_t now) {
    chores_due(c, ERRAND_PERSIST, now + c->o.persist_interval_ms);
    if (c->last_persist)
        return false;
    c->last_persist = c->stopping;
    c->persist = (struct persist_arg){
        .token = atomic_load(c->o.token),
        .last_event_at = c->scan.replay_planned ? atomic_load(&c->o.tidings->last_event_at) : 0,
        .last_rescan_at = c->scan.last_rescan_at,
    };
    return c->persist.last_event_at || c->persist.last_rescan_at;
}

static enum verdict persist_run(struct store *s, void *arg, struct err *e) {
    const struct persist_arg *a = arg;
    return store_updater_persist(s, a->token, a->last_event_at, a->last_rescan_at, e);
}

/* Ids that failed before --------------------------------------------------------------------- */

/* What has failed gives way to what is new: it is fetched from the archive only while the queue is
 * less than half full. */
static bool retries_prepare(struct chores *c, int64_t now) {
    chores_due(c, ERRAND_RETRIES, now + RETRIES_EVERY_MS);
    size_t waiting = keyqueue_stats(c->o.ids).waiting;
    if (!keyqueue_wait_room(c->o.ids, 0)) {
        c->full_at = waiting;
        return false;
    }
    c->retries.n = 0;
    return c->full_at == 0 || waiting < c->full_at / 2;
}

static enum verdict retries_run(struct store *s, void *arg, struct err *e) {
    struct retries_arg *a = arg;
    return store_live_due(s, RETRIES_HOLD_MS, a->items, RETRIES_MAX, &a->n, e);
}

/* What no longer fits is not lost: it is due again when its hold is over. */
static void retries_done(struct chores *c, bool ok) {
    for (size_t i = 0; ok && i < c->retries.n; i++) {
        const struct due_item *d = &c->retries.items[i];
        const struct key_ticket t = {.key = d->id, .level = level_of(d->attempts, d->rung)};
        enum key_offer o = keyqueue_offer(c->o.ids, t, false);
        if (o == KEY_FULL)
            c->full_at = keyqueue_stats(c->o.ids).waiting;
        if (o == KEY_FULL || o == KEY_CLOSED)
            return;
    }
    if (ok && c->retries.n == RETRIES_MAX)
        chores_due(c, ERRAND_RETRIES, chores_now(c));
}

static bool backlog_prepare(struct chores *c, int64_t now) {
    chores_due(c, ERRAND_BACKLOG, now + BACKLOG_EVERY_MS);
    return true;
}

static enum verdict backlog_run(struct store *s, void *arg, struct err *e) {
    struct backlog_arg *a = arg;
    return store_live_backlog(s, &a->failed, &a->rechecks, e);
}

static void backlog_done(struct chores *c, bool ok) {
    if (!ok)
        return;
    metric_set(&m_live_dlq, 0, c->backlog.failed);
    metric_set(&m_null_backlog, 0, c->backlog.rechecks);
}

/* The clockwork ------------------------------------------------------------------------------ */

static void no_more(struct chores *c UNUSED, bool ok UNUSED) {
}

#define ARG(member) offsetof(struct chores, member)
static const struct errand_rule rules[ERRAND_N] = {
    [ERRAND_ROW] = {"reading the updater's state", false, false, ARG(row), scan_row_prepare,
                    scan_row_run, scan_row_done},
    [ERRAND_RENEW] = {"renewing the updater's lease", true, false, ARG(renew), renew_prepare,
                      renew_run, renew_done},
    [ERRAND_PERSIST] = {"persisting the updater's state", true, true, ARG(persist), persist_prepare,
                        persist_run, no_more},
    [ERRAND_NOTE_MAXITEM] = {"noting maxitem", false, false, ARG(note), maxitem_note_prepare,
                             maxitem_note_run, maxitem_note_done},
    [ERRAND_PUT_LIST] = {"writing a story list", false, true, ARG(put_list), lists_put_prepare,
                         lists_put_run, lists_put_done},
    [ERRAND_PEOPLE] = {"writing profiles", false, true, ARG(people_put), people_prepare, people_run,
                       people_done},
    [ERRAND_PEOPLE_DUE] = {"looking for profiles to be fetched", false, false, ARG(people_due),
                           people_due_prepare, people_due_run, people_due_done},
    [ERRAND_RETRIES] = {"looking for ids to be retried", false, false, ARG(retries),
                        retries_prepare, retries_run, retries_done},
    [ERRAND_BACKLOG] = {"counting what waits", false, false, ARG(backlog), backlog_prepare,
                        backlog_run, backlog_done},
    [ERRAND_PLAN] = {"planning a rescan", false, false, ARG(plan), scan_plan_prepare, scan_plan_run,
                     scan_plan_done},
    [ERRAND_WATCH] = {"watching a rescan", false, false, ARG(watch), scan_watch_prepare,
                      scan_watch_run, scan_watch_done},
};

static void send(struct chores *c, enum errand_kind k) {
    struct errand *r = &c->errands[k];
    r->job = (struct job){
        .letter = LETTER_JOB,
        .kind = JOB_RUN,
        .reply = &c->mailbox,
        .owner = r,
        .run = rules[k].run,
        .arg = (char *)c + rules[k].arg,
    };
    r->out = true;
    c->jobs_out++;
    if (queue_push(c->o.to_writer, &r->job))
        return;
    r->out = false;
    c->jobs_out--;
    c->writer_gone = true;
}

bool chores_ask(struct chores *c, struct asking *a) {
    a->call.reply = &c->mailbox;
    a->call.owner = a;
    if (c->calls_gone || !calls_send(c->o.calls, &a->call)) {
        c->calls_gone = true;
        return false;
    }
    a->out = true;
    c->calls_out++;
    return true;
}

struct str chores_body(const struct asking *a) {
    bool good = !a->call.cancelled && a->call.cls == NET_OK && !a->call.body.overflow;
    return good ? strbuf_str(&a->call.body) : STR_NONE;
}

static void begin_stop(struct chores *c) {
    if (c->stopping)
        return;
    c->stopping = true;
    chores_due(c, ERRAND_PERSIST, chores_now(c));
}

static void take_job(struct chores *c, struct job *j) {
    struct errand *r = j->owner;
    const struct errand_rule *rule = &rules[r - c->errands];
    r->out = false;
    c->jobs_out--;
    rule->done(c, j->verdict == V_OK);
    switch (j->verdict) {
    case V_OK:
    case V_NOT_FOUND:
        return;
    case V_STOPPED:
        /* what was under way when the stop came may have been given up for it; what is sent
         * afterwards and still meets this will fare no better the next time */
        c->writer_gone = c->writer_gone || (c->stopping && rule->at_stop);
        begin_stop(c);
        return;
    case V_CONFLICT:
        if (!rule->fenced)
            break;
        c->end = err_set(&c->why, V_CONFLICT, "updater", 0,
                         "another updater has taken over: %.400s", j->err.msg);
        return;
    case V_FATAL:
        c->why = j->err;
        c->end = err_wrap(&c->why, V_FATAL, "%s", rule->what);
        return;
    case V_RETRY:
    case V_LIMIT:
    case V_INVALID:
        break;
    }
    log_warn("a chore failed", LS("chore", rule->what), LE(&j->err));
}

static void take_call(struct chores *c, struct call *call) {
    struct asking *a = call->owner;
    a->out = false;
    c->calls_out--;
    a->answered(c, a);
    if (call->body.cap > 65536) /* one large answer should not be remembered for ever */
        strbuf_release(&call->body);
}

static void take_letters(struct chores *c, int wait_ms) {
    void *letter;
    while ((letter = mailbox_take(&c->mailbox, wait_ms))) {
        if (*(enum letter_kind *)letter == LETTER_JOB)
            take_job(c, letter);
        else
            take_call(c, letter);
        wait_ms = 0;
    }
}

static int64_t earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Does what is due and answers when the next is. */
static int64_t act(struct chores *c) {
    int64_t now = chores_now(c), next = NO_DEADLINE;
    bool renew_only = has_to_ask(c, now);
    if (!c->stopping && !renew_only)
        next = earlier(next, lists_act(c, now));
    if (!renew_only)
        next = earlier(next, people_act(c, now));
    for (int k = 0; k < ERRAND_N && !c->writer_gone; k++) {
        struct errand *r = &c->errands[k];
        if (r->out || (c->stopping && !rules[k].at_stop) || (renew_only && k != ERRAND_RENEW))
            continue;
        if (r->due <= now) {
            r->due = NO_DEADLINE;
            if (rules[k].prepare(c, now))
                send(c, (enum errand_kind)k);
        }
        if (!r->out)
            next = earlier(next, r->due);
    }
    if (c->writer_gone)
        begin_stop(c);
    return next;
}

static bool at_rest(const struct chores *c) {
    if (!c->stopping || c->jobs_out || c->calls_out)
        return false;
    return c->writer_gone || (c->last_persist && lists_idle(c) && people_idle(c));
}

enum verdict chores_step(struct chores *c, int wait_ms, struct err *e) {
    if (c->end == V_OK) {
        if (stop_raised(c->o.stop))
            begin_stop(c);
        int64_t next = act(c);
        take_letters(c, clock_wait_ms(c->o.clock, next, wait_ms));
    }
    if (c->end == V_OK) {
        act(c); /* an answer may have made something due */
        scan_measure(c);
    }
    if (c->end != V_OK) {
        *e = c->why;
        return c->end;
    }
    if (!at_rest(c))
        return V_OK;
    if (!people_idle(c))
        log_warn("names of profiles could not be written down", LI("names", c->people.n_waiting));
    return err_set(e, V_STOPPED, "updater", 0, "the chores have stopped");
}

struct chores *chores_new(const struct chores_options *o) {
    struct chores *c = xcalloc(1, sizeof *c);
    c->o = *o;
    c->rng.state = o->seed;
    mailbox_init(&c->mailbox, MAILBOX_SLOTS, NULL, NULL);
    int64_t now = chores_now(c);
    c->leased_until = now + o->lease_ms;
    for (int k = 0; k < ERRAND_N; k++)
        c->errands[k].due = NO_DEADLINE;
    chores_due(c, ERRAND_ROW, now);
    chores_due(c, ERRAND_RENEW, now);
    chores_due(c, ERRAND_PERSIST, now + o->persist_interval_ms);
    chores_due(c, ERRAND_RETRIES, now);
    chores_due(c, ERRAND_BACKLOG, now);
    lists_init(c, now);
    people_init(c, now);
    return c;
}

void chores_free(struct chores *c) {
    if (!c)
        return;
    c->stopping = true; /* what comes back now makes nothing new */
    int64_t until = clock_mono(&clock_machine) + FREE_WAIT_MS;
    while (c->jobs_out + c->calls_out && clock_mono(&clock_machine) < until)
        take_letters(c, 100);
    if (c->jobs_out + c->calls_out)
        return; /* lent to someone who may still write to it: it stays */
    lists_release(c);
    people_release(c);
    mailbox_release(&c->mailbox);
    free(c);
}
