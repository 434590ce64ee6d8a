#include "cli/archive.h"
#include "cli/cli.h"
#include "cli/commands.h"

#include <stdio.h>

/* Opening an archive migrates it; this command opens it without, to say what was done. */
int cmd_migrate(struct settings *s) {
    struct store *store;
    struct migrate_report report;
    struct err e;
    int code = archive_open(s, SCHEMA_IGNORE, &store);
    if (code)
        return code;
    if (store_migrate(store, &report, &e) != V_OK) {
        fprintf(stderr, "tain migrate: %s\n", e.msg);
        store_close(store);
        return EXIT_FAILED;
    }
    store_close(store);
    if (s->json)
        printf("{\"before\":%d,\"after\":%d}\n", report.before, report.after);
    else if (report.before == report.after)
        printf("the schema is up to date (version %d)\n", report.after);
    else
        printf("migrated the schema from version %d to %d\n", report.before, report.after);
    return EXIT_DONE;
}
