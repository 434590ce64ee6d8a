/* The command line: which commands there are, how they are chosen, how they end. A command is a
 * row in the table of commands.c and a file cmd_NAME.c; its options are in option_table.c.
 * Everything runs on the main thread. */
#ifndef TAIN_CLI_CLI_H
#define TAIN_CLI_CLI_H

#include "base/attr.h"
#include "cli/settings.h"

#include <stdio.h>

enum exit_code {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,      /* wrong usage or configuration */
    EXIT_UNRESOLVED = 3, /* finished, but unresolved ids or dead letters remain */
    EXIT_SIGINT = 130,   /* stopped by the signal, cleanly */
    EXIT_SIGTERM = 143,
};

/* One word without dashes behind a command's name: "list" in 'tain dead-letter list'. */
struct command_word {
    const char *name;    /* for help and complaints: "ACTION", "FILE" */
    const char *choices; /* "list|show": what it may be; NULL: anything */
    bool optional;       /* it may be left out, and all behind it */
    bool many;           /* the last one: it may be repeated */
};
#define COMMAND_WORDS_MAX 4

struct command {
    const char *name;
    enum command_id id;
    const char *summary;            /* one line for the overview */
    const char *about;              /* a paragraph for its own help */
    const char *example;            /* a whole command line */
    bool resumable;                 /* can end with 3, 130 or 143 */
    int (*run)(struct settings *s); /* answers an exit code; has said on stderr what is wrong */
    struct command_word words[COMMAND_WORDS_MAX]; /* up to the first without a name */
};

const struct command *command_table(size_t *ret_n);
const struct command *command_find(const char *name);

/* Takes the next word of a command line into s->words. V_INVALID: one too many, or not a choice. */
/* The word as a complaint may repeat it: not at all where there may be a password in it. */
const char *word_shown(const char *text);
MUST_CHECK enum verdict words_take(struct settings *s, const char *text, struct err *e);
/* V_INVALID names the word that is missing. */
MUST_CHECK enum verdict words_check(const struct settings *s, struct err *e);
/* " ACTION [ID]", as the usage line shows them. */
void words_usage(const struct command *c, struct strbuf *out);

/* Help and version go to `out`, complaints to `complaints`. Answers the exit code. */
int cli_run(int argc, char **argv, FILE *out, FILE *complaints);
int cli_main(int argc, char **argv);

void help_overview(FILE *out);
void help_command(FILE *out, const struct command *c);

#endif
