#include "net/must_int.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static NORETURN void end_with(const char *why) {
    fprintf(stderr, "tain: libcurl: %s\n", why);
    abort();
}

static NORETURN void out_of_memory(void) {
    end_with("out of memory");
}

static void init_library(void) {
    CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (code == CURLE_OUT_OF_MEMORY)
        out_of_memory();
    if (code != CURLE_OK)
        end_with("it cannot be set up; is it out of memory, or without a TLS library?");
}

void must_init_library(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_library);
}

void must_easy(CURLcode code) {
    if (UNLIKELY(code != CURLE_OK))
        end_with(curl_easy_strerror(code));
}

void must_multi(CURLMcode code) {
    if (UNLIKELY(code != CURLM_OK))
        end_with(curl_multi_strerror(code));
}

void *must_have(void *p) {
    if (UNLIKELY(!p))
        out_of_memory();
    return p;
}

CURLUcode must_url(CURLUcode code) {
    if (UNLIKELY(code == CURLUE_OUT_OF_MEMORY))
        out_of_memory();
    return code;
}

CURLHcode must_header(CURLHcode code) {
    if (UNLIKELY(code == CURLHE_OUT_OF_MEMORY))
        out_of_memory();
    return code;
}
