/* Whatever the upstream sends as a profile or a list: no crash; what is a profile comes back the
 * same from its own text, holds no NUL and only UTF-8, and its name fits into a path. */
#include "fuzz_target.h"
#include "hn/user.h"

#include <string.h>

static void require_text(struct str s) {
    FUZZ_REQUIRE(s.p ? s.n > 0 && s.p[s.n] == '\0' : s.n == 0);
    for (size_t i = 0, n; i < s.n; i += n) {
        n = utf8_len((const unsigned char *)s.p + i, s.n - i);
        FUZZ_REQUIRE(n > 0 && s.p[i] != '\0');
    }
}

static void require_ids(const int64_t *ids, size_t n) {
    for (size_t i = 0; i < n; i++)
        FUZZ_REQUIRE(ids[i] > 0);
}

static void require_user(struct arena *a, const struct user *u, size_t size) {
    struct strbuf out;
    struct user again;
    char *path = arena_alloc(a, 3 * u->id.n + 1);
    require_text(u->id);
    require_text(u->about);
    require_ids(u->submitted, u->n_submitted);
    FUZZ_REQUIRE(u->id.p && user_path(u->id, path, 3 * u->id.n + 1));
    FUZZ_REQUIRE(!strpbrk(path, "/?#. "));
    strbuf_init(&out, size * 8 + 4096);
    user_write_json(u, &out);
    FUZZ_REQUIRE(!out.overflow);
    FUZZ_REQUIRE(user_parse(a, strbuf_str(&out), u->id, &again) == ITEM_OK);
    FUZZ_REQUIRE(again.content_hash == u->content_hash);
    strbuf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str body = {(const char *)data, size};
    struct arena a;
    struct user u;
    const int64_t *ids = NULL;
    size_t n = 0;
    arena_init(&a);
    if (user_parse(&a, body, STR_NONE, &u) == ITEM_OK)
        require_user(&a, &u, size);
    if (id_list_parse(&a, body, &ids, &n))
        require_ids(ids, n);
    arena_release(&a);
    return 0;
}
