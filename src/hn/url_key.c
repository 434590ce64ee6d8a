#include "hn/url_key.h"
#include "hn/url_int.h"

#include <string.h>
#include <strings.h>

#define ROUNDS_MAX 32 /* AMP caches inside AMP caches; two do for nearly every URL */

/* Spaces are no part of a URL, and at the end of a key they would be trimmed. */
void url_put(struct url_out *o, struct str bytes) {
    while (bytes.n) {
        const char *space = memchr(bytes.p, ' ', bytes.n);
        size_t n = space ? (size_t)(space - bytes.p) : bytes.n, more = space ? 3 : 0;
        if (o->max - o->n < n + more) {
            o->full = true;
            return;
        }
        memcpy(o->p + o->n, bytes.p, n);
        memcpy(o->p + o->n + n, "%20", more);
        o->n += n + more;
        bytes = (struct str){bytes.p + n + (space != NULL), bytes.n - n - (space != NULL)};
    }
}

static struct str rest(struct str s, size_t from) {
    return (struct str){s.p + from, s.n - from};
}

static struct str trim(struct str s) {
    while (s.n && (s.p[0] == ' ' || (s.p[0] >= '\t' && s.p[0] <= '\r')))
        s = rest(s, 1);
    while (s.n && (s.p[s.n - 1] == ' ' || (s.p[s.n - 1] >= '\t' && s.p[s.n - 1] <= '\r')))
        s.n--;
    return s;
}

static bool has_control(struct str s) {
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7F)
            return true;
    return false;
}

/* Length of the front of s that has none of the stops in it. */
static inline size_t span(struct str s, const char *stops) {
    size_t i = 0, n = strlen(stops);
    for (; i < s.n; i++)
        for (size_t k = 0; k < n; k++)
            if (s.p[i] == stops[k])
                return i;
    return i;
}

/* "x.y://": some other scheme. "x.y:80" is a host with a port. */
static bool has_scheme(struct str s) {
    size_t n = span(s, ":/?#");
    return str_starts(rest(s, n), "://");
}

/* Steps over the scheme. False when it is not ours. */
static bool take_scheme(struct str *s, bool *ret_explicit) {
    size_t n = s->n >= 6 && strncasecmp(s->p, "https:", 6) == 0  ? 6
               : s->n >= 5 && strncasecmp(s->p, "http:", 5) == 0 ? 5
                                                                 : 0;
    *ret_explicit = n > 0 && n < s->n && s->p[n] == '/';
    if (*ret_explicit)
        *s = rest(*s, n);
    else if (has_scheme(*s))
        return false;
    while (s->n && s->p[0] == '/')
        *s = rest(*s, 1);
    return true;
}

/* Without a scheme, what stands before an @ is a mail address or another scheme. Browsers take a
 * backslash for a slash, so "a.example\\@b.example" would lead to a and be filed under b. */
static bool drop_userinfo(struct str *authority, bool explicit_scheme) {
    if (authority->n && memchr(authority->p, '\\', authority->n))
        return false;
    for (size_t i = authority->n; i > 0; i--)
        if (authority->p[i - 1] == '@') {
            *authority = rest(*authority, i);
            return explicit_scheme;
        }
    return true;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 32);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_unreserved(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("-._~", c));
}

static bool needs_escape(unsigned char c) {
    switch (c) {
    case ' ':
    case '"':
    case '<':
    case '>':
    case '`':
    case '{':
    case '}':
        return true;
    default:
        return c >= 0x80;
    }
}

static bool put_path_byte(struct url *u, unsigned char c, bool escaped) {
    static const char hex[] = "0123456789ABCDEF";
    if (u->path_n + 3 > URL_MAX)
        return false;
    if (!escaped) {
        u->path[u->path_n++] = (char)c;
        return true;
    }
    u->path[u->path_n++] = '%';
    u->path[u->path_n++] = hex[c >> 4];
    u->path[u->path_n++] = hex[c & 15];
    return true;
}

/* One spelling for each byte: escapes in capitals, none where none is needed, and one where RFC
 * 3986 wants it. A percent sign that begins no escape is escaped, or what follows could make it
 * begin one. */
