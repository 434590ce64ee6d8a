/* Profiles: names come from the stream's queue and from user_work, wait in a set that holds each
 * once, are asked for a few at a time, and their answers are written together. A name whose fetch
 * fails goes to user_work with a time; so does everything that was not fetched when a stop comes.
 */
#include "base/log.h"
#include "hn/updates.h"
#include "mirror/chores_int.h"
#include "mirror/metrics.h"
#include "policy/backoff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DUE_EVERY_MS 5000
#define HOLD_MS 300000
#define BODY_MAX (8 << 20)
#define BATCH_BYTES_MAX (8 << 20)
#define CANCEL_PAUSE_MS 1000
#define EAGER_ATTEMPTS 10
#define GIVEN_UP_MS INT64_C(86400000)

static const struct backoff backoff = {10000, 3600000, 1000};

/* The set ------------------------------------------------------------------------------------ */

static struct person **place_of(struct people *p, struct str name) {
    uint64_t h = p->salt;
    for (size_t i = 0; i < name.n; i++)
        h = rng_mix(h + (unsigned char)name.p[i] + 0x9E3779B97F4A7C15ULL);
    struct person **at = &p->buckets[h % PEOPLE_BUCKETS];
    while (*at && !str_eqc(name, (*at)->name))
        at = &(*at)->same_bucket;
    return at;
}

static void enqueue(struct people *p, struct person *who) {
    who->next = NULL;
    who->asked = who->again = false;
    if (p->last)
        p->last->next = who;
    else
        p->first = who;
    p->last = who;
    p->n_waiting++;
}

static struct person *dequeue(struct people *p) {
    struct person *who = p->first;
    p->first = who->next;
    if (!p->first)
        p->last = NULL;
    p->n_waiting--;
    return who;
}

static void forget(struct people *p, struct person *who) {
    struct person **at = place_of(p, str_of(who->name));
    *at = who->same_bucket;
    free(who);
}

/* False: there is no room. A name that cannot be one is passed over. */
static bool add(struct people *p, struct str name, int attempts) {
    if (name.n == 0 || name.n > PROFILE_NAME_MAX)
        return true;
    struct person **at = place_of(p, name), *who = *at;
    if (who && who->asked)
        who->again = true; /* what is on its way may be older than what was meant */
    else if (who)
        who->attempts = attempts > who->attempts ? attempts : who->attempts;
    if (who)
        return true;
    if (p->n_waiting >= PEOPLE_WAITING_MAX)
        return false;
    *at = who = xcalloc(1, sizeof *who + name.n + 1);
    who->attempts = attempts;
    memcpy(who->name, name.p, name.n);
    enqueue(p, who);
    return true;
}

static void take_names(struct chores *c) {
    char *name;
    while (c->people.n_waiting < PEOPLE_WAITING_MAX && (name = queue_pop(c->o.names, 0))) {
        bool room = add(&c->people, str_of(name), 0);
        (void)room; /* it was looked for */
        free(name);
    }
}

/* The batch that is being filled ------------------------------------------------------------- */

/* A batch names nobody twice, neither among the answers nor among those to be asked later. */
static struct user_todo *todo_for(struct people_batch *b, struct str name) {
    for (size_t i = 0; i < b->n_later; i++)
        if (str_eq(b->later[i].name, name))
            return &b->later[i];
    b->later[b->n_later] = (struct user_todo){.name = arena_str(&b->arena, name)};
    return &b->later[b->n_later++];
}

static void drop_todo(struct people_batch *b, struct str name) {
    for (size_t i = 0; i < b->n_later; i++)
        if (str_eq(b->later[i].name, name)) {
            b->later[i] = b->later[--b->n_later];
            return;
        }
}

static void keep_answer(struct people_batch *b, const struct user_answer *answer) {
    drop_todo(b, answer->name);
    for (size_t i = 0; i < b->n_answers; i++)
        if (str_eq(b->answers[i].name, answer->name)) {
            b->answers[i] = *answer;
            return;
        }
    b->answers[b->n_answers++] = *answer;
}

static bool is_empty(const struct people_batch *b) {
    return b->n_answers == 0 && b->n_later == 0;
}

static void empty(struct people_batch *b) {
    arena_reset(&b->arena);
    b->n_answers = b->n_later = 0;
}

/* Room is left for the answers that are still on their way. */
static bool has_room(const struct people *p) {
    const struct people_batch *b = p->filling;
    return b->n_answers + p->n_asked < PEOPLE_ANSWERS && b->n_later + p->n_asked < PEOPLE_LATER &&
           arena_used(&b->arena) < BATCH_BYTES_MAX;
}

