/* A pull reader for JSON: the caller walks the text once and takes what it knows, nothing is built
 * in between. Strings that are taken live in the arena; raw tokens are views of the body. No I/O,
 * no threads.
 *
 * The first mistake in the text sets `bad`; from then on every call answers false and moves
 * nothing, so that a caller checks once at the end. */
#ifndef TAIN_HN_JSON_READ_H
#define TAIN_HN_JSON_READ_H

#include "base/arena.h"
#include "base/str.h"

#define JSON_DEPTH_MAX 64

enum json_kind {
    JSON_NOTHING, /* the end, or no beginning of a value */
    JSON_NULL,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

struct json_read {
    const unsigned char *p, *end;
    struct arena *a;
    bool bad;
};

void json_read_init(struct json_read *r, struct arena *a, struct str body);

/* The kind of the value that comes next, judged by its first character. Consumes white space. */
enum json_kind json_peek(struct json_read *r);

/* After json_peek() said JSON_ARRAY or JSON_OBJECT: steps inside. */
void json_enter(struct json_read *r);

/* Steps to the next element of the array, or out of it (false). `first` starts as true. */
bool json_next_element(struct json_read *r, bool *first);

/* The same for objects: also reads the key and the colon. The key is a view of the body, or lives
 * in the arena if it was written with escapes. */
bool json_next_member(struct json_read *r, bool *first, struct str *ret_key);

/* A string, decoded into the arena and NUL-terminated. NUL characters, lone surrogates and bytes
 * that are not UTF-8 become U+FFFD. False when the string is broken. */
bool json_text(struct json_read *r, struct str *ret);

/* The string as it stands between its quotes, escapes and all. */
bool json_raw_string(struct json_read *r, struct str *ret);

/* The number as it is written. */
bool json_raw_number(struct json_read *r, struct str *ret);

/* The integer behind a decimal, be it written as 12, 12.0 or 1.2e1. False (and nothing is bad)
 * when it is not an integer or does not fit. */
bool json_integer_of(struct str decimal, int64_t *ret);

/* Steps over one value of any kind, nested at most JSON_DEPTH_MAX deep. */
void json_skip(struct json_read *r);

/* True when only white space is left and nothing was bad. */
bool json_at_end(struct json_read *r);

#endif
