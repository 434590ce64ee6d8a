#include "cli/verify_report.h"

#include "cli/format.h"
#include "cli/sample_print.h"

#include <inttypes.h>

static void print_row(FILE *out, const char *name, int64_t n, const char *remark) {
    char number[FORMAT_MAX];
    fprintf(out, "  %-14s%14s%s%s\n", name, format_count(number, n), *remark ? "  " : "", remark);
}

static const char *conclusion(const struct verify_report *r) {
    if (r->stopped)
        return "nothing is off so far";
    if (!verify_is_fine(r))
        return "nothing is off, but the sample was not answered";
    return r->ids + r->items ? "the archive holds what it says" : "the archive is empty";
}

static void print_head(FILE *out, const struct verify_report *r) {
    char a[FORMAT_MAX], time[FORMAT_MAX];
    int64_t n = verify_total(r);
    fprintf(out, "verify: %s after %s, ", r->stopped ? "stopped" : "finished",
            format_duration(time, r->duration_ms));
    if (n)
        fprintf(out, "%s finding%s\n", format_count(a, n), n == 1 ? "" : "s");
    else
        fprintf(out, "%s\n", conclusion(r));
}

static void print_figures(FILE *out, const struct verify_report *r) {
    print_row(out, "from", r->range.lo, "");
    print_row(out, "to", r->range.hi, "");
    print_row(out, "frontier", r->frontier.id, "every id from the floor to here is settled");
    if (r->floor > 1)
        print_row(out, "floor", r->floor, "where the archive begins");
    print_row(out, "ids", r->ids, "claimed by segments, and looked at");
    print_row(out, "items", r->items, "with their hashes, url keys and stories");
    print_row(out, "missing", r->missing, "the upstream has no such item");
    if (r->unresolved)
        print_row(out, "unresolved", r->unresolved, "above the frontier: waiting or given up");
    print_row(out, "kids", r->kids, "");
    print_row(out, "segments", r->segments, "");
}

static void print_finding(FILE *out, const struct finding *f) {
    if (f->end_id != f->id)
        fprintf(out, "  %" PRId64 "-%" PRId64 "  %s\n", f->id, f->end_id, f->detail);
    else
        fprintf(out, "  %" PRId64 "  %s\n", f->id, f->detail);
}

static void print_findings(FILE *out, const struct verify_report *r) {
    char a[FORMAT_MAX];
    for (int k = 0; k < FIND_N; k++) {
        const struct findings *found = &r->found[k];
        if (found->count == 0)
            continue;
        fprintf(out, "\n%s: %s (%s)\n", finding_names[k], format_count(a, found->count),
                finding_meanings[k]);
        for (size_t i = 0; i < found->n; i++)
            print_finding(out, &found->list[i]);
        if (found->count > (int64_t)found->n)
            fprintf(out, "  and %s more\n", format_count(a, found->count - (int64_t)found->n));
    }
}

/* What stands in segments already, and how it goes on. */
static void print_repairs(FILE *out, const struct verify_report *r) {
    char a[FORMAT_MAX];
    int64_t waiting = r->open_repairs - r->dead_repairs;
    if (waiting)
        fprintf(out,
                "%s repair segment%s for 'tain catchup', which fetches what is missing or "
                "unconfirmed;\nthen run 'tain verify' again.\n",
                format_count(a, waiting), waiting == 1 ? " waits" : "s wait");
    if (r->dead_repairs)
        fprintf(out,
                "%s repair segment%s in dead letters: 'tain dead-letter list' names them, "
                "'tain dead-letter replay'\nhas them tried again.\n",
                format_count(a, r->dead_repairs), r->dead_repairs == 1 ? " ended" : "s ended");
}

