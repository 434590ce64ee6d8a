/* Completion for bash and zsh. Everything a script knows is written into it when it is made: a
 * press of the tab key starts no program. */
#include "cli/help.h"

#include <string.h>

static bool takes_file(const struct option_def *d) {
    return d->metavar && strcmp(d->metavar, "FILE") == 0;
}

static void put_choices(FILE *out, const char *choices) {
    for (; *choices; choices++)
        fputc(*choices == '|' ? ' ' : *choices, out);
}

/* bash ----------------------------------------------------------------------------------------- */

static void bash_commands(FILE *out) {
    size_t n;
    const struct command *table = command_table(&n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s ", table[i].name);
}

enum wanted { SWITCHED_ON, SWITCHED_OFF, VALUED };

/* The options of some commands: as they are, as they are switched off, or those with a value. */
static void bash_options(FILE *out, unsigned commands, enum wanted wanted, const char *between) {
    size_t n;
    const struct option_def *table = option_table(&n);
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        bool is_switch = table[i].type == OPTION_BOOL;
        if (!(table[i].commands & commands) ||
            (wanted != SWITCHED_ON && is_switch != (wanted == SWITCHED_OFF)))
            continue;
        char name[OPTION_NAME_MAX];
        snprintf(name, sizeof name, "%s", table[i].name);
        if (wanted == SWITCHED_OFF)
            option_negated(&table[i], name);
        fprintf(out, "%s--%s", any ? between : "", name);
        any = true;
    }
}

static void bash_values(FILE *out) {
    size_t n;
    const struct option_def *table = option_table(&n);
    for (size_t i = 0; i < n; i++) {
        if (table[i].choices) {
            fprintf(out, "    --%s) _tain_words \"$cur\" '", table[i].name);
            put_choices(out, table[i].choices);
            fputs("'; return ;;\n", out);
        }
        if (takes_file(&table[i]))
            fprintf(out, "    --%s) _tain_files \"$cur\"; return ;;\n", table[i].name);
    }
    fputs("    --db) _tain_db \"$cur\"; return ;;\n    ", out);
    bash_options(out, ~0u, VALUED, "|");
    fputs(") return ;; # a value of one's own\n", out);
}

static void bash_words(FILE *out, const struct command *c) {
    for (int i = 0; i < COMMAND_WORDS_MAX && c->words[i].name; i++) {
        const struct command_word *w = &c->words[i];
        bool file = strcmp(w->name, "FILE") == 0;
        if (!w->choices && !file)
            continue;
        fprintf(out, "    %s:%d) ", c->name, i);
        if (file)
            fputs("_tain_files \"$cur\" ;;\n", out);
        else {
            fputs("_tain_words \"$cur\" '", out);
            put_choices(out, w->choices);
            fputs("' ;;\n", out);
        }
    }
}

static void bash_cases(FILE *out) {
    size_t n;
    const struct command *table = command_table(&n);
    fputs("    case $command in\n", out);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "    %s)\n        on='", table[i].name);
        bash_options(out, table[i].id, SWITCHED_ON, " ");
        fputs(" --help'\n        off='", out);
        bash_options(out, table[i].id, SWITCHED_OFF, " ");
        fputs("' ;;\n", out);
    }
    fputs("    help) _tain_words \"$cur\" \"$commands\"; return ;;\n    *) return ;;\n    esac\n",
          out);
}

static const char bash_helpers[] =
    "# Completion of tain for bash; made by 'tain help --completion bash'.\n"
    "_tain_words() {\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$2\" -- \"$1\")\n"
    "}\n\n"
    "_tain_files() {\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t COMPREPLY < <(compgen -f -- \"$1\")\n"
    "}\n\n"
    "_tain_db() {\n"
    "    compopt -o nospace 2>/dev/null\n"
    "    _tain_words \"$1\" 'sqlite: postgres://'\n"
    "}\n\n";

/* The shell takes --name=value and sqlite:path apart at = and :, which are words of their own. */
static const char bash_look_back[] =
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} at=$COMP_CWORD\n"
    "    local command=${COMP_WORDS[1]} on off i place=0\n"
    "    COMPREPLY=()\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        _tain_words \"$cur\" \"$commands --help --version\"\n"
    "        return\n"
    "    fi\n"
    "    if [[ $cur == [=:] ]]; then\n"
    "        prev=$cur cur=\n"
    "        ((at++))\n"
    "    fi\n"
    "    if [[ $prev == : && ${COMP_WORDS[at - 2]} == sqlite ]]; then\n"
    "        _tain_files \"$cur\"\n"
    "        return\n"
    "    fi\n"
    "    [[ $prev != = ]] || prev=${COMP_WORDS[at - 2]}\n"
    "    case $prev in\n";

static const char bash_place[] = "    if [[ $cur == --no* ]]; then\n"
                                 "        _tain_words \"$cur\" \"$on $off\"\n"
                                 "        return\n"
                                 "    elif [[ $cur == -* ]]; then\n"
                                 "        _tain_words \"$cur\" \"$on\"\n"
                                 "        return\n"
                                 "    fi\n"
                                 "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
                                 "        case ${COMP_WORDS[i]} in\n"
                                 "        --*) [[ \" $valued \" != *\" ${COMP_WORDS[i]} \"* || "
                                 "${COMP_WORDS[i + 1]} == = ]] || ((i++)) ;;\n"
                                 "        =) ((i++)) ;;\n"
                                 "        *) ((place++)) ;;\n"
                                 "        esac\n"
                                 "    done\n"
                                 "    case $command:$place in\n";

void completion_bash(FILE *out) {
    size_t n;
    const struct command *table = command_table(&n);
    fprintf(out, "%s_tain() {\n    local commands='", bash_helpers);
    bash_commands(out);
    fputs("help'\n    local valued='", out);
    bash_options(out, ~0u, VALUED, " ");
    fprintf(out, "'\n%s", bash_look_back);
    bash_values(out);
    fputs("    esac\n", out);
    bash_cases(out);
    fputs(bash_place, out);
    for (size_t i = 0; i < n; i++)
        bash_words(out, &table[i]);
    fputs("    esac\n}\n\ncomplete -F _tain tain\n", out);
}
