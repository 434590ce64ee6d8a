/* Manual pages in mdoc(7), out of the tables that help comes from. The build runs
 * 'tain help --man COMMAND' for each command. */
#include "cli/help.h"
#include "cli/services_env.h"

#include <ctype.h>
#include <string.h>

#define MAN_DATE "November 16, 2026"
#define WIDTH 78

/* A dash is a minus, so that what is copied from a page works in a shell. */
static void put_escaped(FILE *out, const char *text, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else if (text[i] == '"')
            fputs("\\(dq", out);
        else
            fputc(text[i], out);
    }
}

/* How many bytes that makes. */
static size_t escaped_length(const char *text, size_t n) {
    size_t length = n;
    for (size_t i = 0; i < n; i++)
        length += text[i] == '"' ? 3 : text[i] == '-' || text[i] == '\\';
    return length;
}

static void put_word(FILE *out, const char *text) {
    put_escaped(out, text, strlen(text));
}

static bool ends_sentence(const char *word, size_t n) {
    while (n > 1 && strchr(")'\"", word[n - 1]))
        n--;
    return n > 1 && strchr(".?!", word[n - 1]) && isalnum((unsigned char)word[n - 2]);
}

/* Prose: each sentence begins a line, as the formatters want it, and no line is long. A line that
 * began with a dot or a quote would be a request. */
static void put_prose(FILE *out, const char *text) {
    size_t column = 0;
    while (*text) {
        size_t n = strcspn(text, " "), length = escaped_length(text, n);
        bool begins = column == 0 || column + 1 + length > WIDTH;
        if (begins && column)
            fputc('\n', out);
        if (begins && strchr(".'", *text))
            fputs("\\&", out);
        if (!begins)
            fputc(' ', out);
        put_escaped(out, text, n);
        column = begins ? length : column + 1 + length;
        if (ends_sentence(text, n) && text[n]) {
            fputc('\n', out);
            column = 0;
        }
        text += n;
        text += strspn(text, " ");
    }
    if (column)
        fputc('\n', out);
}

static void put_head(FILE *out, const char *title, const char *name, const char *summary) {
    fprintf(out, ".\\\" Made by 'tain help --man'.\n.Dd %s\n.Dt ", MAN_DATE);
    for (const char *p = title; *p; p++)
        fputc(toupper((unsigned char)*p), out);
    fprintf(out, " 1\n.Os tain %s\n.Sh NAME\n.Nm ", TAIN_VERSION);
    put_word(out, name);
    fprintf(out, "\n.Nd ");
    put_word(out, summary);
    fputc('\n', out);
}

static void put_choices(FILE *out, const char *choices) {
    fputs(" Cm ", out);
    for (; *choices; choices++) {
        if (*choices == '|')
            fputs(" | ", out);
        else
            put_escaped(out, choices, 1);
    }
}

static void put_option(FILE *out, const struct option_def *d) {
    fputs(".It Fl \\-", out);
    put_word(out, d->name);
    if (d->choices)
        put_choices(out, d->choices);
    else if (d->metavar) {
        fputs(" Ar ", out);
        put_word(out, d->metavar);
    }
    fputc('\n', out);
    CLEANUP(strbuf_release) struct strbuf text;
    strbuf_init(&text, 2048);
    strbuf_adds(&text, d->help);
    help_facts(&text, d);
    put_prose(out, text.p);
}

static void put_options(FILE *out, const struct command *c) {
    fputs(".Pp\nThe options are as follows:\n.Bl -tag -width Ds\n", out);
    size_t n;
    const struct option_def *table = option_table(&n);
    for (int common = 0; common < 2; common++)
        for (size_t i = 0; i < n; i++)
            if ((table[i].commands & c->id) && !(table[i].flags & OPTION_COMMON) == !common)
                put_option(out, &table[i]);
    fputs(".It Fl h , Fl \\-help\nShow a short form of this page.\n.El\n.Pp\n", out);
    put_prose(out, "A duration is a number with ms, s, m, h or d behind it, a size one with KiB, "
                   "MiB or GiB. A switch is turned off by --no-NAME. An option may also be written "
                   "as --NAME=VALUE.");
}

static void put_synopsis(FILE *out, const struct command *c) {
    fprintf(out, ".Sh SYNOPSIS\n.Nm tain\n.Cm ");
    put_word(out, c->name);
    fputc('\n', out);
    for (size_t i = 0; i < COMMAND_WORDS_MAX && c->words[i].name; i++) {
        const struct command_word *w = &c->words[i];
        fprintf(out, ".%s", w->optional ? "Op" : "");
        if (w->choices)
            put_choices(out, w->choices);
        else
            fprintf(out, " Ar %s%s", w->name, w->many ? " ..." : "");
        fputc('\n', out);
    }
    fputs(".Op Ar options\n", out);
}

