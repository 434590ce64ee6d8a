/* The verbs of 'tain enrich': status, pause LANE, resume LANE. Main thread. */
#ifndef TAIN_CLI_ENRICH_VERBS_H
#define TAIN_CLI_ENRICH_VERBS_H

#include "cli/settings.h"

/* Runs the verb in words[0]; answers the exit code and has told the user what went wrong. */
int enrich_verb(const struct settings *s);

/* --dry-run: what a worker would do now. Answers an exit code. */
int enrich_dry_run(const struct settings *s);

#endif
