/* What travels to the write thread and back. Each box has one owner at a time: the asker fills it,
 * queues it, and gets the same box back in its mailbox with the answer. */
#ifndef TAIN_MIRROR_JOBS_H
#define TAIN_MIRROR_JOBS_H

#include "mirror/calls.h"
#include "store/batch.h"
#include "store/segments.h"

enum job_kind {
    JOB_BATCH, /* write this: of a segment, or, without one, of the live stream */
    JOB_CLAIM, /* find me a segment */
    JOB_TURNS, /* reserve turns of the shared rate */
    JOB_RUN,   /* call this with the store */
};

struct job {
    enum letter_kind letter; /* LETTER_JOB */
    enum job_kind kind;
    struct mailbox *reply;
    enum verdict verdict; /* of the answer */
    struct err err;
    void *owner; /* the asker's; untouched by the writer */
    /* JOB_BATCH */
    struct batch *batch;
    struct apply_stats stats;
    /* JOB_CLAIM: of this lane or one before it. V_NOT_FOUND comes with the work that is left in
     * the window */
    enum lane last_lane;
    struct arena arena;
    struct claim claim;
    struct window_work work;
    /* JOB_TURNS */
    int n_turns;
    int64_t turns_wait_us;
    /* JOB_RUN: repeated after V_RETRY, so it must bear that; any other answer is the answer */
    enum verdict (*run)(struct store *s, void *arg, struct err *e);
    void *arg;
};

#endif
