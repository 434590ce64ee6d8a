#include "cli/dead_letter_report.h"

#include "base/shown.h"
#include "cli/format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void letter_list_add(void *list, const struct letter *l) {
    struct letter_list *ll = list;
    if (ll->n == ll->cap) {
        ll->cap = ll->cap ? 2 * ll->cap : 64;
        ll->rows = xrealloc(ll->rows, ll->cap * sizeof *ll->rows);
    }
    ll->rows[ll->n++] = *l;
}

void letter_list_release(struct letter_list *l) {
    free(l->rows);
}

static const char *instant(char out[FORMAT_MAX], int64_t ms) {
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    if (!gmtime_r(&seconds, &tm) || strftime(out, FORMAT_MAX, "%Y-%m-%d %H:%M:%SZ", &tm) == 0)
        snprintf(out, FORMAT_MAX, "%" PRId64, ms);
    return out;
}

static void add_letter_json(struct strbuf *b, const struct letter *l) {
    strbuf_addf(b, "{\"id\":%" PRId64 ",\"failure_class\":", l->id);
    strbuf_add_json(b, str_of(l->cls));
    strbuf_addf(b, ",\"attempts\":%" PRId64 ",\"at\":%" PRId64 ",\"segment_id\":", l->attempts,
                l->at);
    if (l->segment_id)
        strbuf_addf(b, "%" PRId64, l->segment_id);
    else
        strbuf_adds(b, "null");
    strbuf_adds(b, ",\"origin\":");
    strbuf_add_json(b, str_of(l->origin));
    strbuf_adds(b, ",\"last_error\":");
    strbuf_add_json(b, str_of(l->error));
    strbuf_addc(b, '}');
}

static void print_json(FILE *out, const struct letter_list *l, int64_t total) {
    fprintf(out,
            "{\"command\":\"dead-letter\",\"action\":\"list\",\"count\":%" PRId64
            ",\"dead_letters\":[",
            total);
    CLEANUP(strbuf_release) struct strbuf b;
    strbuf_init(&b, 16 * 1024);
    for (size_t i = 0; i < l->n; i++) {
        strbuf_clear(&b);
        if (i)
            strbuf_addc(&b, ',');
        add_letter_json(&b, &l->rows[i]);
        fwrite(b.p, 1, b.n, out);
    }
    fputs("]}\n", out);
}

void letters_print(FILE *out, const struct letter_list *l, int64_t total, bool json) {
    char a[FORMAT_MAX];
    if (json) {
        print_json(out, l, total);
        return;
    }
    if (l->n == 0) {
        fputs("no dead letters\n", out);
        return;
    }
    fprintf(out, "%-12s %-12s %8s  %-20s %-8s %s\n", "id", "class", "attempts", "since", "from",
            "last error");
    for (size_t i = 0; i < l->n; i++) {
        struct letter x = l->rows[i];
        shown_in_place(x.error);
        fprintf(out, "%-12" PRId64 " %-12s %8" PRId64 "  %-20s %-8s %s\n", x.id, x.cls, x.attempts,
                instant(a, x.at), x.origin, x.error);
    }
    if (total > (int64_t)l->n)
        fprintf(out, "and %s more\n", format_count(a, total - (int64_t)l->n));
}

#define KNOWN_MAX ((size_t)1 << 20)

void known_init(struct known *k, int64_t id, bool json) {
    *k = (struct known){.id = id, .json = json};
    strbuf_init(&k->text, KNOWN_MAX);
}

void known_release(struct known *k) {
    strbuf_release(&k->text);
}

static void add_field_json(struct strbuf *b, const struct known_field *f) {
    strbuf_addf(b, ",\"%s\":", f->name);
    if (f->number ? f->value == DB_NULL : !f->text.p)
        strbuf_adds(b, "null");
    else if (f->number)
        strbuf_addf(b, "%" PRId64, f->value);
    else
        strbuf_add_json(b, f->text);
}

static void add_field(struct strbuf *b, const struct known_field *f) {
    char time[FORMAT_MAX];
    if (f->number ? f->value == DB_NULL : !f->text.p)
        return;
    strbuf_addf(b, "  %-18s", f->name);
    if (f->instant)
        strbuf_adds(b, instant(time, f->value));
    else if (f->number)
        strbuf_addf(b, "%" PRId64, f->value);
    else
        strbuf_add_shown(b, f->text);
    strbuf_addc(b, '\n');
}

