#include "cli/help.h"

#include <string.h>

#define WIDTH 80
#define TEXT_COLUMN 28

static const struct exit_code_row exit_codes[] = {
    {EXIT_DONE, false, "done"},
    {EXIT_FAILED, false, "failed"},
    {EXIT_USAGE, false, "wrong usage or configuration"},
    {EXIT_UNRESOLVED, true, "finished, but ids, dead letters, findings or lines are left over"},
    {EXIT_SIGINT, true, "stopped by SIGINT after a clean stop; run it again to go on"},
    {EXIT_SIGTERM, true, "stopped by SIGTERM after a clean stop; run it again to go on"},
};

const struct exit_code_row *exit_code_table(size_t *ret_n) {
    *ret_n = ARRAY_LEN(exit_codes);
    return exit_codes;
}

/* Words from `text`, broken before WIDTH; the cursor stands at `column`, later lines begin at
 * `indent`. */
static void print_wrapped(FILE *out, const char *text, int column, int indent) {
    bool first = true;
    while (*text) {
        int n = (int)strcspn(text, " ");
        if (!first && column + 1 + n > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
            first = true;
        }
        fprintf(out, "%s%.*s", first ? "" : " ", n, text);
        column += n + !first;
        first = false;
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

void help_facts(struct strbuf *out, const struct option_def *d) {
    bool bounded = d->type == OPTION_INT && d->max <= 1e12;
    if (!bounded && !d->fallback)
        return;
    strbuf_adds(out, " (");
    if (bounded)
        strbuf_addf(out, "%.0f to %.0f%s", d->min, d->max, d->fallback ? "; " : "");
    if (d->fallback)
        strbuf_addf(out, "default %s", d->fallback);
    strbuf_addc(out, ')');
}

static void print_option(FILE *out, const struct option_def *d) {
    char head[128];
    const char *value = d->metavar ? d->metavar : d->choices;
    int column =
        snprintf(head, sizeof head, "  --%s%s%s", d->name, value ? " " : "", value ? value : "");
    fputs(head, out);
    if (column > TEXT_COLUMN - 2)
        fprintf(out, "\n%*s", TEXT_COLUMN, "");
    else
        fprintf(out, "%*s", TEXT_COLUMN - column, "");
    CLEANUP(strbuf_release) struct strbuf text;
    strbuf_init(&text, 2048);
    strbuf_adds(&text, d->help);
    help_facts(&text, d);
    print_wrapped(out, text.p, TEXT_COLUMN, TEXT_COLUMN);
}

static void print_options(FILE *out, enum command_id command, bool common, const char *title) {
    size_t n;
    const struct option_def *table = option_table(&n);
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        bool is_common = table[i].flags & OPTION_COMMON;
        if (!(table[i].commands & command) || is_common != common)
            continue;
        if (!any)
            fprintf(out, "\n%s:\n", title);
        any = true;
        print_option(out, &table[i]);
    }
}

static void print_exit_codes(FILE *out, bool resumable) {
    fputs("\nExit codes:\n", out);
    for (size_t i = 0; i < ARRAY_LEN(exit_codes); i++)
        if (resumable || !exit_codes[i].resumable_only)
            fprintf(out, "  %-4d %s\n", exit_codes[i].code, exit_codes[i].text);
}

void help_command(FILE *out, const struct command *c) {
    CLEANUP(strbuf_release) struct strbuf words;
    strbuf_init(&words, 1024);
    words_usage(c, &words);
    fprintf(out, "tain %s: %s\n\nUsage: tain %s%.*s [options]\n\n", c->name, c->summary, c->name,
            STR_FMT(strbuf_str(&words)));
    print_wrapped(out, c->about, 0, 0);
    print_options(out, c->id, false, "Options");
    print_options(out, c->id, true, "Common options");
    fputs("  -h, --help                Show this text.\n\n", out);
    print_wrapped(out,
                  "Every option can also be given in the environment (--log-level as "
                  "TAIN_LOG_LEVEL) and in the file named by --config (log_level = \"warn\"). A "
                  "flag wins over the environment, the environment over the file, the file over "
                  "the default. A switch is turned off by --no-NAME.",
                  0, 0);
    fprintf(out, "\nExample:\n  %s\n", c->example);
    print_exit_codes(out, c->resumable);
}

void help_overview(FILE *out) {
    fputs("tain keeps a durable, searchable copy of Hacker News on your own machine.\n\n"
          "Usage: tain COMMAND [options]\n\nCommands:\n",
          out);
    size_t n;
    const struct command *table = command_table(&n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "  %-12s %s\n", table[i].name, table[i].summary);
    fputs("\n'tain help COMMAND' shows the options of one, 'tain --version' the versions.\n", out);
}
