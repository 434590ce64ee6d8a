/* "/links": all of them, newest first, with a search. Pages go by ids, so that what arrives moves
 * nothing. */
#include "hn/url_key.h"
#include "web/link_parts.h"
#include "web/page.h"
#include "web/page_routes.h"

#define PER_PAGE 30

static void search_form(struct strbuf *b, struct str words) {
    strbuf_adds(b, "<form class=\"filters links-search\" role=\"search\" action=\"/links\" "
                   "method=\"get\" aria-label=\"Links\"><label><span>Words in the title, the "
                   "address or the summary</span><input type=\"search\" name=\"q\" "
                   "maxlength=\"400\" autocomplete=\"off\" value=\"");
    strbuf_add_html(b, words);
    strbuf_adds(b, "\"></label><button type=\"submit\">Search</button></form>\n");
}

static void nothing(struct strbuf *b, struct str words, int64_t before) {
    strbuf_adds(b, "<p class=\"empty\">");
    if (words.n)
        strbuf_adds(b, before ? "No more links have these words." : "No link has these words.");
    else
        strbuf_adds(b, before ? "There are no more links."
                              : "No links yet. <a href=\"/add\">Add the first one</a>.");
    strbuf_adds(b, "</p>\n");
}

static void more(struct call *c, struct str words, int64_t before) {
    CLEANUP(strbuf_release) struct strbuf href;
    strbuf_init(&href, CALL_QUERY_MAX);
    strbuf_addf(&href, "/links?before=%lld", (long long)before);
    if (words.n) {
        strbuf_adds(&href, "&q=");
        strbuf_add_urlencoded(&href, words);
    }
    if (!href.overflow)
        page_more(&c->body, strbuf_str(&href), "More links");
}

static void list(struct call *c, const struct link_entry *all, size_t n) {
    struct str key, domain;
    strbuf_adds(&c->body, "<ol class=\"stories works\">\n");
    for (size_t i = 0; i < n; i++) {
        struct link_entry shown = all[i];
        shown.link.url = url_whole(c->arena, shown.link.url);
        if (!url_key(c->arena, shown.link.url, &key, &domain))
            domain = STR_NONE;
        link_item(&c->body, &shown, domain, page_now(c));
    }
    strbuf_adds(&c->body, "</ol>\n");
}

static enum verdict page_links(struct call *c, struct err *e) {
    const struct link_entry *all;
    size_t n;
    struct link_query q = {.words = call_param(c, "q"), .max = PER_PAGE + 1};
    enum verdict v = call_param_int(c, "before", 1, INT64_MAX, 0, &q.before, e);
    if (v == V_OK)
        v = store_link_list(c->store, c->arena, &q, &all, &n, e);
    if (v != V_OK)
        return v;
    page_open(c, &(struct page_head){.title = STR("Links"), .here = "/links"});
    strbuf_adds(
        &c->body,
        "<div class=\"headline\"><h1>Links</h1><p class=\"note\">"
        "who discussed what, and what it says; <a href=\"/add\">add a link</a></p></div>\n");
    search_form(&c->body, q.words);
    if (n)
        list(c, all, n < PER_PAGE ? n : PER_PAGE);
    else
        nothing(&c->body, q.words, q.before);
    if (n > PER_PAGE)
        more(c, q.words, all[PER_PAGE - 1].link.id);
    return page_close(c, e);
}

static const struct route routes[] = {
    {"/links", page_links, ROUTE_QUERY, DIALECT_PAGE},
};

const struct route_table page_links_routes = {routes, ARRAY_LEN(routes)};
