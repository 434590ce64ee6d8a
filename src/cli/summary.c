#include "base/log.h"
#include "cli/format.h"
#include "cli/progress.h"

#include <inttypes.h>
#include <string.h>

static double rate_of(const struct summary *s) {
    return s->duration_ms > 0 ? (double)s->done_ids * 1000.0 / (double)s->duration_ms : 0;
}

static void print_row(FILE *out, const char *name, int64_t n, const char *remark) {
    char number[FORMAT_MAX];
    fprintf(out, "  %-14s%14s%s%s\n", name, format_count(number, n), *remark ? "  " : "", remark);
}

static void print_optional(FILE *out, const char *name, int64_t n, const char *remark) {
    if (n != 0)
        print_row(out, name, n, remark);
}

static void print_head(FILE *out, const struct summary *s) {
    char a[FORMAT_MAX], b[FORMAT_MAX], time[FORMAT_MAX], rate[FORMAT_MAX];
    if (s->total_ids == 0) {
        fprintf(out, "%s: nothing to do, the archive is complete up to %s\n", s->command,
                format_count(a, s->frontier));
        return;
    }
    fprintf(out, "%s: %s", s->command, s->stopped ? "stopped" : "finished");
    if (s->stop_reason)
        fprintf(out, " (%s)", s->stop_reason);
    fprintf(out, " after %s, ", format_duration(time, s->duration_ms));
    fprintf(out, "%s of %s ids, %s\n", format_count(a, s->done_ids), format_count(b, s->total_ids),
            format_rate(rate, rate_of(s)));
    if (s->start_id > 0)
        fprintf(out, "  window %s to %s\n", format_count(a, s->start_id),
                format_count(b, s->end_id));
}

static void print_hints(FILE *out, const struct summary *s) {
    char n[FORMAT_MAX];
    if (s->waiting > 0)
        fprintf(out,
                "%s %s still due for another try. The same command tries again when their time "
                "has come;\nwith --wait 10m it stays for them.\n",
                format_count(n, s->waiting), s->waiting == 1 ? "id is" : "ids are");
    if (s->dead_letters > 0)
        fprintf(out,
                "%s dead %s: failed at every try. 'tain dead-letter list' says why; 'tain "
                "dead-letter replay --all'\nlets the next run try again, 'tain dead-letter accept "
                "ID' gives one up for good.\n",
                format_count(n, s->dead_letters), s->dead_letters == 1 ? "letter" : "letters");
    if (s->stopped && s->resume_command)
        fprintf(out, "Nothing that was stored is lost. To go on: %s\n", s->resume_command);
}

void progress_summary(FILE *out, const struct summary *s) {
    char n[FORMAT_MAX];
    print_head(out, s);
    if (s->total_ids > 0) {
        print_row(out, "fetched", s->fetched, "");
        print_row(out, "stored", s->stored, "new to the archive");
        print_row(out, "changed", s->changed, "differ from what was stored");
        print_row(out, "unchanged", s->unchanged, "");
        print_optional(out, "stale", s->stale, "a later fetch had been stored already");
        print_optional(out, "skipped", s->skipped, "stored before this run");
        print_row(out, "missing", s->missing, "the upstream has no such item");
    }
    print_optional(out, "waiting", s->waiting, "will be tried again");
    print_optional(out, "dead letters", s->dead_letters, "given up");
    print_optional(out, "retries", s->retries, "");
    if (s->total_ids > 0)
        print_row(out, "frontier", s->frontier, "every id up to here is settled");
    if (s->frontier_excluding_waiting > s->frontier)
        print_row(out, "", s->frontier_excluding_waiting,
                  "when young ids still waiting are left out");
    if (s->maxitem > 0 && s->frontier < s->maxitem && s->total_ids > 0)
        fprintf(out, "  %-14s%14s  newest item upstream\n", "maxitem", format_count(n, s->maxitem));
    print_hints(out, s);
    fflush(out);
}

#define N_NUMBERS 18

static void numbers_of(const struct summary *s, struct log_field out[N_NUMBERS]) {
    const struct log_field numbers[] = {
        LI("start_id", s->start_id),
        LI("end_id", s->end_id),
        LI("total_ids", s->total_ids),
        LI("done_ids", s->done_ids),
        LI("fetched", s->fetched),
        LI("stored", s->stored),
        LI("changed", s->changed),
        LI("unchanged", s->unchanged),
        LI("stale", s->stale),
        LI("skipped", s->skipped),
        LI("missing", s->missing),
        LI("retries", s->retries),
        LI("waiting", s->waiting),
        LI("dead_letters", s->dead_letters),
        LI("frontier_id", s->frontier),
        LI("frontier_excluding_waiting", s->frontier_excluding_waiting),
        LI("maxitem", s->maxitem),
        LI("duration_ms", s->duration_ms),
    };
    _Static_assert(ARRAY_LEN(numbers) == N_NUMBERS, "all of them");
    memcpy(out, numbers, sizeof numbers);
}

void progress_summary_json(FILE *out, const struct summary *s) {
    CLEANUP(strbuf_release) struct strbuf b;
    struct log_field numbers[N_NUMBERS];
    strbuf_init(&b, 16 * 1024);
    numbers_of(s, numbers);
    strbuf_adds(&b, "{\"command\":");
    strbuf_add_json(&b, str_of(s->command));
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        strbuf_addf(&b, ",\"%s\":%" PRId64, numbers[i].key, numbers[i].number);
    strbuf_addf(&b, ",\"rate_per_s\":%.1f,\"stopped\":%s", rate_of(s),
                s->stopped ? "true" : "false");
    if (s->stop_reason) {
        strbuf_adds(&b, ",\"stop_reason\":");
        strbuf_add_json(&b, str_of(s->stop_reason));
    }
    if (s->resume_command) {
        strbuf_adds(&b, ",\"resume_command\":");
        strbuf_add_json(&b, str_of(s->resume_command));
    }
    strbuf_adds(&b, "}\n");
    fwrite(b.p, 1, b.n, out);
    fflush(out);
}

void progress_summary_log(const struct summary *s) {
    struct log_field fields[N_NUMBERS + 2] = {LS("command", s->command)};
    size_t n = N_NUMBERS + 1;
    numbers_of(s, fields + 1);
    if (s->stop_reason)
        fields[n++] = LS("error", s->stop_reason);
    log_write(s->stop_reason ? LOG_ERROR : LOG_INFO,
              s->stop_reason ? "failed"
              : s->stopped   ? "stopped"
                             : "finished",
              fields, n);
}
