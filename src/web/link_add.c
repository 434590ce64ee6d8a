/* POST /add: what a person wants to know more of. Answers at once; the work is for others. */
#include "store/links.h"
#include "web/link_gate.h"
#include "web/link_pages.h"
#include "web/page_add.h"
#include "web/server.h"

#include <stdio.h>

void link_redirect(struct call *c, int64_t id) {
    char text[40];
    snprintf(text, sizeof text, "/link/%lld", (long long)id);
    c->status = 303;
    c->type = NULL;
    c->cache = "no-store";
    c->location = arena_str(c->arena, str_of(text));
}

static enum verdict again(struct call *c, int status, struct str url, const char *problem,
                          struct err *e) {
    c->status = status;
    c->cache = "no-store";
    return page_add(c, url, problem, e);
}

enum verdict link_add_post(struct call *c, struct err *e) {
    struct link_added added;
    struct str url = call_param(c, "url");
    const struct link_add add = {
        .url = url, .source = STR("web"), .submitted_by = STR("web"), .waiting = true};
    struct err why;
    int status = link_gate_pass(c, &why);
    if (status)
        return again(c, status, url, why.msg, e);
    if (!url.n)
        return again(c, 400, url, "Type or paste the address of a page.", e);
    enum verdict v = store_link_add(c->store, &add, &added, e);
    if (v == V_LIMIT)
        return again(c, 400, STR_NONE, "That address is longer than 4096 bytes.", e);
    if (v == V_INVALID)
        return again(c, 400, url,
                     "That is not the address of a page: http:// or https://, and a host.", e);
    if (v != V_OK)
        return v;
    web_wrote(c->web);
    link_redirect(c, added.id);
    return V_OK;
}
