#include "mirror/realtime_int.h"

#include "base/fault.h"

#include <stdlib.h>

#define PEEK_MS 5 /* how long to look only at the mailbox while the queue may have ids, too */
#define BODY_MAX ((size_t)16 * 1024 * 1024)
#define LETTERS 64     /* read at once */
#define RECALL_MS 1000 /* one wait for what is lent, of as many as it takes */

int64_t realtime_now_db(const struct realtime *w) {
    return clock_mono(w->o.clock) + atomic_load(&w->o.tidings->db_offset_ms);
}

struct realtime *realtime_new(const struct realtime_options *o) {
    struct realtime *w = xcalloc(1, sizeof *w);
    w->o = *o;
    w->rng = (struct rng){o->seed};
    mailbox_init(&w->mailbox, (size_t)o->window + 4, NULL, NULL);
    w->taken = xcalloc((size_t)o->window, sizeof *w->taken);
    w->sending = xcalloc((size_t)o->window, sizeof(struct call *));
    w->slots = xcalloc((size_t)o->window, sizeof *w->slots);
    for (int i = o->window - 1; i >= 0; i--) {
        struct slot *s = &w->slots[i];
        strbuf_init(&s->call.body, BODY_MAX);
        s->call.reply = &w->mailbox;
        s->call.owner = s;
        s->next = w->free_slots;
        w->free_slots = s;
    }
    realtime_loads_init(w);
    return w;
}

void realtime_free_slot(struct realtime *w, struct slot *s) {
    s->state = SLOT_FREE;
    s->next = w->free_slots;
    w->free_slots = s;
}

void realtime_give_back(struct realtime *w, const struct key_ticket *t) {
    keyqueue_return(w->o.ids, t);
    metric_add(&m_live_outcomes, LIVE_GIVEN_BACK, 1);
}

static void drop_slot(struct realtime *w, struct slot *s) {
    realtime_give_back(w, &s->ticket);
    realtime_free_slot(w, s);
}

/* No id is taken any more: because of a stop, or because nothing could come of it. */
static bool is_closing(const struct realtime *w) {
    return w->ended || stop_raised(w->o.stop);
}

static bool has_lent(const struct realtime *w) {
    return w->n_out > 0 || w->unacked > 0;
}

static int n_free(const struct realtime *w) {
    return w->o.window - w->n_out - w->n_waits;
}

/* While most of its calls are out the worker waits until there is room for a good many more: ids
 * that are taken, sent and answered together cost fewer turns of every thread. */
static bool may_take(const struct realtime *w) {
    int many = realtime_many(w);
    bool room = n_free(w) >= many || (n_free(w) > 0 && w->n_out < many);
    return room && !is_closing(w) && !realtime_is_stuck(w);
}

static int until_retry(const struct realtime *w, int wait_ms) {
    int64_t first = NO_DEADLINE;
    for (int i = 0; w->n_waits > 0 && i < w->o.window; i++)
        if (w->slots[i].state == SLOT_WAITS && w->slots[i].due < first)
            first = w->slots[i].due;
    return clock_wait_ms(w->o.clock, first, wait_ms);
}

/* With nothing lent no letter can come: then the queue is the place to wait, unless it is closed to
 * this worker. */
static int letters_wait(const struct realtime *w, int wait_ms) {
    bool taking = may_take(w);
    if (!has_lent(w) && (taking || is_closing(w)))
        return 0;
    int ms = until_retry(w, wait_ms);
    ms = realtime_until_flush(w, ms);
    return taking && ms > PEEK_MS ? PEEK_MS : ms;
}

static void take_answer(struct realtime *w, struct call *c) {
    struct slot *s = c->owner;
    w->n_out--;
    if (!c->cancelled) {
        realtime_judge(w, s);
        return;
    }
    w->ended = "the fetch service";
    drop_slot(w, s);
}

static void take_letter(struct realtime *w, void *letter) {
    if (*(const enum letter_kind *)letter == LETTER_CALL)
        take_answer(w, letter);
    else
        realtime_written(w, ((struct job *)letter)->owner);
}

