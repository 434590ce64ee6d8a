/* What holds for every URL: the key of a key is that key and has no scheme, the domain stands at
 * its front, and http, https or www. make no difference. Over made-up URLs, and over recorded ones
 * where they are at hand. */
#include "base/rng.h"
#include "hn/url_key.h"
#include "shared_data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MADE_UP 20000

/* A host of two labels or more that is a name, and not `www` itself. */
static bool takes_www(struct str domain) {
    char last = domain.p[domain.n - 1];
    return memchr(domain.p, '.', domain.n) && !str_starts(domain, "www") && last != ']' &&
           (last < '0' || last > '9');
}

static void check_url(struct arena *a, struct str url) {
    struct str key, domain, again, again_domain;
    arena_reset(a);
    if (!url_key(a, url, &key, &domain)) {
        assert_true(!key.p && !domain.p);
        return;
    }
    if (!url_key(a, key, &again, &again_domain) || !str_eq(key, again) ||
        !str_eq(domain, again_domain))
        fail_msg("%.*s: the key of %s is %s", STR_FMT(url), key.p, again.p ? again.p : "none");
    if (str_starts(key, "http:") || str_starts(key, "https:") || !str_starts(key, domain.p))
        fail_msg("%.*s: %s of %s", STR_FMT(url), key.p, domain.p);
    struct str shared = url_shared(a, url);
    if (!url_key(a, shared, &again, &again_domain) || !str_eq(key, again))
        fail_msg("%.*s is shared as %.*s", STR_FMT(url), STR_FMT(shared));
    static const char *const before[] = {"http://",     "https://", "HTTPS://www.",
                                         "http://www.", "www.",     "http://www2."};
    for (size_t i = 0; i < (takes_www(domain) ? ARRAY_LEN(before) : 2); i++) {
        size_t size = key.n + 16;
        char *other = arena_alloc(a, size);
        snprintf(other, size, "%s%s", before[i], key.p);
        if (!url_key(a, str_of(other), &again, &again_domain) || !str_eq(key, again))
            fail_msg("%s and %s", other, again.p ? again.p : "none");
    }
}

/* Pieces that rules look for, and pieces that get in their way. */
static const char *const schemes[] = {"http://", "https://", "", "//", "HTTP://u:p@", "http:/"};
static const char *const hosts[] = {
    "example.com",        "www.example.com", "amp.www.example.com",
    "EXAMPLE.com.",       "www.com",         "youtube.com",
    "m.youtube.com",      "youtu.be",        "arxiv.org",
    "reddit.com",         "old.reddit.com",  "redd.it",
    "google.com",         "nytimes.com",     "github.com",
    "cdn.ampproject.org", "cnbc.com",        "theregister.com",
    "b\u00fccher.de",     "[::1]",           "en.m.wikipedia.org",
    "127.0.0.1",          "localhost",       "google.com.www2.x.y",
};
static const char *const ports[] = {"", "", "", ":80", ":443", ":8080", ":", ":0080"};
static const char *const segments[] = {
    "/",
    "/a",
    "/amp",
    "/amp/s",
    "/index.html",
    "/..",
    "/.",
    "/%2e%2E",
    "/%7e",
    "/%41%zz",
    "/%",
    "/%%34",
    "/c",
    "/s",
    "/v",
    "/embed",
    "/shorts",
    "/watch",
    "/comments",
    "/r",
    "/abs",
    "/pdf",
    "/html",
    "/2401.01234v2",
    "/1234567",
    "/x.pdf",
    "/b c",
    "/\u00e9",
    "/www.example.com",
    "/a.amp.html",
    "/AMP/",
    "/dQw4w9WgXcQ",
    "/youtu.be",
    "//",
    "/comment",
    "/news/amp",
    "/@x:y",
    "/videoseries",
    "/.amp.html",
};
static const char *const params[] = {
    "?",     "&",       "a=1",   "b",           "a=0", "utm_source=x", "ref=hn", "v=dQw4w9WgXcQ",
    "amp=1", "%zz=%41", "c=d e", "amp;gclid=1", "=",   "x=?",          "z= ",    "\u00e9=1",
    "A=1",   "v=",      "amp",
};
static const char *const fragments[] = {"",   "",   "",        "#",       "#a",
                                        "#!", "#/", "#!/a b ", "#/x?y#z", "##/"};

#define PICK(r, list) list[rng_below(r, sizeof list / sizeof list[0])]

static void make_url(struct rng *r, struct strbuf *b) {
    strbuf_clear(b);
    strbuf_adds(b, PICK(r, schemes));
    strbuf_adds(b, PICK(r, hosts));
    strbuf_adds(b, PICK(r, ports));
    for (uint64_t n = rng_below(r, 7); n; n--)
        strbuf_adds(b, PICK(r, segments));
    if (rng_below(r, 2))
        strbuf_adds(b, "?");
    for (uint64_t n = b->p[b->n - 1] == '?' ? rng_below(r, 6) : 0; n; n--) {
        strbuf_adds(b, PICK(r, params));
        strbuf_adds(b, "&");
    }
    strbuf_adds(b, PICK(r, fragments));
}

static void holds_for_made_up_urls(void **state) {
    (void)state;
    struct arena a;
    struct strbuf b;
    struct rng r = {.state = 20260822};
    size_t keys = 0;
    arena_init(&a);
    strbuf_init(&b, 4096);
    for (int i = 0; i < MADE_UP; i++) {
        struct str key, domain;
        make_url(&r, &b);
        check_url(&a, strbuf_str(&b));
        keys += url_key(&a, strbuf_str(&b), &key, &domain);
    }
    assert_true(keys > MADE_UP / 2); /* or the test tests nothing */
    strbuf_release(&b);
    arena_release(&a);
}

/* One byte of a sound URL changed, dropped or doubled. */
static void holds_for_broken_urls(void **state) {
    (void)state;
    struct arena a;
    struct strbuf b;
    struct rng r = {.state = 5};
    arena_init(&a);
    strbuf_init(&b, 4096);
    for (int i = 0; i < MADE_UP; i++) {
        make_url(&r, &b);
        for (uint64_t n = 1 + rng_below(&r, 3); n; n--)
            b.p[rng_below(&r, b.n)] =
                (char)(rng_below(&r, 3) ? 0x20 + rng_below(&r, 0x60) : rng_next(&r));
        check_url(&a, strbuf_str(&b));
    }
    strbuf_release(&b);
    arena_release(&a);
}

static void holds_for_recorded_urls(void **state) {
    (void)state;
    FILE *f = shared_data_open("gzip -dc", "urls.txt.gz");
    struct arena a;
    char *line = NULL;
    size_t cap = 0, count = 0, keys = 0;
    if (!f)
        return;
    arena_init(&a);
    for (ssize_t n; (n = getline(&line, &cap, f)) > 0; count++) {
        struct str url = {line, (size_t)n - (line[n - 1] == '\n')}, key, domain;
        check_url(&a, url);
        keys += url_key(&a, url, &key, &domain);
    }
    print_message("%zu recorded URLs, %zu keys\n", count, keys);
    assert_true(count - keys <= count / 1000);
    free(line);
    pclose(f);
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_for_made_up_urls),
        cmocka_unit_test(holds_for_broken_urls),
        cmocka_unit_test(holds_for_recorded_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
