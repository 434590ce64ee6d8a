/* What the files of the import share. Private to the room. */
#ifndef TAIN_MIRROR_IMPORT_INT_H
#define TAIN_MIRROR_IMPORT_INT_H

#include "base/queue.h"
#include "base/rng.h"
#include "hn/item.h"
#include "mirror/dump_read.h"
#include "mirror/import.h"
#include "mirror/patience.h"

#define IMPORT_BOXES 4

/* Some lines on their way to the archive. Owned by the reader, then by the writer, and back. */
struct import_box {
    struct batch *batch;
    struct import_step step;
};

/* A few ids out of many, each with the same chance. */
struct reservoir {
    int64_t *ids;
    size_t n, cap;
    int64_t seen;
    struct rng rng;
};
void reservoir_init(struct reservoir *r, size_t cap);
void reservoir_release(struct reservoir *r);
void reservoir_offer(struct reservoir *r, int64_t id);

/* The reading thread's: lines in, boxes out. */
struct import_reader {
    const struct import_options *o;
    struct dump_reader *dump;
    char fingerprint[160];
    struct queue *boxes, *empty;
    struct import_state state; /* after the last line */
    int64_t sent_bytes;        /* of the box before */
    struct import_box *box;
    struct broken_line broken[IMPORT_BROKEN_KEPT];
    size_t n_broken;
    struct reservoir sample;
};

/* Reads to the end, to trouble (the verdict), or until nobody takes the boxes any more (V_OK). What
 * was read before is sent in any case. */
MUST_CHECK enum verdict import_read_all(struct import_reader *r, struct err *e);
/* One line into the box; for tests too. */
void import_take_line(struct import_reader *r, const struct dump_line *line);

/* Compares what the archive holds for these ids with what the upstream says. */
MUST_CHECK enum verdict import_compare_sample(const struct import_options *o,
                                              const struct reservoir *ids,
                                              struct sample_report *ret, struct err *e);

#endif
