#include "db/db_int.h"

#include <endian.h>

#define OID_INT8 20
#define OID_TEXT 25

static void add_u32(struct strbuf *out, uint32_t v) {
    v = htobe32(v);
    strbuf_add(out, &v, sizeof v);
}

static void add_int(struct strbuf *out, int64_t v) {
    if (v == DB_NULL) {
        add_u32(out, UINT32_MAX); /* length -1 */
        return;
    }
    add_u32(out, sizeof v);
    uint64_t wire = htobe64((uint64_t)v);
    strbuf_add(out, &wire, sizeof wire);
}

static void add_text(struct strbuf *out, struct str s) {
    add_u32(out, s.p ? (uint32_t)s.n : UINT32_MAX);
    strbuf_add(out, s.p, s.p ? s.n : 0);
}

void pg_encode_array(const struct db_col *col, size_t n, struct strbuf *out) {
    add_u32(out, 1); /* dimensions */
    add_u32(out, 1); /* may hold NULLs */
    add_u32(out, col->type == DB_INT ? OID_INT8 : OID_TEXT);
    add_u32(out, (uint32_t)n);
    add_u32(out, 1); /* lower bound */
    for (size_t i = 0; i < n; i++) {
        if (col->type == DB_INT)
            add_int(out, col->ints[i]);
        else
            add_text(out, col->texts[i]);
    }
}
