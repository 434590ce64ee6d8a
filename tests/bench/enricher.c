/* One whole worker of `tain enrich`, but for the provider, which is free: it answers in the same
 * thread, at once. Hears the feed, claims, makes requests, reads answers, writes results.
 *
 *     enricher sqlite:PATH | postgres://...  PLAN N [http]
 *
 * With `http` it calls the provider of the plan instead. Says "ready" when it listens, and
 * "done SECONDS" with its own CPU time when N rows are final. SIGTERM ends it before, with "end won
 * N lost N": its claims. */
#include "base/metrics.h"
#include "enrich/engine.h"
#include "enrich/enrich_metrics.h"
#include "feed/reader.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS 100
#define NO_MATCH "{\"results\":[],\"timeout\":false,\"degraded\":false}"
#define MATCH                                                                                \
    "{\"results\":[{\"library_item\":{\"artist\":\"The Silver Rivers\",\"call\":\"RO\"},"    \
    "\"artwork\":{\"artwork_url\":\"https://img.example.org/release/"                        \
    "R-1234567-1600000000-12.jpeg\","                                                        \
    "\"release_url\":\"https://www.example.org/release/1234567-silver-river\","              \
    "\"spotify_url\":\"https://open.example.org/album/4aawyAB9vmqN3uQ7FjRGTy\","             \
    "\"release_year\":1997,\"confidence\":0.87,\"artist_bio\":\"A band from the north that " \
    "recorded four albums and a number of singles before they turned to other things.\"}}]," \
    "\"search_type\":\"direct\",\"timeout\":false,\"degraded\":false}"

struct free_provider {
    struct caller base; /* first */
    void *tags[ENGINE_BUSY_MAX];
    size_t n;
    long answered;
    int wake_fd;
};

static struct err e;
static atomic_bool stopped;

static void on_term(int signal_number) {
    (void)signal_number;
    atomic_store(&stopped, true);
}

static void must(enum verdict v, const char *what) {
    if (v == V_OK)
        return;
    fprintf(stderr, "enricher: %s: %s: %s\n", what, verdict_name(v), e.msg);
    exit(1);
}

static enum verdict start(struct caller *c, const struct provider *p, struct str method,
                          struct str path, struct str body, void *tag, struct err *err) {
    struct free_provider *f = (struct free_provider *)c;
    (void)p, (void)method, (void)path, (void)body, (void)err;
    f->tags[f->n++] = tag;
    return V_OK;
}

static int step(struct caller *c, int64_t deadline_mono, call_done_fn *done, void *ctx) {
    struct free_provider *f = (struct free_provider *)c;
    struct pollfd fd = {f->wake_fd, POLLIN, 0};
    uint64_t rings;
    int n = (int)f->n;
    for (size_t i = 0; i < f->n; i++) {
        const struct call_result r = {.tag = f->tags[i],
                                      .cls = NET_OK,
                                      .status = 200,
                                      .body = f->answered++ % 8 ? STR(MATCH) : STR(NO_MATCH),
                                      .retry_after_ms = -1};
        done(ctx, &r);
    }
    f->n = 0;
    if (poll(&fd, 1, n ? 0 : clock_wait_ms(&clock_machine, deadline_mono, STEP_MS)) > 0 &&
        read(f->wake_fd, &rings, sizeof rings) < 0)
        return n;
    return n;
}

static void wake(struct caller *c) {
    const uint64_t one = 1;
    if (write(((struct free_provider *)c)->wake_fd, &one, sizeof one) < 0)
        return; /* it is full of rings */
}

static void cancel_all(struct caller *c) {
    ((struct free_provider *)c)->n = 0;
}

static const struct metric *metric_called(const char *name) {
    for (size_t i = 0; i < enrich_n_metrics; i++)
        if (strcmp(enrich_metrics[i]->name, name) == 0)
            return enrich_metrics[i];
    return NULL;
}

static int64_t finished(void) {
    static const struct metric *m;
    if (!m)
        m = metric_called("tain_enrich_finished_total");
    int64_t n = 0;
    for (int state = 0; m && state < ROW_STATES - ROW_MATCH; state++)
        n += metric_get(m, metric_series(m, 0, state));
    return n;
}

static double cpu_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void work(struct engine *g, struct feed_hub *hub, int64_t rows) {
    struct feed_state st;
    bool said = false;
    while (finished() < rows && !atomic_load(&stopped)) {
        must(engine_step(g, clock_mono(&clock_machine) + STEP_MS, &e), "step");
        if (!said && feed_hub_ready(hub, &st)) {
            puts("ready");
            fflush(stdout);
            said = true;
        }
    }
    if (stopped) {
        const struct metric *m = metric_called("tain_enrich_claims_total");
        printf("end won %lld lost %lld\n",
               (long long)metric_get(m, metric_series(m, 0, CLAIMS_WON)),
               (long long)metric_get(m, metric_series(m, 0, CLAIMS_LOST)));
    } else {
        printf("done %.3f\n", cpu_s());
    }
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: enricher DATABASE PLAN N [http]\n");
        return 2;
    }
    struct free_provider free_one = {
        {.start = start, .step = step, .wake = wake, .cancel_all = cancel_all},
        .wake_fd = eventfd(0, EFD_NONBLOCK)};
    struct caller *caller = &free_one.base;
    const struct store_options store = {.uri = argv[1], .clock = &clock_machine};
    struct enrich_plan plan;
    struct arena arena;
    struct engine *engine;
    struct feed_reader *reader;
    struct feed_hub *hub = feed_hub_new(1);
    char holder[256];
    signal(SIGTERM, on_term);
    arena_init(&arena);
    process_identity(holder, sizeof holder);
    must(plan_read(argv[2], NULL, &arena, &plan, &e), "plan");
    if (argc > 4)
        must(caller_http_new(&clock_machine, "tain/bench", NULL, &caller, &e), "http");
    const struct engine_options o = {.plan = &plan,
                                     .store = &store,
                                     .clock = &clock_machine,
                                     .caller = caller,
                                     .hub = hub,
                                     .holder = holder};
    const struct feed_options feed = {
        .store = &store, .hub = hub, .clock = &clock_machine, .keep_rows = 0};
    must(engine_new(&o, &engine, &e), "engine");
    must(feed_start(&feed, &reader, &e), "feed");
    work(engine, hub, atoll(argv[3]));
    must(engine_stop(engine, &e), "stop");
    feed_stop(reader);
    engine_free(engine);
    feed_hub_free(hub);
    if (caller != &free_one.base)
        caller_http_free(caller);
    arena_release(&arena);
    return 0;
}
