/* Whatever Anthropic answers; the first byte as in fuzz_heard.h. What comes of it can be asked
 * about again. */
#include "enrich/anthropic.h"
#include "fuzz_heard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const struct anthropic_conf c = {.key = STR("k"), .model = STR("m"), .max_tokens = 1};
    struct anthropic_answer m;
    struct arena a;
    struct heard h;
    struct ask q;
    arena_init(&a);
    fuzz_heard(data, size, &h);
    anthropic_read(&h, &a, &m);
    fuzz_require_why(&m.why);
    FUZZ_REQUIRE(m.why.told != TOLD_NONE && m.why.told != TOLD_NEXT);
    FUZZ_REQUIRE((m.why.told == TOLD_FOUND) == (m.text.n > 0));
    FUZZ_REQUIRE(m.why.told != TOLD_FOUND || h.status == 200);
    FUZZ_REQUIRE(m.input_tokens >= -1 && m.output_tokens >= -1);
    fuzz_require_text(m.text);
    if (m.text.n > 0)
        FUZZ_REQUIRE(anthropic_ask(&c, m.stop_reason, m.text, &a, &q, NULL) == V_OK);
    arena_release(&a);
    return 0;
}
