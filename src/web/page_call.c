/* Where a page meets its call: the clock of the server, and the state of the archive for the foot.
 */
#include "web/page.h"

#include "store/search.h"
#include "web/server.h"

void page_open(struct call *c, const struct page_head *h) {
    page_begin(&c->body, h);
}

int64_t page_now(const struct call *c) {
    return clock_real(web_clock(c->web));
}

enum verdict page_close(struct call *c, struct err *e) {
    struct archive_state state;
    enum verdict v = store_state(c->store, &state, e);
    if (v != V_OK)
        return v;
    page_end(&c->body, state.present ? &state : NULL, page_now(c));
    return V_OK;
}

enum verdict page_index_note(struct call *c, struct err *e) {
    int64_t waiting, since;
    enum verdict v = store_index_lag(c->store, &waiting, &since, e);
    if (v != V_OK || !waiting)
        return v;
    strbuf_adds(&c->body, "<p class=\"note\">Up to ");
    page_number(&c->body, waiting);
    strbuf_adds(&c->body, " items are not in the search index yet.</p>\n");
    return V_OK;
}

enum verdict page_missing(struct call *c, const char *message, struct str original, struct err *e) {
    c->status = 404;
    c->cache = "no-store";
    page_open(c, &(struct page_head){.title = STR("Not in this archive"), .no_index = true});
    strbuf_addf(&c->body,
                "<section class=\"oops\"><p class=\"code\">404</p><h1>Not in this archive</h1><p>%s"
                "</p><p><a href=\"",
                message);
    strbuf_add_html(&c->body, original);
    strbuf_adds(&c->body, "\" rel=\"nofollow noopener noreferrer\">See it on Hacker News</a> "
                          "<a href=\"/\">To the front page</a></p></section>\n");
    return page_close(c, e);
}
