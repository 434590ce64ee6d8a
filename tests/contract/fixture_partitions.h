/* For tests of partitions, which are made by the test itself, on PostgreSQL. */
#ifndef TAIN_TESTS_FIXTURE_PARTITIONS_H
#define TAIN_TESTS_FIXTURE_PARTITIONS_H

#include "fixture.h"

#include "store/feed.h"

#define WIDTH 50
#define ELSEWHERE_ONLY                            \
    if (fix_kind == DB_SQLITE || fix_partitioned) \
    skip()

static inline void put(struct fix *f, int64_t id) {
    char json[100];
    snprintf(json, sizeof json, "{'id':%lld,'type':'story','score':%lld}", (long long)id,
             (long long)id);
    store_item(f, T0, json);
}

static inline void number_all(struct fix *f) {
    struct err e;
    size_t n = 1;
    while (n > 0)
        assert_ok(store_feed_publish(f->s, 3, &n, &e));
}

#endif
