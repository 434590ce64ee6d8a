#include "enrich/ask.h"

#include "enrich/ask_int.h"
#include "hn/url_key.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const char *told_name(enum told t) {
    static const char *const names[] = {[TOLD_FOUND] = "found",         [TOLD_NONE] = "none",
                                        [TOLD_NEXT] = "next",           [TOLD_ROW] = "row",
                                        [TOLD_WAIT] = "wait",           [TOLD_REFUSED] = "refused",
                                        [TOLD_TRANSIENT] = "transient", [TOLD_SPENT] = "spent"};
    return (size_t)t < ARRAY_LEN(names) ? names[t] : "?";
}

void ask_encode(struct strbuf *out, struct str s) {
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c && strchr(plain, c))
            strbuf_addc(out, (char)c);
        else
            strbuf_addf(out, "%%%02X", c);
    }
}

struct str ask_base(struct str url, const char *real) {
    while (url.n > 0 && url.p[url.n - 1] == '/')
        url.n--;
    return url.n > 0 ? url : str_of(real);
}

bool ask_header(struct ask *q, struct arena *a, const char *name, struct str value) {
    size_t n = strlen(name);
    if (value.n == 0)
        return true;
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] < ' ' || value.p[i] > '~')
            return false;
    char *line = arena_alloc(a, n + 2 + value.n + 1);
    memcpy(line, name, n);
    memcpy(line + n, ": ", 2);
    memcpy(line + n + 2, value.p, value.n);
    line[n + 2 + value.n] = '\0';
    q->headers[q->n_headers++] = (struct str){line, n + 2 + value.n};
    return true;
}

enum verdict ask_path(struct ask *q, struct arena *a, struct strbuf *path, struct err *e) {
    bool fits = !path->overflow;
    if (fits)
        q->path = arena_str(a, strbuf_str(path));
    strbuf_release(path);
    return fits ? V_OK
                : err_set(e, V_LIMIT, "http", 0, "a path of more than %zu bytes", ASK_PATH_MAX);
}

struct str heard_header(const struct heard *h, const char *name) {
    struct str rest = h->headers;
    size_t n = strlen(name);
    while (rest.n > 0) {
        const char *end = memchr(rest.p, '\n', rest.n);
        struct str line = {rest.p, end ? (size_t)(end - rest.p) : rest.n};
        size_t gone = line.n + (end != NULL);
        rest = (struct str){rest.p + gone, rest.n - gone};
        if (line.n <= n || line.p[n] != ':' || strncasecmp(line.p, name, n) != 0)
            continue;
        line = (struct str){line.p + n + 1, line.n - n - 1};
        while (line.n > 0 && (line.p[0] == ' ' || line.p[0] == '\t'))
            line = (struct str){line.p + 1, line.n - 1};
        while (line.n > 0 && strchr(" \t\r", line.p[line.n - 1]))
            line.n--;
        return line;
    }
    return STR_NONE;
}

struct str text_cut(struct str s, size_t max) {
    if (s.n <= max)
        return s;
    while (max > 0 && ((unsigned char)s.p[max] & 0xC0) == 0x80)
        max--;
    return (struct str){s.p, max};
}

/* Foreign texts may hold anything; a line of a log and a column of a table may not. */
static struct str printable(struct arena *a, struct str s) {
    struct str copy = arena_str(a, s);
    char *p = (char *)(uintptr_t)copy.p;
    for (size_t i = 0, n; i < copy.n; i += n) {
        n = utf8_len((unsigned char *)p + i, copy.n - i);
        if (n == 0 || (unsigned char)p[i] < ' ' || p[i] == 0x7F) {
            p[i] = n == 0 || p[i] == 0x7F ? '?' : ' ';
            n = 1;
        }
    }
    return copy;
}

