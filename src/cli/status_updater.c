#include "cli/status_updater.h"

#include "base/shown.h"
#include "cli/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum verdict updater_status_read(struct store *s, struct updater_status *ret, struct err *e) {
    *ret = (struct updater_status){0};
    enum verdict v = store_updater_row(s, &ret->row, e);
    if (v == V_OK)
        v = store_ages(s, ret->ages.n, AGES_N, e);
    if (v == V_OK)
        v = store_live_backlog(s, &ret->failed, &ret->rechecks, e);
    return v;
}

static bool is_active(const struct updater_status *u) {
    return u->row.holder[0] && u->row.lease_left_ms > 0;
}

static void print_age(const char *what, const struct ages *a, double share) {
    char age[FORMAT_MAX];
    int64_t seconds = ages_quantile(a, share);
    if (seconds == INT64_MAX)
        snprintf(age, sizeof age, "over a year");
    else
        format_duration(age, seconds * 1000);
    printf(" %s %s", what, age);
}

static void print_ages(const struct ages *a) {
    char number[FORMAT_MAX];
    int64_t n = ages_count(a);
    if (n == 0)
        return;
    printf("%-16s%14s  updates; age of the item:", "update age", format_count(number, n));
    print_age("p50", a, 0.50);
    print_age("p95", a, 0.95);
    print_age("p99", a, 0.99);
    printf("\n");
    int days = ages_recommend_days(a);
    if (days)
        printf("%-16s%14d  days would catch %d of 100 updates (--rescan-window-days)\n",
               "rescan window", days, (int)(100 * ages_share(a, days)));
    else
        printf("%-16s%14s  too few updates to recommend one yet\n", "rescan window", "");
}

void updater_status_text(const struct updater_status *u, int64_t now) {
    char age[FORMAT_MAX], number[FORMAT_MAX];
    if (!u->row.holder[0] && !u->row.last_sse_event_at)
        return;
    char holder[sizeof u->row.holder]; /* another machine says what it is called */
    memcpy(holder, u->row.holder, sizeof holder);
    shown_in_place(holder);
    printf("%-16s%14s  %s\n", "updater", is_active(u) ? "active" : "not running",
           is_active(u) ? holder : "start one with 'tain up' or 'tain updater'");
    if (u->row.last_sse_event_at)
        printf("%-16s%14s  ago\n", "last event",
               format_duration(age, now - u->row.last_sse_event_at));
    if (u->row.last_rescan_at)
        printf("%-16s%14s  ago\n", "last rescan",
               format_duration(age, now - u->row.last_rescan_at));
    if (u->failed)
        printf("%-16s%14s  named by the stream, failed, will be tried again\n", "put aside",
               format_count(number, u->failed));
    if (u->rechecks)
        printf("%-16s%14s  young nulls and [delayed] texts\n", "rechecks",
               format_count(number, u->rechecks));
    print_ages(&u->ages);
}

static void json_age(const char *key, const struct ages *a, double share) {
    int64_t seconds = ages_quantile(a, share);
    if (seconds < 0 || seconds == INT64_MAX)
        printf(",\"%s\":null", key);
    else
        printf(",\"%s\":%" PRId64, key, seconds);
}

static void json_instant(const char *key, int64_t at) {
    if (at)
        printf(",\"%s\":%" PRId64, key, at);
    else
        printf(",\"%s\":null", key);
}

void updater_status_json(const struct updater_status *u) {
    CLEANUP(strbuf_release) struct strbuf holder;
    strbuf_init(&holder, 2048);
    strbuf_add_json(&holder, str_of(u->row.holder));
    printf("\"updater\":{\"active\":%s,\"holder\":%s", is_active(u) ? "true" : "false",
           u->row.holder[0] ? holder.p : "null");
    json_instant("last_sse_event_at", u->row.last_sse_event_at);
    json_instant("last_rescan_at", u->row.last_rescan_at);
    printf(",\"failed\":%" PRId64 ",\"rechecks\":%" PRId64, u->failed, u->rechecks);
    printf(",\"update_age_seconds\":{\"count\":%" PRId64, ages_count(&u->ages));
    json_age("p50", &u->ages, 0.50);
    json_age("p95", &u->ages, 0.95);
    json_age("p99", &u->ages, 0.99);
    printf(",\"no_time\":%" PRId64 ",\"future\":%" PRId64 "}", u->ages.n[AGES_NO_TIME],
           u->ages.n[AGES_FUTURE]);
    int days = ages_recommend_days(&u->ages);
    if (days)
        printf(",\"recommended_rescan_window_days\":%d,\"share_in_window\":%.3f}", days,
               ages_share(&u->ages, days));
    else
        printf(",\"recommended_rescan_window_days\":null,\"share_in_window\":null}");
}
