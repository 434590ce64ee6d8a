/* A thread that works off what waits for the search index, with a connection of its own, beside a
 * command that serves. It takes a fifth of its time: after each step it rests four times as long as
 * the step took. Started and stopped by the main thread. */
#ifndef TAIN_CLI_INDEXING_H
#define TAIN_CLI_INDEXING_H

#include "base/thread.h"
#include "store/store.h"

struct indexing;

/* The options must outlive it. V_FATAL: the thread cannot be started. */
MUST_CHECK enum verdict indexing_start(const struct store_options *o, struct indexing **ret,
                                       struct err *e);
void indexing_stop(struct indexing *x); /* NULL is fine */

#endif