static void print_advice(FILE *out, const struct verify_report *r,
                         const struct verify_asked *asked) {
    char a[FORMAT_MAX], b[FORMAT_MAX];
    int64_t made = r->gap_segments + r->rescan_segments, n = verify_total(r);
    bool only_fetch = n == r->found[FIND_UNCONFIRMED].count && r->open_repairs;
    if (asked->repair && n) {
        fprintf(out, "\nrepair: %s written in place", format_count(a, r->mended));
        fprintf(out, "; %s to be fetched, in %s new segment%s\n",
                format_count(a, r->gap_ids + r->rescan_ids), format_count(b, made),
                made == 1 ? "" : "s");
        fputs("Now run 'tain catchup', which fetches what is to be fetched, and 'tain verify' "
              "again.\n",
              out);
    } else if (n && !only_fetch) {
        fputs("\n'tain verify --repair' mends what can be computed and makes segments of the rest; "
              "'tain catchup'\nthen fetches those.\n",
              out);
    } else if (n) {
        fputc('\n', out);
    }
    if (!asked->repair)
        print_repairs(out, r);
    if (r->stopped)
        fprintf(out, "Stopped at %s. To begin anew: %s\n", format_count(a, r->range.hi),
                asked->again);
}

void verify_print(FILE *out, const struct verify_report *r, const struct verify_asked *asked) {
    print_head(out, r);
    print_figures(out, r);
    if (asked->sample)
        sample_print(out, &r->sample);
    print_findings(out, r);
    print_advice(out, r, asked);
    fflush(out);
}

static void add_findings(struct strbuf *b, const struct verify_report *r) {
    strbuf_adds(b, ",\"findings\":{");
    bool any = false;
    for (int k = 0; k < FIND_N; k++) {
        const struct findings *found = &r->found[k];
        if (found->count == 0)
            continue;
        strbuf_addf(b, "%s\"%s\":{\"count\":%" PRId64 ",\"list\":[", any ? "," : "",
                    finding_names[k], found->count);
        any = true;
        for (size_t i = 0; i < found->n; i++) {
            strbuf_addf(b, "%s{\"id\":%" PRId64 ",\"end_id\":%" PRId64 ",\"detail\":", i ? "," : "",
                        found->list[i].id, found->list[i].end_id);
            strbuf_add_json(b, str_of(found->list[i].detail));
            strbuf_addc(b, '}');
        }
        strbuf_adds(b, "]}");
    }
    strbuf_addc(b, '}');
}

void verify_print_json(FILE *out, const struct verify_report *r, const struct verify_asked *asked) {
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, (size_t)4 << 20);
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {
        {"floor_id", r->floor},
        {"frontier_id", r->frontier.id},
        {"frontier_excluding_waiting", r->frontier.excluding_waiting},
        {"start_id", r->range.lo},
        {"end_id", r->range.hi},
        {"ids", r->ids},
        {"items", r->items},
        {"missing", r->missing},
        {"unresolved", r->unresolved},
        {"kids", r->kids},
        {"segments", r->segments},
        {"open_repairs", r->open_repairs},
        {"dead_repairs", r->dead_repairs},
        {"duration_ms", r->duration_ms},
        {"total_findings", verify_total(r)},
    };
    strbuf_addf(&b, "{\"command\":\"verify\",\"ok\":%s,\"stopped\":%s",
                verify_is_fine(r) ? "true" : "false", r->stopped ? "true" : "false");
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        strbuf_addf(&b, ",\"%s\":%" PRId64, numbers[i].key, numbers[i].value);
    add_findings(&b, r);
    if (asked->sample)
        sample_add_json(&b, &r->sample);
    if (asked->repair)
        strbuf_addf(&b,
                    ",\"repair\":{\"mended\":%" PRId64 ",\"gap_ids\":%" PRId64
                    ",\"gap_segments\":%" PRId64 ",\"rescan_ids\":%" PRId64
                    ",\"rescan_segments\":%" PRId64 "}",
                    r->mended, r->gap_ids, r->gap_segments, r->rescan_ids, r->rescan_segments);
    strbuf_adds(&b, "}\n");
    fwrite(b.p, 1, b.n, out);
    fflush(out);
}
