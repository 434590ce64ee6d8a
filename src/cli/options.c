#include "cli/options.h"

#include "base/suggest.h"
#include "cli/cli.h"
#include "cli/shapes.h"
#include "db/secret.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void option_env_name(const struct option_def *d, char out[OPTION_NAME_MAX]) {
    snprintf(out, OPTION_NAME_MAX, "TAIN_%s", d->name);
    for (char *p = out; *p; p++)
        *p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
}

void option_file_key(const struct option_def *d, char out[OPTION_NAME_MAX]) {
    snprintf(out, OPTION_NAME_MAX, "%s", d->name);
    for (char *p = out; *p; p++)
        if (*p == '-')
            *p = '_';
}

void option_negated(const struct option_def *d, char out[OPTION_NAME_MAX]) {
    if (str_starts(str_of(d->name), "no-"))
        snprintf(out, OPTION_NAME_MAX, "%s", d->name + 3);
    else
        snprintf(out, OPTION_NAME_MAX, "no-%s", d->name);
}

const struct option_def *option_nearest(const char *name, unsigned commands) {
    size_t n;
    const struct option_def *table = option_table(&n), *best = NULL;
    int best_distance = 0;
    for (size_t i = 0; i < n; i++) {
        int distance = suggest_distance(name, table[i].name);
        if ((table[i].commands & commands) && (!best || distance < best_distance)) {
            best = &table[i];
            best_distance = distance;
        }
    }
    return best && suggest_near(name, best_distance) ? best : NULL;
}

/* One flag as it was written, kept until the places that it overrides have been read. */
struct given {
    const struct option_def *def;
    const char *text;
    char label[OPTION_NAME_MAX + 2];
};

struct flags {
    struct given *items;
    size_t n;
    bool help;
};

static enum verdict unknown_option(const struct settings *s, const char *name, struct err *e) {
    const struct option_def *other = option_find(name);
    if (other)
        return err_set(e, V_INVALID, "config", 0, "--%s is not an option of 'tain %s'", name,
                       s->command_name);
    const struct option_def *near = option_nearest(name, s->command);
    if (near)
        return err_set(e, V_INVALID, "config", 0,
                       "unknown option --%.60s for 'tain %s'; did you mean --%s?", word_shown(name),
                       s->command_name, near->name);
    return err_set(e, V_INVALID, "config", 0, "unknown option --%.60s for 'tain %s'",
                   word_shown(name), s->command_name);
}

/* The option that `name` switches on or, with *ret_negated, off; NULL: no option of ours. */
static const struct option_def *find_flag(const char *name, unsigned command, bool *ret_negated) {
    size_t n;
    const struct option_def *table = option_table(&n);
    for (size_t i = 0; i < n; i++) {
        if (!(table[i].commands & command))
            continue;
        char negated[OPTION_NAME_MAX];
        option_negated(&table[i], negated);
        *ret_negated = table[i].type == OPTION_BOOL && strcmp(negated, name) == 0;
        if (*ret_negated || strcmp(table[i].name, name) == 0)
            return &table[i];
    }
    return NULL;
}

/* Reads the flag at argv[*i] and moves *i to its last word. */
static enum verdict read_flag(const struct settings *s, const struct option_source *from, int *i,
                              struct given *ret, struct err *e) {
    const char *word = from->argv[*i] + 2, *equals = strchr(word, '=');
    char name[OPTION_NAME_MAX];
    int length = equals ? (int)(equals - word) : (int)strlen(word);
    snprintf(name, sizeof name, "%.*s", length, word);
    bool negated;
    ret->def = find_flag(name, s->command, &negated);
    if (!ret->def)
        return unknown_option(s, name, e);
    snprintf(ret->label, sizeof ret->label, "--%s", name);
    ret->text = equals ? equals + 1 : NULL;
    if (ret->def->type == OPTION_BOOL) {
        if (negated && equals)
            return err_set(e, V_INVALID, "config", 0, "--%s takes no value", name);
        if (!equals)
            ret->text = negated ? "false" : "true";
        return V_OK;
    }
    if (equals)
        return V_OK;
    /* A value that begins with two dashes is far more often a forgotten value. */
    if (*i + 1 >= from->argc || str_starts(str_of(from->argv[*i + 1]), "--"))
        return err_set(e, V_INVALID, "config", 0, "--%s needs a value: --%s %s", name, name,
                       ret->def->metavar ? ret->def->metavar : ret->def->choices);
    ret->text = from->argv[++*i];
    return V_OK;
}

static enum verdict refuse_password(const struct given *g, struct err *e) {
    if (!(g->def->flags & OPTION_SECRET) || !secret_is_in(g->text))
        return V_OK;
    return err_set(e, V_INVALID, "config", 0,
                   "%s holds a password (or a port that is no number), and everyone on this "
                   "machine can read a command line; put the address into the environment variable "
                   "TAIN_DB or into the file named by --config, or keep the password alone in the "
                   "file named by PGPASSFILE",
                   g->label);
}

