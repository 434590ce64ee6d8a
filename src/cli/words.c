/* Words without dashes behind a command's name. What a command takes stands in its row of the
 * command table. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

static const struct command_word no_words[COMMAND_WORDS_MAX];

static const struct command_word *words_of(const struct settings *s) {
    const struct command *c = command_find(s->command_name);
    return c ? c->words : no_words;
}

/* The row for the word at `place`; NULL: there is no room for one. */
static const struct command_word *word_at(const struct command_word *words, size_t place) {
    for (size_t i = 0; i < COMMAND_WORDS_MAX && words[i].name; i++)
        if (i == place || words[i].many)
            return &words[i];
    return NULL;
}

static bool is_choice(const char *choices, const char *text) {
    size_t n = strlen(text);
    for (const char *p = choices; n > 0 && *p;) {
        size_t length = strcspn(p, "|");
        if (length == n && strncmp(p, text, n) == 0)
            return true;
        p += length + (p[length] == '|');
    }
    return false;
}

const char *word_shown(const char *text) {
    bool address = strstr(text, "://") && strchr(text, '@');
    return address || strcasestr(text, "password") ? "***" : text;
}

enum verdict words_take(struct settings *s, const char *text, struct err *e) {
    if (text[0] == '-' && text[1] != '\0' && text[1] != '-')
        return err_set(e, V_INVALID, "config", 0, "unknown option '%.60s' for 'tain %s'",
                       word_shown(text), s->command_name);
    const struct command_word *w = word_at(words_of(s), s->words.n);
    if (!w || s->words.n == SETTINGS_LIST_MAX || strcmp(text, "--") == 0)
        return err_set(e, V_INVALID, "config", 0, "unexpected argument '%.60s' for 'tain %s'",
                       word_shown(text), s->command_name);
    if (w->choices && !is_choice(w->choices, text))
        return err_set(e, V_INVALID, "config", 0, "%s: '%.60s' is not allowed; give one of %s",
                       w->name, word_shown(text), w->choices);
    s->words.items[s->words.n++] = xstrdup(text);
    return V_OK;
}

enum verdict words_check(const struct settings *s, struct err *e) {
    const struct command_word *w = word_at(words_of(s), s->words.n);
    if (!w || w->optional ||
        (w->many && s->words.n > 0 && word_at(words_of(s), s->words.n - 1) == w))
        return V_OK;
    return err_set(e, V_INVALID, "config", 0, "%s is missing%s%s", w->name,
                   w->choices ? "; give one of " : "", w->choices ? w->choices : "");
}

void words_usage(const struct command *c, struct strbuf *out) {
    for (size_t i = 0; i < COMMAND_WORDS_MAX && c->words[i].name; i++) {
        const struct command_word *w = &c->words[i];
        strbuf_addf(out, " %s%s%s%s", w->optional ? "[" : "", w->choices ? w->choices : w->name,
                    w->many ? "..." : "", w->optional ? "]" : "");
    }
}
