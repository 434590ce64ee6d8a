#include "cli/archive.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "store/partitions.h"

#include <stdio.h>
#include <unistd.h>

#define TRIES 60 /* of two seconds at most, and a second between them */

static int fail(const struct settings *s, struct store *store, const struct err *e) {
    complain(s, e->msg);
    store_close(store);
    return EXIT_FAILED;
}

/* The tables are locked for the moment of the swap; while someone reads long, that must wait. */
static enum verdict partition(const struct settings *s, struct store *store, struct err *e) {
    enum verdict v = V_RETRY;
    for (int i = 0; i < TRIES && v == V_RETRY; i++) {
        if (i == 1)
            fprintf(stderr, "tain migrate: %s; trying again for up to %d minutes\n", e->msg,
                    TRIES * 3 / 60);
        if (i > 0)
            sleep(1);
        v = i > 0 ? store_recover(store, e) : V_OK;
        if (v == V_OK)
            v = store_partition(store, s->partition_width, e);
    }
    return v;
}

static void print_schema(const struct migrate_report *r) {
    if (r->before == r->after)
        printf("the schema is up to date (version %d)\n", r->after);
    else
        printf("migrated the schema from version %d to %d\n", r->before, r->after);
}

static void print_partitions(const struct settings *s, const struct partition_state *st) {
    const int64_t ids = st->of[PARTITION_ITEMS].width, positions = st->of[PARTITION_LOG].width;
    if (!ids && !positions)
        return;
    if (!ids || !positions) {
        printf("half of the archive is partitioned: %s is, %s is not yet; run 'tain migrate "
               "--partitioned' again\n",
               ids ? "items" : "the change log", ids ? "the change log" : "items");
        return;
    }
    printf("the archive is partitioned: items by %lld ids, the change log by %lld positions\n",
           (long long)ids, (long long)positions);
    if (s->partitioned && ids != s->partition_width)
        printf("it was before, and stays as it was\n");
}

/* Opening an archive migrates it; this command opens it without, to say what was done. */
int cmd_migrate(struct settings *s) {
    struct store *store;
    struct migrate_report report;
    struct partition_state st;
    struct err e;
    if (s->partitioned && str_starts(str_of(s->db), "sqlite:")) { /* before there is a file */
        complain(s, "--partitioned needs PostgreSQL: an archive in a file has no partitions");
        return EXIT_USAGE;
    }
    int code = archive_open(s, SCHEMA_IGNORE, &store);
    if (code)
        return code;
    if (store_migrate(store, &report, &e) != V_OK)
        return fail(s, store, &e);
    if (s->partitioned && partition(s, store, &e) != V_OK)
        return fail(s, store, &e);
    if (store_partition_state(store, &st, &e) != V_OK)
        return fail(s, store, &e);
    store_close(store);
    if (s->json)
        printf("{\"before\":%d,\"after\":%d,\"partitions\":{\"items\":%lld,\"change_log\":%lld}}\n",
               report.before, report.after, (long long)st.of[PARTITION_ITEMS].width,
               (long long)st.of[PARTITION_LOG].width);
    else {
        print_schema(&report);
        print_partitions(s, &st);
    }
    return EXIT_DONE;
}
