#include "enrich/answer_int.h"
#include "enrich/json_copy.h"

#include <string.h>

static bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || (unsigned char)c >= 0x80;
}

static struct str behind(struct str s, size_t n) {
    return (struct str){s.p + n, s.n - n};
}

/* [12] or ["a name"]; no escapes in the name. */
static bool bracket(struct str *rest, struct path_step *ret) {
    struct str s = *rest;
    size_t n = 1;
    if (s.n > 2 && s.p[1] == '"') {
        const char *quote = memchr(s.p + 2, '"', s.n - 2);
        if (!quote || quote + 1 == s.p + s.n || quote[1] != ']')
            return false;
        *ret = (struct path_step){.name = {s.p + 2, (size_t)(quote - s.p) - 2}};
        *rest = behind(s, ret->name.n + 4);
        return true;
    }
    *ret = (struct path_step){0};
    while (n < s.n && n < 8 && s.p[n] >= '0' && s.p[n] <= '9')
        ret->index = ret->index * 10 + (size_t)(s.p[n++] - '0');
    if (n == 1 || n == s.n || s.p[n] != ']')
        return false;
    *rest = behind(s, n + 1);
    return true;
}

bool path_next(struct str *rest, bool first, struct path_step *ret) {
    struct str s = *rest;
    if (s.n > 0 && s.p[0] == '[')
        return bracket(rest, ret);
    size_t at = first ? 0 : 1, n = at;
    if (!first && (s.n == 0 || s.p[0] != '.'))
        return false;
    while (n < s.n && is_name_char(s.p[n]))
        n++;
    if (n == at)
        return false;
    *ret = (struct path_step){.name = {s.p + at, n - at}};
    *rest = behind(s, n);
    return true;
}

enum verdict answer_check_path(struct str path, struct err *e) {
    struct path_step step;
    int steps = 0;
    if (path.n == 0)
        return err_set(e, V_INVALID, "config", 0, "a path is missing");
    for (; path_next(&path, steps == 0, &step); steps++)
        if (steps == ANSWER_PATH_MAX)
            return err_set(e, V_INVALID, "config", 0, "more than %d steps", ANSWER_PATH_MAX);
    if (path.n == 0)
        return V_OK;
    return err_set(e, V_INVALID, "config", 0,
                   "not a path; write it like results[0].artwork.url or [\"odd name\"][2]");
}

static enum path_found find_member(struct json_read r, struct str name, struct json_read *ret) {
    struct str key;
    bool first = true, found = false;
    json_enter(&r);
    while (json_next_member(&r, &first, &key)) {
        if (str_eq(key, name)) {
            found = true;
            *ret = r;
        }
        json_skip(&r);
    }
    return found ? PATH_THERE : PATH_ABSENT;
}

static enum path_found find_element(struct json_read r, size_t index, struct json_read *ret) {
    bool first = true;
    json_enter(&r);
    for (size_t i = 0; json_next_element(&r, &first); i++) {
        if (i == index) {
            *ret = r;
            return PATH_THERE;
        }
        json_skip(&r);
    }
    return PATH_ABSENT;
}

enum path_found path_find(const struct json_read *from, struct str path, struct json_read *ret) {
    struct json_read r = *from;
    struct path_step step;
    for (bool first = true; path_next(&path, first, &step); first = false) {
        enum json_kind kind = json_peek(&r);
        enum path_found found = kind == JSON_NULL ? PATH_ABSENT : PATH_ASTRAY;
        if (step.name.p && kind == JSON_OBJECT)
            found = find_member(r, step.name, &r);
        else if (!step.name.p && kind == JSON_ARRAY)
            found = find_element(r, step.index, &r);
        if (found != PATH_THERE)
            return found;
    }
    *ret = r;
    return PATH_THERE;
}

static bool number_counts(struct json_read *r) {
    struct str n;
    if (!json_raw_number(r, &n))
        return false;
    for (size_t i = 0; i < n.n && (n.p[i] | 32) != 'e'; i++)
        if (n.p[i] >= '1' && n.p[i] <= '9')
            return true;
    return false;
}

bool json_counts(struct json_read r) {
    struct str s;
    bool first = true;
    switch (json_peek(&r)) {
    case JSON_TRUE:
        return true;
    case JSON_NUMBER:
        return number_counts(&r);
    case JSON_STRING:
        return json_raw_string(&r, &s) && s.n > 0;
    case JSON_ARRAY:
        json_enter(&r);
        return json_next_element(&r, &first);
    case JSON_OBJECT:
        json_enter(&r);
        return json_next_member(&r, &first, &s);
    default:
        return false;
    }
}
