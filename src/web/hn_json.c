#include "web/hn_json.h"

static void add_i64(struct strbuf *out, int64_t v) {
    char digit[24];
    size_t at = sizeof digit;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do {
        digit[--at] = (char)('0' + u % 10);
        u /= 10;
    } while (u);
    if (v < 0)
        digit[--at] = '-';
    strbuf_add(out, digit + at, sizeof digit - at);
}

void hn_add_ids(struct strbuf *out, const int64_t *ids, size_t n) {
    strbuf_addc(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            strbuf_addc(out, ',');
        add_i64(out, ids[i]);
    }
    strbuf_addc(out, ']');
}

static void add_names(struct strbuf *out, const struct str *names, size_t n) {
    strbuf_addc(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            strbuf_addc(out, ',');
        strbuf_add_json(out, names[i]);
    }
    strbuf_addc(out, ']');
}

void hn_add_updates(struct strbuf *out, const struct recent *r) {
    strbuf_adds(out, "{\"items\":");
    hn_add_ids(out, r->items, r->n_items);
    strbuf_adds(out, ",\"profiles\":");
    add_names(out, r->names, r->n_names);
    strbuf_addc(out, '}');
}

#define PUT "event: put\ndata: {\"path\":\"/\",\"data\":"
#define PATCH "event: patch\ndata: {\"path\":\"/\",\"data\":"
#define FRAME_END "}\n\n"

void hn_frame_updates(struct strbuf *out, const struct recent *r) {
    strbuf_adds(out, PUT);
    hn_add_updates(out, r);
    strbuf_adds(out, FRAME_END);
}

void hn_frame_maxitem(struct strbuf *out, int64_t maxitem) {
    strbuf_adds(out, PUT);
    add_i64(out, maxitem);
    strbuf_adds(out, FRAME_END);
}

void hn_frame_changes(struct strbuf *out, const struct recent *r) {
    strbuf_adds(out, PATCH "{");
    if (r->n_items) {
        strbuf_adds(out, "\"items\":");
        hn_add_ids(out, r->items, r->n_items);
    }
    if (r->n_names) {
        strbuf_adds(out, r->n_items ? ",\"profiles\":" : "\"profiles\":");
        add_names(out, r->names, r->n_names);
    }
    strbuf_adds(out, "}" FRAME_END);
}
