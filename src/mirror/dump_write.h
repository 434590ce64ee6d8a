/* Writes a dump: to FILE.part, which becomes FILE when it is whole, or to standard output; plain or
 * compressed with zstd (with checksums, in frames that end between lines); with the SHA-256 of it
 * all in FILE.sha256. What an interrupted one left behind can be gone on with. One object, one
 * thread. */
#ifndef TAIN_MIRROR_DUMP_WRITE_H
#define TAIN_MIRROR_DUMP_WRITE_H

#include "base/thread.h"
#include "mirror/digest.h"

struct dump_writer;

struct dump_write_options {
    const char *path; /* NULL or "-": standard output */
    bool compress;
    int level;
    bool resume; /* behind the last line of FILE.part, or of FILE itself */
    const struct stop_token *stop;
};

/* V_INVALID: it cannot be made, or what is there is no dump. V_CONFLICT: another process writes it.
 */
MUST_CHECK enum verdict dump_create(const struct dump_write_options *o, struct dump_writer **ret,
                                    struct err *e);
/* The ids of the first and the last item that are there already; 0: a new dump. */
int64_t dump_first_id(const struct dump_writer *w);
int64_t dump_last_id(const struct dump_writer *w);
/* Whole lines only. */
MUST_CHECK enum verdict dump_put(struct dump_writer *w, struct str lines, struct err *e);
/* Everything is there: makes it durable and gives it its name. */
MUST_CHECK enum verdict dump_finish(struct dump_writer *w, char ret_hex[SHA256_HEX], struct err *e);
/* Not everything is there: leaves FILE.part in a form that can be gone on with. */
void dump_suspend(struct dump_writer *w);
int64_t dump_out_bytes(const struct dump_writer *w); /* written, what was there before included */
/* NULL is fine. A finished dump that was to be gone on with and was not gets its name back. */
void dump_writer_free(struct dump_writer *w);

/* What can be kept of an unfinished dump: where its last whole part ends, and the items at both its
 * ends. */
struct dump_rest {
    int64_t bytes, first_id, last_id;
};
/* The file's bytes in memory. V_INVALID: not in the form that is wanted, or one of the lines is not
 * an item with a higher id than the one before. */
MUST_CHECK enum verdict dump_find_rest(const void *bytes, size_t n, bool compressed,
                                       struct dump_rest *ret, struct err *e);

#endif
