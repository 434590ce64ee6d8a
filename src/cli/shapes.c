#include "cli/shapes.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <time.h>

bool shape_not_empty(const char *text) {
    return *text != '\0';
}

bool shape_words(const char *text) {
    size_t n = strlen(text), len = 1;
    for (size_t i = 0; i < n && len; i += len)
        len = utf8_len((const unsigned char *)text + i, n - i);
    return n && len;
}

/* What stands behind "postgres://" or "postgresql://"; NULL when it is neither. */
static const char *behind_scheme(const char *text) {
    if (str_starts(str_of(text), "postgres://"))
        return text + strlen("postgres://");
    if (str_starts(str_of(text), "postgresql://"))
        return text + strlen("postgresql://");
    return NULL;
}

bool shape_database(const char *text) {
    if (str_starts(str_of(text), "sqlite:"))
        return text[strlen("sqlite:")] != '\0';
    return behind_scheme(text) != NULL;
}

bool shape_identifier(const char *text) {
    size_t n = strlen(text);
    if (n == 0 || n > 63 || isdigit((unsigned char)text[0]) || str_starts(str_of(text), "pg_"))
        return false;
    return strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_") == n;
}

/* "host:99999" and "host:x" are not addresses. An IPv6 address has its colons within brackets. */
static bool port_is_sound(const char *host) {
    size_t n = strcspn(host, "/");
    const char *bracket = memchr(host, ']', n), *from = bracket ? bracket : host;
    const char *colon = memchr(from, ':', n - (size_t)(from - host));
    if (!colon)
        return true;
    int64_t port;
    struct str digits = {colon + 1, n - (size_t)(colon + 1 - host)};
    return str_to_i64(digits, &port) && port >= 1 && port <= 65535;
}

#define HTTP_ROOT_MAX 900 /* what is asked for is put behind it, and has a maximum too */

bool shape_http_root(const char *text) {
    const char *host = str_starts(str_of(text), "http://")    ? text + strlen("http://")
                       : str_starts(str_of(text), "https://") ? text + strlen("https://")
                                                              : NULL;
    if (!host || *host == '\0' || *host == '/' || *host == ':' || strlen(text) > HTTP_ROOT_MAX)
        return false;
    for (const char *p = host; *p; p++)
        if (*p == '?' || *p == '#' || isspace((unsigned char)*p) || iscntrl((unsigned char)*p))
            return false;
    return port_is_sound(host);
}

bool shape_bind(const char *text) {
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text)
        return false;
    size_t host = (size_t)(colon - text);
    bool bracketed = text[0] == '[' && host > 2 && text[host - 1] == ']';
    if (!bracketed && memchr(text, ':', host))
        return false;
    int64_t port;
    return str_to_i64(str_of(colon + 1), &port) && port >= 0 && port <= 65535;
}

bool shape_address(const char *text) {
    struct in6_addr address;
    return inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1;
}

bool shape_parse_id_range(const char *text, int64_t *ret_lo, int64_t *ret_hi) {
    const char *dash = strchr(text, '-');
    int64_t lo, hi;
    if (!dash || !str_to_i64((struct str){text, (size_t)(dash - text)}, &lo) ||
        !str_to_i64(str_of(dash + 1), &hi) || lo < 1 || lo > hi)
        return false;
    *ret_lo = lo;
    *ret_hi = hi;
    return true;
}

bool shape_id_range(const char *text) {
    int64_t lo, hi;
    return shape_parse_id_range(text, &lo, &hi);
}

