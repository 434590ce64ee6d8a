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
/* An instant, the id of an event (EPOCH-POSITION), or "oldest". */
bool shape_since(const char *text);

/* "story,ask_hn": kinds of items with commas between. */
bool shape_item_kinds(const char *text);
enum { SHAPE_KIND_ASK = 1 << 16, SHAPE_KIND_SHOW = 1 << 17 };
/* The SEARCH_ bit of one of them, SHAPE_KIND_ASK or _SHOW, 0 when it is none. */
unsigned shape_item_kind(const char *text, size_t n);

/* "LO-HI", both ids, LO not above HI. */
bool shape_id_range(const char *text);
bool shape_parse_id_range(const char *text, int64_t *ret_lo, int64_t *ret_hi);

#endif
