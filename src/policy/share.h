/* Which part of a backlog a worker goes through first, where several go through the same one: so
 * that they seldom meet. Nothing depends on it but speed; what is nobody's first is everybody's
 * later. Keys that are numbers are shared in blocks of neighbours, so that a worker need not read
 * the blocks of others; all others by their hash. Pure functions. */
#ifndef TAIN_POLICY_SHARE_H
#define TAIN_POLICY_SHARE_H

#include "base/str.h"

#define SHARE_BLOCK_BITS 8 /* 256 neighbours */

struct share {
    int64_t of;     /* so many work on it; less than 2: all is ours */
    int64_t mine;   /* which of them we are, from 0 */
    bool by_number; /* keys are numbers */
};

bool share_has(const struct share *s, struct str key);
/* Behind `key` others' keys begin: *ret is the last of them before the next of ours. False: they do
 * not, or nobody knows. */
bool share_skip(const struct share *s, struct str key, int64_t *ret);

#endif