/* Asking ------------------------------------------------------------------------------------- */

static void put_off(struct chores *c, struct person *who, const struct asking *a,
                    const char *error) {
    struct people_batch *b = c->people.filling;
    struct user_todo *t = todo_for(b, str_of(who->name));
    t->attempts = who->attempts + 1;
    t->wait_ms = t->attempts < EAGER_ATTEMPTS ? backoff_wait_ms(&backoff, t->attempts, &c->rng)
                                              : GIVEN_UP_MS;
    if (t->wait_ms < a->call.retry_after_ms)
        t->wait_ms = a->call.retry_after_ms;
    t->error = arena_str(&b->arena, str_of(error));
    metric_add(&m_profiles_failed, 0, 1);
    forget(&c->people, who); /* named meanwhile or not: it will be asked for again */
}

static void keep(struct chores *c, struct person *who, const struct asking *a, bool exists,
                 const struct user *u) {
    struct people_batch *b = c->people.filling;
    const struct user_answer answer = {.name = arena_str(&b->arena, str_of(who->name)),
                                       .exists = exists,
                                       .user = *u,
                                       .fetched_at = a->call.started_db};
    keep_answer(b, &answer);
    who->attempts = 0;
    if (who->again)
        enqueue(&c->people, who);
    else
        forget(&c->people, who);
}

static void answered(struct chores *c, struct asking *a) {
    struct person *who = a->subject;
    struct user u = {0};
    a->subject = NULL;
    c->people.n_asked--;
    if (a->call.cancelled) {
        c->people.not_before = chores_now(c) + CANCEL_PAUSE_MS;
        enqueue(&c->people, who);
        return;
    }
    if (a->call.cls != NET_OK) {
        put_off(c, who, a, a->call.detail[0] ? a->call.detail : net_class_name(a->call.cls));
        return;
    }
    struct str body = chores_body(a);
    if (!body.p) {
        put_off(c, who, a, a->call.body.overflow ? "the answer is too large" : "no body");
        return;
    }
    switch (user_parse(&c->people.filling->arena, body, str_of(who->name), &u)) {
    case ITEM_OK:
        keep(c, who, a, true, &u);
        return;
    case ITEM_NULL:
        keep(c, who, a, false, &u);
        return;
    case ITEM_GARBAGE:
        put_off(c, who, a, "the answer cannot be read");
        return;
    case ITEM_WRONG_ID:
        put_off(c, who, a, "the answer is of someone else");
        return;
    }
}

static bool ask(struct chores *c, struct asking *a) {
    struct people *p = &c->people;
    struct person *who = dequeue(p);
    char part[3 * PROFILE_NAME_MAX + 1];
    if (!user_path(str_of(who->name), part, sizeof part)) {
        forget(p, who); /* cannot be: every name is short enough */
        return true;
    }
    snprintf(a->call.path, sizeof a->call.path, "/user/%s.json", part);
    a->subject = who;
    if (!chores_ask(c, a)) {
        enqueue(p, who);
        return false;
    }
    who->asked = true;
    p->n_asked++;
    return true;
}

static void ask_some(struct chores *c, int64_t now) {
    struct people *p = &c->people;
    if (c->calls_gone || now < p->not_before)
        return;
    for (int i = 0; i < PEOPLE_CALLS && p->n_waiting && has_room(p); i++)
        if (!p->asks[i].out && !ask(c, &p->asks[i]))
            return;
}

/* At a stop: what was not fetched is written down, due at once. */
static void spill(struct chores *c) {
    struct people *p = &c->people;
    while (p->n_waiting && p->filling->n_later + p->n_asked < PEOPLE_LATER) {
        struct person *who = dequeue(p);
        struct user_todo *t = todo_for(p->filling, str_of(who->name));
        t->attempts = who->attempts;
        t->wait_ms = 0;
        t->error = STR("");
        forget(p, who);
    }
}

int64_t people_act(struct chores *c, int64_t now) {
    struct people *p = &c->people;
    take_names(c);
    if (c->stopping)
        spill(c);
    else
        ask_some(c, now);
    if (!is_empty(p->filling))
        chores_due(c, ERRAND_PEOPLE, now);
    return p->n_waiting && p->not_before > now ? p->not_before : NO_DEADLINE;
}

