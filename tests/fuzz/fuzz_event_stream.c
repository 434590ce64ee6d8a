/* Whatever the stream sends: no crash, and the same events however the bytes are cut; what is read
 * out of an event are ids and names that can be used. */
#include "base/arena.h"
#include "base/rng.h"
#include "fuzz_target.h"
#include "hn/event_stream.h"
#include "hn/updates.h"

#include <string.h>

#define SMALL 48 /* a limit that inputs reach */
#define LARGE ((size_t)1 << 21)

static void require_usable(const struct stream_event *event) {
    struct arena a;
    struct updates u;
    arena_init(&a);
    enum updates_kind kind = updates_read_event(&a, event->type, event->data, &u);
    FUZZ_REQUIRE(kind == UPDATES_CHANGES || (u.n_items == 0 && u.n_profiles == 0));
    for (size_t i = 0; i < u.n_items; i++)
        FUZZ_REQUIRE(u.items[i] > 0);
    for (size_t i = 0; i < u.n_profiles; i++) {
        struct str name = u.profiles[i];
        FUZZ_REQUIRE(name.n > 0 && name.n <= PROFILE_NAME_MAX && strlen(name.p) == name.n);
    }
    arena_release(&a);
}

static void put_event(void *context, const struct stream_event *event) {
    struct strbuf *out = context;
    const struct str parts[] = {event->type, event->data, event->id};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        strbuf_addf(out, "%zu:", parts[i].n);
        strbuf_add_str(out, parts[i]);
    }
    require_usable(event);
}

/* Pieces of `size` bytes, or of sizes drawn by chance when it is 0. */
static enum verdict run(struct str in, size_t size, size_t limit, struct strbuf *out) {
    struct event_stream s;
    struct err e;
    struct rng r = {.state = in.n};
    enum verdict v = V_OK;
    event_stream_init(&s, limit, put_event, out);
    for (size_t at = 0, n; at < in.n; at += n) {
        n = size ? size : 1 + rng_below(&r, 9);
        n = n < in.n - at ? n : in.n - at;
        v = event_stream_push(&s, (struct str){in.p + at, n}, &e);
        FUZZ_REQUIRE(v == V_OK || v == V_LIMIT);
    }
    FUZZ_REQUIRE(s.retry_ms >= -1 && s.data.n <= limit + 1 && s.line.n <= limit);
    strbuf_addf(out, "retry %lld", (long long)s.retry_ms);
    event_stream_release(&s);
    return v;
}

static void require_same(struct str in, size_t limit) {
    static const size_t sizes[] = {1, 2, 0};
    struct strbuf whole, cut;
    size_t most = 4096 + in.n * 64; /* an id may be repeated with every event */
    strbuf_init(&whole, most + in.n * in.n);
    enum verdict v = run(in, in.n + 1, limit, &whole);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        strbuf_init(&cut, whole.max);
        FUZZ_REQUIRE(run(in, sizes[i], limit, &cut) == v);
        FUZZ_REQUIRE(!cut.overflow && str_eq(strbuf_str(&cut), strbuf_str(&whole)));
        strbuf_release(&cut);
    }
    strbuf_release(&whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str in = {(const char *)data, size};
    require_same(in, SMALL);
    require_same(in, LARGE);
    struct stream_event put = {STR("put"), in, STR("")};
    require_usable(&put);
    return 0;
}
