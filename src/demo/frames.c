#include "demo/frames.h"

#include "demo/digits.h"

static void add_ids(const int64_t *ids, size_t n, struct strbuf *out) {
    strbuf_addc(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            strbuf_addc(out, ',');
        add_digits(out, ids[i]);
    }
    strbuf_addc(out, ']');
}

static void add_names(const struct sliding *s, struct strbuf *out) {
    strbuf_addc(out, '[');
    for (size_t i = 0; i < s->n_names; i++) {
        strbuf_adds(out, i ? "," : "");
        strbuf_add_json(out, str_of(s->names[i]));
    }
    strbuf_addc(out, ']');
}

static void add_both(const int64_t *ids, size_t n, const struct sliding *names,
                     struct strbuf *out) {
    strbuf_adds(out, "{\"items\":");
    add_ids(ids, n, out);
    if (names) {
        strbuf_adds(out, ",\"profiles\":");
        add_names(names, out);
    }
    strbuf_addc(out, '}');
}

void frame_lists(const struct sliding *s, struct strbuf *out) {
    add_both(s->ids, s->n_ids, s, out);
}

void frame_put(const struct sliding *s, struct strbuf *out) {
    strbuf_adds(out, "event: put\ndata: {\"path\":\"/\",\"data\":");
    frame_lists(s, out);
    strbuf_adds(out, "}\n\n");
}

void frame_maxitem(int64_t maxitem, struct strbuf *out) {
    strbuf_adds(out, "event: put\ndata: {\"path\":\"/\",\"data\":");
    add_digits(out, maxitem);
    strbuf_adds(out, "}\n\n");
}

bool frame_ids(const int64_t *ids, size_t n, const struct sliding *names, uint64_t turn,
               struct strbuf *out) {
    bool patch = turn % 3 == 0;
    if (patch) {
        strbuf_adds(out, "event: patch\ndata: {\"path\":\"/\",\"data\":");
        add_both(ids, n, names, out);
    } else if (turn % 3 == 2 && n == 1) {
        strbuf_adds(out, "event: put\ndata: {\"path\":\"/items/0\",\"data\":");
        add_digits(out, ids[0]);
    } else {
        strbuf_adds(out, "event: put\ndata: {\"path\":\"/items\",\"data\":");
        add_ids(ids, n, out);
    }
    strbuf_adds(out, "}\n\n");
    return patch;
}

void frame_names(const struct sliding *names, uint64_t turn, struct strbuf *out) {
    if (turn % 3 == 0) {
        strbuf_adds(out, "event: patch\ndata: {\"path\":\"/\",\"data\":{\"profiles\":");
        add_names(names, out);
        strbuf_addc(out, '}');
    } else if (turn % 3 == 2 && names->n_names == 1) {
        strbuf_adds(out, "event: put\ndata: {\"path\":\"/profiles/0\",\"data\":");
        strbuf_add_json(out, str_of(names->names[0]));
    } else {
        strbuf_adds(out, "event: put\ndata: {\"path\":\"/profiles\",\"data\":");
        add_names(names, out);
    }
    strbuf_adds(out, "}\n\n");
}
