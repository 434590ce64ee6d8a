#include "cli/verify_report.h"

#include "cli/format.h"

#include <inttypes.h>

static void print_row(FILE *out, const char *name, int64_t n, const char *remark) {
    char number[FORMAT_MAX];
    fprintf(out, "  %-14s%14s%s%s\n", name, format_count(number, n), *remark ? "  " : "", remark);
}

static void print_head(FILE *out, const struct verify_report *r) {
    char a[FORMAT_MAX], time[FORMAT_MAX];
    int64_t n = verify_total(r);
    fprintf(out, "verify: %s after %s, ", r->stopped ? "stopped" : "finished",
            format_duration(time, r->duration_ms));
    if (n)
        fprintf(out, "%s finding%s\n", format_count(a, n), n == 1 ? "" : "s");
    else
        fprintf(out, "%s\n",
                r->stopped ? "nothing is off so far" : "the archive holds what it says");
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

static void print_sample(FILE *out, const struct sample_report *s) {
    fprintf(out,
            "sample (--seed %" PRIu64 "): %" PRId64 " asked, %" PRId64 " equal, %" PRId64
            " newer upstream",
            s->seed, s->asked, s->equal, s->newer);
    if (s->gone)
        fprintf(out, ", %" PRId64 " gone upstream and kept here", s->gone);
    fputc('\n', out);
    if (s->unanswered)
        fprintf(out,
                "  the upstream did not answer for %" PRId64 ": %s\n"
                "  That says nothing about the archive.\n",
                s->unanswered, s->trouble);
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

static void print_advice(FILE *out, const struct verify_report *r,
                         const struct verify_asked *asked) {
    char a[FORMAT_MAX], b[FORMAT_MAX];
    int64_t made = r->gap_segments + r->rescan_segments;
    if (asked->repair && verify_total(r)) {
        fprintf(out, "\nrepair: %s written in place", format_count(a, r->mended));
        fprintf(out, "; %s to be fetched, in %s new segment%s\n",
                format_count(a, r->gap_ids + r->rescan_ids), format_count(b, made),
                made == 1 ? "" : "s");
        fputs("Now run 'tain catchup', which fetches what is to be fetched, and 'tain verify' "
              "again.\n",
              out);
    } else if (verify_total(r)) {
        fputs("\n'tain verify --repair' mends what can be computed and makes segments of the rest; "
              "'tain catchup'\nthen fetches those.\n",
              out);
    }
    if (r->open_repairs && !asked->repair)
        fprintf(out, "%s repair segment%s for 'tain catchup'.\n", format_count(a, r->open_repairs),
                r->open_repairs == 1 ? " waits" : "s wait");
    if (r->stopped)
        fprintf(out, "Stopped at %s. To begin anew: %s\n", format_count(a, r->range.hi),
                asked->again);
}

void verify_print(FILE *out, const struct verify_report *r, const struct verify_asked *asked) {
    print_head(out, r);
    print_figures(out, r);
    if (asked->sample)
        print_sample(out, &r->sample);
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

static void add_sample(struct strbuf *b, const struct sample_report *s) {
    strbuf_addf(b,
                ",\"sample\":{\"seed\":%" PRIu64 ",\"asked\":%" PRId64 ",\"equal\":%" PRId64
                ",\"newer\":%" PRId64 ",\"gone\":%" PRId64 ",\"unanswered\":%" PRId64
                ",\"trouble\":",
                s->seed, s->asked, s->equal, s->newer, s->gone, s->unanswered);
    if (s->unanswered)
        strbuf_add_json(b, str_of(s->trouble));
    else
        strbuf_adds(b, "null");
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
        {"duration_ms", r->duration_ms},
        {"total_findings", verify_total(r)},
    };
    strbuf_addf(&b, "{\"command\":\"verify\",\"ok\":%s,\"stopped\":%s",
                verify_total(r) == 0 && !r->stopped ? "true" : "false",
                r->stopped ? "true" : "false");
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        strbuf_addf(&b, ",\"%s\":%" PRId64, numbers[i].key, numbers[i].value);
    add_findings(&b, r);
    if (asked->sample)
        add_sample(&b, &r->sample);
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
