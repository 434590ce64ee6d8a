/* How a page becomes an article, step by step: bytes to UTF-8 (article_charset.c), to markup that a
 * parser has no trouble with (article_tame.c), to elements and blocks of text (article_parse.c), of
 * which some are the article (article_pick.c). Private to the room. */
#ifndef TAIN_HN_ARTICLE_INT_H
#define TAIN_HN_ARTICLE_INT_H

#include "hn/article.h"

#define ARTICLE_DEPTH_MAX 2048 /* what was tamed is hardly ever so deep */
#define ARTICLE_ELEMENTS_MAX 65536u
#define ARTICLE_BLOCKS_MAX 32768u
#define ARTICLE_UTF8_MAX ((size_t)4 * 1024 * 1024)

/* The charset of a page: by its byte order mark, the header, a <meta> or XML declaration, or by the
 * look of its bytes. Only those that browsers know. */
struct charset {
    const char *name;  /* "utf-8"; static */
    const char *codec; /* what iconv calls it; NULL: UTF-8 */
    size_t skip;       /* the byte order mark */
};
struct charset article_charset(struct str bytes, struct str content_type);
/* What is not text becomes U+FFFD, what is control is left out; stops at the buffer's maximum. */
void article_to_utf8(struct str bytes, struct charset c, struct strbuf *out);

/* The same page with what we look at and no more: no scripts, styles and comments, few attributes
 * of bounded size, no '<' that is not a tag's. Linear, which no parser is for a tag with a hundred
 * thousand attributes. */
void article_tame(struct str html, struct strbuf *out);

/* Bits of a block, and of the elements it is in. */
enum {
    ARTICLE_SKIP = 1,     /* never text: navigation, controls, embedded things */
    ARTICLE_UNLIKELY = 2, /* hidden, or called by a name that articles are not called by */
    ARTICLE_LINK = 4,
    ARTICLE_PRE = 8,
    ARTICLE_HEADING = 16,
    ARTICLE_ITEM = 32,      /* of a list */
    ARTICLE_PARAGRAPH = 64, /* stands in what holds the text, and is not that itself */
    ARTICLE_ROOT = 128,     /* <article>, <main> and what says that it is such a one */
    ARTICLE_WITHIN = 256,   /* such a one */
};

struct page_element {
    uint32_t parent, end; /* `end`: the first that is not within it; they are in document order */
    uint16_t bits;        /* its own and those it stands in */
    int16_t weight;       /* what its name speaks for */
};

struct page_block {
    uint32_t at, n;  /* in the page's text */
    uint32_t linked; /* bytes of it that are links */
    uint32_t element;
    uint16_t bits;
};

struct page {
    struct page_element *elements; /* the first is the document */
    struct page_block *blocks;
    uint32_t n_elements, n_blocks;
    struct strbuf text;
    struct strbuf title, h1, og_title, description, og_description, site, canonical, og_url,
        language;
};

void article_parse(struct str tame, struct page *ret);
void article_page_release(struct page *p);
/* The text of the article, whole; nothing when there is none. */
void article_pick(const struct page *p, struct strbuf *out);

/* One of the words, lower-case, is in a list that ends with NULL. */
bool article_is_one_of(struct str word, const char *const *list);

#endif
