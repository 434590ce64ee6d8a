#include "mirror/export.h"

#include "base/queue.h"
#include "mirror/dump_write.h"
#include "mirror/patience.h"
#include "store/export.h"

#include <inttypes.h>
#include <poll.h>

#define PAGES 4
#define PAGE_ITEMS 2000
#define TICK_MS 100
#define FLUSH_BYTES ((size_t)512 * 1024)
#define TEXT_MAX ((size_t)256 * 1024 * 1024) /* one item is never that long */

#define REST_HINT "without --resume it is written anew"

/* The whole run. Pages go from the reader to the writer and back. */
struct run {
    const struct export_options *o;
    struct export_result *ret;
    struct dump_writer *dump;
    struct item_page pages[PAGES];
    struct queue full, empty;
    struct patience patience;
    int64_t after, last; /* the reader's place, and where it ends */
    pthread_t read_thread, write_thread;
    enum verdict read_verdict, write_verdict;
    struct err read_err, write_err;
    struct strbuf text;
    int64_t first;
    atomic_bool over;
    _Atomic int64_t at, items, bytes;
};

static enum verdict read_page(struct run *r, struct item_page *p) {
    for (;;) {
        enum verdict v =
            store_read_page(r->o->store, r->after, r->last,
                            r->o->page_items ? r->o->page_items : PAGE_ITEMS, p, &r->read_err);
        if (v == V_RETRY)
            v = patience_bear(&r->patience, &r->read_err);
        else if (v == V_OK) {
            patience_well(&r->patience);
            return V_OK;
        }
        if (v != V_OK)
            return v;
    }
}

static void *read_main(void *arg) {
    struct run *r = arg;
    while (r->read_verdict == V_OK && r->after < r->last) {
        struct item_page *p = queue_pop(&r->empty, 1000);
        if (!p && queue_is_closed(&r->empty))
            break; /* the writer takes no more */
        if (stop_raised(r->o->stop))
            r->read_verdict = err_set(&r->read_err, V_STOPPED, "export", 0, "stopped");
        if (!p || r->read_verdict != V_OK)
            continue;
        r->read_verdict = read_page(r, p);
        if (r->read_verdict != V_OK || p->n == 0)
            break;
        r->after = p->items[p->n - 1].id;
        queue_push(&r->full, p);
    }
    queue_close(&r->full);
    return NULL;
}

static enum verdict flush(struct run *r) {
    enum verdict v = V_OK;
    if (r->text.overflow)
        v = err_set(&r->write_err, V_LIMIT, "export", 0, "an item of more than %zu bytes",
                    TEXT_MAX);
    if (v == V_OK && r->text.n)
        v = dump_put(r->dump, strbuf_str(&r->text), &r->write_err);
    strbuf_clear(&r->text);
    return v;
}

static enum verdict write_page(struct run *r, const struct item_page *p) {
    enum verdict v = V_OK;
    for (size_t i = 0; i < p->n && v == V_OK; i++) {
        item_render(&p->items[i], &r->text);
        strbuf_addc(&r->text, '\n');
        if (r->text.n >= FLUSH_BYTES || r->text.overflow || i + 1 == p->n)
            v = flush(r);
    }
    if (v != V_OK)
        return v;
    if (!r->ret->first_id)
        r->ret->first_id = p->items[0].id;
    r->ret->last_id = p->items[p->n - 1].id;
    r->ret->items += (int64_t)p->n;
    atomic_store(&r->at, r->ret->last_id);
    atomic_store(&r->items, r->ret->items);
    atomic_store(&r->bytes, dump_out_bytes(r->dump));
    return V_OK;
}

static void *write_main(void *arg) {
    struct run *r = arg;
    while (r->write_verdict == V_OK) {
        struct item_page *p = queue_pop(&r->full, 1000);
        if (!p && queue_is_closed(&r->full) && queue_depth(&r->full) == 0)
            break;
        if (!p)
            continue;
        r->write_verdict = write_page(r, p);
        queue_push(&r->empty, p);
    }
    queue_close(&r->empty);
    queue_close(&r->full);
    atomic_store(&r->over, true);
    return NULL;
}

