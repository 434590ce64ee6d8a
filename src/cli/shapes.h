/* What the text of an option must look like, beyond its type. Pure functions over C strings. */
#ifndef TAIN_CLI_SHAPES_H
#define TAIN_CLI_SHAPES_H

#include "base/attr.h"
#include "base/str.h"

bool shape_database(const char *text);     /* sqlite:PATH, postgres://..., postgresql://... */
bool shape_identifier(const char *text);   /* an SQL name that needs no quotes */
bool shape_http_root(const char *text);    /* http(s)://host[:port][/path], no query */
bool shape_bind(const char *text);         /* IPV4:PORT, [IPV6]:PORT, localhost:PORT */
bool shape_bind_or_none(const char *text); /* that, or "none", or nothing */
bool shape_address(const char *text);      /* a numeric IPv4 or IPv6 address */
bool shape_not_empty(const char *text);
bool shape_words(const char *text); /* not empty, and UTF-8, which every database takes */

/* 2026-01-31, 2026-01-31T12:00:00Z (the Z may be left out: it is UTC) or unix seconds. */
bool shape_instant(const char *text);
bool shape_parse_instant(const char *text, int64_t *ret_ms);

/* "LO-HI", both ids, LO not above HI. */
bool shape_id_range(const char *text);
bool shape_parse_id_range(const char *text, int64_t *ret_lo, int64_t *ret_hi);

#endif
