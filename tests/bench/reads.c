/* How long do the reads of pages and APIs take? Makes an archive of stories with comments in an
 * empty database and prints microseconds per read, each figure the best of several rounds.
 *
 *     reads sqlite:PATH | reads postgres://... */
#include "base/clock.h"
#include "store/batch.h"
#include "store/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { STORIES = 2000, SMALL = 20, MEDIUM = 1000, LARGE = 3000, BATCH = 500, ROUNDS = 5 };

struct bench {
    struct store *s;
    struct arena arena;
    struct batch *b;
    int64_t segment, token, next_id;
    struct str text;
};

static struct err e;

/* SQLite works in this thread, so its own time is the truth, whatever else the machine does. */
static clockid_t which_clock = CLOCK_MONOTONIC;

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(which_clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void must(enum verdict v, const char *what) {
    if (v == V_OK)
        return;
    fprintf(stderr, "reads: %s: %s: %s\n", what, verdict_name(v), e.msg);
    exit(1);
}

static void flush(struct bench *t, bool last) {
    struct apply_stats stats;
    t->b->segment_id = t->segment;
    t->b->lease_token = t->token;
    t->b->end_id = 10000000;
    t->b->release = last;
    must(store_apply(t->s, t->b, &stats, &e), "apply");
    batch_reset(t->b);
}

static void put(struct bench *t, int64_t id, int64_t parent, int64_t first_kid, size_t n_kids) {
    struct batch_item *it = batch_add_item(t->b);
    int64_t *kids = arena_alloc(&t->b->arena, (n_kids + 1) * sizeof *kids);
    for (size_t i = 0; i < n_kids; i++) /* shown the other way round than stored */
        kids[i] = first_kid + (int64_t)(n_kids - 1 - i);
    it->fetched_at = 1700000000000;
    it->item = (struct item){
        .id = id,
        .type = parent == I64_NONE ? STR("story") : STR("comment"),
        .by = STR("someone"),
        .text = parent == I64_NONE ? STR_NONE : t->text,
        .title = parent == I64_NONE ? STR("A title of the usual length for a story") : STR_NONE,
        .url = parent == I64_NONE ? STR("https://example.com/a/page") : STR_NONE,
        .time = 1600000000 + id,
        .parent = parent,
        .poll = I64_NONE,
        .score = parent == I64_NONE ? id % 300 : I64_NONE,
        .descendants = parent == I64_NONE ? (int64_t)n_kids : I64_NONE,
        .kids = n_kids ? kids : NULL,
        .n_kids = n_kids,
    };
    if (t->b->n_items == BATCH)
        flush(t, false);
}

/* A story with n comments; each comment but the last ones has three answers. */
static int64_t add_thread(struct bench *t, int64_t n) {
    int64_t root = t->next_id;
    int64_t top = n < 10 ? n : 10, next = root + 1 + top;
    put(t, root, I64_NONE, root + 1, (size_t)top);
    int64_t *parents = calloc((size_t)n + 1, sizeof *parents);
    for (int64_t i = 1; i <= top; i++)
        parents[i] = root;
    for (int64_t i = 1; i <= n; i++) {
        int64_t left = root + n + 1 - next, kids = left < 3 ? left : 3;
        for (int64_t k = 0; k < kids; k++)
            parents[next - root + k] = root + i;
        put(t, root + i, parents[i], next, (size_t)kids);
        next += kids;
    }
    free(parents);
    t->next_id = root + n + 1;
    return root;
}

static void take_segment(struct bench *t) {
    int64_t lo = 1, hi = 10000000, added;
    struct claim c;
    must(store_plan_begin(t->s, &e), "plan");
    enum verdict v = store_add_segments(t->s, PURPOSE_MIRROR, &lo, &hi, 1, &added, &e);
    must(store_plan_end(t->s, v, &e), "plan");
    must(store_claim(t->s, "bench", &(struct claim_ask){lo, hi, PURPOSE_RESCAN}, &t->arena, &c, &e),
         "claim");
    t->segment = c.segment_id;
    t->token = c.lease_token;
}

static void report(const char *what, int64_t best_ns, int64_t per) {
    printf("%-34s %10.1f us\n", what, (double)best_ns / 1000.0 / (double)per);
}

static void bench_items(struct bench *t, int64_t first, int64_t n) {
    int64_t best = INT64_MAX, best_many = INT64_MAX, ids[100];
    for (int round = 0; round < ROUNDS; round++) {
        struct read_item it;
        struct read_items its;
        int64_t begin = now_ns(), id;
        for (id = first; id < first + n; id++) {
            arena_reset(&t->arena);
            must(store_read_item(t->s, &t->arena, id, &it, &e), "item");
        }
        int64_t took = now_ns() - begin;
        best = took < best ? took : best;
        begin = now_ns();
        for (id = first; id + 100 <= first + n; id += 100) {
            for (int k = 0; k < 100; k++)
                ids[k] = id + k;
            arena_reset(&t->arena);
            must(store_read_items(t->s, &t->arena, ids, 100, &its, &e), "items");
        }
        took = now_ns() - begin;
        best_many = took < best_many ? took : best_many;
    }
    report("an item", best, n);
    report("an item, by the hundred", best_many, n);
}

static void bench_thread(struct bench *t, const char *what, int64_t root, size_t n) {
    int64_t best = INT64_MAX, best_ids = INT64_MAX;
    for (int round = 0; round < 3 * ROUNDS; round++) {
        struct thread th;
        const int64_t *changed;
        size_t n_changed;
        arena_reset(&t->arena);
        int64_t begin = now_ns();
        must(store_read_thread(t->s, &t->arena, root, 100000, &th, &e), "thread");
        int64_t took = now_ns() - begin;
        best = took < best ? took : best;
        if (th.n != n)
            fprintf(stderr, "reads: %zu nodes\n", th.n);
        int64_t *ids = arena_alloc(&t->arena, th.n * sizeof *ids);
        for (size_t i = 0; i < th.n; i++)
            ids[i] = th.nodes[i].it.item.id;
        begin = now_ns();
        must(store_have_revisions(t->s, &t->arena, ids, th.n, &changed, &n_changed, &e), "have");
        took = now_ns() - begin;
        best_ids = took < best_ids ? took : best_ids;
    }
    report(what, best, 1);
    report("  which of it has revisions", best_ids, 1);
}

static void bench_pages(struct bench *t) {
    int64_t best_new = INT64_MAX, best_list = INT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        struct read_items its;
        const int64_t *ids;
        size_t n;
        int64_t seen_at, begin = now_ns();
        arena_reset(&t->arena);
        must(store_read_newest(t->s, &t->arena, 0, 30, &its, &e), "newest");
        int64_t took = now_ns() - begin;
        best_new = took < best_new ? took : best_new;
        begin = now_ns();
        must(store_read_list(t->s, &t->arena, "top", &ids, &n, &seen_at, &e), "list");
        took = now_ns() - begin;
        best_list = took < best_list ? took : best_list;
    }
    report("the newest 30 stories", best_new, 1);
    report("a list that was never seen", best_list, 1);
}

