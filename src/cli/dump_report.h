/* What an import or an export did, for people and for programs. Pure printing. */
#ifndef TAIN_CLI_DUMP_REPORT_H
#define TAIN_CLI_DUMP_REPORT_H

#include "mirror/export.h"
#include "mirror/import.h"

#include <stdio.h>

struct dump_report {
    const char *file;    /* "-": a pipe */
    const char *trouble; /* why it failed; NULL: it did not */
    const char *resume;  /* the command that goes on; NULL: there is none */
};

void import_print(FILE *out, const struct import_result *r, const struct dump_report *about);
void import_print_json(FILE *out, const struct import_result *r, const struct dump_report *about);
void export_print(FILE *out, const struct export_result *r, const struct dump_report *about);
void export_print_json(FILE *out, const struct export_result *r, const struct dump_report *about);

#endif
