/* Whatever the upstream sends: no crash; what is an item comes back the same from its own text,
 * holds no NUL and only UTF-8, and keeps its hashes. */
#include "fuzz_target.h"
#include "hn/item.h"
#include "item_same.h"

static void require_text(struct str s) {
    FUZZ_REQUIRE(s.p ? s.n > 0 && s.p[s.n] == '\0' : s.n == 0);
    for (size_t i = 0, n; i < s.n; i += n) {
        n = utf8_len((const unsigned char *)s.p + i, s.n - i);
        FUZZ_REQUIRE(n > 0 && s.p[i] != '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a;
    struct strbuf out;
    struct item it, again;
    arena_init(&a);
    strbuf_init(&out, size * 8 + 4096);
    if (item_parse(&a, (struct str){(const char *)data, size}, 0, &it) == ITEM_OK) {
        FUZZ_REQUIRE(it.id > 0);
        const struct str texts[] = {it.type, it.by, it.text, it.url, it.title};
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
            require_text(texts[i]);
        item_derive(&a, &it);
        item_render(&it, &out);
        FUZZ_REQUIRE(!out.overflow);
        FUZZ_REQUIRE(item_parse(&a, strbuf_str(&out), it.id, &again) == ITEM_OK);
        item_derive(&a, &again);
        FUZZ_REQUIRE(!item_difference(&it, &again));
        FUZZ_REQUIRE(it.content_hash == again.content_hash && it.kids_hash == again.kids_hash);
        FUZZ_REQUIRE((it.kids_hash == 0) == (it.n_kids == 0));
        FUZZ_REQUIRE(str_eq(it.url_key, again.url_key));
    }
    strbuf_release(&out);
    arena_release(&a);
    return 0;
}
