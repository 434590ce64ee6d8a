#include "hn/article_int.h"
#include "hn/article_words_int.h"

#include <libxml/HTMLparser.h>
#include <libxml/parserInternals.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FIELD_MAX ((size_t)4096)
#define WEIGHT 20

struct parsing {
    htmlParserCtxtPtr ctxt;
    struct page *page;
    uint32_t cap_elements, cap_blocks;
    uint32_t open[ARTICLE_DEPTH_MAX]; /* elements, the innermost last */
    int depth;
    int in_title, in_h1; /* the depth at which it began; 0: not in one */
    bool had_h1;
    size_t block_at;  /* where the open block begins in the text */
    uint32_t linked;  /* of the open block */
    unsigned pending; /* blanks seen since the last character: a space, or line breaks */
};

enum { PENDING_SPACE = 1, PENDING_BREAK = 2 };

static void too_much(struct parsing *p) {
    xmlStopParser(p->ctxt); /* what was read until here is what there is */
}

static uint32_t top(const struct parsing *p) {
    return p->depth ? p->open[p->depth - 1] : 0;
}

/* The block that the text stands in: an inline element is none. */
static uint32_t holder(const struct parsing *p) {
    uint32_t e = top(p);
    while (e && (p->page->elements[e].bits & TAG_INLINE))
        e = p->page->elements[e].parent;
    return e;
}

static void end_block(struct parsing *p) {
    struct page *page = p->page;
    size_t n = page->text.n - p->block_at;
    if (n > 0 && page->n_blocks < ARTICLE_BLOCKS_MAX) {
        if (page->n_blocks == p->cap_blocks) {
            p->cap_blocks = p->cap_blocks ? p->cap_blocks * 2 : 64;
            page->blocks = xrealloc(page->blocks, p->cap_blocks * sizeof page->blocks[0]);
        }
        uint32_t e = holder(p);
        page->blocks[page->n_blocks++] = (struct page_block){(uint32_t)p->block_at, (uint32_t)n,
                                                             p->linked, e, page->elements[e].bits};
    }
    if (page->n_blocks == ARTICLE_BLOCKS_MAX)
        too_much(p);
    p->block_at = page->text.n;
    p->linked = 0;
    p->pending = 0;
}

/* One character that is not blank, and the blanks before it, unless they begin the block. */
static void add_visible(struct parsing *p, const char *bytes, size_t n, bool link) {
    struct strbuf *text = &p->page->text;
    size_t before = text->n;
    if (p->pending && text->n > p->block_at)
        strbuf_addc(text, p->pending & PENDING_BREAK ? '\n' : ' ');
    p->pending = 0;
    strbuf_add(text, bytes, n);
    if (link)
        p->linked += (uint32_t)(text->n - before);
}

static bool is_blank(const char *s, size_t n) {
    return n == 1 ? *s == ' ' || *s == '\n' || *s == '\t' || *s == '\r' || *s == '\f'
                  : n == 2 && memcmp(s, "\xC2\xA0", 2) == 0;
}

static bool is_control(const char *s, size_t n) {
    unsigned char c = (unsigned char)*s;
    return n == 1 ? c < ' ' || c == 0x7F : n == 2 && c == 0xC2 && (unsigned char)s[1] < 0xA0;
}

static void add_text(struct parsing *p, const char *s, size_t n, unsigned bits) {
    for (size_t i = 0, len; i < n; i += len) {
        len = utf8_len((const unsigned char *)s + i, n - i);
        if (len == 0) {
            len = 1; /* cannot be: it was made UTF-8 */
        } else if ((bits & ARTICLE_PRE) && (s[i] == '\n' || s[i] == '\t' || s[i] == ' ')) {
            if (p->page->text.n > p->block_at)
                strbuf_addc(&p->page->text, s[i]);
        } else if (is_blank(s + i, len)) {
            p->pending |= PENDING_SPACE;
        } else if (!is_control(s + i, len)) {
            add_visible(p, s + i, len, bits & ARTICLE_LINK);
        }
    }
}

/* A field is one line; the caller gives it in pieces. */
static void add_line(struct strbuf *field, const char *s, size_t n) {
    for (size_t i = 0, len; i < n && !field->overflow; i += len) {
        len = utf8_len((const unsigned char *)s + i, n - i);
        if (len == 0) {
            len = 1;
        } else if (is_blank(s + i, len)) {
            if (field->n > 0 && field->p[field->n - 1] != ' ')
                strbuf_addc(field, ' ');
        } else if (!is_control(s + i, len)) {
            strbuf_add(field, s + i, len);
        }
    }
}

