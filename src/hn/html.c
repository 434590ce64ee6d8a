#include "hn/html.h"

#include "hn/html_int.h"
#include "hn/site_page.h"

#include <string.h>

#define DEPTH_MAX 16 /* tags inside tags; a deeper one is left out, its text is not */

/* The walk --------------------------------------------------------------------------------------
 */

struct walk {
    struct html_writer *w;
    enum html_tag open[DEPTH_MAX];
    int depth;
    bool paragraph; /* a <p> that has nothing in it yet: an empty one is never opened */
    struct strbuf href;
};

static void close_to(struct walk *k, int depth) {
    while (k->depth > depth) {
        enum html_tag tag = k->open[--k->depth];
        k->w->close(k->w, tag, strbuf_str(&k->href));
        if (tag == TAG_A)
            strbuf_clear(&k->href);
    }
}

static void close_tag(struct walk *k, enum html_tag tag) {
    for (int d = k->depth - 1; d >= 0; d--) {
        if (k->open[d] == tag) {
            close_to(k, d);
            return;
        }
    }
}

static void push(struct walk *k, enum html_tag tag) {
    k->open[k->depth++] = tag;
    k->w->open(k->w, tag, strbuf_str(&k->href));
}

static void begin_paragraph(struct walk *k) {
    if (!k->paragraph)
        return;
    k->paragraph = false;
    push(k, TAG_P);
}

static void open_link(struct walk *k, struct str attributes) {
    close_tag(k, TAG_A); /* before the address of the old one is forgotten */
    strbuf_clear(&k->href);
    if (html_href(attributes, &k->href) && k->depth < DEPTH_MAX) {
        begin_paragraph(k);
        push(k, TAG_A);
    } else {
        strbuf_clear(&k->href);
    }
}

static void open_tag(struct walk *k, const struct html_piece *piece) {
    switch (piece->tag) {
    case TAG_P:
    case TAG_PRE: /* a block ends what is open, as it does in a browser that sees a paragraph */
        close_to(k, 0);
        k->paragraph = piece->tag == TAG_P;
        if (piece->tag == TAG_PRE)
            push(k, TAG_PRE);
        break;
    case TAG_A:
        open_link(k, piece->raw);
        break;
    default:
        begin_paragraph(k);
        if (k->depth < DEPTH_MAX)
            push(k, piece->tag);
    }
}

void html_walk(struct str html, struct html_writer *w) {
    struct walk k = {.w = w};
    struct html_piece piece;
    strbuf_init(&k.href, 0);
    while (html_next_piece(&html, &piece)) {
        if (piece.tag == TAG_NONE) {
            begin_paragraph(&k);
            w->text(w, piece.raw);
        } else if (!piece.closing) {
            open_tag(&k, &piece);
        } else if (piece.tag == TAG_P && k.paragraph) {
            k.paragraph = false;
        } else {
            close_tag(&k, piece.tag);
        }
    }
    close_to(&k, 0);
    strbuf_release(&k.href);
}

/* Safe HTML -------------------------------------------------------------------------------------
 */

static const char *const names[] = {[TAG_P] = "p", [TAG_I] = "i",     [TAG_B] = "b",
                                    [TAG_A] = "a", [TAG_PRE] = "pre", [TAG_CODE] = "code"};

static void put_escaped(struct strbuf *out, uint32_t c) {
    switch (c) {
    case '&':
        strbuf_adds(out, "&amp;");
        break;
    case '<':
        strbuf_adds(out, "&lt;");
        break;
    case '>':
        strbuf_adds(out, "&gt;");
        break;
    case '"':
        strbuf_adds(out, "&quot;");
        break;
    case '\'':
        strbuf_adds(out, "&#x27;");
        break;
    default:
        html_put_utf8(out, c);
    }
}

static void safe_text(struct html_writer *w, struct str raw) {
    while (raw.n) {
        size_t n = html_plain_run(raw);
        strbuf_add(w->out, raw.p, n);
        raw = (struct str){raw.p + n, raw.n - n};
        if (raw.n)
            put_escaped(w->out, html_next_char(&raw));
    }
}

