/* What travels between the fetch thread and the write thread. Each box has one owner at a time:
 * the fetch thread fills it, queues it, and gets the same box back with its answer. */
#ifndef TAIN_MIRROR_JOBS_H
#define TAIN_MIRROR_JOBS_H

#include "store/batch.h"
#include "store/segments.h"

enum job_kind {
    JOB_BATCH, /* write this */
    JOB_CLAIM, /* find me a segment */
    JOB_TURNS, /* reserve turns of the shared rate */
};

struct job {
    enum job_kind kind;
    enum verdict verdict; /* of the answer */
    struct err err;
    void *owner; /* the fetch thread's; untouched by the writer */
    /* JOB_BATCH */
    struct batch *batch;
    struct apply_stats stats;
    /* JOB_CLAIM: V_NOT_FOUND comes with the work that is left in the window */
    struct arena arena;
    struct claim claim;
    struct window_work work;
    /* JOB_TURNS */
    int n_turns;
    int64_t turns_wait_us;
};

#endif
