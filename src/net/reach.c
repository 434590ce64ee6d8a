#include "net/reach.h"

#include "net/must_int.h"

enum verdict reach_url(const char *url, long timeout_ms, struct err *e) {
    must_init_library();
    CURL *h = must_have(curl_easy_init());
    must_set(h, CURLOPT_URL, url);
    must_set(h, CURLOPT_NOSIGNAL, 1L);
    must_set(h, CURLOPT_PROTOCOLS_STR, "http,https");
    must_set(h, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    must_set(h, CURLOPT_TIMEOUT_MS, timeout_ms);
    must_set(h, CURLOPT_CONNECT_ONLY, 1L);
    CURLcode code = curl_easy_perform(h);
    curl_easy_cleanup(h);
    if (code == CURLE_OK)
        return V_OK;
    bool malformed = code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL;
    return err_set(e, malformed ? V_INVALID : V_RETRY, "http", code, "%s",
                   curl_easy_strerror(code));
}
