/* All options in one Markdown table, for docs/cli.md; a test keeps the two equal. */
#include "cli/help.h"

/* A bar would end the cell. */
static void put_cell(FILE *out, const char *text) {
    for (; *text; text++) {
        if (*text == '|')
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void put_commands(FILE *out, unsigned commands) {
    size_t n, said = 0;
    const struct command *table = command_table(&n);
    unsigned all = 0;
    for (size_t i = 0; i < n; i++)
        all |= table[i].id;
    if ((commands & all) == all) {
        fputs("all", out);
        return;
    }
    for (size_t i = 0; i < n; i++)
        if (commands & table[i].id)
            fprintf(out, "%s%s", said++ ? ", " : "", table[i].name);
}

void reference_print(FILE *out) {
    fputs("| option | commands | default | meaning |\n|---|---|---|---|\n", out);
    size_t n;
    const struct option_def *table = option_table(&n);
    for (size_t i = 0; i < n; i++) {
        const struct option_def *d = &table[i];
        const char *value = d->metavar ? d->metavar : d->choices;
        fprintf(out, "| `--%s%s", d->name, value ? " " : "");
        put_cell(out, value ? value : "");
        fputs("` | ", out);
        put_commands(out, d->commands);
        fputs(" | ", out);
        if (d->fallback)
            fprintf(out, "`%s`", d->fallback);
        fputs(" | ", out);
        put_cell(out, d->help);
        fputs(" |\n", out);
    }
}
