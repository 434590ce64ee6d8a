/* What the network alone costs: fetches a range of items with plain libcurl and throws them away.
 *   reference ROOT FIRST LAST CONCURRENCY [CA-FILE]
 * prints the requests per second. `make bench` divides tain's speed by this one. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct job {
    const char *root, *ca_file;
    long next, last;
    CURLM *multi;
};

static size_t discard(char *bytes, size_t one, size_t n, void *arg) {
    (void)bytes, (void)arg;
    return one * n;
}

static CURL *new_handle(const struct job *j) {
    CURL *h = curl_easy_init();
    curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, discard);
    curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(h, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(h, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(h, CURLOPT_HTTP_VERSION,
                     j->ca_file ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1);
    if (j->ca_file) {
        curl_easy_setopt(h, CURLOPT_CAINFO, j->ca_file);
        curl_easy_setopt(h, CURLOPT_PIPEWAIT, 1L);
    }
    return h;
}

/* True when there was one left to start. */
static int start(struct job *j, CURL *h) {
    char url[256];
    if (j->next > j->last)
        return 0;
    snprintf(url, sizeof url, "%s/item/%ld.json", j->root, j->next++);
    curl_easy_setopt(h, CURLOPT_URL, url);
    return curl_multi_add_handle(j->multi, h) == CURLM_OK;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Takes the finished ones off and starts the next; how many are under way less than before. */
static int refill(struct job *j) {
    int left, ended = 0;
    CURLMsg *msg;
    while ((msg = curl_multi_info_read(j->multi, &left))) {
        CURL *h = msg->easy_handle;
        CURLcode code = msg->data.result;
        if (code != CURLE_OK) {
            fprintf(stderr, "reference: %s\n", curl_easy_strerror(code));
            exit(1);
        }
        curl_multi_remove_handle(j->multi, h);
        if (!start(j, h)) {
            curl_easy_cleanup(h);
            ended++;
        }
    }
    return ended;
}

int main(int argc, char **argv) {
    if (argc < 5) {
        fprintf(stderr, "usage: reference ROOT FIRST LAST CONCURRENCY [CA-FILE]\n");
        return 2;
    }
    struct job j = {argv[1], argc > 5 ? argv[5] : NULL, atol(argv[2]), atol(argv[3]), NULL};
    long first = j.next, wanted = atol(argv[4]);
    double began = now();
    curl_global_init(CURL_GLOBAL_DEFAULT);
    j.multi = curl_multi_init();
    curl_multi_setopt(j.multi, CURLMOPT_MAXCONNECTS, wanted);
    int active = 0, running;
    while (active < wanted && j.next <= j.last)
        active += start(&j, new_handle(&j));
    while (active) {
        curl_multi_perform(j.multi, &running);
        active -= refill(&j);
        curl_multi_poll(j.multi, NULL, 0, 1000, NULL);
    }
    curl_multi_cleanup(j.multi);
    printf("%.1f\n", (double)(j.last - first + 1) / (now() - began));
    return 0;
}
