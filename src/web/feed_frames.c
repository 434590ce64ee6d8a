#include "web/feed_frames.h"

#include <inttypes.h>

static void add_id(struct strbuf *b, const char *name, struct feed_id id) {
    char text[FEED_ID_MAX];
    feed_id_format(id, text);
    strbuf_addf(b, ",\"%s\":\"%s\"", name, text);
}

void feed_add_hello(struct strbuf *b, const struct feed_state *st) {
    strbuf_adds(b, "{\"type\":\"hello\"");
    add_id(b, "head", (struct feed_id){st->epoch, st->head});
    add_id(b, "oldest", (struct feed_id){st->epoch, st->oldest});
    strbuf_addf(b, ",\"epoch\":%" PRId64 "}", st->epoch);
}

void feed_add_gap(struct strbuf *b, struct feed_id from, struct feed_id to) {
    strbuf_adds(b, "{\"type\":\"gap\"");
    add_id(b, "from", from);
    add_id(b, "to", to);
    strbuf_addc(b, '}');
}
