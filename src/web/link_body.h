/* What a bot says of a link: the JSON of POST /api/links. Pure. */
#ifndef TAIN_WEB_LINK_BODY_H
#define TAIN_WEB_LINK_BODY_H

#include "store/links.h"

#define LINK_BODY_TITLE_MAX 1000 /* bytes, as those below */
#define LINK_BODY_DESCRIPTION_MAX 5000
#define LINK_BODY_NAME_MAX 200
#define LINK_BODY_SOURCE_MAX 40

/* {"url","title"?,"description"?,"submitted_by"?,"source"?}, texts or null. The source is "agent"
 * when it is not said. V_INVALID names the field and what it may be. Texts are in the arena. */
MUST_CHECK enum verdict link_body_read(struct arena *a, struct str body, struct link_add *ret,
                                       struct err *e);

#endif