static void on_text(void *arg, const xmlChar *bytes, int n) {
    struct parsing *p = arg;
    const char *s = (const char *)bytes;
    unsigned bits = p->page->elements[top(p)].bits;
    if (p->in_title)
        add_line(&p->page->title, s, (size_t)n);
    if (bits & ARTICLE_SKIP)
        return;
    if (p->in_h1)
        add_line(&p->page->h1, s, (size_t)n);
    add_text(p, s, (size_t)n, bits);
}

static const char *attribute(const xmlChar **attributes, const char *name) {
    for (; attributes && attributes[0]; attributes += 2)
        if (strcmp((const char *)attributes[0], name) == 0)
            return attributes[1] ? (const char *)attributes[1] : "";
    return NULL;
}

static void keep_first(struct strbuf *field, const char *value) {
    if (value && field->n == 0)
        add_line(field, value, strlen(value));
}

static void on_meta(struct page *page, const xmlChar **attributes) {
    const char *name = attribute(attributes, "property"), *value = attribute(attributes, "content");
    const struct {
        const char *name;
        struct strbuf *field;
    } rows[] = {
        {"og:title", &page->og_title},
        {"twitter:title", &page->og_title},
        {"og:description", &page->og_description},
        {"description", &page->description},
        {"twitter:description", &page->description},
        {"og:site_name", &page->site},
        {"og:url", &page->og_url},
    };
    if (!name)
        name = attribute(attributes, "name");
    for (size_t i = 0; name && value && i < ARRAY_LEN(rows); i++)
        if (strcasecmp(name, rows[i].name) == 0)
            keep_first(rows[i].field, value);
}

static bool says_hidden(const xmlChar **attributes) {
    const char *style = attribute(attributes, "style"),
               *aria = attribute(attributes, "aria-hidden");
    if (attribute(attributes, "hidden") || (aria && strcasecmp(aria, "true") == 0))
        return true;
    const char *display = style ? strcasestr(style, "display") : NULL;
    return display && strncasecmp(display + 7 + strspn(display + 7, " :"), "none", 4) == 0;
}

/* What an element says of itself. */
static unsigned own_bits(const char *name, const xmlChar **attributes, int16_t *ret_weight) {
    struct word_signs signs = {0};
    unsigned bits = words_of_tag(name);
    const char *class = attribute(attributes, "class"), *id = attribute(attributes, "id"),
               *role = attribute(attributes, "role"), *prop = attribute(attributes, "itemprop");
    if (class)
        words_of_name(class, &signs);
    if (id)
        words_of_name(id, &signs);
    if ((role && strcasecmp(role, "main") == 0) || (prop && strcasecmp(prop, "articleBody") == 0))
        bits |= ARTICLE_ROOT;
    if (bits & ARTICLE_ROOT)
        bits |= ARTICLE_WITHIN;
    bool whole = strcmp(name, "html") == 0 || strcmp(name, "body") == 0;
    bool unlikely = (signs.around && !signs.may_be) || (role && words_of_role(role)) ||
                    (bits & TAG_HEADER) || says_hidden(attributes);
    if (unlikely && !whole && !(bits & ARTICLE_ROOT))
        bits |= ARTICLE_UNLIKELY;
    *ret_weight = bits & ARTICLE_ROOT ? WEIGHT + 5
                  : whole             ? 0
                                      : (int16_t)((signs.within - signs.around) * WEIGHT);
    return bits;
}

/* What holds for all that stands in an element. */
#define INHERITED                                                                     \
    (ARTICLE_SKIP | ARTICLE_UNLIKELY | ARTICLE_LINK | ARTICLE_PRE | ARTICLE_HEADING | \
     ARTICLE_ITEM | ARTICLE_WITHIN)

static uint32_t add_element(struct parsing *p, const char *name, const xmlChar **attributes) {
    struct page *page = p->page;
    if (page->n_elements == p->cap_elements) {
        p->cap_elements = p->cap_elements ? p->cap_elements * 2 : 256;
        page->elements = xrealloc(page->elements, p->cap_elements * sizeof page->elements[0]);
    }
    uint32_t parent = top(p);
    int16_t weight = 0;
    unsigned bits = name ? own_bits(name, attributes, &weight) : 0;
    unsigned outer = name ? page->elements[parent].bits : 0;
    if ((bits & TAG_HEADER) && (outer & ARTICLE_WITHIN)) /* of the article itself */
        bits &= ~(unsigned)ARTICLE_UNLIKELY;
    page->elements[page->n_elements] =
        (struct page_element){.parent = parent,
                              .end = page->n_elements + 1,
                              .bits = (uint16_t)(bits | (outer & INHERITED)),
                              .weight = weight};
    return page->n_elements++;
}

