/* Values of one JSON document on their way into another: written anew, so that whatever was read
 * (odd escapes, lone surrogates, NUL, bytes that are not UTF-8) comes out as sound JSON, and
 * numbers as they stood. Over hn/json_read.h; pure. */
#ifndef TAIN_ENRICH_JSON_COPY_H
#define TAIN_ENRICH_JSON_COPY_H

#include "base/str.h"
#include "hn/json_read.h"

/* Copies the value that comes next; r->bad when it is none, also for a number that JSON does not
 * know (007). Nested at most JSON_DEPTH_MAX deep. */
void json_copy_value(struct json_read *r, struct strbuf *out);

/* The value as a text: a string without its quotes, null as nothing, others as JSON. */
void json_copy_text(struct json_read *r, struct strbuf *out);

#endif
