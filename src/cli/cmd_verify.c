#include "base/rng.h"
#include "cli/archive.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/format.h"
#include "cli/verify_report.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define SEED_MASK 0xFFFFFFFFu /* short enough to be typed again */

static void show(void *arg, const struct verify_view *v) {
    char note[FORMAT_MAX + 32], n[FORMAT_MAX];
    snprintf(note, sizeof note, "%s finding%s", format_count(n, v->findings),
             v->findings == 1 ? "" : "s");
    const struct progress_view view = {
        .total_ids = v->total,
        .done_ids = v->done,
        .phase = v->sampling ? "sampling" : "verifying",
        .note = note,
    };
    progress_update(arg, &view);
}

static int exit_code_of(const struct verify_report *r) {
    if (r->stopped)
        return signal_received() == SIGINT ? EXIT_SIGINT : EXIT_SIGTERM;
    return verify_is_fine(r) ? EXIT_DONE : EXIT_UNRESOLVED;
}

static void print(const struct settings *s, const struct verify_report *r) {
    CLEANUP(strbuf_release) struct strbuf again;
    strbuf_init(&again, 4096);
    settings_command_line(s, &again);
    const struct verify_asked asked = {s->repair, s->sample > 0, again.p};
    if (s->json)
        verify_print_json(stdout, r, &asked);
    else
        verify_print(stdout, r, &asked);
}

static int run(const struct settings *s, struct store *store, const struct stop_token *stop) {
    const struct progress_options look = progress_options_for(
        stderr, (enum progress_mode)s->progress, s->log_format == LOG_JSON, &clock_machine);
    struct progress *progress = progress_new(&look);
    CLEANUP(free_ptr) struct verify_report *report = xcalloc(1, sizeof *report);
    const struct verify_options options = {
        .clock = &clock_machine,
        .store = store,
        .start_id = s->start_id,
        .end_id = s->end_id,
        .repair = s->repair,
        .sample = s->sample,
        .seed = settings_origin(s, "seed") == ORIGIN_DEFAULT ? rng_fresh().state & SEED_MASK
                                                             : (uint64_t)s->seed,
        .upstream = s->upstream,
        .user_agent = "tain/" TAIN_VERSION,
        .ca_file = s->ca_file,
        .timeout_ms = s->timeout_ms,
        .stop = stop,
        .tick = show,
        .tick_arg = progress,
    };
    struct err e = {0};
    enum verdict v = verify_run(&options, report, &e);
    progress_free(progress);
    if (v != V_OK) {
        complain(s, e.msg);
        return v == V_INVALID ? EXIT_USAGE : EXIT_FAILED;
    }
    print(s, report);
    return exit_code_of(report);
}

int cmd_verify(struct settings *s) {
    struct err e;
    struct stop_token stop;
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
