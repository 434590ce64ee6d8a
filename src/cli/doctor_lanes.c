/* Providers of enrichment that are not called at the moment, and why. */
#include "cli/doctor.h"
#include "cli/lane_words.h"

static void check_lane(struct checkup *c, const struct lane_row *r) {
    char words[LANE_WORDS_MAX];
    struct check *row =
        check_add(c, CHECK_WARN, "lanes", "%.*s: %s", STR_FMT(r->name), lane_state_words(words, r));
    if (r->state.pause == LANE_PAUSED_AUTH)
        check_advise(row, "look at its token, then 'tain enrich resume %.*s'", STR_FMT(r->name));
    else if (r->state.pause != LANE_RUNS)
        check_advise(row, "'tain enrich resume %.*s' lets it go on", STR_FMT(r->name));
    else
        check_advise(row, "rows wait meanwhile, and spend no attempt");
}

void doctor_lanes(struct checkup *c, struct store *store) {
    CLEANUP(arena_release) struct arena a;
    const struct lane_row *rows;
    size_t n, ill = 0;
    struct err e = {0};
    arena_init(&a);
    if (store_lane_list(store, &a, &rows, &n, &e) != V_OK) {
        check_add(c, CHECK_FAIL, "lanes", "%s", e.msg);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (rows[i].state.pause != LANE_RUNS || rows[i].state.breaker != BREAKER_CLOSED) {
            check_lane(c, &rows[i]);
            ill++;
        }
    if (n > 0 && ill == 0)
        check_add(c, CHECK_OK, "lanes", "%zu provider%s of enrichment, none paused or ill", n,
                  n == 1 ? "" : "s");
}
