#include "base/clock.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/shapes.h"

#include "demo/server.h"
#include "demo/services.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

static int fail(enum verdict v, const struct err *e) {
    fprintf(stderr, "tain demo: %s\n", e->msg);
    return v == V_INVALID || v == V_LIMIT ? EXIT_USAGE : EXIT_FAILED;
}

static int dump(const struct settings *s) {
    int64_t lo, hi;
    struct corpus *corpus = NULL;
    struct err e;
    if (!shape_parse_id_range(s->dump, &lo, &hi) || hi > CORPUS_MAX_ID) {
        fprintf(stderr, "tain demo: --dump: '%.60s' is not allowed; give ids up to %" PRId64 "\n",
                s->dump, CORPUS_MAX_ID);
        return EXIT_USAGE;
    }
    const struct corpus_options o = {.seed = (uint64_t)s->seed, .maxitem = s->maxitem};
    enum verdict v = corpus_new(&o, &corpus, &e);
    if (v != V_OK)
        return fail(v, &e);
    corpus_dump(corpus, lo, hi, stdout);
    corpus_free(corpus);
    return EXIT_DONE;
}

/* The line that scripts wait for: it is out before the first request can come. */
static void announce(const struct settings *s, struct demo *demo) {
    bool v6 = strchr(s->bind, ':');
    printf("demo upstream at http://%s%s%s:%d/v0 (seed %" PRId64 ", maxitem %" PRId64 ")\n",
           v6 ? "[" : "", s->bind, v6 ? "]" : "", demo_port(demo), s->seed, s->maxitem);
    if (s->services)
        demo_services_tell(demo, stdout);
    fflush(stdout);
}

/* So that the newest item is of this minute. */
static int64_t first_time(const struct settings *s) {
    return s->fresh ? clock_real(&clock_machine) / 1000 - CORPUS_SECONDS_PER_ID * s->maxitem : 0;
}

int cmd_demo(struct settings *s) {
    if (settings_origin(s, "seed") == ORIGIN_DEFAULT)
        s->seed = 1;
    if (s->dump)
        return dump(s);
    /* Blocked before the server's threads exist, so that they inherit it and only sigwait()
     * below sees the signals. */
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    const struct demo_options o = {
        .seed = (uint64_t)s->seed,
        .maxitem = s->maxitem,
        .grow_per_second = s->grow,
        .first_time = first_time(s),
        .bind_host = s->bind,
        .port = (int)s->port,
        .threads = (int)s->threads,
        .faults = (const char *const *)s->fault.items,
        .n_faults = s->fault.n,
        .services = s->services,
    };
    struct demo *demo = NULL;
    struct err e;
    enum verdict v = demo_start(&o, &demo, &e);
    if (v != V_OK)
        return fail(v, &e);
    announce(s, demo);
    int received;
    sigwait(&ends, &received);
    demo_stop(demo);
    return EXIT_DONE;
}
