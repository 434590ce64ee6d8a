/* What a foreign page says: its title, its description, and the text that a reader came for.
 * Pure: bytes in, text out; nothing is fetched, no entity but those of HTML is known, depth and
 * memory are bounded whatever the page is. Any thread; everything returned lives in the arena. */
#ifndef TAIN_HN_ARTICLE_H
#define TAIN_HN_ARTICLE_H

#include "base/arena.h"
#include "base/err.h"

#define ARTICLE_BYTES_MAX ((size_t)2 * 1024 * 1024) /* of the page; what follows is not read */
#define ARTICLE_TEXT_MAX ((size_t)100 * 1024)
#define ARTICLE_TITLE_MAX ((size_t)500)
#define ARTICLE_DESCRIPTION_MAX ((size_t)2000)
#define ARTICLE_URL_MAX ((size_t)2048)

/* Valid UTF-8 without control characters; NUL-terminated; absent when the page does not say. One
 * line each, but for the text. */
struct article {
    struct str title, description, site;
    struct str canonical; /* an absolute http(s) URL that the page gives as its own */
    struct str language;  /* "en", "pt-BR" */
    struct str text;      /* paragraphs with an empty line between them; "" when there is none */
    bool cut;             /* there was more text than ARTICLE_TEXT_MAX */
    const char *charset;  /* what it was read as; static */
};

/* `content_type` is the header's value; absent: HTML. Text/plain is its own text, without a title.
 * V_INVALID: not a page (another content type, or the bytes are of a known binary format). */
MUST_CHECK enum verdict article_read(struct str bytes, struct str content_type, struct arena *a,
                                     struct article *ret, struct err *e);

#endif
