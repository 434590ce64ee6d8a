#include "mirror/import.h"

#include "base/log.h"
#include "mirror/import_int.h"
#include "mirror/logkeeper.h"
#include "store/export.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define TICK_MS 100
#define ADOPT_STEP 1000000 /* parents at a time */

/* The whole run. Each thread has its own part; they meet in two queues and a few atomics. */
struct run {
    const struct import_options *o;
    struct import_result *ret;
    struct import_reader reader;
    struct import_box boxes[IMPORT_BOXES];
    struct queue full, empty;
    struct patience patience;
    struct logkeeper log; /* the writing thread's */
    pthread_t read_thread, write_thread;
    enum verdict read_verdict, write_verdict;
    struct err read_err, write_err;
    char wanted_sum[SHA256_HEX];
    char holder[200]; /* this process, in the table; given back at the end if it was taken */
    bool taken;
    int64_t refused; /* by the database: the reader took them for items */
    const char *phase;
    atomic_bool over;
    _Atomic int64_t lines, items, missing, skipped, broken; /* as far as they are stored */
};

static void *read_main(void *arg) {
    struct run *r = arg;
    r->read_verdict = import_read_all(&r->reader, &r->read_err);
    queue_close(&r->full);
    return NULL;
}

static void show_state(struct run *r, const struct import_state *s) {
    atomic_store(&r->lines, s->lines);
    atomic_store(&r->items, s->items);
    atomic_store(&r->missing, s->missing);
    atomic_store(&r->skipped, s->skipped);
    atomic_store(&r->broken, s->broken);
}

static void add_stats(struct apply_stats *sum, const struct apply_stats *one) {
    sum->inserted += one->inserted;
    sum->changed += one->changed;
    sum->unchanged += one->unchanged;
    sum->stale += one->stale;
    sum->repeated += one->repeated;
    sum->revisions += one->revisions;
    sum->kids += one->kids;
    sum->resolved += one->resolved;
}

static enum verdict write_batch(struct run *r, struct batch *b, const struct import_step *step,
                                struct err *e) {
    struct apply_stats stats;
    for (;;) {
        enum verdict v = store_import_batch(r->o->store, b, step, &stats, e);
        if (v == V_RETRY && (v = patience_bear(&r->patience, e)) == V_OK)
            continue;
        if (v != V_OK)
            return v;
        patience_well(&r->patience);
        add_stats(&r->ret->stats, &stats);
        r->ret->state = step->to;
        show_state(r, &step->to);
        return V_OK;
    }
}

static bool is_refusal(enum verdict v) {
    return v == V_INVALID || v == V_LIMIT;
}

/* The database refuses a value in this batch. Each item goes by itself, without moving the place;
 * those that are refused again count as broken. */
static enum verdict write_one_by_one(struct run *r, struct batch *b, struct import_step *step,
                                     struct err *e) {
    struct batch one = *b; /* derived already: its arena is not written to */
    struct import_step stay = *step;
    stay.to = r->ret->state;
    enum verdict v = V_OK;
    int64_t refused = 0;
    for (size_t i = 0; i < b->n_items && v == V_OK; i++) {
        one.items = &b->items[i];
        one.n_items = 1;
        v = write_batch(r, &one, &stay, e);
        if (!is_refusal(v))
            continue;
        log_warn("the database refuses an item", LI("item", b->items[i].item.id), LE(e));
        refused++;
        v = V_OK;
    }
    if (v != V_OK)
        return v;
    r->refused += refused;
    step->to.items -= refused;
    step->to.broken += refused;
    one.n_items = 0;
    return write_batch(r, &one, step, e);
}

static enum verdict write_box(struct run *r, struct import_box *box, struct err *e) {
    box->step.to.items -= r->refused;
    box->step.to.broken += r->refused;
    enum verdict v = write_batch(r, box->batch, &box->step, e);
    return is_refusal(v) ? write_one_by_one(r, box->batch, &box->step, e) : v;
}

static void *write_main(void *arg) {
    struct run *r = arg;
    while (r->write_verdict == V_OK) {
        struct import_box *box = queue_pop(&r->full, 1000);
        if (!box && queue_is_closed(&r->full) && queue_depth(&r->full) == 0)
            break;
        if (!box)
            continue;
        r->write_verdict = write_box(r, box, &r->write_err);
        queue_push(&r->empty, box);
        logkeeper_wrote(&r->log, false);
        if (r->write_verdict == V_OK)
            logkeeper_turn(&r->log);
    }
    if (r->write_verdict == V_OK)
        logkeeper_finish(&r->log);
    queue_close(&r->full);
    queue_close(&r->empty);
    atomic_store(&r->over, true);
    return NULL;
}

static void tick(struct run *r) {
    if (!r->o->tick)
        return;
    const struct import_view view = {
        .phase = r->phase,
        .bytes = dump_raw_bytes(r->reader.dump),
        .total_bytes = dump_raw_total(r->reader.dump),
        .state = {.lines = atomic_load(&r->lines),
                  .items = atomic_load(&r->items),
                  .missing = atomic_load(&r->missing),
                  .skipped = atomic_load(&r->skipped),
                  .broken = atomic_load(&r->broken)},
        .db_down_ms = patience_down_ms(&r->patience),
    };
    r->o->tick(r->o->tick_arg, &view);
}

