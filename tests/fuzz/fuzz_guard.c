/* Whatever a stranger submits as a URL: an answer of the guard, and where it is let through, a host
 * that libcurl reads as no number that leads inside, and nothing but http and https. */
#include "base/attr.h"
#include "fuzz_target.h"
#include "net/guard.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <string.h>

static bool leads_inside(char *host) {
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    size_t n = strlen(host);
    if (inet_pton(AF_INET, host, &v4.sin_addr) == 1)
        return guard_address((const struct sockaddr *)&v4) != GUARD_FINE;
    if (n < 2 || host[0] != '[')
        return false;
    host[n - 1] = '\0';
    return inet_pton(AF_INET6, host + 1, &v6.sin6_addr) == 1 &&
           guard_address((const struct sockaddr *)&v6) != GUARD_FINE;
}

static void check_fine(const char *url) {
    char *scheme = NULL, *host = NULL, *user = NULL;
    CURLU *u = curl_url();
    FUZZ_REQUIRE(u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK);
    FUZZ_REQUIRE(curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK);
    FUZZ_REQUIRE(strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
    FUZZ_REQUIRE(curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK && !leads_inside(host));
    FUZZ_REQUIRE(curl_url_get(u, CURLUPART_USER, &user, 0) == CURLUE_NO_USER);
    curl_free(scheme);
    curl_free(host);
    curl_free(user);
    curl_url_cleanup(u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct guard *g;
    struct err e;
    if (!g)
        FUZZ_REQUIRE(guard_new(&(struct guard_options){0}, &g, &e) == V_OK);
    char *url = xcalloc(1, size + 1);
    memcpy(url, data, size);
    enum guard_rule rule = guard_url(g, url);
    FUZZ_REQUIRE(rule < GUARD_N_RULES && *guard_rule_name(rule));
    if (rule == GUARD_FINE)
        check_fine(url);
    free_ptr(&url);
    return 0;
}
