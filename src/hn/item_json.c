#include "base/rng.h"
#include "hn/item.h"
#include "hn/json_read.h"

#include <string.h>

#define DEDUPE_BY_SCAN_MAX 32
#define FIRST_IDS 32

enum field_kind { F_BOOL, F_INT, F_ID, F_STR, F_IDS };

struct field {
    const char *name;
    size_t len;
    enum field_kind kind;
    size_t at, at_n;
};

#define NAMED(member) \
    .name = #member, .len = sizeof #member - 1, .at = offsetof(struct item, member)
#define N_OF(member) .at_n = offsetof(struct item, member)

/* In alphabetical order: so does the upstream write them, and so are they written here. */
static const struct field fields[] = {
    {NAMED(by), .kind = F_STR},       {NAMED(dead), .kind = F_BOOL},
    {NAMED(deleted), .kind = F_BOOL}, {NAMED(descendants), .kind = F_INT},
    {NAMED(id), .kind = F_ID},        {NAMED(kids), .kind = F_IDS, N_OF(n_kids)},
    {NAMED(parent), .kind = F_ID},    {NAMED(parts), .kind = F_IDS, N_OF(n_parts)},
    {NAMED(poll), .kind = F_ID},      {NAMED(score), .kind = F_INT},
    {NAMED(text), .kind = F_STR},     {NAMED(time), .kind = F_INT},
    {NAMED(title), .kind = F_STR},    {NAMED(type), .kind = F_STR},
    {NAMED(url), .kind = F_STR},
};
#define N_FIELDS (sizeof fields / sizeof fields[0])

/* Keys come in the order of the table, so the search starts behind the last hit. */
static const struct field *find_field(struct str key, size_t *at) {
    for (size_t i = 0; i < N_FIELDS; i++) {
        const struct field *f = &fields[*at];
        *at = *at + 1 < N_FIELDS ? *at + 1 : 0;
        if (f->len == key.n && memcmp(f->name, key.p, key.n) == 0)
            return f;
    }
    return NULL;
}

/* I64_NONE when what stands there is no integer. Takes nothing from the arena. */
static int64_t read_integer(struct json_read *r) {
    struct str token = STR_NONE;
    int64_t v;
    switch (json_peek(r)) {
    case JSON_NUMBER:
        json_raw_number(r, &token);
        break;
    case JSON_STRING:
        json_raw_string(r, &token);
        break;
    default:
        json_skip(r);
    }
    return token.p && json_integer_of(token, &v) ? v : I64_NONE;
}

static bool read_bool(struct json_read *r) {
    struct str token;
    switch (json_peek(r)) {
    case JSON_TRUE:
        json_skip(r);
        return true;
    case JSON_STRING:
        return json_raw_string(r, &token) && str_eqc(token, "true");
    case JSON_NUMBER: {
        int64_t v = read_integer(r);
        return v != 0 && v != I64_NONE;
    }
    default:
        json_skip(r);
        return false;
    }
}

static struct str read_string(struct json_read *r) {
    struct str s = STR_NONE;
    switch (json_peek(r)) {
    case JSON_STRING:
        json_text(r, &s);
        break;
    case JSON_NUMBER: /* a title such as 1984 */
        if (json_raw_number(r, &s))
            s = arena_str(r->a, s);
        break;
    default:
        json_skip(r);
    }
    return s.n ? s : STR_NONE;
}

struct id_list {
    int64_t *id;
    size_t n, cap;
};

static void add_id(struct arena *a, struct id_list *l, int64_t id) {
    if (id <= 0) /* null in a sparse array, or not an id */
        return;
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : FIRST_IDS;
        int64_t *grown = arena_alloc(a, cap * sizeof *grown);
        if (l->n)
            memcpy(grown, l->id, l->n * sizeof *grown);
        l->id = grown;
        l->cap = cap;
    }
    l->id[l->n++] = id;
}

static size_t dedupe_by_scan(int64_t *id, size_t n) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        size_t j = 0;
        while (j < kept && id[j] != id[i])
            j++;
        if (j == kept)
            id[kept++] = id[i];
    }
    return kept;
}

/* Open addressing; 0 is a free slot, since no id is 0. */
static size_t dedupe_by_hash(struct arena *a, int64_t *id, size_t n) {
    size_t slots = 128, kept = 0;
    while (slots < 2 * n)
        slots *= 2;
    int64_t *seen = arena_zalloc(a, slots * sizeof *seen);
    for (size_t i = 0; i < n; i++) {
        size_t at = rng_mix((uint64_t)id[i]) & (slots - 1);
        while (seen[at] && seen[at] != id[i])
            at = (at + 1) & (slots - 1);
        if (seen[at])
            continue;
        seen[at] = id[i];
        id[kept++] = id[i];
    }
    arena_trim(a, seen, 0);
    return kept;
}

