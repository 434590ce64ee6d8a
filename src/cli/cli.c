#include "cli/cli.h"

#include "base/fault.h"
#include "base/rng.h"
#include "base/suggest.h"
#include "cli/archive.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/standard.h"

#include <curl/curl.h>
#include <libpq-fe.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int print_version(FILE *out) {
    int pq = PQlibVersion();
    fprintf(out, "tain %s\n%s\nSQLite/%s\nlibpq/%d.%d\n", TAIN_VERSION, curl_version(),
            sqlite3_libversion(), pq / 10000, pq % 10000);
    return EXIT_DONE;
}

static int unknown_command(const char *name, FILE *complaints) {
    size_t n;
    const struct command *table = command_table(&n), *best = NULL;
    int best_distance = 0;
    for (size_t i = 0; i < n; i++) {
        int distance = suggest_distance(name, table[i].name);
        if (!best || distance < best_distance) {
            best = &table[i];
            best_distance = distance;
        }
    }
    fprintf(complaints, "tain: unknown command '%.60s'", word_shown(name));
    if (best && suggest_near(name, best_distance))
        fprintf(complaints, "; did you mean 'tain %s'?", best->name);
    fputs("\nTry 'tain --help'.\n", complaints);
    return EXIT_USAGE;
}

/* What the build makes pages and completions with; not for people, so help keeps silent of it. */
static int print_generated(const char *what, const char *name, FILE *out, FILE *complaints) {
    const struct command *c = name ? command_find(name) : NULL;
    if (strcmp(what, "--man") == 0) {
        if (name && !c)
            return unknown_command(name, complaints);
        man_page(out, c);
    } else if (strcmp(what, "--reference") == 0) {
        reference_print(out);
    } else if (strcmp(what, "--fault-points") == 0) {
        for (const char *point = fault_next(NULL); point; point = fault_next(point))
            fprintf(out, "%s\n", point);
    } else if (name && strcmp(name, "bash") == 0) {
        completion_bash(out);
    } else if (name && strcmp(name, "zsh") == 0) {
        completion_zsh(out);
    } else {
        fputs("tain help --completion: give bash or zsh\n", complaints);
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

static bool is_generated(const char *what) {
    return strcmp(what, "--man") == 0 || strcmp(what, "--completion") == 0 ||
           strcmp(what, "--reference") == 0 || strcmp(what, "--fault-points") == 0;
}

static int help_for(const char *name, FILE *out, FILE *complaints) {
    if (!name) {
        help_overview(out);
        return EXIT_DONE;
    }
    const struct command *c = command_find(name);
    if (!c)
        return unknown_command(name, complaints);
    help_command(out, c);
    return EXIT_DONE;
}

#define LONG_RUNNING                                                                         \
    (CMD_CATCHUP | CMD_UPDATER | CMD_SERVE | CMD_UP | CMD_ENRICH | CMD_IMPORT | CMD_EXPORT | \
     CMD_VERIFY)
#define DAEMONS (CMD_UPDATER | CMD_SERVE | CMD_UP | CMD_ENRICH)

/* Log lines of one run can be told from those of the run before and of others beside it. */
static void name_run(const struct settings *s) {
    char id[9];
    struct rng r = rng_fresh();
    snprintf(id, sizeof id, "%08x", (unsigned)(rng_next(&r) >> 32));
    log_set_run(id);
    CLEANUP(strbuf_release) struct strbuf db;
    strbuf_init(&db, 4096);
    settings_value(s, "db", &db);
    bool stays = (s->command & DAEMONS) && s->words.n == 0; /* a verb of it is a short one */
    LOG_AT(stays ? LOG_INFO : LOG_DEBUG, "started", LS("command", s->command_name),
           LS("version", TAIN_VERSION), LS("db", db.p), LI("pid", getpid()));
}

static int run_command(const struct command *c, struct settings *s) {
    log_setup((enum log_level)s->log_level, (enum log_format)s->log_format);
    if (c->id & LONG_RUNNING)
        name_run(s);
    fault_setup(getenv("TAIN_FAULT"));
    signal(SIGPIPE, SIG_IGN); /* a closed socket or pipe is an error to handle, not an end */
    int code = c->run(s);
    log_flush();
    return code;
}

static const char *from_environment(const char *name) {
    return getenv(name);
}

static int load_and_run(const struct command *c, int argc, char **argv, FILE *out,
                        FILE *complaints) {
    CLEANUP(settings_release) struct settings s;
    const struct option_source from = {argc, argv, from_environment};
    struct err e;
    bool help = false;
    if (settings_load(&s, c->id, c->name, &from, &help, &e) != V_OK) {
        log_setup(LOG_ERROR, (enum log_format)s.log_format);
        if (s.log_format == LOG_JSON)
            complain(&s, e.msg);
        else
            fprintf(complaints, "tain %s: %s\nTry 'tain %s --help'.\n", c->name, e.msg, c->name);
        return EXIT_USAGE;
    }
    if (help) {
        help_command(out, c);
        return EXIT_DONE;
    }
    return run_command(c, &s);
}

int cli_run(int argc, char **argv, FILE *out, FILE *complaints) {
    const char *first = argc > 1 ? argv[1] : NULL;
    if (!first) {
        help_overview(complaints);
        return EXIT_USAGE;
    }
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0)
        return help_for(NULL, out, complaints);
    if (strcmp(first, "help") == 0 && argc > 2 && is_generated(argv[2]))
        return print_generated(argv[2], argc > 3 ? argv[3] : NULL, out, complaints);
    if (strcmp(first, "help") == 0)
        return help_for(argc > 2 ? argv[2] : NULL, out, complaints);
    if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0)
        return print_version(out);
    if (first[0] == '-') {
        fprintf(complaints,
                "tain: '%.60s' stands before the command; write tain COMMAND [options]\n"
                "Try 'tain --help'.\n",
                word_shown(first));
        return EXIT_USAGE;
    }
    const struct command *c = command_find(first);
    if (!c)
        return unknown_command(first, complaints);
    return load_and_run(c, argc - 2, argv + 2, out, complaints);
}

int cli_main(int argc, char **argv) {
    standard_guard();
    standard_bare_core();
    int code = cli_run(argc, argv, stdout, stderr);
    /* A full disk behind a redirected standard output must not look like success. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == EXIT_DONE) {
        fputs("tain: cannot write to standard output\n", stderr);
        return EXIT_FAILED;
    }
    return code;
}
