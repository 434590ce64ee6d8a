/* Where a page meets its call: the clock of the server, and the state of the archive for the foot.
 */
#include "web/page.h"

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
