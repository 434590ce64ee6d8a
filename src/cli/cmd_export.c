#include "base/log.h"
#include "cli/archive.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/dump_report.h"
#include "cli/format.h"
#include "cli/options.h"
#include "cli/standard.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { COMPRESS_AUTO, COMPRESS_NONE, COMPRESS_ZSTD }; /* the choices of --compress */

static void show(void *arg, const struct export_view *v) {
    char a[FORMAT_MAX], b[FORMAT_MAX], note[160];
    snprintf(note, sizeof note, "%s items, %s bytes", format_count(a, v->items),
             format_count(b, v->bytes));
    const struct progress_view view = {
        .total_ids = v->last - v->first + 1,
        .done_ids = v->at - v->first + 1,
        .phase = "exporting",
        .note = note,
        .paused = v->db_down_ms > 1000,
        .pause_reason = "waiting for the database",
    };
    progress_update(arg, &view);
}

static const char *file_of(const struct settings *s) {
    return s->words.n ? s->words.items[0] : "-";
}

static bool to_stdout(const struct settings *s) {
    return strcmp(file_of(s), "-") == 0;
}

static bool compresses(const struct settings *s) {
    return s->compress == COMPRESS_ZSTD ||
           (s->compress == COMPRESS_AUTO && str_ends(str_of(file_of(s)), ".zst"));
}

static int exit_code_of(enum export_end end) {
    if (end == EXPORT_STOPPED)
        return signal_received() == SIGINT ? EXIT_SIGINT : EXIT_SIGTERM;
    return end == EXPORT_COMPLETE ? EXIT_DONE : EXIT_FAILED;
}

static void report(struct settings *s, const struct export_result *r, const struct err *e) {
    CLEANUP(strbuf_release) struct strbuf again;
    strbuf_init(&again, 8192);
    s->resume = true;
    s->origin[option_index(option_find("resume"))] = ORIGIN_FLAG;
    settings_command_line(s, &again);
    const struct dump_report about = {
        .file = file_of(s),
        .trouble = r->end == EXPORT_FAILED ? e->msg : NULL,
        .resume = r->end != EXPORT_COMPLETE && !to_stdout(s) ? again.p : NULL,
    };
    if (s->json)
        export_print_json(stdout, r, &about);
    else
        export_print(stderr, r, &about);
}

static int run(struct settings *s, struct store *store, const struct stop_token *stop) {
    const struct progress_options look = progress_options_for(
        stderr, (enum progress_mode)s->progress, s->log_format == LOG_JSON, &clock_machine);
    struct progress *progress = progress_new(&look);
    struct export_result result;
    const struct export_options options = {
        .clock = &clock_machine,
        .store = store,
        .path = file_of(s),
        .start_id = s->start_id,
        .end_id = s->end_id,
        .compress = compresses(s),
        .level = (int)s->level,
        .resume = s->resume,
        .max_outage_ms = s->max_outage_ms,
        .stop = stop,
        .tick = show,
        .tick_arg = progress,
    };
    struct err e = {0};
    enum verdict v = export_run(&options, &result, &e);
    progress_free(progress);
    if (v != V_OK) {
        complain(s, e.msg);
        return EXIT_FAILED;
    }
    report(s, &result, &e);
    return exit_code_of(result.end);
}

/* What only makes sense with a file of its own. */
static bool usage_is_wrong(const struct settings *s) {
    if (to_stdout(s) && standard_was_closed(STDOUT_FILENO)) {
        fprintf(stderr,
                "tain export: standard output is closed; name a FILE, or give it a reader\n");
        return true;
    }
    const char *option = s->json ? "--json" : s->resume ? "--resume" : NULL;
    if (!option || !to_stdout(s))
        return false;
    fprintf(stderr, "tain export: %s needs a FILE: the dump goes to standard output\n", option);
    return true;
}

int cmd_export(struct settings *s) {
    struct err e;
    struct stop_token stop;
    if (usage_is_wrong(s))
        return EXIT_USAGE;
    if (stop_init(&stop, &e) != V_OK) {
        complain(s, e.msg);
        return EXIT_FAILED;
    }
    signals_to(&stop);
    struct store *store = NULL;
    int code = archive_open(s, SCHEMA_REQUIRE, &store);
    if (code == 0)
        code = run(s, store, &stop);
    store_close(store);
    stop_release(&stop);
    return code;
}
