/* The key of the change feed, from a file or from TAIN_CDC_KEY; never from the command line, where
 * anyone can read it. Main thread only. */
#ifndef TAIN_CLI_FEED_SECRET_H
#define TAIN_CLI_FEED_SECRET_H

#include "base/err.h"
#include "cli/settings.h"

#define FEED_SECRET_MAX 1024
#define FEED_SECRET_SHORT 16 /* below that it can be guessed */

/* Reads it into `out`, "" when there is none. The flag --cdc-key-file counts before the
 * environment, the environment before the configuration file. V_INVALID says what is wrong with it
 * and nothing of what it is. */
MUST_CHECK enum verdict feed_secret_load(const struct settings *s,
                                         const char *(*env)(const char *name),
                                         char out[FEED_SECRET_MAX + 1], struct err *e);

#endif
