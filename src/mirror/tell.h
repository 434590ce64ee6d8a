/* What an operator hears of batches that were written, or could not be: dead letters, ids that were
 * put aside, segments that end with something left over, leases that went to another process.
 * Log lines only; called by the write thread once the database has answered. */
#ifndef TAIN_MIRROR_TELL_H
#define TAIN_MIRROR_TELL_H

#include "mirror/jobs.h"

/* Of a JOB_BATCH that has its verdict. */
void tell_written(const struct job *j);

#endif