bool people_idle(const struct chores *c) {
    const struct people *p = &c->people;
    return p->n_waiting + p->n_asked == 0 && is_empty(p->filling) && queue_depth(c->o.names) == 0;
}

/* Writing ------------------------------------------------------------------------------------ */

bool people_prepare(struct chores *c, int64_t now UNUSED) {
    struct people *p = &c->people;
    if (is_empty(p->filling))
        return false;
    c->people_put.batch = p->filling;
    p->filling = p->filling == &p->batches[0] ? &p->batches[1] : &p->batches[0];
    return true;
}

/* The database refuses a value among these. Each goes by itself; who is refused again waits long,
 * and stands in nobody's way. */
static enum verdict put_one_by_one(struct store *s, const struct people_batch *b, struct err *e) {
    int64_t changed;
    enum verdict v = V_OK;
    for (size_t i = 0; i < b->n_answers && v == V_OK; i++) {
        v = store_put_users(s, &b->answers[i], 1, &changed, e);
        if (v != V_INVALID && v != V_LIMIT)
            continue;
        const struct user_todo t = {.name = b->answers[i].name,
                                    .attempts = EAGER_ATTEMPTS,
                                    .wait_ms = GIVEN_UP_MS,
                                    .error = str_of(e->msg)};
        v = store_users_later(s, &t, 1, e);
    }
    return v;
}

enum verdict people_run(struct store *s, void *arg, struct err *e) {
    const struct people_batch *b = ((struct people_arg *)arg)->batch;
    int64_t changed;
    enum verdict v = V_OK;
    if (b->n_answers)
        v = store_put_users(s, b->answers, b->n_answers, &changed, e);
    if (v == V_INVALID || v == V_LIMIT)
        v = put_one_by_one(s, b, e);
    if (v == V_OK && b->n_later)
        v = store_users_later(s, b->later, b->n_later, e);
    return v;
}

void people_done(struct chores *c, bool ok) {
    struct people_batch *b = c->people_put.batch;
    if (ok)
        metric_add(&m_profiles, 0, (int64_t)b->n_answers);
    else
        log_warn("profiles were not written", LI("answers", b->n_answers),
                 LI("to_be_asked", b->n_later));
    empty(b);
}

/* Those whose time has come ------------------------------------------------------------------ */

bool people_due_prepare(struct chores *c, int64_t now) {
    chores_due(c, ERRAND_PEOPLE_DUE, now + DUE_EVERY_MS);
    arena_reset(&c->people_due.arena);
    c->people_due.n = 0;
    return c->people.n_waiting + PEOPLE_DUE_MAX <= PEOPLE_WAITING_MAX;
}

enum verdict people_due_run(struct store *s, void *arg, struct err *e) {
    struct people_due_arg *a = arg;
    arena_reset(&a->arena); /* it may be run more than once */
    return store_users_due(s, HOLD_MS, &a->arena, a->todo, PEOPLE_DUE_MAX, &a->n, e);
}

void people_due_done(struct chores *c, bool ok) {
    const struct people_due_arg *a = &c->people_due;
    for (size_t i = 0; ok && i < a->n; i++)
        if (!add(&c->people, a->todo[i].name, a->todo[i].attempts))
            return; /* the rest is due again when its hold is over */
    if (ok && a->n == PEOPLE_DUE_MAX)
        chores_due(c, ERRAND_PEOPLE_DUE, chores_now(c));
}

/* Beginning and end -------------------------------------------------------------------------- */

void people_init(struct chores *c, int64_t now) {
    struct people *p = &c->people;
    for (int i = 0; i < PEOPLE_CALLS; i++) {
        p->asks[i].answered = answered;
        strbuf_init(&p->asks[i].call.body, BODY_MAX);
    }
    arena_init(&p->batches[0].arena);
    arena_init(&p->batches[1].arena);
    arena_init(&c->people_due.arena);
    p->filling = &p->batches[0];
    p->salt = rng_next(&c->rng);
    chores_due(c, ERRAND_PEOPLE_DUE, now);
}

void people_release(struct chores *c) {
    struct people *p = &c->people;
    for (size_t i = 0; i < PEOPLE_BUCKETS; i++)
        while (p->buckets[i]) {
            struct person *who = p->buckets[i];
            p->buckets[i] = who->same_bucket;
            free(who);
        }
    for (int i = 0; i < PEOPLE_CALLS; i++)
        strbuf_release(&p->asks[i].call.body);
    arena_release(&p->batches[0].arena);
    arena_release(&p->batches[1].arena);
    arena_release(&c->people_due.arena);
}
