#include "net/classify.h"
#include "net/classify_int.h"

#include <curl/curl.h>
#include <string.h>

#define RETRY_AFTER_MAX_MS INT64_C(3600000)

/* Indexed by CURLcode; a code that is not here is NET_OTHER, which is why NET_OK must not be the
 * answer for an empty slot: see curl_class(). */
static const unsigned char curl_classes[CURL_LAST] = {
    [CURLE_OPERATION_TIMEDOUT] = NET_TIMEOUT,
    [CURLE_COULDNT_CONNECT] = NET_CONNECT,
    [CURLE_INTERFACE_FAILED] = NET_CONNECT,
    [CURLE_PROXY] = NET_CONNECT,
    [CURLE_NO_CONNECTION_AVAILABLE] = NET_CONNECT,
    [CURLE_COULDNT_RESOLVE_HOST] = NET_DNS,
    [CURLE_COULDNT_RESOLVE_PROXY] = NET_DNS,
    [CURLE_SSL_CONNECT_ERROR] = NET_TLS,
    [CURLE_PEER_FAILED_VERIFICATION] = NET_TLS,
    [CURLE_SSL_ENGINE_NOTFOUND] = NET_TLS,
    [CURLE_SSL_ENGINE_SETFAILED] = NET_TLS,
    [CURLE_SSL_ENGINE_INITFAILED] = NET_TLS,
    [CURLE_SSL_CERTPROBLEM] = NET_TLS,
    [CURLE_SSL_CIPHER] = NET_TLS,
    [CURLE_USE_SSL_FAILED] = NET_TLS,
    [CURLE_SSL_CACERT_BADFILE] = NET_TLS,
    [CURLE_SSL_SHUTDOWN_FAILED] = NET_TLS,
    [CURLE_SSL_CRL_BADFILE] = NET_TLS,
    [CURLE_SSL_ISSUER_ERROR] = NET_TLS,
    [CURLE_SSL_PINNEDPUBKEYNOTMATCH] = NET_TLS,
    [CURLE_SSL_INVALIDCERTSTATUS] = NET_TLS,
    [CURLE_SSL_CLIENTCERT] = NET_TLS,
    [CURLE_SEND_ERROR] = NET_RESET,
    [CURLE_RECV_ERROR] = NET_RESET,
    [CURLE_GOT_NOTHING] = NET_RESET,
    [CURLE_HTTP2_STREAM] = NET_RESET, /* the server gave up this one stream */
    [CURLE_PARTIAL_FILE] = NET_TRUNCATED,
    [CURLE_FILESIZE_EXCEEDED] = NET_TOO_LARGE,
    [CURLE_WRITE_ERROR] = NET_TOO_LARGE, /* our writer refuses bytes for no other reason */
    [CURLE_TOO_MANY_REDIRECTS] = NET_REDIRECT,
    [CURLE_UNSUPPORTED_PROTOCOL] = NET_PROTOCOL, /* what HTTP/0.9 and plain garbage end as */
    [CURLE_WEIRD_SERVER_REPLY] = NET_PROTOCOL,
    [CURLE_HTTP2] = NET_PROTOCOL,
    [CURLE_BAD_CONTENT_ENCODING] = NET_PROTOCOL,
    [CURLE_HTTP3] = NET_PROTOCOL,
};

/* Statuses that are more than their hundred. */
static const struct status_row {
    short status;
    unsigned char cls;
    const char *reason;
} statuses[] = {
    {200, NET_OK, "OK"},
    {204, NET_HTTP_OTHER, "No Content"},
    {206, NET_HTTP_OTHER, "Partial Content"},
    {301, NET_HTTP_OTHER, "Moved Permanently"},
    {302, NET_HTTP_OTHER, "Found"},
    {303, NET_HTTP_OTHER, "See Other"},
    {304, NET_HTTP_OTHER, "Not Modified"},
    {307, NET_HTTP_OTHER, "Temporary Redirect"},
    {308, NET_HTTP_OTHER, "Permanent Redirect"},
    {400, NET_HTTP_4XX, "Bad Request"},
    {401, NET_HTTP_401, "Unauthorized"},
    {403, NET_HTTP_403, "Forbidden"},
    {404, NET_HTTP_404, "Not Found"},
    {405, NET_HTTP_4XX, "Method Not Allowed"},
    {408, NET_HTTP_4XX, "Request Timeout"},
    {410, NET_HTTP_4XX, "Gone"},
    {414, NET_HTTP_4XX, "URI Too Long"},
    {429, NET_HTTP_429, "Too Many Requests"},
    {451, NET_HTTP_4XX, "Unavailable For Legal Reasons"},
    {500, NET_HTTP_5XX, "Internal Server Error"},
    {502, NET_HTTP_5XX, "Bad Gateway"},
    {503, NET_HTTP_5XX, "Service Unavailable"},
    {504, NET_HTTP_5XX, "Gateway Timeout"},
};

