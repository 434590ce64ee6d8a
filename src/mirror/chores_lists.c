/* maxitem and the six story lists: asked for by the clock. A failure or garbage changes nothing;
 * the next turn asks again. */
#include "mirror/chores_int.h"
#include "mirror/metrics.h"

#include <stdio.h>

#define NOTE_EVERY_MS 60000
#define NUMBER_MAX 64
#define LIST_MAX (1 << 20)

static const char *const names[LISTS_N] = {"top", "new", "best", "ask", "show", "job"};

/* maxitem ------------------------------------------------------------------------------------ */

static struct str trimmed(struct str s) {
    while (s.n && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == '\r' || s.p[s.n - 1] == ' '))
        s.n--;
    return s;
}

static void maxitem_answered(struct chores *c, struct asking *a) {
    int64_t id;
    if (!str_to_i64(trimmed(chores_body(a)), &id) || id < 1)
        return;
    tidings_maxitem(c->o.tidings, id);
    int64_t now = chores_now(c);
    bool risen = atomic_load(&c->o.tidings->maxitem) > c->maxitem.noted;
    if (risen || now - c->maxitem.noted_at >= NOTE_EVERY_MS)
        chores_due(c, ERRAND_NOTE_MAXITEM, now);
    if (!c->scan.replay_planned)
        chores_due(c, ERRAND_PLAN, now); /* it may have waited for this */
}

bool maxitem_note_prepare(struct chores *c, int64_t now) {
    c->note.maxitem = atomic_load(&c->o.tidings->maxitem);
    c->maxitem.noted_at = now;
    return true;
}

enum verdict maxitem_note_run(struct store *s, void *arg, struct err *e) {
    const struct note_arg *a = arg;
    return store_note_maxitem(s, a->maxitem, e);
}

void maxitem_note_done(struct chores *c, bool ok) {
    if (ok)
        c->maxitem.noted = c->note.maxitem;
}

/* Story lists -------------------------------------------------------------------------------- */

static void list_answered(struct chores *c, struct asking *a) {
    struct list *l = a->subject;
    arena_reset(&l->arena);
    struct str body = chores_body(a);
    if (!body.p || !id_list_parse(&l->arena, body, &l->ids, &l->n))
        return;
    l->seen_at = a->call.started_db;
    l->ready = true;
    chores_due(c, ERRAND_PUT_LIST, chores_now(c));
}

bool lists_put_prepare(struct chores *c, int64_t now UNUSED) {
    for (int i = 0; i < LISTS_N; i++)
        if (c->lists[i].ready) {
            struct list *l = &c->lists[i];
            c->put_list = (struct put_list_arg){
                .which = i,
                .list = l,
                .absent = arena_alloc(&l->arena, (l->n + 1) * sizeof(int64_t))};
            return true;
        }
    return false;
}

enum verdict lists_put_run(struct store *s, void *arg, struct err *e) {
    struct put_list_arg *a = arg;
    const struct list *l = a->list;
    enum verdict v = store_put_list(s, l->name, l->ids, l->n, l->seen_at, &a->changed, e);
    return v == V_OK ? store_absent_ids(s, l->ids, l->n, a->absent, &a->n_absent, e) : v;
}

/* A list is no use without its stories, and history may take hours to come to them. What no longer
 * fits is offered again with the next list. */
static void want_stories(struct chores *c, const struct put_list_arg *a) {
    for (size_t i = 0; i < a->n_absent; i++) {
        enum key_offer o =
            keyqueue_offer(c->o.ids, (struct key_ticket){.key = a->absent[i]}, false);
        if (o == KEY_FULL || o == KEY_CLOSED)
            return;
    }
}

void lists_put_done(struct chores *c, bool ok) {
    c->lists[c->put_list.which].ready = false;
    if (ok) {
        metric_add(&m_lists_seen, 0, 1);
        want_stories(c, &c->put_list);
    }
    if (!lists_idle(c))
        chores_due(c, ERRAND_PUT_LIST, chores_now(c));
}

/* Both --------------------------------------------------------------------------------------- */

bool lists_idle(const struct chores *c) {
    for (int i = 0; i < LISTS_N; i++)
        if (c->lists[i].ready)
            return false;
    return true;
}

/* Asks when it is due and the last answer has been dealt with. */
static int64_t ask_at(struct chores *c, struct asking *a, bool busy, int64_t *due, int64_t every_ms,
                      int64_t now) {
    if (a->out || busy || c->calls_gone)
        return NO_DEADLINE;
    if (*due <= now) {
        *due = now + every_ms;
        if (chores_ask(c, a))
            return NO_DEADLINE;
    }
    return *due;
}

int64_t lists_act(struct chores *c, int64_t now) {
    int64_t next =
        ask_at(c, &c->maxitem.ask, false, &c->maxitem.due, c->o.catchup_interval_ms, now);
    for (int i = 0; i < LISTS_N; i++) {
        struct list *l = &c->lists[i];
        int64_t due = ask_at(c, &l->ask, l->ready, &l->due, c->o.lists_interval_ms, now);
        next = due < next ? due : next;
    }
    return next;
}

void lists_init(struct chores *c, int64_t now) {
    struct asking *m = &c->maxitem.ask;
    m->answered = maxitem_answered;
    strbuf_init(&m->call.body, NUMBER_MAX);
    snprintf(m->call.path, sizeof m->call.path, "/maxitem.json");
    c->maxitem.due = now;
    for (int i = 0; i < LISTS_N; i++) {
        struct list *l = &c->lists[i];
        l->name = names[i];
        l->due = now;
        l->ask.answered = list_answered;
        l->ask.subject = l;
        arena_init(&l->arena);
        strbuf_init(&l->ask.call.body, LIST_MAX);
        snprintf(l->ask.call.path, sizeof l->ask.call.path, "/%sstories.json", names[i]);
    }
}

void lists_release(struct chores *c) {
    strbuf_release(&c->maxitem.ask.call.body);
    for (int i = 0; i < LISTS_N; i++) {
        arena_release(&c->lists[i].arena);
        strbuf_release(&c->lists[i].ask.call.body);
    }
}