static void note_state(struct known *k, const char *table, struct str state) {
    k->stored = k->stored || strcmp(table, "item") == 0;
    bool decides = strcmp(table, "exception") == 0 || strcmp(table, "dead_letter") == 0;
    if (!decides)
        return;
    k->dead = k->dead || str_eqc(state, "dead_letter");
    k->missing = k->missing || str_eqc(state, "terminal_missing");
    k->waiting = k->waiting || str_eqc(state, "pending") || str_eqc(state, "retry_wait");
}

void known_add(void *known, const char *table, const struct known_field *fields, size_t n) {
    struct known *k = known;
    struct str state = STR_NONE;
    if (k->json)
        strbuf_addf(&k->text, "%s{\"table\":\"%s\"", k->rows ? "," : "", table);
    else
        strbuf_addf(&k->text, "%s\n", table);
    k->rows++;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(fields[i].name, "state") == 0)
            state = fields[i].text;
        if (k->json)
            add_field_json(&k->text, &fields[i]);
        else
            add_field(&k->text, &fields[i]);
    }
    if (k->json)
        strbuf_addc(&k->text, '}');
    note_state(k, table, state);
}

static const char *verdict_on(const struct known *k) {
    if (k->dead && !k->waiting)
        return "dead_letter";
    if (k->waiting)
        return "waiting";
    return k->stored ? "stored" : k->missing ? "missing" : "open";
}

static void print_advice(FILE *out, const struct known *k) {
    const char *verdict = verdict_on(k);
    if (strcmp(verdict, "dead_letter") == 0)
        fprintf(out,
                "To try again: tain dead-letter replay %" PRId64 ", then tain catchup\n"
                "%s: tain dead-letter accept %" PRId64 " --reason TEXT\n",
                k->id, k->stored ? "To keep it as it is stored" : "To give it up for good", k->id);
    else if (strcmp(verdict, "waiting") == 0)
        fputs("It will be tried again; 'tain catchup' does so when it is due.\n", out);
    else if (strcmp(verdict, "stored") == 0)
        fputs("It is stored; there is nothing to do.\n", out);
    else if (strcmp(verdict, "missing") == 0)
        fputs("It is believed missing; the frontier passes it.\n", out);
    else
        fputs("It has not been looked at yet; 'tain catchup' will.\n", out);
}

void known_print(FILE *out, struct known *k) {
    struct str text = strbuf_str(&k->text);
    if (k->json) {
        fprintf(out,
                "{\"command\":\"dead-letter\",\"action\":\"show\",\"id\":%" PRId64
                ",\"verdict\":\"%s\",\"known\":[%.*s]}\n",
                k->id, verdict_on(k), STR_FMT(text));
        return;
    }
    fprintf(out, "%" PRId64 ": %s\n%.*s", k->id, verdict_on(k), STR_FMT(text));
    print_advice(out, k);
}

void replay_print(FILE *out, int64_t n, const char *next, bool json) {
    char a[FORMAT_MAX];
    if (json) {
        fprintf(out, "{\"command\":\"dead-letter\",\"action\":\"replay\",\"count\":%" PRId64, n);
        if (next)
            fprintf(out, ",\"next\":\"%s\"", next);
        fputs("}\n", out);
        return;
    }
    fprintf(out, "%s dead %s to be tried again, with fresh attempts\n", format_count(a, n),
            n == 1 ? "letter" : "letters");
    if (next)
        fprintf(out, "Now run: %s\n", next);
}

void accept_print(FILE *out, int64_t n, int64_t stored, int64_t frontier, bool json) {
    char a[FORMAT_MAX], b[FORMAT_MAX];
    if (json) {
        fprintf(out,
                "{\"command\":\"dead-letter\",\"action\":\"accept\",\"count\":%" PRId64
                ",\"missing\":%" PRId64 ",\"kept_as_stored\":%" PRId64,
                n, n - stored, stored);
        if (frontier)
            fprintf(out, ",\"frontier_id\":%" PRId64, frontier);
        fputs("}\n", out);
        return;
    }
    fprintf(out, "%s dead %s accepted", format_count(a, n), n == 1 ? "letter" : "letters");
    if (stored == 0)
        fputs(" as missing\n", out);
    else if (stored == n)
        fputs(": kept as stored\n", out);
    else
        fprintf(out, ": %s as missing, %s kept as stored\n", format_count(a, n - stored),
                format_count(b, stored));
    if (stored)
        fputs("What is stored was not fetched again by this; 'tain verify' says whether it is in "
              "doubt.\n",
              out);
    if (frontier)
        fprintf(out, "frontier %s\n", format_count(a, frontier));
}