static int hex_value(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One character of a word in which %77 stands for w, in lower case; moves p behind it. */
static char decoded(const char **p) {
    char c = *(*p)++;
    if (c == '%' && **p != '\0') {
        int high = hex_value((char)tolower((unsigned char)(*p)[0]));
        int low = high < 0 ? -1 : hex_value((char)tolower((unsigned char)(*p)[1]));
        if (low >= 0) {
            *p += 2;
            c = (char)(high * 16 + low);
        }
    }
    return (char)tolower((unsigned char)c);
}

/* Where the value begins when `p` stands at "password=" or "sslpassword ="; NULL otherwise. */
static const char *password_value(const char *p) {
    static const char *const keys[] = {"password", "sslpassword"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const char *at = p, *key = keys[i];
        while (*key && *at && decoded(&at) == *key)
            key++;
        if (*key)
            continue;
        at += strspn(at, " \t\n");
        if (*at == '=')
            return at + 1;
    }
    return NULL;
}

/* The next "password=" that begins a word, in a query or a connection string. */
static const char *next_password_value(const char *start, const char *from) {
    for (const char *p = from; *p; p++) {
        bool begins = p == start || strchr("?& \t\n", p[-1]);
        const char *value = begins ? password_value(p) : NULL;
        if (value)
            return value;
    }
    return NULL;
}

/* The password between user: and @host. A careless one may hold a slash or an at-sign, so the
 * last @ before the query ends it, unless what follows the colon can only be a port. */
static struct str userinfo_password(const char *text) {
    const char *start = behind_scheme(text);
    if (!start)
        return STR_NONE;
    size_t n = strcspn(start, "?");
    const char *at = memrchr(start, '@', n);
    const char *colon = at ? memchr(start, ':', (size_t)(at - start)) : NULL;
    if (!colon)
        return STR_NONE;
    const char *slash = memchr(start, '/', n);
    size_t digits = strspn(colon + 1, "0123456789");
    if (slash && slash < at && (slash < colon || colon + 1 + digits == slash))
        return STR_NONE;
    return (struct str){colon + 1, (size_t)(at - colon - 1)};
}

bool database_has_password(const char *text) {
    if (str_starts(str_of(text), "sqlite:"))
        return false;
    return userinfo_password(text).n > 0 || next_password_value(text, text);
}

/* A value ends at the next parameter; in a connection string a quoted one may hold blanks. */
static size_t value_length(const char *value) {
    if (*value != '\'')
        return strcspn(value, "& \t\n");
    const char *p = value + 1;
    while (*p && *p != '\'')
        p += p[0] == '\\' && p[1] ? 2 : 1;
    return (size_t)(p - value) + (*p == '\'');
}

void database_redact(const char *text, struct strbuf *out) {
    if (str_starts(str_of(text), "sqlite:")) {
        strbuf_adds(out, text);
        return;
    }
    const char *rest = text;
    struct str password = userinfo_password(text);
    if (password.n > 0) {
        strbuf_add(out, text, (size_t)(password.p - text));
        strbuf_adds(out, "***");
        rest = password.p + password.n;
    }
    for (const char *value; (value = next_password_value(text, rest));) {
        value += strspn(value, " \t\n");
        strbuf_add(out, rest, (size_t)(value - rest));
        strbuf_adds(out, "***");
        rest = value + value_length(value);
    }
    strbuf_adds(out, rest);
}

static bool parse_date(const char *text, int64_t *ret_ms) {
    static const char *const forms[] = {"%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S",
                                        "%Y-%m-%d %H:%M:%S", "%Y-%m-%d"};
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        struct tm tm = {0};
        const char *end = strptime(text, forms[i], &tm);
        if (!end || *end)
            continue;
        struct tm kept = tm;
        *ret_ms = (int64_t)timegm(&tm) * 1000;
        return tm.tm_mday == kept.tm_mday; /* timegm() makes March of the 30th of February */
    }
    return false;
}

bool shape_parse_instant(const char *text, int64_t *ret_ms) {
    int64_t seconds;
    if (text[strspn(text, "0123456789")] != '\0')
        return parse_date(text, ret_ms) && *ret_ms > 0;
    if (!str_to_i64(str_of(text), &seconds) || seconds < 1 || seconds > INT64_C(100000000000))
        return false;
    *ret_ms = seconds * 1000;
    return true;
}

bool shape_instant(const char *text) {
    int64_t ms;
    return shape_parse_instant(text, &ms);
}
