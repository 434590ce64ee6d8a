#include "hn/user.h"

#include "hn/json_read.h"

#include <string.h>
#include <xxhash.h>

#define FIRST_IDS 64

struct id_list {
    int64_t *id;
    size_t n, cap;
    bool indexed; /* an object, and each of its keys is a number: an array with holes */
};

static void add_id(struct arena *a, struct id_list *l, int64_t id) {
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : FIRST_IDS;
        int64_t *grown = arena_alloc(a, l->cap * sizeof *grown);
        if (l->n)
            memcpy(grown, l->id, l->n * sizeof *grown);
        l->id = grown;
    }
    l->id[l->n++] = id;
}

/* Takes nothing from the arena but the list. */
static void read_entry(struct json_read *r, struct id_list *l) {
    struct str written = STR_NONE;
    int64_t id;
    enum json_kind kind = json_peek(r);
    if (kind == JSON_NUMBER)
        json_raw_number(r, &written);
    else if (kind == JSON_STRING)
        json_raw_string(r, &written);
    else
        json_skip(r);
    if (written.p && json_integer_of(written, &id) && id > 0)
        add_id(r->a, l, id);
}

static bool is_index(struct str key) {
    for (size_t i = 0; i < key.n; i++)
        if (key.p[i] < '0' || key.p[i] > '9')
            return false;
    return key.n > 0;
}

/* An array, an object whose values are the entries, or a single entry. */
static struct id_list read_ids(struct json_read *r) {
    struct id_list l = {0};
    struct str key;
    bool first = true;
    enum json_kind kind = json_peek(r);
    if (kind == JSON_ARRAY) {
        json_enter(r);
        while (json_next_element(r, &first))
            read_entry(r, &l);
    } else if (kind == JSON_OBJECT) {
        json_enter(r);
        for (size_t n = 0; json_next_member(r, &first, &key); n++) {
            l.indexed = is_index(key) && (n == 0 || l.indexed);
            read_entry(r, &l);
        }
    } else {
        read_entry(r, &l);
    }
    return l;
}

static struct str read_plain(struct json_read *r) {
    struct str s = STR_NONE;
    enum json_kind kind = json_peek(r);
    if (kind == JSON_STRING)
        json_text(r, &s);
    else if (kind == JSON_NUMBER && json_raw_number(r, &s))
        s = arena_str(r->a, s); /* a name such as 1984 */
    else if (kind != JSON_NUMBER)
        json_skip(r);
    return s.n ? s : STR_NONE;
}

/* Where a list stands for one value, its first element counts. */
static struct str read_text(struct json_read *r) {
    if (json_peek(r) != JSON_ARRAY)
        return read_plain(r);
    struct str s = STR_NONE;
    bool first = true;
    json_enter(r);
    for (size_t n = 0; json_next_element(r, &first); n++) {
        if (n == 0)
            s = read_plain(r);
        else
            json_skip(r);
    }
    return s;
}

static int64_t read_number(struct json_read *r) {
    struct str s = read_text(r);
    int64_t v;
    return s.p && json_integer_of(s, &v) ? v : I64_NONE;
}

static void read_field(struct json_read *r, struct str key, struct user *u) {
    if (str_eqc(key, "id")) {
        u->id = read_text(r);
    } else if (str_eqc(key, "about")) {
        u->about = read_text(r);
    } else if (str_eqc(key, "created")) {
        u->created = read_number(r);
    } else if (str_eqc(key, "karma")) {
        u->karma = read_number(r);
    } else if (str_eqc(key, "submitted")) {
        struct id_list l = read_ids(r);
        u->submitted = l.id;
        u->n_submitted = l.n;
    } else {
        json_skip(r);
    }
}

/* The hash is stored, so its form may never change: for each field its tag, whether it is there,
 * and how long it is, then its bytes. Numbers are 8 bytes, low byte first. */
enum { TAG_ID = 1, TAG_CREATED, TAG_KARMA, TAG_ABOUT, TAG_SUBMITTED, N_FIELDS = TAG_SUBMITTED };
#define HEAD_BYTES 10

static uint8_t *put_i64(uint8_t *to, int64_t v) {
    for (int i = 0; i < 8; i++)
        *to++ = (uint8_t)((uint64_t)v >> (8 * i));
    return to;
}

static uint8_t *put_head(uint8_t *to, int tag, bool present, size_t length) {
    *to++ = (uint8_t)tag;
    *to++ = present;
    return put_i64(to, (int64_t)length);
}

