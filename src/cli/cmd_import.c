#include "base/log.h"
#include "cli/archive.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/dump_report.h"
#include "cli/format.h"
#include "cli/options.h"
#include "cli/shapes.h"
#include "cli/standard.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define CLOCK_SLACK_MS 5000 /* a stamp further ahead of now counts as none */

static void show(void *arg, const struct import_view *v) {
    char a[FORMAT_MAX], b[FORMAT_MAX], c[FORMAT_MAX], note[160];
    snprintf(note, sizeof note, "%s lines, %s items stored, %s broken",
             format_count(a, v->state.lines), format_count(b, v->state.items),
             format_count(c, v->state.broken));
    const struct progress_view view = {
        .total_ids = v->total_bytes,
        .done_ids = v->bytes,
        .bytes = true,
        .phase = v->phase,
        .note = note,
        .paused = v->db_down_ms > 1000,
        .pause_reason = "waiting for the database",
    };
    progress_update(arg, &view);
}

static const char *file_of(const struct settings *s) {
    return s->words.n ? s->words.items[0] : "-";
}

/* The same command goes on, unless it says that it must not. */
static void make_resume_command(struct settings *s, struct strbuf *out) {
    s->origin[option_index(option_find("restart"))] = ORIGIN_DEFAULT;
    settings_command_line(s, out);
    if (strcmp(file_of(s), "-") == 0)
        strbuf_adds(out, ", with the same input");
}

static int exit_code_of(const struct import_result *r) {
    switch (r->end) {
    case IMPORT_COMPLETE:
        return sample_is_fine(&r->sample) ? EXIT_DONE : EXIT_UNRESOLVED;
    case IMPORT_BROKEN_LINES:
        return EXIT_UNRESOLVED;
    case IMPORT_STOPPED:
        return signal_received() == SIGINT ? EXIT_SIGINT : EXIT_SIGTERM;
    case IMPORT_FAILED:
        break;
    }
    return EXIT_FAILED;
}

static void report(struct settings *s, const struct import_result *r, const struct err *e) {
    CLEANUP(strbuf_release) struct strbuf again;
    strbuf_init(&again, 8192);
    make_resume_command(s, &again);
    bool goes_on =
        r->end == IMPORT_STOPPED || (r->end == IMPORT_FAILED && r->checksum != CHECKSUM_BAD);
    const struct dump_report about = {
        .file = file_of(s),
        .trouble = r->end == IMPORT_FAILED ? e->msg : NULL,
        .resume = goes_on ? again.p : NULL,
    };
    if (s->json)
        import_print_json(stdout, r, &about);
    else
        import_print(stderr, r, &about);
}

static int run(struct settings *s, struct store *store, int64_t as_of,
               const struct stop_token *stop) {
    const struct progress_options look = progress_options_for(
        stderr, (enum progress_mode)s->progress, s->log_format == LOG_JSON, &clock_machine);
    struct progress *progress = progress_new(&look);
    CLEANUP(free_ptr) struct import_result *result = xcalloc(1, sizeof *result);
    const struct import_options options = {
        .clock = &clock_machine,
        .store = store,
        .path = file_of(s),
        .as_of_ms = as_of,
        .start_id = s->start_id,
        .end_id = s->end_id,
        .restart = s->restart,
        .check_sum = !s->no_checksum,
        .max_outage_ms = s->max_outage_ms,
        .feed_keep_ms = s->feed_keep_ms,
        .feed_keep_rows = s->feed_keep_rows,
        .sample = s->verify_sample,
        .upstream = s->upstream,
        .user_agent = "tain/" TAIN_VERSION,
        .ca_file = s->ca_file,
        .timeout_ms = s->timeout_ms,
        .stop = stop,
        .tick = show,
        .tick_arg = progress,
    };
    struct err e = {0};
    enum verdict v = import_run(&options, result, &e);
    progress_free(progress);
    if (v == V_STOPPED) {
        complain(s, "stopped before it began");
        result->end = IMPORT_STOPPED;
        return exit_code_of(result);
    }
    if (v != V_OK) {
        complain(s, e.msg);
        return EXIT_FAILED;
    }
    report(s, result, &e);
    return exit_code_of(result);
}

/* True: the stamp of the dump's items is in *ret. */
static bool read_as_of(const struct settings *s, int64_t *ret) {
    *ret = IMPORT_NO_DATE;
    if (!s->as_of ||
        (shape_parse_instant(s->as_of, ret) && *ret <= clock_real(&clock_machine) + CLOCK_SLACK_MS))
        return true;
    fprintf(stderr, "tain import: --as-of %s lies in the future\n", s->as_of);
    return false;
}

int cmd_import(struct settings *s) {
    struct err e;
    struct stop_token stop;
    int64_t as_of;
    if (!read_as_of(s, &as_of))
        return EXIT_USAGE;
    if (strcmp(file_of(s), "-") == 0 && standard_was_closed(STDIN_FILENO)) {
        fprintf(stderr, "tain import: standard input is closed; name a FILE, or give it a dump\n");
        return EXIT_USAGE;
    }
    if (strcmp(file_of(s), "-") != 0 && access(file_of(s), R_OK) != 0) {
        fprintf(stderr, "tain import: %s: %s\n", file_of(s), strerror(errno));
        return EXIT_FAILED; /* before an archive is made for nothing */
    }
    if (stop_init(&stop, &e) != V_OK) {
        complain(s, e.msg);
        return EXIT_FAILED;
    }
    signals_to(&stop);
    struct store *store = NULL;
    int code = archive_open(s, s->no_migrate ? SCHEMA_REQUIRE : SCHEMA_MIGRATE, &store);
    if (code == 0)
        code = run(s, store, as_of, &stop);
    store_close(store);
    stop_release(&stop);
    return code;
}
