#include "policy/ages.h"

#define MINUTE 60
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define MOST_AHEAD MINUTE /* clocks differ; more than that is a wrong time */
#define ENOUGH 100
#define MOST_DAYS 30

/* Finest where a rescan window may end: 1 to 14 days. */
const int64_t ages_bounds[AGES_BOUNDS] = {
    10,       30,       1 * MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, 1 * HOUR,
    2 * HOUR, 6 * HOUR, 12 * HOUR,  1 * DAY,    2 * DAY,    3 * DAY,     4 * DAY,     5 * DAY,
    7 * DAY,  10 * DAY, 14 * DAY,   21 * DAY,   30 * DAY,   90 * DAY,    180 * DAY,   365 * DAY,
};

int ages_bucket(int64_t arrived, int64_t time, bool has_time) {
    if (!has_time || time <= 0)
        return AGES_NO_TIME;
    if (time > arrived)
        return time - arrived > MOST_AHEAD ? AGES_FUTURE : 0;
    int i = 0;
    while (i < AGES_BOUNDS && arrived - time > ages_bounds[i])
        i++;
    return i; /* AGES_OLDER behind the last */
}

/* Stored counts may have been damaged by hand: below zero is none. */
static int64_t count_at(const struct ages *a, int bucket) {
    return a->n[bucket] > 0 ? a->n[bucket] : 0;
}

int64_t ages_count(const struct ages *a) {
    int64_t n = 0;
    for (int i = 0; i <= AGES_OLDER; i++)
        n += count_at(a, i);
    return n;
}

/* By rank, a whole number: a share that is no exact fraction must not reach one update too far,
 * into a bucket that may be months away. */
static int64_t rank_of(double share, int64_t n) {
    if (!(share > 0))
        return 1;
    if (share >= 1)
        return n;
    double exact = share * (double)n - 1e-6;
    int64_t rank = (int64_t)exact;
    return (double)rank < exact || rank < 1 ? rank + 1 : rank;
}

int64_t ages_quantile(const struct ages *a, double share) {
    int64_t n = ages_count(a), below = 0;
    if (n == 0)
        return -1;
    int64_t rank = rank_of(share, n);
    for (int i = 0; i < AGES_BOUNDS; i++) {
        int64_t here = count_at(a, i);
        if (below + here >= rank) {
            int64_t from = i ? ages_bounds[i - 1] : 0;
            double part = (double)(rank - below) / (double)here;
            return from + (int64_t)(part * (double)(ages_bounds[i] - from) + 0.5);
        }
        below += here;
    }
    return INT64_MAX;
}

double ages_share(const struct ages *a, int days) {
    int64_t n = ages_count(a), inside = 0;
    for (int i = 0; i < AGES_BOUNDS && ages_bounds[i] <= days * (int64_t)DAY; i++)
        inside += count_at(a, i);
    return n ? (double)inside / (double)n : 0;
}

int ages_recommend_days(const struct ages *a) {
    if (ages_count(a) < ENOUGH)
        return 0;
    int64_t age = ages_quantile(a, 0.99);
    if (age > MOST_DAYS * (int64_t)DAY)
        return MOST_DAYS;
    int64_t days = (age + DAY - 1) / DAY;
    return days < 1 ? 1 : (int)days;
}
