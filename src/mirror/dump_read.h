/* A dump, line by line: from a file or a pipe, plain or compressed with zstd, which its first bytes
 * tell. Knows how to find again the place where an earlier reading stopped. One object, one thread;
 * dump_raw_bytes() may be asked by any. */
#ifndef TAIN_MIRROR_DUMP_READ_H
#define TAIN_MIRROR_DUMP_READ_H

#include "base/thread.h"
#include "mirror/digest.h"

#define DUMP_LINE_MAX ((size_t)8 * 1024 * 1024)
#define DUMP_HEAD_MAX 80

struct dump_reader;

struct dump_read_options {
    const char *path;              /* NULL or "-": standard input */
    bool digest;                   /* compute the SHA-256 of the file's bytes on the way */
    const struct stop_token *stop; /* ends a wait for a pipe */
};

struct dump_line {
    struct str text; /* without its newline and the file's BOM; valid until the next call */
    bool too_long;   /* over DUMP_LINE_MAX: read over, the text is its first DUMP_HEAD_MAX bytes */
};

/* Waits for the first bytes. V_INVALID: no such file, or not a form that is read here. */
MUST_CHECK enum verdict dump_open(const struct dump_read_options *o, struct dump_reader **ret,
                                  struct err *e);
void dump_close(struct dump_reader *r); /* NULL is fine */

/* The same dump has the same: by its length and the bytes at both its ends, or for a pipe by those
 * at its beginning. */
const char *dump_fingerprint(const struct dump_reader *r);
/* The bytes of the file; -1: a pipe. */
int64_t dump_raw_total(const struct dump_reader *r);
int64_t dump_raw_bytes(const struct dump_reader *r); /* read so far */
bool dump_is_compressed(const struct dump_reader *r);

/* Before the first line: goes to a place in the text where an earlier reading stood. V_CONFLICT:
 * the text before it is not the one that was there then. */
MUST_CHECK enum verdict dump_skip_to(struct dump_reader *r, int64_t text_bytes, int64_t mark,
                                     struct err *e);
/* V_NOT_FOUND: the end. V_INVALID: the compressed form is broken, and says how. V_STOPPED. */
MUST_CHECK enum verdict dump_next(struct dump_reader *r, struct dump_line *ret, struct err *e);
/* The place behind the last line, to come back to: bytes of text, and a hash of the last of them.
 */
int64_t dump_text_bytes(const struct dump_reader *r);
int64_t dump_mark(const struct dump_reader *r);
/* After the end: the SHA-256 that was asked for. */
void dump_digest(struct dump_reader *r, char ret_hex[SHA256_HEX]);

#endif
