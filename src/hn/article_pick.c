#include "hn/article_int.h"

#include <stdlib.h>
#include <string.h>

#define SCORED_MIN 25 /* bytes: less is a label */
#define ENOUGH 250    /* bytes of an article worth the name */
#define LEVELS 5      /* how far up a paragraph speaks for what holds it */

struct weights {
    float score;
    uint32_t bytes, linked; /* of all text in it */
    uint32_t prose;         /* of paragraphs that read like such */
};

struct picking {
    const struct page *page;
    struct weights *elements;
    unsigned out; /* bits of blocks that are not looked at */
};

static bool is_out(const struct picking *k, const struct page_block *b) {
    return b->bits & k->out;
}

static float link_share(uint32_t linked, uint32_t bytes) {
    return bytes ? (float)linked / (float)bytes : 0;
}

static unsigned commas(const struct page *p, const struct page_block *b) {
    unsigned n = 0;
    for (size_t i = 0; i < b->n; i++)
        n += p->text.p[b->at + i] == ',';
    return n < 10 ? n : 10;
}

static bool is_prose(const struct page_block *b) {
    return b->n >= 80 && !(b->bits & ARTICLE_HEADING) && link_share(b->linked, b->n) < 0.3F;
}

/* A paragraph speaks for what holds it, and less and less for what holds that. */
static void speak(struct picking *k, const struct page_block *b) {
    static const float part[LEVELS] = {1, 0.5F, 1.0F / 6, 1.0F / 9, 1.0F / 12};
    const struct page_element *elements = k->page->elements;
    float score = 1 + (float)commas(k->page, b) + (b->n < 300 ? (float)b->n / 100 : 3);
    score *= 1 - link_share(b->linked, b->n);
    uint32_t e = b->element;
    if (elements[e].bits & ARTICLE_PARAGRAPH)
        e = elements[e].parent;
    for (int level = 0; level < LEVELS && e; level++, e = elements[e].parent)
        k->elements[e].score += score * part[level];
}

static void weigh(struct picking *k) {
    const struct page *p = k->page;
    memset(k->elements, 0, p->n_elements * sizeof k->elements[0]);
    for (uint32_t i = 0; i < p->n_blocks; i++) {
        const struct page_block *b = &p->blocks[i];
        if (is_out(k, b))
            continue;
        struct weights *w = &k->elements[b->element];
        w->bytes += b->n;
        w->linked += b->linked;
        w->prose += is_prose(b) ? b->n : 0;
        if (b->n >= SCORED_MIN && !(b->bits & ARTICLE_HEADING))
            speak(k, b);
    }
    for (uint32_t i = p->n_elements - 1; i > 0; i--) { /* children come after their parents */
        struct weights *w = &k->elements[i], *up = &k->elements[p->elements[i].parent];
        up->bytes += w->bytes;
        up->linked += w->linked;
        up->prose += w->prose;
    }
}

static uint32_t best(const struct picking *k) {
    uint32_t found = 0;
    float most = 0;
    for (uint32_t i = 1; i < k->page->n_elements; i++) {
        const struct weights *w = &k->elements[i];
        if (w->score <= 0)
            continue;
        float score =
            (w->score + (float)k->page->elements[i].weight) * (1 - link_share(w->linked, w->bytes));
        if (score > most) {
            most = score;
            found = i;
        }
    }
    return found;
}

/* An article in several pieces side by side: as long as there is as much again around the piece, it
 * is not the whole. */
static uint32_t widen(const struct picking *k, uint32_t e) {
    const struct page_element *elements = k->page->elements;
    while (e && !(elements[e].bits & ARTICLE_ROOT)) {
        uint32_t up = elements[e].parent;
        if (k->elements[up].prose - k->elements[e].prose < k->elements[e].prose / 3 + 1)
            break;
        e = up;
    }
    return e;
}

static bool reads_well(const struct page *p, const struct page_block *b) {
    float share = link_share(b->linked, b->n);
    if (b->bits & (ARTICLE_HEADING | ARTICLE_PRE))
        return true;
    if (share > 0.8F || (share > 0.5F && b->n < 200))
        return false;
    /* "Share", "3 min read": a few words without an end */
    char last = p->text.p[b->at + b->n - 1];
    return b->n >= SCORED_MIN || (b->bits & ARTICLE_ITEM) || (unsigned char)last >= 0x80 ||
           strchr(".!?:;\")", last);
}

static void add_block(const struct page *p, const struct page_block *b, struct strbuf *out) {
    struct str s = {p->text.p + b->at, b->n};
    while (s.n > 0 && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    if (out->n > 0)
        strbuf_adds(out, "\n\n");
    if (b->bits & ARTICLE_ITEM)
        strbuf_adds(out, "- ");
    strbuf_add_str(out, s);
}

/* The blocks of an element; a heading when something comes after it. */
static void collect(const struct picking *k, uint32_t e, struct strbuf *out) {
    const struct page *p = k->page;
    uint32_t end = p->elements[e].end, heading = UINT32_MAX;
    strbuf_clear(out);
    for (uint32_t i = 0; i < p->n_blocks && !out->overflow; i++) {
        const struct page_block *b = &p->blocks[i];
        if (b->element < e || b->element >= end || is_out(k, b) || !reads_well(p, b))
            continue;
        if (heading != UINT32_MAX)
            add_block(p, &p->blocks[heading], out);
        heading = b->bits & ARTICLE_HEADING ? i : UINT32_MAX;
        if (heading == UINT32_MAX)
            add_block(p, b, out);
    }
}

void article_pick(const struct page *p, struct strbuf *out) {
    struct picking k = {p, xcalloc(p->n_elements, sizeof k.elements[0]), ARTICLE_UNLIKELY};
    weigh(&k);
    uint32_t e = widen(&k, best(&k));
    collect(&k, e, out);
    if (out->n < ENOUGH && !out->overflow) {
        /* Perhaps the article is what looked unlikely. */
        struct strbuf all;
        strbuf_init(&all, out->max);
        k.out = 0;
        weigh(&k);
        collect(&k, widen(&k, best(&k)), &all);
        if (all.n >= 2 * out->n || all.overflow) {
            struct strbuf swap = *out;
            *out = all;
            all = swap;
        }
        strbuf_release(&all);
    }
    free(k.elements);
}
