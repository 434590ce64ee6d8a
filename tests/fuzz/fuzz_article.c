/* Whatever a page is: what is read of it is UTF-8 without controls, no longer than promised, and a
 * URL only where it is one. The first byte chooses the content type. */
#include "fuzz_target.h"
#include "hn/article.h"

#include <string.h>
#include <strings.h>

static void require_text(struct str s, size_t max, bool lines) {
    if (!s.p)
        return;
    FUZZ_REQUIRE(s.n <= max && s.p[s.n] == '\0' && !memchr(s.p, '\0', s.n));
    for (size_t i = 0, n; i < s.n; i += n) {
        unsigned char c = (unsigned char)s.p[i];
        n = utf8_len((const unsigned char *)s.p + i, s.n - i);
        FUZZ_REQUIRE(n > 0);
        FUZZ_REQUIRE(c >= ' ' || (lines && (c == '\n' || c == '\t')));
        FUZZ_REQUIRE(c != 0x7F && !(c == 0xC2 && (unsigned char)s.p[i + 1] < 0xA0));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const types[] = {
        "text/html; charset=utf-8",
        "text/html",
        NULL,
        "text/plain",
        "text/html; charset=shift_jis",
        "text/html; charset=utf-16le",
        "text/html; charset=iso-2022-jp",
        "application/xhtml+xml",
    };
    struct arena a;
    struct article got;
    struct err e;
    if (size == 0)
        return 0;
    arena_init(&a);
    struct str page = {(const char *)data + 1, size - 1};
    enum verdict v = article_read(page, str_of(types[data[0] % ARRAY_LEN(types)]), &a, &got, &e);
    FUZZ_REQUIRE(v == V_OK || v == V_INVALID);
    if (v == V_OK) {
        FUZZ_REQUIRE(got.text.p && got.charset);
        require_text(got.text, ARTICLE_TEXT_MAX, true);
        require_text(got.title, ARTICLE_TITLE_MAX, false);
        require_text(got.description, ARTICLE_DESCRIPTION_MAX, false);
        require_text(got.site, ARTICLE_TITLE_MAX, false);
        require_text(got.canonical, ARTICLE_URL_MAX, false);
        require_text(got.language, 35, false);
        FUZZ_REQUIRE(!got.canonical.p || strncasecmp(got.canonical.p, "http", 4) == 0);
    }
    arena_release(&a);
    return 0;
}
