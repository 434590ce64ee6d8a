#include "hn/updates.h"

#include "hn/json_read.h"

#include <string.h>

#define FIRST_ENTRIES 32

struct lists {
    int64_t *items;
    struct str *profiles;
    size_t n_items, cap_items, n_profiles, cap_profiles;
};

/* Doubles in the arena: what is left behind is at most as much again. */
static void *grown(struct arena *a, void *old, size_t n, size_t *cap, size_t size) {
    if (n < *cap)
        return old;
    *cap = *cap ? *cap * 2 : FIRST_ENTRIES;
    void *to = arena_alloc(a, *cap * size);
    if (n)
        memcpy(to, old, n * size);
    return to;
}

static void read_item(struct json_read *r, struct lists *l) {
    struct str written = STR_NONE;
    int64_t id;
    enum json_kind kind = json_peek(r);
    if (kind == JSON_NUMBER)
        json_raw_number(r, &written);
    else if (kind == JSON_STRING)
        json_raw_string(r, &written);
    else
        json_skip(r);
    if (!written.p || !json_integer_of(written, &id) || id <= 0)
        return;
    l->items = grown(r->a, l->items, l->n_items, &l->cap_items, sizeof *l->items);
    l->items[l->n_items++] = id;
}

static void read_profile(struct json_read *r, struct lists *l) {
    struct str name;
    if (json_peek(r) != JSON_STRING) {
        json_skip(r);
        return;
    }
    if (!json_text(r, &name) || name.n == 0 || name.n > PROFILE_NAME_MAX)
        return;
    l->profiles = grown(r->a, l->profiles, l->n_profiles, &l->cap_profiles, sizeof *l->profiles);
    l->profiles[l->n_profiles++] = name;
}

typedef void read_entry_fn(struct json_read *r, struct lists *l);

static void read_list(struct json_read *r, struct lists *l, read_entry_fn *read_entry) {
    struct str key;
    bool first = true;
    enum json_kind kind = json_peek(r);
    if (kind != JSON_ARRAY && kind != JSON_OBJECT) {
        read_entry(r, l);
        return;
    }
    json_enter(r);
    while (kind == JSON_ARRAY ? json_next_element(r, &first) : json_next_member(r, &first, &key))
        read_entry(r, l);
}

/* What a path below the root leads to: "items" and "items/7" to the items. NULL: nothing of ours.
 */
static read_entry_fn *entry_at(struct str path) {
    while (path.n && path.p[0] == '/')
        path = (struct str){path.p + 1, path.n - 1};
    const char *slash = path.n ? memchr(path.p, '/', path.n) : NULL;
    struct str name = {path.p, slash ? (size_t)(slash - path.p) : path.n};
    struct str rest = {path.p + name.n, path.n - name.n};
    if (rest.n > 1 && memchr(rest.p + 1, '/', rest.n - 1))
        return NULL;
    return str_eqc(name, "items") ? read_item : str_eqc(name, "profiles") ? read_profile : NULL;
}

static void read_root(struct json_read *r, struct lists *l) {
    struct str key;
    bool first = true;
    if (json_peek(r) != JSON_OBJECT) {
        json_skip(r);
        return;
    }
    json_enter(r);
    while (json_next_member(r, &first, &key)) {
        read_entry_fn *entry = entry_at(key);
        if (entry)
            read_list(r, l, entry);
        else
            json_skip(r);
    }
}

static void read_at(struct json_read *r, struct str path, struct lists *l) {
    read_entry_fn *entry = entry_at(path);
    if (entry)
        read_list(r, l, entry);
    else if (str_eqc(path, "/") || path.n == 0)
        read_root(r, l);
}

/* {"path": ..., "data": ...} in either order: the data is stepped over first and read when the
 * path is known. */
static bool read_change(struct arena *a, struct str text, struct lists *l) {
    struct json_read r, data;
    struct str key, path = STR_NONE;
    bool first = true, has_data = false;
    json_read_init(&r, a, text);
    if (json_peek(&r) != JSON_OBJECT)
        return false;
    json_enter(&r);
    while (json_next_member(&r, &first, &key)) {
        if (str_eqc(key, "path") && json_peek(&r) == JSON_STRING) {
            json_text(&r, &path);
            continue;
        }
        if (str_eqc(key, "data")) {
            data = r;
            has_data = true;
        }
        json_skip(&r);
    }
    if (!json_at_end(&r) || !path.p || !has_data)
        return false;
    read_at(&data, path, l);
    return !data.bad;
}

static void give(const struct lists *l, struct updates *ret) {
    *ret = (struct updates){l->items, l->profiles, l->n_items, l->n_profiles};
}

static const char *const names[] = {
    [UPDATES_CHANGES] = "changes", [UPDATES_KEEP_ALIVE] = "keep-alive",
    [UPDATES_CANCEL] = "cancel",   [UPDATES_AUTH_REVOKED] = "auth_revoked",
    [UPDATES_UNKNOWN] = "unknown", [UPDATES_GARBAGE] = "garbage",
};

const char *updates_kind_name(enum updates_kind kind) {
    return names[kind];
}

enum updates_kind updates_read_event(struct arena *a, struct str type, struct str data,
                                     struct updates *ret) {
    struct lists l = {0};
    *ret = (struct updates){0};
    if (str_eqc(type, "put") || str_eqc(type, "patch")) {
        if (!read_change(a, data, &l))
            return UPDATES_GARBAGE;
        give(&l, ret);
        return UPDATES_CHANGES;
    }
    for (enum updates_kind k = UPDATES_KEEP_ALIVE; k <= UPDATES_AUTH_REVOKED; k++)
        if (str_eqc(type, names[k]))
            return k;
    return UPDATES_UNKNOWN;
}

bool updates_read_body(struct arena *a, struct str body, struct updates *ret) {
    struct json_read r;
    struct lists l = {0};
    *ret = (struct updates){0};
    json_read_init(&r, a, body);
    if (json_peek(&r) != JSON_OBJECT)
        return false;
    read_root(&r, &l);
    if (!json_at_end(&r))
        return false;
    give(&l, ret);
    return true;
}