static bool read_path(struct str raw, struct url *u) {
    u->path_n = 0;
    for (size_t i = 0; i < raw.n; i++) {
        unsigned char c = (unsigned char)raw.p[i];
        bool escaped = needs_escape(c) || c == '%';
        if (c == '%' && raw.n - i > 2) {
            int high = hex_digit(raw.p[i + 1]), low = hex_digit(raw.p[i + 2]);
            if (high >= 0 && low >= 0) {
                c = (unsigned char)(high << 4 | low);
                escaped = !is_unreserved(c);
                i += 2;
            }
        }
        if (!put_path_byte(u, c, escaped))
            return false;
    }
    return true;
}

/* RFC 3986 5.2.4, in place; the path begins with a slash. */
static void drop_dot_segments(struct url *u) {
    size_t to = 0;
    if (!memmem(u->path, u->path_n, "/.", 2))
        return;
    for (size_t at = 0; at < u->path_n;) {
        size_t end = at + 1;
        while (end < u->path_n && u->path[end] != '/')
            end++;
        struct str segment = {u->path + at + 1, end - at - 1};
        bool up = str_eqc(segment, ".."), last = end == u->path_n;
        if (up || str_eqc(segment, ".")) {
            while (up && to > 0 && u->path[--to] != '/')
                ;
            if (last)
                u->path[to++] = '/';
        } else {
            memmove(u->path + to, u->path + at, end - at);
            to += end - at;
        }
        at = end;
    }
    u->path_n = to;
}

bool url_set_path(struct url *u, struct str path) {
    if (path.n > URL_MAX)
        return false;
    memmove(u->path, path.p, path.n);
    u->path_n = path.n;
    return true;
}

static bool drop_tail(struct url *u, const char *tail) {
    if (!str_ends(url_path(u), tail))
        return false;
    u->path_n -= strlen(tail);
    return true;
}

/* What servers add at the end of a path without meaning another page. */
static void drop_tails(struct url *u) {
    bool again = true;
    while (again) {
        again = drop_tail(u, "/") || drop_tail(u, "/index.html");
        if (u->path_n > 4 && str_ends(url_path(u), "/amp") && !url_amp_is_a_name(url_host(u)))
            again = drop_tail(u, "/amp");
        if (drop_tail(u, ".amp.html")) {
            memcpy(u->path + u->path_n, ".html", 5);
            u->path_n += 5;
            again = true;
        }
    }
}

/* "#!page" and "#/page" are how some applications name their pages; other fragments are places
 * within one. */
static struct str route_of(struct str fragment) {
    size_t named = 0;
    while (named < fragment.n && (fragment.p[named] == '!' || fragment.p[named] == '/'))
        named++;
    return named > 0 && named < fragment.n ? fragment : STR_NONE;
}

/* Takes the text apart. The views in u point into it. */
static bool take_apart(struct str text, struct url *u) {
    bool explicit_scheme;
    text = trim(text);
    if (text.n > URL_MAX || has_control(text) || !take_scheme(&text, &explicit_scheme))
        return false;
    struct str authority = {text.p, span(text, "/?#")};
    text = rest(text, authority.n);
    if (!drop_userinfo(&authority, explicit_scheme) || !url_read_host(authority, u))
        return false;
    struct str path = {text.p, span(text, "?#")};
    text = rest(text, path.n);
    size_t query_n = span(text, "#");
    u->query = query_n ? (struct str){text.p + 1, query_n - 1} : STR_NONE;
    u->fragment = query_n < text.n ? route_of(rest(text, query_n + 1)) : STR_NONE;
    if (!read_path(path, u))
        return false;
    drop_dot_segments(u);
    return true;
}

static void put_port(unsigned port, struct url_out *out) {
    char text[8];
    size_t at = sizeof text;
    for (; port; port /= 10)
        text[--at] = (char)('0' + port % 10);
    text[--at] = ':';
    url_put(out, (struct str){text + at, sizeof text - at});
}

static void put_together(const struct url *u, struct url_out *out) {
    url_put(out, url_host(u));
    if (u->port)
        put_port(u->port, out);
    url_put(out, url_path(u));
    url_put_query(u, out);
    if (u->fragment.p) {
        url_put(out, STR("#"));
        url_put(out, u->fragment);
    }
}

