/* Whatever Reddit answers, by the readers of every question: the first byte picks status and
 * question, what stands before an empty line is headers. */
#include "enrich/reddit.h"
#include "fuzz_heard.h"
#include "hn/url_key.h"

#include <string.h>

static void url(const struct heard *h, struct arena *a) {
    struct found_list f;
    reddit_read_url(h, STR("example.com/a"), a, &f);
    fuzz_require_list(&f, h, "example.com/a", a);
    for (size_t i = 0; i < f.n; i++)
        FUZZ_REQUIRE(str_starts(f.at[i].permalink, "https://www.reddit.com/"));
}

static void post(const struct heard *h, struct arena *a) {
    struct discussion d;
    struct found_article r;
    FUZZ_REQUIRE(discussion_of_id(DISCUSSION_REDDIT, STR("abc"), &d));
    reddit_read_post(h, &d, a, &r);
    fuzz_require_article(&r, h, a);
    FUZZ_REQUIRE(r.why.told != TOLD_NEXT);
    FUZZ_REQUIRE(!r.has_origin || str_eqc(r.origin.id, "abc"));
}

static void share(const struct heard *h, struct arena *a) {
    struct reddit_share s;
    reddit_read_share(h, a, &s);
    fuzz_require_why(&s.why);
    FUZZ_REQUIRE(s.why.told != TOLD_FOUND);
    if (s.why.told == TOLD_NEXT)
        FUZZ_REQUIRE(s.leads_to.site == DISCUSSION_REDDIT && s.leads_to.id[0] &&
                     s.leads_to.kind != DISCUSSION_SHARE);
}

static void token(const struct heard *h, struct arena *a) {
    struct reddit_token t;
    struct reddit_conf c;
    struct ask q;
    reddit_read_token(h, a, &t);
    fuzz_require_why(&t.why);
    FUZZ_REQUIRE(t.why.told != TOLD_NONE && t.why.told != TOLD_ROW && t.why.told != TOLD_NEXT);
    FUZZ_REQUIRE((t.why.told == TOLD_FOUND) == (t.token.p != NULL));
    if (t.why.told != TOLD_FOUND)
        return;
    FUZZ_REQUIRE(t.expires_in_ms > 0);
    reddit_conf_init(&c, STR_NONE, STR("a"), STR("b"), STR("c"));
    FUZZ_REQUIRE(reddit_ask_url(&c, t.token, STR("https://a.com"), a, &q, NULL) == V_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static void (*const readers[])(const struct heard *, struct arena *) = {url, post, share,
                                                                            token};
    struct arena a;
    struct heard h;
    arena_init(&a);
    size_t pick = fuzz_heard(data, size, &h);
    readers[pick % 4](&h, &a);
    struct reddit_rate r = reddit_read_rate(&h);
    FUZZ_REQUIRE(r.used >= -1 && r.remaining >= -1 && r.reset_ms >= -1);
    FUZZ_REQUIRE(reddit_rate_wait_ms(&r) >= 0 && reddit_rate_wait_ms(&r) <= 3600000);
    arena_release(&a);
    return 0;
}
