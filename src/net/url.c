#include "net/must_int.h"
#include "net/url_int.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define URL_MAX 16384

static void url_cleanup(CURLU **u) {
    curl_url_cleanup(*u);
}

static void part_cleanup(char **part) {
    curl_free(*part);
}

#define URL_HANDLE CLEANUP(url_cleanup) CURLU *
#define URL_PART CLEANUP(part_cleanup) char *

static char *part_of(CURLU *u, CURLUPart what) {
    char *text = NULL;
    return must_url_get(u, what, &text, CURLU_DEFAULT_PORT) == CURLUE_OK ? text : NULL;
}

static bool is_loopback(const char *host) {
    struct in_addr v4;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return strcasecmp(host, "localhost") == 0 || strcasecmp(host, "localhost.") == 0 ||
           strcmp(host, "[::1]") == 0;
}

/* Length of "scheme://authority", or 0 when it is not of that form: libcurl would also guess at
 * "http:/host" and "http:///host". What follows the origin cannot change the flags. */
static size_t origin_length(const char *url) {
    size_t scheme = strncasecmp(url, "http://", 7) == 0    ? 7
                    : strncasecmp(url, "https://", 8) == 0 ? 8
                                                           : 0;
    size_t authority = scheme ? strcspn(url + scheme, "/?#") : 0;
    return authority ? scheme + authority : 0;
}

static enum verdict parse_flags(const char *url, unsigned *ret_flags, struct err *e) {
    if (!origin_length(url))
        return err_set(e, V_INVALID, "http", 0, "only http:// and https:// are fetched: \"%.8s\"",
                       url);
    URL_HANDLE u = must_have(curl_url());
    CURLUcode code = must_url_set(u, CURLUPART_URL, url, 0);
    URL_PART host = code ? NULL : part_of(u, CURLUPART_HOST);
    if (!host)
        return err_set(e, V_INVALID, "http", (int)code, "not a URL: %s", curl_url_strerror(code));
    bool https = url[4] == 's' || url[4] == 'S';
    *ret_flags = (https ? URL_HTTPS : 0u) | (is_loopback(host) ? URL_LOOPBACK : 0u);
    return V_OK;
}

/* False: a byte that no URL has. */
static bool scan(const char *url, size_t *ret_n) {
    size_t n = 0;
    for (; (unsigned char)url[n] > ' ' && url[n] != 0x7F; n++)
        ;
    *ret_n = n;
    return url[n] == '\0';
}

/* Whether libcurl would take what follows the origin as it stands: a path without dot segments,
 * and neither query nor fragment. */
static bool is_plain_path(const char *rest) {
    return rest[0] == '/' && !strpbrk(rest, "?#") && !strstr(rest, "/.");
}

static void remember(struct url_cache *cache, const char *url, unsigned flags) {
    size_t n = origin_length(url);
    if (n > sizeof cache->origin)
        n = 0; /* such a one is parsed each time */
    memcpy(cache->origin, url, n);
    cache->n = n;
    cache->flags = flags;
    cache->id++;
}

static bool recall(const struct url_cache *cache, const char *url, size_t n) {
    return cache->n && n >= cache->n && memcmp(url, cache->origin, cache->n) == 0 &&
           strchr("/?#", url[cache->n]); /* which finds the NUL at the end, too */
}

enum verdict url_check(struct url_cache *cache, const char *url, struct url_view *ret_view,
                       struct err *e) {
    size_t n;
    if (!scan(url, &n))
        return err_set(e, V_INVALID, "http", 0, "not a URL: byte %zu is blank or control", n);
    if (n > URL_MAX)
        return err_set(e, V_INVALID, "http", 0, "a URL of %zu bytes; at most %d", n, URL_MAX);
    if (!recall(cache, url, n)) {
        unsigned flags = 0;
        enum verdict v = parse_flags(url, &flags, e);
        if (v != V_OK)
            return v;
        remember(cache, url, flags);
    }
    bool plain = cache->n && is_plain_path(url + cache->n);
    *ret_view =
        (struct url_view){cache->flags, cache->n ? cache->id : 0, plain ? url + cache->n : NULL};
    return V_OK;
}

static bool same_part(CURLU *a, CURLU *b, CURLUPart what) {
    URL_PART in_a = part_of(a, what);
    URL_PART in_b = part_of(b, what);
    return in_a && in_b && strcasecmp(in_a, in_b) == 0;
}

bool url_same_origin(CURLU *a, const char *b) {
    URL_HANDLE u = must_have(curl_url());
    return must_url_set(u, CURLUPART_URL, b, 0) == CURLUE_OK && same_part(a, u, CURLUPART_SCHEME) &&
           same_part(a, u, CURLUPART_HOST) && same_part(a, u, CURLUPART_PORT);
}

void url_show(const char *url, char *out, size_t size) {
    URL_HANDLE u = must_have(curl_url());
    URL_PART shown = NULL;
    if (must_url_set(u, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK &&
        must_url_set(u, CURLUPART_USER, NULL, 0) == CURLUE_OK &&
        must_url_set(u, CURLUPART_PASSWORD, NULL, 0) == CURLUE_OK)
        must_url_get(u, CURLUPART_URL, &shown, 0);
    snprintf(out, size, "%s", shown ? shown : "something that is not a URL");
}