static enum verdict read_flags(struct settings *s, const struct option_source *from,
                               struct flags *f, struct err *e) {
    for (int i = 0; i < from->argc; i++) {
        const char *arg = from->argv[i];
        if (strcmp(arg, "-h") == 0 || strcmp(arg, "--help") == 0) {
            f->help = true;
            return V_OK;
        }
        if (!str_starts(str_of(arg), "--") || arg[2] == '\0') {
            enum verdict v = words_take(s, arg, e);
            if (v != V_OK)
                return v;
            continue;
        }
        struct given *g = &f->items[f->n];
        enum verdict v = read_flag(s, from, &i, g, e);
        if (v == V_OK)
            v = refuse_password(g, e);
        if (v != V_OK)
            return v;
        f->n++;
    }
    return words_check(s, e);
}

static enum verdict apply_defaults(struct settings *s, struct err *e) {
    size_t n;
    const struct option_def *table = option_table(&n);
    for (size_t i = 0; i < n; i++) {
        const struct option_def *d = &table[i];
        if (!d->fallback)
            continue;
        enum verdict v = option_set(s, d, d->fallback, ORIGIN_DEFAULT, d->name, e);
        if (v != V_OK)
            return v;
    }
    return V_OK;
}

/* An empty variable counts as none, as everywhere in a shell. */
static enum verdict apply_env(struct settings *s, const struct option_def *d,
                              const char *(*env)(const char *), struct err *e) {
    bool ours = (d->commands & s->command) || s->command == CMD_DOCTOR; /* it looks at all */
    if (!ours || (d->flags & OPTION_NO_ENV))
        return V_OK;
    char name[OPTION_NAME_MAX];
    option_env_name(d, name);
    const char *text = env(name);
    return text && *text ? option_set(s, d, text, ORIGIN_ENV, name, e) : V_OK;
}

static enum verdict apply_flag(struct settings *s, const struct given *g, struct err *e) {
    return option_set(s, g->def, g->text, ORIGIN_FLAG, g->label, e);
}

/* The file's name must be known before the file is read: the flag, else the environment. */
static enum verdict apply_file(struct settings *s, const struct flags *f,
                               const struct option_source *from, struct err *e) {
    const struct option_def *config = option_find("config");
    enum verdict v = apply_env(s, config, from->env, e);
    for (size_t i = 0; v == V_OK && i < f->n; i++)
        if (f->items[i].def == config)
            v = apply_flag(s, &f->items[i], e);
    return v == V_OK && s->config ? config_file_load(s, s->config, e) : v;
}

static enum verdict apply_all(struct settings *s, const struct flags *f,
                              const struct option_source *from, struct err *e) {
    size_t n;
    const struct option_def *table = option_table(&n);
    enum verdict v = apply_defaults(s, e);
    if (v == V_OK)
        v = apply_file(s, f, from, e);
    for (size_t i = 0; v == V_OK && i < n; i++)
        if (strcmp(table[i].name, "config") != 0)
            v = apply_env(s, &table[i], from->env, e);
    for (size_t i = 0; v == V_OK && i < f->n; i++)
        v = apply_flag(s, &f->items[i], e);
    return v;
}

/* Who reads the complaint about wrong settings, as far as these say: the last such flag, else the
 * environment, else what had been read before the trouble. */
static void guess_log_format(struct settings *s, const struct option_source *from) {
    const struct option_def *d = option_find("log-format");
    struct err ignored;
    const char *text = NULL;
    for (int i = 0; i < from->argc; i++) {
        if (str_starts(str_of(from->argv[i]), "--log-format="))
            text = strchr(from->argv[i], '=') + 1;
        else if (strcmp(from->argv[i], "--log-format") == 0 && i + 1 < from->argc)
            text = from->argv[i + 1];
    }
    enum verdict v = text ? option_set(s, d, text, ORIGIN_FLAG, d->name, &ignored)
                          : apply_env(s, d, from->env, &ignored);
    if (v != V_OK)
        s->log_format = 0;
}

/* Addresses are put together as root + "/item/1.json". */
static void strip_slashes(char *url) {
    size_t n = strlen(url);
    while (n > 0 && url[n - 1] == '/')
        url[--n] = '\0';
}

enum verdict settings_load(struct settings *s, enum command_id command, const char *command_name,
                           const struct option_source *from, bool *ret_help, struct err *e) {
    *s = (struct settings){.command = command, .command_name = command_name};
    struct flags f = {.items = xcalloc((size_t)from->argc + 1, sizeof(struct given))};
    enum verdict v = read_flags(s, from, &f, e);
    if (v == V_OK && !f.help)
        v = apply_all(s, &f, from, e);
    free(f.items);
    if (v == V_OK && !f.help) {
        strip_slashes(s->upstream);
        v = settings_check(s, e);
    }
    if (v == V_OK)
        *ret_help = f.help;
    else
        guess_log_format(s, from);
    return v;
}