/* What the page says of itself. An icon may have a title, too. */
static void note(struct parsing *p, const char *name, const xmlChar **attributes, unsigned outer) {
    struct page *page = p->page;
    const char *rel;
    if (strcmp(name, "meta") == 0) {
        on_meta(page, attributes);
    } else if (strcmp(name, "html") == 0) {
        keep_first(&page->language, attribute(attributes, "lang"));
    } else if (strcmp(name, "link") == 0) {
        rel = attribute(attributes, "rel");
        if (rel && strcasecmp(rel, "canonical") == 0)
            keep_first(&page->canonical, attribute(attributes, "href"));
    } else if (strcmp(name, "title") == 0) {
        bool the = !(outer & ARTICLE_SKIP) || (outer & TAG_HEAD);
        if (the && !p->in_title && page->title.n == 0)
            p->in_title = p->depth;
    } else if (strcmp(name, "h1") == 0 && !p->had_h1) {
        p->in_h1 = p->depth;
        p->had_h1 = true;
    }
}

static void on_break(struct parsing *p, unsigned outer) {
    if (outer & ARTICLE_PRE)
        add_text(p, "\n", 1, outer);
    else if (p->pending & PENDING_BREAK)
        end_block(p); /* two of them are a paragraph */
    else
        p->pending |= PENDING_BREAK;
}

static void on_start(void *arg, const xmlChar *tag, const xmlChar **attributes) {
    struct parsing *p = arg;
    const char *name = (const char *)tag;
    if (p->depth == ARTICLE_DEPTH_MAX || p->page->n_elements == ARTICLE_ELEMENTS_MAX) {
        too_much(p);
        return;
    }
    unsigned outer = p->page->elements[top(p)].bits;
    if (strcmp(name, "br") == 0)
        on_break(p, outer);
    else if (!(words_of_tag(name) & TAG_INLINE))
        end_block(p);
    p->open[p->depth] = add_element(p, name, attributes);
    p->depth++;
    note(p, name, attributes, outer);
}

static void on_end(void *arg, const xmlChar *tag) {
    struct parsing *p = arg;
    const char *name = (const char *)tag;
    if (p->depth == 0)
        return;
    if (strcmp(name, "br") != 0 && !(words_of_tag(name) & TAG_INLINE))
        end_block(p);
    if (p->depth == p->in_title)
        p->in_title = 0;
    if (p->depth == p->in_h1)
        p->in_h1 = 0;
    p->page->elements[p->open[--p->depth]].end = p->page->n_elements;
}

static void close_all(struct parsing *p) {
    end_block(p);
    while (p->depth > 0)
        p->page->elements[p->open[--p->depth]].end = p->page->n_elements;
    p->page->elements[0].end = p->page->n_elements;
}

static void init_fields(struct page *page, size_t text_max) {
    struct strbuf *fields[] = {&page->title,  &page->h1,          &page->og_title,
                               &page->site,   &page->description, &page->og_description,
                               &page->og_url, &page->canonical,   &page->language};
    *page = (struct page){0};
    strbuf_init(&page->text, text_max);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        strbuf_init(fields[i], FIELD_MAX);
}

void article_page_release(struct page *page) {
    struct strbuf *fields[] = {
        &page->title,          &page->h1,     &page->og_title,  &page->site,     &page->description,
        &page->og_description, &page->og_url, &page->canonical, &page->language, &page->text};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        strbuf_release(fields[i]);
    free(page->elements);
    free(page->blocks);
}

void article_parse(struct str tame, struct page *ret) {
    struct parsing p = {.page = ret};
    init_fields(ret, tame.n * 2 + 1); /* a blank before each character */
    add_element(&p, NULL, NULL);
    p.ctxt = tame.n ? htmlCreateMemoryParserCtxt(tame.p, (int)tame.n) : NULL;
    if (p.ctxt) {
        const htmlSAXHandler sax = {.startElement = on_start,
                                    .endElement = on_end,
                                    .characters = on_text,
                                    .cdataBlock = on_text,
                                    .ignorableWhitespace = on_text,
                                    .initialized = 1};
        *p.ctxt->sax = sax;
        p.ctxt->userData = &p;
        htmlCtxtUseOptions(p.ctxt, HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING |
                                       HTML_PARSE_NONET | HTML_PARSE_NODEFDTD |
                                       HTML_PARSE_IGNORE_ENC);
        xmlSwitchEncoding(p.ctxt, XML_CHAR_ENCODING_UTF8);
        htmlParseDocument(p.ctxt);
        htmlFreeParserCtxt(p.ctxt);
    }
    close_all(&p);
}
