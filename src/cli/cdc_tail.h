/* 'tain cdc tail': the change feed on standard output, one event a line. A reader of its own, so it
 * needs no server. Main thread. */
#ifndef TAIN_CLI_CDC_TAIL_H
#define TAIN_CLI_CDC_TAIL_H

#include "cli/settings.h"
#include "store/store.h"

/* The store reads what is further behind. Answers an exit code, and has said on stderr what is
 * wrong. */
int cdc_tail(const struct settings *s, struct store *store);

#endif
