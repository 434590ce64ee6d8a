#include "cli/shapes.h"

#include "store/feed.h"
#include "store/search.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
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

/* An address that can be listened on is known to be one before anything is opened. */
bool shape_bind(const char *text) {
    const char *colon = strrchr(text, ':');
    char host[INET6_ADDRSTRLEN];
    struct in6_addr address;
    size_t n = colon ? (size_t)(colon - text) : 0;
    if (!colon || n == 0 || n >= sizeof host + 2)
        return false;
    bool bracketed = text[0] == '[' && n > 2 && text[n - 1] == ']';
    if (n - (bracketed ? 2 : 0) >= sizeof host)
        return false;
    snprintf(host, sizeof host, "%.*s", (int)(bracketed ? n - 2 : n), text + bracketed);
    if (bracketed ? inet_pton(AF_INET6, host, &address) != 1
                  : inet_pton(AF_INET, host, &address) != 1 && strcmp(host, "localhost") != 0)
        return false;
    int64_t port;
    bool digits = colon[1] != '\0' && colon[1 + strspn(colon + 1, "0123456789")] == '\0';
    return digits && str_to_i64(str_of(colon + 1), &port) && port <= 65535;
}

bool shape_bind_or_none(const char *text) {
    return *text == '\0' || strcmp(text, "none") == 0 || shape_bind(text);
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

/* "2020" and "20200101" are meant as dates: as seconds they would be of the year 1970. */
#define SECONDS_MIN INT64_C(100000000)
#define SECONDS_MAX INT64_C(100000000000)

bool shape_parse_instant(const char *text, int64_t *ret_ms) {
    int64_t seconds;
    if (text[strspn(text, "0123456789")] != '\0')
        return parse_date(text, ret_ms) && *ret_ms > 0;
    if (!str_to_i64(str_of(text), &seconds) || seconds < SECONDS_MIN || seconds > SECONDS_MAX)
        return false;
    *ret_ms = seconds * 1000;
    return true;
}

bool shape_instant(const char *text) {
    int64_t ms;
    return shape_parse_instant(text, &ms);
}

bool shape_since(const char *text) {
    struct feed_id id;
    return shape_instant(text) || strcmp(text, "oldest") == 0 || feed_id_parse(str_of(text), &id);
}

unsigned shape_item_kind(const char *text, size_t n) {
    static const struct {
        const char *name;
        unsigned kind;
    } kinds[] = {{"story", SEARCH_STORY},     {"comment", SEARCH_COMMENT},
                 {"poll", SEARCH_POLL},       {"pollopt", SEARCH_POLLOPT},
                 {"job", SEARCH_JOB},         {"ask_hn", SHAPE_KIND_ASK},
                 {"show_hn", SHAPE_KIND_SHOW}};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (strlen(kinds[i].name) == n && memcmp(text, kinds[i].name, n) == 0)
            return kinds[i].kind;
    return 0;
}

bool shape_item_kinds(const char *text) {
    for (;;) {
        size_t n = strcspn(text, ",");
        if (!shape_item_kind(text, n))
            return false;
        if (!text[n])
            return true;
        text += n + 1;
    }
}
