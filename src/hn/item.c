#include "hn/item.h"
#include "hn/url_key.h"

#include <string.h>
#include <xxhash.h>

#define HEAD_BYTES 10
#define N_TAGS 11

/* The content hash is stored, so its form may never change: for each field its tag, whether it is
 * there, and how long it is, then its bytes. Numbers are 8 bytes, low byte first. Tags are never
 * used again for something else. */
enum content_tag {
    TAG_DELETED = 1,
    TAG_DEAD,
    TAG_TYPE,
    TAG_BY,
    TAG_TIME,
    TAG_TEXT,
    TAG_PARENT,
    TAG_POLL,
    TAG_URL,
    TAG_TITLE,
    TAG_PARTS,
};

static uint8_t *put_i64(uint8_t *to, int64_t v) {
    for (int i = 0; i < 8; i++)
        *to++ = (uint8_t)((uint64_t)v >> (8 * i));
    return to;
}

static uint8_t *put_ids(uint8_t *to, const int64_t *id, size_t n) {
    for (size_t i = 0; i < n; i++)
        to = put_i64(to, id[i]);
    return to;
}

static uint8_t *put_head(uint8_t *to, enum content_tag tag, bool present, size_t length) {
    *to++ = (uint8_t)tag;
    *to++ = present;
    return put_i64(to, (int64_t)length);
}

static uint8_t *put_str(uint8_t *to, enum content_tag tag, struct str s) {
    to = put_head(to, tag, s.p != NULL, s.n);
    if (s.p && s.n)
        memcpy(to, s.p, s.n);
    return to + s.n;
}

static uint8_t *put_number(uint8_t *to, enum content_tag tag, int64_t v) {
    bool present = v != I64_NONE;
    to = put_head(to, tag, present, present ? 8 : 0);
    return present ? put_i64(to, v) : to;
}

/* Hashing in one go is several times faster than piece by piece, so the form is laid out in the
 * arena for the moment. */
static int64_t content_hash(struct arena *a, const struct item *it) {
    size_t max = N_TAGS * (HEAD_BYTES + 8) + it->type.n + it->by.n + it->text.n + it->url.n +
                 it->title.n + it->n_parts * 8;
    uint8_t *form = arena_alloc(a, max), *to = form;
    to = put_head(to, TAG_DELETED, it->deleted, 0);
    to = put_head(to, TAG_DEAD, it->dead, 0);
    to = put_str(to, TAG_TYPE, it->type);
    to = put_str(to, TAG_BY, it->by);
    to = put_number(to, TAG_TIME, it->time);
    to = put_str(to, TAG_TEXT, it->text);
    to = put_number(to, TAG_PARENT, it->parent);
    to = put_number(to, TAG_POLL, it->poll);
    to = put_str(to, TAG_URL, it->url);
    to = put_str(to, TAG_TITLE, it->title);
    to = put_head(to, TAG_PARTS, it->n_parts > 0, it->n_parts * 8);
    to = put_ids(to, it->parts, it->n_parts);
    int64_t hash = (int64_t)XXH3_64bits(form, (size_t)(to - form));
    arena_trim(a, form, 0);
    return hash != ITEM_UNCONFIRMED ? hash : 1;
}

int64_t item_kids_hash(struct arena *a, const int64_t *ids, size_t n) {
    if (n == 0)
        return 0;
    uint8_t *form = arena_alloc(a, n * 8);
    put_ids(form, ids, n);
    int64_t hash = (int64_t)XXH3_64bits(form, n * 8);
    arena_trim(a, form, 0);
    return hash ? hash : 1;
}

void item_derive(struct arena *a, struct item *it) {
    it->url_key = STR_NONE;
    it->domain = STR_NONE;
    if (it->url.p && !url_key(a, it->url, &it->url_key, &it->domain))
        it->url_key = it->domain = STR_NONE;
    it->content_hash = content_hash(a, it);
    it->kids_hash = item_kids_hash(a, it->kids, it->n_kids);
}

bool item_is_delayed(const struct item *it) {
    return str_eqc(it->text, "[delayed]");
}

bool item_is_root(const struct item *it) {
    return str_eqc(it->type, "story") || str_eqc(it->type, "job") || str_eqc(it->type, "poll");
}
