/* The request for a row: a path and a JSON body with places for columns, filled safely. A body is a
 * JSON document; in its strings {column} stands for a column. A string that is nothing but one
 * place becomes the column's value with its type (null stays null); otherwise texts are joined, and
 * null is nothing. {{ and }} are braces. In paths values are percent-encoded. Pure. */
#ifndef TAIN_ENRICH_REQUEST_H
#define TAIN_ENRICH_REQUEST_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define REQUEST_MAX ((size_t)1024 * 1024)

struct request_template;
struct request_template {
    struct str method; /* GET or POST */
    struct str path;   /* with places */
    struct str body;   /* JSON with places, checked; absent: none */
};

/* V_INVALID: not JSON, an open brace, a place without a name; the message says where. Adds each
 * column named (once) to columns[max]. */
MUST_CHECK enum verdict request_check(const struct request_template *t, struct arena *a,
                                      struct str *columns, size_t max, size_t *ret_n,
                                      struct err *e);
/* `row` is a JSON object: column -> value. V_LIMIT: longer than REQUEST_MAX. */
MUST_CHECK enum verdict request_fill(const struct request_template *t, struct str row,
                                     struct arena *a, struct str *ret_path, struct str *ret_body,
                                     struct err *e);

#endif
