#include "cli/dump_report.h"

#include "cli/format.h"
#include "cli/sample_print.h"

#include <inttypes.h>

static double rate_of(int64_t n, int64_t ms) {
    return ms > 0 ? (double)n * 1000.0 / (double)ms : 0;
}

static void row(FILE *out, const char *name, int64_t n, const char *remark) {
    char number[FORMAT_MAX];
    fprintf(out, "  %-14s%14s%s%s\n", name, format_count(number, n), *remark ? "  " : "", remark);
}

static void row_if(FILE *out, const char *name, int64_t n, const char *remark) {
    if (n)
        row(out, name, n, remark);
}

static void print_head(FILE *out, const char *command, bool ended, int64_t n, int64_t ms,
                       const struct dump_report *about) {
    char count[FORMAT_MAX], time[FORMAT_MAX], rate[FORMAT_MAX];
    fprintf(out, "%s: %s", command, about->trouble ? "failed" : ended ? "finished" : "stopped");
    if (about->trouble)
        fprintf(out, " (%s)", about->trouble);
    fprintf(out, " after %s, %s item%s, %s\n", format_duration(time, ms), format_count(count, n),
            n == 1 ? "" : "s", format_rate(rate, rate_of(n, ms)));
}

static void print_hint(FILE *out, const struct dump_report *about) {
    if (about->resume)
        fprintf(out, "Nothing that was stored is lost. %s: %s\n",
                about->trouble ? "When that is mended, go on with" : "To go on", about->resume);
}

static void print_broken(FILE *out, const struct import_result *r) {
    for (size_t i = 0; i < r->n_broken; i++)
        fprintf(out, "    line %" PRId64 ": %s: %s\n", r->broken[i].number, r->broken[i].cls,
                r->broken[i].text);
    if (r->n_broken == IMPORT_BROKEN_KEPT)
        fprintf(out, "    these are the first %d\n", IMPORT_BROKEN_KEPT);
}

void import_print(FILE *out, const struct import_result *r, const struct dump_report *about) {
    const struct import_state *s = &r->state;
    bool ended = r->end == IMPORT_COMPLETE || r->end == IMPORT_BROKEN_LINES;
    print_head(out, "import", ended, s->items - r->from.items, r->duration_ms, about);
    row(out, "lines", s->lines, r->from.lines ? "those of earlier runs included" : "");
    row(out, "stored", r->stats.inserted, "new to the archive");
    row_if(out, "changed", r->stats.changed, "differ from what was stored");
    row_if(out, "unchanged", r->stats.unchanged, "");
    row_if(out, "stale", r->stats.stale, "a later fetch had been stored already");
    row_if(out, "repeated", r->stats.repeated, "the last one of an id counts");
    row_if(out, "skipped", s->skipped, "outside of the range");
    row_if(out, "missing", s->missing, "the dump says so itself");
    row_if(out, "broken", s->broken, "lines that are no item");
    print_broken(out, r);
    if (r->checksum == CHECKSUM_GOOD)
        fprintf(out, "  the checksum in the .sha256 file is right\n");
    if (r->sample.asked)
        sample_print(out, &r->sample);
    print_hint(out, about);
    fflush(out);
}

struct number {
    const char *key;
    int64_t value;
};

static void add_numbers(struct strbuf *b, const struct number *numbers, size_t n) {
    for (size_t i = 0; i < n; i++)
        strbuf_addf(b, "%s\"%s\":%" PRId64, i ? "," : "", numbers[i].key, numbers[i].value);
}

static void add_text(struct strbuf *b, const char *key, const char *text) {
    if (!text || !*text)
        return;
    strbuf_addf(b, ",\"%s\":", key);
    strbuf_add_json(b, str_of(text));
}

static void add_common(struct strbuf *b, bool stopped, const struct dump_report *about) {
    strbuf_addf(b, ",\"stopped\":%s", stopped ? "true" : "false");
    add_text(b, "file", about->file);
    add_text(b, "error", about->trouble);
    add_text(b, "resume_command", about->resume);
}

static void add_broken(struct strbuf *b, const struct import_result *r) {
    strbuf_adds(b, ",\"broken_lines\":[");
    for (size_t i = 0; i < r->n_broken; i++) {
        strbuf_addf(b, "%s{\"line\":%" PRId64 ",\"class\":\"%s\",\"text\":", i ? "," : "",
                    r->broken[i].number, r->broken[i].cls);
        strbuf_add_json(b, str_of(r->broken[i].text));
        strbuf_addc(b, '}');
    }
    strbuf_addc(b, ']');
}

static void print_json(FILE *out, struct strbuf *b) {
    strbuf_adds(b, "}\n");
    fwrite(b->p, 1, b->n, out);
    fflush(out);
}

void import_print_json(FILE *out, const struct import_result *r, const struct dump_report *about) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 64 * 1024);
    const struct import_state *s = &r->state;
    const struct number numbers[] = {
        {"lines", s->lines},
        {"items", s->items},
        {"resumed_lines", r->from.lines},
        {"stored", r->stats.inserted},
        {"changed", r->stats.changed},
        {"unchanged", r->stats.unchanged},
        {"stale", r->stats.stale},
        {"repeated", r->stats.repeated},
        {"skipped", s->skipped},
        {"missing", s->missing},
        {"broken", s->broken},
        {"adopted", r->adopted},
        {"text_bytes", s->bytes},
        {"duration_ms", r->duration_ms},
    };
    static const char *const sums[] = {"none", "good", "bad"};
    strbuf_adds(&b, "{\"command\":\"import\",");
    add_numbers(&b, numbers, ARRAY_LEN(numbers));
    strbuf_addf(&b, ",\"rate_per_s\":%.1f", rate_of(s->items - r->from.items, r->duration_ms));
    add_text(&b, "checksum", sums[r->checksum]);
    add_text(&b, "sha256", r->sha256);
    add_broken(&b, r);
    if (r->sample.asked)
        sample_add_json(&b, &r->sample);
    add_common(&b, r->end == IMPORT_STOPPED || r->end == IMPORT_FAILED, about);
    print_json(out, &b);
}

void export_print(FILE *out, const struct export_result *r, const struct dump_report *about) {
    char a[FORMAT_MAX], b[FORMAT_MAX];
    print_head(out, "export", r->end == EXPORT_COMPLETE, r->items, r->duration_ms, about);
    if (r->items)
        fprintf(out, "  ids %s to %s\n", format_count(a, r->first_id), format_count(b, r->last_id));
    if (r->resumed_after)
        fprintf(out, "  behind %s, which was there already\n", format_count(a, r->resumed_after));
    row(out, "bytes", r->bytes, "");
    if (*r->sha256)
        fprintf(out, "  sha256 %s\n", r->sha256);
    print_hint(out, about);
    fflush(out);
}

void export_print_json(FILE *out, const struct export_result *r, const struct dump_report *about) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 64 * 1024);
    const struct number numbers[] = {
        {"items", r->items},     {"first_id", r->first_id},
        {"last_id", r->last_id}, {"resumed_after", r->resumed_after},
        {"bytes", r->bytes},     {"duration_ms", r->duration_ms},
    };
    strbuf_adds(&b, "{\"command\":\"export\",");
    add_numbers(&b, numbers, ARRAY_LEN(numbers));
    strbuf_addf(&b, ",\"rate_per_s\":%.1f", rate_of(r->items, r->duration_ms));
    add_text(&b, "sha256", r->sha256);
    add_common(&b, r->end != EXPORT_COMPLETE, about);
    print_json(out, &b);
}
