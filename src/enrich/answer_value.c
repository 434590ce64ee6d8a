#include "enrich/answer_int.h"
#include "enrich/json_copy.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool wrong(struct str *ret_error, const char *why) {
    *ret_error = str_of(why);
    return false;
}

/* The integer that a number or a text of digits stands for. */
static bool integer(struct json_read r, int64_t *ret) {
    struct str s;
    if (json_peek(&r) == JSON_STRING)
        return json_text(&r, &s) && str_to_i64(s, ret);
    return json_peek(&r) == JSON_NUMBER && json_raw_number(&r, &s) && json_integer_of(s, ret);
}

/* "none" is compared with what stands there: 0 is also 0.0, and where an integer is wanted "00";
 * other things letter by letter. */
static bool is_none(const struct map_rule *rule, struct json_read r) {
    int64_t none, there;
    struct strbuf text;
    if (!rule->none.p)
        return false;
    if ((json_peek(&r) == JSON_NUMBER || rule->type == MAP_INT) && str_to_i64(rule->none, &none) &&
        integer(r, &there))
        return none == there;
    if (json_peek(&r) == JSON_ARRAY || json_peek(&r) == JSON_OBJECT)
        return false;
    strbuf_init(&text, rule->none.n + 1);
    json_copy_text(&r, &text);
    bool same = !text.overflow && str_eq(strbuf_str(&text), rule->none);
    strbuf_release(&text);
    return same;
}

/* Bytes of the first max characters, or of all when there are no more. */
static size_t first_chars(struct str s, int64_t max) {
    size_t at = 0;
    for (int64_t n = 0; at < s.n && n < max; n++) {
        size_t len = utf8_len((const unsigned char *)s.p + at, s.n - at);
        at += len ? len : 1;
    }
    return at;
}

static int64_t limit_of(const struct map_rule *rule, const struct source_column *c) {
    int64_t own = c && c->type == COLUMN_TEXT ? c->max_chars : 0;
    if (own <= 0 || (rule->max > 0 && rule->max < own))
        return rule->max;
    return own;
}

static struct str trimmed(struct str s) {
    while (s.n > 0 && (unsigned char)s.p[0] <= ' ')
        s = (struct str){s.p + 1, s.n - 1};
    while (s.n > 0 && (unsigned char)s.p[s.n - 1] <= ' ')
        s.n--;
    return s;
}

/* http(s) with something behind it: what a page may safely link to. */
static bool is_url(struct str s) {
    size_t scheme = s.n > 8 && strncasecmp(s.p, "https://", 8) == 0  ? 8
                    : s.n > 7 && strncasecmp(s.p, "http://", 7) == 0 ? 7
                                                                     : 0;
    if (scheme == 0 || strchr("/?#:@", s.p[scheme]))
        return false;
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7F || strchr("\"<>\\", s.p[i]))
            return false;
    return true;
}

static bool add_limited(const struct map_rule *rule, const struct source_column *c, struct str s,
                        struct strbuf *out, struct str *ret_error) {
    int64_t max = limit_of(rule, c);
    size_t n = max > 0 ? first_chars(s, max) : s.n;
    if (n < s.n && rule->misfit != MISFIT_CUT)
        return wrong(ret_error, "the text is too long");
    strbuf_add_json(out, (struct str){s.p, n});
    return true;
}

static bool add_text(const struct map_rule *rule, const struct source_column *c, struct json_read r,
                     struct strbuf *out, struct str *ret_error) {
    struct str s;
    struct strbuf text;
    enum json_kind kind = json_peek(&r);
    if (kind == JSON_ARRAY || kind == JSON_OBJECT)
        return wrong(ret_error, "a list is no text");
    if (kind == JSON_STRING)
        return json_text(&r, &s) ? add_limited(rule, c, s, out, ret_error)
                                 : wrong(ret_error, "broken text");
    strbuf_init(&text, ANSWER_MAX);
    json_copy_text(&r, &text);
    bool ok = !r.bad ? add_limited(rule, c, strbuf_str(&text), out, ret_error)
                     : wrong(ret_error, "not a number");
    strbuf_release(&text);
    return ok;
}

