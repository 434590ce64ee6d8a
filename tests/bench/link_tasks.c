/* How many tasks of links can one process take and finish in a second? One task at a time, as a
 * worker does it: the lane of HN, as if the mirror answered without a call.
 *
 *     link_tasks sqlite:PATH | postgres://...  N
 *
 * The archive is there and has no links yet. Prints seconds for adding the links, for taking their
 * tasks and for saving what came of them, and how many were done. */
#include "base/clock.h"
#include "store/links_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct err e;

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void must(enum verdict v, const char *what) {
    if (v == V_OK)
        return;
    fprintf(stderr, "link_tasks: %s: %s: %s\n", what, verdict_name(v), e.msg);
    exit(1);
}

static void add(struct store *s, long n) {
    char url[80];
    struct link_added added;
    for (long i = 0; i < n; i++) {
        snprintf(url, sizeof url, "https://example.com/%ld", i);
        const struct link_add a = {
            .url = str_of(url), .source = STR("hn-story"), .submitted_by = STR("auto")};
        must(store_link_add(s, &a, &added, &e), "add");
    }
}

static bool one(struct store *s, struct arena *a, double *taking, double *saving) {
    struct link_job job;
    arena_reset(a);
    double begin = now_s();
    enum verdict v = store_link_take(s, LINK_LANE_HN, STR("bench"), 60000, a, &job, &e);
    if (v == V_NOT_FOUND)
        return false;
    must(v, "take");
    double taken = now_s();
    const struct link_discussion d = {.site = LINK_SITE_HN,
                                      .external_id = STR("8863"),
                                      .external_url =
                                          STR("https://news.ycombinator.com/item?id=8863"),
                                      .title = STR("My YC app: Dropbox"),
                                      .score = 104,
                                      .num_comments = 71};
    const struct link_result r = {.id = job.id,
                                  .token = job.token,
                                  .task = job.task,
                                  .status = LINK_COMPLETED,
                                  .discussions = &d,
                                  .n_discussions = 1};
    must(store_link_save(s, &r, &e), "save");
    *taking += taken - begin;
    *saving += now_s() - taken;
    return true;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: link_tasks DATABASE N\n");
        return 2;
    }
    const struct store_options o = {
        .uri = argv[1], .schema = "tain", .clock = &clock_machine, .schema_rule = SCHEMA_REQUIRE};
    struct store *s;
    struct arena a;
    double taking = 0, saving = 0;
    long done = 0;
    must(store_open(&o, &s, &e), "open");
    arena_init(&a);
    double begin = now_s();
    add(s, atol(argv[2]));
    double adding = now_s() - begin;
    while (one(s, &a, &taking, &saving))
        done++;
    printf("%.6f %.6f %.6f %ld\n", adding, taking, saving, done);
    arena_release(&a);
    store_close(s);
    return 0;
}
