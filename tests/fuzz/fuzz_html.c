/* Whatever stands in a text: what comes out is whole, of known tags only, no longer than promised,
 * and its own safe form; the plain text is the same before and after, and has no markup left that
 * the safe form does not show as text. */
#include "fuzz_target.h"
#include "hn/html.h"
#include "html_check.h"

static void require_plain(struct str s) {
    for (size_t i = 0, n; i < s.n; i += n) {
        unsigned char c = (unsigned char)s.p[i];
        n = utf8_len((const unsigned char *)s.p + i, s.n - i);
        FUZZ_REQUIRE(n > 0 && c != 0x7F && (c >= ' ' || c == '\n' || c == '\t'));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct str html = {(const char *)data, size};
    struct strbuf safe, again, text, text_again, page, scratch;
    strbuf_init(&safe, HTML_GROWTH * size);
    strbuf_init(&text, HTML_TEXT_GROWTH * size);
    FUZZ_REQUIRE(html_safe(html, &safe));
    FUZZ_REQUIRE(html_text(html, &text));
    FUZZ_REQUIRE(!html_check(strbuf_str(&safe)));
    require_plain(strbuf_str(&text));
    strbuf_init(&page, HTML_GROWTH * size);
    strbuf_init(&scratch, 64 * size + 64);
    FUZZ_REQUIRE(html_page(html, &page));
    FUZZ_REQUIRE(!html_check_page(strbuf_str(&page), &scratch));
    strbuf_init(&again, safe.n);
    strbuf_init(&text_again, text.n);
    FUZZ_REQUIRE(html_safe(strbuf_str(&safe), &again));
    FUZZ_REQUIRE(str_eq(strbuf_str(&again), strbuf_str(&safe)));
    FUZZ_REQUIRE(html_text(strbuf_str(&safe), &text_again));
    FUZZ_REQUIRE(str_eq(strbuf_str(&text_again), strbuf_str(&text)));
    strbuf_release(&page);
    strbuf_release(&scratch);
    strbuf_release(&safe);
    strbuf_release(&again);
    strbuf_release(&text);
    strbuf_release(&text_again);
    return 0;
}
