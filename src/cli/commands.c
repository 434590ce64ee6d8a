#include "cli/commands.h"
#include "cli/cli.h"

#include <string.h>

/* One row per command, in the order of the overview. */
static const struct command table[] = {
    {"catchup", CMD_CATCHUP, "fill the archive with a range of ids",
     "Fetches every id from the frontier to the newest item, or of the window that is asked for, "
     "and stores what it finds. It may be stopped at any time and goes on where it was; several "
     "may run on one PostgreSQL and share the work.",
     "tain catchup --limit 100000", true, cmd_catchup},
    {"status", CMD_STATUS, "say what the archive has, and what it lacks",
     "Prints the frontier (every id up to it is stored or confirmed missing), the lag behind the "
     "newest item, and what waits, stalls or was given up. It asks the database only.",
     "tain status --json", false, cmd_status},
    {"migrate", CMD_MIGRATE, "bring the database schema up to date",
     "Applies the migrations that the database lacks, all or none. Commands that write do so "
     "themselves unless --no-migrate is given.",
     "tain migrate --db postgres://localhost/hn", false, cmd_migrate},
    {"demo", CMD_DEMO, "serve a made-up Hacker News to try things on",
     "Serves a corpus computed from a seed under the addresses of the Hacker News API, until it is "
     "stopped by a signal. Nothing is read from or written to disk. The first line of output "
     "names the address, to be given to --upstream.",
     "tain demo --maxitem 20000 --port 8080", false, cmd_demo},
};

const struct command *command_table(size_t *ret_n) {
    *ret_n = ARRAY_LEN(table);
    return table;
}

const struct command *command_find(const char *name) {
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}
