/* The verbs of 'tain cdc', one row each in cmd_cdc.c. Each answers an exit code and has told the
 * user what went wrong. Main thread. */
#ifndef TAIN_CLI_CDC_VERBS_H
#define TAIN_CLI_CDC_VERBS_H

#include "cli/settings.h"
#include "store/store.h"

#include <stdio.h>

/* Options that belong to some verbs only. */
enum cdc_option {
    CDC_TABLE = 1 << 0,
    CDC_COLUMNS = 1 << 1,
    CDC_PUBLIC = 1 << 2,
    CDC_FEED = 1 << 3, /* all that choose what is read from the feed */
};

struct cdc_verb {
    const char *name;
    int (*run)(const struct settings *s, struct store *store);
    unsigned takes; /* enum cdc_option bits */
    unsigned wants; /* those that must be given */
    bool writes;    /* it brings the schema up to date first */
};

/* Complains as 'tain cdc': usage with the code for it, or what the database said. */
int cdc_usage(const char *text);
int cdc_fail(enum verdict v, const struct err *e);

#endif
