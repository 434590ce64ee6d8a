#include "demo/stats.h"

void stats_init(struct stats *s) {
    *s = (struct stats){.hits = hits_new()};
}

void stats_release(struct stats *s) {
    hits_free(s->hits);
}

static void raise_to(_Atomic int64_t *peak, int64_t v) {
    int64_t was = atomic_load_explicit(peak, memory_order_relaxed);
    while (was < v && !atomic_compare_exchange_weak(peak, &was, v))
        ;
}

static void count_in_second(struct stats *s, int64_t now_ms) {
    uint64_t second = (uint64_t)(now_ms / 1000) << 32;
    uint64_t was = atomic_load_explicit(&s->window, memory_order_relaxed), next;
    do
        next = (was & ~(uint64_t)UINT32_MAX) == second ? was + 1 : second + 1;
    while (!atomic_compare_exchange_weak(&s->window, &was, next));
    raise_to(&s->peak_per_second, (int64_t)(next & UINT32_MAX));
}

void stats_item_begin(struct stats *s, int64_t id, int64_t now_ms) {
    unsigned nth = hits_add(s->hits, id);
    if (nth == 1)
        stats_count(&s->distinct_ids);
    else if (nth == 2)
        stats_count(&s->repeated_ids);
    raise_to(&s->max_per_id, nth);
    raise_to(&s->peak_in_flight, atomic_fetch_add(&s->in_flight, 1) + 1);
    count_in_second(s, now_ms);
}

void stats_item_end(struct stats *s) {
    atomic_fetch_sub(&s->in_flight, 1);
}

void stats_reset(struct stats *s) {
    for (size_t i = 0; i < ARRAY_LEN(s->requests); i++)
        s->requests[i] = 0;
    for (size_t i = 0; i < ARRAY_LEN(s->faults); i++)
        s->faults[i] = 0;
    for (size_t i = 0; i < ARRAY_LEN(s->lists); i++)
        s->lists[i] = 0;
    _Atomic int64_t *const rest[] = {
        &s->delays,       &s->peak_in_flight,  &s->peak_per_second,   &s->distinct_ids,
        &s->repeated_ids, &s->max_per_id,      &s->foreign_redirects, &s->streams_opened,
        &s->frames_sent,  &s->streams_overrun, &s->mentions};
    for (size_t i = 0; i < ARRAY_LEN(rest); i++)
        *rest[i] = 0;
    s->window = 0;
    hits_clear(s->hits);
}

void stats_render(const struct stats *s, int64_t maxitem, struct strbuf *out) {
    static const char *const NAMES[EP_COUNT] = {"item",   "maxitem", "updates", "user", "list",
                                                "stream", "control", "service", "other"};
    strbuf_adds(out, "{\"requests\":{");
    for (int i = 0; i < EP_COUNT; i++)
        strbuf_addf(out, "%s\"%s\":%lld", i ? "," : "", NAMES[i], (long long)s->requests[i]);
    strbuf_adds(out, "},\"lists\":{");
    for (int i = 0; i < CORPUS_N_LISTS; i++)
        strbuf_addf(out, "%s\"%s\":%lld", i ? "," : "", corpus_list_name((enum corpus_list)i),
                    (long long)s->lists[i]);
    strbuf_adds(out, "},\"faults\":{");
    for (int i = 1; i < FAULT_N_KINDS; i++)
        strbuf_addf(out, "\"%s\":%lld,", fault_kind_name((enum fault_kind)i),
                    (long long)s->faults[i]);
    strbuf_addf(out, "\"delay\":%lld}", (long long)s->delays);
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        {"distinct_ids", s->distinct_ids},
        {"repeated_ids", s->repeated_ids},
        {"max_per_id", s->max_per_id},
        {"in_flight", s->in_flight},
        {"peak_in_flight", s->peak_in_flight},
        {"peak_per_second", s->peak_per_second},
        {"foreign_redirects", s->foreign_redirects},
        {"streams_open", s->streams_open},
        {"streams_opened", s->streams_opened},
        {"frames_sent", s->frames_sent},
        {"streams_overrun", s->streams_overrun},
        {"mentions", s->mentions},
        {"bursts", s->bursts},
        {"maxitem", maxitem},
    };
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        strbuf_addf(out, ",\"%s\":%lld", numbers[i].name, (long long)numbers[i].value);
    strbuf_addc(out, '}');
}
