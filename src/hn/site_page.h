/* Addresses of Hacker News itself that our own pages answer to under the same name. Pure. */
#ifndef TAIN_HN_SITE_PAGE_H
#define TAIN_HN_SITE_PAGE_H

#include "base/str.h"

/* Is it the page of an item or of a person? *ret is then its path and query ("/item?id=8863",
 * "/item?id=8863#9224", "/user?id=pg"), a part of `url` that holds nothing that would have to be
 * escaped. Everything else that such an address could carry makes it a foreign one. */
bool site_page(struct str url, struct str *ret);

#endif
