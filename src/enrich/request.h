/* The request for a row: a path and a JSON body with places for columns, filled safely. A body is a
 * JSON document; in its strings {column} stands for a column. A string that is nothing but one
 * place becomes the column's value with its type (null stays null, a number keeps its digits);
 * otherwise texts are joined, and null is nothing. {{ and }} are braces. Names of members are taken
 * as they are. In paths values are percent-encoded. Whatever bytes a column has, the body is sound
 * JSON: what is not UTF-8, and NUL, becomes U+FFFD. Pure. */
#ifndef TAIN_ENRICH_REQUEST_H
#define TAIN_ENRICH_REQUEST_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define REQUEST_MAX ((size_t)1024 * 1024)
#define REQUEST_PATH_MAX ((size_t)8192) /* after encoding */
#define REQUEST_COLUMNS_MAX 64
#define REQUEST_COLUMN_NAME_MAX 63 /* bytes */

struct request_template {
    struct str method; /* GET or POST */
    struct str path;   /* with places; begins with a slash, printable ASCII */
    struct str body;   /* JSON with places, checked; absent: none. Not with GET */
};

/* V_INVALID: not JSON, an open brace, a place without a name; the message says where ("body: ...",
 * "path: ..."). Adds each column named (once) to columns[max]; the names live in the arena.
 * *ret_line, which may be NULL: the line of the body that is at fault, from 0 on; 0 otherwise. */
MUST_CHECK enum verdict request_check(const struct request_template *t, struct arena *a,
                                      struct str *columns, size_t max, size_t *ret_n, int *ret_line,
                                      struct err *e);
/* `row` is a JSON object: column -> value. V_LIMIT: longer than REQUEST_MAX or REQUEST_PATH_MAX.
 * V_INVALID: the row lacks a column, or its value would make a path with dots for a step. Both are
 * this row's failure. *ret_body is absent when the template has none. */
MUST_CHECK enum verdict request_fill(const struct request_template *t, struct str row,
                                     struct arena *a, struct str *ret_path, struct str *ret_body,
                                     struct err *e);

#endif
