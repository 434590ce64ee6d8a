#include "cli/archive.h"

#include "cli/cli.h"
#include "store/health.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static unsigned stop_seconds = 5;
static const char *overtime_words = "tain: the database hangs; stopped without it. Nothing that "
                                    "was stored is lost, the same command "
                                    "goes on.\n";
static int overtime_code; /* 0: as the signal says */

void complain(const struct settings *s, const char *text) {
    const struct log_field fields[] = {LS("command", s->command_name), LS("error", text)};
    if (s->log_format == LOG_JSON)
        log_write(LOG_ERROR, "failed", fields, ARRAY_LEN(fields));
    else
        fprintf(stderr, "tain %s: %s\n", s->command_name, text);
}

static int say_why(const struct settings *s, enum verdict v, const struct err *e) {
    complain(s, e->msg);
    if (v == V_NOT_FOUND && s->log_format != LOG_JSON)
        fprintf(stderr, "'tain catchup' makes one; --db or TAIN_DB names another.\n");
    return v == V_INVALID ? EXIT_USAGE : EXIT_FAILED;
}

int archive_open(const struct settings *s, enum schema_rule rule, struct store **ret) {
    const struct store_options options = {
        .uri = s->db,
        .schema = s->schema,
        .clock = &clock_machine,
        .revisions = (enum revisions)s->revisions,
        .lease_ms = s->lease_ms,
        .search_ms = s->search_time_ms,
        .log_history = s->feed_history,
        .schema_rule = rule,
        .must_exist = rule == SCHEMA_REQUIRE && !s->no_migrate,
    };
    struct err e;
    enum verdict v = store_open(&options, ret, &e);
    return v == V_OK ? 0 : say_why(s, v, &e);
}

int archive_must_exist(const struct settings *s) {
    const struct store_options options = {.uri = s->db,
                                          .schema = s->schema,
                                          .clock = &clock_machine,
                                          .schema_rule = SCHEMA_IGNORE,
                                          .must_exist = true};
    struct store *store = NULL;
    struct store_health health;
    struct err e;
    enum verdict v = store_open(&options, &store, &e);
    if (v == V_OK)
        v = store_health(store, &health, &e);
    if (v == V_OK && health.schema == 0)
        v = err_set(&e, V_NOT_FOUND, "schema", 0, "there is no archive in this database");
    store_close(store);
    return v == V_OK ? 0 : say_why(s, v, &e);
}

static struct stop_token *raised_by_signal;
static volatile sig_atomic_t received;

static struct timespec first_signal;

/* A second signal ends the process at once, but not one that comes together with the first, as from
 * a terminal that signals a whole group. */
static void on_signal(int number) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (received && now.tv_sec - first_signal.tv_sec > 1)
        _exit(128 + number);
    if (received)
        return;
    first_signal = now;
    received = number;
    stop_raise(raised_by_signal);
    alarm(stop_seconds);
}

/* A database that takes a question and never answers keeps its thread from hearing of the stop. The
 * process ends all the same: what was stored is safe, and the leases of the dead are free. */
static void on_overtime(int number UNUSED) {
    ssize_t told UNUSED = write(STDERR_FILENO, overtime_words, strlen(overtime_words));
    _exit(overtime_code ? overtime_code : received == SIGINT ? EXIT_SIGINT : EXIT_SIGTERM);
}

void signals_allow(int seconds, const char *words, int code) {
    stop_seconds = (unsigned)seconds;
    overtime_words = words;
    overtime_code = code;
}

void signals_to(struct stop_token *stop) {
    raised_by_signal = stop;
    received = 0;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGALRM, on_overtime);
    signal(SIGPIPE, SIG_IGN);
}

int signal_received(void) {
    return received;
}
