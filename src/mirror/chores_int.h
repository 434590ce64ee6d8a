/* What the files of the chores share. Private to them.
 *
 * An errand is work for the writer, an asking a request to the fetch service. Each is out at most
 * once at a time, and what an errand's function reads and fills on the write thread (its argument,
 * a part of `struct chores`) is not touched here while it is out. */
#ifndef TAIN_MIRROR_CHORES_INT_H
#define TAIN_MIRROR_CHORES_INT_H

#include "base/rng.h"
#include "mirror/chores.h"
#include "store/live.h"

enum errand_kind {
    ERRAND_ROW, /* first of all: what the last updater left behind */
    ERRAND_RENEW,
    ERRAND_PERSIST,
    ERRAND_NOTE_MAXITEM,
    ERRAND_PUT_LIST,
    ERRAND_PEOPLE,
    ERRAND_PEOPLE_DUE,
    ERRAND_RETRIES,
    ERRAND_BACKLOG,
    ERRAND_PLAN,
    ERRAND_WATCH,
    ERRAND_N
};

struct errand {
    int64_t due; /* clock_mono(); NO_DEADLINE until something sets it */
    bool out;
    struct job job;
};

struct errand_rule {
    const char *what;
    bool fenced;  /* V_CONFLICT means that the updater's lease is gone */
    bool at_stop; /* still done while stopping */
    size_t arg;   /* offset in struct chores */
    /* When it is due: fills the argument and may set the next due. False: not now. */
    bool (*prepare)(struct chores *c, int64_t now);
    enum verdict (*run)(struct store *s, void *arg, struct err *e); /* on the write thread */
    void (*done)(struct chores *c, bool ok);
};

struct asking {
    struct call call;
    bool out;
    void (*answered)(struct chores *c, struct asking *a); /* also when it was cancelled */
    void *subject;                                        /* the answerer's own */
};

/* chores.c: the clockwork */

struct renew_arg {
    int64_t token, lease_ms;
    int64_t sent_at; /* by our own clock */
};
struct persist_arg {
    int64_t token, last_event_at, last_rescan_at;
};
#define RETRIES_MAX 500
struct retries_arg {
    struct due_item items[RETRIES_MAX];
    size_t n;
};
struct backlog_arg {
    int64_t failed, rechecks;
};

/* chores_lists.c */

#define LISTS_N 6
struct list {
    const char *name;
    struct asking ask;
    int64_t due;
    /* an answer that is not yet written */
    bool ready;
    struct arena arena;
    const int64_t *ids;
    size_t n;
    int64_t seen_at;
};
struct put_list_arg {
    int which;
    const struct list *list;
    bool changed;
    int64_t *absent; /* its stories that are not stored yet; in the list's arena */
    size_t n_absent;
};
struct maxitem {
    struct asking ask;
    int64_t due;
    int64_t noted, noted_at; /* what the archive was told last, and when (clock_mono) */
};
struct note_arg {
    int64_t maxitem;
};

/* chores_people.c */

#define PEOPLE_WAITING_MAX 4096
#define PEOPLE_BUCKETS 4096
#define PEOPLE_CALLS 8
#define PEOPLE_ANSWERS 100
#define PEOPLE_LATER 512
#define PEOPLE_DUE_MAX 256

struct person {
    struct person *same_bucket, *next;
    int attempts;
    bool asked, again; /* its call is out; it was named meanwhile */
    char name[];
};
struct people_batch {
    struct arena arena;
    struct user_answer answers[PEOPLE_ANSWERS];
    size_t n_answers;
    struct user_todo later[PEOPLE_LATER];
    size_t n_later;
};
struct people_arg {
    struct people_batch *batch;
};
struct people_due_arg {
    struct arena arena;
    struct user_todo todo[PEOPLE_DUE_MAX];
    size_t n;
};
struct people {
    struct person *buckets[PEOPLE_BUCKETS];
    uint64_t salt;               /* so that nobody can choose names that share a bucket */
    struct person *first, *last; /* those that wait, in the order in which they were named */
    size_t n_waiting;
    struct asking asks[PEOPLE_CALLS];
    size_t n_asked;
    int64_t not_before; /* clock_mono(): no calls until then */
    struct people_batch batches[2], *filling;
};

/* chores_scan.c */

