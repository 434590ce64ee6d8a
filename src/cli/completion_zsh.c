/* The same for zsh, which also shows what an option is for. */
#include "cli/help.h"

#include <string.h>

/* Within '...', and within the brackets or before the colon of a specification. */
static void put_text(FILE *out, const char *text, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\'')
            fputs("'\\''", out);
        else {
            if (strchr("[]:\\", text[i]))
                fputc('\\', out);
            fputc(text[i], out);
        }
    }
}

/* The first sentence is enough for a list. */
static size_t first_sentence(const char *text) {
    const char *end = strstr(text, ". ");
    size_t n = end ? (size_t)(end - text) : strlen(text);
    return n > 0 && text[n - 1] == '.' ? n - 1 : n;
}

static void put_choices(FILE *out, const char *choices) {
    fputc('(', out);
    for (; *choices; choices++)
        fputc(*choices == '|' ? ' ' : *choices, out);
    fputc(')', out);
}

static void put_action(FILE *out, const char *name, const char *choices, bool file) {
    fputc(':', out);
    put_text(out, name, strlen(name));
    fputc(':', out);
    if (choices)
        put_choices(out, choices);
    else
        fputs(file ? "_files" : " ", out);
}

static void put_option(FILE *out, const struct option_def *d) {
    bool is_switch = d->type == OPTION_BOOL;
    fprintf(out, " \\\n            '%s--%s%s[", d->type == OPTION_LIST ? "*" : "", d->name,
            is_switch ? "" : "=");
    put_text(out, d->help, first_sentence(d->help));
    fputc(']', out);
    if (strcmp(d->name, "db") == 0)
        fputs(":DATABASE:_tain_db", out);
    else if (!is_switch)
        put_action(out, d->metavar ? d->metavar : d->name, d->choices,
                   d->metavar && strcmp(d->metavar, "FILE") == 0);
    fputc('\'', out);
}

static void put_words(FILE *out, const struct command *c) {
    for (int i = 0; i < COMMAND_WORDS_MAX && c->words[i].name; i++) {
        const struct command_word *w = &c->words[i];
        if (w->many)
            fputs(" \\\n            '*", out);
        else
            fprintf(out, " \\\n            '%d%s", i + 1, w->optional ? ":" : "");
        put_action(out, w->name, w->choices, strcmp(w->name, "FILE") == 0);
        fputc('\'', out);
    }
}

static void put_command(FILE *out, const struct command *c) {
    fprintf(out, "    %s)\n        _arguments", c->name);
    size_t n;
    const struct option_def *table = option_table(&n);
    for (size_t i = 0; i < n; i++)
        if (table[i].commands & c->id)
            put_option(out, &table[i]);
    put_words(out, c);
    fputs(" \\\n            '(- *)'{-h,--help}'[Show help]'\n        ;;\n", out);
}

void completion_zsh(FILE *out) {
    size_t n;
    const struct command *table = command_table(&n);
    fputs("#compdef tain\n# Completion of tain for zsh; made by 'tain help --completion zsh'.\n"
          "_tain_db() {\n"
          "    if compset -P sqlite:; then\n        _files\n    else\n"
          "        compadd -S '' -- sqlite: postgres://\n    fi\n}\n\n"
          "_tain() {\n    local -a commands=(\n",
          out);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "        '%s:", table[i].name);
        put_text(out, table[i].summary, strlen(table[i].summary));
        fputs("'\n", out);
    }
    fputs("        'help:show help for a command'\n    )\n"
          "    if ((CURRENT == 2)); then\n"
          "        if [[ $PREFIX == -* ]]; then\n"
          "            compadd -- --help --version\n"
          "        else\n"
          "            _describe -t commands command commands\n"
          "        fi\n"
          "        return\n    fi\n"
          "    local command=$words[2]\n    shift words\n    ((CURRENT--))\n"
          "    case $command in\n",
          out);
    for (size_t i = 0; i < n; i++)
        put_command(out, &table[i]);
    fputs("    help)\n        ((CURRENT == 2)) && _describe -t commands command commands\n"
          "        ;;\n    esac\n}\n\n_tain \"$@\"\n",
          out);
}
