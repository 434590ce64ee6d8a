/* What only some may know: the key of the change feed (TAIN_CDC_KEY) and the token of those who add
 * links (TAIN_LINKS_TOKEN), from a file or from the environment; never from the command line, where
 * anyone can read it. Main thread only. */
#ifndef TAIN_CLI_FEED_SECRET_H
#define TAIN_CLI_FEED_SECRET_H

#include "base/err.h"
#include "cli/settings.h"

#define FEED_SECRET_MAX 1024
#define FEED_SECRET_SHORT 16 /* below that it can be guessed */

enum secret { SECRET_CDC_KEY, SECRET_LINKS_TOKEN };

/* Reads it into `out`, "" when there is none. The flag (--cdc-key-file, --links-token-file) counts
 * before the environment, the environment before the configuration file. V_INVALID says what is
 * wrong with it and nothing of what it is. */
MUST_CHECK enum verdict secret_load(enum secret which, const struct settings *s,
                                    const char *(*env)(const char *name),
                                    char out[FEED_SECRET_MAX + 1], struct err *e);

#endif
