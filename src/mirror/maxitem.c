#include "mirror/maxitem.h"

#include "mirror/metrics.h"
#include "mirror/tidings.h"

#include <stdio.h>

#define TRIES 5
#define BUDGET_MS 10000

struct answer {
    bool came;
    int64_t maxitem; /* 0: not a number */
    enum net_class cls;
    char detail[200];
};

static struct str trimmed(struct str s) {
    while (s.n && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\r'))
        s.n--;
    return s;
}

static void take(void *ctx, const struct http_result *r) {
    struct answer *a = ctx;
    count_answer(TARGET_MAXITEM, r->cls);
    metric_observe(&m_http_seconds, r->elapsed_ms);
    a->came = true;
    a->cls = r->cls;
    if (r->cls != NET_OK || !str_to_i64(trimmed(r->body), &a->maxitem) || a->maxitem < 1 ||
        a->maxitem > TIDINGS_MAX_ID)
        a->maxitem = 0;
    snprintf(a->detail, sizeof a->detail, "%s",
             r->cls == NET_OK ? "the answer is not a number"
             : r->detail      ? r->detail
                              : "no answer");
}

static enum verdict ask_once(struct http_client *http, const struct clock *clock, const char *url,
                             int64_t deadline, const struct stop_token *stop, struct answer *a,
                             struct err *e) {
    *a = (struct answer){0};
    enum verdict v = http_submit(http, url, a, e);
    while (v == V_OK && !a->came && clock_mono(clock) < deadline && !stop_raised(stop))
        http_step(http, clock_mono(clock) + 100, take, a);
    http_cancel_all(http);
    return v;
}

enum verdict fetch_maxitem(struct http_client *http, const struct clock *clock,
                           const char *upstream, const struct stop_token *stop, int64_t *ret,
                           struct err *e) {
    char url[1024];
    snprintf(url, sizeof url, "%s/maxitem.json", upstream);
    int64_t deadline = clock_mono(clock) + BUDGET_MS, pause_ms = 200;
    struct answer a = {0};
    for (int i = 0; i < TRIES && clock_mono(clock) < deadline; i++, pause_ms *= 2) {
        enum verdict v = ask_once(http, clock, url, deadline, stop, &a, e);
        if (v != V_OK)
            return v;
        if (a.maxitem) {
            *ret = a.maxitem;
            return V_OK;
        }
        int64_t until = clock_mono(clock) + pause_ms;
        while (clock_mono(clock) < until && !stop_raised(stop))
            http_step(http, until, take, &a);
        if (stop_raised(stop))
            return err_set(e, V_STOPPED, "upstream", 0, "stopped while asking for maxitem");
    }
    return err_set(e, V_RETRY, "upstream", 0, "cannot read %s: %s", url,
                   a.came ? a.detail : "no answer in time");
}
