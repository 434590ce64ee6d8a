#include "cli/links_report.h"

#include "cli/format.h"

#include <inttypes.h>
#include <stdio.h>

#define PROVIDER "anthropic"

enum verdict links_report_read(struct store *store, struct links_report *ret, struct err *e) {
    enum verdict v = store_link_count(store, &ret->counts, e);
    if (v == V_OK)
        v = store_spend_get(store, STR(PROVIDER), &ret->spend, e);
    return v == V_OK ? store_items_keys(store, &ret->keys, e) : v;
}

static int64_t keys_left(const struct links_report *r) {
    return r->keys.done ? 0 : r->keys.last - r->keys.next;
}

static void print_task(const struct links_report *r, enum link_task t) {
    char text[FORMAT_MAX];
    printf("  %-15s", link_task_name(t));
    for (int s = LINK_PENDING; s < LINK_STATUSES; s++)
        printf(" %11s", format_count(text, r->counts.tasks[t][s]));
    if (r->counts.oldest_pending_ms[t] > 0)
        printf("   %s", format_duration(text, r->counts.oldest_pending_ms[t]));
    fputc('\n', stdout);
}

void links_report_print(const struct links_report *r) {
    char text[FORMAT_MAX];
    printf("\n%-17s", "links");
    for (int s = LINK_PENDING; s < LINK_STATUSES; s++)
        printf(" %11s", link_status_name((enum link_status)s));
    puts("   oldest pending");
    for (int t = 0; t < LINK_TASKS; t++)
        print_task(r, (enum link_task)t);
    if (r->counts.waiting)
        printf("  somebody waits for %s of them\n", format_count(text, r->counts.waiting));
    printf("  summaries cost $%.2f this month\n", (double)r->spend.spent / 1e6);
    if (!r->keys.done)
        printf("  keys of the archive's stories are made anew: %s ids are left\n",
               format_count(text, keys_left(r)));
}

void links_report_json(struct strbuf *b, const struct links_report *r) {
    strbuf_adds(b, "\"links\":{\"tasks\":{");
    for (int t = 0; t < LINK_TASKS; t++) {
        strbuf_addf(b, "%s\"%s\":{", t ? "," : "", link_task_name((enum link_task)t));
        for (int s = LINK_PENDING; s < LINK_STATUSES; s++)
            strbuf_addf(b, "\"%s\":%" PRId64 ",", link_status_name((enum link_status)s),
                        r->counts.tasks[t][s]);
        strbuf_addf(b, "\"oldest_pending_ms\":%" PRId64 "}", r->counts.oldest_pending_ms[t]);
    }
    strbuf_addf(b,
                "},\"waiting\":%" PRId64 ",\"spent\":%.6f,\"renews_at\":%" PRId64
                ",\"items_to_rekey\":%" PRId64 "}",
                r->counts.waiting, (double)r->spend.spent / 1e6, r->spend.renews_at, keys_left(r));
}