/* An empty address is none; one that was cut would lead elsewhere. */
static bool add_url(const struct map_rule *rule, const struct source_column *c, struct json_read r,
                    struct strbuf *out, struct str *ret_error) {
    struct str s;
    struct map_rule uncut = *rule;
    if (json_peek(&r) != JSON_STRING || !json_text(&r, &s))
        return wrong(ret_error, "not a text");
    s = trimmed(s);
    if (s.n == 0) {
        strbuf_adds(out, "null");
        return true;
    }
    if (!is_url(s))
        return wrong(ret_error, "not an http or https address");
    uncut.misfit = MISFIT_FAIL;
    return add_limited(&uncut, c, s, out, ret_error);
}

static bool add_int(const struct source_column *c, struct json_read r, struct strbuf *out,
                    struct str *ret_error) {
    int64_t v;
    if (!integer(r, &v))
        return wrong(ret_error, "not an integer, or too large for any");
    if (c && c->type == COLUMN_INT && c->min < c->max && (v < c->min || v > c->max))
        return wrong(ret_error, "too large a number for the column");
    strbuf_addf(out, "%lld", (long long)v);
    return true;
}

static bool is_single(const struct source_column *c) {
    return c && (str_eqc(c->type_name, "real") || str_eqc(c->type_name, "float4")) &&
           c->type == COLUMN_REAL;
}

/* The digits are passed on as they are; only the size must be one that a column can hold. */
static bool add_real(const struct source_column *c, struct json_read r, struct strbuf *out,
                     struct str *ret_error) {
    struct str s;
    struct strbuf digits;
    bool text = json_peek(&r) == JSON_STRING;
    if (text && !json_text(&r, &s))
        return wrong(ret_error, "broken text");
    if (text)
        json_read_init(&r, r.a, s);
    if (json_peek(&r) != JSON_NUMBER)
        return wrong(ret_error, "not a number");
    strbuf_init(&digits, 400);
    json_copy_value(&r, &digits);
    double v = r.bad || digits.overflow ? INFINITY : strtod(strbuf_str(&digits).p, NULL);
    bool fits = isfinite(v) && (!text || json_at_end(&r)) && (!is_single(c) || fabs(v) <= FLT_MAX);
    if (fits)
        strbuf_add_str(out, strbuf_str(&digits));
    strbuf_release(&digits);
    return fits || wrong(ret_error, "not a number that fits");
}

static bool add_bool(struct json_read r, struct strbuf *out, struct str *ret_error) {
    static const char *const words[] = {"false", "true", "0", "1", "no", "yes"};
    struct strbuf text;
    int found = -1;
    strbuf_init(&text, 16);
    enum json_kind kind = json_peek(&r);
    if (kind != JSON_ARRAY && kind != JSON_OBJECT)
        json_copy_text(&r, &text);
    for (size_t i = 0; i < ARRAY_LEN(words) && !text.overflow; i++)
        if (strcasecmp(strbuf_str(&text).p, words[i]) == 0)
            found = (int)(i % 2);
    strbuf_release(&text);
    if (found < 0)
        return wrong(ret_error, "neither true nor false");
    strbuf_adds(out, found ? "true" : "false");
    return true;
}

static bool add_by_type(const struct map_rule *rule, const struct source_column *c,
                        struct json_read r, struct strbuf *out, struct str *ret_error) {
    switch (rule->type) {
    case MAP_TEXT:
        return add_text(rule, c, r, out, ret_error);
    case MAP_URL:
        return add_url(rule, c, r, out, ret_error);
    case MAP_INT:
        return add_int(c, r, out, ret_error);
    case MAP_REAL:
        return add_real(c, r, out, ret_error);
    case MAP_BOOL:
        return add_bool(r, out, ret_error);
    case MAP_JSON:
        json_copy_value(&r, out);
        return !r.bad || wrong(ret_error, "a number that JSON does not know");
    }
    return wrong(ret_error, "of no type");
}

bool value_add(const struct map_rule *rule, const struct json_read *value,
               const struct source_column *column, struct strbuf *out, struct str *ret_error) {
    size_t before = out->n;
    struct json_read r = value ? *value : (struct json_read){0};
    if (!value || json_peek(&r) == JSON_NULL || is_none(rule, r)) {
        strbuf_adds(out, "null");
        return true;
    }
    if (add_by_type(rule, column, r, out, ret_error))
        return true;
    if (rule->misfit == MISFIT_FAIL)
        return false;
    if (out->n > before) /* a JSON value that broke off half-way */
        out->n = before;
    strbuf_adds(out, "null");
    return true;
}
