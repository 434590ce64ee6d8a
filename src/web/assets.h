/* The files below src/web/assets/, compiled in by tools/embed.py. Read-only. */
#ifndef TAIN_WEB_ASSETS_H
#define TAIN_WEB_ASSETS_H

#include "base/attr.h"

struct asset {
    const char *name; /* "style.css" */
    const char *url;  /* "/assets/style.css?v=..."; another content has another one */
    const char *hash, *type;
    const unsigned char *bytes;
    size_t n;
};

extern const struct asset assets_all[]; /* by name */
extern const size_t assets_n;

/* NULL: there is none. */
const struct asset *asset_find(const char *name, size_t n);
/* What a page links to. The file must exist. */
const char *asset_url(const char *name);

#endif