static void tick(struct run *r) {
    if (!r->o->tick)
        return;
    const struct export_view view = {
        .first = r->first,
        .last = r->last,
        .at = atomic_load(&r->at),
        .items = atomic_load(&r->items),
        .bytes = atomic_load(&r->bytes),
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
    if (v != V_OK)
        return v;
    pthread_join(r->read_thread, NULL);
    if (r->write_verdict != V_OK) {
        *e = r->write_err;
        return r->write_verdict;
    }
    *e = r->read_err;
    return r->read_verdict;
}

static void make_pages(struct run *r) {
    queue_init(&r->full, PAGES);
    queue_init(&r->empty, PAGES);
    strbuf_init(&r->text, TEXT_MAX);
    for (size_t i = 0; i < PAGES; i++) {
        item_page_init(&r->pages[i]);
        queue_push(&r->empty, &r->pages[i]);
    }
}

static void free_pages(struct run *r) {
    for (size_t i = 0; i < PAGES; i++)
        item_page_release(&r->pages[i]);
    strbuf_release(&r->text);
    queue_release(&r->full);
    queue_release(&r->empty);
}

/* A dump that is gone on with must be the beginning of the one that is wanted. */
static enum verdict check_rest(const struct run *r, int64_t lo, struct err *e) {
    const struct export_options *o = r->o;
    int64_t first = dump_first_id(r->dump), last = dump_last_id(r->dump), lowest, unused;
    if (o->end_id && last > o->end_id)
        return err_set(e, V_INVALID, "export", 0,
                       "the dump that is there ends with item %" PRId64 ", behind --end-id; %s",
                       last, REST_HINT);
    enum verdict v = store_item_bounds(o->store, last, last, &lowest, &unused, e);
    if (v == V_NOT_FOUND)
        return err_set(e, V_INVALID, "export", 0,
                       "the dump that is there ends with item %" PRId64
                       ", which this archive does not have; %s",
                       last, REST_HINT);
    if (v == V_OK)
        v = store_item_bounds(o->store, lo, INT64_MAX, &lowest, &unused, e);
    if (v == V_NOT_FOUND)
        lowest = lo;
    else if (v != V_OK)
        return v;
    if (first != lowest)
        return err_set(e, V_INVALID, "export", 0,
                       "the dump that is there begins with item %" PRId64
                       ", this one would with %" PRId64 "; --start-id %" PRId64
                       " goes on with it, %s",
                       first, lowest, first, REST_HINT);
    return V_OK;
}

/* What is stored while the run lasts has higher ids or came too late: the end is fixed now. */
static enum verdict find_range(struct run *r, struct err *e) {
    const struct export_options *o = r->o;
    int64_t lo = o->start_id > 0 ? o->start_id : 1;
    r->ret->resumed_after = dump_last_id(r->dump);
    enum verdict v = r->ret->resumed_after ? check_rest(r, lo, e) : V_OK;
    if (v != V_OK)
        return v;
    if (lo <= r->ret->resumed_after)
        lo = r->ret->resumed_after + 1;
    v = store_item_bounds(o->store, lo, o->end_id ? o->end_id : INT64_MAX, &r->first, &r->last, e);
    if (v == V_NOT_FOUND) { /* an empty dump is a dump */
        r->first = lo;
        r->last = lo - 1;
        v = V_OK;
    }
    r->after = r->first - 1;
    atomic_store(&r->at, r->after);
    return v;
}

static enum verdict work(struct run *r, struct err *e) {
    make_pages(r);
    enum verdict v = run_threads(r, e);
    if (v == V_OK)
        v = dump_finish(r->dump, r->ret->sha256, e);
    else
        dump_suspend(r->dump);
    r->ret->bytes = dump_out_bytes(r->dump);
    r->ret->end = v == V_OK ? EXPORT_COMPLETE : v == V_STOPPED ? EXPORT_STOPPED : EXPORT_FAILED;
    tick(r);
    free_pages(r);
    return V_OK;
}

enum verdict export_run(const struct export_options *o, struct export_result *ret, struct err *e) {
    *ret = (struct export_result){0};
    int64_t begin = clock_mono(o->clock);
    struct run r = {.o = o,
                    .ret = ret,
                    .patience = {.store = o->store,
                                 .clock = o->clock,
                                 .stop = o->stop,
                                 .max_outage_ms = o->max_outage_ms,
                                 .rng = rng_fresh()}};
    const struct dump_write_options options = {.path = o->path,
                                               .compress = o->compress,
                                               .level = o->level,
                                               .resume = o->resume,
                                               .stop = o->stop};
    enum verdict v = dump_create(&options, &r.dump, e);
    if (v == V_OK)
        v = find_range(&r, e);
    if (v == V_OK)
        v = work(&r, e);
    dump_writer_free(r.dump);
    ret->duration_ms = clock_mono(o->clock) - begin;
    return v;
}
