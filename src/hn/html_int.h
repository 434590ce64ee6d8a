/* Private to the hn room: the pieces HTML is cut into, and the walk over them that both ways of
 * writing share. The walk keeps the tags in order, so that a writer sees each one opened and
 * closed, properly nested. */
#ifndef TAIN_HN_HTML_INT_H
#define TAIN_HN_HTML_INT_H

#include "base/str.h"

enum html_tag { TAG_NONE, TAG_P, TAG_I, TAG_B, TAG_A, TAG_PRE, TAG_CODE };

/* A piece is text, or a tag that is one of ours. */
struct html_piece {
    enum html_tag tag; /* TAG_NONE: text */
    bool closing;
    struct str raw; /* the text, or what stands between the name of the tag and its '>' */
};

/* Takes the next piece off the front of `in`; false at the end. */
bool html_next_piece(struct str *in, struct html_piece *ret);

/* Takes one character off the front of `in`, which must not be empty: entities are decoded, line
 * ends become LF, what has no place in a text becomes U+FFFD. */
uint32_t html_next_char(struct str *in);

/* Bytes at the front of `in` that are characters of their own, with no meaning in HTML. */
size_t html_plain_run(struct str in);

void html_put_utf8(struct strbuf *out, uint32_t c);

/* The address in the attributes of a link, decoded and trimmed, appended to the empty `ret`. False
 * when there is none that may be followed. */
bool html_href(struct str attributes, struct strbuf *ret);

struct html_writer {
    void (*open)(struct html_writer *w, enum html_tag tag, struct str href);
    void (*close)(struct html_writer *w, enum html_tag tag, struct str href);
    void (*text)(struct html_writer *w, struct str raw);
    struct strbuf *out;
    bool local;      /* safe HTML: what our pages have too is linked there */
    size_t link_at;  /* plain text: where the words of the open link begin */
    bool apart, any; /* plain text: an empty line is due; something was written */
};

void html_walk(struct str html, struct html_writer *w);

#endif
