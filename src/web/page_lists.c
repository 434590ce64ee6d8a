/* The lists of stories: "/", "/newest" and its sisters, and every discussion of one address. */
#include "web/page_routes.h"

#include "hn/url_key.h"
#include "web/page.h"

#include <stdio.h>

#define PER_PAGE 30
#define PAGES_MAX 1000000
#define DISCUSSIONS_MAX 500

struct list_kind {
    const char *path, *name, *heading;
};

static const struct list_kind kinds[] = {
    {"/", "top", "Top stories"},  {"/best", "best", "Best stories"}, {"/ask", "ask", "Ask HN"},
    {"/show", "show", "Show HN"}, {"/jobs", "job", "Jobs"},
};

static const struct list_kind *kind_of(struct str path) {
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_eqc(path, kinds[i].path))
            return &kinds[i];
    return &kinds[0]; /* "/news" */
}

static void heading(struct strbuf *b, const char *words) {
    strbuf_addf(b, "<div class=\"headline\"><h1>%s</h1>", words);
}

static void when_seen(struct strbuf *b, int64_t seen_at, int64_t now_ms) {
    strbuf_adds(b, "<p class=\"note\">");
    if (seen_at) {
        strbuf_adds(b, "as Hacker News had it ");
        page_time(b, seen_at / 1000, now_ms / 1000);
    } else {
        strbuf_adds(b, "ranked by this mirror");
    }
    strbuf_adds(b, "</p>");
}

static void stories(struct strbuf *b, const struct read_items *page, int64_t first, int64_t now) {
    if (!page->n) {
        strbuf_adds(b, "<p class=\"empty\">Nothing here yet.</p>\n");
        return;
    }
    strbuf_addf(b, "<ol class=\"stories\" start=\"%lld\">\n", (long long)first);
    for (size_t i = 0; i < page->n; i++)
        page_story(b, &page->items[i], first + (int64_t)i, now);
    strbuf_adds(b, "</ol>\n");
}

static void more_of(struct strbuf *b, const char *path, int64_t page) {
    char href[64];
    int n = snprintf(href, sizeof href, "%s?p=%lld", path, (long long)page);
    page_more(b, (struct str){href, (size_t)n}, "More stories");
}

static enum verdict page_list(struct call *c, struct err *e) {
    const struct list_kind *kind = kind_of(c->path);
    const int64_t *ids;
    int64_t seen_at, p, now = page_now(c);
    struct read_items page = {0};
    size_t n, begin;
    enum verdict v = call_param_int(c, "p", 1, PAGES_MAX, 1, &p, e);
    if (v == V_OK)
        v = store_read_list(c->store, c->arena, kind->name, &ids, &n, &seen_at, e);
    if (v != V_OK)
        return v;
    begin = (size_t)(p - 1) * PER_PAGE;
    size_t wanted = begin >= n ? 0 : n - begin < PER_PAGE ? n - begin : PER_PAGE;
    if (wanted)
        v = store_read_items(c->store, c->arena, ids + begin, wanted, &page, e);
    if (v != V_OK)
        return v;

    bool front = kind == &kinds[0];
    page_open(c, &(struct page_head){.title = front ? STR_NONE : str_of(kind->heading),
                                     .here = kind->path});
    heading(&c->body, kind->heading);
    when_seen(&c->body, seen_at, now);
    strbuf_adds(&c->body, "</div>\n");
    stories(&c->body, &page, (int64_t)begin + 1, now / 1000);
    if (begin + wanted < n)
        more_of(&c->body, kind->path, p + 1);
    return page_close(c, e);
}

/* By ids and not by pages: what arrives meanwhile moves nothing. */
static enum verdict page_newest(struct call *c, struct err *e) {
    int64_t before, first, now = page_now(c);
    struct read_items page;
    enum verdict v = call_param_int(c, "next", 0, INT64_MAX, 0, &before, e);
    if (v == V_OK)
        v = call_param_int(c, "n", 1, INT32_MAX, 1, &first, e);
    if (v == V_OK)
        v = store_read_newest(c->store, c->arena, before, PER_PAGE, &page, e);
    if (v != V_OK)
        return v;
    page_open(c, &(struct page_head){.title = STR("New stories"), .here = "/newest"});
    heading(&c->body, "New stories");
    strbuf_adds(&c->body, "</div>\n");
    stories(&c->body, &page, first, now / 1000);
    if (page.n == PER_PAGE) {
        char href[80];
        int n = snprintf(href, sizeof href, "/newest?next=%lld&n=%lld",
                         (long long)page.items[page.n - 1].item.id, (long long)first + PER_PAGE);
        page_more(&c->body, (struct str){href, (size_t)n}, "More stories");
    }
    return page_close(c, e);
}

static void address(struct strbuf *b, struct str url) {
    strbuf_adds(b, "<p class=\"note\">");
    if (page_may_link(url)) {
        strbuf_adds(b, "<a ");
        page_outside_href(b, url);
        strbuf_addc(b, '>');
        strbuf_add_html(b, url);
        strbuf_adds(b, "</a>");
    } else {
        strbuf_add_html(b, url);
    }
    strbuf_adds(b, "</p>");
}

static enum verdict page_discussions(struct call *c, struct err *e) {
    struct str url = call_param(c, "url"), key, domain;
    struct read_items found;
    int64_t now = page_now(c);
    if (!url.n || !url_key(c->arena, url, &key, &domain))
        return err_set(e, V_INVALID, "page", 0, "url: it must be an http or https address");
    enum verdict v = store_read_discussions(c->store, c->arena, key, DISCUSSIONS_MAX, &found, e);
    if (v != V_OK)
        return v;
    page_open(c, &(struct page_head){.title = STR("Discussions"), .no_index = true});
    heading(&c->body, "Discussions of one address");
    address(&c->body, url);
    strbuf_adds(&c->body, "</div>\n");
    stories(&c->body, &found, 1, now / 1000);
    return page_close(c, e);
}

static const struct route routes[] = {
    {"/", page_list, ROUTE_QUERY, DIALECT_PAGE},
    {"/news", page_list, ROUTE_QUERY, DIALECT_PAGE},
    {"/best", page_list, ROUTE_QUERY, DIALECT_PAGE},
    {"/ask", page_list, ROUTE_QUERY, DIALECT_PAGE},
    {"/show", page_list, ROUTE_QUERY, DIALECT_PAGE},
    {"/jobs", page_list, ROUTE_QUERY, DIALECT_PAGE},
    {"/newest", page_newest, ROUTE_QUERY, DIALECT_PAGE},
    {"/discussions", page_discussions, ROUTE_QUERY, DIALECT_PAGE},
};

const struct route_table page_list_routes = {routes, ARRAY_LEN(routes)};
