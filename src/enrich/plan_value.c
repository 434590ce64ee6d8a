#include "enrich/plan_int.h"

#include "base/suggest.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum verdict plan_bad(struct plan_reader *r, int line, const char *fmt, ...) {
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7F)
            *p = '?'; /* a file of bytes must not drive the terminal */
    return err_set(r->e, V_INVALID, "config", 0, "%.200s:%d: %s", r->path, line, text);
}

const struct conf_entry *conf_get(const struct conf_section *s, const char *key) {
    for (const struct conf_entry *c = s->entries; c; c = c->next)
        if (strcmp(c->key, key) == 0)
            return c;
    return NULL;
}

/* "source flowsheet", "request" */
static const char *name_of(struct plan_reader *r, const struct conf_section *s) {
    char *name = arena_alloc(r->a, 200);
    snprintf(name, 200, "%s%s%.100s", s->kind, s->title.p ? " " : "", s->title.p ? s->title.p : "");
    return name;
}

enum verdict plan_get_text(struct plan_reader *r, const struct conf_section *s, const char *key,
                           size_t max, const char *example, struct str *ret) {
    const struct conf_entry *c = conf_get(s, key);
    if (!c && example)
        return plan_bad(r, s->line, "%s: %s is missing; write %s = %s", name_of(r, s), key, key,
                        example);
    if (!c)
        return V_OK;
    if (strspn(c->text.p, " \t\r\n") == c->text.n)
        return plan_bad(r, c->line, "%s: is empty; write %s = %s, or leave the line out", key, key,
                        example ? example : "VALUE");
    if (c->text.n > max)
        return plan_bad(r, c->line, "%s: longer than %zu bytes", key, max);
    *ret = c->text;
    return V_OK;
}

static enum verdict expected(struct plan_reader *r, const struct conf_entry *c, const char *what) {
    return plan_bad(r, c->line, "%s: %.60s: expected %s", c->key, c->shown.p, what);
}

enum verdict plan_get_count(struct plan_reader *r, const struct conf_section *s, const char *key,
                            int64_t min, int64_t max, int64_t *ret) {
    const struct conf_entry *c = conf_get(s, key);
    char what[100];
    int64_t n;
    if (!c)
        return V_OK;
    if (str_to_i64(c->text, &n) && n >= min && n <= max) {
        *ret = n;
        return V_OK;
    }
    snprintf(what, sizeof what, "a number from %lld to %lld", (long long)min, (long long)max);
    return expected(r, c, what);
}

static bool parse_duration(struct str s, int64_t *ret_ms) {
    static const struct {
        const char *name;
        int64_t ms;
    } units[] = {{"", 1000},     {"ms", 1},      {"s", 1000},     {"m", 60000},
                 {"min", 60000}, {"h", 3600000}, {"d", 86400000}, {"w", 604800000}};
    size_t digits = strspn(s.p, "0123456789");
    int64_t n;
    if (!str_to_i64((struct str){s.p, digits}, &n) || n > 1000000000)
        return false;
    const char *unit = s.p + digits;
    unit += *unit == ' ';
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (strcmp(unit, units[i].name) == 0) {
            *ret_ms = n * units[i].ms;
            return true;
        }
    return false;
}

enum verdict plan_get_duration(struct plan_reader *r, const struct conf_section *s, const char *key,
                               const char *word, int64_t min_ms, int64_t max_ms, int64_t *ret) {
    const struct conf_entry *c = conf_get(s, key);
    char what[160];
    int64_t ms;
    if (!c)
        return V_OK;
    if (word && str_eqc(c->text, word)) {
        *ret = 0;
        return V_OK;
    }
    if (parse_duration(c->text, &ms) && ms >= min_ms && ms <= max_ms) {
        *ret = ms;
        return V_OK;
    }
    snprintf(
        what, sizeof what, "%s%sa time such as 500ms, 30s, 5min, 12h or 30d, from %lld%s to %llds",
        word ? word : "", word ? " or " : "", (long long)(min_ms < 1000 ? min_ms : min_ms / 1000),
        min_ms < 1000 ? "ms" : "s", (long long)max_ms / 1000);
    return expected(r, c, what);
}

enum verdict plan_get_word(struct plan_reader *r, const struct conf_section *s, const char *key,
                           const char *const *words, size_t n, int *ret) {
    const struct conf_entry *c = conf_get(s, key);
    char what[160] = "one of";
    if (!c)
        return V_OK;
    for (size_t i = 0; i < n; i++) {
        if (str_eqc(c->text, words[i])) {
            *ret = (int)i;
            return V_OK;
        }
        snprintf(what + strlen(what), sizeof what - strlen(what), "%s %s", i ? "," : "", words[i]);
    }
    return expected(r, c, what);
}

enum verdict plan_get_path(struct plan_reader *r, const struct conf_entry *entry) {
    struct err e;
    if (answer_check_path(entry->text, &e) == V_OK)
        return V_OK;
    return plan_bad(r, entry->line, "%s: %.60s: %s", entry->key, entry->shown.p, e.msg);
}

enum verdict plan_check_name(struct plan_reader *r, const struct conf_section *s) {
    size_t n = 0;
    while (n < s->title.n &&
           (isalnum((unsigned char)s->title.p[n]) || s->title.p[n] == '_' || s->title.p[n] == '-'))
        n++;
    if (n == s->title.n && n > 0 && n <= 40)
        return V_OK;
    return plan_bad(r, s->line, "%s: a name has letters, digits, _ and -, at most 40 of them",
                    name_of(r, s));
}
