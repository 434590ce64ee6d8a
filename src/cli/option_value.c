#include "cli/options.h"

#include "cli/cli.h"
#include "cli/shapes.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    double factor;
};

static const struct unit durations[] = {{"", 1e3},   {"ms", 1},    {"s", 1e3},
                                        {"m", 60e3}, {"h", 3.6e6}, {"d", 86.4e6}};

static const struct unit sizes[] = {
    {"", 1},          {"B", 1},        {"KiB", 1024},      {"MiB", 1048576},
    {"GiB", 1 << 30}, {"K", 1024},     {"M", 1048576},     {"G", 1 << 30},
    {"kB", 1000},     {"MB", 1000000}, {"GB", 1000000000},
};

/* Digits with at most one point among them: not the hex, nan and exponents that strtod takes. */
static bool parse_decimal(struct str s, double *ret) {
    char copy[40];
    if (s.n == 0 || s.n >= sizeof copy || !isdigit((unsigned char)s.p[0]))
        return false;
    memcpy(copy, s.p, s.n);
    copy[s.n] = '\0';
    const char *point = strchr(copy, '.');
    if (strspn(copy, "0123456789.") != s.n || (point && strchr(point + 1, '.')))
        return false;
    *ret = strtod(copy, NULL);
    return true;
}

static bool parse_with_unit(const char *text, const struct unit *units, size_t n, double *ret) {
    size_t digits = strspn(text, "0123456789.");
    double number;
    if (!parse_decimal((struct str){text, digits}, &number))
        return false;
    const char *rest = text + digits;
    rest += *rest == ' ' && rest[1] != '\0';
    for (size_t i = 0; i < n; i++)
        if (strcmp(rest, units[i].name) == 0) {
            *ret = number * units[i].factor;
            return true;
        }
    return false;
}

static bool parse_bool(const char *text, bool *ret) {
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcasecmp(text, words[i]) == 0) {
            *ret = i % 2;
            return true;
        }
    return false;
}

static int choice_index(const char *choices, const char *text) {
    size_t n = strlen(text);
    int i = 0;
    for (const char *p = choices; *p; i++) {
        size_t len = strcspn(p, "|");
        if (len == n && n > 0 && memcmp(p, text, n) == 0)
            return i;
        p += len + (p[len] == '|');
    }
    return -1;
}

static bool in_range(const struct option_def *d, double v) {
    double min = d->type == OPTION_ID ? 1 : d->min;
    return v >= min && v <= d->max;
}

static bool set_number(const struct option_def *d, const char *text, void *field) {
    double v;
    int64_t whole;
    switch (d->type) {
    case OPTION_INT:
    case OPTION_ID:
        if (!str_to_i64(str_of(text), &whole) || !in_range(d, (double)whole))
            return false;
        *(int64_t *)field = whole;
        return true;
    case OPTION_DOUBLE:
        if (!parse_decimal(str_of(text), &v) || !in_range(d, v))
            return false;
        *(double *)field = v;
        return true;
    case OPTION_DURATION:
        if (!parse_with_unit(text, durations, ARRAY_LEN(durations), &v) || !in_range(d, v))
            return false;
        *(int64_t *)field = (int64_t)(v + 0.5);
        return true;
    case OPTION_BYTES:
        if (!parse_with_unit(text, sizes, ARRAY_LEN(sizes), &v) || !in_range(d, v))
            return false;
        *(int64_t *)field = (int64_t)v;
        return true;
    default:
        return false;
    }
}

static void list_clear(struct string_list *list) {
    for (size_t i = 0; i < list->n; i++)
        free(list->items[i]);
    list->n = 0;
}

static bool list_add(struct string_list *list, const char *text, bool afresh) {
    if (*text == '\0' || (!afresh && list->n == SETTINGS_LIST_MAX))
        return false;
    if (afresh)
        list_clear(list);
    list->items[list->n++] = xstrdup(text);
    return true;
}

static bool set_string(const struct option_def *d, const char *text, char **field) {
    if (d->accepts && !d->accepts(text))
        return false;
    free(*field);
    *field = xstrdup(text);
    return true;
}

static bool set_field(struct settings *s, const struct option_def *d, const char *text,
                      enum origin origin) {
    void *field = (char *)s + d->offset;
    int choice;
    switch (d->type) {
    case OPTION_BOOL:
        return parse_bool(text, field);
    case OPTION_STRING:
        return set_string(d, text, field);
    case OPTION_LIST:
        return list_add(field, text, s->origin[option_index(d)] != origin);
    case OPTION_ENUM:
        choice = choice_index(d->choices, text);
        if (choice >= 0)
            *(int *)field = choice;
        return choice >= 0;
    default:
        return set_number(d, text, field);
    }
}

static void add_duration(struct strbuf *out, double ms) {
    for (size_t i = ARRAY_LEN(durations) - 1; i > 0; i--) {
        int64_t n = (int64_t)(ms / durations[i].factor);
        if (n > 0 && (double)n * durations[i].factor == ms) {
            strbuf_addf(out, "%" PRId64 "%s", n, durations[i].name);
            return;
        }
    }
    strbuf_adds(out, "0");
}

static void add_choices(struct strbuf *out, const char *choices) {
    for (const char *p = choices; *p; p++) {
        if (*p != '|')
            strbuf_addc(out, *p);
        else
            strbuf_adds(out, strchr(p + 1, '|') ? ", " : " or ");
    }
}

void option_allowed(const struct option_def *d, struct strbuf *out) {
    switch (d->type) {
    case OPTION_BOOL:
        strbuf_adds(out, "true or false");
        break;
    case OPTION_ID:
        strbuf_adds(out, "an item id, a whole number from 1 up");
        break;
    case OPTION_INT:
        if (d->max > 1e12)
            strbuf_addf(out, "a whole number from %.0f up", d->min);
        else
            strbuf_addf(out, "a whole number from %.0f to %.0f", d->min, d->max);
        break;
    case OPTION_DOUBLE:
        strbuf_addf(out, "a number from %.0f to %.0f", d->min, d->max);
        break;
    case OPTION_DURATION:
        strbuf_adds(out, "a duration such as 500ms, 30s, 5m, 6h or 3d, from ");
        add_duration(out, d->min);
        strbuf_adds(out, " to ");
        add_duration(out, d->max);
        break;
    case OPTION_BYTES:
        strbuf_adds(out, "a size such as 65536, 512KiB or 8MiB, from 1KiB to 1GiB");
        break;
    case OPTION_ENUM:
        add_choices(out, d->choices);
        break;
    case OPTION_LIST:
        strbuf_addf(out, "at most %d texts that are not empty", SETTINGS_LIST_MAX);
        break;
    case OPTION_STRING:
        strbuf_adds(out, d->allowed ? d->allowed : "any text");
        break;
    }
}

enum verdict option_set(struct settings *s, const struct option_def *d, const char *text,
                        enum origin origin, const char *label, struct err *e) {
    if (set_field(s, d, text, origin)) {
        s->origin[option_index(d)] = (unsigned char)origin;
        return V_OK;
    }
    CLEANUP(strbuf_release) struct strbuf allowed;
    strbuf_init(&allowed, 256);
    option_allowed(d, &allowed);
    if ((d->flags & OPTION_SECRET) || word_shown(text) != text)
        return err_set(e, V_INVALID, "config", 0, "%s: this value is not allowed; give %s", label,
                       allowed.p);
    return err_set(e, V_INVALID, "config", 0, "%s: '%.80s' is not allowed; give %s", label, text,
                   allowed.p);
}
