#include "net/probe.h"

#include "net/classify_int.h"
#include "net/must_int.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct probing {
    struct probe_result *r;
    size_t n;
};

static size_t on_body(char *bytes, size_t one, size_t n, void *arg) {
    struct probing *p = arg;
    (void)one;
    size_t room = sizeof p->r->body - 1 - p->n, take = n < room ? n : room;
    memcpy(p->r->body + p->n, bytes, take);
    p->n += take;
    return n;
}

static size_t on_header(char *line, size_t one, size_t n, void *arg) {
    struct probe_result *r = arg;
    (void)one;
    char value[64];
    if (n > 5 && n < sizeof value && strncasecmp(line, "date:", 5) == 0) {
        memcpy(value, line + 5, n - 5);
        value[n - 5] = '\0';
        time_t at = curl_getdate(value, NULL);
        r->date_ms = at < 0 ? -1 : (int64_t)at * 1000;
    }
    return n;
}

static const char *version_name(long version) {
    switch (version) {
    case CURL_HTTP_VERSION_1_0:
        return "HTTP/1.0";
    case CURL_HTTP_VERSION_1_1:
        return "HTTP/1.1";
    case CURL_HTTP_VERSION_2_0:
        return "HTTP/2";
    case CURL_HTTP_VERSION_3:
        return "HTTP/3";
    default:
        return "no HTTP";
    }
}

static void set_up(CURL *h, const struct probe_options *o, struct probing *p, char *error) {
    bool https = strncasecmp(o->url, "https:", 6) == 0;
    must_set(h, CURLOPT_URL, o->url);
    must_set(h, CURLOPT_NOSIGNAL, 1L);
    must_set(h, CURLOPT_PROTOCOLS_STR, "http,https");
    must_set(h, CURLOPT_HTTP_VERSION,
             https ? (long)CURL_HTTP_VERSION_2TLS : (long)CURL_HTTP_VERSION_1_1);
    must_set(h, CURLOPT_TIMEOUT_MS, o->timeout_ms);
    must_set(h, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    must_set(h, CURLOPT_USERAGENT, o->user_agent);
    if (o->ca_file)
        must_set(h, CURLOPT_CAINFO, o->ca_file);
    must_set(h, CURLOPT_ERRORBUFFER, error);
    must_set(h, CURLOPT_WRITEFUNCTION, on_body);
    must_set(h, CURLOPT_WRITEDATA, p);
    must_set(h, CURLOPT_HEADERFUNCTION, on_header);
    must_set(h, CURLOPT_HEADERDATA, p->r);
}

static void read_facts(CURL *h, CURLcode code, const char *error, struct probe_result *r) {
    long version = 0;
    curl_off_t total_us = 0;
    curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &r->status);
    curl_easy_getinfo(h, CURLINFO_HTTP_VERSION, &version);
    curl_easy_getinfo(h, CURLINFO_TOTAL_TIME_T, &total_us);
    r->cls = net_classify((int)code, r->status);
    r->http = version_name(version);
    r->elapsed_ms = (int64_t)total_us / 1000;
    if (code != CURLE_OK)
        snprintf(r->detail, sizeof r->detail, "%s", *error ? error : curl_easy_strerror(code));
    else if (r->cls != NET_OK)
        snprintf(r->detail, sizeof r->detail, "status %ld %s", r->status,
                 net_status_reason(r->status));
}

enum verdict probe_url(const struct probe_options *o, struct probe_result *ret, struct err *e) {
    char error[CURL_ERROR_SIZE] = "";
    *ret = (struct probe_result){.date_ms = -1};
    struct probing p = {.r = ret};
    must_init_library();
    CURL *h = must_have(curl_easy_init());
    set_up(h, o, &p, error);
    CURLcode code = curl_easy_perform(h);
    enum verdict v = code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL
                         ? err_set(e, V_INVALID, "http", code, "%s: %s", o->url, error)
                         : V_OK;
    read_facts(h, code, error, ret);
    curl_easy_cleanup(h);
    return v;
}