static enum net_class curl_class(int code) {
    if (code < 0 || code >= CURL_LAST || curl_classes[code] == NET_OK)
        return NET_OTHER;
    return curl_classes[code];
}

static const struct status_row *find_status(long status) {
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        if (statuses[i].status == status)
            return &statuses[i];
    return NULL;
}

enum net_class net_classify(int curl_code, long status) {
    if (curl_code != CURLE_OK)
        return curl_class(curl_code);
    if (status <= 0)
        return NET_PROTOCOL;
    const struct status_row *row = find_status(status);
    if (row)
        return row->cls;
    return status >= 400 && status < 500   ? NET_HTTP_4XX
           : status >= 500 && status < 600 ? NET_HTTP_5XX
                                           : NET_HTTP_OTHER;
}

const char *net_class_name(enum net_class c) {
    static const char *const names[NET_N_CLASSES] = {
        [NET_OK] = "ok",
        [NET_TIMEOUT] = "timeout",
        [NET_CONNECT] = "connect",
        [NET_DNS] = "dns",
        [NET_TLS] = "tls",
        [NET_RESET] = "reset",
        [NET_TRUNCATED] = "truncated",
        [NET_TOO_LARGE] = "too_large",
        [NET_REDIRECT] = "redirect",
        [NET_PROTOCOL] = "protocol",
        [NET_HTTP_401] = "http_401",
        [NET_HTTP_403] = "http_403",
        [NET_HTTP_404] = "http_404",
        [NET_HTTP_429] = "http_429",
        [NET_HTTP_4XX] = "http_4xx",
        [NET_HTTP_5XX] = "http_5xx",
        [NET_HTTP_OTHER] = "http_other",
        [NET_OTHER] = "other",
        [NET_UNKNOWN] = "unknown_upstream",
    };
    return (size_t)c < ARRAY_LEN(names) ? names[c] : "?";
}

bool net_status_redirects(long status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

const char *net_status_reason(long status) {
    const struct status_row *row = find_status(status);
    return row ? row->reason : "";
}

void net_make_printable(char *s) {
    for (; *s; s++)
        if ((unsigned char)*s < ' ' || (unsigned char)*s > '~')
            *s = '?';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int64_t read_seconds(const char *s) {
    int64_t ms = 0;
    for (; is_digit(*s); s++)
        if (ms < RETRY_AFTER_MAX_MS) /* stops growing, so a hundred digits do not overflow */
            ms = ms * 10 + (int64_t)(*s - '0') * 1000;
    s += strspn(s, " \t\r\n");
    return *s ? -1 : ms;
}

int64_t net_retry_after_ms(const char *value, int64_t now_real_ms) {
    if (!value)
        return -1;
    value += strspn(value, " \t");
    int64_t ms;
    if (is_digit(*value)) {
        ms = read_seconds(value);
        if (ms < 0)
            return -1;
    } else {
        /* Every HTTP date begins with the name of a day; curl_getdate alone would take more. */
        bool letter = (*value >= 'A' && *value <= 'Z') || (*value >= 'a' && *value <= 'z');
        time_t at = letter ? curl_getdate(value, NULL) : -1;
        if (at == -1)
            return -1;
        ms = (int64_t)at * 1000 - now_real_ms;
    }
    return ms < 0 ? 0 : ms > RETRY_AFTER_MAX_MS ? RETRY_AFTER_MAX_MS : ms;
}
