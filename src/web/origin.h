/* Where a request comes from, as its browser says: a page of another site must not write in the
 * name of whoever looks at it, nor learn what he put aside to read. A program that is no browser
 * says nothing, and may. Pure. */
#ifndef TAIN_WEB_ORIGIN_H
#define TAIN_WEB_ORIGIN_H

#include "base/str.h"

/* The headers Sec-Fetch-Site, Origin and Host; absent where they were not sent. The first says it
 * plainly and counts alone; older browsers, and those that came by plain http, send the second. */
bool origin_is_ours(struct str fetch_site, struct str origin, struct str host);

#endif