static void take_letters(struct realtime *w, int wait_ms) {
    void *letters[LETTERS];
    size_t n = mailbox_take_many(&w->mailbox, letters, LETTERS, wait_ms);
    while (n) {
        for (size_t i = 0; i < n; i++)
            take_letter(w, letters[i]);
        n = n < LETTERS ? 0 : mailbox_take_many(&w->mailbox, letters, LETTERS, 0);
    }
}

static void hold(struct realtime *w, const struct key_ticket *t) {
    struct slot *s = w->free_slots;
    w->free_slots = s->next;
    s->ticket = *t;
    s->state = SLOT_WAITS;
    s->tries = 0;
    s->due = clock_mono(w->o.clock);
    w->n_waits++;
}

static void take_ids(struct realtime *w, int wait_ms) {
    int ms = has_lent(w) ? 0 : until_retry(w, wait_ms);
    size_t n = keyqueue_take(w->o.ids, w->taken, (size_t)n_free(w), ms);
    if (n && fault_hit("realtime_worker"))
        w->fate = err_set(&w->err, V_FATAL, "realtime", 0,
                          "the worker was made to die by the fault point realtime_worker");
    for (size_t i = 0; i < n; i++)
        hold(w, &w->taken[i]);
}

static void sent(struct realtime *w, struct slot *s) {
    w->n_waits--;
    w->n_out++;
    s->state = SLOT_OUT;
}

static void not_sent(struct realtime *w, struct slot *s) {
    w->n_waits--;
    w->ended = "the fetch service";
    drop_slot(w, s);
}

/* What was taken just now is due, too. */
static void start_due(struct realtime *w) {
    int64_t now = clock_mono(w->o.clock);
    size_t n = 0;
    for (int i = 0; w->n_waits > (int)n && i < w->o.window; i++) {
        struct slot *s = &w->slots[i];
        if (s->state != SLOT_WAITS || s->due > now)
            continue;
        s->call.id = s->ticket.key;
        w->sending[n++] = &s->call;
    }
    size_t gone = calls_send_many(w->o.calls, w->sending, n);
    for (size_t i = 0; i < n; i++)
        (i < gone ? sent : not_sent)(w, w->sending[i]->owner);
}

static void give_back_waiting(struct realtime *w) {
    for (int i = 0; w->n_waits > 0 && i < w->o.window; i++)
        if (w->slots[i].state == SLOT_WAITS) {
            w->n_waits--;
            drop_slot(w, &w->slots[i]);
        }
}

static enum verdict end(struct realtime *w) {
    if (stop_raised(w->o.stop))
        return err_set(&w->err, V_STOPPED, "realtime", 0, "stopped");
    return err_set(&w->err, V_FATAL, "realtime", 0, "%s has ended", w->ended);
}

/* Outcomes go out before the queue is waited for. */
static void work(struct realtime *w, int wait_ms) {
    realtime_flush(w);
    if (may_take(w))
        take_ids(w, wait_ms);
    if (w->fate == V_OK && is_closing(w))
        give_back_waiting(w);
    else if (w->fate == V_OK)
        start_due(w);
    if (w->fate == V_OK && is_closing(w) && w->n_waits == 0 && !has_lent(w))
        w->fate = end(w);
}

enum verdict realtime_step(struct realtime *w, int wait_ms, struct err *e) {
    if (w->fate == V_OK)
        take_letters(w, letters_wait(w, wait_ms));
    if (w->fate == V_OK)
        work(w, wait_ms);
    if (w->fate != V_OK)
        *e = w->err;
    return w->fate;
}

/* What is lent always comes back. A batch that was written counts; an answer that comes now is
 * asked for again by whoever takes the id next. */
static void recall(struct realtime *w) {
    while (has_lent(w)) {
        void *letter = mailbox_take(&w->mailbox, RECALL_MS);
        if (!letter)
            continue;
        if (*(const enum letter_kind *)letter == LETTER_CALL) {
            w->n_out--;
            drop_slot(w, ((struct call *)letter)->owner);
        } else {
            take_letter(w, letter);
        }
    }
}

void realtime_free(struct realtime *w) {
    if (!w)
        return;
    recall(w);
    give_back_waiting(w);
    realtime_loads_release(w);
    for (int i = 0; i < w->o.window; i++)
        strbuf_release(&w->slots[i].call.body);
    mailbox_release(&w->mailbox);
    free(w->slots);
    free(w->taken);
    free(w->sending);
    free(w);
}
