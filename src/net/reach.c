#include "net/reach.h"

#include <curl/curl.h>

enum verdict reach_url(const char *url, long timeout_ms, struct err *e) {
    CURL *h = curl_easy_init();
    if (!h)
        return err_set(e, V_FATAL, "http", 0, "libcurl cannot be set up");
    curl_easy_setopt(h, CURLOPT_URL, url);
    curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(h, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(h, CURLOPT_TIMEOUT_MS, timeout_ms);
    curl_easy_setopt(h, CURLOPT_CONNECT_ONLY, 1L);
    CURLcode code = curl_easy_perform(h);
    curl_easy_cleanup(h);
    if (code == CURLE_OK)
        return V_OK;
    bool malformed = code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL;
    return err_set(e, malformed ? V_INVALID : V_RETRY, "http", code, "%s",
                   curl_easy_strerror(code));
}
