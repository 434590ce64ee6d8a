/* libcurl's calls: without memory, and transfers that end badly. */
#include "nth.h"

#include <curl/curl.h>
#include <stdarg.h>

#define WRAP(type, name, ...)        \
    type __real_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__)

#undef curl_easy_setopt
#undef curl_multi_setopt

WRAP(CURLcode, curl_global_init, long flags) {
    return HIT(CURL_NOMEM, curl_global_init) ? CURLE_FAILED_INIT : __real_curl_global_init(flags);
}

WRAP(CURL *, curl_easy_init, void) {
    return HIT(CURL_NOMEM, curl_easy_init) ? NULL : __real_curl_easy_init();
}

/* Every value has the size of a pointer here: long, curl_off_t, objects and functions. */
WRAP(CURLcode, curl_easy_setopt, CURL *h, CURLoption option, ...) {
    _Static_assert(sizeof(long) == sizeof(void *) && sizeof(curl_off_t) == sizeof(void *), "");
    va_list args;
    va_start(args, option);
    void *value = va_arg(args, void *);
    va_end(args);
    return HIT(CURL_NOMEM, curl_easy_setopt) ? CURLE_OUT_OF_MEMORY
                                             : __real_curl_easy_setopt(h, option, value);
}

WRAP(CURLcode, curl_easy_perform, CURL *h) {
    if (HIT(CURL_ALL, curl_easy_perform))
        return nth_kind() == CURL_NOMEM ? CURLE_OUT_OF_MEMORY : CURLE_COULDNT_CONNECT;
    return __real_curl_easy_perform(h);
}

WRAP(CURLcode, curl_easy_pause, CURL *h, int how) {
    return HIT(CURL_NOMEM, curl_easy_pause) ? CURLE_OUT_OF_MEMORY : __real_curl_easy_pause(h, how);
}

WRAP(CURLHcode, curl_easy_header, CURL *h, const char *name, size_t i, unsigned origin, int request,
     struct curl_header **ret) {
    return HIT(CURL_NOMEM, curl_easy_header)
               ? CURLHE_OUT_OF_MEMORY
               : __real_curl_easy_header(h, name, i, origin, request, ret);
}

WRAP(CURLM *, curl_multi_init, void) {
    return HIT(CURL_NOMEM, curl_multi_init) ? NULL : __real_curl_multi_init();
}

WRAP(CURLMcode, curl_multi_setopt, CURLM *m, CURLMoption option, ...) {
    va_list args;
    va_start(args, option);
    void *value = va_arg(args, void *);
    va_end(args);
    return HIT(CURL_NOMEM, curl_multi_setopt) ? CURLM_OUT_OF_MEMORY
                                              : __real_curl_multi_setopt(m, option, value);
}

WRAP(CURLMcode, curl_multi_add_handle, CURLM *m, CURL *h) {
    return HIT(CURL_NOMEM, curl_multi_add_handle) ? CURLM_OUT_OF_MEMORY
                                                  : __real_curl_multi_add_handle(m, h);
}

WRAP(CURLMcode, curl_multi_perform, CURLM *m, int *running) {
    return HIT(CURL_NOMEM, curl_multi_perform) ? CURLM_OUT_OF_MEMORY
                                               : __real_curl_multi_perform(m, running);
}

WRAP(CURLMcode, curl_multi_poll, CURLM *m, struct curl_waitfd *fds, unsigned n, int ms, int *ret) {
    return HIT(CURL_NOMEM, curl_multi_poll) ? CURLM_OUT_OF_MEMORY
                                            : __real_curl_multi_poll(m, fds, n, ms, ret);
}

WRAP(CURLMcode, curl_multi_socket_action, CURLM *m, curl_socket_t fd, int events, int *running) {
    return HIT(CURL_NOMEM, curl_multi_socket_action)
               ? CURLM_OUT_OF_MEMORY
               : __real_curl_multi_socket_action(m, fd, events, running);
}

WRAP(CURLMsg *, curl_multi_info_read, CURLM *m, int *left) {
    CURLMsg *msg = __real_curl_multi_info_read(m, left);
    if (msg && HIT(CURL_ALL, curl_multi_info_read))
        msg->data.result = nth_kind() == CURL_NOMEM ? CURLE_OUT_OF_MEMORY : CURLE_RECV_ERROR;
    return msg;
}

WRAP(struct curl_slist *, curl_slist_append, struct curl_slist *list, const char *text) {
    return HIT(CURL_NOMEM, curl_slist_append) ? NULL : __real_curl_slist_append(list, text);
}

WRAP(CURLU *, curl_url, void) {
    return HIT(CURL_NOMEM, curl_url) ? NULL : __real_curl_url();
}

WRAP(CURLUcode, curl_url_set, CURLU *u, CURLUPart part, const char *text, unsigned flags) {
    return HIT(CURL_NOMEM, curl_url_set) ? CURLUE_OUT_OF_MEMORY
                                         : __real_curl_url_set(u, part, text, flags);
}

WRAP(CURLUcode, curl_url_get, const CURLU *u, CURLUPart part, char **ret, unsigned flags) {
    return HIT(CURL_NOMEM, curl_url_get) ? CURLUE_OUT_OF_MEMORY
                                         : __real_curl_url_get(u, part, ret, flags);
}
