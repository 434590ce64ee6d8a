#include "mirror/realtime_int.h"

#include "mirror/live.h"
#include "mirror/outcome.h"
#include "policy/ages.h"

_Static_assert(AGES_N <= BATCH_AGES, "a batch has room for every bucket of ages");

#define BODY_KEPT ((size_t)4 * 1024) /* of its room, what a call keeps from use to use */
#define ASKED_MAX_MS 30000 /* the longest Retry-After that is waited for with the id held */

/* Before the second try, the third, and any after it. */
static const int64_t retry_waits_ms[] = {200, 500, 1000};

/* Between rounds from the dead letter queue. */
static const struct backoff round_backoff = {
    .initial_ms = 30 * 1000, .max_ms = 3600 * 1000, .jitter_ms = 5 * 1000};

static int64_t retry_wait_ms(int tries) {
    int last = (int)ARRAY_LEN(retry_waits_ms);
    return retry_waits_ms[(tries < last ? tries : last) - 1];
}

static void try_again(struct realtime *w, struct slot *s, int tries) {
    int64_t wait = retry_wait_ms(tries), asked = s->call.retry_after_ms;
    if (asked > ASKED_MAX_MS)
        asked = ASKED_MAX_MS;
    s->tries = tries;
    s->due = clock_mono(w->o.clock) + (wait > asked ? wait : asked);
    s->state = SLOT_WAITS;
    w->n_waits++;
}

static struct entry *add_entry(struct realtime *w, const struct slot *s) {
    if (w->gathering->n == 0)
        w->gathering->since = clock_mono(w->o.clock);
    struct entry *x = &w->gathering->entries[w->gathering->n++];
    *x = (struct entry){.ticket = s->ticket, .outcome = LIVE_STORED, .age_s = -1};
    return x;
}

/* Only what the stream named counts: it tells how far back changes reach. */
static void note_age(struct realtime *w, struct entry *x, const struct item *it) {
    if (!(x->ticket.flags & TICKET_NAMED))
        return;
    bool has_time = it->time != I64_NONE;
    int64_t arrived = (x->ticket.since + atomic_load(&w->o.tidings->db_offset_ms)) / 1000;
    int bucket = ages_bucket(arrived, it->time, has_time);
    w->gathering->batch->ages[bucket]++;
    if (bucket <= AGES_OLDER)
        x->age_s = arrived > it->time ? arrived - it->time : 0;
}

static void keep_item(struct realtime *w, const struct slot *s, const struct item *it) {
    struct batch_item *bi = batch_add_item(w->gathering->batch);
    bi->item = *it;
    item_derive(&w->gathering->batch->arena, &bi->item); /* here, where there is more than one */
    bi->fetched_at = s->call.started_db;
}

static const char *detail_of(const struct call *c, enum fail_class cls) {
    switch ((int)cls) {
    case FAIL_NULL_OLD:
    case FAIL_NULL_YOUNG:
        return "the upstream answered null";
    case FAIL_DELAYED:
        return "the text is [delayed]";
    case FAIL_GARBAGE:
        return "the answer is not an item in JSON";
    case FAIL_WRONG_ID:
        return "the answer is another item";
    default:
        return c->detail;
    }
}

/* As it stood before this answer; the caller changes what the answer changed. */
static struct batch_exception *except(struct realtime *w, const struct slot *s,
                                      enum exception_state state, enum fail_class cls) {
    struct batch *b = w->gathering->batch;
    struct batch_exception *x = batch_add_exception(b);
    x->id = s->ticket.key;
    x->state = state;
    x->attempts = level_rounds(s->ticket.level);
    x->rung = level_rung(s->ticket.level);
    x->cls = fail_class_name(cls);
    x->error = arena_str(&b->arena, str_of(detail_of(&s->call, cls)));
    return x;
}

/* The tries of this round are used up. */
static enum live_outcome end_round(struct realtime *w, const struct slot *s, enum fail_class cls) {
    int rounds = level_rounds(s->ticket.level) + 1;
    bool dead = rounds > w->o.dlq_rounds;
    struct batch_exception *x = except(w, s, dead ? EXC_DEAD_LETTER : EXC_RETRY_WAIT, cls);
    x->attempts = rounds;
    if (dead)
        return LIVE_DEAD;
    int64_t wait = backoff_wait_ms(&round_backoff, rounds, &w->rng);
    if (wait < s->call.retry_after_ms)
        wait = s->call.retry_after_ms;
    x->next_retry_at = realtime_now_db(w) + wait;
    return LIVE_FAILED;
}

static enum live_outcome settle(struct realtime *w, const struct slot *s, const struct judgement *j,
                                const struct decision *d) {
    struct batch_exception *x;
    switch (d->outcome) {
    case OUT_STORED:
        break;
    case OUT_MISSING:
        except(w, s, EXC_TERMINAL_MISSING, j->cls)->rung = d->rung;
        return LIVE_MISSING;
    case OUT_WAIT:
        x = except(w, s, EXC_RETRY_WAIT, j->cls);
        x->rung = d->rung;
        x->next_retry_at = realtime_now_db(w) + d->wait_ms;
        return LIVE_RECHECK;
    case OUT_DEAD:
        if (j->track == TRACK_BACKOFF)
            return end_round(w, s, j->cls);
        except(w, s, EXC_DEAD_LETTER, j->cls)->rung = d->rung;
        return LIVE_DEAD;
    }
    return LIVE_STORED;
}

/* Parses into the batch that gathers. */
static struct judgement judge(struct realtime *w, const struct slot *s, struct item *ret) {
    const struct call *c = &s->call;
    enum item_shape shape = ITEM_GARBAGE;
    int64_t id = s->ticket.key;
    if (c->cls == NET_OK)
        shape = item_parse(&w->gathering->batch->arena, c->body.p ? strbuf_str(&c->body) : STR(""),
                           id, ret);
    bool delayed = shape == ITEM_OK && item_is_delayed(ret);
    return judge_answer(c->cls, shape, delayed,
                        id_is_young(id, atomic_load(&w->o.tidings->maxitem)));
}

void realtime_judge(struct realtime *w, struct slot *s) {
    struct item it = {0};
    struct judgement j = judge(w, s, &it);
    const struct retry_policy policy = {.max_attempts = w->o.attempts};
    struct decision d = decide(&j, s->tries, level_rung(s->ticket.level), &policy, NULL);
    if (s->call.body.cap > BODY_KEPT)
        strbuf_release(&s->call.body);
    if (j.track == TRACK_BACKOFF && d.outcome == OUT_WAIT) {
        try_again(w, s, d.attempts);
        return;
    }
    struct entry *x = add_entry(w, s);
    if (j.has_item) {
        keep_item(w, s, &it);
        note_age(w, x, &it);
    }
    x->outcome = settle(w, s, &j, &d);
    realtime_free_slot(w, s);
}
