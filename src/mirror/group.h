/* Batches of the live stream that wait at the writer together: written as one, in one transaction,
 * and answered each by itself. While the writer is busy every realtime worker may send it a small
 * batch; a transaction for each would cost more than what is in it. The write thread's own. */
#ifndef TAIN_MIRROR_GROUP_H
#define TAIN_MIRROR_GROUP_H

#include "mirror/jobs.h"

#define GROUP_MAX 64

struct group {
    struct batch *whole; /* refers to the texts of the others */
    struct job *jobs[GROUP_MAX];
    size_t n;
};

void group_init(struct group *g);
void group_release(struct group *g);
void group_begin(struct group *g); /* empty again */
/* Is it of the live stream, under the same lease, and is there room? */
bool group_takes(const struct group *g, const struct job *j);
void group_add(struct group *g, struct job *j);
/* Hands on what became of the whole. The figures go to the first job: those of all of them. */
void group_answer(struct group *g, const struct job *whole);

#endif
