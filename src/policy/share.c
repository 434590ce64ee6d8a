#include "policy/share.h"

static int64_t block_of(int64_t n) {
    return n >> SHARE_BLOCK_BITS;
}

/* How many blocks after this one ours is; 0: it is this one. */
static int64_t blocks_ahead(const struct share *s, int64_t block) {
    return ((s->mine - block) % s->of + s->of) % s->of;
}

/* FNV-1a: the same in every process. */
static uint64_t hash(struct str key) {
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < key.n; i++)
        h = (h ^ (unsigned char)key.p[i]) * 1099511628211u;
    return h >> 16;
}

bool share_has(const struct share *s, struct str key) {
    int64_t n;
    if (s->of < 2)
        return true;
    if (s->by_number && str_to_i64(key, &n))
        return blocks_ahead(s, block_of(n)) == 0;
    return (int64_t)(hash(key) % (uint64_t)s->of) == s->mine;
}

bool share_skip(const struct share *s, struct str key, int64_t *ret) {
    int64_t n, last = block_of(INT64_MAX);
    if (s->of < 2 || !s->by_number || !str_to_i64(key, &n) || n == INT64_MAX)
        return false;
    int64_t block = block_of(n + 1), ahead = blocks_ahead(s, block);
    if (ahead == 0 || ahead > last - block)
        return false;
    *ret = (block + ahead) * (INT64_C(1) << SHARE_BLOCK_BITS) - 1;
    return true;
}