void told_say(struct told_why *ret, struct arena *a, enum told told, const char *err_class,
              const char *fmt, ...) {
    char text[2 * ASK_ERROR_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    *ret = (struct told_why){.told = told, .wait_ms = -1, .err_class = err_class};
    ret->error = printable(a, text_cut(str_of(text), ASK_ERROR_MAX));
}

void told_garbage(struct told_why *ret, struct arena *a, const char *what) {
    told_say(ret, a, TOLD_TRANSIENT, "garbage", "not an answer that we understand: %s", what);
}

bool heard_json(const struct heard *h, struct arena *a, struct json_read *ret) {
    struct json_read r;
    if (h->body.n == 0 || h->body.n > ANSWER_MAX)
        return false;
    json_read_init(&r, a, h->body);
    *ret = r;
    json_skip(&r);
    return json_at_end(&r);
}

struct str json_text_at(const struct json_read *from, const char *path) {
    struct json_read at;
    struct str s;
    if (path_find(from, str_of(path), &at) != PATH_THERE || json_peek(&at) != JSON_STRING)
        return STR_NONE;
    return json_text(&at, &s) ? s : STR_NONE;
}

int64_t json_int_at(const struct json_read *from, const char *path, int64_t none) {
    struct json_read at;
    struct str s;
    int64_t n;
    if (path_find(from, str_of(path), &at) != PATH_THERE || json_peek(&at) != JSON_NUMBER ||
        !json_raw_number(&at, &s))
        return none;
    if (json_integer_of(s, &n))
        return n;
    const char *point = memchr(s.p, '.', s.n);
    bool plain = point && !memchr(s.p, 'e', s.n) && !memchr(s.p, 'E', s.n);
    return plain && str_to_i64((struct str){s.p, (size_t)(point - s.p)}, &n) ? n : none;
}

bool json_true_at(const struct json_read *from, const char *path) {
    struct json_read at;
    return path_find(from, str_of(path), &at) == PATH_THERE && json_peek(&at) == JSON_TRUE;
}

struct str heard_words(const struct heard *h, struct arena *a) {
    static const char *const places[] = {"error.message", "explanation", "message", "error",
                                         "reason"};
    struct json_read root;
    if (!heard_json(h, a, &root))
        return STR_NONE;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        struct str words = json_text_at(&root, places[i]);
        if (words.n > 0)
            return words;
    }
    return STR_NONE;
}

bool heard_no_such(const struct heard *h, struct arena *a) {
    struct json_read root;
    return h->status == 404 && heard_json(h, a, &root) && json_peek(&root) == JSON_OBJECT &&
           (json_int_at(&root, "error", 0) == 404 || heard_words(h, a).n > 0);
}

static enum told of_status(const struct heard *h) {
    switch (h->status) {
    case 401:
    case 403:
        return TOLD_REFUSED;
    case 429:
        return TOLD_WAIT;
    case 503:
    case 529:
        return h->retry_after_ms >= 0 ? TOLD_WAIT : TOLD_TRANSIENT;
    case 400:
    case 413:
    case 414:
    case 422:
        return TOLD_ROW;
    default:
        return TOLD_TRANSIENT;
    }
}

/* The call came to an end, and the status is what it says. */
static bool has_spoken(const struct heard *h) {
    return h->status > 0 && h->cls >= NET_REDIRECT && h->cls != NET_PROTOCOL && h->cls < NET_OTHER;
}

void told_of_call(struct told_why *ret, struct arena *a, const struct heard *h) {
    const char *class = net_class_name(h->cls);
    if (!has_spoken(h)) {
        told_say(ret, a, TOLD_TRANSIENT, class, "%s", h->detail ? h->detail : class);
        return;
    }
    struct str words = heard_words(h, a);
    told_say(ret, a, of_status(h), class, "HTTP %ld%s%.*s", h->status, words.n ? ": " : "",
             STR_FMT(words));
    if (ret->told == TOLD_WAIT)
        ret->wait_ms = h->retry_after_ms;
}

bool url_has_key(struct str url, struct str key, struct arena *a) {
    struct str its, domain;
    return url_key(a, url, &its, &domain) && str_eq(its, key);
}

void article_set(struct found_article *ret, struct arena *a, struct str url) {
    struct discussion d, own;
    struct str domain;
    ret->why = (struct told_why){.told = TOLD_NONE, .wait_ms = -1};
    if (!url_key(a, url, &ret->url_key, &domain))
        return;
    ret->is_discussion = discussion_of_key(ret->url_key, &d);
    if (ret->is_discussion && discussion_of_url(ret->origin.permalink, &own) &&
        strcmp(d.url, own.url) == 0) {
        ret->is_discussion = false;
        ret->url_key = STR_NONE;
        return;
    }
    ret->url = url;
    ret->why.told = TOLD_FOUND;
}
