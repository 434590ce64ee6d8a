/* Links as JSON, for the routes of web/link_api.c. Pure. */
#ifndef TAIN_WEB_LINK_JSON_H
#define TAIN_WEB_LINK_JSON_H

#include "store/links.h"

/* {"reddit":{"status","checked_at"},"hn":{...},"summary":{"status","generated_at"},
 * "reverse_lookup":{"status","target_id"}}; instants as "2026-11-16T03:15:07Z" or null. */
void link_json_processing(struct strbuf *out, const struct link_processing *p);

/* What is known of a URL. */
struct link_known {
    struct str url, key;     /* as it was asked for, and its key */
    const struct link *link; /* NULL: there is none, nor anything of what follows */
    const struct link_processing *processing; /* NULL: it has no tasks */
    const struct link_discussion *discussions;
    size_t n_discussions;
};
void link_json_known(struct strbuf *out, const struct link_known *k);

#endif
