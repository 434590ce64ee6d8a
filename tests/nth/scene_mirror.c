/* A catch-up in one thread (tests/unit/mirror/rig.h): whatever fails, no id is passed over, and the
 * next run has them all. */
#include "rig.h"
#include "scenarios.h"

#define LAST 60

static bool is_there(struct rig *r) {
    return archive_int(&r->a, "SELECT COUNT(*) FROM items") == LAST &&
           archive_int(&r->a, "SELECT COUNT(*) FROM ingest_segments WHERE status <> 'done'") == 0;
}

static enum ingest_end run(struct rig *r) {
    enum ingest_end end = INGEST_RUNNING;
    for (int64_t until = patience(); end == INGEST_RUNNING && patient(until);) {
        nth_on();
        end = rig_round(r);
        nth_off();
    }
    return end;
}

void catchup(void) {
    struct rig r;
    rig_open(&r, &(struct rig_options){.window = {1, LAST}, .concurrency = 16});
    enum ingest_end end = run(&r);
    rig_check_cursors(&r);
    nth_check(end != INGEST_RUNNING, "it does not end");
    nth_check(nth_fired() || end == INGEST_FINISHED, "it failed by itself");
    nth_check(end != INGEST_FINISHED || is_there(&r), "it says that it is done");
    if (!is_there(&r)) {
        clock_advance(&r.a.clock, 600000); /* leases end, and what waits is due */
        rig_again(&r);
        end = rig_run(&r);
        nth_check(end == INGEST_FINISHED && is_there(&r), "the next run ends with %d", (int)end);
    }
    rig_check_cursors(&r);
    rig_close(&r);
}