/* A list of ids: an array, an object whose values are the entries, or a single one. */
static struct id_list read_ids(struct json_read *r) {
    struct id_list l = {0};
    struct str key;
    bool first = true;
    enum json_kind kind = json_peek(r);
    if (kind == JSON_ARRAY || kind == JSON_OBJECT) {
        json_enter(r);
        while (kind == JSON_ARRAY ? json_next_element(r, &first)
                                  : json_next_member(r, &first, &key))
            add_id(r->a, &l, read_integer(r));
    } else {
        add_id(r->a, &l, read_integer(r));
    }
    if (l.n && kind == JSON_ARRAY) /* else a key may lie behind the list in the arena */
        arena_trim(r->a, l.id, l.n * sizeof *l.id);
    if (l.n > DEDUPE_BY_SCAN_MAX)
        l.n = dedupe_by_hash(r->a, l.id, l.n);
    else
        l.n = dedupe_by_scan(l.id, l.n);
    return l;
}

static void *member(const struct item *it, size_t at) {
    return (char *)(uintptr_t)it + at;
}

static void read_scalar(struct json_read *r, const struct field *f, struct item *it) {
    if (f->kind == F_BOOL) {
        *(bool *)member(it, f->at) = read_bool(r);
    } else if (f->kind == F_STR) {
        *(struct str *)member(it, f->at) = read_string(r);
    } else {
        int64_t v = read_integer(r);
        *(int64_t *)member(it, f->at) = f->kind == F_ID && v <= 0 ? I64_NONE : v;
    }
}

static void forget_scalar(const struct field *f, struct item *it) {
    if (f->kind == F_BOOL)
        *(bool *)member(it, f->at) = false;
    else if (f->kind == F_STR)
        *(struct str *)member(it, f->at) = STR_NONE;
    else
        *(int64_t *)member(it, f->at) = I64_NONE;
}

static void read_field(struct json_read *r, const struct field *f, struct item *it) {
    if (f->kind == F_IDS) {
        struct id_list l = read_ids(r);
        *(const int64_t **)member(it, f->at) = l.n ? l.id : NULL;
        *(size_t *)member(it, f->at_n) = l.n;
        return;
    }
    if (json_peek(r) != JSON_ARRAY) {
        read_scalar(r, f, it);
        return;
    }
    /* `[true]` has been seen where one value belongs: the first element counts. */
    bool first = true;
    size_t n = 0;
    json_enter(r);
    forget_scalar(f, it);
    while (json_next_element(r, &first)) {
        if (n++ == 0)
            read_scalar(r, f, it);
        else
            json_skip(r);
    }
}

enum item_shape item_parse(struct arena *a, struct str body, int64_t want_id, struct item *ret) {
    struct json_read r;
    struct str key;
    bool first = true;
    size_t at = 0;
    *ret = (struct item){.id = I64_NONE,
                         .time = I64_NONE,
                         .parent = I64_NONE,
                         .poll = I64_NONE,
                         .score = I64_NONE,
                         .descendants = I64_NONE};
    json_read_init(&r, a, body);
    if (json_peek(&r) != JSON_OBJECT) {
        bool null = json_peek(&r) == JSON_NULL;
        json_skip(&r);
        return null && json_at_end(&r) ? ITEM_NULL : ITEM_GARBAGE;
    }
    json_enter(&r);
    while (json_next_member(&r, &first, &key)) {
        const struct field *f = find_field(key, &at);
        if (f)
            read_field(&r, f, ret);
        else
            json_skip(&r);
    }
    if (!json_at_end(&r) || ret->id <= 0)
        return ITEM_GARBAGE;
    return want_id && ret->id != want_id ? ITEM_WRONG_ID : ITEM_OK;
}

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

static void add_ids(struct strbuf *out, const int64_t *id, size_t n) {
    strbuf_addc(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            strbuf_addc(out, ',');
        add_i64(out, id[i]);
    }
    strbuf_addc(out, ']');
}

static bool field_is_there(const struct item *it, const struct field *f) {
    switch (f->kind) {
    case F_BOOL:
        return *(const bool *)member(it, f->at);
    case F_STR:
        return ((const struct str *)member(it, f->at))->p != NULL;
    case F_IDS:
        return *(const size_t *)member(it, f->at_n) > 0;
    case F_INT:
    case F_ID:
        break;
    }
    return *(const int64_t *)member(it, f->at) != I64_NONE;
}

void item_render(const struct item *it, struct strbuf *out) {
    char before = '{';
    for (size_t i = 0; i < N_FIELDS; i++) {
        const struct field *f = &fields[i];
        if (!field_is_there(it, f))
            continue;
        strbuf_addc(out, before);
        strbuf_addc(out, '"');
        strbuf_add(out, f->name, f->len);
        strbuf_add(out, "\":", 2);
        before = ',';
        if (f->kind == F_BOOL)
            strbuf_add(out, "true", 4);
        else if (f->kind == F_STR)
            strbuf_add_json(out, *(const struct str *)member(it, f->at));
        else if (f->kind == F_IDS)
            add_ids(out, *(const int64_t *const *)member(it, f->at),
                    *(const size_t *)member(it, f->at_n));
        else
            add_i64(out, *(const int64_t *)member(it, f->at));
    }
    if (before == '{')
        strbuf_addc(out, '{');
    strbuf_addc(out, '}');
}
