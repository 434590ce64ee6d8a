#include "cli/sample_print.h"

#include <inttypes.h>

static void print_part(FILE *out, int64_t n, const char *words) {
    if (n)
        fprintf(out, ", %" PRId64 " %s", n, words);
}

static void print_differences(FILE *out, const struct sample_report *r, bool contradicts,
                              int64_t total) {
    int64_t shown = 0;
    for (size_t i = 0; i < r->n_differences; i++) {
        const struct sample_difference *d = &r->differences[i];
        if (d->contradicts != contradicts)
            continue;
        if (shown++ == 0)
            fprintf(out, "  %s:\n", contradicts ? "contradicts upstream" : "differs upstream");
        fprintf(out, "    %" PRId64 "  %s\n", d->id, d->fields);
    }
    if (shown < total)
        fprintf(out, "    and %" PRId64 " more\n", total - shown);
}

void sample_print(FILE *out, const struct sample_report *r) {
    if (r->seed)
        fprintf(out, "sample (--seed %" PRIu64 "): ", r->seed);
    else
        fputs("sample: ", out);
    fprintf(out, "%" PRId64 " asked, %" PRId64 " equal", r->asked, r->equal);
    print_part(out, r->newer, "newer upstream (score, descendants or kids)");
    print_part(out, r->differs, "differ");
    print_part(out, r->contradicts, "contradict");
    print_part(out, r->gone, "gone upstream and kept here");
    print_part(out, r->unanswered, "unanswered");
    fputc('\n', out);
    print_differences(out, r, true, r->contradicts);
    print_differences(out, r, false, r->differs);
    if (r->unanswered)
        fprintf(out,
                "  the upstream did not answer for %" PRId64 " of %" PRId64 " (%s);\n"
                "  of these the sample proves nothing: run it again\n",
                r->unanswered, r->asked, r->trouble);
}

static void add_differences(struct strbuf *b, const struct sample_report *r) {
    strbuf_adds(b, ",\"differences\":[");
    for (size_t i = 0; i < r->n_differences; i++) {
        const struct sample_difference *d = &r->differences[i];
        strbuf_addf(b, "%s{\"id\":%" PRId64 ",\"fields\":\"%s\",\"contradicts\":%s}", i ? "," : "",
                    d->id, d->fields, d->contradicts ? "true" : "false");
    }
    strbuf_addc(b, ']');
}

void sample_add_json(struct strbuf *b, const struct sample_report *r) {
    strbuf_addf(b, ",\"sample\":{\"seed\":%" PRIu64 ",\"asked\":%" PRId64 ",\"equal\":%" PRId64,
                r->seed, r->asked, r->equal);
    strbuf_addf(b,
                ",\"newer\":%" PRId64 ",\"differs\":%" PRId64 ",\"contradicts\":%" PRId64
                ",\"gone\":%" PRId64 ",\"unanswered\":%" PRId64 ",\"trouble\":",
                r->newer, r->differs, r->contradicts, r->gone, r->unanswered);
    if (r->unanswered)
        strbuf_add_json(b, str_of(r->trouble));
    else
        strbuf_adds(b, "null");
    add_differences(b, r);
    strbuf_addc(b, '}');
}
