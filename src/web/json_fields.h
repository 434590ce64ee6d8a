/* Fields of JSON objects, written straight into an answer. `key` is written as it is, with its
 * quotes and colon, and with a comma in front of it where one belongs: ",\"points\":". What is
 * absent becomes null. Pure. */
#ifndef TAIN_WEB_JSON_FIELDS_H
#define TAIN_WEB_JSON_FIELDS_H

#include "base/str.h"

void json_num(struct strbuf *b, const char *key, int64_t n); /* I64_NONE: null */
void json_str(struct strbuf *b, const char *key, struct str s);
/* "2026-11-16T03:15:07Z" of unix seconds; null outside of the years 1970 to 9999. */
void json_when(struct strbuf *b, const char *key, int64_t seconds);

/* When something was fetched, in unix seconds; I64_NONE for what came out of a dump without stamps,
 * which nobody ever fetched. */
int64_t fetched_seconds(int64_t fetched_at_ms);

#endif