static enum verdict run_threads(struct run *r, struct err *e) {
    enum verdict v = thread_start(&r->write_thread, "write", write_main, r, e);
    if (v != V_OK)
        return v;
    v = thread_start(&r->read_thread, "read", read_main, r, e);
    if (v != V_OK)
        queue_close(&r->full);
    while (v == V_OK && !atomic_load(&r->over)) {
        tick(r);
        poll(NULL, 0, TICK_MS);
    }
    pthread_join(r->write_thread, NULL);
    if (v == V_OK)
        pthread_join(r->read_thread, NULL);
    return v;
}

/* Repeats a verb of the store until it answers. */
#define BEARING(r, v, e, call)             \
    do {                                   \
        (v) = (call);                      \
        if ((v) != V_RETRY) {              \
            patience_well(&(r)->patience); \
            break;                         \
        }                                  \
    } while (((v) = patience_bear(&(r)->patience, e)) == V_OK)

/* Children that came before their parents, a stretch of parents at a time. */
static enum verdict adopt(struct run *r, struct err *e) {
    int64_t lo, hi, n;
    enum verdict v;
    BEARING(r, v, e, store_item_bounds(r->o->store, 1, INT64_MAX, &lo, &hi, e));
    if (v == V_NOT_FOUND)
        return V_OK;
    r->phase = "joining threads";
    for (; v == V_OK && lo <= hi && !stop_raised(r->o->stop); lo += ADOPT_STEP) {
        BEARING(r, v, e, store_adopt_range(r->o->store, lo, lo + ADOPT_STEP - 1, &n, e));
        r->ret->adopted += v == V_OK ? n : 0;
        tick(r);
    }
    if (v == V_OK && stop_raised(r->o->stop))
        return err_set(e, V_STOPPED, "import", 0, "stopped");
    return v;
}

/* A dump that is not what its checksum says is no dump to go on with. */
static enum verdict check_sum(struct run *r, struct err *e) {
    if (!*r->wanted_sum)
        return V_OK;
    struct import_result *ret = r->ret;
    dump_digest(r->reader.dump, ret->sha256);
    ret->checksum = strcmp(ret->sha256, r->wanted_sum) == 0 ? CHECKSUM_GOOD : CHECKSUM_BAD;
    if (ret->checksum == CHECKSUM_GOOD)
        return V_OK;
    struct err ignored;
    if (store_import_forget(r->o->store, r->reader.fingerprint, &ignored) != V_OK) {
        /* the message below is the news */
    }
    return err_set(e, V_INVALID, "checksum", 0,
                   "the file does not have the checksum that %.200s.sha256 gives: it was damaged "
                   "or exchanged. What was read from it is stored; --no-checksum ignores this",
                   base_name(r->o->path));
}

static enum verdict finish(struct run *r, struct err *e) {
    enum verdict v = adopt(r, e);
    if (v == V_OK)
        v = check_sum(r, e);
    if (v == V_OK)
        BEARING(r, v, e, store_import_finish(r->o->store, r->reader.fingerprint, e));
    if (v == V_OK && r->o->sample) {
        r->phase = "comparing";
        tick(r);
        v = import_compare_sample(r->o, &r->reader.sample, &r->ret->sample, e);
    }
    return v;
}

static enum import_end end_of(const struct run *r, enum verdict v) {
    if (v == V_STOPPED)
        return IMPORT_STOPPED;
    if (v != V_OK)
        return IMPORT_FAILED;
    return r->ret->state.broken ? IMPORT_BROKEN_LINES : IMPORT_COMPLETE;
}

static enum verdict open_dump(struct run *r, struct err *e) {
    const struct import_options *o = r->o;
    bool file = o->path && strcmp(o->path, "-") != 0;
    enum verdict v = V_NOT_FOUND;
    if (file && o->check_sum)
        v = checksum_of(o->path, r->wanted_sum, e);
    if (v == V_INVALID) {
        const struct err why = *e;
        return err_set(e, V_INVALID, "checksum", why.code,
                       "%.400s; --no-checksum imports without one", why.msg);
    }
    if (v == V_NOT_FOUND)
        *r->wanted_sum = '\0';
    const struct dump_read_options options = {
        .path = o->path, .digest = *r->wanted_sum != '\0', .stop = o->stop};
    v = dump_open(&options, &r->reader.dump, e);
    if (v == V_OK) /* what changes the meaning of a line makes another import of it */
        snprintf(r->reader.fingerprint, sizeof r->reader.fingerprint, "%s:%lld:%lld:%lld",
                 dump_fingerprint(r->reader.dump), (long long)o->as_of_ms, (long long)o->start_id,
                 (long long)o->end_id);
    return v;
}

