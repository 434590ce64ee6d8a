/* "/add": the form by which a link is added, and the bookmark that leads to it. Runs on the thread
 * of its call. */
#ifndef TAIN_WEB_PAGE_ADD_H
#define TAIN_WEB_PAGE_ADD_H

#include "web/call.h"

/* Writes the page, with this address in its field and, above it, what is wrong with it: a sentence
 * in plain text; NULL: nothing is. The status of the call is the caller's. */
MUST_CHECK enum verdict page_add(struct call *c, struct str url, const char *problem,
                                 struct err *e);

#endif
