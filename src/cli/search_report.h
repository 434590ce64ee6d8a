/* The answer of a search, for people and for programs. Pure but for the stream they write to. */
#ifndef TAIN_CLI_SEARCH_REPORT_H
#define TAIN_CLI_SEARCH_REPORT_H

#include "store/search.h"

#include <stdio.h>

struct search_report {
    struct str text; /* what was asked */
    const struct search_answer *answer;
    int64_t page, waiting; /* from 1; ids that wait to be indexed */
    int64_t offset, took_ms;
    bool color;
};

/* Nothing of an item can steer the terminal: control characters are shown as U+FFFD. */
void search_print(FILE *out, const struct search_report *r);
void search_print_json(FILE *out, const struct search_report *r);

#endif
