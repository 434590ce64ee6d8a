#include "cli/settings.h"

#include "cli/options.h"
#include "db/secret.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void settings_release(struct settings *s) {
    for (size_t i = 0; i < s->words.n; i++)
        free(s->words.items[i]);
    size_t n;
    const struct option_def *table = option_table(&n);
    for (size_t i = 0; i < n; i++) {
        void *field = (char *)s + table[i].offset;
        if (table[i].type == OPTION_STRING)
            free(*(char **)field);
        if (table[i].type != OPTION_LIST)
            continue;
        struct string_list *list = field;
        for (size_t k = 0; k < list->n; k++)
            free(list->items[k]);
    }
    memset(s, 0, sizeof *s);
}

enum origin settings_origin(const struct settings *s, const char *option) {
    return s->origin[option_index(option_find(option))];
}

void settings_label(const struct settings *s, const char *option, char *out, size_t size) {
    const struct option_def *d = option_find(option);
    char name[OPTION_NAME_MAX];
    switch (settings_origin(s, option)) {
    case ORIGIN_ENV:
        option_env_name(d, name);
        snprintf(out, size, "%s", name);
        break;
    case ORIGIN_FILE:
        option_file_key(d, name);
        snprintf(out, size, "%.80s: %s", s->config, name);
        break;
    default:
        snprintf(out, size, "--%s", option);
    }
}

/* Both must be given for the order to count; 0 is "not given". */
static enum verdict check_order(const struct settings *s, const char *low_name, int64_t low,
                                const char *high_name, int64_t high, struct err *e) {
    if (low <= high || high == 0)
        return V_OK;
    char low_label[160], high_label[160];
    settings_label(s, low_name, low_label, sizeof low_label);
    settings_label(s, high_name, high_label, sizeof high_label);
    return err_set(e, V_INVALID, "config", 0, "%s %" PRId64 " is above %s %" PRId64, low_label, low,
                   high_label, high);
}

static enum verdict check_readable(const struct settings *s, const char *option, const char *path,
                                   struct err *e) {
    if (!path || access(path, R_OK) == 0)
        return V_OK;
    int code = errno;
    char label[160];
    settings_label(s, option, label, sizeof label);
    return err_set(e, V_INVALID, "config", code, "%s: %.200s: %s", label, path, strerror(code));
}

enum verdict settings_check(const struct settings *s, struct err *e) {
    enum verdict v = V_OK;
    if (option_find("start-id")->commands & s->command)
        v = check_order(s, "start-id", s->start_id, "end-id", s->end_id, e);
    /* a default above a smaller maximum is cut to it without a word */
    bool chosen = settings_origin(s, "retry-initial-ms") != ORIGIN_DEFAULT;
    if (v == V_OK && s->command == CMD_CATCHUP && chosen)
        v = check_order(s, "retry-initial-ms", s->retry_initial_ms, "retry-max-ms", s->retry_max_ms,
                        e);
    if (v == V_OK && (option_find("ca-file")->commands & s->command))
        v = check_readable(s, "ca-file", s->ca_file, e);
    return v;
}

/* In single quotes unless nothing in it means anything to a shell. */
static void add_quoted(struct strbuf *out, const char *text) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-./:=@,+%";
    if (*text && strspn(text, plain) == strlen(text)) {
        strbuf_adds(out, text);
        return;
    }
    strbuf_addc(out, '\'');
    for (const char *p = text; *p; p++) {
        if (*p == '\'')
            strbuf_adds(out, "'\\''");
        else
            strbuf_addc(out, *p);
    }
    strbuf_addc(out, '\'');
}

static void add_choice(struct strbuf *out, const char *choices, int index) {
    for (; index > 0; index--)
        choices = strchr(choices, '|') + 1;
    strbuf_add(out, choices, strcspn(choices, "|"));
}

static void add_value(struct strbuf *out, const struct option_def *d, const void *field) {
    switch (d->type) {
    case OPTION_INT:
    case OPTION_ID:
    case OPTION_BYTES:
        strbuf_addf(out, " %" PRId64, *(const int64_t *)field);
        break;
    case OPTION_DURATION:
        strbuf_addf(out, " %" PRId64 "ms", *(const int64_t *)field);
        break;
    case OPTION_DOUBLE:
        strbuf_addf(out, " %.10g", *(const double *)field);
        break;
    case OPTION_ENUM:
        strbuf_addc(out, ' ');
        add_choice(out, d->choices, *(const int *)field);
        break;
    case OPTION_STRING:
        strbuf_addc(out, ' ');
        add_quoted(out, *(char *const *)field);
        break;
    case OPTION_BOOL:
    case OPTION_LIST:
        break;
    }
}

static void add_option(struct strbuf *out, const struct option_def *d, const void *field) {
    char name[OPTION_NAME_MAX];
    snprintf(name, sizeof name, "%s", d->name);
    if (d->type == OPTION_BOOL && !*(const bool *)field)
        option_negated(d, name);
    if (d->type != OPTION_LIST) {
        strbuf_addf(out, " --%s", name);
        add_value(out, d, field);
        return;
    }
    const struct string_list *list = field;
    for (size_t i = 0; i < list->n; i++) {
        strbuf_addf(out, " --%s ", name);
        add_quoted(out, list->items[i]);
    }
}

void settings_value(const struct settings *s, const char *option, struct strbuf *out) {
    const struct option_def *d = option_find(option);
    const void *field = (const char *)s + d->offset;
    CLEANUP(strbuf_release) struct strbuf text;
    strbuf_init(&text, 4096);
    if (d->type == OPTION_BOOL)
        strbuf_adds(&text, *(const bool *)field ? " true" : " false");
    else if (d->type == OPTION_STRING && (d->flags & OPTION_SECRET))
        secret_redact(*(char *const *)field, out);
    else if (d->type == OPTION_LIST)
        for (size_t i = 0; i < ((const struct string_list *)field)->n; i++)
            strbuf_addf(&text, " %s", ((const struct string_list *)field)->items[i]);
    else
        add_value(&text, d, field);
    if (text.n)
        strbuf_adds(out, text.p + 1);
}

void settings_command_line(const struct settings *s, struct strbuf *out) {
    strbuf_addf(out, "tain %s", s->command_name);
    for (size_t i = 0; i < s->words.n; i++) {
        strbuf_addc(out, ' ');
        add_quoted(out, s->words.items[i]);
    }
    size_t n;
    const struct option_def *table = option_table(&n);
    for (size_t i = 0; i < n; i++)
        if (s->origin[i] == ORIGIN_FLAG)
            add_option(out, &table[i], (const char *)s + table[i].offset);
}
