/* Whatever HN Search answers, by the readers of every question; the first byte as in
 * fuzz_heard.h. */
#include "enrich/hn_search.h"
#include "fuzz_heard.h"

static void require_lower(const char *id, const char *than) {
    size_t n = strlen(id), m = strlen(than);
    FUZZ_REQUIRE(n < m || (n == m && strcmp(id, than) < 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a;
    struct heard h;
    struct found_list f;
    struct found_article r;
    arena_init(&a);
    switch (fuzz_heard(data, size, &h) % 3) {
    case 0:
        hn_read_url(&h, STR("example.com/a"), &a, &f);
        fuzz_require_list(&f, &h, "example.com/a", &a);
        break;
    case 1:
        hn_read_item(&h, STR("8863"), &a, &r);
        fuzz_require_article(&r, &h, &a);
        if (r.why.told == TOLD_NEXT && !r.next_as_story)
            require_lower(r.next_id, "8863");
        break;
    default:
        hn_read_story(&h, STR("8863"), &a, &r);
        fuzz_require_article(&r, &h, &a);
        FUZZ_REQUIRE(r.why.told != TOLD_NEXT && (r.why.told != TOLD_NONE || r.has_origin));
    }
    arena_release(&a);
    return 0;
}
