/* Numbers for people: 12,345,678 and 4m 12s. Pure functions into a buffer of the caller's. */
#ifndef TAIN_CLI_FORMAT_H
#define TAIN_CLI_FORMAT_H

#include "base/attr.h"

#define FORMAT_MAX 40

/* Each answers `out`, so that it can stand in an argument list. */
const char *format_count(char out[FORMAT_MAX], int64_t n);        /* 12,345 */
const char *format_duration(char out[FORMAT_MAX], int64_t ms);    /* 850ms, 12s, 4m 12s, 3h 07m */
const char *format_rate(char out[FORMAT_MAX], double per_second); /* 0.4/s, 12,345/s */
/* 0.0 to 100.0, rounded down so that 100.0 means all of it. */
const char *format_percent(char out[FORMAT_MAX], int64_t part, int64_t whole);

#endif
