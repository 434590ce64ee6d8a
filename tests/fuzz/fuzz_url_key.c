/* Whatever is submitted as a URL: no crash, the key of a key is that key, and so is the key of
 * the URL that is looked for elsewhere. */
#include "fuzz_target.h"
#include "hn/url_key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a;
    struct str key, domain, again, again_domain;
    arena_init(&a);
    if (url_key(&a, (struct str){(const char *)data, size}, &key, &domain)) {
        FUZZ_REQUIRE(key.n > 0 && key.n <= 4096 && key.p[key.n] == '\0');
        FUZZ_REQUIRE(domain.n > 0 && domain.p[domain.n] == '\0' && str_starts(key, domain.p));
        for (size_t i = 0; i < key.n; i++)
            FUZZ_REQUIRE((unsigned char)key.p[i] > ' ' && key.p[i] != 0x7F);
        FUZZ_REQUIRE(url_key(&a, key, &again, &again_domain));
        FUZZ_REQUIRE(str_eq(key, again) && str_eq(domain, again_domain));
        /* With its blanks written out it may be too long for a key. */
        struct str whole = url_whole(&a, (struct str){(const char *)data, size});
        struct str shared = url_shared(&a, whole);
        FUZZ_REQUIRE(whole.n > 4096 || url_key(&a, shared, &again, &again_domain));
        FUZZ_REQUIRE(whole.n > 4096 || str_eq(key, again));
    }
    arena_release(&a);
    return 0;
}
