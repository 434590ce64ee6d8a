/* Compresses answers. One per thread, reused for each of them. */
#ifndef TAIN_WEB_GZIP_H
#define TAIN_WEB_GZIP_H

#include "base/str.h"

struct gzip;

struct gzip *gzip_new(void);
void gzip_free(struct gzip *g); /* NULL is fine */
/* A whole answer. False: it came to more than out->max. */
bool gzip_whole(struct gzip *g, struct str in, struct strbuf *out);
/* A piece of one: begin, then pieces, each of which can be read at once, the last one with `last`.
 */
void gzip_begin(struct gzip *g);
bool gzip_piece(struct gzip *g, struct str in, bool last, struct strbuf *out);

/* Does an Accept-Encoding header take it? NULL: no. */
bool gzip_accepted(const char *accept_encoding);
/* Is it a type that shrinks? */
bool gzip_worthwhile(const char *type);

#endif
