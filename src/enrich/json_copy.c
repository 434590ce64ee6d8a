#include "enrich/json_copy.h"

static void fail(struct json_read *r) {
    r->bad = true;
    r->p = r->end;
}

static void copy_number(struct json_read *r, struct strbuf *out) {
    struct str n;
    if (!json_raw_number(r, &n))
        return;
    size_t at = n.p[0] == '-';
    bool zeros = n.n > at + 1 && n.p[at] == '0' && n.p[at + 1] >= '0' && n.p[at + 1] <= '9';
    if (zeros)
        fail(r);
    else
        strbuf_add_str(out, n);
}

static void copy_string(struct json_read *r, struct strbuf *out) {
    struct str s;
    if (json_text(r, &s))
        strbuf_add_json(out, s);
}

static void copy_word(struct json_read *r, enum json_kind kind, struct strbuf *out) {
    json_skip(r);
    if (!r->bad)
        strbuf_adds(out, kind == JSON_NULL ? "null" : kind == JSON_TRUE ? "true" : "false");
}

static void copy_nested(struct json_read *r, struct strbuf *out, int depth);

static void copy_list(struct json_read *r, enum json_kind kind, struct strbuf *out, int depth) {
    bool object = kind == JSON_OBJECT, first = true;
    struct str key;
    json_enter(r);
    strbuf_addc(out, object ? '{' : '[');
    for (bool begun = false;; begun = true) {
        if (!(object ? json_next_member(r, &first, &key) : json_next_element(r, &first)))
            break;
        if (begun)
            strbuf_addc(out, ',');
        if (object) {
            strbuf_add_json(out, key);
            strbuf_addc(out, ':');
        }
        copy_nested(r, out, depth + 1);
    }
    strbuf_addc(out, object ? '}' : ']');
}

static void copy_nested(struct json_read *r, struct strbuf *out, int depth) {
    enum json_kind kind = json_peek(r);
    switch (kind) {
    case JSON_STRING:
        copy_string(r, out);
        return;
    case JSON_NUMBER:
        copy_number(r, out);
        return;
    case JSON_NULL:
    case JSON_TRUE:
    case JSON_FALSE:
        copy_word(r, kind, out);
        return;
    case JSON_ARRAY:
    case JSON_OBJECT:
        if (depth < JSON_DEPTH_MAX)
            copy_list(r, kind, out, depth);
        else
            fail(r);
        return;
    case JSON_NOTHING:
        fail(r);
    }
}

void json_copy_value(struct json_read *r, struct strbuf *out) {
    copy_nested(r, out, 0);
}

void json_copy_text(struct json_read *r, struct strbuf *out) {
    struct str s;
    switch (json_peek(r)) {
    case JSON_STRING:
        if (json_text(r, &s))
            strbuf_add_str(out, s);
        return;
    case JSON_NULL:
        json_skip(r);
        return;
    default:
        json_copy_value(r, out);
    }
}