int main(int argc, char **argv) {
    struct bench t = {.next_id = 1};
    const struct store_options o = {
        .uri = argc > 1 ? argv[1] : "", .clock = &clock_machine, .schema_rule = SCHEMA_MIGRATE};
    char words[400];
    for (size_t i = 0; i < sizeof words; i++)
        words[i] = i % 6 == 5 ? ' ' : (char)('a' + i % 26);
    t.text = (struct str){words, sizeof words};
    must(store_open(&o, &t.s, &e), "open");
    if (!store_is_shared(t.s))
        which_clock = CLOCK_THREAD_CPUTIME_ID;
    arena_init(&t.arena);
    t.b = batch_new();
    take_segment(&t);
    for (int i = 0; i < STORIES; i++)
        add_thread(&t, SMALL);
    int64_t medium = add_thread(&t, MEDIUM), large = add_thread(&t, LARGE);
    for (int i = 0; i < STORIES / 10; i++)
        add_thread(&t, SMALL);
    flush(&t, true);
    bench_items(&t, 1, STORIES * SMALL / 2);
    bench_thread(&t, "a thread of 1,000 comments", medium, MEDIUM);
    bench_thread(&t, "a thread of 3,000 comments", large, LARGE);
    bench_pages(&t);
    batch_free(t.b);
    arena_release(&t.arena);
    store_close(t.s);
    return 0;
}
