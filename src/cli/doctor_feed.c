/* The tables whose changes are logged. */
#include "cli/doctor.h"
#include "store/cdc.h"

#include <inttypes.h>

static void check_table(struct checkup *c, const struct cdc_table *t) {
    if (t->trouble.p) {
        struct check *k = check_add(c, CHECK_WARN, "feed", "%.*s.%.*s: %.*s", STR_FMT(t->schema),
                                    STR_FMT(t->name), STR_FMT(t->trouble));
        if (t->mend.p)
            check_advise(k, "%.*s", STR_FMT(t->mend));
    }
    if (t->failures)
        check_advise(check_add(c, CHECK_WARN, "feed",
                               "%.*s.%.*s: %" PRId64 " changes could not be logged and wait",
                               STR_FMT(t->schema), STR_FMT(t->name), t->failures),
                     "serve, up and 'tain cdc tail' heal them; cdc_failures has the errors");
}

void doctor_feed(struct checkup *c, struct store *store) {
    CLEANUP(arena_release) struct arena a;
    const struct cdc_table *tables;
    size_t n, own = 0, ill = 0;
    struct err e = {0};
    arena_init(&a);
    if (store_cdc_list(store, &a, &tables, &n, &e) != V_OK) {
        check_add(c, CHECK_FAIL, "feed", "%s", e.msg);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        check_table(c, &tables[i]);
        own += !tables[i].built_in;
        ill += tables[i].trouble.p || tables[i].failures;
    }
    if (!ill)
        check_add(c, CHECK_OK, "feed",
                  "changes of items, users and %zu table%s of your own are logged", own,
                  own == 1 ? "" : "s");
}