struct row_arg {
    struct updater_row row;
    int64_t now_db;
};
struct plan_arg {
    enum purpose purpose;
    int64_t anchor; /* database milliseconds; 0: now */
    double days;
    int64_t maxitem, width;
    /* answered */
    int64_t at, lo, hi, segments;
};
struct scan_count {
    int64_t untouched; /* segments with ids that nobody has looked at */
    int64_t open;      /* those, and what waits after a failure */
};
struct watch_arg {
    struct scan_count replay, rescan;
};
/* A replay or a rescan that was planned and is not finished. */
struct scan_run {
    bool running;
    int64_t began;                  /* clock_mono() */
    int64_t planned_at;             /* database milliseconds */
    int64_t segments, untouched;    /* untouched: at the last look */
    int64_t processed_0, changed_0; /* the counters when it began */
};
struct scan {
    bool row_known;
    int64_t anchor, last_rescan_at, started_at; /* database milliseconds; 0: none, never */
    bool replay_planned;
    int64_t outages_seen;
    bool rescan_owed; /* it could not be planned */
    struct scan_run replay, rescan;
};

struct chores {
    struct chores_options o;
    struct mailbox mailbox;
    struct rng rng;
    struct errand errands[ERRAND_N];
    int jobs_out, calls_out;
    bool stopping, last_persist; /* the one at the stop is under way or done */
    bool writer_gone, calls_gone;
    int64_t leased_until; /* by our own clock, rather too early than too late */
    enum verdict end;     /* V_OK: it goes on */
    struct err why;
    size_t full_at; /* how many ids waited when the queue was last full; 0: it never was */
    struct maxitem maxitem;
    struct list lists[LISTS_N];
    struct people people;
    struct scan scan;
    /* arguments of errands */
    struct renew_arg renew;
    struct persist_arg persist;
    struct note_arg note;
    struct put_list_arg put_list;
    struct people_arg people_put;
    struct people_due_arg people_due;
    struct retries_arg retries;
    struct backlog_arg backlog;
    struct row_arg row;
    struct plan_arg plan;
    struct watch_arg watch;
};

static inline int64_t chores_now(const struct chores *c) {
    return clock_mono(c->o.clock);
}
static inline int64_t chores_now_db(const struct chores *c) {
    return chores_now(c) + atomic_load(&c->o.tidings->db_offset_ms);
}
static inline void chores_due(struct chores *c, enum errand_kind k, int64_t when) {
    c->errands[k].due = when;
}
/* False: the fetch service has ended. */
bool chores_ask(struct chores *c, struct asking *a);
/* The body of a good answer; STR_NONE when there is none. */
struct str chores_body(const struct asking *a);

/* Sends what is due and answers when the next is. */
int64_t lists_act(struct chores *c, int64_t now);
void lists_init(struct chores *c, int64_t now);
void lists_release(struct chores *c);
bool lists_idle(const struct chores *c); /* nothing waits to be written */
bool maxitem_note_prepare(struct chores *c, int64_t now);
enum verdict maxitem_note_run(struct store *s, void *arg, struct err *e);
void maxitem_note_done(struct chores *c, bool ok);
bool lists_put_prepare(struct chores *c, int64_t now);
enum verdict lists_put_run(struct store *s, void *arg, struct err *e);
void lists_put_done(struct chores *c, bool ok);

void people_init(struct chores *c, int64_t now);
void people_release(struct chores *c);
int64_t people_act(struct chores *c, int64_t now);
bool people_idle(const struct chores *c);
bool people_prepare(struct chores *c, int64_t now);
enum verdict people_run(struct store *s, void *arg, struct err *e);
void people_done(struct chores *c, bool ok);
bool people_due_prepare(struct chores *c, int64_t now);
enum verdict people_due_run(struct store *s, void *arg, struct err *e);
void people_due_done(struct chores *c, bool ok);

void scan_measure(struct chores *c); /* sets the gauge */
bool scan_row_prepare(struct chores *c, int64_t now);
enum verdict scan_row_run(struct store *s, void *arg, struct err *e);
void scan_row_done(struct chores *c, bool ok);
bool scan_plan_prepare(struct chores *c, int64_t now);
enum verdict scan_plan_run(struct store *s, void *arg, struct err *e);
void scan_plan_done(struct chores *c, bool ok);
bool scan_watch_prepare(struct chores *c, int64_t now);
enum verdict scan_watch_run(struct store *s, void *arg, struct err *e);
void scan_watch_done(struct chores *c, bool ok);

#endif