/* The dump anew, from its first byte. */
static enum verdict rewind_dump(struct run *r, struct err *e) {
    if (dump_raw_total(r->reader.dump) < 0 || !r->o->path || strcmp(r->o->path, "-") == 0)
        return err_wrap(e, V_INVALID, "--restart imports it from its beginning");
    dump_close(r->reader.dump);
    r->reader.dump = NULL;
    log_warn("the dump changed since it was imported; starting over");
    return open_dump(r, e);
}

/* The name of the dump for people who look into the table: as much of it as is text. */
static void name_source(const char *path, char *out, size_t size) {
    snprintf(out, size, "%s", path ? base_name(path) : "-");
    size_t n = strlen(out);
    for (size_t i = 0, len; i < n; i += len ? len : 1) {
        len = utf8_len((const unsigned char *)out + i, n - i);
        if (len == 0)
            out[i] = '?';
    }
}

/* Goes to where an earlier run was cut off, or begins. */
static enum verdict find_place(struct run *r, struct err *e) {
    struct import_state *from = &r->ret->from;
    const char *print = r->reader.fingerprint;
    char source[200];
    enum verdict v;
    name_source(r->o->path, source, sizeof source);
    process_identity(r->holder, sizeof r->holder);
    BEARING(r, v, e, store_import_take(r->o->store, print, source, r->holder, e));
    if (v != V_OK)
        return v;
    r->taken = true;
    v = V_NOT_FOUND;
    if (!r->o->restart)
        BEARING(r, v, e, store_import_find(r->o->store, print, from, e));
    if (v == V_OK && !from->finished && from->bytes > 0) {
        log_info("going on with an earlier import", LI("line", from->lines + 1));
        v = dump_skip_to(r->reader.dump, from->bytes, from->mark, e);
        if (v != V_CONFLICT)
            return v;
        v = rewind_dump(r, e);
    }
    if (v != V_OK && v != V_NOT_FOUND)
        return v;
    *from = (struct import_state){0};
    BEARING(r, v, e, store_import_begin(r->o->store, print, source, e));
    return v;
}

static void make_boxes(struct run *r) {
    queue_init(&r->full, IMPORT_BOXES);
    queue_init(&r->empty, IMPORT_BOXES);
    for (size_t i = 0; i < IMPORT_BOXES; i++) {
        r->boxes[i].batch = batch_new();
        if (i > 0)
            queue_push(&r->empty, &r->boxes[i]);
    }
    r->reader.box = &r->boxes[0];
    r->reader.boxes = &r->full;
    r->reader.empty = &r->empty;
    r->reader.state = r->ret->from;
    r->reader.sent_bytes = r->ret->from.bytes;
    reservoir_init(&r->reader.sample, (size_t)r->o->sample);
    r->ret->state = r->ret->from;
    show_state(r, &r->ret->from);
}

static void free_boxes(struct run *r) {
    for (size_t i = 0; i < IMPORT_BOXES; i++)
        batch_free(r->boxes[i].batch);
    queue_release(&r->full);
    queue_release(&r->empty);
    reservoir_release(&r->reader.sample);
}

/* The writer's trouble comes first: it is why nobody took the reader's boxes. */
static enum verdict work(struct run *r, struct err *e) {
    enum verdict v = run_threads(r, e);
    if (v == V_OK && (r->write_verdict != V_OK || r->read_verdict != V_OK)) {
        v = r->write_verdict != V_OK ? r->write_verdict : r->read_verdict;
        *e = r->write_verdict != V_OK ? r->write_err : r->read_err;
    }
    struct import_result *ret = r->ret;
    memcpy(ret->broken, r->reader.broken, sizeof ret->broken);
    ret->n_broken = r->reader.n_broken;
    return v == V_OK ? finish(r, e) : v;
}

static void give_back(struct run *r) {
    struct err ignored;
    if (r->taken &&
        store_import_give_back(r->o->store, r->reader.fingerprint, r->holder, &ignored) != V_OK) {
        /* our end will be seen, or our silence */
    }
}

enum verdict import_run(const struct import_options *o, struct import_result *ret, struct err *e) {
    *ret = (struct import_result){0};
    int64_t begin = clock_mono(o->clock);
    struct run r = {.o = o,
                    .ret = ret,
                    .phase = "importing",
                    .reader.o = o,
                    .patience = {.store = o->store,
                                 .clock = o->clock,
                                 .stop = o->stop,
                                 .max_outage_ms = o->max_outage_ms,
                                 .rng = rng_fresh()}};
    logkeeper_init(&r.log, o->clock, o->store, o->feed_keep_ms, o->feed_keep_rows);
    enum verdict v = open_dump(&r, e);
    if (v == V_OK)
        v = find_place(&r, e);
    if (v == V_OK) {
        make_boxes(&r);
        v = work(&r, e);
        ret->end = end_of(&r, v);
        tick(&r);
        free_boxes(&r);
        v = V_OK;
    }
    give_back(&r);
    dump_close(r.reader.dump);
    ret->duration_ms = clock_mono(o->clock) - begin;
    return v;
}
