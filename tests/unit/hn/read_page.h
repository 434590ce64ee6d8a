/* Reads a page for a test; what it says lives until the next one. */
#ifndef TAIN_TESTS_HN_READ_PAGE_H
#define TAIN_TESTS_HN_READ_PAGE_H

#include "hn/article.h"

static struct arena page_arena;

static inline struct article read_page(struct str bytes, const char *content_type) {
    struct article got = {0};
    struct err e = {0};
    arena_reset(&page_arena);
    enum verdict v = article_read(bytes, str_of(content_type), &page_arena, &got, &e);
    if (v != V_OK)
        print_error("%s\n", e.msg);
    assert_int_equal(v, V_OK);
    return got;
}

static inline struct article read_html(const char *html) {
    return read_page(str_of(html), "text/html; charset=utf-8");
}

#endif
