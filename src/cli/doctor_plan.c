/* A plan of enrichment: the file, its tables, its providers. Nothing is claimed, and a provider is
 * only connected to: a call might cost something. */
#include "cli/doctor.h"
#include "cli/enrich_look.h"
#include "cli/format.h"

static void check_source(struct checkup *c, const struct plan_source *src,
                         const struct source_look *s) {
    char pending[FORMAT_MAX];
    check_add(c, CHECK_OK, "sources", "%.*s: %.*s fits, %s rows pending", STR_FMT(src->spec.name),
              STR_FMT(src->spec.table), format_count(pending, s->counts.rows[ROW_PENDING]));
    if (!s->logged)
        check_advise(check_add(c, CHECK_WARN, "sources",
                               "%.*s: changes of %.*s are not logged, so its rows are found up to "
                               "a minute late",
                               STR_FMT(src->spec.name), STR_FMT(src->spec.table)),
                     "'%.*s' has them found at once", STR_FMT(s->install));
    for (size_t i = 0; i < s->n_indexes; i++)
        check_advise(check_add(c, CHECK_WARN, "sources", "%.*s: the sweep misses an index",
                               STR_FMT(src->spec.name)),
                     "%.*s", STR_FMT(s->indexes[i]));
}

static void check_provider(struct checkup *c, const struct enrich_plan *plan,
                           const struct provider *p, struct arena *a) {
    struct err e = {0};
    if (plan_reach(plan, p, &e) == V_OK)
        check_add(c, CHECK_OK, "providers", "%.*s: %.*s is there; it was not called",
                  STR_FMT(p->name), STR_FMT(provider_origin(p, a)));
    else
        check_advise(check_add(c, CHECK_WARN, "providers", "%s", e.msg),
                     "rows wait until it can be, and spend no attempt");
}

void doctor_plan(struct checkup *c, struct store *store) {
    CLEANUP(arena_release) struct arena a;
    struct err e = {0};
    arena_init(&a);
    struct plan_look *look = arena_alloc(&a, sizeof *look);
    if (plan_look(c->s->sources, store, &a, look, &e) != V_OK) {
        check_advise(check_add(c, CHECK_FAIL, "sources", "%s", e.msg),
                     "'tain enrich' would not start with it");
        return;
    }
    for (size_t i = 0; i < look->plan.n_sources; i++)
        check_source(c, &look->plan.sources[i], &look->sources[i]);
    for (size_t i = 0; i < look->plan.n_providers; i++)
        check_provider(c, &look->plan, &look->plan.providers[i], &a);
}
