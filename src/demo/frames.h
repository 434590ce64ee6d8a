/* The text of event-stream frames. Pure: appends to a buffer. */
#ifndef TAIN_DEMO_FRAMES_H
#define TAIN_DEMO_FRAMES_H

#include "demo/sliding.h"

#define FRAME_MAX (64 * 1024) /* no frame is longer */
#define FRAME_IDS 5000        /* that many ids fit */

#define FRAME_KEEP_ALIVE "event: keep-alive\ndata: null\n\n"
#define FRAME_CANCEL "event: cancel\ndata: null\n\n"
#define FRAME_AUTH_REVOKED "event: auth_revoked\ndata: \"credential is no longer valid\"\n\n"

/* {"items":[...],"profiles":[...]} */
void frame_lists(const struct sliding *s, struct strbuf *out);
/* The first frame of a stream, and the one a laggard starts over with. */
void frame_put(const struct sliding *s, struct strbuf *out);
void frame_maxitem(int64_t maxitem, struct strbuf *out);

/* Upstream sends several forms that mean the same; so do these, by turn. A patch names ids and
 * names at once (true); the other forms are two frames, of which frame_names() is the second. */
bool frame_ids(const int64_t *ids, size_t n, const struct sliding *names, uint64_t turn,
               struct strbuf *out);
void frame_names(const struct sliding *names, uint64_t turn, struct strbuf *out);

#endif