static uint8_t *put_text(uint8_t *to, int tag, struct str s) {
    to = put_head(to, tag, s.p != NULL, s.n);
    if (s.p && s.n)
        memcpy(to, s.p, s.n);
    return to + s.n;
}

static uint8_t *put_number(uint8_t *to, int tag, int64_t v) {
    bool present = v != I64_NONE;
    to = put_head(to, tag, present, present ? 8 : 0);
    return present ? put_i64(to, v) : to;
}

static int64_t content_hash(struct arena *a, const struct user *u) {
    size_t max = N_FIELDS * (HEAD_BYTES + 8) + u->id.n + u->about.n + 8 * u->n_submitted;
    uint8_t *form = arena_alloc(a, max), *to = form;
    to = put_text(to, TAG_ID, u->id);
    to = put_number(to, TAG_CREATED, u->created);
    to = put_number(to, TAG_KARMA, u->karma);
    to = put_text(to, TAG_ABOUT, u->about);
    to = put_head(to, TAG_SUBMITTED, u->n_submitted > 0, 8 * u->n_submitted);
    for (size_t i = 0; i < u->n_submitted; i++)
        to = put_i64(to, u->submitted[i]);
    int64_t hash = (int64_t)XXH3_64bits(form, (size_t)(to - form));
    arena_trim(a, form, 0);
    return hash;
}

enum item_shape user_parse(struct arena *a, struct str body, struct str name, struct user *ret) {
    struct json_read r;
    struct str key;
    bool first = true;
    *ret = (struct user){.created = I64_NONE, .karma = I64_NONE};
    json_read_init(&r, a, body);
    if (json_peek(&r) != JSON_OBJECT) {
        bool null = json_peek(&r) == JSON_NULL;
        json_skip(&r);
        return null && json_at_end(&r) ? ITEM_NULL : ITEM_GARBAGE;
    }
    json_enter(&r);
    while (json_next_member(&r, &first, &key))
        read_field(&r, key, ret);
    if (!json_at_end(&r) || !ret->id.p)
        return ITEM_GARBAGE;
    ret->content_hash = content_hash(a, ret);
    return name.p && !str_eq(ret->id, name) ? ITEM_WRONG_ID : ITEM_OK;
}

static void write_ids(const int64_t *ids, size_t n, struct strbuf *out) {
    strbuf_addc(out, '[');
    for (size_t i = 0; i < n; i++)
        strbuf_addf(out, "%s%lld", i ? "," : "", (long long)ids[i]);
    strbuf_addc(out, ']');
}

void user_write_json(const struct user *u, struct strbuf *out) {
    strbuf_addc(out, '{');
    if (u->about.p) {
        strbuf_adds(out, "\"about\":");
        strbuf_add_json(out, u->about);
        strbuf_addc(out, ',');
    }
    if (u->created != I64_NONE)
        strbuf_addf(out, "\"created\":%lld,", (long long)u->created);
    strbuf_adds(out, "\"id\":");
    strbuf_add_json(out, u->id);
    if (u->karma != I64_NONE)
        strbuf_addf(out, ",\"karma\":%lld", (long long)u->karma);
    if (u->n_submitted) {
        strbuf_adds(out, ",\"submitted\":");
        write_ids(u->submitted, u->n_submitted, out);
    }
    strbuf_addc(out, '}');
}

static bool is_safe(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

bool user_path(struct str name, char *out, size_t size) {
    static const char hex[] = "0123456789ABCDEF";
    size_t n = 0;
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        if (n + (is_safe(c) ? 1 : 3) >= size)
            return false;
        if (is_safe(c)) {
            out[n++] = (char)c;
            continue;
        }
        out[n++] = '%';
        out[n++] = hex[c >> 4];
        out[n++] = hex[c & 15];
    }
    if (n >= size)
        return false;
    out[n] = '\0';
    return true;
}

bool id_list_parse(struct arena *a, struct str body, const int64_t **ret, size_t *ret_n) {
    struct json_read r;
    json_read_init(&r, a, body);
    enum json_kind kind = json_peek(&r);
    if (kind != JSON_ARRAY && kind != JSON_OBJECT)
        return false;
    struct id_list l = read_ids(&r);
    /* an object is a list only by its keys: an error message is none */
    if (!json_at_end(&r) || (kind == JSON_OBJECT && !l.indexed))
        return false;
    *ret = l.id;
    *ret_n = l.n;
    return true;
}
