#include "web/page_thread.h"

#include "web/page.h"

void page_thread_init(struct page_thread *t, struct arena *a) {
    int deepest = 0;
    for (size_t i = 0; i < t->thread->n; i++)
        if (t->thread->nodes[i].depth > deepest)
            deepest = t->thread->nodes[i].depth;
    t->path = arena_alloc(a, ((size_t)deepest + 1) * sizeof *t->path);
    t->at = 0;
    t->open = 0;
    t->last = -1;
}

bool page_among(int64_t id, const int64_t *ids, size_t n) {
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (ids[mid] == id)
            return true;
        if (ids[mid] < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

static void close_to(struct page_thread *t, struct strbuf *b, int level) {
    for (; t->open > level; t->open--)
        strbuf_adds(b, "</details></article>\n");
}

static void way(struct strbuf *b, int64_t to, const char *word) {
    strbuf_adds(b, "<a href=\"#");
    page_int(b, to);
    strbuf_adds(b, "\">");
    strbuf_adds(b, word);
    strbuf_adds(b, "</a> ");
}

/* Where one may go from here, by anchors. The node before this one tells whether there is an elder
 * sibling: if it was not above us, the newest one of our depth has the same parent. */
static void ways(const struct page_thread *t, struct strbuf *b, const struct thread_node *node) {
    size_t after = t->at + node->below + 1;
    int depth = node->depth;
    strbuf_adds(b, "<span class=\"ways\">");
    way(b, t->root, "root");
    if (depth > 0)
        way(b, t->path[depth - 1], "parent");
    if (t->last >= depth)
        way(b, t->path[depth], "prev");
    if (after < t->thread->n && t->thread->nodes[after].depth == depth)
        way(b, t->thread->nodes[after].it.item.id, "next");
    strbuf_adds(b, "</span>");
}

static void author(const struct page_thread *t, struct strbuf *b, const struct item *i) {
    if (!i->by.p)
        return;
    page_person(b, i->by);
    if (t->op.p && str_eq(i->by, t->op))
        strbuf_adds(b, "<abbr class=\"op\" title=\"wrote the story\">op</abbr>");
    strbuf_addc(b, ' ');
}

static void permalink(struct strbuf *b, const struct read_item *it, int64_t now) {
    if (!it->stored) { /* there is no page of it to lead to */
        strbuf_adds(b, "<span class=\"when\">#");
        page_int(b, it->item.id);
        strbuf_adds(b, "</span> ");
        return;
    }
    strbuf_adds(b, "<a class=\"when\" ");
    page_item_href(b, it->item.id);
    strbuf_addc(b, '>');
    page_time(b, it->item.time, now);
    strbuf_adds(b, "</a> ");
}

static void header(const struct page_thread *t, struct strbuf *b, const struct thread_node *node) {
    const struct item *i = &node->it.item;
    strbuf_adds(b, "<header>");
    author(t, b, i);
    permalink(b, &node->it, t->now);
    page_marks(b, &node->it);
    if (page_among(i->id, t->revised, t->n_revised)) {
        strbuf_adds(b, " <a class=\"was\" href=\"/item/revisions?id=");
        page_int(b, i->id);
        strbuf_adds(b, "\">earlier versions</a>");
    }
    ways(t, b, node);
    strbuf_adds(b, "</header>");
}

static void content(struct strbuf *b, const struct read_item *it) {
    if (!it->stored) {
        strbuf_adds(b, "<p class=\"absent\"><a href=\"" PAGE_HN_ITEM);
        page_int(b, it->item.id);
        strbuf_adds(b, "\" rel=\"nofollow noopener noreferrer\">See it on Hacker News</a></p>");
    } else if (it->item.text.p) {
        page_text(b, it->item.text);
    } else {
        strbuf_adds(b, "<p class=\"absent\">No text.</p>");
    }
}

/* Depth shows as a class: d0 to d9, and dx for all that is deeper. */
static void one(struct page_thread *t, struct strbuf *b) {
    const struct thread_node *node = &t->thread->nodes[t->at];
    const struct item *i = &node->it.item;
    int depth = node->depth, level = depth < PAGE_NEST_MAX ? depth : PAGE_NEST_MAX;
    close_to(t, b, level);
    strbuf_adds(b, "<article class=\"c d");
    strbuf_addc(b, depth < 10 ? (char)('0' + depth) : 'x');
    if (i->dead || i->deleted || !node->it.stored)
        strbuf_adds(b, " gone");
    strbuf_adds(b, "\" id=\"");
    page_int(b, i->id);
    strbuf_adds(b, "\">");
    header(t, b, node);
    strbuf_adds(b, "<details open><summary><span>");
    page_count(b, (int64_t)node->below + 1, "comment");
    strbuf_adds(b, "</span></summary>");
    content(b, &node->it);
    t->open++;
    t->path[depth] = i->id;
    t->last = depth;
    t->at++;
}

bool page_thread_part(struct page_thread *t, struct strbuf *b, size_t enough) {
    while (t->at < t->thread->n) {
        if (b->n >= enough)
            return true;
        one(t, b);
    }
    close_to(t, b, 0);
    return false;
}
