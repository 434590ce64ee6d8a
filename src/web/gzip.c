#include "web/gzip.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#define LEVEL 4        /* half the time of the usual 6 for a few per cent more bytes */
#define GZIP_FORMAT 31 /* the largest window, and gzip's header around it */
#define MEMORY 8

struct gzip {
    z_stream z;
};

struct gzip *gzip_new(void) {
    struct gzip *g = xcalloc(1, sizeof *g);
    if (deflateInit2(&g->z, LEVEL, Z_DEFLATED, GZIP_FORMAT, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        abort(); /* out of memory */
    return g;
}

void gzip_free(struct gzip *g) {
    if (!g)
        return;
    deflateEnd(&g->z);
    free(g);
}

void gzip_begin(struct gzip *g) {
    deflateReset(&g->z);
}

bool gzip_piece(struct gzip *g, struct str in, bool last, struct strbuf *out) {
    unsigned char room[16 * 1024];
    g->z.next_in = (unsigned char *)in.p;
    g->z.avail_in = (unsigned)in.n;
    do {
        g->z.next_out = room;
        g->z.avail_out = sizeof room;
        (void)deflate(&g->z, last ? Z_FINISH : Z_SYNC_FLUSH);
        strbuf_add(out, room, sizeof room - g->z.avail_out);
    } while (g->z.avail_out == 0 && !out->overflow);
    return !out->overflow;
}

bool gzip_whole(struct gzip *g, struct str in, struct strbuf *out) {
    gzip_begin(g);
    return gzip_piece(g, in, true, out);
}

/* "gzip;q=0" is a way to say no. */
static bool refused(const char *p, const char *end) {
    while (p < end && (isspace((unsigned char)*p) || *p == ';'))
        p++;
    if (end - p < 3 || (*p != 'q' && *p != 'Q') || p[1] != '=')
        return false;
    return strtod(p + 2, NULL) <= 0;
}

bool gzip_accepted(const char *accept) {
    while (accept && *accept) {
        accept += strspn(accept, " \t,");
        size_t n = strcspn(accept, ","), word = strcspn(accept, ",; \t");
        if (word == 4 && strncasecmp(accept, "gzip", 4) == 0)
            return !refused(accept + word, accept + n);
        accept += n;
    }
    return false;
}

bool gzip_worthwhile(const char *type) {
    return strncmp(type, "text/", 5) == 0 || strncmp(type, "application/json", 16) == 0 ||
           strncmp(type, "application/xml", 15) == 0 || strncmp(type, "image/svg+xml", 13) == 0;
}
