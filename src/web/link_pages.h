/* What the pages of links and their routes have in common. On the thread of their call. */
#ifndef TAIN_WEB_LINK_PAGES_H
#define TAIN_WEB_LINK_PAGES_H

#include "web/call.h"

/* POST /add: 303 to /link/ID, or the form again with what is wrong. */
call_fn link_add_post;

/* The answer is 303 to the page of this link. */
void link_redirect(struct call *c, int64_t id);

#endif
