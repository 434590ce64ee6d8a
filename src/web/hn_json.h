/* The documents of the HN API that are no item and no profile, and the frames of its event streams.
 * Pure. */
#ifndef TAIN_WEB_HN_JSON_H
#define TAIN_WEB_HN_JSON_H

#include "store/read.h"

/* As many as updates.json and the first frame of its stream name. */
#define HN_UPDATES_ITEMS 200
#define HN_UPDATES_NAMES 100

/* [1,2,3] */
void hn_add_ids(struct strbuf *out, const int64_t *ids, size_t n);
/* {"items":[...],"profiles":[...]} */
void hn_add_updates(struct strbuf *out, const struct recent *r);

/* "put" at "/": the whole state. */
void hn_frame_updates(struct strbuf *out, const struct recent *r);
void hn_frame_maxitem(struct strbuf *out, int64_t maxitem);
/* "patch" at "/": what is named now takes the place of what was named before; a list without an
 * entry is left as it was. */
void hn_frame_changes(struct strbuf *out, const struct recent *r);

#endif
