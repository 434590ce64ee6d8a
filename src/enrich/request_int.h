/* Private to enrich: templates taken to pieces. Pure. */
#ifndef TAIN_ENRICH_REQUEST_INT_H
#define TAIN_ENRICH_REQUEST_INT_H

#include "base/err.h"
#include "base/str.h"

enum piece_kind { PIECE_TEXT, PIECE_PLACE };
struct piece {
    enum piece_kind kind;
    struct str text; /* what stands there, or the column's name */
};

/* Takes the next piece off the front of *rest. False at the end, and, with something left in *rest,
 * where a brace is neither doubled nor part of a place. */
bool piece_next(struct str *rest, struct piece *ret);

/* V_INVALID: the body is no JSON, or names a member twice; *ret_line counts from 0. */
MUST_CHECK enum verdict request_check_json(struct str body, int *ret_line, struct err *e);

#endif
