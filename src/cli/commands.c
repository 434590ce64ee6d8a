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
    {"updater", CMD_UPDATER, "keep the archive fresh, as a daemon",
     "Follows the live event stream, fills gaps after each reconnect, catches up with new items, "
     "looks again at what may have changed, and keeps story lists and profiles. It runs until it "
     "is "
     "stopped by a signal (then it ends with 0) or cannot go on (1, so that a service manager "
     "starts it again). A second one on the same database stands by and takes over when the first "
     "is gone; catchup may run beside it.",
     "tain updater --metrics-bind 127.0.0.1:9464", false, cmd_updater},
    {"up", CMD_UP, "mirror and serve in one process: everything on one machine",
     "updater and serve together, on one database: open the address it names in a browser. An "
     "empty "
     "archive is filled from its newest ids down, so that the last days can be read within a "
     "minute, and history comes behind. SIGTERM stops it (then it ends with 0); a trouble it "
     "cannot "
     "bear ends it with 1. Beside another updater it serves, and stands by.",
     "tain up", false, cmd_up},
    {"serve", CMD_SERVE, "serve pages, the HN API and search from the archive",
     "Answers over HTTP until it is stopped by a signal (then it ends with 0): pages to read and "
     "search, the Hacker News API below /v0 and the HN Search API below /api/v1. It only reads, "
     "but for the search index, which it fills beside. Several may run on one archive.",
     "tain serve --listen 127.0.0.1:8080", false, cmd_serve},
    {"status", CMD_STATUS, "say what the archive has, and what it lacks",
     "Prints the frontier (every id up to it is stored or confirmed missing), the lag behind the "
     "newest item, and what waits, stalls or was given up. It asks the database only.",
     "tain status --json", false, cmd_status},
    {"verify", CMD_VERIFY, "prove that the archive holds what it says",
     "Looks at every id up to the frontier and above it: each is an item or confirmed missing, and "
     "kids, hashes, url keys, stories, segments and dead letters agree with one another. It reads "
     "in short steps beside running writers. Ends with 3 and a list when something is off.",
     "tain verify --sample 200", true, cmd_verify},
    {"dead-letter",
     CMD_DEAD_LETTER,
     "look at ids that were given up, and decide about them",
     "A dead letter failed at every try and holds the frontier back. list and show say why; replay "
     "lets the next catchup try again with fresh attempts; accept declares it missing, with your "
     "reason, so that the frontier passes. Choose by ID, --id, --start-id and --end-id, --class, "
     "or "
     "--all.",
     "tain dead-letter replay --class http_5xx",
     false,
     cmd_dead_letter,
     {{"ACTION", "list|show|replay|accept"}, {"ID", .optional = true, .many = true}}},
    {"search",
     CMD_SEARCH,
     "find stories and comments by their words",
     "All words must be there, \"several in quotes\" in a row, -this not at all (quote it for the "
     "shell: 'rust -game'). Titles come first, then points. Without words it lists what the "
     "options "
     "let through. What was stored lately may wait for the index, which serve and up fill; --index "
     "does it now.",
     "tain search --type story --since 2020-01-01 lisp",
     true,
     cmd_search,
     {{"WORDS", .optional = true, .many = true}}},
    {"cdc",
     CMD_CDC,
     "log the changes of your own tables, and look at the change feed",
     "install has every change of a table written to the change feed, in the transaction that "
     "makes "
     "it, and never at the expense of it; with --columns only these of a row, and only then may it "
     "be --public. remove ends that, list says what is logged and what is wrong. new-epoch tells "
     "all readers that positions may have been lost: after a restore of a copy. tail prints "
     "the feed, one event in JSON a line, until it is stopped.",
     "tain cdc install --table public.orders",
     false,
     cmd_cdc,
     {{"ACTION", "install|remove|list|new-epoch|tail"}}},
    {"enrich",
     CMD_ENRICH,
     "look up links, and the rows of your tables, by APIs, each once",
     "Works on links (who discussed them on Reddit and HN, what they say), and with --sources on "
     "the rows that its file describes: a change of a row is heard at once, one of all workers "
     "wins it, asks the provider within the limits that all workers share, and writes what it "
     "found. What a worker that died had is found by a sweep. It runs until it is stopped by a "
     "signal (then it ends with 0, and holds nothing). Any number may run; --dry-run looks at the "
     "rows of --sources and does nothing.",
     "tain enrich --sources flowsheet.conf",
     false,
     cmd_enrich,
     {{"ACTION", "status|pause|resume", .optional = true}, {"LANE", .optional = true}}},
    {"doctor", CMD_DOCTOR, "check the database, the upstream and this machine",
     "One line per check: ok, warn or fail, and what to do about it. It changes nothing.",
     "tain doctor --db postgres://localhost/hn", false, cmd_doctor},
    {"import",
     CMD_IMPORT,
     "fill the archive from a dump",
     "Reads one item in Firebase form a line, plain or compressed with zstd, from FILE or standard "
     "input. It may be stopped at any time and goes on where it was. Nothing that a fetch stored "
     "is "
     "overwritten unless --as-of says that the dump is newer; catchup then fetches what it lacked. "
     "Broken lines are counted and named, and stop nothing.",
     "tain import hn.ndjson.zst",
     true,
     cmd_import,
     {{"FILE", .optional = true}}},
    {"export",
     CMD_EXPORT,
     "write the archive to a dump",
     "Writes one item in Firebase form a line, by id, to FILE or standard output, compressed if "
     "FILE ends in .zst. The file gets its name when it is whole, and FILE.sha256 beside it; "
     "--resume goes on with what an interrupted one left, or adds what is new to a whole one. It "
     "reads in short steps beside running writers.",
     "tain export hn.ndjson.zst",
     true,
     cmd_export,
     {{"FILE", .optional = true}}},
    {"migrate", CMD_MIGRATE, "bring the database schema up to date",
     "Applies the migrations that the database lacks, all or none. Commands that write do so "
     "themselves unless --no-migrate is given. With --partitioned the large tables of an archive "
     "on PostgreSQL become partitioned ones, which no other command ever does.",
     "tain migrate --db postgres://localhost/hn --partitioned", false, cmd_migrate},
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
