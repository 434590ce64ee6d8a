/* The checks of 'tain doctor'. Each adds its lines to the checkup and changes nothing. */
#ifndef TAIN_CLI_DOCTOR_H
#define TAIN_CLI_DOCTOR_H

#include "cli/settings.h"
#include "store/store.h"

#include <stdio.h>

enum check_level { CHECK_OK, CHECK_WARN, CHECK_FAIL };

struct check {
    enum check_level level;
    char name[40];
    char text[400];   /* what was found */
    char advice[800]; /* what to do, a whole statement perhaps; "" when nothing is */
};

#define CHECKS_MAX 160
struct checkup {
    const struct settings *s;
    struct check rows[CHECKS_MAX];
    size_t n;
};

/* Adds a line; a list that is full drops it. Answers it, or a spare one, for its advice. */
struct check *check_add(struct checkup *c, enum check_level level, const char *name,
                        const char *fmt, ...) PRINTF_LIKE(4, 5);
void check_advise(struct check *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

void doctor_database(struct checkup *c);
/* Of an archive whose schema is up to date. */
void doctor_feed(struct checkup *c, struct store *store);
void doctor_lanes(struct checkup *c, struct store *store);
void doctor_plan(struct checkup *c, struct store *store); /* of --sources */
void doctor_upstream(struct checkup *c);
void doctor_services(struct checkup *c); /* those behind links */
void doctor_machine(struct checkup *c);
void doctor_libraries(struct checkup *c);
/* Where each option that is not at its default came from. */
void doctor_configuration(struct checkup *c);

enum check_level checkup_worst(const struct checkup *c);
void checkup_print(FILE *out, const struct checkup *c);
void checkup_print_json(FILE *out, const struct checkup *c);

#endif
