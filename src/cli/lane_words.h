/* Lanes in words, for people, and in JSON: what one allows, and what keeps it now. Pure. */
#ifndef TAIN_CLI_LANE_WORDS_H
#define TAIN_CLI_LANE_WORDS_H

#include "store/lanes.h"

#define LANE_WORDS_MAX 320

/* "50/min", "10 in 90s", "no limit". Answers out. */
const char *lane_limit_words(char out[LANE_WORDS_MAX], const struct lane_limits *l);
/* "ready", "paused by hand since 2026-01-31 12:00:00Z: why", ... Answers out. */
const char *lane_state_words(char out[LANE_WORDS_MAX], const struct lane_row *r);
/* The same for programs: one object. */
void lane_json(struct strbuf *b, const struct lane_row *r);

#endif