/* The address is decoded already: it is escaped byte by byte, not read again. */
static void safe_href(struct html_writer *w, struct str href) {
    struct str here;
    bool local = w->local && site_page(href, &here);
    if (local)
        href = here;
    strbuf_adds(w->out, " href=\"");
    for (size_t i = 0; i < href.n; i++) {
        if (strchr("&<>\"'", href.p[i]))
            put_escaped(w->out, (unsigned char)href.p[i]);
        else
            strbuf_addc(w->out, href.p[i]);
    }
    strbuf_adds(w->out, local ? "\"" : "\" rel=\"nofollow noopener noreferrer\"");
}

static void safe_open(struct html_writer *w, enum html_tag tag, struct str href) {
    strbuf_addf(w->out, "<%s", names[tag]);
    if (tag == TAG_A)
        safe_href(w, href);
    strbuf_addc(w->out, '>');
}

static void safe_close(struct html_writer *w, enum html_tag tag, struct str href) {
    (void)href;
    strbuf_addf(w->out, "</%s>", names[tag]);
}

/* A text that did not fit is taken back, for a part of it may end within a tag. */
static bool walk_into(struct str html, struct html_writer *w) {
    size_t before = w->out->n;
    if (w->out->overflow)
        return false;
    html_walk(html, w);
    if (!w->out->overflow)
        return true;
    w->out->n = before;
    if (w->out->p)
        w->out->p[before] = '\0';
    return false;
}

bool html_safe(struct str html, struct strbuf *out) {
    struct html_writer w = {.open = safe_open, .close = safe_close, .text = safe_text, .out = out};
    return walk_into(html, &w);
}

bool html_page(struct str html, struct strbuf *out) {
    struct html_writer w = {
        .open = safe_open, .close = safe_close, .text = safe_text, .out = out, .local = true};
    return walk_into(html, &w);
}

/* Plain text ------------------------------------------------------------------------------------
 */

static bool is_block(enum html_tag tag) {
    return tag == TAG_P || tag == TAG_PRE;
}

static void come_apart(struct html_writer *w) {
    if (w->apart && w->any)
        strbuf_adds(w->out, "\n\n");
    w->apart = false;
    w->any = true;
}

static void text_text(struct html_writer *w, struct str raw) {
    come_apart(w);
    while (raw.n) {
        size_t n = html_plain_run(raw);
        strbuf_add(w->out, raw.p, n);
        raw = (struct str){raw.p + n, raw.n - n};
        if (raw.n)
            html_put_utf8(w->out, html_next_char(&raw));
    }
}

static void text_open(struct html_writer *w, enum html_tag tag, struct str href) {
    (void)href;
    w->apart |= is_block(tag);
    if (tag == TAG_A) {
        come_apart(w);
        w->link_at = w->out->n;
    }
}

static void close_link(struct html_writer *w, struct str href) {
    struct str words = {strbuf_str(w->out).p + w->link_at, w->out->n - w->link_at};
    struct str address = href;
    bool cut = words.n >= 3 && str_ends(words, "...") && words.n - 3 <= href.n &&
               memcmp(words.p, href.p, words.n - 3) == 0;
    if (str_starts(href, "mailto:"))
        address = (struct str){href.p + 7, href.n - 7};
    if (w->out->overflow || str_eq(words, href) || str_eq(words, address))
        return;
    if (cut || words.n == 0) {
        w->out->n = w->link_at;
        strbuf_add_str(w->out, href);
    } else {
        strbuf_addf(w->out, " (%.*s)", STR_FMT(href));
    }
}

static void text_close(struct html_writer *w, enum html_tag tag, struct str href) {
    w->apart |= is_block(tag);
    if (tag == TAG_A)
        close_link(w, href);
}

bool html_text(struct str html, struct strbuf *out) {
    struct html_writer w = {.open = text_open, .close = text_close, .text = text_text, .out = out};
    return walk_into(html, &w);
}
