/* Keys as texts: whether a column can hold them, how it writes them, and where they are in a batch.
 */
#include "store/claims_int.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_uuid(struct str key) {
    if (key.n != 36)
        return false;
    for (size_t i = 0; i < key.n; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? key.p[i] != '-' : !isxdigit((unsigned char)key.p[i]))
            return false;
    }
    return true;
}

bool source_key_fits(const struct source *src, struct str key) {
    int64_t i;
    if (!key.p || memchr(key.p, '\0', key.n))
        return false;
    switch (src->key_kind) {
    case KEY_INT:
        return str_to_i64(key, &i) && i >= src->key_min && i <= src->key_max;
    case KEY_UUID:
        return is_uuid(key);
    case KEY_TEXT:
        break;
    }
    for (size_t at = 0, len; at < key.n; at += len)
        if ((len = utf8_len((const unsigned char *)key.p + at, key.n - at)) == 0)
            return false;
    return true;
}

struct str source_key_text(const struct source *src, struct str key, struct arena *a) {
    char *text = arena_alloc(a, key.n + 1 < 24 ? 24 : key.n + 1);
    int64_t i;
    switch (src->key_kind) {
    case KEY_INT:
        if (str_to_i64(key, &i))
            return (struct str){text, (size_t)snprintf(text, 24, "%lld", (long long)i)};
        break;
    case KEY_UUID:
        for (size_t at = 0; at < key.n; at++)
            text[at] = (char)tolower((unsigned char)key.p[at]);
        return (struct str){text, key.n};
    case KEY_TEXT:
        break;
    }
    return key;
}

static int compare(struct str a, struct str b) {
    int d = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
    return d ? d : a.n < b.n ? -1 : a.n > b.n;
}

static int by_key(const void *a, const void *b, void *ctx) {
    const struct str *keys = ctx;
    size_t i = *(const size_t *)a, k = *(const size_t *)b;
    int d = compare(keys[i], keys[k]);
    return d ? d : i < k ? -1 : i > k;
}

void source_keys_sort(struct source_keys *ret, const struct str *keys, size_t n, struct arena *a) {
    size_t *order = arena_alloc(a, (n + 1) * sizeof *order);
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    qsort_r(order, n, sizeof *order, by_key, (void *)keys);
    *ret = (struct source_keys){.keys = keys, .n = n, .order = order};
}

bool source_keys_find(const struct source_keys *k, struct str key, size_t *ret) {
    size_t lo = 0, hi = k->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (compare(k->keys[k->order[mid]], key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == k->n || !str_eq(k->keys[k->order[lo]], key))
        return false;
    *ret = k->order[lo];
    return true;
}
