/* The bookmark carries the address of this server: it is made of the Host that was asked for, which
 * the server has checked, and the script puts the browser's own idea of it in its place. */
#include "web/page_add.h"

#include "hn/url_key.h"
#include "store/links.h"
#include "web/link_gate.h"
#include "web/link_pages.h"
#include "web/page.h"
#include "web/page_routes.h"

static bool is_host(struct str host) {
    for (size_t i = 0; i < host.n; i++) {
        char c = host.p[i];
        if (!((c | 32) >= 'a' && (c | 32) <= 'z') && !(c >= '0' && c <= '9') && c != '.' &&
            c != '-' && c != ':' && c != '[' && c != ']')
            return false;
    }
    return host.n > 0;
}

static void bookmark(struct strbuf *b, const struct call *c) {
    struct str host = call_header(c, "Host");
    bool safe = str_eqc(call_header(c, "X-Forwarded-Proto"), "https");
    if (!is_host(host))
        return;
    strbuf_addf(b,
                "<section class=\"aside\"><h2>From any page</h2>"
                "<p>Drag this to your bookmarks: <a class=\"bookmarklet\" "
                "href=\"javascript:location.href=&#39;%s://%.*s/add?url=&#39;"
                "+encodeURIComponent(location.href)\">Add to tain</a></p>"
                "<p class=\"note\">On a page that you want to know more of, it opens this form "
                "with the address filled in.</p></section>\n",
                safe ? "https" : "http", STR_FMT(host));
}

static void say_problem(struct strbuf *b, const char *problem) {
    strbuf_adds(b, "<p class=\"problem\" id=\"problem\" role=\"alert\">");
    strbuf_add_html(b, str_of(problem));
    strbuf_adds(b, "</p>");
}

static void form(struct strbuf *b, struct str url, const char *problem, bool asks_token) {
    strbuf_adds(b, "<form class=\"add\" action=\"/add\" method=\"post\">");
    if (problem)
        say_problem(b, problem);
    strbuf_adds(b, "<label for=\"url\">Address of an article, or of its discussion on Reddit or "
                   "Hacker News</label><div class=\"row\">"
                   "<input type=\"text\" inputmode=\"url\" name=\"url\" id=\"url\" required "
                   "autofocus autocomplete=\"off\" autocapitalize=\"off\" spellcheck=\"false\" "
                   "placeholder=\"https://\"");
    strbuf_addf(b, " maxlength=\"%d\"%s value=\"", LINK_URL_MAX,
                problem ? " aria-invalid=\"true\" aria-describedby=\"problem\"" : "");
    strbuf_add_html(b, url);
    strbuf_adds(b, "\"><button type=\"submit\">Add</button></div>");
    if (asks_token)
        strbuf_adds(b, "<label for=\"token\">The token of this server</label>"
                       "<input type=\"password\" name=\"" LINK_TOKEN_FIELD "\" id=\"token\" "
                       "required autocomplete=\"current-password\">");
    strbuf_adds(b, "</form>\n");
}

/* Whoever comes with an address that is here already may go to its page at once. */
static enum verdict known(struct call *c, struct str url, struct err *e) {
    struct str key, domain;
    struct link link;
    if (!url.n || url.n > LINK_URL_MAX || !url_key(c->arena, url, &key, &domain))
        return V_OK;
    enum verdict v = store_link_find(c->store, c->arena, key, &link, e);
    if (v != V_OK)
        return v == V_NOT_FOUND ? V_OK : v;
    strbuf_addf(&c->body, "<p class=\"known\">It is here already: <a href=\"/link/%lld\">",
                (long long)link.id);
    strbuf_add_html(&c->body, link.title.n ? link.title : link.url);
    strbuf_adds(&c->body, "</a></p>\n");
    return V_OK;
}

enum verdict page_add(struct call *c, struct str url, const char *problem, struct err *e) {
    page_open(
        c, &(struct page_head){
               .title = STR("Add a link"), .here = "/add", .no_index = true, .script = "links.js"});
    strbuf_adds(&c->body,
                "<div class=\"headline\"><h1>Add a link</h1><p class=\"note\">and see who "
                "discussed it, and what it says</p></div>\n");
    bool asks = link_gate_asks(c), may = asks || link_gate_is_open(c);
    if (may)
        form(&c->body, url, problem, asks);
    else if (problem)
        say_problem(&c->body, problem);
    else
        strbuf_adds(&c->body,
                    "<p class=\"note\">Nothing can be added here: this server reads a copy of "
                    "the archive, or others can reach it and it has no token.</p>\n");
    enum verdict v = known(c, url, e);
    if (may)
        bookmark(&c->body, c);
    return v == V_OK ? page_close(c, e) : v;
}

static enum verdict add_form(struct call *c, struct err *e) {
    return page_add(c, call_param(c, "url"), NULL, e);
}

static const struct route routes[] = {
    {"/add", add_form, ROUTE_QUERY, DIALECT_PAGE, .post = link_add_post},
};

const struct route_table page_add_routes = {routes, ARRAY_LEN(routes)};
