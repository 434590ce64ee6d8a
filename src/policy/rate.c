#include "policy/rate.h"

#define SECOND_US 1000000.0
#define LEASES_PER_SECOND 5
#define MAX_LEASE 1000
#define FAR_US ((int64_t)1 << 60) /* beyond any clock, and safe to add to one */

int64_t gcra_reserve(int64_t *tat_us, int64_t now_us, double per_second, int n) {
    if (!(per_second > 0))
        return now_us;
    int64_t first = *tat_us > now_us ? *tat_us : now_us;
    if (n <= 0)
        return first;
    double span = (double)n * SECOND_US / per_second;
    int64_t room = first < FAR_US ? FAR_US - first : 0;
    int64_t whole = span < (double)room ? (int64_t)span : room;
    if (whole < room && (double)whole < span)
        whole++; /* rounded up: a rate is a promise not to be faster */
    *tat_us = first + whole;
    return first;
}

int64_t turns_wait_us(const struct turns *t, int64_t now_us) {
    if (t->used >= t->n)
        return -1;
    int64_t due = t->start_us + t->interval_us * t->used;
    return due > now_us ? due - now_us : 0;
}

void turns_take(struct turns *t) {
    if (t->used < t->n)
        t->used++;
}

void turns_forfeit(struct turns *t, int64_t now_us, int64_t slack_us) {
    if (t->interval_us <= 0 || now_us < t->start_us)
        return;
    int64_t due = (now_us - t->start_us) / t->interval_us + 1;
    due = due < t->n ? due : t->n;
    int64_t keep = slack_us / t->interval_us + 1;
    if (due - t->used > keep)
        t->used = (int)(due - keep);
}

int turns_lease_size(double per_second) {
    if (!(per_second > 0) || per_second >= (double)MAX_LEASE * LEASES_PER_SECOND)
        return MAX_LEASE;
    int n = (int)(per_second / LEASES_PER_SECOND);
    return n > 1 ? n : 1;
}