static void put_environment(FILE *out, const struct command *c) {
    fputs(".Sh ENVIRONMENT\n", out);
    put_prose(out, "A flag wins over the environment, the environment over the file named by "
                   "--config, the file over the default. An empty variable counts as none.");
    fputs(".Bl -tag -width Ds\n", out);
    size_t n;
    const struct option_def *table = option_table(&n);
    for (size_t i = 0; i < n; i++) {
        if (!(table[i].commands & c->id) || (table[i].flags & OPTION_NO_ENV))
            continue;
        char name[OPTION_NAME_MAX];
        option_env_name(&table[i], name);
        fprintf(out, ".It Ev %s\nAs\n.Fl \\-", name);
        put_word(out, table[i].name);
        fputs(" .\n", out);
    }
    for (int i = 0; (c->id & (CMD_ENRICH | CMD_UP)) && i < N_SERVICE_VARS; i++) {
        fprintf(out, ".It Ev %s\n", service_var_name((enum service_var)i));
        put_prose(out, service_var_about((enum service_var)i));
    }
    if (option_find("db")->commands & c->id)
        fputs(".It Ev PGPASSFILE , PGPASSWORD , PGSSLMODE\n"
              "and the other variables of libpq count for\n.Ql postgres://\naddresses.\n",
              out);
    if (option_find("progress")->commands & c->id)
        fputs(".It Ev NO_COLOR\nThe progress bar has no colours.\n", out);
    fputs(".El\n", out);
}

static void put_files(FILE *out, const struct command *c) {
    if (!(option_find("db")->commands & c->id))
        return;
    fputs(".Sh FILES\n.Bl -tag -width Ds\n"
          ".It Pa tain.db\nThe archive, in the current folder, unless\n.Fl \\-db\n"
          "names another; with\n.Pa tain.db\\-wal\nand\n.Pa tain.db\\-shm\n"
          "beside it while it is open.\n"
          ".It Pa /etc/tain/tain.conf\nWhat the services of the package read by\n"
          ".Fl \\-config .\n"
          "Keys are the names of options with _ for \\-, one a line:\n.Ql rps = 200 .\n.El\n",
          out);
}

static void put_exit_codes(FILE *out, bool resumable) {
    fputs(".Sh EXIT STATUS\n.Bl -tag -width Ds\n", out);
    size_t n;
    const struct exit_code_row *table = exit_code_table(&n);
    for (size_t i = 0; i < n; i++)
        if (resumable || !table[i].resumable_only) {
            fprintf(out, ".It %d\n", table[i].code);
            put_prose(out, table[i].text);
        }
    fputs(".El\n", out);
}

/* The name that comes next in the alphabet; NULL: none. */
static const char *next_name(const char *after, const struct command *but) {
    size_t n;
    const struct command *table = command_table(&n);
    const char *next = NULL;
    for (size_t i = 0; i < n; i++)
        if (&table[i] != but && strcmp(table[i].name, after) > 0 &&
            (!next || strcmp(table[i].name, next) < 0))
            next = table[i].name;
    return next;
}

static void put_see_also(FILE *out, const struct command *but) {
    fprintf(out, ".Sh SEE ALSO\n%s", but ? ".Xr tain 1" : "");
    bool first = !but;
    for (const char *name = ""; (name = next_name(name, but)); first = false) {
        fprintf(out, "%s.Xr tain-%s 1", first ? "" : " ,\n", name);
    }
    fputc('\n', out);
}

static void put_example(FILE *out, const char *line) {
    fputs(".Dl ", out);
    put_word(out, line);
    fputc('\n', out);
}

static void command_page(FILE *out, const struct command *c) {
    char title[64];
    snprintf(title, sizeof title, "tain-%s", c->name);
    put_head(out, title, title, c->summary);
    put_synopsis(out, c);
    fputs(".Sh DESCRIPTION\n", out);
    put_prose(out, c->about);
    put_options(out, c);
    put_environment(out, c);
    put_files(out, c);
    put_exit_codes(out, c->resumable);
    fputs(".Sh EXAMPLES\n", out);
    put_example(out, c->example);
    put_see_also(out, c);
}

static void put_commands(FILE *out) {
    fputs(".Pp\nThe commands are as follows:\n.Bl -tag -width Ds\n", out);
    size_t n;
    const struct command *table = command_table(&n);
    for (size_t i = 0; i < n; i++) {
        fputs(".It Cm ", out);
        put_word(out, table[i].name);
        fputc('\n', out);
        put_prose(out, table[i].summary);
        fprintf(out, ".Pq Xr tain-%s 1\n", table[i].name);
    }
    fputs(".El\n", out);
}

static void overview_page(FILE *out) {
    put_head(out, "tain", "tain", "a durable, searchable copy of Hacker News");
    fputs(".Sh SYNOPSIS\n.Nm\n.Ar command\n.Op Ar options\n"
          ".Nm\n.Cm help\n.Op Ar command\n.Nm\n.Fl \\-version\n"
          ".Sh DESCRIPTION\n.Nm\n",
          out);
    put_prose(out, "keeps a copy of Hacker News in a database of SQLite or PostgreSQL. It knows "
                   "what it has, what it lacks and why. Every command may be stopped at any time "
                   "and goes on where it was; several may run on one archive.");
    put_commands(out);
    fputs(".Sh ENVIRONMENT\n", out);
    put_prose(out, "Every option can be given as a variable, --log-level as TAIN_LOG_LEVEL; the "
                   "page of each command names them.");
    put_exit_codes(out, true);
    fputs(".Sh EXAMPLES\nFill an archive, look at it, and keep it fresh:\n.Pp\n", out);
    put_example(out, "tain catchup");
    put_example(out, "tain status");
    put_example(out, "tain updater");
    put_see_also(out, NULL);
}

void man_page(FILE *out, const struct command *c) {
    if (c)
        command_page(out, c);
    else
        overview_page(out);
}
