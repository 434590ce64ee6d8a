/* How a sample went, for people and in JSON; the same words for verify and import. */
#ifndef TAIN_CLI_SAMPLE_PRINT_H
#define TAIN_CLI_SAMPLE_PRINT_H

#include "mirror/sample_compare.h"

#include <stdio.h>

void sample_print(FILE *out, const struct sample_report *r);
/* Appends ,"sample":{...}. */
void sample_add_json(struct strbuf *b, const struct sample_report *r);

#endif
