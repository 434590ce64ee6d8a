/* Whatever is submitted as a URL: no crash, the same answer by its key, and a URL in the answer
 * that names the same discussion. */
#include "base/arena.h"
#include "fuzz_target.h"
#include "hn/discussion_url.h"
#include "hn/url_key.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str url = {(const char *)data, size}, key, domain;
    struct discussion d, of_key, again;
    struct arena a;
    arena_init(&a);
    bool named = discussion_of_url(url, &d);
    bool keyed = url_key(&a, url, &key, &domain);
    FUZZ_REQUIRE(named == (keyed && discussion_of_key(key, &of_key)));
    if (named) {
        FUZZ_REQUIRE(str_eqc(domain, "reddit.com") || str_eqc(domain, "news.ycombinator.com"));
        FUZZ_REQUIRE(strcmp(d.url, of_key.url) == 0 && strcmp(d.comment, of_key.comment) == 0);
        FUZZ_REQUIRE(discussion_of_url(str_of(d.url), &again));
        FUZZ_REQUIRE(strcmp(again.url, d.url) == 0 && strcmp(again.id, d.id) == 0);
        FUZZ_REQUIRE(strcmp(again.share, d.share) == 0 && again.site == d.site);
    }
    discussion_of_key(url, &d); /* not a key at all: no crash */
    arena_release(&a);
    return 0;
}
