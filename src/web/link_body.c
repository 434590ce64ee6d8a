#include "web/link_body.h"

#include "hn/json_read.h"

#include <stddef.h>

static const struct field {
    const char *name;
    size_t at, max;
} fields[] = {
    {"url", offsetof(struct link_add, url), LINK_URL_MAX},
    {"title", offsetof(struct link_add, title), LINK_BODY_TITLE_MAX},
    {"description", offsetof(struct link_add, description), LINK_BODY_DESCRIPTION_MAX},
    {"submitted_by", offsetof(struct link_add, submitted_by), LINK_BODY_NAME_MAX},
    {"source", offsetof(struct link_add, source), LINK_BODY_SOURCE_MAX},
};

/* They say where tain itself has a link from. */
static const char *const reserved[] = {"auto-parent", "discussion-ref", "reverse-lookup",
                                       "hn-story"};

static enum verdict wrong(struct err *e, const char *field, const char *why) {
    return err_set(e, V_INVALID, "links", 0, "%s: %s", field, why);
}

static enum verdict read_field(struct json_read *r, const struct field *f, struct link_add *ret,
                               struct err *e) {
    struct str *out = (struct str *)(void *)((char *)ret + f->at);
    enum json_kind kind = json_peek(r);
    *out = STR_NONE;
    if (kind == JSON_NULL) {
        json_skip(r);
        return V_OK;
    }
    if (kind != JSON_STRING)
        return wrong(e, f->name, "give a text");
    if (!json_text(r, out))
        return V_OK; /* the reader is bad now, and says so at the end */
    if (out->n > f->max)
        return err_set(e, V_INVALID, "links", 0, "%s: it has %zu bytes; %zu are the most", f->name,
                       out->n, f->max);
    return V_OK;
}

static enum verdict read_member(struct json_read *r, struct str key, struct link_add *ret,
                                struct err *e) {
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (str_eqc(key, fields[i].name))
            return read_field(r, &fields[i], ret, e);
    return err_set(e, V_INVALID, "links", 0,
                   "%.*s: there is no such field; there are url, title, description, submitted_by "
                   "and source",
                   key.n > 40 ? 40 : (int)key.n, key.p);
}

static enum verdict check_source(struct str source, struct err *e) {
    for (size_t i = 0; i < source.n; i++) {
        char c = source.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'))
            return wrong(e, "source", "give a word of a to z, 0 to 9 and -");
    }
    for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
        if (str_eqc(source, reserved[i]))
            return wrong(e, "source", "that one is for tain itself; say another, or agent");
    return V_OK;
}

enum verdict link_body_read(struct arena *a, struct str body, struct link_add *ret, struct err *e) {
    struct json_read r;
    struct str key;
    bool first = true;
    enum verdict v = V_OK;
    *ret = (struct link_add){0};
    json_read_init(&r, a, body);
    if (json_peek(&r) != JSON_OBJECT)
        return err_set(e, V_INVALID, "links", 0, "send a JSON object: {\"url\": \"https://...\"}");
    json_enter(&r);
    while (v == V_OK && json_next_member(&r, &first, &key))
        v = read_member(&r, key, ret, e);
    if (v != V_OK)
        return v;
    if (!json_at_end(&r))
        return err_set(e, V_INVALID, "links", 0, "the JSON is broken");
    if (!ret->url.n)
        return wrong(e, "url", "it is missing");
    if (!ret->source.n)
        ret->source = STR("agent");
    return check_source(ret->source, e);
}
