/* What help, the manual pages and the completions of shells share: all come out of the tables of
 * commands and options. Each prints to a stream and keeps nothing. */
#ifndef TAIN_CLI_HELP_H
#define TAIN_CLI_HELP_H

#include "cli/cli.h"
#include "cli/options.h"

struct exit_code_row {
    int code;
    bool resumable_only; /* of commands that can end so */
    const char *text;
};
const struct exit_code_row *exit_code_table(size_t *ret_n);

/* " (1 to 100; default 8)", or nothing. */
void help_facts(struct strbuf *out, const struct option_def *d);

/* The manual page of a command, or with NULL of the program, in mdoc(7). */
void man_page(FILE *out, const struct command *c);

/* Every option as a row of a Markdown table. */
void reference_print(FILE *out);

/* Completion scripts, made of the same tables. */
void completion_bash(FILE *out);
void completion_zsh(FILE *out);

#endif
