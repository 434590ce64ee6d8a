/* What 'tain verify' prints: for people, and as JSON. */
#ifndef TAIN_CLI_VERIFY_REPORT_H
#define TAIN_CLI_VERIFY_REPORT_H

#include "mirror/verify.h"

#include <stdio.h>

struct verify_asked {
    bool repair, sample;
    const char *again; /* the same command line, for a run that was stopped */
};

void verify_print(FILE *out, const struct verify_report *r, const struct verify_asked *asked);
void verify_print_json(FILE *out, const struct verify_report *r, const struct verify_asked *asked);

#endif