/* The page is inside the path of an AMP cache: goes on with that text. */
static bool put_amp_inner(const struct url *u, struct url_out *out) {
    struct url inner_url;
    struct str inner;
    if (!url_amp_inner(u, &inner) ||
        !url_read_host((struct str){inner.p, span(inner, "/")}, &inner_url))
        return false;
    url_put(out, inner);
    url_put_query(u, out);
    return true;
}

/* One round: reads the text, writes what it makes of it. */
static bool simplify(struct str text, struct url_out *out, size_t *ret_host_n) {
    struct url u;
    if (!take_apart(text, &u))
        return false;
    url_alias_host(&u);
    *ret_host_n = u.host_n;
    if (put_amp_inner(&u, out))
        return !out->full;
    url_alias_path(&u);
    drop_tails(&u);
    url_apply_site(&u);
    *ret_host_n = u.host_n;
    put_together(&u, out);
    return !out->full;
}

struct str url_whole(struct arena *a, struct str url) {
    bool explicit_scheme;
    url = trim(url);
    struct str text = url;
    const char *scheme = "";
    if (take_scheme(&text, &explicit_scheme))
        scheme = explicit_scheme && (url.p[4] | 32) != 's' ? "http://" : "https://";
    else
        text = url;
    size_t n = strlen(scheme);
    char *out = arena_alloc(a, n + 3 * text.n + 1);
    memcpy(out, scheme, n);
    for (size_t i = 0; i < text.n; i++) {
        static const char digits[] = "0123456789ABCDEF";
        unsigned char c = (unsigned char)text.p[i];
        bool plain = c > ' ' && c != 0x7F;
        out[n++] = plain ? (char)c : '%';
        if (!plain) {
            out[n++] = digits[c >> 4];
            out[n++] = digits[c & 15];
        }
    }
    out[n] = '\0';
    return (struct str){out, n};
}

/* Is the page filed under an address that is not written in the URL: that of a mobile host, of a
 * video, or without AMP or a password? */
static bool is_elsewhere(struct str whole, struct str key, struct url *u) {
    char text[URL_MAX];
    struct url_out plain = {.p = text, .max = URL_MAX};
    struct url site = *u;
    const char *host = memmem(whole.p, whole.n, "://", 3);
    if (!host || url_apply_site(&site))
        return true;
    struct str front = rest(whole, (size_t)(host + 3 - whole.p));
    front.n = span(front, "/?#");
    if (memchr(front.p, '@', front.n) || (front.n > 4 && strncasecmp(front.p, "amp.", 4) == 0) ||
        (front.n > 8 && strncasecmp(front.p, "www.amp.", 8) == 0))
        return true;
    while (drop_tail(u, "/") || drop_tail(u, "/index.html"))
        ;
    url_put(&plain, url_host(u));
    if (u->port)
        put_port(u->port, &plain);
    url_put(&plain, url_path(u));
    return plain.full || !str_eq((struct str){text, plain.n}, (struct str){key.p, span(key, "?#")});
}

struct str url_shared(struct arena *a, struct str url) {
    struct str whole = url_whole(a, url), key, domain;
    struct url u;
    if (!url_key(a, whole, &key, &domain) || !take_apart(whole, &u))
        return whole;
    struct url_out out = {.max = whole.n + key.n + sizeof "https://"};
    out.p = arena_alloc(a, out.max);
    if (is_elsewhere(whole, key, &u)) {
        url_put(&out, STR("https://"));
        url_put(&out, key);
    } else {
        url_put(&out, (struct str){whole.p, span(whole, "?#")});
        url_put_said(&u, &out);
        if (u.fragment.p) {
            url_put(&out, STR("#"));
            url_put(&out, u.fragment);
        }
    }
    return (struct str){out.p, out.n};
}

bool url_key(struct arena *a, struct str url, struct str *ret_key, struct str *ret_domain) {
    char text[2][URL_MAX];
    struct str now = url;
    *ret_key = *ret_domain = STR_NONE;
    for (int round = 0; url.p && round < ROUNDS_MAX; round++) {
        struct url_out out = {.p = text[round & 1], .max = URL_MAX};
        size_t host_n;
        if (!simplify(now, &out, &host_n))
            return false;
        struct str made = {out.p, out.n};
        if (str_eq(made, now)) {
            *ret_key = arena_str(a, made);
            *ret_domain = arena_str(a, (struct str){made.p, host_n});
            return true;
        }
        now = made;
    }
    return false;
}
