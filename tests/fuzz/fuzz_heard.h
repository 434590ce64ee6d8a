/* What the fuzz targets of providers share: an answer out of an input, and what holds for what was
 * read of it. */
#ifndef TAIN_TESTS_FUZZ_HEARD_H
#define TAIN_TESTS_FUZZ_HEARD_H

#include "enrich/ask.h"
#include "fuzz_target.h"
#include "hn/url_key.h"

#include <string.h>

/* The first byte is the status (by a table) and, in what is left of it, the answer of this
 * function; then headers up to an empty line, when the byte says so; then the body. */
static inline size_t fuzz_heard(const uint8_t *data, size_t size, struct heard *ret) {
    static const short statuses[] = {200, 200, 301, 400, 403, 404, 429, 503};
    const char *text = (const char *)data;
    size_t pick = size ? data[0] : 0, at = size ? 1 : 0;
    long status = statuses[pick % 8];
    *ret = (struct heard){.cls = status == 200   ? NET_OK
                                 : status == 301 ? NET_HTTP_OTHER
                                 : status == 403 ? NET_HTTP_403
                                 : status == 404 ? NET_HTTP_404
                                 : status == 429 ? NET_HTTP_429
                                 : status == 503 ? NET_HTTP_5XX
                                                 : NET_HTTP_4XX,
                          .status = status,
                          .retry_after_ms = -1};
    if (pick & 0x80) {
        const char *end = memmem(text + at, size - at, "\n\n", 2);
        size_t n = end ? (size_t)(end - text) - at : 0;
        ret->headers = (struct str){text + at, n};
        at += n;
    }
    ret->body = (struct str){text + at, size - at};
    return pick >> 3 & 15;
}

static inline void fuzz_require_text(struct str s) {
    FUZZ_REQUIRE(s.p || s.n == 0);
    if (!s.p)
        return;
    for (size_t i = 0, n; i < s.n; i += n) {
        n = utf8_len((const unsigned char *)s.p + i, s.n - i);
        FUZZ_REQUIRE(n > 0 && s.p[i] != '\0');
    }
}

static inline void fuzz_require_why(const struct told_why *w) {
    bool well = w->told == TOLD_FOUND || w->told == TOLD_NONE || w->told == TOLD_NEXT;
    FUZZ_REQUIRE(w->told <= TOLD_SPENT && w->wait_ms >= -1);
    FUZZ_REQUIRE(well == (w->err_class == NULL) && well == (w->error.p == NULL));
    FUZZ_REQUIRE(w->error.n <= ASK_ERROR_MAX);
    fuzz_require_text(w->error);
    for (size_t i = 0; w->error.p && i < w->error.n; i++)
        FUZZ_REQUIRE((unsigned char)w->error.p[i] >= ' ');
}

static inline void fuzz_require_discussion(const struct found_discussion *f) {
    struct discussion d;
    FUZZ_REQUIRE(f->id.n > 0 && f->id.n <= DISCUSSION_ID_MAX && f->title.p);
    FUZZ_REQUIRE(discussion_of_url(f->permalink, &d) && str_eqc(f->id, d.id));
    FUZZ_REQUIRE(f->created_at_ms >= 0);
    fuzz_require_text(f->title);
    fuzz_require_text(f->subreddit);
    fuzz_require_text(f->permalink);
}

/* Nothing is found, and nothing is believed not to be there, but in an answer that is well. */
static inline void fuzz_require_list(const struct found_list *f, const struct heard *h,
                                     const char *key, struct arena *a) {
    struct str its, domain;
    fuzz_require_why(&f->why);
    FUZZ_REQUIRE((f->why.told == TOLD_FOUND) == (f->n > 0) && f->n <= ASK_DISCUSSIONS_MAX);
    FUZZ_REQUIRE(f->why.told != TOLD_NEXT);
    FUZZ_REQUIRE(f->why.told > TOLD_NONE || h->status == 200);
    for (size_t i = 0; i < f->n; i++) {
        fuzz_require_discussion(&f->at[i]);
        FUZZ_REQUIRE(url_key(a, f->at[i].url, &its, &domain) && str_eqc(its, key));
    }
}

static inline void fuzz_require_article(const struct found_article *r, const struct heard *h,
                                        struct arena *a) {
    struct str its, domain;
    fuzz_require_why(&r->why);
    FUZZ_REQUIRE(r->why.told > TOLD_NONE || h->status == 200 || h->status == 404);
    FUZZ_REQUIRE((r->why.told == TOLD_FOUND) == (r->url.p != NULL));
    FUZZ_REQUIRE((r->why.told == TOLD_NEXT) == (r->next_id[0] != '\0'));
    if (r->has_origin)
        fuzz_require_discussion(&r->origin);
    if (r->why.told == TOLD_FOUND) {
        FUZZ_REQUIRE(r->has_origin && url_key(a, r->url, &its, &domain) && str_eq(its, r->url_key));
        fuzz_require_text(r->url);
    }
}

#endif
